"""The text of a model, in the manner of Babylon's. It is stable, and `parse` reads it back.

```
kernel @"squares.square_kernel" (%0 : KernelContext, %1 : S32Array) -> None {
  %2 : i32 = grid %0 @"x"
! %3 : i32 = load %1 %2 @"array[]"
  %4 : i32 = call %3 @"squares.square"
! store %1 %2 %4 @"array[]"
  return
}
```

Raw device code stands in the head, behind the names of the parameters and of those that it
reads and writes: `raw @("x") @() @() @("opencl", "return native_sin(x);")`.

An op is its result, its mnemonic, its operands, its attributes, its blocks, whatever the
order of its fields. Values are numbered as they appear. A `!` in the margin marks an
access to a buffer, a `+` what a transform put in to move data. Nothing here knows a single
op, but for these marks.
"""

from collections.abc import Iterable
from dataclasses import field
from typing import cast

from trilby.data.schema import BufferType, NDArrayType
from trilby.dataclass import dataclass
from trilby.errors import ModelError
from trilby.model.host_code import HostCode
from trilby.model.op import Block, Func, Op, Raw, blocks, operands, roles
from trilby.model.ops.memory import AtomicUpdate, Load, Store
from trilby.model.ops.transfer import TRANSFER_OPS
from trilby.model.value import RefType, Value
from trilby.source import NOWHERE, Location


def to_text(func: Func, *, locations: bool = False, like: Func | None = None) -> str:
    """The text of a function; `locations` adds `loc(line:column-line:column)` to each op.

    Values that the function `like` has, too, get the numbers that they have in its text, so
    that what a transform changed can be laid beside what was there before.
    """
    printer = _Printer(func.location.file, locations=locations)
    if like:
        printer.function(like)
        printer.lines.clear()
    printer.function(func)
    return "\n".join(printer.lines)


def op_text(func: Func, op: Op) -> str:
    """The line of one op as it stands in the text of its function, for messages."""
    printer = _Printer(func.location.file)
    printer.function(func)
    return printer.heads[op].lstrip("!+ ")


def is_buffer_access(op: Op) -> bool:
    """True where an op reads or writes a buffer, and not an array of the device's own."""
    return isinstance(op, Load | Store | AtomicUpdate) and isinstance(
        op.base.type, BufferType | NDArrayType | RefType
    )


@dataclass(slots=True)
class _Printer:
    file: str
    locations: bool = field(default=False, kw_only=True)
    lines: list[str] = field(default_factory=list[str])
    heads: dict[Op, str] = field(default_factory=dict[Op, str])
    names: dict[Value, str] = field(default_factory=dict[Value, str])

    def function(self, func: Func) -> None:
        head = f"{func.kind} @{_literal(func.name)} {self.params(func.params)} -> {func.result}"
        head += self.place(func.location, None) + self.raw(func.raw)
        self.blocks(head, [Block(func.body.ops)], 0)

    def raw(self, raw: Raw | None) -> str:
        if raw is None:
            return ""
        bodies = (
            f" @{_literal((body.language, body.text))}{self.place(body.location, self.file)}"
            for body in raw.bodies
        )
        declared = " ".join(f"@{_literal(names)}" for names in (raw.names, raw.reads, raw.writes))
        return f" raw {declared}{''.join(bodies)}"

    def op(self, op: Op, depth: int) -> None:
        margin = "+" if isinstance(op, TRANSFER_OPS) else "!" if is_buffer_access(op) else " "
        attributes = (name for name, role in roles(type(op)) if role == "attribute")
        literals = (f"@{_literal(getattr(op, name))}" for name in attributes)
        words = [op.mnemonic, *map(self.name, operands(op)), *literals]
        result = f"{self.declared(op.result)} = " if op.result else ""
        head = f"{margin}{'  ' * depth}"[:-1] + result + " ".join(words)
        self.heads[op] = head
        self.blocks(head + self.place(op.location, self.file), blocks(op), depth)

    def blocks(self, line: str, inner: Iterable[Block], depth: int) -> None:
        for block in inner:
            line += f" {self.params(block.params)} {{" if block.params else " {"
            if block.ops:
                self.lines.append(line)
                for op in block.ops:
                    self.op(op, depth + 1)
                line = "  " * depth
            line += "}"
        self.lines.append(line)

    def name(self, value: Value) -> str:
        return self.names.setdefault(value, f"%{len(self.names)}")

    def declared(self, value: Value) -> str:
        return f"{self.name(value)} : {value.type}"

    def params(self, values: Iterable[Value]) -> str:
        return f"({', '.join(map(self.declared, values))})"

    def place(self, at: Location, file: str | None) -> str:
        if not self.locations or at == NOWHERE:
            return ""
        other = "" if at.file == file else f"{_literal(at.file)} "
        return f" loc({other}{at.line}:{at.column}-{at.end_line}:{at.end_column})"


_ESCAPES = {code: f"\\u{code:04x}" for code in range(32)} | {
    ord(raw): f"\\{letter}" for raw, letter in zip('"\\\n\r\t\f\b', '"\\nrtfb', strict=True)
}
"""What JSON does not take as it is. The package for it would be loaded for this alone."""


def _literal(value: object) -> str:
    """Text that says the type as well: `1`, `1.0`, `True`, `"1"` and `("1")` all differ."""
    if isinstance(value, str):
        return f'"{_escaped(value.translate(_ESCAPES))}"'
    if isinstance(value, HostCode):
        return _literal(value.text)
    if isinstance(value, tuple):
        parts = cast("tuple[object, ...]", value)
        return f"({', '.join(map(_literal, parts))})"
    if type(value) in {bool, int, float, type(None)}:
        return repr(value)
    raise ModelError(
        f"{value!r} of type `{type(value).__name__}` has no text as an attribute of an op",
        advice="use str, bool, int, float, None, or tuples of these",
    )


def _escaped(text: str) -> str:
    """What ends a line somewhere, cannot be shown or has no bytes, in numbers as in JSON."""
    if text.isprintable():
        return text
    shown: list[str] = []
    for one in text:
        content = "" if one.isprintable() else one.encode("utf-16-be", "surrogatepass").hex()
        shown += [f"\\u{content[at : at + 4]}" for at in range(0, len(content), 4)] or [one]
    return "".join(shown)

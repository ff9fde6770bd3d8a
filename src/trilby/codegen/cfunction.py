"""One function of the C family while it is written: values, lines, order of evaluation.

The model is a list of ops; C that people like to read is nested expressions. A result that
is used once, in the same block, waits as a piece of text until its use takes it in; a
statement that could change what a waiting text reads first makes it a variable.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field

from trilby.analysis.spans import Spans
from trilby.codegen.ctext import Dependence, Line, Text
from trilby.codegen.dialect import Dialect
from trilby.codegen.identifiers import Identifiers
from trilby.codegen.struct_types import Structs
from trilby.codegen.value_uses import all_blocks, count_uses
from trilby.data.dtypes import ScalarType, Type
from trilby.data.schema import BufferType, NDArrayType, StructType, sizes_of
from trilby.dataclass import dataclass
from trilby.model.op import Block, Func, Op, operands, walk
from trilby.model.ops.core import Var, VarLoad, VarStore
from trilby.model.value import KERNEL_CONTEXT, NONE, RefType, Value, space_of
from trilby.source import Location

# --------------------------------------------------------------------------------------------- uses


def _steady(block: Block) -> Iterator[Value]:
    """The contents read in a block whose variable is not set before they are used last."""
    inside = [tuple(walk(Block((op,)))) for op in block.ops]
    used = [{value for op in ops for value in operands(op)} for ops in inside]
    stored = [{op.var for op in ops if isinstance(op, VarStore)} for ops in inside]
    for start, op in enumerate(block.ops):
        if not isinstance(op, VarLoad) or op.result is None:
            continue
        later = range(start + 1, len(block.ops))
        last = max((n for n in later if op.result in used[n]), default=start)
        # A store may well be the last use: what it stores is read before it changes anything.
        end = last if isinstance(block.ops[last], VarStore) else last + 1
        if not any(op.var in stored[n] for n in range(start + 1, end)):
            yield op.result


# ---------------------------------------------------------------------------------------- cfunction


@dataclass(slots=True)
class Module:
    """What all functions of one text share."""

    dialect: Dialect
    structs: Structs
    functions: dict[str, str]
    names: Identifiers
    grid_fields: tuple[str, ...]
    asserting: frozenset[str] = frozenset()
    acting: frozenset[str] = frozenset()
    waits: bool = False
    guarded_loops: frozenset[Op] = frozenset()
    asserts: list[tuple[str, Location]] = field(default_factory=list[tuple[str, Location]])
    needed: list[tuple[str, ScalarType]] = field(default_factory=list[tuple[str, ScalarType]])
    called: list[str] = field(default_factory=list[str])

    def need(self, name: str, type_: ScalarType) -> str:
        """Ask for a support function and get its name."""
        if (name, type_) not in self.needed:
            self.needed.append((name, type_))
        return f"{name}_{type_}"

    def call(self, name: str) -> str:
        """A function of the language, with what the text must say before it is called."""
        if name in self.dialect.functions and name not in self.called:
            self.called.append(name)
        return name

    def guard(self, loop: Op) -> str:
        """What has to stand before a loop, if anything."""
        return self.dialect.loop_guard if loop in self.guarded_loops else ""

    def value_type(self, type_: Type) -> str:
        """The spelling of a type of values, ready to stand before a name."""
        match type_:
            case ScalarType():
                return f"{self.dialect.scalars[type_]} "
            case NDArrayType(element=element):
                return self.structs.pointer(element, space_of(type_))
            case RefType(to=place, space=space):
                return self.structs.pointer(place, space)
            case BufferType():
                return self.structs.pointer(type_, space_of(type_))
            case StructType():
                return f"{self.structs.type_name(type_)} "
            case _ if type_ == KERNEL_CONTEXT:
                return "KernelContext_t *"
            case _ if type_ == NONE:
                return "void "
            case _:
                raise TypeError(type_)


class CFunctionWriter:
    """Writes one function."""

    def __init__(self, module: Module, function: Func) -> None:
        self.module = module
        self.function = function
        self.names = module.names.inner_scope()
        self.use_count, self.used_elsewhere = count_uses(function)
        variables = (op for op in walk(function.body) if isinstance(op, Var))
        names = {value: op.name for op in variables for value in op.init}
        self.variable_names = {v: n for v, n in names.items() if self.is_used_once(v)}
        """The Python variable that a value begins, where that is its only use."""
        self.steady = {value for block in all_blocks(function.body) for value in _steady(block)}
        """Contents of variables that do not change before their last use, so that the variable can
        stand for them wherever they are used."""
        self.spans = Spans(function)
        self.texts: dict[Value, Text] = {}
        self.sizes_with: dict[Value, dict[str, Text]] = {}
        self.waiting: dict[Value, tuple[Text, Location]] = {}
        """Texts that wait for their one use, with the place in Python that each comes from."""
        self.bound: set[Value] = set()
        self.cached: dict[tuple[Value, str], str] = {}
        self.sizes: tuple[str, ...] = ()
        self.pass_id = ""
        self.stored: dict[Value, str] = {}
        self.context = ""
        self.failure = ""
        self._lines: list[Line] = []
        self._indent = 1

    # -- lines ------------------------------------------------------------------------

    def line(self, text: str, location: Location | None = None) -> None:
        """Append a line at the current depth."""
        self._lines.append(Line("    " * self._indent + text, location))

    def lines(self, lines: Iterable[Line]) -> None:
        """Append lines that were captured."""
        self._lines.extend(lines)

    @contextmanager
    def indented(self) -> Generator[None]:
        """Go one level deeper."""
        self._indent += 1
        yield
        self._indent -= 1

    @contextmanager
    def captured(self) -> Generator[list[Line]]:
        """Collect lines apart from the others."""
        outer, self._lines = self._lines, []
        yield self._lines
        self._lines = outer

    # -- values -----------------------------------------------------------------------

    def is_used_once(self, value: Value) -> bool:
        """Whether a value is used once, in the block that makes it."""
        return self.use_count[value] == 1 and value not in self.used_elsewhere

    def take(self, value: Value) -> Text:
        """The text of a value at its use."""
        if value in self.waiting:
            return self.waiting.pop(value)[0]
        return self.texts[value]

    def parts(self, value: Value) -> list[Text]:
        """The texts that stand for a value as an argument: a buffer has its sizes too."""
        return [self.take(value), *self.sizes_with.get(value, {}).values()]

    def give(self, op: Op, text: Text) -> None:
        """Take note of the text of a pure op's result."""
        value = op.value
        if not self.use_count[value]:
            return
        if self.is_used_once(value):
            self.waiting[value] = text, op.location
        else:
            self.bind(value, text, op.location)

    def give_anywhere(self, op: Op, text: Text) -> None:
        """The same for a text that is as short as a name and never changes."""
        self.texts[op.value] = text

    def bind(self, value: Value, text: Text, location: Location) -> None:
        """Make a variable of a result; a buffer has its sizes with it."""
        name = self.variable(value)
        self.line(f"{self.module.value_type(value.type)}{name} = {text};", location)
        sizes = self.sizes_with.get(value, {})
        if any(size.reads for size in sizes.values()):
            kinds = sizes_of(value.type)
            kept = {size: self.names.fresh(f"{name}_{size}") for size in sizes}
            for size, given in sizes.items():
                kind = self.module.value_type(kinds[size])
                self.line(f"{kind}{kept[size]} = {given};", location)
            self.sizes_with[value] = {size: Text(own) for size, own in kept.items()}

    def variable(self, value: Value) -> str:
        """A name for a result: that of the Python variable it is for, if there is one."""
        name = self.names.fresh(self.variable_names.get(value) or value.hint or "t")
        self.texts[value] = Text(name)
        self.bound.add(value)
        return name

    def before_change(self, changed: Dependence) -> None:
        """Make variables of the waiting texts that read what is about to change."""
        self._bind_waiting(lambda text: changed in text.reads)

    def settle(self) -> None:
        """Make variables of all waiting texts that any statement could change."""
        self._bind_waiting(lambda text: bool(text.reads))

    def _bind_waiting(self, is_due: Callable[[Text], bool]) -> None:
        for value in [v for v, (text, _) in self.waiting.items() if is_due(text)]:
            self.bind(value, *self.waiting.pop(value))

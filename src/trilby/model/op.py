"""What an op is: a frozen dataclass whose fields say everything about it.

The annotation of a field gives its role, and printing, parsing, walking, rewriting and
verifying follow from the roles alone:

| annotation           | role                                        |
|----------------------|---------------------------------------------|
| `Value`              | an operand                                  |
| `Operands`           | any number of operands (one such field)     |
| `Block`              | a nested block                              |
| anything else        | an attribute, printed as `@"text"`          |

`result` and `location` are common to all ops.
"""

from collections.abc import Iterator
from dataclasses import field, fields
from functools import cache
from itertools import repeat
from typing import ClassVar, Literal, TypeAlias, cast

from trilby.data.dtypes import Type
from trilby.dataclass import dataclass
from trilby.model.value import Value
from trilby.shown import Shown
from trilby.source import NOWHERE, Location

Operands: TypeAlias = tuple[Value, ...]
Role: TypeAlias = Literal["operand", "operands", "block", "attribute"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Op:
    """Base of all ops. A class with a `mnemonic` is a real op, others are shapes of ops.

    `class Store(Op, mnemonic="store", result=False)` never has a result. Other ops have one, unless
    it is None in the place of False: these have one where somebody uses it.
    """

    mnemonic: ClassVar[str] = ""
    has_result: ClassVar[bool | None] = True
    result: Value | None = None
    location: Location = field(default=NOWHERE, repr=False)

    def __init_subclass__(cls, *, mnemonic: str = "", result: bool | None = True) -> None:
        if mnemonic:  # a class with slots is made twice, and has both already the second time
            cls.mnemonic, cls.has_result = mnemonic, result

    @property
    def value(self) -> Value:
        """The result of an op that is known to have one."""
        if self.result is None:
            message = f"`{self.mnemonic}` has no result"
            raise TypeError(message)
        return self.result


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Ops in order, and the values they may use from the op that holds the block."""

    ops: tuple[Op, ...] = ()
    params: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class RawBody:
    """The body of a function in the language of a device, and where the text stands."""

    language: str
    text: str
    location: Location = field(default=NOWHERE, repr=False)


@dataclass(frozen=True, slots=True)
class Raw:
    """What takes the place of a function's ops on devices: text that no analysis looks into.

    The text sees the parameters under `names`. `reads` and `writes` are the names of those
    whose content it uses.
    """

    names: tuple[str, ...]
    bodies: tuple[RawBody, ...]
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    def body(self, language: str) -> RawBody | None:
        """The text for a language, or None."""
        return next((body for body in self.bodies if body.language == language), None)


@dataclass(frozen=True, slots=True, eq=False)
class Func(Shown):
    """A function: kernel, helper or compute function, told apart by `kind`.

    Where it is `raw`, the ops are its meaning, and devices run the text instead.
    """

    name: str
    params: tuple[Value, ...]
    result: Type
    body: Block
    kind: str = "func"
    location: Location = field(default=NOWHERE, repr=False)
    raw: Raw | None = None


_ROLES: dict[object, Role] = {
    Value: "operand",
    Operands: "operands",
    Block: "block",
}


@cache
def roles(kind: type[Op]) -> tuple[tuple[str, Role], ...]:
    """The fields of an op class in order, with their roles."""
    return tuple(
        (f.name, _ROLES.get(cast("object", f.type), "attribute"))
        for f in fields(kind)
        if f.name not in {"result", "location"}
    )


def operands(op: Op) -> Iterator[Value]:
    """The values an op uses, in order."""
    found: list[Value] = []
    for name, role in roles(type(op)):
        if role == "operand":
            found.append(getattr(op, name))
        elif role == "operands":
            found += getattr(op, name)
    return iter(found)


@cache
def block_fields(kind: type[Op]) -> tuple[str, ...]:
    """The names of the fields of an op class that hold blocks; most have none."""
    return tuple(name for name, role in roles(kind) if role == "block")


def blocks(op: Op) -> Iterator[Block]:
    """The blocks nested directly in an op, in order."""
    return map(getattr, repeat(op), block_fields(type(op)))


def walk(block: Block) -> Iterator[Op]:
    """Every op of a block and of the blocks within, outer before inner."""
    found: list[Op] = []
    rest = [*reversed(block.ops)]
    while rest:
        op = rest.pop()
        found.append(op)
        for name in reversed(block_fields(type(op))):
            rest += reversed(getattr(op, name).ops)
    return iter(found)


def ops_within(op: Op) -> Iterator[Op]:
    """Every op of the blocks of an op, outer before inner."""
    for block in blocks(op):
        yield from walk(block)

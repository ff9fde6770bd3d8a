"""Constants, local variables, calls: what every model has."""

from typing import ClassVar

from trilby.dataclass import dataclass
from trilby.model.op import Block, Op, Operands
from trilby.model.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Op):
    """A number of the result's type."""

    mnemonic: ClassVar[str] = "constant"
    literal: bool | int | float


@dataclass(frozen=True, slots=True, eq=False)
class Var(Op):
    """A local variable called `name`, with its first content or without (no operand)."""

    mnemonic: ClassVar[str] = "var"
    init: Operands
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class VarLoad(Op):
    """The content of a variable."""

    mnemonic: ClassVar[str] = "var.load"
    var: Value


@dataclass(frozen=True, slots=True, eq=False)
class VarStore(Op):
    """A new content for a variable."""

    mnemonic: ClassVar[str] = "var.store"
    var: Value
    stored: Value


@dataclass(frozen=True, slots=True, eq=False)
class Call(Op):
    """A call of another function of the same graph, by its symbol."""

    mnemonic: ClassVar[str] = "call"
    args: Operands
    callee: str


@dataclass(frozen=True, slots=True, eq=False)
class Return(Op):
    """Leave the function, with its value or without (no operand)."""

    mnemonic: ClassVar[str] = "return"
    returned: Operands = ()


@dataclass(frozen=True, slots=True, eq=False)
class Yield(Op):
    """The value of the block it ends, handed to the op that holds the block."""

    mnemonic: ClassVar[str] = "yield"
    yielded: Value


@dataclass(frozen=True, slots=True, eq=False)
class Inlined(Op):
    """The body of a device function in the place of its call; `return` in it ends it.

    The transform `inline_calls` makes it, for languages that want it.
    """

    mnemonic: ClassVar[str] = "inlined"
    body: Block
    callee: str


CORE_OPS = (Constant, Var, VarLoad, VarStore, Call, Return, Yield)
LOWERED_OPS = (Inlined,)
"""Ops that only transforms make, for the code generator that asks for them."""


def yielded(block: Block) -> Value:
    """The value that a block gives to the op that holds it."""
    last = block.ops[-1]
    if not isinstance(last, Yield):
        raise TypeError(last)
    return last.yielded

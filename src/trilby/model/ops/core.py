"""Constants, local variables, calls: what every model has."""

from trilby.dataclass import dataclass
from trilby.model.op import Block, Op, Operands
from trilby.model.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Op, mnemonic="constant"):
    """A number of the result's type."""

    literal: bool | int | float


@dataclass(frozen=True, slots=True, eq=False)
class Var(Op, mnemonic="var"):
    """A local variable called `name`, with its first content or without (no operand)."""

    init: Operands
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class VarLoad(Op, mnemonic="var.load"):
    """The content of a variable."""

    var: Value


@dataclass(frozen=True, slots=True, eq=False)
class VarStore(Op, mnemonic="var.store", result=False):
    """A new content for a variable."""

    var: Value
    stored: Value


@dataclass(frozen=True, slots=True, eq=False)
class Call(Op, mnemonic="call", result=None):
    """A call of another function of the same graph, by its symbol."""

    args: Operands
    callee: str


@dataclass(frozen=True, slots=True, eq=False)
class Return(Op, mnemonic="return", result=False):
    """Leave the function, with its value or without (no operand)."""

    returned: Operands = ()


@dataclass(frozen=True, slots=True, eq=False)
class Yield(Op, mnemonic="yield", result=False):
    """The value of the block it ends, handed to the op that holds the block."""

    yielded: Value


@dataclass(frozen=True, slots=True, eq=False)
class Inlined(Op, mnemonic="inlined", result=None):
    """The body of a device function in the place of its call; `return` in it ends it.

    The transform `inline_calls` makes it, for languages that want it.
    """

    body: Block
    callee: str


LOWERED_OPS = (Inlined,)
"""Ops that only transforms make, for the code generator that asks for them."""


def yielded(block: Block) -> Value:
    """The value that a block gives to the op that holds it."""
    last = block.ops[-1]
    if not isinstance(last, Yield):
        raise TypeError(last)
    return last.yielded

"""Structured control flow. Nothing jumps but `break`, `continue` and `return`."""

from trilby.dataclass import dataclass
from trilby.model.op import Block, Op
from trilby.model.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class If(Op, mnemonic="if", result=False):
    """Run one of two blocks; an empty `otherwise` is no else."""

    condition: Value
    then: Block
    otherwise: Block


@dataclass(frozen=True, slots=True, eq=False)
class While(Op, mnemonic="while", result=False):
    """Run `test`, which yields a bool, and `body` while it is true."""

    test: Block
    body: Block


@dataclass(frozen=True, slots=True, eq=False)
class For(Op, mnemonic="for", result=False):
    """`for i in range(start, stop, step)`. The body takes `i`, a copy it may not change."""

    start: Value
    stop: Value
    step: Value
    body: Block


class Break(Op, mnemonic="break", result=False):
    """Leave the innermost loop."""


class Continue(Op, mnemonic="continue", result=False):
    """Go on with the innermost loop's next turn."""


@dataclass(frozen=True, slots=True, eq=False)
class Ternary(Op, mnemonic="ternary"):
    """`a if c else b`: only the chosen block runs, and yields the result."""

    condition: Value
    then: Block
    otherwise: Block


@dataclass(frozen=True, slots=True, eq=False)
class AndThen(Op, mnemonic="and_then"):
    """`a and b` of bools: `rest` runs, and yields the result, only if `first` is true."""

    first: Value
    rest: Block


@dataclass(frozen=True, slots=True, eq=False)
class OrElse(Op, mnemonic="or_else"):
    """`a or b` of bools: `rest` runs, and yields the result, only if `first` is false."""

    first: Value
    rest: Block

"""Structured control flow. Nothing jumps but `break`, `continue` and `return`."""

from typing import ClassVar

from trilby.dataclass import dataclass
from trilby.model.op import Block, Op
from trilby.model.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class If(Op):
    """Run one of two blocks; an empty `otherwise` is no else."""

    mnemonic: ClassVar[str] = "if"
    condition: Value
    then: Block
    otherwise: Block


@dataclass(frozen=True, slots=True, eq=False)
class While(Op):
    """Run `test`, which yields a bool, and `body` while it is true."""

    mnemonic: ClassVar[str] = "while"
    test: Block
    body: Block


@dataclass(frozen=True, slots=True, eq=False)
class For(Op):
    """`for i in range(start, stop, step)`. The body takes `i`, a copy it may not change."""

    mnemonic: ClassVar[str] = "for"
    start: Value
    stop: Value
    step: Value
    body: Block


@dataclass(frozen=True, slots=True, eq=False)
class Break(Op):
    """Leave the innermost loop."""

    mnemonic: ClassVar[str] = "break"


@dataclass(frozen=True, slots=True, eq=False)
class Continue(Op):
    """Go on with the innermost loop's next turn."""

    mnemonic: ClassVar[str] = "continue"


@dataclass(frozen=True, slots=True, eq=False)
class Ternary(Op):
    """`a if c else b`: only the chosen block runs, and yields the result."""

    mnemonic: ClassVar[str] = "ternary"
    condition: Value
    then: Block
    otherwise: Block


@dataclass(frozen=True, slots=True, eq=False)
class AndThen(Op):
    """`a and b` of bools: `rest` runs, and yields the result, only if `first` is true."""

    mnemonic: ClassVar[str] = "and_then"
    first: Value
    rest: Block


@dataclass(frozen=True, slots=True, eq=False)
class OrElse(Op):
    """`a or b` of bools: `rest` runs, and yields the result, only if `first` is false."""

    mnemonic: ClassVar[str] = "or_else"
    first: Value
    rest: Block


CONTROL_OPS = (If, While, For, Break, Continue, Ternary, AndThen, OrElse)

"""What a kernel says while it runs: `assert` and `print`."""

from dataclasses import dataclass
from typing import ClassVar

from trilby.model.op import Op, Operands
from trilby.model.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class Assert(Op):
    """The launch fails if the condition is false in any work item."""

    mnemonic: ClassVar[str] = "assert"
    condition: Value
    message: str


@dataclass(frozen=True, slots=True, eq=False)
class Print(Op):
    """Write a line; `{}` in `form` stands for the next operand."""

    mnemonic: ClassVar[str] = "print"
    args: Operands
    form: str


DEBUG_OPS = (Assert, Print)

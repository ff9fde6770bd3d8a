"""What a kernel says while it runs: `assert` and `print`."""

from string import Formatter

from trilby.dataclass import dataclass
from trilby.model.op import Op, Operands
from trilby.model.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class Assert(Op, mnemonic="assert", result=False):
    """The launch fails if the condition is false in any work item."""

    condition: Value
    message: str


@dataclass(frozen=True, slots=True, eq=False)
class Print(Op, mnemonic="print", result=False):
    """Write a line; `{}` in `form` stands for the next operand, `{{` and `}}` for a brace."""

    args: Operands
    form: str


def texts_of(form: str) -> list[str]:
    """What stands around the numbers of a form: `"x = {}!"` gives `x = ` and `!`."""
    texts = [""]
    for text, place, _, _ in Formatter().parse(form):
        texts[-1] += text
        if place is not None:
            texts.append("")
    return texts

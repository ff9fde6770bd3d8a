"""Pieces of generated text: expressions with their binding strength, lines with their origin."""

from collections.abc import Iterable

from trilby.codegen.quoting import c_string
from trilby.dataclass import dataclass
from trilby.model.value import Value
from trilby.source import Location, printable

ATOM, POSTFIX, UNARY, PRODUCT, SUM, SHIFT, ORDER, EQUAL, BITS, AND, OR, CHOICE = range(12)

MEMORY = "memory"
Dependence = Value | str
"""What a later statement may change under an expression: a variable, or `MEMORY`."""


@dataclass(frozen=True, slots=True)
class Text:
    """An expression; `strength` says how tightly it binds, tighter is smaller.

    `unsigned` is the same number before it went back from unsigned arithmetic to its type.
    `index` is a shorter text for where it is an index: it is another number only where the
    index is out of range.
    """

    text: str
    strength: int = ATOM
    reads: frozenset[Dependence] = frozenset()
    unsigned: "Text | None" = None
    index: "Text | None" = None

    def within(self, strength: int) -> str:
        """The text as an operand, in parentheses where it binds more loosely than needed."""
        return self.text if self.strength <= strength else f"({self.text})"

    def __str__(self) -> str:
        return self.text


def reads_of(parts: Iterable[Text]) -> frozenset[Dependence]:
    """Everything that some expressions depend on."""
    return frozenset[Dependence]().union(*(part.reads for part in parts))


@dataclass(frozen=True, slots=True)
class Line:
    """A line of generated code and the Python line that it comes from."""

    text: str
    location: Location | None = None


def with_line_directives(lines: Iterable[Line]) -> Iterable[str]:
    """Say `#line 12 "app.py"` wherever counting on would lose the Python line."""
    file, number = "", 0
    for line in lines:
        where = line.location
        if where is not None and where.line > 0 and (where.file, where.line) != (file, number):
            file, number = where.file, where.line
            yield f"#line {number} {c_string(printable(file))}"
        yield line.text
        number += 1

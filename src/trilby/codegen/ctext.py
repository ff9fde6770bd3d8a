"""Pieces of generated text: expressions with their binding strength, lines with their origin."""

import re
from collections.abc import Iterable

from trilby.dataclass import dataclass
from trilby.model.value import Value
from trilby.source import Location, printable

# ------------------------------------------------------------------------------------------ quoting
# Texts of the user (names of files and functions, what is printed) in generated code.
#
# No text may end the string that it stands in: every generator quotes with these. In a comment, a
# text is `source.printable`.

_C, _LLVM = "\\{:03o}", "\\{:02X}"
_NOT_PLAIN = r'[^ -~]|["\\?]'
"""The bytes that have to be numbers between quotes; two question marks may begin a trigraph."""


def c_string(text: str) -> str:
    """A text in the quotes of C: `"app.py"`."""
    return f'"{_escaped(text, _C)}"'


def llvm_string(text: str) -> str:
    """A text in the quotes of LLVM IR."""
    return f'"{_escaped(text, _LLVM)}"'


def _escaped(text: str, escape: str) -> str:
    """The text with each byte that is not plain as a number.

    The name of a file may have bytes that are no UTF-8: Python keeps them as surrogates.
    """
    content = text.encode("utf-8", "surrogateescape").decode("latin-1")
    return re.sub(_NOT_PLAIN, lambda found: escape.format(ord(found[0])), content)


# --------------------------------------------------------------------------------------------- text

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


def with_line_directives(lines: Iterable[Line]) -> list[str]:
    """Say `#line 12 "app.py"` wherever counting on would lose the Python line."""
    file, number, found = "", 0, list[str]()
    for line in lines:
        where = line.location
        if where is not None and where.line > 0 and (where.file, where.line) != (file, number):
            file, number = where.file, where.line
            found.append(f"#line {number} {c_string(printable(file))}")
        found.append(line.text)
        number += 1
    return found

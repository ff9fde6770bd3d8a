"""Places in the user's Python source, and how to show them to a person.

This module knows files, lines and columns. It knows nothing of what the source means.
"""

import linecache
from collections.abc import Sequence

from trilby.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Location:
    """A stretch of source. Lines count from 1, columns are characters counted from 0.

    `Location("app.py", 12, 4, 12, 9)` is five characters of line 12.
    """

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return f"{printable(self.file)}:{self.line}"

    @property
    def short(self) -> str:
        """`app.py:12`: the file's name without its folders."""
        name = self.file.replace("\\", "/").rpartition("/")[2]
        return f"{printable(name)}:{self.line}"


def printable(text: str) -> str:
    """A text on one line that can be shown and encoded.

    Line ends, control characters and bytes of file names that are no UTF-8 (Python keeps these as
    surrogates) are written with a backslash, as in Python.
    """
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )


NOWHERE = Location("<unknown>", 0)


def line_text(location: Location) -> str:
    """The first source line of `location`, or an empty string where it cannot be read."""
    return linecache.getline(location.file, location.line).rstrip("\n")


def excerpt(location: Location) -> str:
    """The source line with carets below the place, ready to stand in an error.

    The result is empty where the line cannot be read.
    """
    text = line_text(location)
    if not text.strip():
        return ""
    indent = len(text) - len(text.lstrip())
    start = max(location.column, indent)
    end = location.end_column if location.end_line == location.line else len(text)
    carets = "^" * max(1, min(end, len(text)) - start)
    number = str(location.line)
    margin = " " * len(number)
    return f"  {number} | {text[indent:]}\n  {margin} | {' ' * (start - indent)}{carets}"


def chain_text(calls: Sequence[tuple[str, Location]]) -> str:
    """One line for each call that led to a place: `  in square, called at app.py:20`."""
    return "\n".join(f"  in `{name}`, called at {where}" for name, where in calls)

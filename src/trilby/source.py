"""Places in the user's Python source, and how to show them to a person.

This module knows files, lines and columns. It knows nothing of what the source means.
"""

import linecache
import os
import sys
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from types import CodeType, TracebackType

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

_STANDARD = f"{os.__file__.rpartition(os.sep)[0]}{os.sep}"
_INSTALLED = f"{_STANDARD}site-packages{os.sep}"
_OURS = f"{__file__.rpartition(os.sep)[0]}{os.sep}"
_MADE = ("<frozen ", "<interpreter: ", "<trilby ")
"""How the names of files begin that are none: code that Python or we make."""


@lru_cache(maxsize=1024)
def _is_users_file(file: str) -> bool:
    numpy = getattr(sys.modules.get("numpy"), "__file__", None) or _OURS
    if file.startswith((_OURS, f"{numpy.rpartition(os.sep)[0]}{os.sep}", *_MADE)):
        return False
    if file.rpartition(os.sep)[2] == "trilby":  # the program that pip makes for our command line
        return False
    return not file.startswith(_STANDARD) or file.startswith(_INSTALLED)


def is_users(code: CodeType) -> bool:
    """True for code that is neither ours nor stands between ours and the user's.

    That is what NumPy and the standard library do, which lies where other packages may be, too.
    """
    return _is_users_file(code.co_filename)


def whole_line(code: CodeType, line: int) -> Location:
    """A line of the file that some code was compiled from."""
    return Location(code.co_filename, line, 0, line, sys.maxsize)


def call_location(code: CodeType, instruction: int, line: int) -> Location:
    """The call that an instruction makes; its whole line where Python keeps no columns."""
    positions = islice(code.co_positions(), instruction // 2, None)
    first, last, start, end = next(positions, (None, None, None, None))
    if first is None or last is None or start is None or end is None:
        return whole_line(code, line)
    file = code.co_filename
    return Location(
        file, first, _characters(file, first, start), last, _characters(file, last, end)
    )


def users_location(trace: TracebackType | None) -> Location | None:
    """The innermost call of a traceback that the user's program makes, if there is one."""
    found: TracebackType | None = None
    while trace is not None:
        found = trace if is_users(trace.tb_frame.f_code) else found
        trace = trace.tb_next
    if found is None:
        return None
    return call_location(found.tb_frame.f_code, found.tb_lasti, found.tb_lineno)


def _characters(file: str, line: int, column: int) -> int:
    """The column in characters of one that Python counts in bytes."""
    text = linecache.getline(file, line)
    return column if text.isascii() else len(text.encode()[:column].decode(errors="ignore"))


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

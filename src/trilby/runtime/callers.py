"""Which line of the user's program is running, and errors that point to it."""

import linecache
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import islice
from types import CodeType, FrameType
from typing import Self

import numpy as np

from trilby.dataclass import dataclass
from trilby.errors import TrilbyError
from trilby.source import Location

_STANDARD = f"{os.path.dirname(os.__file__)}{os.sep}"
_INSTALLED = f"{_STANDARD}site-packages{os.sep}"
_PACKAGES = (
    f"{os.path.dirname(os.path.dirname(__file__))}{os.sep}",
    f"{os.path.dirname(np.__file__)}{os.sep}",
    "<frozen ",
)
_NOT_THE_USERS = (*_PACKAGES, _STANDARD)
"""Where code lies that is ours, or that stands between ours and the user's.

So does that of the standard library, which lies where other packages may be installed, too.
"""


@dataclass(frozen=True, slots=True)
class Caller:
    """A call in the user's program: cheap to make, and looked up only when it is shown."""

    code: CodeType
    instruction: int
    number: int

    @classmethod
    def now(cls) -> Self:
        """The innermost call on the stack that is not part of this package."""
        frame = _user_frame()
        return cls(frame.f_code, frame.f_lasti, frame.f_lineno)

    @property
    def line(self) -> Location:
        """The whole line."""
        return Location(self.code.co_filename, self.number, 0, self.number, sys.maxsize)

    @property
    def location(self) -> Location:
        """The call itself; the whole line where Python was told not to keep columns."""
        positions = islice(self.code.co_positions(), self.instruction // 2, None)
        line, end_line, start, end = next(positions, (None, None, None, None))
        if line is None or end_line is None or start is None or end is None:
            return self.line
        file = self.code.co_filename
        first, last = _characters(file, line, start), _characters(file, end_line, end)
        return Location(file, line, first, end_line, last)


def _user_frame() -> FrameType:
    """The innermost frame on the stack that is not part of this package."""
    frame = sys._getframe(2)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] -- the cheap way to look at the stack
    while frame.f_back is not None and _is_ours(frame.f_code):
        frame = frame.f_back
    return frame


def line_now() -> tuple[str, int]:
    """The file and line of the innermost call on the stack that is not part of this package."""
    frame = _user_frame()
    return frame.f_code.co_filename, frame.f_lineno


def name_in_program(is_meant: Callable[[object], bool]) -> str | None:
    """What the user's program calls something where it is running now, if it has a name there."""
    frame = _user_frame()
    for names in (frame.f_locals, frame.f_globals):
        for name, value in list(names.items()):
            if not name.startswith("_") and is_meant(value):
                return name
    return None


@contextmanager
def errors_at_dispatch(caller: Caller) -> Generator[None]:
    """Let every error of ours inside the block say which dispatch it is about.

    One that points to no source points to the dispatch; any other gets a note.
    """
    try:
        yield
    except TrilbyError as error:
        point_to(error, caller)
        raise


def point_to(error: TrilbyError, caller: Caller) -> None:
    """Let an error say which dispatch it is about."""
    if error.location is None:
        error.location = caller.location
    else:
        error.add_note(f"dispatched at {caller.line}")


@contextmanager
def errors_in_user_code() -> Generator[None]:
    """Let every error of ours point to the user's line that it came through, if to nothing yet."""
    try:
        yield
    except TrilbyError as error:
        if error.location is None:
            error.location = _innermost(error)
        raise


def _innermost(error: BaseException) -> Location | None:
    """The last call of a traceback that is not part of this package."""
    found: Caller | None = None
    trace = error.__traceback__
    while trace is not None:
        if not _is_ours(trace.tb_frame.f_code):
            found = Caller(trace.tb_frame.f_code, trace.tb_lasti, trace.tb_lineno)
        trace = trace.tb_next
    return found.location if found else None


def _is_ours(code: CodeType) -> bool:
    file = code.co_filename
    if not file.startswith(_NOT_THE_USERS):
        return False
    return file.startswith(_PACKAGES) or not file.startswith(_INSTALLED)


def _characters(file: str, line: int, column: int) -> int:
    """The column in characters of one that Python counts in bytes."""
    text = linecache.getline(file, line)
    return column if text.isascii() else len(text.encode()[:column].decode(errors="ignore"))

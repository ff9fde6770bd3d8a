"""Which line of the user's program is running, and errors that point to it."""

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Self

from trilby.dataclass import dataclass
from trilby.errors import TrilbyError
from trilby.source import Location, call_location, is_users, whole_line


@dataclass(frozen=True, slots=True)
class Caller:
    """A call in the user's program: cheap to make, and looked up only when it is shown.

    Where line 12 of `app.py` dispatches a kernel, its `line.short` is "app.py:12".
    """

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
        return whole_line(self.code, self.number)

    @property
    def location(self) -> Location:
        """The call itself; the whole line where Python was told not to keep columns."""
        return call_location(self.code, self.instruction, self.number)


def _user_frame() -> FrameType:
    """The innermost frame on the stack that is not part of this package."""
    frame = sys._getframe(2)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] -- the cheap way to look at the stack
    while frame.f_back is not None and not is_users(frame.f_code):
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


def point_to(error: TrilbyError, caller: Caller) -> None:
    """Let an error say which dispatch it is about, in a note if it points to a place itself."""
    if not error.is_placed:
        error.location = caller.location
    else:
        error.add_note(f"dispatched at {caller.line}")

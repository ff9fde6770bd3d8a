"""Which line of the user's program is running."""

import sys
from pathlib import Path

from trilby.source import Location

_PACKAGE = str(Path(__file__).parent.parent)


def caller_location() -> Location:
    """The innermost line on the stack that is not part of this package."""
    frame = sys._getframe(1)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] -- the cheap way to look at the stack
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return Location(frame.f_code.co_filename, frame.f_lineno, 0, frame.f_lineno, sys.maxsize)

"""Which tests come by which lines: only those can notice that a line has changed."""

import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from _typeshed import TraceFunction

Place: TypeAlias = tuple[str, int]
"""A module by its name, and a line."""


def lines_reached(run: Callable[[], object], files: Iterable[Path]) -> set[Place]:
    """The lines of some files that something comes by, in all its threads."""
    modules = {str(file): file.stem for file in files}
    lines: set[Place] = set()

    def enter(frame: FrameType, _event: str, _given: object) -> "TraceFunction | None":
        module = modules.get(frame.f_code.co_filename)
        if module is None:
            return None

        def follow(frame: FrameType, _event: str, _given: object) -> "TraceFunction":
            lines.add((module, frame.f_lineno))
            return follow

        return follow

    sys.settrace(enter)
    threading.settrace(enter)
    try:
        run()
    finally:
        sys.settrace(None)
        threading.settrace(None)  # pyright: ignore[reportArgumentType] -- it takes None
    return lines

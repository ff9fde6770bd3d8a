"""How long the host takes for each stage of a compilation, where somebody wants to know.

Compiling is synchronous, so that the host's clock is right for it. At every moment one stage is
running: the innermost. What nobody measures costs nothing worth mentioning.
"""

import time
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, TypeAlias

Stage: TypeAlias = Literal["reflect", "analyse", "generate", "build"]

Spent: TypeAlias = dict[tuple[str, Stage], float]
"""Seconds, by the name of the function that is compiled and the stage."""

_Measured: TypeAlias = tuple[Spent, tuple[str, Stage] | None]
"""Where the time is written, and the stage that is running."""

_MEASURED: ContextVar[_Measured | None] = ContextVar("measured", default=None)


@contextmanager
def stage(name: Stage, function: str = "") -> Generator[None]:
    """A stage of compiling a function; without a name, of the one that is compiled already.

    Its time is not the time of the stage around it.
    """
    measured = _MEASURED.get()
    if measured is None:
        yield
        return
    spent, outer = measured
    inner = (function or (outer[0] if outer else ""), name)
    spent[inner] += 0.0  # stages are told in the order in which they begin
    token = _MEASURED.set((spent, inner))
    since = time.perf_counter()
    try:
        yield
    finally:
        seconds = time.perf_counter() - since
        spent[inner] += seconds
        if outer:
            spent[outer] -= seconds
        _MEASURED.reset(token)


@contextmanager
def measured_stages() -> Generator[Spent]:
    """Measure all stages inside a `with` block, in this thread."""
    spent: Spent = defaultdict(float)
    token = _MEASURED.set((spent, None))
    try:
        yield spent
    finally:
        _MEASURED.reset(token)

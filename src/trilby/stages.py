"""How long the host takes for each stage of a compilation, where somebody wants to know.

Compiling is synchronous, so that the host's clock is right for it. At every moment one stage is
running: the innermost. What nobody measures costs nothing worth mentioning.
"""

import time
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from typing import Literal, TypeAlias

from trilby.dataclass import dataclass

Stage: TypeAlias = Literal["reflect", "analyse", "generate", "build"]

Spent: TypeAlias = dict[tuple[str, Stage], float]
"""Seconds, by the name of the function that is compiled and the stage."""


@dataclass(slots=True)
class _StageClock:
    spent: Spent = field(default_factory=lambda: defaultdict[tuple[str, Stage], float](float))
    running: list[tuple[str, Stage]] = field(default_factory=list[tuple[str, Stage]])
    since: float = 0.0

    def tick(self) -> None:
        """Count the time since the last tick for the stage that is running."""
        now = time.perf_counter()
        if self.running:
            self.spent[self.running[-1]] += now - self.since
        self.since = now


_CLOCK: ContextVar[_StageClock | None] = ContextVar("clock", default=None)


@contextmanager
def stage(name: Stage, function: str = "") -> Generator[None]:
    """A stage of compiling a function; without a name, of the one that is compiled already."""
    clock = _CLOCK.get()
    if clock is None:
        yield
        return
    clock.tick()
    outer = clock.running[-1][0] if clock.running else ""
    clock.running.append((function or outer, name))
    try:
        yield
    finally:
        clock.tick()
        clock.running.pop()


@contextmanager
def measured_stages() -> Generator[Spent]:
    """Measure all stages inside a `with` block, in this thread."""
    clock = _StageClock()
    before = _CLOCK.set(clock)
    try:
        yield clock.spent
    finally:
        _CLOCK.reset(before)

"""Work that was begun in several steps, one after the other, as one event."""

from collections import deque

from trilby.backend.base import Event, Times
from trilby.backend.fading import FadingEvent


class Together:
    """Steps that follow each other; what those took that are over is added up."""

    __slots__ = ("_failed", "_queued", "_ran", "_under_way", "origin")

    def __init__(self, *steps: Event) -> None:
        self.origin: object = None
        self._under_way: deque[Event] = deque()
        self._queued: float | None = None
        self._ran = 0.0
        self._failed: list[Event] = []
        for step in steps:
            self.add(step)

    def add(self, step: Event) -> None:
        """One more step was begun."""
        if isinstance(step, FadingEvent):
            step.keep_times()
        self._under_way.append(step)
        self._count_what_is_over()

    def _count_what_is_over(self) -> None:
        while self._under_way and self._under_way[0].done:
            step = self._under_way.popleft()
            times = step.times
            if times is None:
                self._failed.append(step)
                continue
            if self._queued is None:
                self._queued = times[0]
            self._ran += times[1]

    @property
    def done(self) -> bool:
        """True once all steps are over."""
        self._count_what_is_over()
        return not self._under_way

    @property
    def times(self) -> Times:
        """For how long the first one was queued, and how long all of them ran."""
        self._count_what_is_over()
        return None if self._failed else (self._queued or 0.0, self._ran)

    @property
    def seconds(self) -> float:
        """How long all of them ran."""
        times = self.times
        return times[1] if times else 0.0

    def wait(self) -> None:
        """Wait for one after the other; raise what failed."""
        for step in (*self._failed, *self._under_way):
            step.wait()

"""The event of backends that do everything at once."""

import time
from collections import deque
from typing import Self

from trilby.backend.base import Event, Times

# ------------------------------------------------------------------------------------------- fading
# Events that forget.


class FadingEvent:
    """An event whose times are forgotten after a while, unless somebody wants them kept.

    It is no abstract class, of which Python would take long to find out that an event is one.
    """

    __slots__ = ()

    def keep_times(self) -> None:
        """Somebody will ask for its times, perhaps much later."""
        raise NotImplementedError


# ----------------------------------------------------------------------------------------- together
# Work that was begun in several steps, one after the other, as one event.


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


# --------------------------------------------------------------------------------------------- done


class DoneEvent:
    """Work that was over before anybody could wait for it.

    What it took is measured by the host's clock, where it was begun at a known time.
    """

    __slots__ = ("began", "origin", "seconds")
    done = True
    by_host_clock = True

    def __init__(self, seconds: float = 0.0, began: float | None = None) -> None:
        self.origin: object = None
        self.seconds = seconds
        self.began = began

    @property
    def times(self) -> Times:
        """It was queued for no time."""
        return 0.0, self.seconds

    @classmethod
    def since(cls, started: float) -> Self:
        """Work that was begun at a time of `time.perf_counter` and is over now."""
        return cls(time.perf_counter() - started, started)

    def wait(self) -> None:
        """Return at once."""

"""The runs of a launch that is repeated, kept for somebody who wants to know what each took.

A run is kept as whatever its backend has of it, until it is over and was read; then it is a line
of two numbers, until somebody takes these. A driver that gets its events back soon uses them
again: the next runs find them in the caches of the processor.
"""

from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from trilby.backend.base import Event, Times
from trilby.errors import TrilbyError
from trilby.locks import if_free, new_lock

T = TypeVar("T")

ROOM = 16_384
"""So many runs are kept before those that are over are read and let go."""

MOST_READ = 16_384
"""So many runs that were read wait to be taken before somebody is told."""

FAILED = float("nan")
"""What a run took that failed or was refused."""


class Sum(NamedTuple):
    """All runs of one kind that are over, measured and added up."""

    kind: Hashable
    runs: int
    seconds: float
    least: float
    most: float


class Taken(NamedTuple):
    """What some runs took, in the order in which the device got them.

    `numbers` say which ones, as `Repeated.runs_begun` counts them. `delays` is for how long they
    were queued, and `seconds` for how long they ran; both are `FAILED` where one failed.
    `unmeasured` is 0 for a run that was measured. Elsewhere it says how many runs were not, from
    that number on, and the times are what one of them is taken to have needed. A backend that adds
    its runs up has nothing but `sums`: also of those that were taken before, and one for each kind
    of `Repeated.keep_next`.
    """

    numbers: NDArray[np.int64]
    delays: NDArray[np.float64]
    seconds: NDArray[np.float64]
    unmeasured: NDArray[np.int64]
    sums: Sequence[Sum] = ()


class KeptRuns(ABC):
    """Runs in the order in which the device got them.

    `full` is called when many runs were read that nobody took. It runs in the middle of a launch,
    and must neither wait nor begin anything. With `may_skip` it is enough to measure some of many
    brief runs, as long as all are counted; most backends measure every run all the same.
    """

    __slots__ = ("__weakref__", "_full", "may_skip")

    def __init__(self, full: Callable[[], None]) -> None:
        self._full = full
        self.may_skip = False

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """True where all runs that there were have been taken."""

    @abstractmethod
    def take(self) -> Taken:
        """Let go of the first runs, as far as they are over. One thread at a time does this."""

    @abstractmethod
    def wait(self) -> None:
        """Return when all runs that are kept now are over, however they end."""


class KeptInOrder(KeptRuns, Generic[T]):
    """Runs that have a thing each: whatever their backend has of them.

    `taken` counts those that were taken. With more than `room` events, those that are over are
    read. Whoever has the lock reads, and waits for nothing.
    """

    __slots__ = ("_delays", "_lock", "_seconds", "events", "room", "taken")

    def __init__(self, full: Callable[[], None]) -> None:
        super().__init__(full)
        self.events: list[T | None] = []
        self.room: int = ROOM
        self.taken: int = 0
        self._delays = array("d")
        self._seconds = array("d")
        self._lock = new_lock()

    @property
    def total(self) -> int:
        """How many runs there ever were."""
        return self.taken + len(self._seconds) + len(self.events)

    @property
    def _unread(self) -> int:
        """How many runs have an event."""
        return len(self.events)

    @property
    def is_empty(self) -> bool:
        """True where nothing is kept."""
        return not self.events and not self._seconds

    def put(self, event: T | None) -> None:
        """Keep a run; None is one that the device did not take."""
        self.events.append(event)
        self.make_room()

    def make_room(self) -> None:
        """Let go of runs that are over, if there are too many, and nobody else is at it."""
        if self._unread <= self.room or not if_free(self._lock, self._read_those_over):
            return
        if len(self._seconds) > MOST_READ:
            self._full()

    def _read_those_over(self) -> None:
        self._read()
        self.room = max(ROOM, 2 * self._unread)  # those that are not over

    def take(self) -> Taken:
        """Read the first ones that are over, and let go of what was read."""
        with self._lock:
            self._read()
            delays, seconds = self._delays, self._seconds
            self._delays, self._seconds = array("d"), array("d")
            self.taken += len(seconds)
            return self._taken(np.array(delays), np.array(seconds))

    def _taken(self, delays: NDArray[np.float64], seconds: NDArray[np.float64]) -> Taken:
        """Number the runs that were taken last, with the lock held."""
        numbers = np.arange(self.taken - len(seconds), self.taken)
        return Taken(numbers, delays, seconds, np.zeros(len(seconds), np.int64))

    def wait(self) -> None:
        """Wait for one after the other."""
        for event in tuple(self.events):
            if event is not None and not self._is_over(event):
                self._wait(event)

    def _read(self) -> None:
        """Read the first runs, as far as they are over, and let go of their events."""
        found: list[tuple[float, float]] = []
        for event in self.events:
            if event is not None and not self._is_over(event):
                break
            times = None if event is None else self._times(event)
            found.append(times or (FAILED, FAILED))
        columns = np.array(found, np.float64).reshape(len(found), 2).T
        self._note(columns[0], columns[1])

    def _note(self, delays: NDArray[np.float64], seconds: NDArray[np.float64]) -> None:
        """Enter what the first runs took, in the place of their events."""
        self._delays.frombytes(delays.tobytes())
        self._seconds.frombytes(seconds.tobytes())
        del self.events[: len(seconds)]

    @abstractmethod
    def _is_over(self, event: T) -> bool: ...

    @abstractmethod
    def _times(self, event: T) -> Times: ...

    @abstractmethod
    def _wait(self, event: T) -> None: ...


class KeptEvents(KeptInOrder[Event]):
    """Runs as the events that everybody knows."""

    __slots__ = ()

    def _is_over(self, event: Event) -> bool:
        return event.done

    def _times(self, event: Event) -> Times:
        return event.times

    def _wait(self, event: Event) -> None:
        wait_whatever(event)


def wait_whatever(event: Event) -> None:
    """Return when some work is over, however it ends: whoever needs its result hears of that."""
    with suppress(TrilbyError):
        event.wait()

"""The runs of a launch that is repeated, kept for somebody who wants to know what each took."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from trilby.backend.base import Event, Times
from trilby.errors import TrilbyError

T = TypeVar("T")

ROOM = 16_384
"""So many runs are kept before those that are over are read and let go."""


class KeptRuns(ABC):
    """Runs in the order in which the device got them.

    `taken` counts those that were read. `full` is called when
    more than `room` have piled up; it runs in the middle of a launch, and must neither wait nor
    begin anything.
    """

    __slots__ = ("__weakref__", "_full", "room", "taken")

    def __init__(self, full: Callable[[], None]) -> None:
        self._full = full
        self.room: int = ROOM
        self.taken: int = 0

    @property
    @abstractmethod
    def total(self) -> int:
        """How many runs there ever were."""

    def is_full(self) -> None:
        """More runs have piled up than there is room for."""
        self._full()
        self.room = max(ROOM, 2 * (self.total - self.taken))  # those that are not over

    @abstractmethod
    def take(self) -> list[Times]:
        """Let go of the first runs, as far as they are over. One thread at a time does this."""

    @abstractmethod
    def wait(self) -> None:
        """Return when all runs that are kept now are over, however they end."""


class KeptInOrder(KeptRuns, Generic[T]):
    """Runs that have a thing each: whatever their backend has of them."""

    __slots__ = ("events",)

    def __init__(self, full: Callable[[], None]) -> None:
        super().__init__(full)
        self.events: deque[T | None] = deque()

    @property
    def total(self) -> int:
        """Those that were read, and those that are kept."""
        return self.taken + len(self.events)

    def put(self, event: T | None) -> None:
        """Keep a run; None is one that the device did not take."""
        self.events.append(event)
        self.make_room()

    def make_room(self) -> None:
        """Let go of runs that are over, if there are too many."""
        if len(self.events) > self.room:
            self.is_full()

    def take(self) -> list[Times]:
        """Read the first ones that are over."""
        found: list[Times] = []
        events = self.events
        while events:
            first = events[0]
            if first is not None and not self._is_over(first):
                break
            found.append(None if first is None else self._times(first))
            events.popleft()
            self.taken += 1
        return found

    def wait(self) -> None:
        """Wait for one after the other."""
        for event in tuple(self.events):
            if event is not None and not self._is_over(event):
                self._wait(event)

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


class FadingEvent(ABC):
    """An event whose times are forgotten after a while, unless somebody wants them kept."""

    __slots__ = ()

    @abstractmethod
    def keep_times(self) -> None:
        """Somebody will ask for its times, perhaps much later."""


def wait_whatever(event: Event) -> None:
    """Return when some work is over, however it ends: whoever needs its result hears of that."""
    with suppress(TrilbyError):
        event.wait()

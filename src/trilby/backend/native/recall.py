"""What the work of the native device took, for those who ask later than its queue remembers.

The queue knows the times of its last 4,096 records. While somebody wants to know all of them they
are read before they are forgotten, many at once.
"""

import ctypes
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from trilby.backend.base import Times
from trilby.backend.kept import KeptRuns
from trilby.backend.native.record import SEQUENCE, WORD, address_of_record

if TYPE_CHECKING:
    from array import array

    from trilby.backend.native.engine import State
    from trilby.backend.native.events import NativeEvent
    from trilby.backend.native.kernels import NativePrepared

_SPARE = 64
"""Other threads may submit some records between a look at the queue and what follows."""


class NativeRuns(KeptRuns):
    """The runs of a launch from now on; its record is another one after a change of arguments."""

    __slots__ = ("_engine", "_is_ended", "_launch", "_read", "_sequences", "_total")

    def __init__(self, launch: "NativePrepared", full: Callable[[], None]) -> None:
        super().__init__(full)
        self._launch = launch
        self._engine = launch.owner.engine
        self._sequences: deque[int] = deque()
        self._read: deque[Times] = deque()
        self._is_ended = False
        self._total = 0
        self._engine.flush()
        self._engine.recall().runs.append(weakref.ref(self))

    @property
    def total(self) -> int:
        """Counted when they are submitted."""
        return self._total

    @property
    def _address(self) -> int:
        return address_of_record(self._launch.record)

    def submitted(self, addresses: "array[int]", first: int) -> None:
        """Records were submitted, of which the first has that number; some may be runs of this."""
        count = 0 if self._is_ended else addresses.count(self._address)
        if count == len(addresses):
            self._sequences.extend(range(first, first + count))
        elif count:
            numbered = enumerate(addresses, first)
            self._sequences.extend(number for number, one in numbered if one == self._address)
        self._total += count

    def read(self, slots: Any, completed: int) -> None:
        """Read what those took that are over."""
        over: list[int] = []
        while self._sequences and self._sequences[0] <= completed:
            over.append(self._sequences.popleft())
        found = slots[(np.array(over, np.uint64) - 1) % len(slots)]
        seconds = (found["ended"] - found["begun"]) * 1e-9
        self._read.extend((0.0, one) for one in seconds.tolist())
        if len(self._read) > self.room:
            self.is_full()

    def take(self) -> list[Times]:
        """Those that are over."""
        self._engine.recall().read()
        found = [self._read.popleft() for _ in range(len(self._read))]
        self.taken += len(found)
        return found

    def wait(self) -> None:
        """The last run is over after all others."""
        if self._sequences:
            self._engine.wait(self._sequences[-1])

    def end(self) -> None:
        """The runs to come are not for this."""
        self._engine.flush()
        self._is_ended = True

    def begun(self) -> int:
        """How many there are, those that are held back among them."""
        with self._engine.lock:
            return self.total + self._engine.held.count(self._address)


class Recall:
    """Those who want to know what records took; `read_at` is the last record that was read.

    `wait` returns when a record is done, and submits nothing.
    """

    def __init__(self, state: "State", wait: Callable[[int], None]) -> None:
        self._state = state
        self._wait = wait
        self._slots: Any = np.ctypeslib.as_array(state.slots)
        self._lock = RLock()
        self._events: deque[weakref.ref[NativeEvent]] = deque()
        self.read_at = int(state.completed)
        self.runs: list[weakref.ref[NativeRuns]] = []

    @property
    def is_idle(self) -> bool:
        """True where nobody wants to know anything any more."""
        return not self.runs and not self._events

    def keep(self, event: "NativeEvent") -> None:
        """Let an event have its times as soon as they are known, if it is still there."""
        self._events.append(weakref.ref(event))

    def make_way(self, records: int) -> None:
        """Some records are about to be submitted: read those in whose places they will be."""
        reach = int(self._state.submitted) + records + _SPARE - len(self._slots)
        if reach > self.read_at:
            self.read()
            if reach > self.read_at:
                self._wait(min(reach, int(self._state.submitted)))
                self.read()

    def submitted(self, addresses: "array[int]") -> None:
        """Some records were submitted in one go."""
        if addresses:
            place = addresses[-1] + WORD * SEQUENCE
            first = ctypes.c_uint64.from_address(place).value - len(addresses) + 1
            for runs in self._alive():
                runs.submitted(addresses, first)

    def read(self) -> None:
        """Read all records that are done."""
        with self._lock:
            completed = int(self._state.completed)
            self.read_at = completed
            for runs in self._alive():
                runs.read(self._slots, completed)
            for event in self._over(completed):
                event.keep_seconds()
            self.runs = [one for one in self.runs if one() is not None]

    def _alive(self) -> "Iterator[NativeRuns]":
        for one in self.runs:
            runs = one()
            if runs is not None:
                yield runs

    def _over(self, completed: int) -> "Iterator[NativeEvent]":
        """The events that are over; they are forgotten here, and those that are gone."""
        while self._events:
            event = self._events[0]()
            if event is not None:
                if event.sequence > completed:
                    return
                yield event
            self._events.popleft()

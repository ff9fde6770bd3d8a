"""What the work of the native device took, for those who ask later than its queue remembers.

The queue itself notes when each record was begun and done, and knows that of the last 4,096. While
somebody wants to know it of all, they are read before they are forgotten, some thousands at once:
nothing is noted about a record when it is submitted.
"""

import gc
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trilby.backend.kept import MOST_READ, KeptRuns, Taken
from trilby.backend.native.record import SEQUENCE, Record, address_of_record

if TYPE_CHECKING:
    from trilby.backend.native.engine import Engine, State
    from trilby.backend.native.events import NativeEvent

_SPARE = 256
"""Other threads may submit some records between a look at the queue and what follows."""


class Slots(NamedTuple):
    """What the queue knows of records that are done, in the order in which it got them.

    These are its own numbers, which become others when more records are submitted.
    """

    sequences: NDArray[np.int64]
    records: NDArray[np.uint64]
    begun: NDArray[np.uint64]
    ended: NDArray[np.uint64]


class NativeRuns(KeptRuns):
    """The runs of a launch from now on, which are found in the queue by the launch's record.

    A launch has another record after a change of its arguments. `_records` are those that may have
    runs which were not read, each with the number of the last record that was submitted before its
    own first run: another one may have been at the same address. The last of them is the current
    one. They stay alive here, so that no other can be there. `_until` is the last run that counts,
    and `_heard` the last record that was heard of: after Ctrl-C some are told of twice.
    """

    __slots__ = ("_engine", "_heard", "_read", "_records", "_unread", "_until")

    def __init__(self, engine: "Engine", record: Record, full: Callable[[], None]) -> None:
        super().__init__(full)
        self._engine = engine
        self._records = [(record, engine.submitted)]
        self._until: int | None = None
        self._heard = 0
        self._read: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
        self._unread = 0
        engine.listen(self)

    @property
    def is_empty(self) -> bool:
        """True where all runs so far were read and taken."""
        return not self._read and self._engine.recall().read_at >= self._last

    @property
    def _last(self) -> int:
        """The number of the last run, or of one that came later."""
        last = max(record[SEQUENCE] for record, _ in self._records)
        return last if self._until is None else min(last, self._until)

    def go_on_with(self, record: Record) -> None:
        """The launch has this record from now on."""
        self._records.append((record, self._engine.submitted))

    def end(self) -> None:
        """The runs to come are not for this."""
        if self._until is None:
            self._until = self._engine.submitted

    def hear(self, slots: Slots) -> bool:
        """Pick the own runs out of what was done; true where many of them wait to be taken."""
        mine = self._mine(slots)
        if mine.all():
            begun, ended, sequences = slots.begun, slots.ended, slots.sequences
        else:
            begun, ended, sequences = slots.begun[mine], slots.ended[mine], slots.sequences[mine]
        found = ((sequences, (ended - begun) * np.float64(1e-9)),) if len(sequences) else ()
        count, last = len(sequences), int(slots.sequences[-1])
        # an interrupt is heard after a call, and there is none among these
        self._read += found
        self._unread += count
        self._heard = last
        *others, current = self._records
        unread = [one for one in others if one[0][SEQUENCE] > last]
        self._records = [*unread, current]
        return self._unread > MOST_READ

    def _mine(self, slots: Slots) -> NDArray[np.bool_]:
        """Which records are runs of this."""
        known = sorted((address_of_record(one), since) for one, since in self._records)
        addresses = np.array([address for address, _ in known], np.uint64)
        since = np.array([number for _, number in known])
        if len(known) == 1:
            mine = slots.records == addresses[0]
        else:
            places = np.searchsorted(addresses[1:], slots.records, "right")
            mine, since = addresses[places] == slots.records, since[places]
        if slots.sequences[0] <= since.max():
            mine &= slots.sequences > since
        if self._until is not None:
            mine &= slots.sequences <= self._until
        if slots.sequences[0] <= self._heard:
            mine &= slots.sequences > self._heard
        return mine

    def is_full(self) -> None:
        """Many runs wait to be taken."""
        self._full()

    def take(self) -> Taken:
        """Those that are over; nobody measures for how long they were queued."""
        recall = self._engine.recall()
        recall.read()
        with recall.lock:
            read, self._read, self._unread = self._read, [], 0
        if not read:
            return Taken(np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0, np.int64))
        sequences = np.concatenate([one[0] for one in read])
        seconds = np.concatenate([one[1] for one in read])
        unmeasured = np.zeros(len(seconds), np.int64)
        return Taken(sequences, np.zeros(len(seconds)), seconds, unmeasured)

    def wait(self) -> None:
        """The last run is over after all others."""
        self._engine.flush()
        self._engine.wait(self._last)


class Recall:
    """Those who want to know what records took; `read_at` is the last record that was read.

    `wait` returns when a record is done, and submits nothing.
    """

    def __init__(self, state: "State", wait: Callable[[int], None]) -> None:
        self._state = state
        self._wait = wait
        self._slots: Any = np.ctypeslib.as_array(state.slots)
        self.lock = RLock()
        self.events: deque[NativeEvent] = deque()
        """Those that get their times as soon as these are known."""
        self._runs: list[weakref.ref[NativeRuns]] = []
        self.begin()

    @property
    def is_idle(self) -> bool:
        """True where nobody wants to know anything any more."""
        return not self._runs and not self.events

    def begin(self) -> int:
        """Somebody wants to know, after a time in which nobody did; the result is as below."""
        self.read_at = int(self._state.completed)
        return self._room(0)

    def _room(self, records: int) -> int:
        """So many more records may be submitted after some, before others are forgotten."""
        return self.read_at + len(self._slots) - _SPARE - self._state.submitted - records

    def listen(self, runs: NativeRuns) -> None:
        """Let runs hear of all records from now on, as long as somebody has them."""
        with self.lock:
            self._runs.append(weakref.ref(runs))

    def make_way(self, records: int) -> int:
        """Some records are about to be submitted: read those in whose places they will be.

        The result is how many more may follow.
        """
        if self._room(records) < 0:
            self.read()
            missing = -self._room(records)
            if missing > 0:
                self._wait(min(self.read_at + missing, int(self._state.submitted)))
                self.read()
        return self._room(records)

    def read(self) -> None:
        """Read all records that are done since the last time."""
        with self.lock:
            collects = gc.isenabled()
            try:
                gc.disable()  # buffers that end here would begin copies, which may have to wait
                full = self._read()
            finally:
                if collects:
                    gc.enable()
        for runs in full:
            runs.is_full()

    def _read(self) -> set[NativeRuns]:
        """The same, with the lock held; the result are those that have many runs by now."""
        full: set[NativeRuns] = set()
        for slots in self._done(self.read_at, int(self._state.completed)):
            full |= {runs for runs in self._alive() if runs.hear(slots)}
            self._tell_events(slots)
            self.read_at = int(slots.sequences[-1])
        self._runs = [one for one in self._runs if one() is not None]
        return full

    def _done(self, before: int, completed: int) -> Iterator[Slots]:
        """The slots of records, from the first after `before` on, in stretches without a gap."""
        all_slots, start = self._slots, before
        while start < completed:
            place = start % len(all_slots)
            stop = min(completed, start + len(all_slots) - place)
            found = all_slots[place : place + stop - start]
            sequences = np.arange(start + 1, stop + 1)
            yield Slots(sequences, found["record"], found["begun"], found["ended"])
            start = stop

    def _alive(self) -> Iterator[NativeRuns]:
        for one in self._runs:
            runs = one()
            if runs is not None:
                yield runs

    def _tell_events(self, slots: Slots) -> None:
        """Let those events have their times that are over, and forget them."""
        first, last = int(slots.sequences[0]), int(slots.sequences[-1])
        while self.events and self.events[0].sequence <= last:
            event = self.events.popleft()
            place = event.sequence - first
            if place >= 0:
                event.have_times(int(slots.begun[place]), int(slots.ended[place]))

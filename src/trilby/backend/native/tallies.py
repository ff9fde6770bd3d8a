"""The runs of a launch on the native device, added up by its queue as they end.

Nothing is done about a single run, and nothing is kept of it: there are as many tallies as lines
that dispatched it in turns.
"""

from array import array
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trilby.backend.kept import KeptRuns, Sum, Taken
from trilby.backend.native.record import SEQUENCE, TALLY, Record, address_of_record

if TYPE_CHECKING:
    from trilby.backend.native.engine import Engine

Tally: TypeAlias = "array[int]"
"""Words as `%Tally` of `queue.ll` has them. It must neither move nor end while the queue has it."""

_BEFORE, _AFTER, _FIRST, _COUNT, _TOOK, _LEAST, _MOST, _WORDS = range(8)

_MOST_TALLIES = 1024
"""So many tallies wait to be taken before somebody is told."""

_NO_RUNS = Taken(np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0, np.int64))


class Tallies:
    """The tallies of a launch that its record, or one of it under way, leads to."""

    __slots__ = ("_all", "_engine")

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._all: deque[Tally] = deque()

    def begin(self, record: Record) -> Tally:
        """Count the runs from now on in a tally of their own."""
        self._engine.flush()
        self._forget_done()
        tally = array("Q", (0,) * _WORDS)
        self._all.append(tally)  # before the queue has it
        self._engine.functions.begin_tally(address_of_record(record), address_of_record(tally))
        return tally

    def end(self, record: Record) -> None:
        """Count the runs from now on nowhere; those under way belong to the last tally."""
        self._engine.flush()
        if record[SEQUENCE] > self._engine.state.completed:
            self.begin(record)  # nobody will read it
        else:
            record[TALLY] = 0
            self._all.clear()

    def _forget_done(self) -> None:
        """Let go of tallies to which no run belongs that is under way."""
        tallies, completed = self._all, self._engine.state.completed
        while len(tallies) > 1 and tallies[1][_AFTER] <= completed:
            tallies[1][_BEFORE] = 0
            tallies.popleft()


class _Known:
    """A tally, and what was taken of it."""

    __slots__ = ("count", "tally", "took")

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self.count = self.took = 0


class NativeRuns(KeptRuns):
    """The runs of a launch from now on. `_until` is the last one that counts, if that is known.

    `_record` is that of the launch: the number of its last run is there.
    """

    __slots__ = ("_engine", "_known", "_record", "_until")

    def __init__(
        self, engine: "Engine", record: Record, tally: Tally, full: Callable[[], None]
    ) -> None:
        super().__init__(full)
        self._engine = engine
        self._record = record
        self._known = [_Known(tally)]
        self._until: int | None = None

    @property
    def is_empty(self) -> bool:
        """True where all runs so far are over and were taken."""
        if self._engine.state.completed < self._last:
            return False
        return all(one.tally[_COUNT] == one.count for one in tuple(self._known))

    @property
    def _last(self) -> int:
        """The number of the last run, or of one that came later."""
        last = self._record[SEQUENCE]
        return last if self._until is None else min(last, self._until)

    def go_on_with(self, record: Record) -> None:
        """The launch has this record from now on."""
        self._record = record

    def go_on_in(self, tally: Tally) -> None:
        """The runs to come are counted there."""
        self._known.append(_Known(tally))
        if len(self._known) > _MOST_TALLIES:
            self._full()

    def end(self) -> None:
        """The runs to come are not for this."""
        if self._until is None:
            self._until = self._engine.submitted

    def take(self) -> Taken:
        """Those that are over; nobody measures for how long they were queued."""
        completed, known = self._engine.state.completed, tuple(self._known)
        # when a run of a later tally is over, so are all of those before: they are read after it
        read = [self._read(one.tally) for one in reversed(known)]
        sums: list[Sum] = []
        for one, words in zip(known, reversed(read), strict=True):
            count, took = words[_COUNT] - one.count, words[_TOOK] - one.took
            if count:
                least, most = words[_LEAST] * 1e-9, words[_MOST] * 1e-9
                sums.append(Sum(words[_FIRST], count, took * 1e-9, least, most))
            one.count, one.took = words[_COUNT], words[_TOOK]
        over = sum(one.tally[_AFTER] <= completed for one in known[1:])
        del self._known[:over]
        return _NO_RUNS._replace(sums=sums)

    def _read(self, tally: Tally) -> Tally:
        """A tally as it is between two runs."""
        words = array("Q", tally)
        addresses = address_of_record(tally), address_of_record(words)
        self._engine.functions.read_tally(self._engine.address, *addresses)
        return words

    def wait(self) -> None:
        """The last run is over after all others."""
        self._engine.flush()
        self._engine.wait(self._last)

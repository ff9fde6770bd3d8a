"""The runs of a launch on the native device, added up by its queue as they end.

Nothing is done about a single run, and nothing is kept of it: there are as many tallies as kinds
of runs. A run is counted where its record says when it is submitted.
"""

from array import array
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trilby.backend.kept import KeptRuns, Sum, Taken
from trilby.backend.native.queue_code import SEQUENCE, TALLY, Record, address_of_record

if TYPE_CHECKING:
    from trilby.backend.native.engine import Engine

Tally: TypeAlias = "array[int]"
"""Words as `%Tally` of `queue.ll` has them. It must neither move nor end while the queue has it."""

_NEW = (0, 0, 2**64 - 1, 0)

_NO_RUNS = Taken(np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0, np.int64))


class NativeRuns(KeptRuns):
    """The runs of a launch from now on, by their kinds.

    `record` is that of the launch: the number of its last run is there. `_until` is the number of
    the last run that counts, when that is known. `tallies` must be there until that run is over.
    """

    __slots__ = ("_engine", "_until", "record", "tallies")

    def __init__(self, engine: "Engine", record: Record, full: Callable[[], None]) -> None:
        super().__init__(full)
        self._engine = engine
        self.record = record
        self.tallies: dict[Hashable, Tally] = {}
        self._until: int | None = None

    @property
    def is_empty(self) -> bool:
        """True where all runs so far are over: whoever takes them next has all."""
        return self._engine.state.completed >= self._last

    @property
    def _last(self) -> int:
        """The number of the last run."""
        return self.record[SEQUENCE] if self._until is None else self._until

    def go_on_with(self, kind: Hashable) -> None:
        """The runs to come are of this kind."""
        tally = self.tallies.get(kind)
        if tally is None:
            tally = self.tallies[kind] = array("Q", _NEW)
        address = address_of_record(tally)
        self._engine.flush()  # what is held back is of the kind before
        self.record[TALLY] = address

    def end(self) -> None:
        """The runs to come are not for this."""
        self._engine.flush()
        # an interrupt is heard after a call, and there is none among these
        self.record[TALLY] = 0
        self._until = self.record[SEQUENCE]

    def take(self) -> Taken:
        """All that are over; nobody measures for how long they were queued."""
        kinds = tuple(self.tallies.items())
        sums = [self._sum(kind, tally) for kind, tally in kinds]
        return _NO_RUNS._replace(sums=[one for one in sums if one.runs])

    def _sum(self, kind: Hashable, tally: Tally) -> Sum:
        """A tally as it is between two runs."""
        words = array("Q", _NEW)
        addresses = address_of_record(tally), address_of_record(words)
        self._engine.functions.read_tally(self._engine.address, *addresses)
        runs, took, least, most = words
        return Sum(kind, runs, took * 1e-9, least * 1e-9, most * 1e-9)

    def wait(self) -> None:
        """The last run is over after all others."""
        self._engine.flush()
        self._engine.wait(self._last)

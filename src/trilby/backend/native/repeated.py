"""A launch of the native device that is run again and again.

Brief ones are held back until there are some: one call from Python then submits them all.
"""

import weakref
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from trilby.backend.base import Argument, Event, Repeated, events_of
from trilby.backend.native.events import NativeEvent
from trilby.backend.native.native_kernels import NativePrepared
from trilby.backend.native.queue_code import COST, SEQUENCE, address_of_record

if TYPE_CHECKING:
    from trilby.backend.native.tallies import NativeRuns

MOST_HELD = 32
"""The launches that are submitted together."""

BRIEF_NS = 4_000
"""What a launch may take to be held back: as long as `queue.ll` would run it at once."""


class NativeRepeated(Repeated):
    """Submits its record. What comes before it in the queue is done before it."""

    __slots__ = ("_after", "_is_listed", "_prepared", "_runs", "_unchecked")

    def __init__(self, prepared: NativePrepared, unchecked: "Unchecked") -> None:
        super().__init__(prepared.owner.engine.held, 1)
        self._prepared = prepared
        self._unchecked = unchecked
        self._runs: NativeRuns | None = None
        self._is_listed = False
        self._after: Sequence[Event | Repeated] | None = None

    @property
    def latest(self) -> NativeEvent:
        """The last run."""
        engine = self._prepared.owner.engine
        engine.flush()
        event = NativeEvent(engine, self._prepared.record[SEQUENCE])
        event.origin = self.origin
        return event

    def run(self, after: Sequence[Event | Repeated]) -> None:
        """Run it, now or a moment later."""
        if self.same is None or after is not self._after:
            self._prepare(after)
        address = address_of_record(self._prepared.record)
        self.begun += 1
        self.held.append(address)  # in the same step: Ctrl-C is heard after a call
        if len(self.held) >= self.most:
            self.submit()

    def _prepare(self, after: Sequence[Event | Repeated]) -> None:
        """Check its memory, and wait for work of other devices."""
        self._prepared.check()
        others = [one for one in after if not isinstance(one, NativeRepeated | NativeEvent)]
        for event in events_of(others):
            event.wait()
        if others:
            return
        self._after = after
        self.same = address_of_record(self._prepared.record)
        if not self._is_listed:
            self._is_listed = True
            self._unchecked.append(weakref.ref(self))

    def check_again(self) -> None:
        """Some memory was freed: look at it before the next run."""
        self._is_listed = False
        self.same = None

    def submit(self) -> None:
        """Submit what is held back, and see how long the last run took."""
        self._prepared.owner.engine.flush()
        brief = 0 < self._prepared.record[COST] < BRIEF_NS
        self.most = MOST_HELD if brief else 1

    def replace(self, position: int, argument: Argument) -> None:
        """Set another argument for the runs to come."""
        self.same = None
        try:
            self._prepared.replace(position, argument)
        finally:  # after Ctrl-C there may be another record, too
            if self._runs is not None:
                self._runs.record = self._prepared.record

    def keep(self, full: Callable[[], None]) -> "NativeRuns":
        """Have the queue add up all runs."""
        from trilby.backend.native.tallies import NativeRuns  # noqa: PLC0415 -- for profiles alone

        self.keep_no_more()
        prepared = self._prepared
        self.kept = self._runs = runs = NativeRuns(prepared.owner.engine, prepared.record, full)
        prepared.count_in(runs.tallies)
        runs.go_on_with(None)
        return runs

    def keep_next(self, kind: Hashable) -> None:
        """The next runs are added to those of their kind."""
        if self._runs is not None:
            self._runs.go_on_with(kind)

    def keep_no_more(self) -> None:
        """Nobody wants to know of the runs to come."""
        if self._runs is not None:
            self._runs.end()
            self._prepared.count_in(None)
        self.kept = self._runs = None

    def runs_begun(self) -> None:
        """They are added up by their kinds."""


Unchecked: TypeAlias = deque[weakref.ref[NativeRepeated]]
"""Launches that are run without a look at their memory."""

"""A launch that is run again and again, on backends that have no shorter way to do so."""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, count
from operator import getitem, itemgetter

from trilby.backend.base import Argument, Event, Passes, Prepared, Repeated, events_of
from trilby.backend.done import DoneEvent, Together
from trilby.backend.kept import KeptEvents
from trilby.errors import TrilbyError

# ------------------------------------------------------------------------------------- pass by pass
# Passes of a launch that are begun one at a time, on backends that have no shorter way.

_only_event = itemgetter(slice(0, 1))


class PassByPass(Passes):
    """Begins each pass with a function of its backend, which gets its number.

    A pass that fails leaves everything as it was before it.
    """

    __slots__ = ("_before", "_begun", "_numbers", "_prepared", "_run")

    def __init__(self, run: Callable[[int, Sequence[Event]], Event], prepared: Prepared) -> None:
        super().__init__()
        self._run = run
        self._prepared = prepared
        self._numbers = count(1)
        self._before = 0
        self._begun: deque[tuple[Event, int]] = deque()

    @property
    def begun(self) -> int:
        """How many passes were begun."""
        return self._begun[-1][1] if self._begun else 0

    @property
    def latest(self) -> Event:
        """The passes of the last call of `run`."""
        return Together(*(event for event, number in self._begun if number > self._before))

    def run(self, passes: int, after: Sequence[Event] = ()) -> None:
        """Begin some passes, each after the one before.

        Nothing can come between a pass and its number, since all but `_run` is done in C: Ctrl-C
        is heard nowhere else.
        """
        while len(self._begun) > 1:
            self._begun.popleft()
        self._before = self.begun
        start = self.next_number
        before = map(_only_event, iter(partial(getitem, self._begun, -1), None))
        begun = map(self._run, range(start, start + passes), chain((after,), before))
        self._begun.extend(zip(begun, self._numbers, strict=False))

    def replace(self, position: int, argument: Argument) -> None:
        """Set another argument for the passes to come."""
        self._prepared.replace(position, argument)


# ---------------------------------------------------------------------------------------- run again


class RunAgain(Repeated):
    """Runs a prepared launch with the method `run` of its backend, at once."""

    __slots__ = ("_latest", "_prepared", "_run")

    def __init__(
        self, run: Callable[[Prepared, Sequence[Event]], Event], prepared: Prepared
    ) -> None:
        super().__init__([], 1)
        self._run = run
        self._prepared = prepared
        self._latest: Event = DoneEvent()

    @property
    def latest(self) -> Event:
        """The last run, which may have been held back by an interrupt."""
        if self.held:
            self.submit()
        return self._latest

    def run(self, after: Sequence[Event | Repeated]) -> None:
        """Run it now."""
        self.same = after
        if self.held:
            self.submit()
        self._run_once(after)

    def submit(self) -> None:
        """Run it as often as was asked for, or until a run fails: the rest is not run later."""
        try:
            while True:
                if not self.held:
                    break
                self._run_once(self.held.pop())
        finally:
            self.held.clear()

    def _run_once(self, after: Sequence[Event | Repeated]) -> None:
        try:
            event = self._run(self._prepared, events_of(after))
        except TrilbyError:
            self._keep(None)
            raise
        event.origin = self.origin
        self._latest = event
        self.begun += 1
        self._keep(event)

    def keep(self, full: Callable[[], None]) -> KeptEvents:
        """Keep the events of its runs."""
        self.kept = kept = KeptEvents(full)
        return kept

    def runs_begun(self) -> int:
        """How many are kept, or were taken."""
        return self.kept.total if isinstance(self.kept, KeptEvents) else 0

    def _keep(self, event: Event | None) -> None:
        if self.kept is not None and isinstance(self.kept, KeptEvents):
            self.kept.put(event)

    def replace(self, position: int, argument: Argument) -> None:
        """Set another argument for the runs to come."""
        self._prepared.replace(position, argument)

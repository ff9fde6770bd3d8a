"""A launch that is run again and again, on backends that have no shorter way to do so."""

from collections.abc import Callable, Sequence

from trilby.backend.base import Argument, Event, Prepared, Repeated, events_of
from trilby.backend.done import DoneEvent
from trilby.backend.kept import KeptEvents
from trilby.errors import TrilbyError


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

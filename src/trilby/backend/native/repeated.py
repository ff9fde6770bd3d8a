"""A launch of the native device that is run again and again: one call from Python each time."""

from collections.abc import Sequence

from trilby.backend.base import Argument, Event, Repeated, events_of
from trilby.backend.native.events import NativeEvent
from trilby.backend.native.kernels import NativePrepared
from trilby.backend.native.record import SEQUENCE


class NativeRepeated(Repeated):
    """Submits its record. What comes before it in the queue is done before it."""

    __slots__ = ("_address", "_after", "_engine", "_owner", "_prepared", "_submit")

    def __init__(self, prepared: NativePrepared) -> None:
        super().__init__()
        self._prepared = prepared
        self._owner = prepared.owner
        self._engine = prepared.owner.engine
        self._submit = self._engine.try_submit
        self._address = prepared.address
        self._after: Sequence[Event | Repeated] | None = None

    @property
    def latest(self) -> NativeEvent:
        """The last run."""
        event = NativeEvent(self._engine, self._prepared.record[SEQUENCE])
        event.origin = self.origin
        return event

    def run(self, after: Sequence[Event | Repeated]) -> None:
        """Submit it. A hot loop does little else than this."""
        if after is not self._after or self._prepared.checked != self._owner.moment:
            self._look(after)
        if not self._submit(self._address):
            self._engine.submit_patiently(self._address)

    def _look(self, after: Sequence[Event | Repeated]) -> None:
        """Check its memory, and wait for work of other devices."""
        self._prepared.check()
        others = [one for one in after if not isinstance(one, NativeRepeated | NativeEvent)]
        for event in events_of(others):
            event.wait()
        self._after = None if others else after

    def replace(self, position: int, argument: Argument) -> None:
        """Set another argument for the runs to come."""
        self._prepared.replace(position, argument)
        self._address = self._prepared.address

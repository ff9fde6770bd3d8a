"""Work of the native device that was begun."""

import time
from collections.abc import Sequence
from typing import Protocol

from trilby.backend.base import Times
from trilby.backend.done import FadingEvent
from trilby.backend.failures import assertion_failed
from trilby.backend.native.engine import Engine
from trilby.backend.native.printing import Printed
from trilby.data.segment import Live
from trilby.source import Location


class NativeEvent(FadingEvent):
    """A record that was submitted: it is done when the queue has completed its number."""

    __slots__ = ("_engine", "_times", "origin", "sequence")
    by_host_clock = True

    def __init__(self, engine: Engine, sequence: int) -> None:
        self._engine = engine
        self._times: tuple[int, int] | None = None
        self.sequence = sequence
        self.origin: object = None

    @property
    def done(self) -> bool:
        """True once it is over."""
        return self._engine.state.completed >= self.sequence

    @property
    def seconds(self) -> float:
        """How long it took from its first work group to its last; 0.0 where it is forgotten."""
        begun, ended = self._times or self._engine.times(self.sequence) or (0, 0)
        return (ended - begun) * 1e-9

    @property
    def began(self) -> float | None:
        """When its first work group did, as `time.perf_counter` counts; None where forgotten."""
        times = self._times or self._engine.times(self.sequence)
        ahead = time.perf_counter() - time.clock_gettime(time.CLOCK_MONOTONIC)
        return times[0] * 1e-9 + ahead if times else None

    @property
    def times(self) -> Times:
        """Nobody measures for how long it was queued."""
        return 0.0, self.seconds

    def keep_times(self) -> None:
        """Somebody will ask, perhaps when the queue has forgotten it."""
        self._engine.remember(self)

    def take_times(self) -> None:
        """It is over: have what the queue knows of it."""
        self._times = self._engine.times(self.sequence)

    def wait(self) -> None:
        """Return when it is done."""
        self._engine.wait(self.sequence)


class Debugged(Protocol):
    """A kernel that asserts or prints."""

    @property
    def asserts(self) -> Sequence[tuple[str, Location]]:
        """Its assertions, as a report counts them from 1 on."""
        ...

    @property
    def printed(self) -> Printed | None:
        """What its launches print."""
        ...


class DebuggingEvent(NativeEvent):
    """The launch of a kernel that asserts or prints, and what it reports."""

    __slots__ = ("_kernel", "_report")

    def __init__(self, engine: Engine, sequence: int, report: Live, kernel: Debugged) -> None:
        super().__init__(engine, sequence)
        self._report = report
        self._kernel = kernel

    @property
    def times(self) -> Times:
        """None where an `assert` failed."""
        return None if self._report[0] else super().times

    def wait(self) -> None:
        """Return when all is done, and show what was printed; raise what a failed `assert` says."""
        try:
            super().wait()
        finally:
            if self._kernel.printed is not None:
                self._kernel.printed.show()
        number, x, y, z = (int(n) for n in self._report)
        if number:
            message, location = self._kernel.asserts[number - 1]
            raise assertion_failed(message, (x, y, z), location)

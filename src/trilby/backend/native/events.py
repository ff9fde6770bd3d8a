"""Work of the native device that was begun."""

from collections.abc import Sequence

from trilby.backend.failures import assertion_failed
from trilby.backend.native.engine import Engine
from trilby.data.segment import Live
from trilby.source import Location


class NativeEvent:
    """A record that was submitted: it is done when the queue has completed its number."""

    __slots__ = ("_engine", "origin", "sequence")

    def __init__(self, engine: Engine, sequence: int) -> None:
        self._engine = engine
        self.sequence = sequence
        self.origin: object = None

    @property
    def done(self) -> bool:
        """True once it is over."""
        return self._engine.state.completed >= self.sequence

    @property
    def seconds(self) -> float:
        """How long it took from its first work group to its last."""
        return self._engine.seconds(self.sequence)

    def wait(self) -> None:
        """Return when it is done."""
        self._engine.wait(self.sequence)


class AssertingEvent(NativeEvent):
    """The launch of a kernel with assertions, and what it reports."""

    __slots__ = ("_asserts", "_report")

    def __init__(
        self, engine: Engine, sequence: int, report: Live, asserts: Sequence[tuple[str, Location]]
    ) -> None:
        super().__init__(engine, sequence)
        self._report = report
        self._asserts = asserts

    def wait(self) -> None:
        """Return when all is done; raise what the first failed `assert` says."""
        super().wait()
        number, x, y, z = (int(n) for n in self._report)
        if number:
            message, location = self._asserts[number - 1]
            raise assertion_failed(message, (x, y, z), location)

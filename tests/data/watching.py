"""Two watchers for tests: one that writes down what it hears, one that plays a device."""

from dataclasses import dataclass, field

from trilby.data.ranges import Ranges
from trilby.data.segment import Live, Segment

POISON = 0xA5


@dataclass
class Recorder:
    """Every announcement in order, as ("read" | "write" | "wrote" | "failed", start, bytes)."""

    events: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])
    escapes: int = 0
    copies_nothing: bool = False

    def before_read(self, ranges: Ranges) -> None:
        self._hear("read", ranges)

    def before_write(self, ranges: Ranges) -> None:
        self._hear("write", ranges)

    def after_write(self, ranges: Ranges) -> None:
        self._hear("wrote", ranges)

    def stale(self, ranges: Ranges) -> Ranges:
        return Ranges.EMPTY

    def after_failed_write(self, ranges: Ranges) -> None:
        self._hear("failed", ranges)

    def released(self) -> None:
        self.events.append(("released", 0, 0))

    def escaped(self) -> None:
        self.escapes += 1

    def _hear(self, kind: str, ranges: Ranges) -> None:
        self.events.extend((kind, start, stop - start) for start, stop in ranges)

    def take(self) -> list[tuple[str, int, int]]:
        """What was heard since the last time."""
        taken, self.events = self.events, []
        return taken


class Device:
    """Holds the truth, gives the host only the bytes it says it reads, spoils the rest.

    A read that was not announced sees poison; a gap in a write that was not announced as
    read destroys the truth.
    """

    copies_nothing = False

    def __init__(self, segment: Segment) -> None:
        self.memory: Live = segment.memory
        self.truth: Live = segment.memory.copy()
        self.pending = Ranges.EMPTY
        segment.watcher = self
        self.spoil()

    def spoil(self) -> None:
        """Forget all that the host has seen."""
        for start, stop in Ranges.span(0, self.memory.nbytes) - self.pending:
            self.memory[start:stop] = POISON
        self.current = Ranges.EMPTY

    def before_read(self, ranges: Ranges) -> None:
        for start, stop in ranges - self.pending:
            self.memory[start:stop] = self.truth[start:stop]
        self.current |= ranges

    def before_write(self, ranges: Ranges) -> None:
        assert Ranges.span(0, self.truth.nbytes).covers(ranges)
        self.pending |= ranges

    def after_write(self, ranges: Ranges) -> None:
        for start, stop in ranges:
            self.truth[start:stop] = self.memory[start:stop]
        self.pending -= ranges
        self.spoil()

    def stale(self, ranges: Ranges) -> Ranges:
        return ranges - self.current

    def after_failed_write(self, ranges: Ranges) -> None:
        self.pending -= ranges - self.current
        self.after_write(ranges & self.current)

    def released(self) -> None:
        self.spoil()

    def escaped(self) -> None:
        self.spoil()


def recorded(segment: Segment) -> Recorder:
    """A recorder that listens to a segment from now on."""
    recorder = Recorder()
    segment.watcher = recorder
    return recorder

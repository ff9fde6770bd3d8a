"""Two watchers for tests: one that writes down what it hears, one that plays a device."""

from dataclasses import dataclass, field

from trilby.data.segment import Live, Segment

POISON = 0xA5


@dataclass
class Recorder:
    """Every announcement in order, as ("read" | "write" | "wrote", start, bytes)."""

    events: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])

    def before_read(self, start: int, nbytes: int) -> None:
        self.events.append(("read", start, nbytes))

    def before_write(self, start: int, nbytes: int) -> None:
        self.events.append(("write", start, nbytes))

    def after_write(self, start: int, nbytes: int) -> None:
        self.events.append(("wrote", start, nbytes))

    def take(self) -> list[tuple[str, int, int]]:
        """What was heard since the last time."""
        taken, self.events = self.events, []
        return taken


class Device:
    """Holds the truth, gives the host only the bytes it says it reads, spoils the rest.

    A read that was not announced sees poison; a gap in a write that was not announced as
    read destroys the truth.
    """

    def __init__(self, segment: Segment) -> None:
        self.memory: Live = segment.memory
        self.truth: Live = segment.memory.copy()
        segment.watcher = self
        self.spoil()

    def spoil(self) -> None:
        """Forget all that the host has seen."""
        self.memory[...] = POISON

    def before_read(self, start: int, nbytes: int) -> None:
        self.memory[start : start + nbytes] = self.truth[start : start + nbytes]

    def before_write(self, start: int, nbytes: int) -> None:
        assert 0 <= start <= start + nbytes <= self.truth.nbytes

    def after_write(self, start: int, nbytes: int) -> None:
        self.truth[start : start + nbytes] = self.memory[start : start + nbytes]
        self.spoil()


def recorded(segment: Segment) -> Recorder:
    """A recorder that listens to a segment from now on."""
    recorder = Recorder()
    segment.watcher = recorder
    return recorder

"""What moved of each buffer in a recorded run, beside the least that had to."""

from collections import Counter
from collections.abc import Iterable

from trilby.dataclass import dataclass
from trilby.oracle.trace import HOST, Trace
from trilby.runtime.ledger import Copy, Ledger


@dataclass(frozen=True, slots=True)
class Movement:
    """One buffer: bytes and pieces that moved each way, and the least bytes in both senses."""

    name: str
    nbytes: int
    copies_up: int
    copies_down: int
    bytes_up: int
    bytes_down: int
    least: int
    """In whole buffers."""
    least_in_ranges: int

    @property
    def moved(self) -> int:
        """Both ways together."""
        return self.bytes_up + self.bytes_down

    @property
    def ratio(self) -> float:
        """Bytes that moved for each that had to, in whole buffers."""
        if not self.least:
            return 1.0 if not self.moved else float("inf")
        return self.moved / self.least


def movements(ledger: Ledger) -> list[Movement]:
    """A row for each buffer that the run has touched, in the order in which they appeared."""
    trace, optimal = ledger.recording.trace, ledger.optimal
    up: list[list[int]] = [[] for _ in trace.buffers]
    down: list[list[int]] = [[] for _ in trace.buffers]
    for copy in ledger.recording.copies:
        (up if copy.source == HOST else down)[copy.buffer].append(copy.nbytes)
    names, least, ranged = buffer_names(trace), optimal.buffer.buffers, optimal.range.buffers
    return [
        Movement(
            names[n],
            buffer.nbytes,
            len(up[n]),
            len(down[n]),
            sum(up[n]),
            sum(down[n]),
            least[n].nbytes,
            ranged[n].nbytes,
        )
        for n, buffer in enumerate(trace.buffers)
    ]


def buffer_names(trace: Trace) -> list[str]:
    """What each buffer is called; where several of one name were touched, these have numbers."""
    touched = {number for touch in trace.touches for number in touch.accesses}
    count = Counter(buffer.name for buffer in trace.buffers if buffer.number in touched)
    seen: Counter[str] = Counter()
    names: list[str] = []
    for buffer in trace.buffers:
        is_one_of_several = buffer.number in touched and count[buffer.name] > 1
        seen[buffer.name] += is_one_of_several
        names.append(f"{buffer.name} #{seen[buffer.name]}" if is_one_of_several else buffer.name)
    return names


def name_of_copy(copy: Copy) -> str:
    """The buffer, and the field where that is known."""
    return f"{copy.buffer}.{copy.field}" if copy.field else copy.buffer


def alike(copies: Iterable[Copy]) -> dict[tuple[str, str, str, str], list[Copy]]:
    """Copies by direction, name of buffer and field, reason, and line."""
    groups: dict[tuple[str, str, str, str], list[Copy]] = {}
    for copy in copies:
        line = copy.location.short if copy.location else ""
        groups.setdefault((copy.direction, name_of_copy(copy), copy.cause, line), []).append(copy)
    return groups

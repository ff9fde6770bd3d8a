"""What moved of each buffer in a recorded run, beside the least that had to."""

from collections import Counter
from collections.abc import Mapping

from trilby.dataclass import dataclass
from trilby.oracle.excess import CopyMade, Kind
from trilby.oracle.minimum import BufferMinimum
from trilby.oracle.trace import HOST
from trilby.runtime.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Movement:
    """One buffer: bytes and pieces that moved each way, and the least in both senses.

    `excess` are the bytes beyond the least in ranges, by kind.
    """

    number: int
    name: str
    nbytes: int
    copies_up: int
    copies_down: int
    bytes_up: int
    bytes_down: int
    whole: BufferMinimum
    ranged: BufferMinimum
    excess: Mapping[Kind, int]

    @property
    def moved(self) -> int:
        """Both ways together."""
        return self.bytes_up + self.bytes_down

    @property
    def ratio(self) -> float:
        """Bytes that moved for each that had to, in whole buffers."""
        if not self.whole.nbytes:
            return 1.0 if not self.moved else float("inf")
        return self.moved / self.whole.nbytes


def movements(ledger: Ledger) -> list[Movement]:
    """A row for each buffer that the run has touched, in the order in which they appeared."""
    recording, optimal = ledger.recording, ledger.optimal
    made: list[list[CopyMade]] = [[] for _ in recording.trace.buffers]
    for copy in recording.copies:
        made[copy.buffer].append(copy)
    excess = [Counter[Kind]() for _ in made]
    for one in ledger.excess:
        if one.kind.beyond_minimum:
            excess[recording.copies[one.copy].buffer][one.kind] += one.nbytes
    rows = zip(
        recording.trace.buffers, made, optimal.buffer.buffers, optimal.range.buffers, strict=True
    )
    return [
        Movement(
            buffer.number,
            buffer.name,
            buffer.nbytes,
            sum(copy.source == HOST for copy in copies),
            sum(copy.target == HOST for copy in copies),
            sum(copy.nbytes for copy in copies if copy.source == HOST),
            sum(copy.nbytes for copy in copies if copy.target == HOST),
            whole,
            ranged,
            excess[buffer.number],
        )
        for buffer, copies, whole, ranged in rows
    ]

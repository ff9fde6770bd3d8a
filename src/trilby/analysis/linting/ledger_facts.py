"""What lints of a run are given: what was touched, what was copied, and what had to be."""

from collections.abc import Sequence

from trilby.dataclass import dataclass
from trilby.oracle.excess import CopyMade, Excess
from trilby.oracle.minimum import minimum
from trilby.oracle.trace import HOST, Touch, Trace
from trilby.source import Location


@dataclass(frozen=True, slots=True)
class EmptyCall:
    """A `put` or `get` that moved nothing."""

    kind: str
    buffer: str
    location: Location


@dataclass(frozen=True, slots=True, eq=False)
class LedgerFacts:
    """A recorded run. `locations` are the lines that needed the copies, in their order.

    `excess` are the bytes of these copies that moved in vain, and `empty` the calls of `put` and
    `get` that moved nothing.
    """

    trace: Trace
    copies: Sequence[CopyMade]
    locations: Sequence[Location | None]
    excess: Sequence[Excess]
    empty: Sequence[EmptyCall] = ()

    def least(self) -> int:
        """The bytes that had to move."""
        return minimum(self.trace, "range").nbytes

    def least_on_device(self, location: Location, place: str) -> int:
        """The bytes that would have to move if the host's accesses of a line were a kernel's."""
        moved = Trace()
        moved.buffers = list(self.trace.buffers)
        moved.sharing = set(self.trace.sharing)
        moved.touches = [
            Touch(place, t.accesses, t.label, t.location)
            if t.place == HOST and t.location == location
            else t
            for t in self.trace.touches
        ]
        return minimum(moved, "range").nbytes

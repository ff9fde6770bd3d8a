"""The ledger: every copy between host and device, counted in one place, with its cause.

`ledger.optimal` is the least that this very run could have moved, which the oracle works out
from what was touched; `ledger.ratio` is how near the run came to it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from trilby.dataclass import dataclass
from trilby.locks import computed_once
from trilby.oracle.excess import Excess
from trilby.oracle.minimum import Minimum, minimum
from trilby.runtime.content import Direction
from trilby.runtime.put_get import Redundant
from trilby.runtime.recording import Recording
from trilby.runtime.replicas import Moved
from trilby.shown import Shown, aligned
from trilby.source import Location

_READ_EVERY = 512
"""The times of copies are read after so many: queues remember 4,096 commands."""

_COLUMNS = ("", "buffer", "copies", "bytes", "because")
_NUMBERS = {"copies", "bytes"}


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy: which bytes of which buffer went where, and why.

    `Copy("up", "a", "array", 0, 4096, "double reads it; the host wrote it", …)`.
    `field` is where the first byte lies, empty for an n-d array. `location` is the line of
    the user's program that needed the copy. `seconds` is what the device took for it.
    """

    direction: Direction
    buffer: str
    field: str
    start: int
    nbytes: int
    cause: str
    location: Location | None
    seconds: float


@dataclass(frozen=True)
class Optimal:
    """The proven minimum of a run: in whole buffers, and in ranges of bytes.

    Where the host reads one `i32` of a result of 4,096 bytes, `buffer` has all of these, and
    `range` four.
    """

    recording: Recording

    @computed_once
    def buffer(self) -> Minimum:
        """The least when every copy takes a whole buffer."""
        return minimum(self.recording.trace, "buffer")

    @computed_once
    def range(self) -> Minimum:
        """The least when a copy takes no more bytes than are needed."""
        return minimum(self.recording.trace, "range")

    @computed_once
    def excess(self) -> Sequence[Excess]:
        """The bytes that moved beyond the least in ranges."""
        return self.recording.excess()

    def __str__(self) -> str:
        return f"{self.buffer}\n{self.range}"


@dataclass(slots=True, eq=False)
class Ledger(Shown):
    """Copies in the order in which they were started.

    >>> with accelerator.record() as ledger:
    ...     accelerator.compute(square_all, numbers)
    >>> ledger.bytes_up, ledger.bytes_down, ledger.ratio
    """

    recording: Recording
    _moved: list[Moved] = field(default_factory=list[Moved])
    _redundant: list[Redundant] = field(default_factory=list[Redundant])
    _judged: "tuple[object, Optimal] | None" = None

    def add(self, moved: Moved) -> None:
        """Enter a copy that was started."""
        self._moved.append(moved)
        if len(self._moved) % _READ_EVERY == 0:
            for one in self._moved[-2 * _READ_EVERY :]:
                one.read_times()

    @property
    def copies(self) -> tuple[Copy, ...]:
        """All copies. Those under way are waited for."""
        return tuple(map(copy_of, self._moved))

    @property
    def uploads(self) -> Sequence[Copy]:
        """The copies from host to device."""
        return tuple(copy for copy in self.copies if copy.direction == "up")

    @property
    def downloads(self) -> Sequence[Copy]:
        """The copies from device to host."""
        return tuple(copy for copy in self.copies if copy.direction == "down")

    @property
    def bytes_up(self) -> int:
        """All bytes that went to the device."""
        return sum(moved.ranges.nbytes for moved in self._moved if moved.direction == "up")

    @property
    def bytes_down(self) -> int:
        """All bytes that came back."""
        return sum(moved.ranges.nbytes for moved in self._moved if moved.direction == "down")

    def note(self, redundant: Redundant) -> None:
        """Enter a `put` or `get` that moved nothing."""
        self._redundant.append(redundant)

    @property
    def redundant(self) -> Sequence[Redundant]:
        """Every `put` and `get` that moved nothing, because the data was there already."""
        return tuple(self._redundant)

    @property
    def optimal(self) -> Optimal:
        """The least that this run could have moved: `.buffer` and `.range`."""
        trace = self.recording.trace
        copies = len(self.recording.all_copies)
        state = copies, len(trace.touches), [buffer.name for buffer in trace.buffers]
        if self._judged is None or self._judged[0] != state:
            self._judged = state, Optimal(self.recording)
        return self._judged[1]

    @property
    def ratio(self) -> float:
        """Bytes that moved for each byte that had to, in whole buffers; 1.0 is the best.

        Where other accelerators use the same buffers, what they copy of them counts on both sides.
        """
        moved = self.bytes_up + self.bytes_down + self.recording.bytes_of_others
        least = self.optimal.buffer.nbytes
        if not least:
            return 1.0 if not moved else float("inf")
        return moved / least

    @property
    def excess(self) -> Sequence[Excess]:
        """The bytes beyond the least in ranges, each with the kind of mistake that it was."""
        return self.optimal.excess

    def __str__(self) -> str:
        copies = self.copies
        rows = [*_rows(copies), *self._totals(copies)]
        table = aligned([_COLUMNS, *rows], _NUMBERS) if copies else "nothing was copied"
        return "\n".join((table, *map(str, self._redundant)))

    def _totals(self, copies: Sequence[Copy]) -> Iterator[tuple[str, ...]]:
        for arrow, direction in (("→", "up"), ("←", "down")):
            some = [copy for copy in copies if copy.direction == direction]
            total = sum(copy.nbytes for copy in some)
            yield f"{arrow} total", "", str(len(some)), f"{total:,}", ""


def copy_of(moved: Moved) -> Copy:
    """A copy that was started, when it is over."""
    moved.ticket.wait()
    moved.read_times()
    replica = moved.replica
    start = moved.ranges.start - replica.address
    inside = (name for name, first, stop in replica.fields if first <= start < stop)
    caller = moved.reason.caller
    return Copy(
        moved.direction,
        replica.label,
        next(inside, ""),
        start,
        moved.ranges.nbytes,
        moved.reason.text,
        caller.line if caller else None,
        moved.times.seconds if moved.times else 0.0,
    )


def _rows(copies: Iterable[Copy]) -> Iterator[tuple[str, ...]]:
    """One row for each buffer, direction and cause."""
    groups: dict[tuple[str, str, str], list[Copy]] = {}
    for copy in copies:
        where = f" ({copy.location.short})" if copy.location else ""
        arrow = "→ up" if copy.direction == "up" else "← down"
        groups.setdefault((arrow, copy.buffer, copy.cause + where), []).append(copy)
    for (arrow, buffer, cause), group in groups.items():
        total = sum(copy.nbytes for copy in group)
        yield arrow, buffer, str(len(group)), f"{total:,}", cause

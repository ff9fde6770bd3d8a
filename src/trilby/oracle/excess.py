"""What moved in a run beyond the least, and why each byte of it did.

The copies are replayed forwards, to see what each place had when one was made, and backwards,
to see who used what it brought.
"""

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trilby.dataclass import dataclass
from trilby.oracle.cells import Cells, CellStep, Places, Which, cells_of
from trilby.oracle.trace import Trace


class CopyMade(NamedTuple):
    """A copy of one contiguous range that was really made."""

    position: int
    """How many touches were in the trace when it was made: it stands before that touch."""
    buffer: int
    source: str
    target: str
    """The host or a device; one of the two is the host."""
    start: int
    nbytes: int


class Kind(Enum):
    """Why a byte moved that a better run would not have moved. The first that fits is meant.

    The first four are beyond `minimum(trace, "range")`, and their bytes add up to all that
    moved less that minimum. The bytes of the last two are part of the minimum: with the
    accesses as they were recorded they had to move.
    """

    LOST_VALIDITY = "the target had it already"
    """The target had the same content, or could make it because it was fresh."""
    TOO_COARSE = "only bytes beside it were needed"
    """The copy brought other bytes that were needed, and this one came along: nobody at the
    target needed it before it was overwritten or the trace ended, or it is no data."""
    EAGER = "it was made stale before it was needed"
    """The copy brought nothing that was needed. The target needs the byte later, but another
    place overwrites it first."""
    DEAD = "nobody at the target ever needed it"
    """The copy brought nothing that was needed, and the target overwrites the byte without
    needing it, or never needs it."""
    INVISIBLE_ACCESS = "an access that could not be seen may have touched it"
    """The content was written by a touch marked `invisible`, or only such touches needed it."""
    IMPRECISE_SET = "it was not known exactly what would be touched"
    """It was needed only as part of `writes − covers` or of `imprecise`."""

    @property
    def beyond_minimum(self) -> bool:
        """True where the byte is not part of the minimum for the trace."""
        return self not in {Kind.INVISIBLE_ACCESS, Kind.IMPRECISE_SET}


@dataclass(frozen=True, slots=True)
class Excess:
    """Bytes of one copy that moved for one reason."""

    copy: int
    """The number of the copy among those given."""
    nbytes: int
    kind: Kind
    buffer: str
    source: str
    target: str

    def __str__(self) -> str:
        return (
            f"copy {self.copy}, `{self.buffer}` from {self.source} to {self.target}: "
            f"{self.nbytes:,} bytes, {self.kind.name.lower().replace('_', ' ')}: {self.kind.value}"
        )


def excess(trace: Trace, copies: Sequence[CopyMade]) -> list[Excess]:
    """Every byte that moved needlessly, by copy and reason, in the order of the copies.

    `Kind` says what the reasons mean. The bytes of those `beyond_minimum` add up to the bytes of
    all copies less `minimum(trace, "range").nbytes`. A `ValueError` says so where the copies
    leave a touch without current content, or destroy some: then one is missing in the list, or a
    touch in the trace.
    """
    by_buffer: dict[int, list[tuple[int, CopyMade]]] = {}
    for number, copy in enumerate(copies):
        by_buffer.setdefault(copy.buffer, []).append((number, copy))
    cuts = {
        buffer: [(copy.start, copy.start + copy.nbytes) for _, copy in made]
        for buffer, made in by_buffer.items()
    }
    places = sorted({place for copy in copies for place in (copy.source, copy.target)})
    found: list[Excess] = []
    for cells in cells_of(trace, cuts, places):
        made = by_buffer.get(cells.buffer.number, [])
        brought = list(_replay(cells, [_Copying(cells, *copy) for copy in made]))
        found.extend(_judge(cells, brought))
    return sorted(found, key=lambda one: one.copy)


class _Copying:
    """A copy in cells."""

    def __init__(self, cells: Cells, number: int, made: CopyMade) -> None:
        self.number = number
        self.made = made
        self.position = made.position
        self.source, self.target = cells.number_of(made.source), cells.number_of(made.target)
        if self.source and self.target:
            raise ValueError(
                f"copy {number} goes from {made.source} to {made.target}: what goes from device "
                "to device passes the host, as two copies"
            )
        self.cells = np.flatnonzero(cells.within([(made.start, made.start + made.nbytes)]))
        self.before: Places = np.zeros(0, np.int64)
        """Where its cells were current when it was made."""
        self.unseen: Which = np.zeros(0, np.bool_)
        """Which of its cells had content of a touch that nobody saw."""


def _replay(cells: Cells, copies: Sequence[_Copying]) -> list[CellStep | _Copying]:
    """Go through touches and copies, and note in each copy what was current where."""
    events: list[CellStep | _Copying] = [*copies, *cells.steps]  # a copy stands before its touch
    events.sort(key=lambda event: event.position)
    current = cells.at_first()
    unseen = np.zeros(len(cells), np.bool_)
    for event in events:
        if isinstance(event, CellStep):
            access = cells.of(event.access)
            missing = access.needed & (current >> event.place & 1 == 0)
            if missing.any():
                raise ValueError(
                    f"touch {event.position} needs {cells.name_of(int(missing.argmax()))} at "
                    f"{cells.places[event.place]}, where they are not current: a copy is missing "
                    "in the list, or was not made"
                )
            current[access.writes] = 1 << event.place
            unseen[access.writes] = event.invisible
        else:
            event.before, event.unseen = current[event.cells], unseen[event.cells]
            has, had = event.before >> event.source & 1, event.before >> event.target & 1
            destroyed = had > has
            if destroyed.any():
                name = cells.name_of(int(event.cells[destroyed.argmax()]))
                raise ValueError(
                    f"copy {event.number} replaces {name} at {event.made.target} by what "
                    f"{event.made.source} has, which is older: a touch is missing in the trace, "
                    "or the run was wrong"
                )
            current[event.cells] |= has << event.target
    return events


NOT_USED, UNSEEN, PERHAPS, SURELY = range(4)


class _Future:
    """What is still to come, at some point of the program, for each place and cell."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        shape = (len(cells.places), len(cells))
        self.use: NDArray[np.int64] = np.full(shape, NOT_USED, np.int64)
        """How a place is going to need the content as it is now."""
        self.later: Which = np.zeros(shape, np.bool_)
        """Whether a place is going to need the byte after another place has overwritten it."""

    def go_back_over(self, step: CellStep) -> None:
        """Take a touch into account that lies ahead from now on."""
        access = self.cells.of(step.access)
        self.later[:, access.writes] |= self.use[:, access.writes] > NOT_USED
        self.later[step.place, access.writes] = False
        self.use[:, access.writes] = NOT_USED
        how = np.where(access.surely, SURELY, PERHAPS) if not step.invisible else UNSEEN
        how = np.where(access.needed, how, NOT_USED)
        self.use[step.place] = np.maximum(self.use[step.place], how)

    def use_of(self, copying: _Copying) -> NDArray[np.int64]:
        """How what a copy brings is going to be needed; what it does not bring, not at all."""
        use = self.use[copying.target, copying.cells]
        if copying.target == 0:  # on its way to another device, perhaps
            for device in range(1, len(self.cells.places)):
                onward = np.where(copying.before >> device & 1, 0, self.use[device, copying.cells])
                use = np.maximum(use, onward)
        brings = (copying.before >> copying.source & 1) > (copying.before >> copying.target & 1)
        return np.where(brings, use, NOT_USED)


def _judge(cells: Cells, events: Sequence[CellStep | _Copying]) -> Iterator[Excess]:
    future = _Future(cells)
    for event in reversed(events):
        if isinstance(event, CellStep):
            future.go_back_over(event)
            continue
        for kind, nbytes in _bytes_by_kind(future, event):
            if nbytes:
                made = event.made
                name = cells.buffer.name
                yield Excess(event.number, nbytes, kind, name, made.source, made.target)


def _bytes_by_kind(future: _Future, copying: _Copying) -> Iterator[tuple[Kind, int]]:
    sizes = future.cells.sizes[copying.cells]
    use = future.use_of(copying)
    used = use > NOT_USED
    had = copying.before >> copying.target & 1 == 1
    useless = ~used & ~had
    beside = int(sizes[useless].sum()) + copying.made.nbytes - int(sizes.sum())
    yield Kind.LOST_VALIDITY, int(sizes[had].sum())
    if used.any():
        yield Kind.TOO_COARSE, beside
    else:
        eager = int(sizes[useless & future.later[copying.target, copying.cells]].sum())
        yield Kind.EAGER, eager
        yield Kind.DEAD, beside - eager
    unseen = used & (copying.unseen | (use == UNSEEN))
    yield Kind.INVISIBLE_ACCESS, int(sizes[unseen].sum())
    yield Kind.IMPRECISE_SET, int(sizes[~unseen & (use == PERHAPS)].sum())

"""A buffer cut into cells: sets of bytes that every touch treats alike.

Costs are worked out per cell, as arrays over the cells of a buffer. This module knows which
cells a set of bytes consists of, and where each was current at first. It knows nothing of
copies.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trilby.dataclass import dataclass
from trilby.oracle.trace import HOST, Access, Range, Trace, TracedBuffer

Which: TypeAlias = NDArray[np.bool_]
"""For each cell, whether it is meant."""
Numbers: TypeAlias = NDArray[np.int64]
Places: TypeAlias = NDArray[np.int64]
"""For each cell, a set of places as bits; bit 0 is the host."""

REMEMBERED = 256
"""How many accesses are kept in cells, for the next touch that has the same."""
AT_ONCE = 32
"""How many sets of bytes are told apart in one go, as bits of a number."""


class CellStep(NamedTuple):
    """A touch as one buffer sees it."""

    position: int
    """The number of the touch in the trace."""
    place: int
    """The number of the place among those of the buffer: 0 is the host."""
    access: Access
    invisible: bool


class InCells(NamedTuple):
    """An access in cells."""

    reads: Which
    writes: Which
    covers: Which
    needed: Which
    """What has to be current first: `reads` and `writes − covers`."""
    surely: Which
    """The part of `needed` that is known to be read."""


@dataclass
class Cells:
    """One buffer of a trace, its cells, and its touches."""

    buffer: TracedBuffer
    places: list[str]
    """The names of the places that have to do with the buffer; the first is the host."""
    steps: list[CellStep]
    edges: Numbers
    """Where the buffer is cut into pieces."""
    samples: Numbers
    """For each cell one of its pieces."""
    sizes: Numbers
    """For each cell the bytes of all its pieces."""
    _known: dict[int, InCells] = field(default_factory=dict[int, InCells])

    def __len__(self) -> int:
        return len(self.sizes)

    def number_of(self, place: str) -> int:
        """The number of a place: that of the host too where it shares its memory."""
        return self.places.index(place) if place in self.places else 0

    @property
    def changes(self) -> Iterator[CellStep]:
        """The steps without those that repeat the one before: nothing can follow from them."""
        place, access = -1, None
        for step in self.steps:
            if step.place != place or step.access is not access:
                place, access = step.place, step.access
                yield step

    def within(self, ranges: Sequence[Range]) -> Which:
        """The cells of some bytes, as far as they are data."""
        return inside(self.edges, ranges)[self.samples]

    def of(self, access: Access) -> InCells:
        """An access in cells."""
        known = self._known.get(id(access))  # the trace holds the access, so the id stays
        if known is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            reads, covers = self.within(access.reads), self.within(access.covers)
            writes = self.within(access.writes) | covers
            needed = reads | (writes & ~covers)
            surely = reads & ~self.within(access.imprecise)
            known = InCells(reads, writes, covers, needed, surely)
            self._known[id(access)] = known
        return known

    def at_first(self) -> Places:
        """Where each cell was current when recording began."""
        current = np.zeros(len(self), np.int64)
        for name, ranges in self.buffer.valid.items():
            current[self.within(ranges)] |= 1 << self.number_of(name)
        current[self.within(self.buffer.fresh)] = (1 << len(self.places)) - 1
        self._check(current)
        return current

    def name_of(self, cell: int) -> str:
        """What to call a cell in a message: ``bytes 0…4 of `a` ``."""
        piece = self.samples[cell]
        return f"bytes {self.edges[piece]}…{self.edges[piece + 1]} of `{self.buffer.name}`"

    def _check(self, current: Places) -> None:
        nowhere = current == 0
        if nowhere.any():
            raise ValueError(
                f"{self.name_of(int(nowhere.argmax()))} are neither fresh nor valid at any place: "
                "say in `valid` where their content is"
            )
        apart = (current & 1 == 0) & (current & (current - 1) != 0)
        if apart.any():
            raise ValueError(
                f"{self.name_of(int(apart.argmax()))} are valid at two devices but not on the "
                "host: what goes from device to device passes the host, which has it from then on"
            )


def inside(edges: Numbers, ranges: Sequence[Range]) -> Which:
    """Which of the pieces between the edges lie in some ranges, whose ends are edges."""
    found = np.zeros(len(edges) - 1, np.bool_)
    if len(ranges) < 8:
        for start, stop in ranges:
            found[edges.searchsorted(start) : edges.searchsorted(stop)] = True
        return found
    ends = edges.searchsorted(np.array(ranges, np.int64))
    marks = np.zeros(len(edges), np.int64)
    np.add.at(marks, ends[:, 0], 1)
    np.add.at(marks, ends[:, 1], -1)
    return np.cumsum(marks[:-1]) > 0


def cells_of(
    trace: Trace, cuts: Mapping[int, Sequence[Range]] | None = None, places: Sequence[str] = ()
) -> Iterator[Cells]:
    """The buffers of a trace in cells, in order.

    `cuts` are more ranges to tell apart, by buffer; `places` are to be known to every buffer.
    """
    touches: list[list[tuple[int, Access]]] = [[] for _ in trace.buffers]
    for position, touch in enumerate(trace.touches):
        for number, access in touch.accesses.items():
            touches[number].append((position, access))
    for buffer, touched in zip(trace.buffers, touches, strict=True):
        names = (*places, *buffer.valid, *(trace.touches[at].place for at, _ in touched))
        apart = [HOST, *dict.fromkeys(name for name in names if name not in trace.sharing)]
        parts = [*buffer.valid.values(), buffer.fresh]
        parts += [[cut] for cut in dict.fromkeys((cuts or {}).get(buffer.number, ()))]
        parts += {id(part): part for _, access in touched for part in access}.values()
        edges = _edges(buffer, [*buffer.data, *(pair for part in parts for pair in part)])
        samples, sizes = _alike(edges, inside(edges, buffer.data), parts)
        yield Cells(buffer, apart, list(_steps(trace, touched, apart)), edges, samples, sizes)


def _steps(
    trace: Trace, touched: Sequence[tuple[int, Access]], places: Sequence[str]
) -> Iterator[CellStep]:
    numbers = {name: number for number, name in enumerate(places)}
    for position, access in touched:
        touch = trace.touches[position]
        yield CellStep(position, numbers.get(touch.place, 0), access, touch.invisible)


def _edges(buffer: TracedBuffer, ranges: Sequence[Range]) -> Numbers:
    ends = np.array([*ranges, (0, buffer.nbytes)], np.int64)
    wrong = (ends[:, 0] < 0) | (ends[:, 1] > buffer.nbytes) | (ends[:, 0] > ends[:, 1])
    if wrong.any():
        start, stop = ends[np.argmax(wrong)]
        raise ValueError(
            f"({start}, {stop}) is no range of `{buffer.name}`, which has {buffer.nbytes} bytes: "
            "a range is its first byte and the one after its last, counted from the buffer's start"
        )
    return np.unique(ends)


def _alike(
    edges: Numbers, data: Which, parts: Iterable[Sequence[Range]]
) -> tuple[Numbers, Numbers]:
    """Samples and sizes of the cells: all pieces of data that are in the same parts are one."""
    pieces = np.flatnonzero(data)
    cell = np.zeros(len(pieces), np.int64)
    samples = pieces[:1]
    told = [part for part in parts if part]
    for start in range(0, len(told), AT_ONCE):
        for part in told[start : start + AT_ONCE]:
            cell = cell * 2 + inside(edges, part)[pieces]
        _, first, cell = np.unique(cell, return_index=True, return_inverse=True)
        order = np.argsort(first)  # cells stand in the order of the bytes
        samples, cell = pieces[first[order]], np.argsort(order)[cell]
    sizes = np.zeros(len(samples), np.int64)
    np.add.at(sizes, cell, np.diff(edges)[pieces])
    return samples, sizes

"""From boxes and indices to bytes: which ranges of a buffer some accesses touch in a launch."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import TypeAlias, cast

from trilby.analysis.measuring.affine import Form, Number, at_most_zero, scaled, shifted
from trilby.analysis.measuring.boxes import Box, Space
from trilby.data.dtypes import Type
from trilby.data.layout import (
    Slot,
    array_slot,
    first_bound,
    header_size,
    layout,
    leaf_offset,
    shape_of,
    size_of,
    stride_of,
)
from trilby.data.ranges import Range, Ranges
from trilby.data.schema import (
    ArrayType,
    BufferType,
    NDArrayType,
    PadType,
    StructType,
    leaves,
    path_steps,
    step_into,
)
from trilby.dataclass import dataclass

# -------------------------------------------------------------------------------------------- spots
# Where the places of a path lie in the bytes of a buffer, and where only padding lies.

Axes: TypeAlias = tuple[tuple[int, int], ...]
"""The size and the distance in bytes of each index."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A path below a buffer: a member, the axes of arrays in its elements, and where in there.

    The axes of the member itself have sizes that only a launch knows. `gaps` are the lengths
    of the padding in a `cell`, which is an element, by where it begins; where the member is no
    array the cell is the buffer. `array[].y`, where elements are structs of two `i32`, is
    `Spot("array", (), offset=4, size=4, cell=8, gaps={})`.
    """

    member: str
    axes: Axes
    offset: int
    size: int
    cell: int
    gaps: Mapping[int, int]


def spot_of(type_: Type, path: str) -> Spot:
    """Follow a path; sizes that only a launch knows are left to `members_of`."""
    if isinstance(type_, NDArrayType):
        return Spot("", (), 0, type_.element.size, 0, {})
    name, *steps = path_steps(path)
    field = type_.field(name) if isinstance(type_, BufferType) else None
    if field is None or not isinstance(type_, BufferType):
        raise TypeError(path)
    here = field.type
    if isinstance(here, ArrayType) and steps:
        axes, offset, size = _inside(here.element, steps[1:])
        return Spot(name, axes, offset, size, stride_of(here), _gaps_in_element(here))
    axes, offset, size = _inside(here, steps)
    return Spot(name, axes, offset, size, 0, _gaps_in_header(type_))


def _inside(here: Type, steps: list[str]) -> tuple[Axes, int, int]:
    """The axes, the offset and the size of a place in an element."""
    axes: Axes = ()
    offset = 0
    for step in steps:
        below = step_into(here, step)
        if below is None:
            raise TypeError(step)
        if isinstance(here, ArrayType):
            slot = array_slot(step, here, 0, shape_of(here, {}), stride_of(here))
            axes = (*axes, *zip(slot.shape, slot.strides, strict=True))
        elif isinstance(here, StructType):
            offset += layout(here).slots[step].offset
        here = below
    return axes, offset, size_of(here)


@cache
def _gaps_in_element(array: ArrayType) -> Mapping[int, int]:
    stride, element = stride_of(array), array.element
    data = Ranges.span(0, size_of(element))
    if isinstance(element, StructType):
        places = ((leaf_offset(element, leaf), leaf.type.size) for leaf in leaves(element))
        data = Ranges.of(*((start, start + size) for start, size in places))
    return {start: stop - start for start, stop in Ranges.span(0, stride) - data}


@cache
def _gaps_in_header(buffer: BufferType) -> Mapping[int, int]:
    """The padding between members whose place depends on no length."""
    slots = layout(buffer, dict.fromkeys(buffer.length_names, 0)).slots
    fields = buffer.fields[: first_bound(buffer)]
    places = (slots[field.name] for field in fields if not isinstance(field.type, PadType))
    data = Ranges.of(*((slot.offset, slot.offset + slot.size) for slot in places))
    stop = header_size(buffer) if fields != buffer.fields else data.stop
    return {start: stop - start for start, stop in Ranges.span(0, stop) - data}


@lru_cache(maxsize=256)
def members_of(type_: Type, given: object) -> Mapping[str, Slot]:
    """The members of a buffer with its lengths, as pairs, or of an n-d array with its shape."""
    if isinstance(type_, NDArrayType):
        shape = cast("tuple[int, ...]", given)
        return {"": array_slot("", type_, 0, shape, type_.element.size)}
    if isinstance(type_, BufferType):
        return layout(type_, dict(cast("tuple[tuple[str, int], ...]", given))).slots
    raise TypeError(type_)


# ------------------------------------------------------------------------------------------ regions

Repeat: TypeAlias = tuple[int, int]
"""At which distance something is repeated, and how often."""

MOST_RUNS = 4096
"""An access with more runs in a period than this is as good as one from the first to the last."""
MOST_RANGES = 1 << 16
"""An access of more ranges than this is, too: devices fill and the host saves them one by one."""


class TouchedRegion:
    """Gathers the bytes of one buffer that are touched in a launch.

    `surely` tells whether these are at most the bytes that are touched, or at least those.
    Accesses that go the same way, such as those to the members of a struct, are put together
    before they are spread out over the work items. With `array[kc.x]` and `array[kc.x + 1]` added
    for 8 items, `ranges()` are the bytes of nine elements.
    """

    def __init__(self, space: Space, members: Mapping[str, Slot], *, surely: bool) -> None:
        self._space = space
        self._members = members
        self._surely = surely
        self._ways: dict[tuple[object, ...], _AccessFamily] = {}
        self._inner: dict[tuple[tuple[Box, ...], Form, int], list[Box]] = {}
        self._loose: dict[Form, Number] = {}

    def add(self, spot: Spot, indices: Sequence[Number], boxes: list[Box]) -> None:
        """Take in an access; an index that the array does not have is left out."""
        member = self._members[spot.member]
        const = member.offset + spot.offset
        axes = (*zip(member.shape, member.strides, strict=True), *spot.axes)
        terms: dict[int, int] = {}
        for index, (size, stride) in zip(indices, axes, strict=True):
            if isinstance(index, int):
                number, boxes = index, boxes if 0 <= index < size else []
            else:
                if index.low < 0 or index.high >= size:
                    boxes = self._inside(index, size, boxes)
                number = index if self._surely else self._loosened(index)
            if isinstance(number, int):
                const += number * stride
            else:
                const += number.const * stride
                for var, factor in number.terms.items():
                    terms[var] = terms.get(var, 0) + factor * stride
        if boxes:
            key = (spot.member, tuple(boxes), *terms.items())
            way = self._ways.get(key)
            if way is None:
                own = {var: factor for var, factor in terms.items() if factor}
                way = self._ways[key] = _AccessFamily(spot, member, own, boxes)
            way.starts.append((const, const + spot.size))

    def _inside(self, index: Form, size: int, boxes: list[Box]) -> list[Box]:
        """The boxes in which an index is one of the array; the same list for the same question."""
        key = (tuple(boxes), index, size)
        found = self._inner.get(key)
        if found is None:
            ends = [self._space.ends(box, index.const, index.terms) for box in boxes]
            if all(low >= 0 and high < size for low, high in ends):
                found = boxes
            else:
                low, high = at_most_zero(scaled(index, -1)), at_most_zero(shifted(index, 1 - size))
                found = self._space.where(low, boxes, surely=self._surely)
                found = self._space.where(high, found, surely=self._surely)
            self._inner[key] = found
        return found

    def _loosened(self, index: Form) -> Number:
        """An index of which more is known than its terms tell, as a variable of its own."""
        variables = self._space.variables
        if all(variables.free[var] for var in index.terms):
            return index
        low, high = variables.bounds(index.const, index.terms)
        if low >= index.low and index.high >= high:
            return index
        if index not in self._loose:
            self._loose[index] = variables.form(index.low, index.high, free=False)
        return self._loose[index]

    def ranges(self) -> Ranges:
        """All bytes."""
        rows: dict[tuple[str, tuple[Repeat, ...]], list[Range]] = {}
        ways: dict[str, _AccessFamily] = {}
        for way in self._ways.values():
            for box in way.boxes:
                for part, terms in self._space.resolved(box, way.terms):
                    if self._surely and not self._space.is_free(part, terms):
                        continue
                    for start, run, repeats in self._rows(way, part, terms):
                        key = (way.member, tuple(repeats))
                        rows.setdefault(key, []).append((start, start + run))
                        ways[way.member] = way
        found = Ranges.EMPTY
        for (member, repeats), runs in rows.items():
            found |= self._spread(ways[member], runs, list(repeats))
        return found

    def _rows(
        self, way: "_AccessFamily", box: Box, terms: Mapping[int, int]
    ) -> Iterator[tuple[int, int, list[Repeat]]]:
        """The first place of every access in a box, its bytes, and how it is repeated."""
        shift = 0
        repeats: list[Repeat] = []
        for var, factor in terms.items():
            low, high = self._space.bounds(box, var)
            shift += factor * (low if factor > 0 else high)
            if high > low:
                repeats.append((abs(factor), high - low + 1))
        repeats.sort()
        for first, last in way.starts:
            yield first + shift, *way.joined(first + shift, last - first, repeats)

    def _spread(self, way: "_AccessFamily", runs: list[Range], repeats: list[Repeat]) -> Ranges:
        """Runs of bytes, those that touch put together, at every place that they are repeated."""
        spread = Ranges.EMPTY
        for start, stop in Ranges.of(*runs) if len(runs) > 1 else runs:
            run, left = way.joined(start, stop - start, repeats)
            spread |= way.clipped(self._repeated(Ranges.span(start, start + run), left))
        return spread

    def _repeated(self, ranges: Ranges, repeats: Sequence[Repeat]) -> Ranges:
        """A set at every place, the nearest first; all between its ends where that is too much."""
        for number, (stride, count) in enumerate(repeats):
            reach = sum(way * (times - 1) for way, times in repeats[number:])
            if len(ranges) > MOST_RUNS or len(ranges) * count > MOST_RANGES:
                whole = Ranges.span(ranges.start, ranges.stop + reach)
                return Ranges.EMPTY if self._surely else whole
            ranges = ranges.repeated(stride, count)
        return ranges


class _AccessFamily:
    """Accesses that differ only by a constant number of bytes: `a[kc.x]` and `a[kc.x + 1]`."""

    def __init__(
        self, spot: Spot, member: Slot, terms: Mapping[int, int], boxes: list[Box]
    ) -> None:
        self.member = spot.member
        self.terms = terms
        self.boxes = boxes
        self.starts: list[Range] = []
        self._start = member.offset
        end = member.offset + member.size
        self._cell, self._gaps = spot.cell, spot.gaps
        self._end = end if spot.cell else self._padded(end)

    def joined(self, start: int, run: int, repeats: list[Repeat]) -> tuple[int, list[Repeat]]:
        """The length of one run of bytes, and the repetitions that do not make it longer."""
        for number, (stride, count) in enumerate(repeats):
            if stride > run and self._gaps and self._is_by_cells(repeats[number:]):
                run = self._padded(start + run) - start
            if stride > run:
                return run, repeats[number:]
            run += stride * (count - 1)
        return self._padded(start + run) - start, []

    def _is_by_cells(self, repeats: list[Repeat]) -> bool:
        """Whether what is repeated has the same padding behind it each time."""
        return self._cell > 0 and all(stride % self._cell == 0 for stride, _ in repeats)

    def _padded(self, stop: int) -> int:
        """The end of some bytes, with the padding behind them."""
        if not self._gaps:
            return stop
        place = (stop - self._start) % self._cell if self._cell else stop
        return stop + self._gaps.get(place, 0)

    def clipped(self, ranges: Ranges) -> Ranges:
        """Bytes within the member, and what padding belongs to it."""
        return ranges & Ranges.span(self._start, self._end)

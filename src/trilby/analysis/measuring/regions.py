"""From boxes and indices to bytes: which ranges of a buffer some accesses touch in a launch."""

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from trilby.analysis.measuring.affine import Form, Number, scaled, shifted
from trilby.analysis.measuring.boxes import Box, Space
from trilby.analysis.measuring.conditions import at_most_zero
from trilby.analysis.measuring.spots import Member, Spot
from trilby.data.ranges import Range, Ranges, union

MOST_RANGES = 4096
"""An access of more ranges than this is as good as one from the first to the last of them."""


class Region:
    """Gathers the bytes of one buffer that are touched in a launch.

    `surely` tells whether these are at most the bytes that are touched, or at least those.
    Accesses that go the same way, such as those to the members of a struct, are put together
    before they are spread out over the work items. `is_exact` stays true where no more and no
    less than what was asked for has been taken in.
    """

    def __init__(self, space: Space, members: Mapping[str, Member], *, surely: bool) -> None:
        self.is_exact = True
        self._space = space
        self._members = members
        self._surely = surely
        self._ways: dict[tuple[object, ...], _Way] = {}
        self._inner: dict[tuple[int, int, int], list[Box]] = {}
        self._loose: dict[int, Number] = {}
        self._alive: list[object] = []

    def add(self, spot: Spot, indices: Sequence[Number], boxes: list[Box]) -> None:
        """Take in an access; an index that the array does not have is left out."""
        member = self._members[spot.member]
        const = member.start + spot.offset
        terms: dict[int, int] = {}
        for index, (size, stride) in zip(indices, (*member.axes, *spot.axes), strict=True):
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
            self._way(spot, member, terms, boxes).starts.append((const, const + spot.size))

    def _way(self, spot: Spot, member: Member, terms: dict[int, int], boxes: list[Box]) -> "_Way":
        key = (spot.member, id(boxes), *terms.items())
        way = self._ways.get(key)
        if way is None:
            way = _Way(spot, member, {var: f for var, f in terms.items() if f}, boxes)
            self._ways[key] = way
        return way

    def _inside(self, index: Form, size: int, boxes: list[Box]) -> list[Box]:
        """The boxes in which an index is one of the array; the same list for the same question."""
        key = (id(boxes), id(index), size)
        found = self._inner.get(key)
        if found is None:
            ends = [self._space.ends(box, index.const, index.terms) for box in boxes]
            if all(low >= 0 and high < size for low, high in ends):
                found = boxes
            else:
                self.is_exact = False
                low, high = at_most_zero(scaled(index, -1)), at_most_zero(shifted(index, 1 - size))
                found = self._space.where(low, boxes, surely=self._surely)
                found = self._space.where(high, found, surely=self._surely)
            self._inner[key] = found
            self._alive += (boxes, index)  # what is known by its id must not go away
        return found

    def _loosened(self, index: Form) -> Number:
        """An index of which more is known than its terms tell, as a variable of its own."""
        variables = self._space.variables
        if all(variables.free[var] for var in index.terms):
            return index
        low, high = variables.bounds(index.const, index.terms)
        if low >= index.low and index.high >= high:
            return index
        if id(index) not in self._loose:
            self._loose[id(index)] = variables.form(index.low, index.high, free=False)
            self._alive.append(index)
        return self._loose[id(index)]

    def ranges(self) -> Ranges:
        """All bytes."""
        found: list[Range] = []
        for way in self._ways.values():
            for box in way.boxes:
                for part, terms in self._space.resolved(box, way.terms):
                    if not self._surely or self._space.is_free(part, terms):
                        found.extend(self._image(way, part, terms))
                    else:
                        self.is_exact = False
        if len(found) == 1:
            return Ranges.span(*found[0])
        return union(found)

    def _image(self, way: "_Way", box: Box, terms: Mapping[int, int]) -> list[Range]:
        """Runs of bytes at every place that the terms lead to within a box."""
        found: list[Range] = []
        shift = 0
        dims: list[tuple[int, int]] = []
        for var, factor in terms.items():
            low, high = self._space.bounds(box, var)
            shift += factor * (low if factor > 0 else high)
            if high > low:
                dims.append((abs(factor), high - low + 1))
        dims.sort()
        for first, last in way.runs():
            start = first + shift
            run, repeats = way.joined(start, last - first, dims)
            reach = sum(stride * (count - 1) for stride, count in repeats)
            if prod(count for _, count in repeats) <= MOST_RANGES:
                places = _places(start, repeats)
                if way.has(start, start + reach + run):
                    found += [(place, place + run) for place in places]
                else:
                    found += [way.clipped(place, place + run) for place in places]
            else:
                self.is_exact = False
                if not self._surely:
                    found.append(way.clipped(start, start + reach + run))
        return found


def _places(start: int, repeats: list[tuple[int, int]]) -> Iterable[int]:
    """Every place that some repetitions lead to."""
    if not repeats:
        return (start,)
    (stride, count), *others = repeats
    first = range(start, start + stride * count, stride)
    return (at for place in first for at in _places(place, others)) if others else first


class _Way:
    """Accesses that differ only by a constant number of bytes."""

    def __init__(
        self, spot: Spot, member: Member, terms: Mapping[int, int], boxes: list[Box]
    ) -> None:
        self.terms = terms
        self.boxes = boxes
        self.starts: list[Range] = []
        self._start = member.start
        self._cell, self._gaps = spot.cell, spot.gaps
        self._end = member.stop if spot.cell else self._padded(member.stop)

    def _padded(self, stop: int) -> int:
        """The end of some bytes, with the padding behind them."""
        if not self._gaps:
            return stop
        place = (stop - self._start) % self._cell if self._cell else stop
        return stop + self._gaps.get(place, 0)

    def runs(self) -> Sequence[Range]:
        """The bytes at the first place, those that touch put together."""
        if len(self.starts) == 1 and not self._gaps:
            return self.starts
        return union((start, self._padded(stop)) for start, stop in self.starts).parts

    def joined(
        self, start: int, run: int, dims: list[tuple[int, int]]
    ) -> tuple[int, list[tuple[int, int]]]:
        """The length of one run of bytes, and at which distances it is repeated how often."""
        for number, (stride, count) in enumerate(dims):
            if stride > run:
                return run, dims[number:]
            run = self._padded(start + run + stride * (count - 1)) - start
        return run, []

    def has(self, start: int, stop: int) -> bool:
        """True where some bytes all belong to the member."""
        return self._start <= start and stop <= self._end

    def clipped(self, start: int, stop: int) -> Range:
        """Bytes within the member, and what padding belongs to it."""
        return max(start, self._start), min(stop, self._end)

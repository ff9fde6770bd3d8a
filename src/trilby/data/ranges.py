"""Sets of bytes, as sorted ranges that neither overlap nor touch."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, TypeAlias

Range: TypeAlias = tuple[int, int]
"""The first byte, and the one after the last."""


class Ranges:
    """An immutable set of bytes: `Ranges.of((0, 4), (8, 12))`."""

    __slots__ = ("parts",)
    EMPTY: ClassVar["Ranges"]

    def __init__(self, parts: tuple[Range, ...]) -> None:
        """`parts` are sorted, not empty, and apart: `of` makes them so."""
        self.parts = parts

    @classmethod
    def of(cls, *parts: Range) -> "Ranges":
        """The union of any ranges."""
        return union(parts)

    @classmethod
    def span(cls, start: int, stop: int) -> "Ranges":
        """One range."""
        return cls(((start, stop),)) if start < stop else cls.EMPTY

    @property
    def total(self) -> int:
        """How many bytes."""
        return sum(stop - start for start, stop in self.parts)

    @property
    def hull(self) -> Range:
        """The smallest range around all; `(0, 0)` around nothing."""
        return (self.parts[0][0], self.parts[-1][1]) if self.parts else (0, 0)

    def shifted(self, distance: int) -> "Ranges":
        """The same set elsewhere."""
        return Ranges(tuple((start + distance, stop + distance) for start, stop in self.parts))

    def covers(self, other: "Ranges") -> bool:
        """True where every byte of the other is one of these."""
        if len(self.parts) == 1:
            low, high = other.hull
            return not other.parts or (self.parts[0][0] <= low and high <= self.parts[0][1])
        return not other - self

    def meets(self, other: "Ranges") -> bool:
        """True where a byte is in both."""
        return bool(self & other)

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __iter__(self) -> Iterator[Range]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ranges) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def __repr__(self) -> str:
        return f"Ranges({', '.join(f'{start}…{stop}' for start, stop in self.parts)})"

    def __or__(self, other: "Ranges") -> "Ranges":
        if not other.parts or self.parts == other.parts:
            return self
        if not self.parts:
            return other
        many, few = (self, other) if len(self) >= len(other) else (other, self)
        low, high = few.hull
        first, last = many._between(low - 1, high + 1)  # those that touch are joined
        middle = union((*many.parts[first:last], *few.parts))
        return Ranges((*many.parts[:first], *middle.parts, *many.parts[last:]))

    def __and__(self, other: "Ranges") -> "Ranges":
        if self.parts == other.parts:
            return self
        if len(self.parts) <= 1 and len(other.parts) <= 1:  # as nearly always
            (a, b), (c, d) = self.hull, other.hull
            return Ranges.span(max(a, c), min(b, d))
        first, last = self._between(*other.hull)
        start, stop = other._between(*self.hull)
        found = tuple(_met(self.parts[first:last], other.parts[start:stop]))
        return Ranges(found) if found else Ranges.EMPTY

    def __sub__(self, other: "Ranges") -> "Ranges":
        if not self.parts or not other.parts:
            return self
        if self.parts == other.parts:
            return Ranges.EMPTY
        if other.parts[-1][1] <= self.parts[0][0] or self.parts[-1][1] <= other.parts[0][0]:
            return self
        if len(other.parts) == 1 and other.covers(self):  # as nearly always
            return Ranges.EMPTY
        first, last = self._between(*other.hull)
        if first == last:
            return self
        start, stop = other._between(*self.hull)
        middle = _left(self.parts[first:last], other.parts[start:stop])
        found = (*self.parts[:first], *middle, *self.parts[last:])
        return Ranges(found) if found else Ranges.EMPTY

    def _between(self, low: int, high: int) -> tuple[int, int]:
        """Which of the parts have bytes between two places: the first, and the one after."""
        first = bisect_right(self.parts, (low,))
        if first and self.parts[first - 1][1] > low:
            first -= 1
        return first, max(first, bisect_left(self.parts, (high,)))


def _met(left: Sequence[Range], right: Sequence[Range]) -> Iterator[Range]:
    """What is in both of two sets."""
    rest, others = iter(left), iter(right)
    a, b = next(rest, None), next(others, None)
    while a is not None and b is not None:
        low, high = max(a[0], b[0]), min(a[1], b[1])
        if low < high:
            yield low, high
        if a[1] <= b[1]:
            a = next(rest, None)
        else:
            b = next(others, None)


def _left(parts: Sequence[Range], holes: Sequence[Range]) -> Iterator[Range]:
    """What is in the first of two sets and not in the second."""
    rest = iter(holes)
    hole = next(rest, None)
    for start, stop in parts:
        at = start
        while hole is not None and hole[0] < stop:
            if hole[1] > at:
                if hole[0] > at:
                    yield at, hole[0]
                at = hole[1]
            if hole[1] > stop:
                break
            hole = next(rest, None)
        if at < stop:
            yield at, stop


Ranges.EMPTY = Ranges(())


def union(parts: Iterable[Range]) -> Ranges:
    """The set of all bytes of some ranges, which may overlap and be empty."""
    joined: list[Range] = []
    for start, stop in sorted(parts):
        if start >= stop:
            continue
        if joined and start <= joined[-1][1]:
            if stop > joined[-1][1]:
                joined[-1] = (joined[-1][0], stop)
        else:
            joined.append((start, stop))
    return Ranges(tuple(joined)) if joined else Ranges.EMPTY

"""Which write a copy carries, and which access needed it: from a recorded trace."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from trilby.data.ranges import Ranges, union
from trilby.oracle.excess import CopyMade
from trilby.oracle.trace import Access, Trace


class Way(NamedTuple):
    """The touch whose data a copy has, and the first that needed it there; None for none."""

    write: int | None
    read: int | None


def ways_of(trace: Trace, made: Sequence[CopyMade], copies: Sequence[range]) -> list[Way]:
    """The way of each copy; `copies` has, for each, its parts among those that were made."""
    touches = _Touches(trace)
    return [touches.way([made[part] for part in parts]) for parts in copies]


class _Touches:
    """The touches of a trace by buffer, and what they write and need: worked out once."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._numbers: list[list[int]] = [[] for _ in trace.buffers]
        for number, touch in enumerate(trace.touches):
            for buffer in touch.accesses:
                self._numbers[buffer].append(number)
        self._known: dict[int, tuple[Ranges, Ranges]] = {}

    def way(self, parts: Sequence[CopyMade]) -> Way:
        """Where the parts of one copy come from, and where they go."""
        if not parts:
            return Way(None, None)
        first = parts[0]
        moved = union((part.start, part.start + part.nbytes) for part in parts)
        here = self._numbers[first.buffer]
        split = bisect_left(here, first.position)
        written = (n for n in reversed(here[:split]) if self._at(n, first.buffer)[0].meets(moved))
        needed = (
            n
            for n in self._later(here, split, first.target)
            if self._at(n, first.buffer)[1].meets(moved)
        )
        return Way(next(written, None), next(needed, None))

    def _later(self, here: Sequence[int], split: int, place: str) -> Iterator[int]:
        """The touches at a place from one on."""
        for index in range(split, len(here)):
            if self._trace.touches[here[index]].place == place:
                yield here[index]

    def _at(self, touch: int, buffer: int) -> tuple[Ranges, Ranges]:
        """What a touch writes of a buffer, and what has to be there for it."""
        access = self._trace.touches[touch].accesses[buffer]
        found = self._known.get(id(access))  # the trace holds the access, so the id stays
        if found is None:
            found = self._known[id(access)] = _written_and_needed(access)
        return found


def _written_and_needed(access: Access) -> tuple[Ranges, Ranges]:
    """What may be left as it is has to be there as well."""
    covers = union(access.covers)
    writes = union(access.writes) | covers
    return writes, union(access.reads) | (writes - covers)

"""Which write a copy carries, and which access needed it: from a recorded trace."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from trilby.oracle.excess import CopyMade
from trilby.oracle.trace import Access, Range, Trace


class Way(NamedTuple):
    """The touch whose data a copy has, and the first that needed it there; None for none."""

    write: int | None
    read: int | None


def ways_of(trace: Trace, made: Sequence[CopyMade], copies: Sequence[range]) -> list[Way]:
    """The way of each copy; `copies` has, for each, its parts among those that were made."""
    touches: list[list[int]] = [[] for _ in trace.buffers]
    for number, touch in enumerate(trace.touches):
        for buffer in touch.accesses:
            touches[buffer].append(number)
    return [_way(trace, touches, [made[part] for part in parts]) for parts in copies]


def _way(trace: Trace, touches: list[list[int]], parts: list[CopyMade]) -> Way:
    if not parts:
        return Way(None, None)
    first = parts[0]
    ranges = [(part.start, part.start + part.nbytes) for part in parts]
    here = touches[first.buffer]
    split = bisect_left(here, first.position)
    before, after = reversed(here[:split]), here[split:]
    written = (n for n in before if _meets(_written(_access(trace, n, first.buffer)), ranges))
    needed = (
        n
        for n in after
        if trace.touches[n].place == first.target
        and _meets(_needed(_access(trace, n, first.buffer)), ranges)
    )
    return Way(next(written, None), next(needed, None))


def _access(trace: Trace, touch: int, buffer: int) -> Access:
    return trace.touches[touch].accesses[buffer]


def _written(access: Access) -> Iterator[Range]:
    yield from access.writes
    yield from access.covers


def _needed(access: Access) -> Iterator[Range]:
    """What may be left as it is has to be there as well."""
    yield from access.reads
    yield from (part for part in access.writes if part not in access.covers)


def _meets(some: Iterator[Range], others: Sequence[Range]) -> bool:
    return any(a < stop and start < b for a, b in some for start, stop in others)

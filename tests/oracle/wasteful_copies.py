"""Copies with which a trace can be run, and others that are made for nothing."""

from collections.abc import Iterable, Sequence

from hypothesis import strategies as st

from trilby.oracle import CopyMade, Touch, Trace, TracedBuffer


def in_bytes(ranges: Iterable[tuple[int, int]]) -> set[int]:
    return {at for start, stop in ranges for at in range(start, stop)}


class Copying:
    """One buffer on its way through a trace."""

    def __init__(self, draw: st.DrawFn, buffer: TracedBuffer, places: Sequence[str]) -> None:
        self.draw = draw
        self.buffer = buffer
        self.places = places
        self.data = in_bytes(buffer.data)
        self.copies: list[CopyMade] = []
        self.has = {
            place: in_bytes([*buffer.valid.get(place, ()), *buffer.fresh]) for place in places
        }

    def copy(self, position: int, source: str, target: str, span: tuple[int, int]) -> None:
        """Copy some bytes, unless that destroys content."""
        moved = set(range(*span))
        if moved & self.has[target] & self.data <= self.has[source]:
            start, stop = span
            self.copies.append(
                CopyMade(position, self.buffer.number, source, target, start, stop - start)
            )
            self.has[target] |= moved & self.has[source]

    def copy_for_nothing(self, position: int) -> None:
        low, high = sorted(self.draw(st.tuples(*[st.integers(0, self.buffer.nbytes)] * 2)))
        source = self.draw(st.sampled_from(self.places))
        others = self.places[1:] if source == "host" else ["host"]
        self.copy(position, source, self.draw(st.sampled_from(others)), (low, high))

    def serve(self, position: int, touch: Touch) -> None:
        """Bring what a touch needs, with bytes behind it or without, and let it write."""
        access = touch.accesses[self.buffer.number]
        reads, writes, covers = (in_bytes(ranges) & self.data for ranges in access[:3])
        for at in sorted(reads | (writes - covers)):
            for target in ("host", touch.place):
                if at not in self.has[touch.place] and at not in self.has[target]:
                    source = next(place for place in self.places if at in self.has[place])
                    end = self.draw(st.integers(at + 1, self.buffer.nbytes))
                    self.copy(position, source, target, (at, end))
                    if at not in self.has[target]:
                        self.copy(position, source, target, (at, at + 1))
        for place in self.places:
            self.has[place] -= writes
        self.has[touch.place] |= writes


@st.composite
def wasteful_copies(draw: st.DrawFn, trace: Trace, places: Sequence[str]) -> list[CopyMade]:
    """All that the touches need, and more; the first of the places is the host."""
    copies: list[CopyMade] = []
    for buffer in trace.buffers:
        copying = Copying(draw, buffer, places)
        for position, touch in enumerate(trace.touches):
            for _ in range(draw(st.integers(0, 2))):
                copying.copy_for_nothing(position)
            if buffer.number in touch.accesses:
                copying.serve(position, touch)
        copying.copy_for_nothing(len(trace.touches))
        copies += copying.copies
    return sorted(copies, key=lambda made: made.position)

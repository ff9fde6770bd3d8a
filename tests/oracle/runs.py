"""Traces written by hand, in the short notation in which programs are described.

R reads, W writes all, w may write, and `Rw` and `RW` do both; `("W", 2, 5)` concerns the
elements 2, 3 and 4 alone.
"""

from typing import TypeAlias

from trilby.oracle import Access, Minimum, Trace, minimum

ELEMENT = 4
Deed: TypeAlias = str | tuple[str, int, int]


class Run:
    """A program on one device; its buffers have some elements of four bytes, and are fresh."""

    def __init__(self, **lengths: int) -> None:
        self.trace = Trace()
        self.lengths = lengths
        self.numbers = {
            name: self.trace.buffer(name, ELEMENT * length, fresh=True)
            for name, length in lengths.items()
        }
        self._known: dict[tuple[str, Deed], Access] = {}

    def host(self, **deeds: Deed) -> None:
        """The host touches buffers."""
        self.touch("host", **deeds)

    def kernel(self, **deeds: Deed) -> None:
        """A kernel is launched."""
        self.touch("gpu", **deeds)

    def touch(self, place: str, **deeds: Deed) -> None:
        accesses = {self.numbers[name]: self.access(name, deed) for name, deed in deeds.items()}
        self.trace.touch(place, accesses)

    def access(self, name: str, deed: Deed) -> Access:
        if (name, deed) not in self._known:
            kinds, start, stop = (deed, 0, self.lengths[name]) if isinstance(deed, str) else deed
            part = ((ELEMENT * start, ELEMENT * stop),)
            self._known[name, deed] = Access(
                reads=part if "R" in kinds else (),
                writes=part if "W" in kinds or "w" in kinds else (),
                covers=part if "W" in kinds else (),
            )
        return self._known[name, deed]

    def copies(self) -> tuple[int, int]:
        """The fewest uploads and downloads of whole buffers."""
        return counts(minimum(self.trace, "buffer"))

    @property
    def ranged(self) -> Minimum:
        return minimum(self.trace, "range")


def counts(least: Minimum) -> tuple[int, int]:
    return least.uploads, least.downloads


def nbytes(least: Minimum) -> tuple[int, int]:
    return least.bytes_up, least.bytes_down

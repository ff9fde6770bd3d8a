"""The bytes of a buffer that are read, written, and certainly overwritten."""

from typing import ClassVar

from trilby.data.ranges import Ranges
from trilby.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Touched:
    """What a launch, or a part of one, does to a buffer, in bytes.

    `reads` may be read, `writes` may be written, `covers` are certainly overwritten. A kernel that
    reads the first of eight `i32`, and sets every second, does this:
    `Touched(reads=Ranges.span(0, 4), writes=every_second, covers=every_second)` with
    `every_second = Ranges.span(0, 4).repeated(8, 4)`. Bytes count from the start of the buffer, or
    are host addresses, after `shifted(address)`.
    """

    reads: Ranges = Ranges.EMPTY
    writes: Ranges = Ranges.EMPTY
    covers: Ranges = Ranges.EMPTY

    NOTHING: ClassVar["Touched"]

    @property
    def needs(self) -> Ranges:
        """The bytes whose old content matters: those that are read or may be left as they are."""
        if self.writes is self.covers:
            return self.reads
        return self.reads | (self.writes - self.covers)

    def shifted(self, distance: int) -> "Touched":
        """The same bytes elsewhere."""
        covers = self.covers.shifted(distance)
        writes = covers if self.writes is self.covers else self.writes.shifted(distance)
        return Touched(self.reads.shifted(distance), writes, covers)

    def __or__(self, other: "Touched") -> "Touched":
        """What two arguments do that are the same buffer."""
        return Touched(
            self.reads | other.reads, self.writes | other.writes, self.covers | other.covers
        )

    def __bool__(self) -> bool:
        return bool(self.reads or self.writes or self.covers)


Touched.NOTHING = Touched()

"""The least that has to move in a recorded run, and how it is proven.

Nothing here follows a policy: the least is a shortest path in the graph of all that could be
copied at all, at every point of the program. `tests/oracle` compares it with a search through
every schedule.
"""

from typing import Literal, TypeAlias

from trilby.dataclass import dataclass
from trilby.oracle.cells import Cells, cells_of
from trilby.oracle.ranged import fewest_bytes
from trilby.oracle.trace import Trace
from trilby.oracle.whole import fewest_copies
from trilby.oracle.windows import fewest_points

Granularity: TypeAlias = Literal["buffer", "range"]


@dataclass(frozen=True, slots=True)
class BufferMinimum:
    """The least for one buffer."""

    name: str
    uploads: int
    downloads: int
    bytes_up: int
    bytes_down: int

    @property
    def nbytes(self) -> int:
        """Both ways together."""
        return self.bytes_up + self.bytes_down


@dataclass(frozen=True, slots=True)
class Minimum:
    """The least for a whole run: `print(minimum(trace))` is a table."""

    granularity: Granularity
    buffers: tuple[BufferMinimum, ...]
    """One for each buffer of the trace, in its order."""

    @property
    def uploads(self) -> int:
        """Copies from the host to a device."""
        return sum(buffer.uploads for buffer in self.buffers)

    @property
    def downloads(self) -> int:
        """Copies from a device to the host."""
        return sum(buffer.downloads for buffer in self.buffers)

    @property
    def bytes_up(self) -> int:
        """Bytes that go from the host to devices."""
        return sum(buffer.bytes_up for buffer in self.buffers)

    @property
    def bytes_down(self) -> int:
        """Bytes that go from devices to the host."""
        return sum(buffer.bytes_down for buffer in self.buffers)

    @property
    def nbytes(self) -> int:
        """Both ways together."""
        return self.bytes_up + self.bytes_down

    def __str__(self) -> str:
        unit = "whole buffers" if self.granularity == "buffer" else "byte ranges"
        total = BufferMinimum("all", self.uploads, self.downloads, self.bytes_up, self.bytes_down)
        width = max([8, *(len(buffer.name) for buffer in self.buffers)])
        head = f"{'buffer':{width}}  {'uploads':>8} {'bytes':>12}  {'downloads':>9} {'bytes':>12}"
        lines = [f"the least possible in {unit}", head]
        lines += [
            f"{row.name:{width}}  {row.uploads:8} {row.bytes_up:12,}"
            f"  {row.downloads:9} {row.bytes_down:12,}"
            for row in (*self.buffers, total)
        ]
        return "\n".join(lines)


def minimum(trace: Trace, granularity: Granularity = "buffer") -> Minimum:
    """The proven minimum of transfers for a trace.

    The rules. A touch needs `reads` and `writes − covers` to be current at its place; afterwards
    `writes` are current at that place only. A copy may be made at any point between touches,
    from a place where content is current to another, of which one is the host; then both have
    it. What goes from device to device goes down and up. Fresh content is current everywhere
    until somebody writes it. What is newer on a device when the trace ends may stay there.

    `"buffer"`: each touch is one of the whole buffer: reading anything needs everything, so does
    writing unless all data is covered, and a copy moves all data. The figures are the fewest
    copies, and with that the fewest bytes.

    `"range"`: bytes stand for themselves. The bytes are the fewest possible. The numbers of
    copies are the fewest with which that few bytes can move, where one copy takes any bytes of
    one buffer at one point of the program, in one piece or several. With several devices the
    number of copies up and the number down are each the fewest by itself.
    """
    of_one = _whole if granularity == "buffer" else _ranged
    return Minimum(granularity, tuple(of_one(cells) for cells in cells_of(trace)))


def _whole(cells: Cells) -> BufferMinimum:
    copies = fewest_copies(cells)
    size = int(cells.sizes.sum())
    return BufferMinimum(
        cells.buffer.name, copies.up, copies.down, copies.up * size, copies.down * size
    )


def _ranged(cells: Cells) -> BufferMinimum:
    points = fewest_points(cells)
    moved = fewest_bytes(cells)
    return BufferMinimum(cells.buffer.name, points.up, points.down, moved.up, moved.down)

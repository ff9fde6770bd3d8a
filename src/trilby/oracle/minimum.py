"""The least that has to move in a recorded run, and how it is proven.

Nothing here follows a policy: the least is a shortest path in the graph of all that could be
copied at all, at every point of the program. `tests/oracle` compares it with a search through
every schedule.
"""

from collections import Counter
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trilby.dataclass import dataclass
from trilby.oracle.cells import Cells, Which, cells_of
from trilby.oracle.trace import Trace

# ------------------------------------------------------------------------------------------- ranged
# The fewest bytes where any bytes may move by themselves, as a shortest path for each cell.
#
# The nodes of a cell's graph are the sets of places where its content is current, the edges are
# copies. All cells of a buffer take each step together, as arrays.

CellCosts: TypeAlias = NDArray[np.int64]
"""What it takes to reach a set of places (first index) for each cell (second index)."""

UP = 1 << 32
DOWN = UP + 1  # one copy too, and told apart in the low half
IMPOSSIBLE = 1 << 62


UpDown: TypeAlias = tuple[int, int]
"""How many bytes, or copies, go to devices, and how many come back from them."""


def fewest_bytes(cells: Cells) -> UpDown:
    """The fewest bytes with which every touch finds current content."""
    if not len(cells):
        return 0, 0
    costs = np.full((1 << len(cells.places), len(cells)), IMPOSSIBLE, np.int64)
    costs[cells.at_first(), np.arange(len(cells))] = 0
    for step in cells.changes:
        access = cells.of(step.access)
        if access.needed.any():
            _need(costs, step.place, access.needed)
        if access.writes.any():
            _write(costs, step.place, access.writes)
    total, down = np.divmod(costs.min(axis=0), UP)
    return int((total - down) @ cells.sizes), int(down @ cells.sizes)


def _need(costs: CellCosts, place: int, needed: Which) -> None:
    """Copy to anywhere; then what is not at the place is out."""
    part = _selection(needed)
    chosen = costs[:, part]
    _copy_anywhere(chosen)
    lacking, _ = _split(chosen, place)
    lacking[:] = IMPOSSIBLE
    costs[:, part] = chosen


def _copy_anywhere(costs: CellCosts) -> None:
    """Follow every copy: first down to the host, then up to each device."""
    without, with_host = costs[0::2], costs[1::2]
    np.minimum(with_host, without + DOWN, out=with_host)
    for device in range(1, len(costs).bit_length() - 1):
        lacking, having = _split(costs, device)
        np.minimum(having[:, 1::2], lacking[:, 1::2] + UP, out=having[:, 1::2])


def _write(costs: CellCosts, place: int, written: Which) -> None:
    part = _selection(written)
    cheapest = costs[:, part].min(axis=0)
    costs[:, part] = IMPOSSIBLE
    costs[1 << place, part] = cheapest


def _split(costs: CellCosts, place: int) -> tuple[CellCosts, CellCosts]:
    """Views of the costs of the sets without and with a place, as (rest, lower places, cell)."""
    halves = costs.reshape(-1, 2, 1 << place, costs.shape[1])
    return halves[:, 0], halves[:, 1]


def _selection(which: Which) -> slice | Which:
    """The same cells as a slice where they are neighbours, which is much faster."""
    start, count = int(which.argmax()), int(np.count_nonzero(which))
    return slice(start, start + count) if which[start : start + count].all() else which


# -------------------------------------------------------------------------------------------- whole
# The fewest copies where a copy moves a whole buffer, as a shortest path.
#
# A state says where the content is current; an edge is a copy. Every touch counts as one of the
# whole buffer: whatever reads a byte, or writes without covering everything, needs all of it.

State: TypeAlias = tuple[int, ...]
"""Sets of places as bits. Content that was current at different places when recording began
has one set for each of its parts, until one place has them all."""


StateCosts: TypeAlias = dict[State, tuple[int, int]]
"""The fewest copies that lead to a state, and how many of them go down."""


def fewest_copies(cells: Cells) -> UpDown:
    """The fewest copies of a whole buffer with which every touch finds current content."""
    start = tuple(int(part) for part in np.unique(cells.at_first()))
    costs: StateCosts = {start: (0, 0)}
    devices = range(1, len(cells.places))
    for step in cells.changes:
        access = cells.of(step.access)
        writes = bool(access.writes.any())
        needs = bool(access.reads.any()) or (writes and not access.covers.all())
        if needs:
            reached = _with_copies(costs, devices).items()
            costs = {
                state: cost
                for state, cost in reached
                if all(part >> step.place & 1 for part in state)
            }
        if writes:
            costs = {(1 << step.place,): min(costs.values())}
    total, down = min(costs.values())
    return total - down, down


def _with_copies(costs: StateCosts, devices: range) -> StateCosts:
    """The states that any copies lead to: down from each device, then up to each."""
    reached = dict(costs)
    for device in devices:
        _relax(reached, 1 << device, 1, down=1)
    for device in devices:
        _relax(reached, 1, 1 << device, down=0)
    return reached


def _relax(costs: StateCosts, source: int, target: int, *, down: int) -> None:
    for state, cost in list(costs.items()):
        copied = tuple(part | target if part & source else part for part in state)
        total = cost[0] + 1, cost[1] + down
        if copied not in costs or total < costs[copied]:
            costs[copied] = total


# ------------------------------------------------------------------------------------------ windows
# The fewest copies that move the fewest bytes, where a copy may take any bytes of a buffer.
#
# Moving the fewest bytes leaves no choice of what moves, only of when. Content that a touch wrote
# and that another place first needs at a later touch moves once, somewhere in the window between
# the two. A copy is made at one point of the program and takes whatever parts of the buffer have
# a window there. The fewest points that meet all windows are found as ever: go by the windows'
# ends, and where a window has no point yet, put one at its end.


def fewest_points(cells: Cells) -> UpDown:
    """The fewest copies up, and the fewest down, among schedules that move the fewest bytes.

    With one device both are reached at once; with several, each by itself.
    """
    current = cells.at_first()
    born = np.zeros(len(cells), np.int64)  # the position from which content can be copied
    points: dict[tuple[Literal["up", "down"], int], list[int]] = {}

    def end_windows(which: Which, way: Literal["up", "down"], device: int, position: int) -> None:
        found = points.setdefault((way, device), [-1])
        if which.any() and born[which].max() > found[-1]:
            found.append(position)

    for step in cells.changes:
        access = cells.of(step.access)
        missing = access.needed & (current >> step.place & 1 == 0)
        if missing.any():
            at_device = missing & (current & 1 == 0)
            for device in range(1, len(cells.places)):
                held = at_device & (current >> device & 1 == 1)
                end_windows(held, "down", device, step.position)
            if step.place:
                end_windows(missing, "up", step.place, step.position)
            current[missing] |= 1 | 1 << step.place
        if access.writes.any():
            current[access.writes] = 1 << step.place
            born[access.writes] = step.position + 1
    counts = Counter[str]()
    for (way, _), found in points.items():
        counts[way] += len(found) - 1
    return counts["up"], counts["down"]


# ------------------------------------------------------------------------------------------ minimum

Granularity: TypeAlias = Literal["buffer", "range"]


@dataclass(frozen=True, slots=True)
class BufferMinimum:
    """The least for one buffer: `BufferMinimum("a", 1, 0, 4096, 0)` has to go to a device once."""

    name: str
    uploads: int
    """Copies from the host to a device."""
    downloads: int
    """Copies from a device to the host."""
    bytes_up: int
    """Bytes that go from the host to devices."""
    bytes_down: int
    """Bytes that go from devices to the host."""

    @property
    def nbytes(self) -> int:
        """Both ways together."""
        return self.bytes_up + self.bytes_down


@dataclass(frozen=True, slots=True)
class Minimum(BufferMinimum):
    """The least for a whole run, all buffers together: `print(minimum(trace))` is a table."""

    granularity: Granularity
    buffers: tuple[BufferMinimum, ...]
    """One for each buffer of the trace, in its order."""

    def __str__(self) -> str:
        unit = "whole buffers" if self.granularity == "buffer" else "byte ranges"
        width = max([8, *(len(buffer.name) for buffer in self.buffers)])
        head = f"{'buffer':{width}}  {'uploads':>8} {'bytes':>12}  {'downloads':>9} {'bytes':>12}"
        lines = [f"the least possible in {unit}", head]
        lines += [
            f"{row.name:{width}}  {row.uploads:8} {row.bytes_up:12,}"
            f"  {row.downloads:9} {row.bytes_down:12,}"
            for row in (*self.buffers, self)
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
    buffers = tuple(_of_one(cells, granularity) for cells in cells_of(trace))
    return Minimum(
        "all",
        sum(buffer.uploads for buffer in buffers),
        sum(buffer.downloads for buffer in buffers),
        sum(buffer.bytes_up for buffer in buffers),
        sum(buffer.bytes_down for buffer in buffers),
        granularity,
        buffers,
    )


def _of_one(cells: Cells, granularity: Granularity) -> BufferMinimum:
    if granularity == "range":
        return BufferMinimum(cells.buffer.name, *fewest_points(cells), *fewest_bytes(cells))
    up, down = fewest_copies(cells)
    size = int(cells.sizes.sum())
    return BufferMinimum(cells.buffer.name, up, down, up * size, down * size)

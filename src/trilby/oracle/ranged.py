"""The fewest bytes where any bytes may move by themselves, as a shortest path for each cell.

The nodes of a cell's graph are the sets of places where its content is current, the edges are
copies. All cells of a buffer take each step together, as arrays.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trilby.oracle.cells import Cells, Which

Costs: TypeAlias = NDArray[np.int64]
"""What it takes to reach a set of places (first index) for each cell (second index)."""

UP = 1 << 32
DOWN = UP + 1  # one copy too, and told apart in the low half
IMPOSSIBLE = 1 << 62


class Bytes(NamedTuple):
    """How many bytes go each way."""

    up: int
    down: int


def fewest_bytes(cells: Cells) -> Bytes:
    """The fewest bytes with which every touch finds current content."""
    if not len(cells):
        return Bytes(0, 0)
    costs = np.full((1 << len(cells.places), len(cells)), IMPOSSIBLE, np.int64)
    costs[cells.at_first(), np.arange(len(cells))] = 0
    for step in cells.changes:
        access = cells.of(step.access)
        if access.needed.any():
            _need(costs, step.place, access.needed)
        if access.writes.any():
            _write(costs, step.place, access.writes)
    total, down = np.divmod(costs.min(axis=0), UP)
    return Bytes(int((total - down) @ cells.sizes), int(down @ cells.sizes))


def _need(costs: Costs, place: int, needed: Which) -> None:
    """Copy to anywhere; then what is not at the place is out."""
    part = _selection(needed)
    chosen = costs[:, part]
    _copy_anywhere(chosen)
    lacking, _ = _split(chosen, place)
    lacking[:] = IMPOSSIBLE
    costs[:, part] = chosen


def _copy_anywhere(costs: Costs) -> None:
    """Follow every copy: first down to the host, then up to each device."""
    without, with_host = costs[0::2], costs[1::2]
    np.minimum(with_host, without + DOWN, out=with_host)
    for device in range(1, len(costs).bit_length() - 1):
        lacking, having = _split(costs, device)
        np.minimum(having[:, 1::2], lacking[:, 1::2] + UP, out=having[:, 1::2])


def _write(costs: Costs, place: int, written: Which) -> None:
    part = _selection(written)
    cheapest = costs[:, part].min(axis=0)
    costs[:, part] = IMPOSSIBLE
    costs[1 << place, part] = cheapest


def _split(costs: Costs, place: int) -> tuple[Costs, Costs]:
    """Views of the costs of the sets without and with a place, as (rest, lower places, cell)."""
    halves = costs.reshape(-1, 2, 1 << place, costs.shape[1])
    return halves[:, 0], halves[:, 1]


def _selection(which: Which) -> slice | Which:
    """The same cells as a slice where they are neighbours, which is much faster."""
    start, count = int(which.argmax()), int(np.count_nonzero(which))
    return slice(start, start + count) if which[start : start + count].all() else which

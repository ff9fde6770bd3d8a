"""The fewest copies where a copy moves a whole buffer, as a shortest path.

A state says where the content is current; an edge is a copy. Every touch counts as one of the
whole buffer: whatever reads a byte, or writes without covering everything, needs all of it.
"""

from typing import NamedTuple, TypeAlias

import numpy as np

from trilby.oracle.cells import Cells

State: TypeAlias = tuple[int, ...]
"""Sets of places as bits. Content that was current at different places when recording began
has one set for each of its parts, until one place has them all."""


class Copies(NamedTuple):
    """How many copies were made; compared by their number."""

    total: int
    down: int

    @property
    def up(self) -> int:
        """Those to a device."""
        return self.total - self.down


Costs: TypeAlias = dict[State, Copies]


def fewest_copies(cells: Cells) -> Copies:
    """The fewest copies of a whole buffer with which every touch finds current content."""
    start = tuple(int(part) for part in np.unique(cells.at_first()))
    costs: Costs = {start: Copies(0, 0)}
    devices = range(1, len(cells.places))
    for step in cells.changes:
        access = cells.of(step.access)
        writes = bool(access.writes.any())
        needs = bool(access.reads.any()) or (writes and not access.covers.all())
        if needs:
            costs = _having(_with_copies(costs, devices), 1 << step.place)
        if writes:
            costs = {(1 << step.place,): min(costs.values())}
    return min(costs.values())


def _with_copies(costs: Costs, devices: range) -> Costs:
    """The states that any copies lead to: down from each device, then up to each."""
    reached = dict(costs)
    for device in devices:
        _relax(reached, 1 << device, 1, Copies(1, 1))
    for device in devices:
        _relax(reached, 1, 1 << device, Copies(1, 0))
    return reached


def _relax(costs: Costs, source: int, target: int, copy: Copies) -> None:
    for state, cost in list(costs.items()):
        copied = tuple(part | target if part & source else part for part in state)
        total = Copies(cost.total + copy.total, cost.down + copy.down)
        if copied not in costs or total < costs[copied]:
            costs[copied] = total


def _having(costs: Costs, place: int) -> Costs:
    return {state: cost for state, cost in costs.items() if all(part & place for part in state)}

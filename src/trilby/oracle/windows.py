"""The fewest copies that move the fewest bytes, where a copy may take any bytes of a buffer.

Moving the fewest bytes leaves no choice of what moves, only of when. Content that a touch
wrote and that another place first needs at a later touch moves once, somewhere in the window
between the two. A copy is made at one point of the program and takes whatever parts of the
buffer have a window there. The fewest points that meet all windows are found as ever: go by
the windows' ends, and where a window has no point yet, put one at its end.
"""

from collections import Counter
from typing import NamedTuple

import numpy as np

from trilby.oracle.cells import Cells, Step, Which


class Count(NamedTuple):
    """How many copies go each way."""

    up: int
    down: int


def fewest_points(cells: Cells) -> Count:
    """The fewest copies up, and the fewest down, among schedules that move the fewest bytes.

    With one device both are reached at once; with several, each by itself.
    """
    points = _Points(cells)
    for step in cells.changes:
        points.pass_touch(step)
    return Count(sum(points.up.values()), sum(points.down.values()))


class _Points:
    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.current = cells.at_first()
        self.born = np.zeros(len(cells), np.int64)
        """The position from which the content can be copied."""
        self.up: Counter[int] = Counter()
        self.down: Counter[int] = Counter()
        self._last_up: dict[int, int] = {}
        self._last_down: dict[int, int] = {}

    def pass_touch(self, step: Step) -> None:
        """End the windows of what a touch needs, and begin those of what it writes."""
        access = self.cells.of(step.access)
        missing = access.needed & (self.current >> step.place & 1 == 0)
        if missing.any():
            self._fetch(missing, step)
        if access.writes.any():
            self.current[access.writes] = 1 << step.place
            self.born[access.writes] = step.position + 1

    def _fetch(self, missing: Which, step: Step) -> None:
        at_device = missing & (self.current & 1 == 0)
        for device in range(1, len(self.cells.places)):
            self._end(at_device & (self.current >> device & 1 == 1), device, step, down=True)
        if step.place:
            self._end(missing, step.place, step, down=False)
        self.current[missing] |= 1 | 1 << step.place

    def _end(self, which: Which, device: int, step: Step, *, down: bool) -> None:
        last, count = (self._last_down, self.down) if down else (self._last_up, self.up)
        if which.any() and self.born[which].max() > last.get(device, -1):
            last[device] = step.position
            count[device] += 1

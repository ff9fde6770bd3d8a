"""How many passes are given to a device at once.

Enough that it never runs dry, and few enough that a run that is to stop does so in a moment.
"""

import time
from collections import deque

from trilby.backend.base import Event

MOST_AT_ONCE = 1024
"""The most passes of one portion."""

PORTION_SECONDS = 0.01
"""What a portion is to take."""

MOST_UNDER_WAY = 2
"""The portions that the device may have: one that runs, and one that comes next."""

_GROWTH = 4


class Pace:
    """The portions under way, and the size of the next one; `size` is that of the first."""

    def __init__(self, size: int = 1) -> None:
        self.size = size
        self._under_way: deque[tuple[Event, int, float]] = deque()
        self._last_end = 0.0

    def next_size(self, most: int) -> int:
        """How many passes to begin now."""
        return min(self.size, most, MOST_AT_ONCE)

    def begun(self, event: Event, passes: int, started: float) -> None:
        """Passes were begun, since some moment."""
        self._under_way.append((event, passes, started))

    @property
    def too_many(self) -> bool:
        """Whether the device has all it needs."""
        return len(self._under_way) >= MOST_UNDER_WAY

    @property
    def oldest(self) -> Event | None:
        """The portion that ends first."""
        return self._under_way[0][0] if self._under_way else None

    def ended(self) -> None:
        """The oldest portion is done: from the time it took follows the size of the next."""
        _, passes, started = self._under_way.popleft()
        now = time.perf_counter()
        took = max(now - max(started, self._last_end), 1e-9)
        self._last_end = now
        wanted = int(PORTION_SECONDS * passes / took)
        self.size = max(1, min(wanted, _GROWTH * max(passes, self.size), MOST_AT_ONCE))

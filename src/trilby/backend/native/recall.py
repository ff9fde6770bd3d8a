"""When work of the native device was begun and done, for those who ask late.

The queue itself notes this of each record, and knows it of the last 4,096. Events of which somebody
wants to know it later are told before it is forgotten.
"""

import gc
from collections import deque
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trilby.backend.native.engine import State
    from trilby.backend.native.events import NativeEvent

_SPARE = 256
"""Other threads may submit some records between a look at the queue and what follows."""


class Recall:
    """The events that are to be told, in the order of their records.

    `wait` returns when a record is done, and submits nothing.
    """

    def __init__(self, state: "State", wait: Callable[[int], None]) -> None:
        self._state = state
        self._ring = len(state.slots)
        self._wait = wait
        self._events: deque[NativeEvent] = deque()

    @property
    def room(self) -> float:
        """So many more records may be submitted before one is forgotten that somebody wants."""
        if not self._events:
            return inf
        return self._events[0].sequence - 1 + self._ring - _SPARE - self._state.submitted

    def add(self, event: "NativeEvent") -> None:
        """Tell an event before its record is forgotten."""
        self._events.append(event)

    def make_way(self, records: int) -> float:
        """Some records are about to be submitted: tell those in whose places they will be.

        The result is how many more may follow.
        """
        collects = gc.isenabled()
        try:
            gc.disable()  # buffers that end here would begin copies, which may have to wait
            self._tell()
            if self.room < records:
                submitted = int(self._state.submitted)
                self._wait(max(self._events[0].sequence, submitted - self._ring // 2))
                self._tell()
        finally:
            if collects:
                gc.enable()
        return self.room - records

    def _tell(self) -> None:
        """Tell those whose records are done; Ctrl-C may come between any two steps."""
        while self._events and self._events[0].done:
            self._events[0].take_times()
            self._events.popleft()

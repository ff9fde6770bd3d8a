"""Passes of a launch that are begun one at a time, on backends that have no shorter way."""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, count
from operator import getitem, itemgetter

from trilby.backend.base import Argument, Event, Passes, Prepared
from trilby.backend.together import Together

_only_event = itemgetter(slice(0, 1))


class PassByPass(Passes):
    """Begins each pass with a function of its backend, which gets its number.

    A pass that fails leaves everything as it was before it.
    """

    __slots__ = ("_before", "_begun", "_numbers", "_prepared", "_run")

    def __init__(self, run: Callable[[int, Sequence[Event]], Event], prepared: Prepared) -> None:
        super().__init__()
        self._run = run
        self._prepared = prepared
        self._numbers = count(1)
        self._before = 0
        self._begun: deque[tuple[Event, int]] = deque()

    @property
    def begun(self) -> int:
        """How many passes were begun."""
        return self._begun[-1][1] if self._begun else 0

    @property
    def latest(self) -> Event:
        """The passes of the last call of `run`."""
        return Together(*(event for event, number in self._begun if number > self._before))

    def run(self, passes: int, after: Sequence[Event] = ()) -> None:
        """Begin some passes, each after the one before.

        Nothing can come between a pass and its number, since all but `_run` is done in C: Ctrl-C
        is heard nowhere else.
        """
        while len(self._begun) > 1:
            self._begun.popleft()
        self._before = self.begun
        start = self.next_number
        before = map(_only_event, iter(partial(getitem, self._begun, -1), None))
        begun = map(self._run, range(start, start + passes), chain((after,), before))
        self._begun.extend(zip(begun, self._numbers, strict=False))

    def replace(self, position: int, argument: Argument) -> None:
        """Set another argument for the passes to come."""
        self._prepared.replace(position, argument)

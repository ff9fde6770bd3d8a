"""The runs of a launch that is repeated, added up by the lines that dispatched them."""

import weakref
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trilby.backend.base import Repeated
from trilby.locks import if_free, new_lock
from trilby.runtime.figures import RunFigures
from trilby.runtime.origins import KernelWrite
from trilby.source import Location

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trilby.backend.kept import Sum


class Dispatched(NamedTuple):
    """A kernel, and the line that dispatched it."""

    kernel: str
    file: str
    line: int

    @classmethod
    def by(cls, writer: KernelWrite) -> "Dispatched":
        """What dispatched a launch."""
        caller = writer.caller
        return cls(writer.kernel, caller.code.co_filename, caller.number)

    @property
    def location(self) -> Location:
        """The line."""
        return Location(self.file, self.line)


class ProfiledRuns:
    """All runs of one launch from now on.

    They are dispatched now and given to the driver a moment later, perhaps after others from
    another line. So it is remembered which number of run is the first from which line, unless the
    device adds up the runs of each line. Where nobody wants `every` run, some of many brief ones
    are measured, and the others counted.
    """

    def __init__(self, launch: Repeated, writer: KernelWrite, *, every: bool) -> None:
        reference = weakref.ref(self)  # the runs live as long as the launch, and this need not
        self._kept = launch.keep(lambda: _is_full(reference()))
        self._kept.may_skip = not every
        self._launch = weakref.ref(launch)
        self._first = Dispatched.by(writer)
        self._lines = deque([(0, self._first)])
        self._sums: Sequence[Sum] = ()
        self._figures: dict[Dispatched, RunFigures] = {}
        self._lock = new_lock()

    def come_from(self, launch: Repeated, writer: KernelWrite) -> None:
        """The runs to come are dispatched from another line."""
        line = Dispatched.by(writer)
        launch.keep_next(line)
        number = launch.runs_begun()
        if number is not None:
            self._lines.append((number, line))

    @property
    def is_over(self) -> bool:
        """True once there is nothing more to come."""
        return self._launch() is None and self._kept.is_empty

    def wait(self) -> None:
        """Return when the runs so far are over, however they end."""
        self._kept.wait()

    def read(self) -> dict[Dispatched, RunFigures]:
        """What is known of the runs that are over."""
        with self._lock:
            self._take()
            found = {line: replace(figures) for line, figures in self._figures.items()}
            for one in self._sums:
                line = one.kind if isinstance(one.kind, Dispatched) else self._first
                found.setdefault(line, RunFigures()).join(
                    RunFigures(one.runs, 0, one.seconds, one.least, one.most, 0.0, one.runs)
                )
            return found

    def read_at_once(self) -> None:
        """Read what is over, unless another thread does so: it may have to wait for this one."""
        if_free(self._lock, self._take)

    def _take(self) -> None:
        """Add up what is over; each run is for the last line before it."""
        taken, lines = self._kept.take(), self._lines
        self._sums = taken.sums
        rest = 0
        while rest < len(taken.numbers):
            first = int(taken.numbers[rest])
            while len(lines) > 1 and lines[1][0] <= first:
                lines.popleft()
            stop = len(taken.numbers)
            if len(lines) > 1:
                stop = int(np.searchsorted(taken.numbers, lines[1][0]))
            some = slice(rest, stop)
            figures = self._figures.setdefault(lines[0][1], RunFigures())
            figures.add_all(taken.delays[some], taken.seconds[some], taken.unmeasured[some])
            rest = stop


def _is_full(runs: ProfiledRuns | None) -> None:
    """Many runs wait to be added up, if somebody still wants to know."""
    if runs is not None:
        runs.read_at_once()

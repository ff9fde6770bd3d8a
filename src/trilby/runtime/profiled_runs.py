"""The runs of a launch that is repeated, added up by the lines that dispatched them."""

import weakref
from collections import deque
from dataclasses import field, replace
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from trilby.backend.base import Repeated, Times
from trilby.dataclass import dataclass
from trilby.locks import if_free, new_lock
from trilby.runtime.held import KernelWrite
from trilby.source import Location

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trilby.backend.kept import Sum


# ------------------------------------------------------------------------------------------ figures
# What is added up for a profile: counts, bytes, seconds.


@dataclass(slots=True)
class RunFigures:
    """Runs of a kernel. Those that failed are counted, and took no time.

    `measured` are those that went well and were measured. All others that went well are taken to
    have needed what some of these did; `least` and `most` do not know of them.
    """

    count: int = 0
    failed: int = 0
    seconds: float = 0.0
    least: float = 0.0
    most: float = 0.0
    delay: float = 0.0
    measured: int = 0

    def add(self, times: Times) -> None:
        """Add one run."""
        self.count += 1
        if times is None:
            self.failed += 1
            return
        delay, seconds = times
        self.least = min(self.least, seconds) if self.measured else seconds
        self.most = max(self.most, seconds)
        self.measured += 1
        self.seconds += seconds
        self.delay += delay

    def add_all(
        self,
        delays: NDArray[np.float64],
        seconds: NDArray[np.float64],
        unmeasured: NDArray[np.int64],
    ) -> None:
        """Add many runs as `Taken` has them; what those took that failed is no number."""
        if unmeasured.any():
            left_out = unmeasured > 0
            self._estimate(delays[left_out], seconds[left_out], unmeasured[left_out])
            delays, seconds = delays[~left_out], seconds[~left_out]
        well = seconds
        if np.isnan(seconds.sum()):
            done = ~np.isnan(seconds)
            delays, well = delays[done], seconds[done]
        if len(well):
            least = float(well.min())
            self.least = min(self.least, least) if self.measured else least
            self.most = max(self.most, float(well.max()))
            self.seconds += float(well.sum())
            self.delay += float(delays.sum())
        self.count += len(seconds)
        self.failed += len(seconds) - len(well)
        self.measured += len(well)

    def _estimate(
        self,
        delays: NDArray[np.float64],
        seconds: NDArray[np.float64],
        counts: NDArray[np.int64],
    ) -> None:
        """Add so many runs of each kind that were not measured."""
        well = ~np.isnan(seconds)
        self.count += int(counts.sum())
        self.failed += int(counts[~well].sum())
        self.seconds += float(counts[well] @ seconds[well])
        self.delay += float(counts[well] @ delays[well])

    def join(self, other: Self) -> None:
        """Add other runs."""
        if other.measured:
            self.least = min(self.least, other.least) if self.measured else other.least
        self.most = max(self.most, other.most)
        self.count += other.count
        self.failed += other.failed
        self.seconds += other.seconds
        self.delay += other.delay
        self.measured += other.measured


@dataclass(slots=True)
class CopyFigures:
    """Copies in one direction."""

    copies: int = 0
    nbytes: int = 0
    seconds: float = 0.0

    def add(self, nbytes: int, seconds: float) -> None:
        """Add one copy."""
        self.copies += 1
        self.nbytes += nbytes
        self.seconds += seconds


@dataclass(slots=True)
class BothWays:
    """Copies to the device and back."""

    up: CopyFigures = field(default_factory=CopyFigures)
    down: CopyFigures = field(default_factory=CopyFigures)

    def copy(self) -> "BothWays":
        """The figures of now."""
        return BothWays(replace(self.up), replace(self.down))


@dataclass(slots=True)
class DispatchFigures:
    """The dispatches of a kernel from one line, with the copies for them and of their results."""

    runs: RunFigures = field(default_factory=RunFigures)
    copies: BothWays = field(default_factory=BothWays)
    wait_seconds: float = 0.0

    def copy(self) -> "DispatchFigures":
        """The figures of now."""
        return DispatchFigures(replace(self.runs), self.copies.copy(), self.wait_seconds)


@dataclass(slots=True)
class WaitFigures:
    """How often and how long the host waited."""

    count: int = 0
    seconds: float = 0.0
    most: float = 0.0

    def add(self, seconds: float) -> None:
        """Add one wait."""
        self.count += 1
        self.seconds += seconds
        self.most = max(self.most, seconds)


# ------------------------------------------------------------------------------------ profiled runs


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

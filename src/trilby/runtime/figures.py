"""What is added up for a profile: counts, bytes, seconds."""

from dataclasses import field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from trilby.backend.base import Times
from trilby.dataclass import dataclass


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

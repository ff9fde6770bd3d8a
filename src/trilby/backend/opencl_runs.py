"""The runs of a launch as events of the driver; of many brief ones only some are measured.

An event that is kept is new memory for the driver, which would use one that is dropped again at
once. With launches that take a microsecond, that is to be seen. Where it is enough to keep some,
the first runs are measured, and then one of seventeen. The others are counted, and are taken to
have needed what those measured last did on average.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import cycle, repeat
from typing import TypeAlias, cast

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from trilby.backend.base import Times
from trilby.backend.kept import FAILED, KeptInOrder, Taken
from trilby.backend.opencl_events import (
    END,
    QUEUED,
    START,
    has_failed,
    is_over,
    time_at,
    times_of,
    wait_for,
)

MEASURED_FIRST = 64
"""So many runs are measured before others are only counted."""

PERIOD = 17
"""Then one of so many is measured: in every burst at other places, and in no step with a loop."""

LARGE_BURST = 16
"""The runs of a burst, of all launches, from which on an event is worth saving."""

NEAR = 8
"""What was not measured is taken to be like so many runs before it: those of a burst or two."""

Put: TypeAlias = Callable[[cl.Event | None], None]


Stretch: TypeAlias = tuple[int, int, "cl.Event | None"]
"""Runs of one burst that were only counted: how many runs were measured up to the end of that
burst, how many were not, and the last one."""


class OpenCLRuns(KeptInOrder[cl.Event]):
    """Runs as events of the driver: nothing is made of them before they are read.

    Those of a burst are put into `fresh`. `noted` is the number of runs up to the end of the last
    burst, and `measured` that of their events. Before run `_skip_from` no run is left out.
    """

    __slots__ = (
        "_every",
        "_near",
        "_skip_from",
        "_skipped_taken",
        "_some",
        "_stretches",
        "fresh",
        "measured",
        "noted",
    )

    def __init__(self, full: Callable[[], None]) -> None:
        super().__init__(full)
        self.fresh: list[cl.Event | None] = []
        self.noted = 0
        self.measured = 0
        self._every = repeat(self.fresh.append)
        self._some = cycle((*(None,) * (PERIOD - 1), self.fresh.append))
        self._skip_from = MEASURED_FIRST
        self._stretches: list[Stretch] = []
        self._skipped_taken = 0
        self._near = np.zeros((2, 0))

    @property
    def total(self) -> int:
        """How many runs there were up to the end of the last burst."""
        return self.noted

    @property
    def is_empty(self) -> bool:
        """True where nothing is kept."""
        return not self._stretches and super().is_empty

    def note_burst(self, begun: int, last: cl.Event | None) -> None:
        """A burst ended with the run before this number, which has this event."""
        measured = len(self.fresh)
        left_out = begun - self.noted - measured
        if left_out and not measured and self._extend(begun, left_out, last):
            return
        # an interrupt is heard after a call, and there is none among these
        self.noted = begun
        self.measured += measured
        self.events += self.fresh
        self.fresh[:] = ()
        if left_out:
            self._stretches += ((self.measured, left_out, last),)
        if len(self.events) > self.room:
            self.make_room()

    def _extend(self, begun: int, left_out: int, last: cl.Event | None) -> bool:
        """Add runs to the last stretch, if nothing was measured since then and nobody reads."""
        if not self._stretches or not self._lock.acquire(blocking=False):
            return False
        try:
            measured, before, _ = self._stretches[-1] if self._stretches else (-1, 0, None)
            if measured != self.measured:
                return False
            self.noted, self._stretches[-1] = begun, (measured, before + left_out, last)
            return True
        finally:
            self._lock.release()

    def measure_from(self, number: int) -> None:
        """The run of this number is for something else, and the first of its kind."""
        self._skip_from = number + MEASURED_FIRST

    def picks(self, *, is_brief: bool) -> "Iterator[Put | None]":
        """Who is told of each run to come."""
        if is_brief and self.may_skip and self.noted >= self._skip_from:
            return self._some
        return self._every

    def wait(self) -> None:
        """Wait for one after the other."""
        stretches = tuple(self._stretches)
        super().wait()
        for _, _, last in stretches:
            if last is not None and not is_over(last):
                self._wait(last)

    def _read(self) -> None:
        """Read many at once. A run comes after the one before, so those that are over are first."""
        over = bisect_left(self.events, True, key=_is_under_way)  # noqa: FBT003 -- a value to look for
        try:
            self._note(*_times_of_all(self.events[:over]))
        except (cl.Error, TypeError):  # one failed or was refused, or the device does not measure
            super()._read()

    def _taken(self, delays: NDArray[np.float64], seconds: NDArray[np.float64]) -> Taken:
        """Number the runs that were taken last, and put in what was left out among them."""
        measured = super()._taken(delays, seconds)
        near = np.concatenate((self._near, (delays, seconds)), axis=1)
        self._near = near[:, -NEAR:]
        stretches = tuple(self._stretches)
        if not stretches and not self._skipped_taken:
            return measured
        places = np.array([measured for measured, _, _ in stretches], np.int64)
        counts = np.array([left_out for _, left_out, _ in stretches], np.int64)
        before = self._skipped_taken + np.concatenate(([0], np.cumsum(counts)))
        numbers = measured.numbers + before[np.searchsorted(places, measured.numbers, "right")]
        over = _over(stretches, self.taken)
        del self._stretches[:over]
        self._skipped_taken = int(before[over])
        means = _means(near, places[:over] - self.taken + near.shape[1])
        means[:, [_has_failed(last) for _, _, last in stretches[:over]]] = FAILED
        all_numbers = np.concatenate((numbers, places[:over] + before[:over]))
        order = np.argsort(all_numbers)
        return Taken(
            all_numbers[order],
            np.concatenate((delays, means[0]))[order],
            np.concatenate((seconds, means[1]))[order],
            np.concatenate((measured.unmeasured, counts[:over]))[order],
        )

    def _is_over(self, event: cl.Event) -> bool:
        return is_over(event)

    def _times(self, event: cl.Event) -> Times:
        return times_of(event)

    def _wait(self, event: cl.Event) -> None:
        with suppress(cl.Error):  # how it ended is seen when it is read
            wait_for(event)


def _over(stretches: Sequence[Stretch], taken: int) -> int:
    """How many of the first are over, and come behind runs that were taken."""
    for number, (measured, _, last) in enumerate(stretches):
        if measured > taken or _is_under_way(last):
            return number
    return len(stretches)


def _means(times: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.float64]:
    """The means of some columns before each place, without those that failed; 0 where all did."""
    places = np.clip(places, min(times.shape[1], 1), None)
    well = ~np.isnan(times[1])
    counts = np.concatenate(([0], np.cumsum(well)))
    sums = np.zeros((2, len(counts)))
    np.cumsum(np.where(well, times, 0.0), axis=1, out=sums[:, 1:])
    first = np.maximum(places - NEAR, 0)
    return (sums[:, places] - sums[:, first]) / np.maximum(counts[places] - counts[first], 1)


def _has_failed(event: cl.Event | None) -> bool:
    return event is not None and has_failed(event)


def _is_under_way(event: cl.Event | None) -> bool:
    return event is not None and not is_over(event)


def _times_of_all(
    events: list[cl.Event | None],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What commands took that are over; an error where one of them failed or is None."""
    read = cast("Callable[[cl.Event | None, cl.profiling_info], int]", time_at)
    start = np.array([read(event, START) for event in events], np.int64)
    queued = np.array([read(event, QUEUED) for event in events], np.int64)
    end = np.array([read(event, END) for event in events], np.int64)
    unit = np.float64(1e-9)
    return np.maximum(start - queued, 0) * unit, np.maximum(end - start, 0) * unit

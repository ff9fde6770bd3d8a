"""The runs of a launch as events of the driver; of many brief ones only some are measured.

An event that is kept is new memory for the driver, which would use one that is dropped again at
once. With launches that take a microsecond, that is to be seen. Where it is enough to keep some,
the first runs are measured, and then those of one burst of many. The others are counted, and
are taken to have needed what those of the next burst did that was measured, on average.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from itertools import repeat
from operator import length_hint
from typing import Any, TypeAlias, cast

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
"""So many runs are measured before others are only counted: a device is slow at first."""

UNMEASURED_SHARE = 34
"""For each run of a burst that was measured, so many are only counted. With the one that was, it
is a number of bursts that is hardly in step with a loop of the program: all its parts are seen."""

LARGE_BURST = 16
"""The runs of a burst, of all launches, from which on an event is worth saving."""

NEAR = 64
"""What was not measured is taken to be like so many runs that were: those of a burst."""

_NONE_NEAR = np.zeros((2, 0))

Put: TypeAlias = Callable[[cl.Event | None], None]

Stretch: TypeAlias = tuple[int, int, "cl.Event | None"]
"""Runs that were only counted: how many runs had been measured before, how many had not at its
end, and its last run."""


class OpenCLRuns(KeptInOrder[cl.Event]):
    """Runs as events of the driver: nothing is made of them before they are read.

    `_turns` are the runs that are left of `first`, which is more than there will ever be: so they
    are counted by whoever runs them. `_latest` gives the event of the last one, if that is known.
    With `lock`, no burst is under way.

    Those of a burst are put into `fresh`, and lie in `_bursts` until somebody reads: a long list
    would be memory that makes the C library tidy up all its own. When runs were noted, there were
    `noted`, and `_measured` of them had been put; `_last` is the last. Runs from `_skip_from` on
    may be left out, if they come before `_measure_from`. `_stretches` are those that were left out
    before others were measured, `_left_out` of them; `_taken_left_out` were taken.
    """

    __slots__ = (
        "_bursts",
        "_last",
        "_latest",
        "_left_out",
        "_measure_from",
        "_measured",
        "_near",
        "_skip_from",
        "_stretches",
        "_taken_left_out",
        "_turns",
        "first",
        "fresh",
        "lock",
        "noted",
        "same_for",
    )

    def __init__(
        self,
        full: Callable[[], None],
        turns: "repeat[Any]",
        lock: AbstractContextManager[object],
        latest: Callable[[], cl.Event | None],
    ) -> None:
        super().__init__(full)
        self._turns = turns
        self.first = length_hint(turns)
        self.lock = lock
        self._latest = latest
        self.fresh: list[cl.Event | None] = []
        self._bursts: list[list[cl.Event | None]] = []
        self.noted = 0
        self.same_for = 0
        self._measured = 0
        self._last: cl.Event | None = None
        self._skip_from = MEASURED_FIRST
        self._measure_from = 0
        self._stretches: list[Stretch] = []
        self._left_out = 0
        self._taken_left_out = 0
        self._near = _NONE_NEAR

    @property
    def total(self) -> int:
        """How many runs the driver has, or has refused."""
        return self.first - length_hint(self._turns)

    @property
    def _unread(self) -> int:
        return self._measured - self.taken - len(self._seconds)

    @property
    def is_empty(self) -> bool:
        """True where nothing is kept."""
        if self.fresh or self._bursts or not super().is_empty:
            return False
        return self._taken_left_out >= self.total - self._measured

    def note_burst(self) -> None:
        """Count the runs of a burst, or of several; the lock is held.

        What is put from now on may be put where it was, or where `put_next` says.
        """
        begun, last, measured = self.total, self._latest(), len(self.fresh)
        if measured:
            self._measure_from = begun + UNMEASURED_SHARE * measured
            left_out = self.noted - self._measured
            # an interrupt is heard after a call, and there is none among these
            if left_out > self._left_out:
                self._stretches += ((self._measured, left_out, self._last),)
                self._left_out = left_out
            self._bursts += (self.fresh[:],)
            self.fresh[:] = ()
            self._measured += measured
        self._last = last
        self.noted = begun
        if self._unread > self.room:
            self.make_room()

    def end(self) -> None:
        """The runs to come are not for this; the lock is held."""
        self.note_burst()
        self._turns = repeat(None, length_hint(self._turns))
        self._latest = partial(_same, self._last)

    def measure_from(self, number: int) -> None:
        """The run of this number is for something else, and the first of its kind."""
        self._skip_from = number + MEASURED_FIRST

    def put_next(self, *, is_brief: bool) -> Put | None:
        """Who is told of the next runs, for `same_for` of them."""
        skips = is_brief and self.may_skip and self._skip_from <= self.noted < self._measure_from
        self.same_for = self._measure_from - self.noted if skips else NEAR
        return None if skips else self.fresh.append

    def take(self) -> Taken:
        """Read the first ones that are over, and let go of what was read."""
        with self.lock:
            self.note_burst()
        return super().take()

    def wait(self) -> None:
        """Wait for one after the other; the last run is over after all others."""
        with self.lock:
            self.note_burst()
            last = self._last
        with self._lock:
            self._gather()
        super().wait()
        if last is not None and not is_over(last):
            self._wait(last)

    def _gather(self) -> None:
        """Put the events of all bursts into one list; this is part of reading."""
        while self._bursts:
            self.events += self._bursts.pop(0)

    def _read(self) -> None:
        """Read many at once. A run comes after the one before, so those that are over are first."""
        self._gather()
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
        stretches = self._take_stretches()
        before = self._taken_left_out
        if not stretches and not before:
            return measured
        places = np.array([place for place, _, _ in stretches], np.int64)
        ends = np.array([before, *(left_out for _, left_out, _ in stretches)], np.int64)
        numbers = measured.numbers + ends[np.searchsorted(places, measured.numbers, "right")]
        self._taken_left_out = int(ends[-1])
        means = _means(near, places - self.taken + near.shape[1])
        means[:, [_has_failed(last) for _, _, last in stretches]] = FAILED
        all_numbers = np.concatenate((numbers, places + ends[:-1]))
        order = np.argsort(all_numbers)
        return Taken(
            all_numbers[order],
            np.concatenate((delays, means[0]))[order],
            np.concatenate((seconds, means[1]))[order],
            np.concatenate((measured.unmeasured, np.diff(ends)))[order],
        )

    def _take_stretches(self) -> Sequence[Stretch]:
        """What was left out and is over, up to the runs that were taken last."""
        # another burst may be noted meanwhile; this never finds more left out than there is
        noted, last = self.noted, self._last
        ended = tuple(self._stretches)
        stretches = (*ended, (self._measured, noted - self._measured, last))
        over = bisect_left(stretches, True, key=self._is_to_come)  # noqa: FBT003 -- as above
        del self._stretches[: min(over, len(ended))]
        known = (self._taken_left_out, *(left_out for _, left_out, _ in stretches))
        return [
            one for one, before in zip(stretches[:over], known, strict=False) if one[1] > before
        ]

    def _is_to_come(self, stretch: Stretch) -> bool:
        """Whether runs are under way that were left out, or others that were measured before."""
        place, _, last = stretch
        return place > self.taken or _is_under_way(last)

    def _is_over(self, event: cl.Event) -> bool:
        return is_over(event)

    def _times(self, event: cl.Event) -> Times:
        return times_of(event)

    def _wait(self, event: cl.Event) -> None:
        with suppress(cl.Error):  # how it ended is seen when it is read
            wait_for(event)


def _means(times: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.float64]:
    """The means of some columns behind each place, or before it if there are none behind it.

    Those that failed do not count; 0 where all did.
    """
    end = times.shape[1]
    first = np.clip(np.where(places < end, places, places - NEAR), 0, None)
    stop = np.minimum(first + NEAR, end)
    well = ~np.isnan(times[1])
    counts = np.concatenate(([0], np.cumsum(well)))
    sums = np.zeros((2, end + 1))
    np.cumsum(np.where(well, times, 0.0), axis=1, out=sums[:, 1:])
    return (sums[:, stop] - sums[:, first]) / np.maximum(counts[stop] - counts[first], 1)


def _same(event: cl.Event | None) -> cl.Event | None:
    return event


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

"""What is added up, against sums, minima and maxima of Python."""

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from trilby.backend.base import Times
from trilby.runtime.profiled_runs import RunFigures, WaitFigures

RUNS: list[Times] = [(1.0, 8.0), None, (2.0, 4.0), (4.0, 16.0)]


def figures(runs: list[Times]) -> RunFigures:
    made = RunFigures()
    for one in runs:
        made.add(one)
    return made


@pytest.mark.parametrize("runs", [*permutations(RUNS)])
def test_runs(runs: tuple[Times, ...]) -> None:
    assert figures(list(runs)) == RunFigures(4, 1, 28.0, 4.0, 16.0, 7.0, measured=3)


def columns(
    runs: Sequence[Times], unmeasured: Sequence[int] = ()
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Delays and seconds, which are no numbers for a run that failed; and who was not measured."""
    times = np.array([one or (np.nan, np.nan) for one in runs]).reshape(len(runs), 2)
    return times[:, 0], times[:, 1], np.array(unmeasured or [0] * len(runs), np.int64)


@pytest.mark.parametrize("runs", [*permutations(RUNS)])
@pytest.mark.parametrize("cut", range(5))
def test_several_at_once(runs: tuple[Times, ...], cut: int) -> None:
    made = RunFigures()
    made.add_all(*columns(runs[:cut]))
    made.add_all(*columns(runs[cut:]))
    assert made == RunFigures(4, 1, 28.0, 4.0, 16.0, 7.0, measured=3)


@pytest.mark.parametrize("cut", range(5))
def test_what_was_not_measured_is_counted_and_has_a_part_in_sums(cut: int) -> None:
    runs: list[Times] = [(1.0, 8.0), (2.0, 32.0), None, (0.5, 1.0)]
    unmeasured = [0, 5, 3, 0]
    made = RunFigures()
    made.add_all(*columns(runs[:cut], unmeasured[:cut]))
    made.add_all(*columns(runs[cut:], unmeasured[cut:]))
    assert made.count == 1 + 5 + 3 + 1
    assert (made.failed, made.measured) == (3, 2)
    assert made.seconds == 8.0 + 5 * 32.0 + 1.0
    assert made.delay == 1.0 + 5 * 2.0 + 0.5
    assert (made.least, made.most) == (1.0, 8.0)


def test_the_least_is_one_that_was_measured() -> None:
    made, joined = RunFigures(), RunFigures(3, 0, 6.0, 2.0, 2.0, 0.0, measured=1)
    made.add_all(*columns([(0.0, 2.0), (0.0, 4.0)], [7, 0]))
    assert (made.least, made.most, made.count) == (4.0, 4.0, 8)
    made.join(joined)
    assert (made.least, made.most, made.count, made.measured) == (2.0, 4.0, 11, 2)


def test_failures_at_once_took_no_time() -> None:
    made = RunFigures()
    made.add_all(*columns([None, None]))
    assert made == figures([None, None])


@pytest.mark.parametrize("cut", range(5))
def test_joined_runs_are_all_of_them(cut: int) -> None:
    joined = figures(RUNS[:cut])
    joined.join(figures(RUNS[cut:]))
    assert joined == figures(RUNS)


def test_failures_alone_took_no_time() -> None:
    assert figures([None, None]) == RunFigures(2, 2, 0.0, 0.0, 0.0, 0.0)


def test_waits() -> None:
    waits = WaitFigures()
    for seconds in (3.0, 5.0, 1.0):
        waits.add(seconds)
    assert waits == WaitFigures(3, 9.0, 5.0)

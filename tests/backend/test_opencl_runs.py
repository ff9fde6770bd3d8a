"""Runs on OpenCL that are kept: each by its event, and of many brief ones only some."""

import gc
from itertools import repeat
from threading import RLock

import numpy as np
import pytest
from tests.backend.opencl_running import Gate, scaling, upload
from tests.runtime.interrupting import interrupt_once

from trilby.backend import opencl_bursts
from trilby.backend.opencl_bursts import MOST_HELD, OpenCLRepeated
from trilby.backend.opencl_device import OpenCLBackend
from trilby.backend.opencl_kernels import OpenCLPrepared
from trilby.backend.opencl_runs import (
    LARGE_BURST,
    MEASURED_FIRST,
    NEAR,
    UNMEASURED_SHARE,
    OpenCLRuns,
)


def nothing() -> None:
    """Nobody reads when it is full."""


def repeated(backend: OpenCLBackend) -> OpenCLRepeated:
    memory = upload(backend, np.ones(64, np.int32))
    launch = backend.repeated(scaling(backend, memory, 1))
    assert isinstance(launch, OpenCLRepeated)
    return launch


@pytest.fixture
def brief(opencl: OpenCLBackend, monkeypatch: pytest.MonkeyPatch) -> OpenCLRepeated:
    """A launch that was seen to be brief, and stays so however long its runs take."""
    monkeypatch.setattr(opencl_bursts, "UNSEEN_BURSTS", 1 << 30)
    prepared = repeated(opencl).prepared
    prepared.seconds = 1e-9
    return begun(prepared, opencl)


def begun(prepared: OpenCLPrepared, backend: OpenCLBackend) -> OpenCLRepeated:
    """A launch that was run once."""
    launch = OpenCLRepeated(prepared, backend.burst)
    launch.run(())
    backend.flush()
    return launch


def some_of(launch: OpenCLRepeated) -> OpenCLRuns:
    """Its runs, of which it is enough to measure some."""
    kept = launch.keep(nothing)
    kept.may_skip = True
    return kept


def run(launch: OpenCLRepeated, times: int) -> None:
    """Run it so often, each time after the last, as a loop does."""
    after = (launch,)
    for _ in range(times):
        launch.run(after)


def counts(kept: OpenCLRuns, backend: OpenCLBackend) -> tuple[int, int, int]:
    """How many were measured, how many were not, and how many of all failed, when all is over."""
    backend.flush()
    kept.wait()
    _, _, seconds, unmeasured = kept.take()[:4]
    assert kept.is_empty
    failed = np.where(np.isnan(seconds), np.maximum(unmeasured, 1), 0)
    return int(np.sum(unmeasured == 0)), int(unmeasured.sum()), int(failed.sum())


# ------------------------------------------------------------------------------ every run


def test_every_run_of_a_burst_is_kept(opencl: OpenCLBackend) -> None:
    launch = repeated(opencl)
    launch.run(())
    kept = launch.keep(nothing)
    for _ in range(100):
        launch.run(())
    assert launch.runs_begun() == 100
    opencl.flush()
    assert kept.total == 100
    kept.wait()
    numbers, delays, seconds, unmeasured = kept.take()[:4]
    assert numbers.tolist() == list(range(100))
    assert np.all(delays >= 0)
    assert np.all(seconds > 0)
    assert not np.any(unmeasured)
    launch.keep_no_more()
    launch.run(())
    opencl.flush()
    assert kept.total == 100
    assert launch.runs_begun() == 0


def test_runs_that_are_held_back_are_counted(opencl: OpenCLBackend, brief: OpenCLRepeated) -> None:
    kept = brief.keep(nothing)
    run(brief, 3)
    assert (kept.total, brief.runs_begun()) == (0, 3)
    opencl.flush()
    assert (kept.total, brief.runs_begun()) == (3, 3)


def test_a_run_that_failed_or_was_refused_has_no_times(opencl: OpenCLBackend, gate: Gate) -> None:
    launch = repeated(opencl)
    kept = launch.keep(nothing)
    launch.run([gate.event])
    opencl.flush()
    gate.fail()
    opencl.free(next(iter(launch.prepared.memories.values())))
    launch.run(())
    opencl.flush()
    kept.wait()
    numbers, delays, seconds, unmeasured = kept.take()[:4]
    assert numbers.tolist() == [0, 1]
    assert np.isnan(delays).tolist() == np.isnan(seconds).tolist() == [True, True]
    assert unmeasured.tolist() == [0, 0]


def test_what_is_read_at_once_is_what_each_event_says(opencl: OpenCLBackend) -> None:
    launch = repeated(opencl)
    kept = launch.keep(nothing)
    for _ in range(50):
        launch.run(())
    opencl.flush()
    kept.wait()
    profiles = [event.profile for event in kept.events if event is not None]
    numbers, delays, seconds, _ = kept.take()[:4]
    assert len(numbers) == len(profiles) == 50
    assert delays.tolist() == pytest.approx([(one.start - one.queued) * 1e-9 for one in profiles])
    assert seconds.tolist() == pytest.approx([(one.end - one.start) * 1e-9 for one in profiles])
    assert not kept.events


def test_runs_before_and_after_one_that_failed(opencl: OpenCLBackend, gate: Gate) -> None:
    launch = repeated(opencl)
    kept = launch.keep(nothing)
    launch.run(())
    opencl.flush()
    kept.wait()
    launch.run([gate.event])
    opencl.flush()
    gate.fail()
    launch.run(())
    opencl.flush()
    kept.wait()
    _, delays, seconds, _ = kept.take()[:4]
    assert np.isnan(seconds).tolist() == [False, True, False]
    assert np.isnan(delays).tolist() == [False, True, False]


# ------------------------------------------------------------------------------ some runs


def test_of_many_brief_runs_some_are_measured_and_all_are_counted(
    opencl: OpenCLBackend, brief: OpenCLRepeated
) -> None:
    kept = some_of(brief)
    first = MEASURED_FIRST // MOST_HELD
    bursts = first + 3 * (UNMEASURED_SHARE + 1) + 5
    run(brief, bursts * MOST_HELD + 3)
    assert brief.runs_begun() == bursts * MOST_HELD + 3
    measured, unmeasured, failed = counts(kept, opencl)
    assert measured == (first + 3) * MOST_HELD
    assert (measured + unmeasured, failed) == (bursts * MOST_HELD + 3, 0)


def test_all_are_measured_where_somebody_wants_all(
    opencl: OpenCLBackend, brief: OpenCLRepeated
) -> None:
    kept = brief.keep(nothing)
    run(brief, 1000)
    assert counts(kept, opencl) == (1000, 0, 0)


def test_the_first_runs_are_measured(opencl: OpenCLBackend, brief: OpenCLRepeated) -> None:
    kept = some_of(brief)
    run(brief, MEASURED_FIRST)
    assert counts(kept, opencl) == (MEASURED_FIRST, 0, 0)


def test_runs_that_take_long_are_measured(opencl: OpenCLBackend, brief: OpenCLRepeated) -> None:
    brief.most = 1
    kept = some_of(brief)
    for _ in range(300):
        run(brief, 1)
        brief.most = 1  # whatever it was seen to take
    assert counts(kept, opencl) == (300, 0, 0)


def test_runs_of_small_bursts_are_measured(opencl: OpenCLBackend, brief: OpenCLRepeated) -> None:
    kept = some_of(brief)
    for _ in range(30):
        run(brief, LARGE_BURST - 1)
        opencl.flush()
    assert counts(kept, opencl) == (30 * (LARGE_BURST - 1), 0, 0)


def test_runs_that_are_for_something_else_are_measured(
    opencl: OpenCLBackend, brief: OpenCLRepeated
) -> None:
    kept = some_of(brief)
    run(brief, 10 * MOST_HELD + 7)
    first = brief.runs_begun()
    brief.keep_next("behind")
    run(brief, 5 * MOST_HELD)
    opencl.flush()
    kept.wait()
    numbers, _, _, unmeasured = kept.take()[:4]
    assert first == 10 * MOST_HELD + 7
    alone = set(numbers[unmeasured == 0].tolist())
    assert set(range(first, first + MEASURED_FIRST)) <= alone
    for number, left_out in zip(numbers.tolist(), unmeasured.tolist(), strict=True):
        assert not number < first < number + left_out
    assert sum(max(one, 1) for one in unmeasured.tolist()) == first + 5 * MOST_HELD


def test_what_is_not_measured_is_like_what_is_measured_next(
    opencl: OpenCLBackend, brief: OpenCLRepeated
) -> None:
    kept = some_of(brief)
    run(brief, (3 * (UNMEASURED_SHARE + 1) - 1) * MOST_HELD)
    opencl.flush()
    kept.wait()
    profiles = [event.profile for event in kept.events if event is not None]
    queued = [(one.start - one.queued) * 1e-9 for one in profiles]
    took = [(one.end - one.start) * 1e-9 for one in profiles]
    _, delays, seconds, unmeasured = kept.take()[:4]
    before = stretches = 0
    for delay, second, left_out in zip(delays, seconds, unmeasured, strict=True):
        if not left_out:
            before += 1
            continue
        stretches += 1
        behind = slice(before, before + NEAR)
        near = behind if before < len(profiles) else slice(before - NEAR, before)
        assert delay == pytest.approx(np.mean(queued[near]))
        assert second == pytest.approx(np.mean(took[near]))
    assert (before, stretches) == (len(profiles), 3)


def test_it_makes_no_difference_how_often_runs_are_taken(
    opencl: OpenCLBackend, brief: OpenCLRepeated
) -> None:
    kept = some_of(brief)
    measured = total = 0
    for _ in range(40):
        run(brief, 50)
        measured_now, unmeasured, failed = counts(kept, opencl)
        measured += measured_now
        total += measured_now + unmeasured
        assert failed == 0
    assert total == brief.runs_begun() == 2000
    assert measured < 400


def test_numbers_go_on_behind_what_was_left_out(
    opencl: OpenCLBackend, brief: OpenCLRepeated
) -> None:
    kept = some_of(brief)
    expected = 0
    for _ in range(10):
        run(brief, 100)
        opencl.flush()
        kept.wait()
        numbers, _, _, unmeasured = kept.take()[:4]
        for number, left_out in zip(numbers.tolist(), unmeasured.tolist(), strict=True):
            assert number == expected
            expected += max(left_out, 1)
    assert expected == 1000


def test_what_was_refused_is_counted(opencl: OpenCLBackend, brief: OpenCLRepeated) -> None:
    kept = some_of(brief)
    run(brief, 500)
    opencl.flush()
    opencl.free(next(iter(brief.prepared.memories.values())))
    run(brief, 9)
    measured, unmeasured, failed = counts(kept, opencl)
    assert (measured + unmeasured, failed) == (509, 9)


def test_a_burst_has_failed_if_its_last_run_has(
    opencl: OpenCLBackend, brief: OpenCLRepeated, gate: Gate
) -> None:
    turns, last = repeat(None, 1000), [brief.event]
    kept = OpenCLRuns(nothing, turns, RLock(), lambda: last[-1])
    for left_out in (3, 5):
        next(turns)
        kept.fresh.append(brief.event)
        kept.note_burst()
        for _ in range(left_out):
            next(turns)
        if left_out == 5:
            last.append(gate.user)  # PoCL aborts where a run fails whose event nobody has
        kept.note_burst()
    assert not kept.is_empty
    gate.fail()
    assert counts(kept, opencl) == (2, 3 + 5, 5)


def test_events_of_launches_that_are_many_are_let_go(
    opencl: OpenCLBackend, brief: OpenCLRepeated
) -> None:
    """Each has one run in a burst, which is rarely measured."""
    launches = [begun(brief.prepared, opencl) for _ in range(MOST_HELD)]
    kept = [some_of(one) for one in launches]
    for _ in range(MEASURED_FIRST + 5 * (UNMEASURED_SHARE + 1)):
        for one in launches:
            run(one, 1)
    opencl.flush()
    for one in kept:
        one.wait()
        _, _, _, unmeasured = one.take()[:4]
        assert unmeasured.tolist().count(0) == MEASURED_FIRST + 5
        assert unmeasured[unmeasured > 0].tolist() == [UNMEASURED_SHARE] * 5


def test_runs_are_complete_when_the_launch_is_gone(
    opencl: OpenCLBackend, brief: OpenCLRepeated
) -> None:
    launch = begun(brief.prepared, opencl)
    kept = some_of(launch)
    run(launch, 500)
    del launch
    measured, unmeasured, failed = counts(kept, opencl)
    assert (measured + unmeasured, failed) == (500, 0)
    gc.collect()  # it comes after itself
    opencl.burst.unnoted = 0
    brief.run(())
    opencl.flush()
    assert opencl.burst.kept == set()


def test_runs_are_noted_in_time_after_an_interrupt(
    opencl: OpenCLBackend, brief: OpenCLRepeated, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise their events would pile up until somebody reads."""
    kept = brief.keep(nothing)
    interrupt_once(monkeypatch, OpenCLRuns, "note_burst", behind=False)
    with pytest.raises(KeyboardInterrupt):
        run(brief, 2 * MOST_HELD)
    begun_before = brief.runs_begun()
    run(brief, 20 * MOST_HELD)
    assert len(kept.fresh) <= 2 * MOST_HELD
    assert counts(kept, opencl) == (begun_before + 20 * MOST_HELD, 0, 0)

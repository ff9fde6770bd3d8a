"""Runs that are kept: in order, let go when they are over, and by nobody else's hand."""

import numpy as np
import pytest
from tests.backend.opencl_running import Gate, scaling, upload
from tests.runtime.devices import Timed

from trilby.backend import kept as kept_module
from trilby.backend.kept import KeptEvents, KeptRuns
from trilby.backend.opencl_bursts import OpenCLRepeated
from trilby.backend.opencl_device import OpenCLBackend


def nothing() -> None:
    """Nobody reads when it is full."""


def times(kept: KeptRuns) -> list[tuple[int, float | None, float | None]]:
    """Number, delay and seconds of what can be taken; None for those that failed."""
    columns = [column.tolist() for column in kept.take()]
    return [tuple(None if one != one else one for one in row) for row in zip(*columns, strict=True)]  # noqa: PLR0124  # pyright: ignore[reportReturnType] -- only NaN is not itself


def test_runs_are_let_go_in_order_as_far_as_they_are_over() -> None:
    kept = KeptEvents(nothing)
    late = Timed((1.0, 2.0), done=False)
    for event in (Timed((0.5, 3.0), done=True), None, late, Timed((0.0, 4.0), done=True)):
        kept.put(event)
    assert times(kept) == [(0, 0.5, 3.0), (1, None, None)]
    assert times(kept) == []
    assert not kept.is_empty
    kept.wait()
    assert late.done
    assert times(kept) == [(2, 1.0, 2.0), (3, 0.0, 4.0)]
    assert kept.is_empty
    assert (kept.total, kept.taken) == (4, 4)


def test_a_failure_is_told_to_nobody_who_only_measures() -> None:
    kept = KeptEvents(nothing)
    kept.put(Timed(None, done=False))
    kept.wait()
    assert times(kept) == [(0, None, None)]


def test_too_many_runs_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_module, "ROOM", 3)
    monkeypatch.setattr(kept_module, "MOST_READ", 7)
    taken: list[int] = []
    kept = KeptEvents(lambda: taken.append(len(times(kept))))
    left: list[int] = []
    for _ in range(9):
        kept.put(Timed((0.0, 1.0), done=True))
        left.append(len(kept.events))
    assert left == [1, 2, 3, 0, 1, 2, 3, 0, 1]  # the events; what they said waits
    assert taken == [8]
    assert kept.total == 9


def test_more_room_is_made_where_nothing_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_module, "ROOM", 2)
    asked: list[int] = []

    class Counted(KeptEvents):
        __slots__ = ()

        def _read(self) -> None:
            asked.append(len(self.events))
            super()._read()

    kept = Counted(nothing)
    for _ in range(20):
        kept.put(Timed((0.0, 1.0), done=False))
    assert asked == [3, 7, 15]
    assert len(kept.events) == 20


def repeated(backend: OpenCLBackend) -> OpenCLRepeated:
    memory = upload(backend, np.ones(64, np.int32))
    launch = backend.repeated(scaling(backend, memory, 1))
    assert isinstance(launch, OpenCLRepeated)
    return launch


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
    numbers, delays, seconds = kept.take()
    assert numbers.tolist() == list(range(100))
    assert np.all(delays >= 0)
    assert np.all(seconds > 0)
    launch.keep_no_more()
    launch.run(())
    opencl.flush()
    assert kept.total == 100
    assert launch.runs_begun() == 0


def test_runs_that_are_held_back_are_counted(opencl: OpenCLBackend) -> None:
    launch = repeated(opencl)
    launch.prepared.seconds = 1e-9  # it was seen to be brief
    launch = OpenCLRepeated(launch.prepared, opencl.burst)
    kept = launch.keep(nothing)
    for _ in range(3):
        launch.run(())
    assert (kept.total, launch.runs_begun()) == (0, 3)
    opencl.flush()
    assert (kept.total, launch.runs_begun()) == (3, 3)


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
    assert times(kept) == [(0, None, None), (1, None, None)]


def test_what_is_read_at_once_is_what_each_event_says(opencl: OpenCLBackend) -> None:
    launch = repeated(opencl)
    kept = launch.keep(nothing)
    for _ in range(50):
        launch.run(())
    opencl.flush()
    kept.wait()
    profiles = [event.profile for event in kept.events if event is not None]
    numbers, delays, seconds = kept.take()
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
    _, delays, seconds = kept.take()
    assert np.isnan(seconds).tolist() == [False, True, False]
    assert np.isnan(delays).tolist() == [False, True, False]

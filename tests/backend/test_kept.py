"""Runs that are kept: in order, let go when they are over, and by nobody else's hand."""

import numpy as np
import pytest
from tests.backend.opencl_running import Gate, scaling, upload
from tests.runtime.devices import Timed

from trilby.backend import kept as kept_module
from trilby.backend.kept import KeptEvents
from trilby.backend.opencl_bursts import OpenCLRepeated
from trilby.backend.opencl_device import OpenCLBackend


def nothing() -> None:
    """Nobody reads when it is full."""


def test_runs_are_let_go_in_order_as_far_as_they_are_over() -> None:
    kept = KeptEvents(nothing)
    late = Timed((1.0, 2.0), done=False)
    for event in (Timed((0.5, 3.0), done=True), None, late, Timed((0.0, 4.0), done=True)):
        kept.put(event)
    assert kept.take() == [(0.5, 3.0), None]
    assert kept.take() == []
    kept.wait()
    assert late.done
    assert kept.take() == [(1.0, 2.0), (0.0, 4.0)]
    assert (kept.total, kept.taken) == (4, 4)


def test_a_failure_is_told_to_nobody_who_only_measures() -> None:
    kept = KeptEvents(nothing)
    kept.put(Timed(None, done=False))
    kept.wait()
    assert kept.take() == [None]


def test_too_many_runs_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_module, "ROOM", 3)
    read: list[int] = []
    kept = KeptEvents(lambda: read.append(len(kept.take())))
    for _ in range(9):
        kept.put(Timed((0.0, 1.0), done=True))
    assert read == [4, 4]
    assert kept.total == 9


def test_more_room_is_made_where_nothing_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_module, "ROOM", 2)
    asked: list[int] = []
    kept = KeptEvents(lambda: asked.append(len(kept.take())))
    for _ in range(20):
        kept.put(Timed((0.0, 1.0), done=False))
    assert asked == [0, 0, 0]  # with 3, 7 and 15 of them
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
    times = kept.take()
    assert len(times) == 100
    assert all(one is not None and one[0] >= 0 and one[1] > 0 for one in times)
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
    assert kept.take() == [None, None]

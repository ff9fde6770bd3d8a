"""Times that somebody asks for later than the queue remembers them."""

import gc
from typing import Any

import numpy as np
from tests.backend.native.running import REFUSE, Gate, scale, scaling, upload

from trilby.backend.base import Scalar
from trilby.backend.native import NativeBackend
from trilby.backend.native.engine import RING
from trilby.backend.native.repeated import NativeRepeated
from trilby.data.dtypes import I32
from trilby.data.ndrange import NDRange


def nothing() -> None:
    """Nobody reads when it is full."""


def repeated(backend: NativeBackend) -> NativeRepeated:
    launch = backend.repeated(scaling(backend, upload(backend, np.ones(64, np.int32)), 1))
    assert isinstance(launch, NativeRepeated)
    return launch


def test_all_runs_are_kept_however_many(native: NativeBackend) -> None:
    first, second = repeated(native), repeated(native)
    first.run(())
    kept = [one.keep(nothing) for one in (first, second)]
    for turn in range(3 * RING):
        first.run(())
        if turn % 3 == 0:
            second.run(())
    assert [one.runs_begun() for one in (first, second)] == [3 * RING, RING]
    native.flush()
    for one, expected in zip(kept, (3 * RING, RING), strict=True):
        one.wait()
        times = one.take()
        assert len(times) == expected
        assert all(one is not None and one[1] > 0 for one in times)
        assert (one.total, one.taken) == (expected, expected)


def test_runs_before_and_after_do_not_count(native: NativeBackend) -> None:
    launch = repeated(native)
    for _ in range(5):
        launch.run(())
    kept = launch.keep(nothing)
    for _ in range(7):
        launch.run(())
    launch.keep_no_more()
    for _ in range(9):
        launch.run(())
    assert launch.runs_begun() == 0
    native.flush()
    kept.wait()
    assert len(kept.take()) == 7
    assert kept.take() == []


def test_runs_with_changing_numbers_are_kept(native: NativeBackend) -> None:
    launch = repeated(native)
    kept = launch.keep(nothing)
    for turn in range(100):
        launch.replace(1, Scalar(I32, turn))
        launch.run(())
    native.flush()
    kept.wait()
    assert len(kept.take()) == 100


def test_what_is_not_over_is_not_taken(native: NativeBackend) -> None:
    launch = repeated(native)
    kept = launch.keep(nothing)
    gate = Gate.on(native)
    launch.run(())
    native.flush()
    found = kept.total, kept.take()
    gate.open()
    assert found == (1, [])
    kept.wait()
    assert len(kept.take()) == 1


def test_events_keep_their_times_if_somebody_wants_them(native: NativeBackend) -> None:
    memory = upload(native, np.ones(64, np.int32))
    wanted, other = (scale(native, memory, 1) for _ in range(2))
    wanted.keep_times()
    for _ in range(RING + 10):
        scale(native, memory, 1)
    wanted.wait()
    assert wanted.seconds > 0
    assert wanted.times == (0.0, wanted.seconds)
    assert other.seconds == 0.0


def test_nothing_is_remembered_when_nobody_asks_any_more(native: NativeBackend) -> None:
    memory = upload(native, np.ones(64, np.int32))
    launch = repeated(native)
    kept = launch.keep(nothing)
    scale(native, memory, 1).keep_times()
    launch.run(())
    launch.keep_no_more()
    del kept
    gc.collect()
    for _ in range(RING + 100):
        scale(native, memory, 1)
    engine: Any = native.engine
    assert engine._recall is None


def test_an_assertion_that_failed_has_no_times(native: NativeBackend) -> None:
    kernel = native.build(REFUSE, 1)
    memories = [upload(native, np.array([number], np.int32)) for number in (-1, 1)]
    bad, good = (native.run(native.prepare(kernel, NDRange(1), [one])) for one in memories)
    good.wait()
    assert bad.times is None
    assert good.times is not None

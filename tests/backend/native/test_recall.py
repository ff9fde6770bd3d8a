"""Times that somebody asks for later than the queue remembers them."""

import gc
from typing import Any

import numpy as np
import pytest
from tests.backend.native.running import REFUSE, Gate, scale, scaling, upload

from trilby.backend.base import Scalar
from trilby.backend.native import NativeBackend, recall
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
    before = native.engine.submitted
    for turn in range(3 * RING):
        first.run(())
        if turn % 3 == 0:
            second.run(())
    native.flush()
    found: list[int] = []
    for one, expected in zip(kept, (3 * RING, RING), strict=True):
        one.wait()
        assert not one.is_empty
        taken = one.take()
        assert len(taken.numbers) == expected
        assert np.all(taken.seconds > 0)
        assert np.all(taken.delays == 0)
        assert np.all(np.diff(taken.numbers) > 0)
        assert one.is_empty
        found += taken.numbers.tolist()
    assert sorted(found) == list(range(before + 1, before + 4 * RING + 1))


@pytest.mark.parametrize("step", ["read", "_tell_events"])
def test_ctrl_c_while_they_are_read_loses_none(
    native: NativeBackend, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Neither those that were about to be read, nor those that come much later."""
    launches = [repeated(native) for _ in range(3)]
    kept = [launch.keep(nothing) for launch in launches]
    is_pressed: list[bool] = []
    as_ever: Any = getattr(recall.Recall, step)

    def press_once(*args: object) -> None:
        if not is_pressed:
            is_pressed.append(True)
            raise KeyboardInterrupt
        as_ever(*args)

    monkeypatch.setattr(recall.Recall, step, press_once)
    interrupted = 0
    for launch in launches:
        for _ in range(RING):
            try:
                launch.run(())
            except KeyboardInterrupt:
                interrupted += 1
    native.flush()
    assert interrupted == 1
    for one in kept:
        one.wait()
        numbers = one.take().numbers
        assert len(numbers) == len(set(numbers)) == RING


def test_a_number_stands_between_the_runs_before_and_after(native: NativeBackend) -> None:
    launch = repeated(native)
    kept = launch.keep(nothing)
    for _ in range(7):
        launch.run(())
    between = launch.runs_begun()
    for _ in range(5):
        launch.run(())
    native.flush()
    kept.wait()
    numbers = kept.take().numbers
    assert (np.sum(numbers < between), np.sum(numbers >= between)) == (7, 5)


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
    assert len(kept.take().numbers) == 7
    assert len(kept.take().numbers) == 0


def test_runs_are_for_those_who_want_to_know_at_the_time(native: NativeBackend) -> None:
    launch = repeated(native)
    gate = Gate.on(native)  # nothing is read before all were begun
    kept = [launch.keep(nothing)]
    launch.run(())
    kept.append(launch.keep(nothing))
    for _ in range(2):
        launch.run(())
    kept.append(launch.keep(nothing))
    for _ in range(3):
        launch.run(())
    native.flush()
    gate.open()
    for one in kept:
        one.wait()
    assert [len(one.take().numbers) for one in kept] == [1, 2, 3]


def test_runs_with_changing_numbers_are_kept(native: NativeBackend) -> None:
    launch, other = repeated(native), repeated(native)
    kept, kept_too = launch.keep(nothing), other.keep(nothing)
    for turn in range(100):
        launch.replace(1, Scalar(I32, turn))
        launch.run(())
        if turn % 2:
            other.replace(1, Scalar(I32, turn))
            other.run(())
    native.flush()
    kept.wait()
    kept_too.wait()
    assert len(kept.take().numbers) == 100
    assert len(kept_too.take().numbers) == 50


def test_runs_with_changing_numbers_are_kept_where_the_queue_begins_again(
    native: NativeBackend,
) -> None:
    launch = repeated(native)
    while native.engine.submitted % RING != RING - 20:
        launch.run(())
        native.flush()
    kept = launch.keep(nothing)
    gate = Gate.on(native)  # all of them are read together
    for turn in range(50):
        launch.replace(1, Scalar(I32, turn))
        launch.run(())
    native.flush()
    gate.open()
    kept.wait()
    assert len(kept.take().numbers) == 50


def test_records_at_the_place_of_others_are_not_taken_for_them(native: NativeBackend) -> None:
    """Records of copies come and go, and those of the launch take their places."""
    launch = repeated(native)
    kept = launch.keep(nothing)
    numbers = np.ones(64, np.int32)
    memory = native.allocate(numbers.nbytes)
    for turn in range(200):
        for _ in range(3):
            native.upload(memory, 0, numbers.data.cast("B")).wait()
        launch.replace(1, Scalar(I32, turn))
        launch.run(())
    native.flush()
    kept.wait()
    assert len(kept.take().numbers) == 200


def test_what_is_not_over_is_not_taken(native: NativeBackend) -> None:
    launch = repeated(native)
    kept = launch.keep(nothing)
    gate = Gate.on(native)
    launch.run(())
    native.flush()
    found = kept.is_empty, len(kept.take().numbers)
    gate.open()
    assert found == (False, 0)
    kept.wait()
    assert len(kept.take().numbers) == 1


def test_somebody_is_told_when_many_runs_were_read(
    native: NativeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall, "MOST_READ", 10)
    taken: list[int] = []
    launch = repeated(native)
    kept = launch.keep(lambda: taken.append(len(kept.take().numbers)))
    for _ in range(3 * RING):
        launch.run(())
    assert sum(taken) > RING
    native.flush()
    kept.wait()
    rest = len(kept.take().numbers)
    assert sum(taken) + rest == 3 * RING


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
    assert engine._asked is None


def test_an_assertion_that_failed_has_no_times(native: NativeBackend) -> None:
    kernel = native.build(REFUSE, 1)
    memories = [upload(native, np.array([number], np.int32)) for number in (-1, 1)]
    bad, good = (native.run(native.prepare(kernel, NDRange(1), [one])) for one in memories)
    good.wait()
    assert bad.times is None
    assert good.times is not None

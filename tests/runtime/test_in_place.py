"""Launches again on buffers that the host has looked at or written to since the last time."""

import gc
import weakref
from functools import partialmethod
from typing import Any

import numpy as np
import pytest
from tests.runtime.conftest import Nulls, with_backend
from tests.runtime.devices import Deferred, Watched
from tests.runtime.interrupting import interrupt_once
from tests.runtime.programs import add, add_to, copy, dispatch, number, plus_one, take

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, S32Array, i32
from trilby.data.ranges import Ranges
from trilby.errors import DeviceError, ReleasedError
from trilby.runtime.content import Content
from trilby.runtime.launches import Launches
from trilby.runtime.watch import watched


@tb.compute
def add_one(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, add, a, 1)


def preparations(null: Nulls) -> int:
    """How many launches did not take the short way."""
    return null.backend.counts["preparations"]


# ----------------------------------------------------------------------- what is in place


def test_a_look_at_the_result_changes_nothing_for_the_next_launch(null: Nulls) -> None:
    a = S32Array.of(range(8))
    for _ in range(5):
        null.accelerator.compute(dispatch, 8, add, a, 1)
        a.array.tolist()
    assert (preparations(null), null.backend.counts["launches"]) == (1, 5)


def test_what_the_host_wrote_comes_before_the_launch(null: Nulls) -> None:
    a = S32Array.of(range(8))
    for turn in range(4):
        a.array[:] = turn
        null.accelerator.compute(add_one, a)
    assert (preparations(null), null.backend.counts["launches"]) == (1, 4)


def test_nothing_is_looked_for_where_there_is_one_memory(
    shared: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No bytes are compared on a device that works on the host's memory, and no reason is made."""
    looks: list[str] = []
    for what in ("fetch", "copy", "writer_of"):
        monkeypatch.setattr(Content, what, partialmethod(_look, looks, what))
    a, b = S32Array.of(range(8)), S32Array.create(length=8)
    for turn in range(3):
        shared.compute(dispatch, 8, copy, a, b)
        a.array[0] = turn
    shared.wait()
    assert looks == []
    monkeypatch.undo()
    assert b.array.tolist() == [1, 1, 2, 3, 4, 5, 6, 7]


def _look(_content: Content, looks: list[str], what: str, *_given: object) -> None:
    looks.append(what)


def test_what_was_lost_elsewhere_is_not_computed_with() -> None:
    accelerator, a = Accelerator("native"), S32Array.of(range(4))
    accelerator.compute(dispatch, 4, add, a, 1)
    content = watched(a.segment).content
    content.changed()
    content.host = Ranges.EMPTY  # as after a copy from another device that failed
    with pytest.raises(AssertionError, match="is current nowhere"):
        accelerator.compute(dispatch, 4, add, a, 1)
    content.changed()
    content.host = content.whole


def test_each_side_sees_what_the_other_did(accelerator: Accelerator) -> None:
    a, b = S32Array.of(range(8)), S32Array.create(length=8)
    expected = np.arange(8)
    for turn in range(6):
        accelerator.compute(dispatch, 8, add, a, turn)
        accelerator.compute(dispatch, 8, copy, a, b)
        expected += turn
        assert b.array.tolist() == expected.tolist()
        if turn % 2:
            a.array[turn] = -turn
            expected[turn] = -turn
            assert a.array.tolist() == expected.tolist()


def test_the_host_loses_what_a_launch_in_place_writes(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    discrete.compute(dispatch, 8, add, a, 1)
    a.array.tolist()
    discrete.compute(dispatch, 8, add, a, 1)
    with discrete.record() as ledger:
        assert a.array.tolist() == [i + 2 for i in range(8)]
    (copied,) = ledger.copies
    assert (copied.direction, copied.nbytes) == ("down", 32)
    assert "add wrote it" in copied.cause


def test_a_launch_in_place_that_only_reads_is_not_the_writer(discrete: Accelerator) -> None:
    a, b, c = S32Array.of(range(8)), S32Array.create(length=8), S32Array.create(length=4)
    discrete.compute(dispatch, 8, copy, a, b)
    discrete.compute(dispatch, 4, number, a)
    a.array[4:] = 7
    discrete.compute(dispatch, 4, take, a, 4, c)  # the last thing that writes there is a copy
    discrete.compute(dispatch, 8, copy, a, b)
    with discrete.record() as ledger:
        assert a.array[:4].tolist() == [100, 101, 102, 103]
    (copied,) = ledger.copies
    assert "; number wrote it" in copied.cause
    assert b.array.tolist() == [100, 101, 102, 103, 7, 7, 7, 7]


def test_another_device_loses_what_a_launch_in_place_writes() -> None:
    with (
        Accelerator("interpreter", poison=True) as one,
        Accelerator("native", memory="discrete", poison=True) as other,
    ):
        a = S32Array.of(range(8))
        for turn in range(1, 5):
            one.compute(dispatch, 8, add, a, 1)
            other.compute(dispatch, 8, add, a, 10)
            assert a.array.tolist() == [i + 11 * turn for i in range(8)]


def test_two_devices_on_the_same_memory() -> None:
    with (
        Accelerator("native", memory="shared") as one,
        Accelerator("opencl", memory="shared") as other,
    ):
        a = S32Array.of(range(4096))
        for turn in range(1, 9):
            one.compute(dispatch, 4096, add, a, 1)
            other.compute(dispatch, 4096, add, a, 10)
            one.compute(dispatch, 4096, add, a, 1)
            assert int(a.array[7]) == 7 + 12 * turn


def test_memory_that_is_shared_here_and_copied_there() -> None:
    with (
        Accelerator("native", memory="shared", poison=True) as here,
        Accelerator("opencl", memory="discrete", poison=True) as there,
    ):
        a = S32Array.of(range(4096))
        for turn in range(1, 9):
            here.compute(dispatch, 4096, add, a, 1)
            there.compute(dispatch, 4096, add, a, 10)
            here.compute(dispatch, 4096, add, a, 1)
            assert int(a.array[7]) == 7 + 12 * turn


# -------------------------------------------------------------------- what is not in place


def test_what_a_raw_view_shows_is_looked_at_each_time(accelerator: Accelerator) -> None:
    a = NDArray[float](np.zeros(8, np.float32))
    b = NDArray[float](np.zeros(8, np.float32))
    for turn in range(4):
        accelerator.compute(dispatch, 8, plus_one, a, b)
        view = a.raw()
        view[:] = turn
        accelerator.compute(dispatch, 8, plus_one, a, b)
        assert b.tolist() == [turn + 1.0] * 8
        view[:] = -turn
        del view
        accelerator.compute(dispatch, 8, plus_one, a, b)
        assert b.tolist() == [1.0 - turn] * 8


def test_a_buffer_that_was_released_is_refused(accelerator: Accelerator) -> None:
    memory = np.zeros(8, np.float32)
    b = NDArray[float](np.zeros(8, np.float32))
    one, other = NDArray[float](memory), NDArray[float](memory)
    for _ in range(3):
        accelerator.compute(dispatch, 8, plus_one, one, b)
        accelerator.compute(dispatch, 8, plus_one, other, b)
    one.release()  # the other has the same memory, which stays on the device
    with pytest.raises(ReleasedError):
        accelerator.compute(dispatch, 8, plus_one, one, b)
    accelerator.compute(dispatch, 8, plus_one, other, b)
    assert b.tolist() == [1.0] * 8


def test_memory_that_gets_a_second_name(accelerator: Accelerator) -> None:
    memory = np.zeros(64, np.float32)
    a, b = NDArray[float](memory[:8]), NDArray[float](np.zeros(8, np.float32))
    for _ in range(3):
        accelerator.compute(dispatch, 8, plus_one, a, b)
    whole = NDArray[float](memory)
    c = NDArray[float](np.full(64, 4.0, np.float32))
    accelerator.compute(dispatch, 64, plus_one, c, whole)
    accelerator.compute(dispatch, 8, plus_one, a, b)
    assert b.tolist() == [6.0] * 8
    accelerator.compute(dispatch, 8, plus_one, b, a)
    assert whole.tolist() == [7.0] * 8 + [5.0] * 56


# ---------------------------------------------------------------------- what goes wrong


def test_a_launch_in_place_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Watched()
    accelerator = with_backend(monkeypatch, backend, poison=True)
    a = S32Array.of(range(4))
    for _ in range(2):
        accelerator.compute(dispatch, 4, add, a, 1)
    assert a.array.tolist() == [2, 3, 4, 5]
    backend.fail_at = "run"
    with pytest.raises(DeviceError, match="run failed"):
        accelerator.compute(dispatch, 4, add, a, 1)
    backend.fail_at = ""
    assert a.array.tolist() == [2, 3, 4, 5]
    accelerator.compute(dispatch, 4, add, a, 1)
    assert a.array.tolist() == [3, 4, 5, 6]


def test_a_launch_in_place_that_overwrites_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Deferred()
    accelerator = with_backend(monkeypatch, backend)
    a = S32Array.of(range(4))
    accelerator.compute(dispatch, 4, number, a)
    assert a.array.tolist() == [100, 101, 102, 103]
    accelerator.compute(dispatch, 4, add, a, 1)
    backend.started("run")[-1].fail()
    with pytest.raises(DeviceError):
        a.array.tolist()
    accelerator.compute(dispatch, 4, number, a)
    assert a.array.tolist() == [100, 101, 102, 103]


@pytest.mark.parametrize(
    ("owner", "where", "runs"),
    [
        (Launches, "_run", False),
        (Launches, "_run", True),
        (Content, "touch", False),
        (Content, "touch", True),
    ],
)
def test_an_interrupt_of_a_launch_in_place(
    owner: type,
    where: str,
    runs: bool,  # noqa: FBT001 -- one case
    discrete: Accelerator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a = S32Array.of(range(8))
    for _ in range(2):
        discrete.compute(dispatch, 8, add, a, 1)
    assert a.array.tolist() == [i + 2 for i in range(8)]  # host and device have it
    interrupt_once(monkeypatch, owner, where, behind=runs)
    with pytest.raises(KeyboardInterrupt):
        discrete.compute(dispatch, 8, add, a, 100)
    monkeypatch.undo()
    found = int(a.array[0])
    assert found in {2, 102}
    assert a.array.tolist() == [i + found for i in range(8)]
    discrete.compute(dispatch, 8, add, a, 1000)
    assert a.array.tolist() == [i + found + 1000 for i in range(8)]


def test_an_interrupt_behind_a_launch_in_place_is_no_half_of_it(
    discrete: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    for _ in range(2):
        discrete.compute(dispatch, 8, add_to_both, a, b, 1)
    assert a.array.tolist() == [i + 2 for i in range(8)]  # what is in `b` only the device has

    def interrupted(*_: Any) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(Content, "touch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        discrete.compute(dispatch, 8, add_to_both, a, b, 100)
    assert a.array.tolist() == b.array.tolist() == [i + 102 for i in range(8)]


@tb.kernel
def add_to_both(kc: KernelContext, a: S32Array, b: S32Array, n: i32) -> None:
    a.array[kc.x] += n
    b.array[kc.x] += n


# ------------------------------------------------------------------------ what is kept


def test_memory_goes_with_the_arrays_on_it(accelerator: Accelerator) -> None:
    other = NDArray[float](np.zeros(8, np.float32))
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            left = used_and_left(accelerator, other)
            accelerator.compute(dispatch, 8, plus_one, other, other)
            assert other.tolist()
            assert left() is None
    finally:
        gc.enable()


def used_and_left(accelerator: Accelerator, other: "NDArray[float]") -> "weakref.ref[Any]":
    """The memory of an array that was used in several launches, and is gone."""
    memory = np.zeros(8, np.float32)
    a, b = NDArray[float](memory), NDArray[float](np.zeros(8, np.float32))
    for one, to in ((a, b), (b, a), (a, other), (other, a)) * 3:
        accelerator.compute(dispatch, 8, plus_one, one, to)
    assert a.tolist() == [float(other[0]) + 1.0] * 8
    return weakref.ref(memory)


def test_launches_that_follow_one_that_is_gone(accelerator: Accelerator) -> None:
    a, b = S32Array.of(range(4)), S32Array.of(range(4))
    for _ in range(4):
        accelerator.compute(dispatch, 4, add, a, 1)
        accelerator.compute(dispatch, 4, add_to, b, a)
        accelerator.compute(dispatch, 4, add, a, 1)
    del b
    for _ in range(4):
        accelerator.compute(dispatch, 4, add, a, 1)
    assert a.array.tolist() == [i + 12 for i in range(4)]

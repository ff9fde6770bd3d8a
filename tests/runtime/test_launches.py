"""The short way for a launch that was made before, and all that must not take it."""

import numpy as np
import pytest
from tests.runtime.conftest import Nulls, with_backend
from tests.runtime.devices import Deferred, Watched
from tests.runtime.programs import (
    add,
    add_to,
    copy,
    dispatch,
    fail_in_the_middle,
    number,
    plus_one,
    scale,
    take,
)

import trilby as tb
from trilby import Accelerator, ComputeContext, F32Array, KernelContext, NDArray, S32Array, i32
from trilby.data.ndrange import NDRange
from trilby.errors import ArgumentTypeError, ArgumentValueError, DeviceError, RangeError


def preparations(null: Nulls) -> int:
    """How many launches did not take the short way."""
    return null.backend.counts["preparations"]


@tb.compute
def add_many(cc: ComputeContext, a: S32Array, numbers: list[int]) -> None:
    for n in numbers:
        cc.dispatch(a.length, add, a, n)


def test_a_launch_is_prepared_once(null: Nulls) -> None:
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    for _ in range(5):
        null.accelerator.compute(dispatch, 8, add_to, a, b)
        null.accelerator.compute(dispatch, 8, add_to, b, a)
    counts = null.backend.counts
    # the second makes `b` stale on the host, but the first still finds it on the device
    assert (counts["preparations"], counts["launches"]) == (2, 10)


def test_numbers_may_change(accelerator: Accelerator) -> None:
    a = S32Array.of(range(4))
    accelerator.compute(add_many, a, [1, 10, 10, 1000, 7, 1])  # the first one comes again
    assert a.array.tolist() == [i + 1029 for i in range(4)]
    f = F32Array.of([1.0, 2.0])
    for factor in (2, 0.5, np.float32(4), True):
        if factor is True:
            continue
        accelerator.compute(dispatch, 2, scale, f, factor)
    assert f.array.tolist() == [4.0, 8.0]


def test_numbers_that_change_are_checked(accelerator: Accelerator) -> None:
    a = S32Array.of(range(4))
    accelerator.compute(dispatch, 4, add, a, 1)
    accelerator.compute(dispatch, 4, add, a, 1)
    with pytest.raises(ArgumentValueError, match="does not fit") as caught:
        accelerator.compute(dispatch, 4, add, a, 2**40)
    assert caught.value.location is not None
    with pytest.raises(ArgumentTypeError, match="pass a whole number"):
        accelerator.compute(dispatch, 4, add, a, 1.5)
    with pytest.raises(ArgumentTypeError):
        accelerator.compute(dispatch, 4, add, a)
    with pytest.raises(ArgumentTypeError):
        accelerator.compute(dispatch, 4, add, a, 1, 1)
    assert a.array.tolist() == [2, 3, 4, 5]


def test_an_argument_that_is_missing_is_told(accelerator: Accelerator) -> None:
    a, b = S32Array.of(range(4)), S32Array.of(range(4))
    for _ in range(4):
        accelerator.compute(dispatch, 4, add_to, a, b)
    with pytest.raises(ArgumentTypeError, match="missing a required argument"):
        accelerator.compute(dispatch, 4, add_to, a)
    with pytest.raises(ArgumentTypeError, match="too many positional arguments"):
        accelerator.compute(dispatch, 4, add_to, a, b, b)
    assert a.array.tolist() == [5 * i for i in range(4)]


def test_a_number_that_decides_what_is_touched_is_no_short_way(discrete: Accelerator) -> None:
    a, out = S32Array.of(range(64)), S32Array.create(length=4)
    for start in (0, 0, 8, 60, 8):
        discrete.compute(dispatch, 4, take, a, start, out)
        assert out.array.tolist() == list(range(start, start + 4))
    a.array[20:24] = -1
    discrete.compute(dispatch, 4, take, a, 8, out)
    discrete.compute(dispatch, 4, take, a, 20, out)
    assert out.array.tolist() == [-1] * 4


def test_another_range_is_another_launch(accelerator: Accelerator) -> None:
    a = S32Array.create(length=8)
    for size in (8, 4, 8, (2, 1), NDRange(4), NDRange(8, local=2), 4):
        accelerator.compute(dispatch, size, add, a, 1)
    assert a.array.tolist() == [7, 7, 6, 6, 3, 3, 3, 3]


@pytest.mark.parametrize("size", [8.0, True, "8", (8.0,), None, -8])
def test_a_range_that_only_equals_a_good_one_is_refused(
    accelerator: Accelerator, size: object
) -> None:
    a = S32Array.create(length=8)
    for _ in range(2):
        accelerator.compute(dispatch, 8, add, a, 1)
        accelerator.compute(dispatch, 1, add, a, 1)
        accelerator.compute(dispatch, (8,), add, a, 1)
    with pytest.raises((RangeError, ArgumentTypeError)):
        accelerator.compute(dispatch, size, add, a, 1)
    assert a.array.tolist() == [6, 4, 4, 4, 4, 4, 4, 4]


def test_other_buffers_are_another_launch(accelerator: Accelerator) -> None:
    buffers = [S32Array.of([k] * 4) for k in range(3)]
    for _ in range(3):
        for left in buffers:
            for right in buffers:
                accelerator.compute(dispatch, 4, add_to, left, right)
    expected = [0, 1, 2]
    for _ in range(3):
        for left in range(3):
            for right in range(3):
                expected[left] += expected[right]
    assert [one.array[0] for one in buffers] == expected


def test_a_new_buffer_in_the_place_of_an_old_one_is_another(accelerator: Accelerator) -> None:
    """Python may give a new object the identity of one that is gone."""
    for turn in range(50):
        a = S32Array.of([turn] * 4)
        accelerator.compute(dispatch, 4, add, a, 1)
        accelerator.compute(dispatch, 4, add, a, 1)
        assert a.array.tolist() == [turn + 2] * 4
        del a


def test_arrays_of_other_shapes_are_another_launch(accelerator: Accelerator) -> None:
    for length in (4, 6, 4):
        x, y = (NDArray[float](np.ones(length, np.float32)) for _ in range(2))
        for _ in range(2):
            accelerator.compute(dispatch, length, plus_one, x, y)
        assert y.tolist() == [2.0] * length


def test_what_the_host_writes_in_between_counts(accelerator: Accelerator) -> None:
    a, b = S32Array.create(length=4), S32Array.create(length=4)
    for turn in range(5):
        a.array[turn % 4] += turn
        accelerator.compute(dispatch, 4, copy, a, b)
        accelerator.compute(dispatch, 4, copy, a, b)
        assert b.array.tolist() == a.array.tolist()


def test_another_strategy_is_another_launch(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    discrete.compute(dispatch, 8, add, a, 1)
    discrete.compute(dispatch, 8, add, a, 1)
    with discrete.strategy(tb.Transfers.ALWAYS), discrete.record() as ledger:
        discrete.compute(dispatch, 8, add, a, 1)
    assert [one.direction for one in ledger.copies] == ["down", "up", "down"]
    assert a.array.tolist() == [i + 3 for i in range(8)]


def test_another_strategy_takes_no_short_way_of_the_first(null: Nulls) -> None:
    a = S32Array.of(range(8))
    for _ in range(3):
        null.accelerator.compute(dispatch, 8, add, a, 1)
    before = preparations(null)
    with null.accelerator.strategy(tb.Transfers.ALWAYS):
        null.accelerator.compute(dispatch, 8, add, a, 1)
    assert preparations(null) == before + 1


def test_forced_copies_take_no_short_way(null: Nulls) -> None:
    a = S32Array.of(range(8))
    for transfers in (tb.Transfers.ALWAYS, tb.Transfers.BY_ACCESS, tb.Transfers.TRACKED):
        null.accelerator.compute(dispatch, 8, add, a, 1)  # which may be run again, but not so
        before = preparations(null)
        with null.accelerator.strategy(transfers):
            for _ in range(3):
                null.accelerator.compute(dispatch, 8, add, a, 1)
        assert preparations(null) == before + 3


STEP = 1


@tb.kernel
def add_step(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] += STEP


def test_a_constant_that_changes_is_seen(
    accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = S32Array.create(length=4)
    for _ in range(3):
        accelerator.compute(dispatch, 4, add_step, a)
    monkeypatch.setitem(add_step.function.__globals__, "STEP", 100)
    for _ in range(2):
        accelerator.compute(dispatch, 4, add_step, a)
    assert a.array.tolist() == [203] * 4


class Point(tb.Struct):
    x: i32
    y: i32


@tb.kernel
def add_point(kc: KernelContext, a: S32Array, point: Point) -> None:
    a.array[kc.x] += point.x + point.y


def test_a_struct_that_changes_is_seen(accelerator: Accelerator) -> None:
    a, point = S32Array.create(length=4), Point(x=1, y=2)
    for _ in range(3):
        accelerator.compute(dispatch, 4, add_point, a, point)
        point.x += 10
    assert a.array.tolist() == [3 + 13 + 23] * 4


def test_arguments_by_name_are_the_same_launch(accelerator: Accelerator) -> None:
    a = S32Array.create(length=4)
    for n in range(4):
        accelerator.compute(dispatch, 4, add, a, n=n)
        accelerator.compute(dispatch, 4, add, a, n)
    assert a.array.tolist() == [12] * 4


def test_many_launches_are_not_kept_for_ever(null: Nulls) -> None:
    buffers = [S32Array.create(length=1) for _ in range(400)]
    for one in buffers:
        null.accelerator.compute(dispatch, 1, number, one)
    before = preparations(null)
    for one in buffers[:5]:  # so long ago that they are forgotten
        null.accelerator.compute(dispatch, 1, number, one)
    assert preparations(null) == before + 5
    assert null.backend.counts["launches"] == 405


def test_a_launch_that_is_known_keeps_no_buffer_alive(null: Nulls) -> None:
    a = S32Array.create(length=8)
    for _ in range(3):
        null.accelerator.compute(dispatch, 8, add, a, 1)
    del a
    assert null.backend.counts["frees"] == 1


def test_numbers_of_launches_under_way_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    accelerator = with_backend(monkeypatch, Deferred())
    a = S32Array.of(range(4))
    accelerator.compute(add_many, a, [1, 2, 3, 4])
    assert a.array.tolist() == [10, 11, 12, 13]


def test_a_launch_that_fails_the_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Watched()
    accelerator = with_backend(monkeypatch, backend, poison=True)
    a = S32Array.of(range(4))
    for _ in range(2):
        accelerator.compute(dispatch, 4, add, a, 1)
    backend.fail_at = "run"
    with pytest.raises(DeviceError, match="run failed") as caught:
        accelerator.compute(dispatch, 4, add, a, 1)
    assert caught.value.location is not None
    assert caught.value.location.short.startswith("programs.py")
    backend.fail_at = ""
    accelerator.compute(dispatch, 4, add, a, 1)
    assert a.array.tolist() == [3, 4, 5, 6]


def test_a_launch_from_another_line_fails_at_that_line(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Deferred()
    accelerator = with_backend(monkeypatch, backend)
    a = S32Array.of(range(4))
    accelerator.compute(add_from_two_lines, a)
    backend.started("run")[-1].fail()
    with pytest.raises(DeviceError) as caught:
        a.array.tolist()
    assert caught.value.location is not None
    assert caught.value.location.line == add_from_two_lines.location.line + 4


@tb.compute
def add_from_two_lines(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(4, add, a, 1)
    cc.dispatch(4, add, a, 1)
    cc.dispatch(4, add, a, 1)


def test_the_writer_that_a_copy_names_is_the_last_one(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    for _ in range(3):
        discrete.compute(dispatch, 8, add, a, 1)
        discrete.compute(dispatch, 8, fail_in_the_middle, a, 99)
    discrete.compute(dispatch, 8, add, a, 1)
    with discrete.record() as ledger:
        a.array.tolist()
    assert "add wrote it" in ledger.downloads[0].cause

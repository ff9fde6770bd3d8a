"""One memory under two names: all of them see what was written last."""

import gc
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.runtime.conftest import with_backend
from tests.runtime.devices import Watched
from tests.runtime.programs import (
    add_to,
    dispatch,
    plus_one,
    square_kernel,
)

import trilby as tb
from trilby import Accelerator, KernelContext, NDArray, S32Array, f32
from trilby.errors import ArgumentValueError
from trilby.runtime import watch


def test_one_buffer_is_one_memory_however_often_it_is_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = Watched()
    accelerator = with_backend(monkeypatch, backend, poison=True)
    a = S32Array.of([1, 2, 3])
    accelerator.compute(dispatch, 3, add_to, a, a)
    ((left, _, right, _),) = backend.launched  # each with its length
    assert left is right
    assert a.array.tolist() == [2, 4, 6]


def test_a_buffer_passed_twice_in_a_loop(accelerator: Accelerator) -> None:
    a = S32Array.of(range(4))
    for _ in range(5):
        accelerator.compute(dispatch, 4, add_to, a, a)
    assert a.array.tolist() == [0, 32, 64, 96]


@tb.kernel
def write_even_and_odd(kc: KernelContext, even: NDArray[f32], odd: NDArray[f32]) -> None:
    if kc.x % 2 == 0:
        even[kc.x] = 10.0
    else:
        odd[kc.x] = 20.0


def test_two_arrays_on_the_same_memory_are_one(accelerator: Accelerator) -> None:
    numbers = np.zeros(4, np.float32)
    left, right = accelerator.array(numbers), accelerator.array(numbers)
    accelerator.compute(dispatch, 4, write_even_and_odd, left, right)
    assert left.tolist() == right.tolist() == [10.0, 20.0, 10.0, 20.0]
    assert numbers.tolist() == [10.0, 20.0, 10.0, 20.0]
    left[0] = 1
    accelerator.compute(dispatch, 4, plus_one, right, right)
    assert left.tolist() == [2.0, 21.0, 11.0, 21.0]


@tb.kernel
def write_from_second(kc: KernelContext, out: NDArray[f32], a: NDArray[f32]) -> None:
    out[kc.x] = a[kc.x] + 1.0


def test_what_is_read_through_the_second_name_is_brought(discrete: Accelerator) -> None:
    a = discrete.array(np.arange(4, dtype=np.float32))
    discrete.compute(dispatch, 4, write_from_second, a, a)
    assert a.tolist() == [1, 2, 3, 4]


@tb.kernel
def write_both_halves(kc: KernelContext, a: NDArray[f32], b: NDArray[f32]) -> None:
    a[kc.x] = 1.0
    b[kc.x + 4] = 2.0


def test_what_two_names_overwrite_together_is_not_brought(discrete: Accelerator) -> None:
    a = discrete.array(np.arange(8, dtype=np.float32))
    with discrete.record() as ledger:
        discrete.compute(dispatch, 4, write_both_halves, a, a)
    assert ledger.uploads == ()
    assert a.tolist() == [1, 1, 1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize("alive", [True, False])
@pytest.mark.parametrize("shown", [0, 1])
@pytest.mark.parametrize("given", [(0, 0), (0, 1), (1, 0)])
def test_what_is_written_through_a_raw_view_of_one_name_is_seen(
    discrete: Accelerator,
    alive: bool,  # noqa: FBT001 -- pytest gives it
    shown: int,
    given: tuple[int, int],
) -> None:
    numbers = np.zeros(4, np.float32)
    names = discrete.array(numbers), discrete.array(numbers)
    arguments = [names[number] for number in given]
    discrete.compute(dispatch, 4, plus_one, *arguments)
    for turn in range(2):
        raws: list[npt.NDArray[Any]] = [names[shown].raw()]
        discrete.compute(dispatch, 4, plus_one, *arguments)  # the device has what it shows
        raws[0][:] = 10 * turn
        if not alive:
            raws.clear()
        discrete.compute(dispatch, 4, plus_one, *arguments)
        expected = [10 * turn + 1] * 4
        assert [raw.tolist() for raw in raws] == [expected for _ in raws]
        raws.clear()
        assert names[0].tolist() == names[1].tolist() == expected


def test_an_array_that_is_gone_has_no_raw_views(
    interpreter: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = np.zeros(4, np.float32)
    a, b = interpreter.array(numbers), interpreter.array(numbers)
    interpreter.compute(dispatch, 4, plus_one, a, a)
    assert b.tolist() == [1] * 4
    with monkeypatch.context() as giving:
        giving.setattr(watch, "is_locked_here", lambda: True)  # so that nobody takes leave of it
        del b
        gc.collect()
        interpreter.compute(dispatch, 4, plus_one, a, a)
        assert a.tolist() == [2] * 4
        interpreter.launches.forget()
        interpreter.compute(dispatch, 4, plus_one, a, a)
    assert a.tolist() == [3] * 4


@tb.kernel
def add_both(kc: KernelContext, a: NDArray[f32], b: NDArray[f32], out: NDArray[f32]) -> None:
    out[kc.x] = a[kc.x] + b[kc.x]


def test_memory_that_is_shared_in_part_is_refused_where_it_is_written(
    accelerator: Accelerator,
) -> None:
    numbers = np.arange(6, dtype=np.float32)
    left, right = accelerator.array(numbers[:4]), accelerator.array(numbers[2:])
    with pytest.raises(ArgumentValueError, match="`a` and `b` share a part of their memory"):
        accelerator.compute(dispatch, 4, plus_one, left, right)
    assert numbers.tolist() == [0, 1, 2, 3, 4, 5]
    out = accelerator.array(np.zeros(4, np.float32))
    accelerator.compute(dispatch, 4, add_both, left, right, out)
    assert out.tolist() == [2, 4, 6, 8]  # reading both is no problem
    behind = accelerator.array(numbers[4:])
    accelerator.compute(dispatch, 2, plus_one, left, behind)  # one begins where the other ends
    assert right.tolist() == [2, 3, 1, 2]


def test_memory_that_overlaps_a_buffer_of_ours_is_refused_where_it_is_written(
    accelerator: Accelerator,
) -> None:
    """A raw view is memory like any other, and so it can be bound."""
    own = NDArray[float]([np.float32(i) for i in range(6)])
    part = accelerator.array(own.raw()[2:])
    with pytest.raises(ArgumentValueError, match="`a` and `b` share a part of their memory"):
        accelerator.compute(dispatch, 4, plus_one, own, part)


def test_overlapping_arrays_see_each_others_writes(accelerator: Accelerator) -> None:
    numbers = np.zeros(8, np.float32)
    left, right = accelerator.array(numbers[:6]), accelerator.array(numbers[2:])
    for turn in range(4):
        accelerator.compute(dispatch, 6, plus_one, left, left)
        accelerator.compute(dispatch, 6, plus_one, right, right)
        if turn == 1:
            assert left.tolist() == [2, 2, 4, 4, 4, 4]
            right[0] = 10
    assert right.tolist() == [14, 8, 8, 8, 4, 4]
    assert left.tolist() == [4, 4, 14, 8, 8, 8]
    del left, right
    gc.collect()
    assert numbers.tolist() == [4, 4, 14, 8, 8, 8, 4, 4]


def test_an_array_that_no_kernel_gets_sees_what_one_wrote_to_its_memory(
    accelerator: Accelerator,
) -> None:
    numbers = np.zeros(8, np.float32)
    before, used = accelerator.array(numbers[:6]), accelerator.array(numbers[2:])
    accelerator.compute(dispatch, 6, plus_one, used, used)
    after = accelerator.array(numbers)
    assert before.tolist() == [0, 0, 1, 1, 1, 1]
    accelerator.compute(dispatch, 6, plus_one, used, used)
    assert after.tolist() == [0, 0, 2, 2, 2, 2, 2, 2]
    accelerator.array(numbers[3:5])[:] = 9
    accelerator.compute(dispatch, 6, plus_one, used, used)
    assert used.tolist() == [3, 10, 10, 3, 3, 3]


def test_a_buffer_of_ours_sees_what_was_written_through_an_array_on_its_raw_view(
    accelerator: Accelerator,
) -> None:
    own = NDArray[float]([np.float32(i) for i in range(4)])
    part = accelerator.array(own.raw()[2:])
    accelerator.compute(dispatch, 2, plus_one, part, part)
    assert own.tolist() == [0, 1, 3, 4]


def test_a_buffer_on_the_users_own_memory(accelerator: Accelerator) -> None:
    memory = np.array([3, 1, 2, 3], np.int32)  # a length and three numbers
    accelerator.compute(dispatch, 3, square_kernel, S32Array.bind(memory))
    gc.collect()
    assert memory.tolist() == [3, 1, 4, 9]
    memory[1:] = [5, 6, 7]
    again = S32Array.bind(memory)
    accelerator.compute(dispatch, 3, square_kernel, again)
    assert again.array.tolist() == [25, 36, 49]


# ------------------------------------------------- raw views of other arrays on the memory


def test_a_raw_view_from_before_anything_was_known(accelerator: Accelerator) -> None:
    numbers = np.zeros(8, np.float32)
    view = accelerator.array(numbers[2:]).raw()  # its array is gone
    used = accelerator.array(numbers[:4])
    for turn in range(1, 4):
        accelerator.compute(dispatch, 4, plus_one, used, used)
        assert view.tolist() == [10 * turn - 9] * 2 + [0] * 4
        view[:2] += 9


def test_a_raw_view_that_outlives_its_array(accelerator: Accelerator) -> None:
    numbers = np.zeros(8, np.float32)
    used, other = accelerator.array(numbers[:4]), accelerator.array(numbers)
    for one in (used, other):
        accelerator.compute(dispatch, 4, plus_one, one, one)
    view = other.raw()
    del other, one
    gc.collect()
    for turn in range(3):
        accelerator.compute(dispatch, 4, plus_one, used, used)
        assert view.tolist() == [turn * 10 + 3] * 4 + [0] * 4
        view[:4] += 9
    del view
    accelerator.compute(dispatch, 4, plus_one, used, used)
    assert used.tolist() == [33] * 4


def test_a_raw_view_that_ends_with_its_array(accelerator: Accelerator) -> None:
    numbers = np.zeros(8, np.float32)
    used, other = accelerator.array(numbers[:4]), accelerator.array(numbers)
    for one in (used, other, used):
        accelerator.compute(dispatch, 4, plus_one, one, one)
    other.raw()[:] = 7
    del other, one
    gc.collect()
    accelerator.compute(dispatch, 4, plus_one, used, used)
    assert used.tolist() == [8] * 4

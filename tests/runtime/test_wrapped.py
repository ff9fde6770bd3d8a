"""Memory that users wrap, whatever object shares it: it is borrowed, and copied back."""

import gc
from array import array
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.runtime.programs import add, dispatch
from tests.runtime.wrapped_memory import (
    MEMORIES,
    WRAPPINGS,
    Ints,
    WithArray,
    mapped_file,
)

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, S32Array, f64, i32
from trilby.errors import ArgumentValueError, BindingError, GuardError

COUNT = 8
LONG = 100_000


@tb.kernel
def add_one(kc: KernelContext, a: NDArray[i32]) -> None:
    a[kc.x] += 1


@tb.kernel
def add_one_to_all(kc: KernelContext, a: NDArray[i32]) -> None:
    a[kc.y, kc.x] += 1


@tb.kernel
def add_from(kc: KernelContext, a: NDArray[i32], b: NDArray[i32]) -> None:
    b[kc.x] += a[kc.x]


@tb.kernel
def double(kc: KernelContext, a: NDArray[f64]) -> None:
    a[kc.x] *= 2.0


@tb.kernel
def work(kc: KernelContext, a: NDArray[i32], turns: i32) -> None:
    value = a[kc.x] + kc.x
    for _ in range(turns):
        value = value * 1103515245 + 12345
    a[kc.x] = value


@tb.compute
def work_often(cc: ComputeContext, a: NDArray[i32], times: int, turns: int) -> None:
    for _ in range(times):
        cc.dispatch(a.shape[0], work, a, turns)


memories = pytest.mark.parametrize("memory", MEMORIES)
wrappings = pytest.mark.parametrize("wrapping", WRAPPINGS)


def make(memory: str, folder: Path) -> Ints:
    content = MEMORIES[memory](folder, COUNT)
    content[:] = range(COUNT)
    return content


@memories
@wrappings
def test_memory_has_its_content_after_the_block(
    accelerator: Accelerator, memory: str, wrapping: str, tmp_path: Path
) -> None:
    content = make(memory, tmp_path)
    with accelerator.array(WRAPPINGS[wrapping](content)) as a:
        accelerator.compute(dispatch, COUNT, add_one, a)
    assert content.tolist() == list(range(1, COUNT + 1))


@wrappings
def test_memory_has_its_content_when_its_array_is_dropped(
    accelerator: Accelerator, wrapping: str, tmp_path: Path
) -> None:
    content = make("memmap", tmp_path)
    a = accelerator.array(WRAPPINGS[wrapping](content))
    accelerator.compute(dispatch, COUNT, add_one, a)
    del a
    gc.collect()
    assert content.tolist() == list(range(1, COUNT + 1))


@wrappings
def test_long_work_on_wrapped_memory_is_waited_for(
    accelerator: Accelerator, wrapping: str, tmp_path: Path
) -> None:
    turns = 2 if accelerator.device.spec.startswith("interpreter") else LONG
    content = make("memmap", tmp_path)
    with accelerator.array(WRAPPINGS[wrapping](content)) as a:
        accelerator.compute(work_often, a, 3, turns)
    assert content.tolist() == worked(3, turns)


@cache
def worked(times: int, turns: int) -> list[int]:
    numbers = places = np.arange(COUNT, dtype=np.int32)
    for _ in range(times):
        numbers = numbers + places
        for _ in range(turns):
            numbers = numbers * np.int32(1103515245) + np.int32(12345)
    return numbers.tolist()


@pytest.mark.parametrize("left", WRAPPINGS)
@pytest.mark.parametrize("right", WRAPPINGS)
def test_arrays_on_the_same_memory_know_each_other(
    accelerator: Accelerator, left: str, right: str, tmp_path: Path
) -> None:
    content = make("memmap", tmp_path)
    a = accelerator.array(WRAPPINGS[left](content))
    b = accelerator.array(WRAPPINGS[right](content[2:6]))
    accelerator.compute(dispatch, COUNT, add_one, a)
    assert b.tolist() == [3, 4, 5, 6]
    accelerator.compute(dispatch, 4, add_one, b)
    assert a.tolist() == [1, 2, 4, 5, 6, 7, 7, 8]
    a[3] = 100
    assert int(b[1]) == 100
    with pytest.raises(ArgumentValueError, match="share a part of their memory"):
        accelerator.compute(dispatch, 4, add_from, a, b)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_a_matrix_keeps_its_two_dimensions(accelerator: Accelerator) -> None:
    matrix = np.asmatrix(np.arange(6, dtype=np.int32).reshape(2, 3))
    with accelerator.array(matrix) as a:
        assert a.shape == (2, 3)
        accelerator.compute(dispatch, (3, 2), add_one_to_all, a)
    assert matrix.tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_a_buffer_on_a_matrix(accelerator: Accelerator) -> None:
    matrix = np.asmatrix(np.array([[3, 5, 6, 7]], np.int32))  # a length and three numbers
    with S32Array.bind(matrix) as a:
        accelerator.compute(dispatch, 3, add, a, 1)
        assert a.array.tolist() == [6, 7, 8]
    assert matrix.tolist() == [[3, 6, 7, 8]]


def test_an_array_of_the_standard_library_may_grow_when_it_is_no_longer_wrapped(
    accelerator: Accelerator,
) -> None:
    for _ in range(20):  # the kernel may still be under way when the block ends
        numbers = array("i", range(COUNT))
        with accelerator.array(numbers) as a:
            accelerator.compute(dispatch, COUNT, add_one, a)
        del a
        gc.collect()
        numbers.append(COUNT + 1)
        assert numbers.tolist() == list(range(1, COUNT + 2))


def test_an_object_that_owns_the_array_that_it_gives_out(accelerator: Accelerator) -> None:
    content: Ints = np.arange(COUNT, dtype=np.int32)
    assert content.base is None
    with accelerator.array(WithArray(content)) as a:
        accelerator.compute(dispatch, COUNT, add_one, a)
    assert content.tolist() == list(range(1, COUNT + 1))


def test_lists_are_not_wrapped(discrete: Accelerator) -> None:
    a = discrete.array([1.0] * COUNT)
    discrete.compute(dispatch, COUNT, double, a)
    with discrete.record() as ledger:
        a.release()
    assert ledger.copies == ()


@pytest.mark.parametrize("wrapping", ["subclass", "memoryview", "__array_interface__", "__array__"])
def test_memory_that_cannot_be_written_is_rejected(wrapping: str) -> None:
    content: Ints = np.zeros(COUNT, np.int32)
    content.flags.writeable = False
    with pytest.raises(BindingError, match="read-only"):
        NDArray[int](WRAPPINGS[wrapping](content))


def test_a_mapped_file_has_the_results(accelerator: Accelerator, tmp_path: Path) -> None:
    numbers: Any = mapped_file(tmp_path, COUNT)
    with accelerator.array(numbers) as a:
        accelerator.compute(dispatch, COUNT, add_one, a)
    numbers.flush()
    assert np.fromfile(tmp_path / "numbers.bin", np.int32).tolist() == [1] * COUNT


# ----------------------------------------------------------------------- inside of a guard


def test_a_guard_does_not_lose_what_it_keeps_from_moving(discrete: Accelerator) -> None:
    content = np.zeros(COUNT, np.int32)
    a = discrete.array(content)
    discrete.compute(dispatch, COUNT, add_one, a)
    with discrete.guard(), pytest.raises(GuardError):
        a.release()
    a.release()
    assert content.tolist() == [1] * COUNT


def test_a_guard_lets_the_last_copy_pass(discrete: Accelerator) -> None:
    content = np.zeros(COUNT, np.int32)
    a = discrete.array(content)
    discrete.compute(dispatch, COUNT, add_one, a)
    with discrete.guard():
        del a
        gc.collect()
    assert content.tolist() == [1] * COUNT

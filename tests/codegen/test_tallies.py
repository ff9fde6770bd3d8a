"""Arrays that a kernel only adds to: copies of each call give the same as one array for all."""

import numpy as np
import pytest
from tests.codegen.llvm_run import host_target, run_llvm
from tests.codegen.running import graph_of

import trilby as tb
from trilby import KernelContext, NDArray, i32, u8, u64
from trilby.backend.native.modules import generated as generate


@tb.kernel
def count(kc: KernelContext, numbers: NDArray[u8], bins: NDArray[i32]) -> None:
    tb.atomic_add(bins, i32(numbers[kc.x]), 1)


@pytest.mark.parametrize("size", [1, 15, 100, 1000, 5000])
@pytest.mark.parametrize("width", [128, 256, 512])
def test_a_histogram(size: int, width: int) -> None:
    numbers = np.random.default_rng(1).integers(0, 256, size).astype(np.uint8)
    start = np.arange(256, dtype=np.int32)
    found = run_llvm(count, size, numbers, start, target=host_target(width))[1]
    assert np.array_equal(found, start + np.bincount(numbers, minlength=256))


def test_the_copy_is_there() -> None:
    assert "clear_copy" in generate(graph_of(count, (1, 1)), host_target()).text


def test_an_array_too_large_for_a_copy() -> None:
    numbers = np.random.default_rng(2).integers(0, 256, 50_000).astype(np.uint8)
    found = run_llvm(count, numbers.size, numbers, np.zeros(9000, np.int32))[1]
    assert np.array_equal(found, np.bincount(numbers, minlength=9000))


@tb.kernel
def weigh(
    kc: KernelContext,
    at: NDArray[i32],
    weights: NDArray[u64],
    sums: NDArray[u64],
    less: NDArray[i32],
) -> None:
    """Two such arrays, one of them in two dimensions, by some of the lanes, in a loop."""
    for n in range(3):
        if (at[kc.x] + n) % 3 != 0:
            tb.atomic_add(sums, (n, at[kc.x] % sums.shape[1]), weights[kc.x])
            tb.atomic_sub(less, kc.x % less.shape[0], n)
        tb.atomic_add(less, 0, 5)


def test_several_arrays_and_masks() -> None:
    random = np.random.default_rng(3)
    at = random.integers(0, 100, 2000).astype(np.int32)
    weights = random.integers(0, 2**50, 2000).astype(np.uint64)
    zeros = np.zeros((3, 7), np.uint64), np.zeros(5, np.int32)
    _, _, sums, less = run_llvm(weigh, 2000, at, weights, *zeros)
    expected = [array.copy() for array in zeros]
    for n in range(3):
        for x in range(2000):
            if (at[x] + n) % 3 != 0:
                expected[0][n, at[x] % 7] += weights[x]
                expected[1][x % 5] -= n
            expected[1][0] += 5
    assert np.array_equal(sums, expected[0])
    assert np.array_equal(less, expected[1])


@tb.kernel
def count_and_look(
    kc: KernelContext, numbers: NDArray[i32], bins: NDArray[i32], seen: NDArray[i32]
) -> None:
    tb.atomic_add(bins, numbers[kc.x], 1)
    if kc.x == 0:
        seen[0] = bins[numbers[0]]


def test_an_array_that_is_read_has_no_copy() -> None:
    text = generate(graph_of(count_and_look, (1, 1, 1)), host_target()).text
    assert "clear_copy" not in text


@tb.kernel
def by_another_name(
    kc: KernelContext, bins: NDArray[i32], same: NDArray[i32], seen: NDArray[i32]
) -> None:
    """A work item sees what it has added itself, also through another argument."""
    tb.atomic_add(bins, kc.x % bins.shape[0], 1)
    seen[kc.x] = same[kc.x % bins.shape[0]]


def test_overlapping_arguments_have_no_copy() -> None:
    bins = np.zeros(256, np.int32)
    found = run_llvm(by_another_name, 4096, bins, bins, np.zeros(4096, np.int32))
    assert np.array_equal(found[0], np.full(256, 16))
    assert found[2].min() >= 1
    apart = run_llvm(by_another_name, 4096, bins, np.zeros(256, np.int32), np.zeros(4096, np.int32))
    assert np.array_equal(apart[0], np.full(256, 16))
    assert not apart[2].any()

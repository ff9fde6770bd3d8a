"""What random kernels have found: each disagreement of backends, made as small as it gets."""

from collections.abc import Iterator

import numpy as np
import pytest

import trilby as tb
from trilby import (
    Accelerator,
    ComputeContext,
    KernelContext,
    NDArray,
    NDRange,
    f16,
    i8,
    i32,
    u8,
    u16,
)


@pytest.fixture(params=["interpreter", "opencl", "native"], scope="module")
def accelerator(request: pytest.FixtureRequest) -> Iterator[Accelerator]:
    with Accelerator(request.param, poison=True) as opened:
        yield opened


@tb.kernel
def count_bits(kc: KernelContext, a: NDArray[u8], b: NDArray[i8], out: NDArray[i32]) -> None:
    out[kc.x] = tb.clz(u16(11))
    out[1] = tb.clz(a[0] & a[1])
    out[2] = tb.popcount(b[0] & b[1])
    out[3] = tb.popcount(-b[2])


@tb.compute
def count_all(cc: ComputeContext, a: NDArray[u8], b: NDArray[i8], out: NDArray[i32]) -> None:
    cc.dispatch(1, count_bits, a, b, out)


def test_bits_of_small_integers_are_counted_at_their_width(accelerator: Accelerator) -> None:
    """C computes with them as `int`, and its functions saw 32 bits."""
    a = accelerator.array(np.array([0b0011_0000, 0b0001_1111], np.uint8))
    b = accelerator.array(np.array([-1, -2, 1], np.int8))
    out = accelerator.array(np.zeros(4, np.int32))
    accelerator.compute(count_all, a, b, out)
    assert out[:].tolist() == [12, 3, 7, 8]


class Halves(tb.Buffer):
    n: i32
    pair: tb.Array[tb.f16x2] = tb.array("n")


@tb.kernel
def push(kc: KernelContext, halves: Halves, keep: bool) -> None:  # noqa: FBT001 -- it is a kernel's
    for _ in range(2):
        pair = halves.pair[kc.x]
        halves.pair[kc.x] = pair if keep else tb.f16x2(2.5, pair.x)
        kc.barrier()


@tb.compute
def push_all(cc: ComputeContext, halves: Halves, keep: bool) -> None:  # noqa: FBT001 -- the same
    cc.dispatch(NDRange(halves.n, 4), push, halves, keep)


@pytest.mark.parametrize("keep", [True, False])
def test_work_items_that_wait_keep_their_halves_apart(
    accelerator: Accelerator,
    keep: bool,  # noqa: FBT001 -- a parameter of the test
) -> None:
    """A driver took a local variable whose address was taken for the same in all of them."""
    halves = Halves.create(n=8)
    halves.pair.x[:] = np.arange(8) + 0.5
    halves.pair.y[:] = -1.0
    accelerator.compute(push_all, halves, keep)
    own = (np.arange(8) + 0.5).tolist()
    assert halves.pair.x[:].tolist() == (own if keep else [2.5] * 8)
    assert halves.pair.y[:].tolist() == ([-1.0] * 8 if keep else [2.5] * 8)


@tb.kernel
def round_trip(kc: KernelContext, a: NDArray[f16], out: NDArray[f16]) -> None:
    own = tb.private(f16, 2)
    for turn in range(2):
        own[turn] = a[kc.x] * 0.5
        kc.barrier()
        out[kc.x] = own[0] + own[turn]
        kc.barrier()


@tb.compute
def round_trips(cc: ComputeContext, a: NDArray[f16], out: NDArray[f16]) -> None:
    cc.dispatch(NDRange(a.shape[0], 4), round_trip, a, out)


def test_halves_in_private_arrays_are_kept_apart(accelerator: Accelerator) -> None:
    given = (np.arange(8) + 0.5).astype(np.float16)
    out = accelerator.array(np.zeros(8, np.float16))
    accelerator.compute(round_trips, accelerator.array(given), out)
    assert out[:].tolist() == given.tolist()


@tb.kernel
def rounds(kc: KernelContext, limit: NDArray[i32], out: NDArray[i32]) -> None:
    kc.barrier()
    for turn in range(9):
        for _ in range(3):
            out[kc.x] = (out[kc.x] * 5 + 3) % 1009
        if turn >= limit[kc.x]:
            break


@tb.func
def after_rounds(limit: i32) -> i32:
    number = i32(0)
    turn = i32(0)
    while True:
        for _ in range(30):
            number = (number * 5 + 3) % 1009
        if turn >= limit:
            return number
        turn += 1


@tb.kernel
def rounds_in_helper(kc: KernelContext, limit: NDArray[i32], out: NDArray[i32]) -> None:
    kc.barrier()
    out[kc.x] = after_rounds(limit[kc.x])


@tb.compute
def all_rounds(cc: ComputeContext, limit: NDArray[i32], out: NDArray[i32]) -> None:
    cc.dispatch(NDRange(limit.shape[0], 4), rounds, limit, out)


@tb.compute
def all_rounds_in_helper(cc: ComputeContext, limit: NDArray[i32], out: NDArray[i32]) -> None:
    cc.dispatch(NDRange(limit.shape[0], 4), rounds_in_helper, limit, out)


LIMITS = [5, 1, 2, 3, 4, 1, 3, 2]


def number_after(turns: int) -> int:
    number = 0
    for _ in range(turns):
        number = (number * 5 + 3) % 1009
    return number


def test_work_items_leave_a_loop_around_another_one_by_one(accelerator: Accelerator) -> None:
    """Behind a barrier, a driver let all of a group leave it together."""
    out = accelerator.array(np.zeros(8, np.int32))
    accelerator.compute(all_rounds, accelerator.array(np.array(LIMITS, np.int32)), out)
    assert out[:].tolist() == [number_after(3 * (limit + 1)) for limit in LIMITS]


def test_work_items_leave_the_loop_of_a_helper_one_by_one(accelerator: Accelerator) -> None:
    out = accelerator.array(np.zeros(8, np.int32))
    accelerator.compute(all_rounds_in_helper, accelerator.array(np.array(LIMITS, np.int32)), out)
    assert out[:].tolist() == [number_after(30 * (limit + 1)) for limit in LIMITS]


@tb.kernel
def swap_beside(kc: KernelContext, a: NDArray[i32], at: NDArray[i32], n: i32) -> None:
    mine, turns = 77, at[kc.x] % 3 + 3
    for _ in range(n // (a[kc.x] | 1) % 2, turns):
        mine, a[kc.x] = a[kc.x], mine
        assert turns > 2


@tb.kernel
def swap_apart(kc: KernelContext, a: NDArray[i32], at: NDArray[i32], n: i32) -> None:
    mine, turns = 77, at[kc.x] % 3 + 3
    for _ in range(n // (a[3 * kc.x] | 1) % 2, turns):
        mine, a[3 * kc.x] = a[3 * kc.x], mine
        assert turns > 2


@tb.kernel
def swap_anywhere(kc: KernelContext, a: NDArray[i32], at: NDArray[i32], n: i32) -> None:
    mine, turns = 77, at[kc.x] % 3 + 3
    for _ in range(n // (a[at[kc.x]] | 1) % 2, turns):
        mine, a[at[kc.x]] = a[at[kc.x]], mine
        assert turns > 2


@tb.compute
def swap_all(
    cc: ComputeContext, a: NDArray[i32], at: NDArray[i32], n: int, items: int, which: int
) -> None:
    if which == 0:
        cc.dispatch(items, swap_beside, a, at, n)
    elif which == 1:
        cc.dispatch(items, swap_apart, a, at, n)
    else:
        cc.dispatch(items, swap_anywhere, a, at, n)


@pytest.mark.parametrize("items", [9, 16, 33])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_what_is_read_before_a_store_is_not_read_after_it(
    accelerator: Accelerator, which: int, items: int
) -> None:
    """LLVM read again where what was read or something else is kept, behind the next store."""
    random = np.random.default_rng(items)
    numbers = random.integers(-20, 20, 3 * items).astype(np.int32)
    places = random.permutation(3 * items)[:items].astype(np.int32)
    a, at = accelerator.array(numbers.copy()), accelerator.array(places)
    accelerator.compute(swap_all, a, at, 79, items, which)
    expected = numbers.tolist()
    for item, place in enumerate(places.tolist()):
        spot = (item, 3 * item, place)[which]
        swaps = max(place % 3 + 3 - 79 // (expected[spot] | 1) % 2, 0)
        expected[spot] = 77 if swaps % 2 else expected[spot]
    assert a[:].tolist() == expected

"""Compute functions with a loop each: some do nothing but dispatch, others do more."""

from typing import Any

import trilby as tb
from trilby import ComputeContext, KernelContext, NDArray, NDRange, S32Array, i32
from trilby.reflect.functions import Compute


@tb.kernel
def add(kc: KernelContext, a: S32Array, n: i32) -> None:
    a.array[kc.x] += n


@tb.kernel
def copy(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    b.array[kc.x] = a.array[kc.x] + 1


@tb.kernel
def copy_2d(kc: KernelContext, a: NDArray[i32], b: NDArray[i32]) -> None:
    b[kc.y, kc.x] = a[kc.y, kc.x] + 1


@tb.compute
def same(cc: ComputeContext, a: S32Array, n: int) -> None:
    for _ in range(n):
        cc.dispatch(a.length, add, a, 3)


@tb.compute
def swapped(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> None:
    for _ in range(n):
        cc.dispatch(a.length, copy, a, b)
        a, b = b, a


@tb.compute
def three_in_a_ring(cc: ComputeContext, a: S32Array, b: S32Array, c: S32Array, n: int) -> None:
    for _ in range(n):
        cc.dispatch(a.length, copy, a, b)
        a, b, c = b, c, a


@tb.compute
def by_the_way_of_a_third(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> None:
    for _ in range(n):
        cc.dispatch(a.length, copy, a, b)
        old = a
        a = b
        b = old


@tb.compute
def by_remainder(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> None:
    for g in range(n):
        cc.dispatch(a.length, copy, a if g % 2 == 0 else b, b if g % 2 == 0 else a)


@tb.compute
def by_two_remainders(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> None:
    for g in range(n):
        cc.dispatch(a.length, add, a if g % 2 == 0 else b, 1 + g % 3)


@tb.compute
def several(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> None:
    size = NDRange(a.length, local=1)
    for _ in range(n):
        cc.dispatch(size, add, a, 1).dispatch((b.length,), add, b, 2)
        cc.dispatch(a.length, copy, a, b)


@tb.compute
def reversed_shape(cc: ComputeContext, a: NDArray[i32], b: NDArray[i32], n: int) -> None:
    for _ in range(n):
        cc.dispatch(a.shape[::-1], copy_2d, a, b)
        a, b = b, a


@tb.compute
def set_in_the_first_turn(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> None:
    to = a
    for _ in range(n):
        cc.dispatch(a.length, add, to, 2)
        to = b


@tb.compute
def number_of_the_turn(cc: ComputeContext, a: S32Array, n: int) -> None:
    for g in range(n):
        cc.dispatch(a.length, add, a, g)


@tb.compute
def number_by_another_name(cc: ComputeContext, a: S32Array, n: int) -> None:
    for g in range(n):
        step = g
        cc.dispatch(a.length, add, a, step)


@tb.compute
def counts(cc: ComputeContext, a: S32Array, n: int) -> int:
    done = 0
    for _ in range(n):
        cc.dispatch(a.length, add, a, 1)
        done += 1
    return done


@tb.compute
def looks(cc: ComputeContext, a: S32Array, n: int) -> None:
    for _ in range(n):
        cc.dispatch(a.length, add, a, a.array[0])


@tb.compute
def writes(cc: ComputeContext, a: S32Array, n: int) -> None:
    for _ in range(n):
        cc.dispatch(a.length, add, a, 1)
        a.array[0] = 5


@tb.compute
def calls(cc: ComputeContext, a: S32Array, n: int, show: Any) -> None:
    for _ in range(n):
        cc.dispatch(a.length, add, a, 1)
        show(n)


@tb.compute
def breaks(cc: ComputeContext, a: S32Array, n: int, stop: int) -> None:
    for _ in range(n):
        cc.dispatch(a.length, add, a, 1)
        if stop:
            break


@tb.compute
def has_an_else(cc: ComputeContext, a: S32Array, n: int) -> None:
    for _ in range(n):
        cc.dispatch(a.length, add, a, 1)
    else:  # noqa: PLW0120 -- it is what this is about
        cc.dispatch(a.length, add, a, 100)


@tb.compute
def only_sometimes(cc: ComputeContext, a: S32Array, n: int) -> None:
    for g in range(n):
        if g % 2:
            cc.dispatch(a.length, add, a, 1)


@tb.compute
def late(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> None:
    for g in range(n):
        cc.dispatch(a.length, add, a if g % 17 == 0 else b, 1)


@tb.compute
def many_passes(cc: ComputeContext, a: S32Array, n: int) -> None:
    for _ in range(n):
        cc.dispatch(a.length, add, a, 1, passes=2)


@tb.compute
def unpacks(cc: ComputeContext, a: S32Array, pairs: list[tuple[int, int]]) -> None:
    for x, _ in pairs:
        cc.dispatch(a.length, add, a, x)


@tb.compute
def element_of_a_list(cc: ComputeContext, a: S32Array, steps: Any, n: int) -> None:
    for _ in range(n):
        cc.dispatch(a.length, add, a, steps[0])


@tb.compute
def sum_of_arrays(cc: ComputeContext, a: S32Array, x: Any, y: Any, n: int) -> None:
    for _ in range(n):
        cc.dispatch(a.length, add, a, x + y)


@tb.compute
def does_nothing(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> None:
    for _ in range(n):
        a, b = b, a
    cc.dispatch(a.length, copy, a, b)


@tb.compute
def makes_a_buffer(cc: ComputeContext, a: S32Array, n: int) -> None:
    for _ in range(n):
        b = S32Array.create(cc.accelerator, length=4)
        cc.dispatch(b.length, copy, a, b)


LOOPS: dict[str, Compute[..., Any]] = {
    name: one for name, one in globals().items() if isinstance(one, type(same))
}

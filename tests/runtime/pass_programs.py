"""Kernels with many passes, and the compute functions that run them."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import trilby as tb
from trilby import ComputeContext, KernelContext, S32Array, i32

Numbers = npt.NDArray[np.int32]


@tb.func
def mixed(value: i32, number: i32) -> i32:
    return value * 3 + number


@tb.kernel
def step(kc: KernelContext, a: S32Array) -> None:
    """What comes out depends on the number of every pass, and on their order."""
    a.array[kc.x] = mixed(a.array[kc.x], kc.pass_id)


@tb.kernel
def double(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] *= 2


@tb.kernel
def flip(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    if kc.pass_id % 2 == 0:
        b.array[kc.x] = a.array[kc.x] + 1
    else:
        a.array[kc.x] = b.array[kc.x] * 2


@tb.kernel
def count(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    """Both count the passes: one by itself, the other as it is told."""
    a.array[kc.x] += 1
    b.array[kc.x] = kc.pass_id + 1


@tb.kernel
def count_until(kc: KernelContext, a: S32Array, done: S32Array, limit: i32) -> None:
    a.array[kc.x] += 1
    if kc.x == 0 and a.array[0] >= limit:
        done.array[0] = 7


@tb.kernel
def count_below(kc: KernelContext, a: S32Array, b: S32Array, limit: i32) -> None:
    """All work items but one have done their work when that one finds out that it may not."""
    if kc.x == 3:
        assert a.array[kc.x] < limit, "too far"
    a.array[kc.x] += 1
    b.array[kc.x] = a.array[kc.x]


@tb.kernel
def leave(kc: KernelContext, a: S32Array) -> None:
    """After some passes there is no such element."""
    a.array[kc.x + kc.pass_id] += 1


@tb.compute
def run(cc: ComputeContext, kernel: Any, given: tuple[Any, ...], options: dict[str, Any]) -> int:
    """Any kernel with any options; they are not known before."""
    cc.dispatch(given[0].length, kernel, *given, **options)
    return cc.passes_done


@tb.compute
def run_step(cc: ComputeContext, a: S32Array, passes: int) -> int:
    cc.dispatch(a.length, step, a, passes=passes)
    return cc.passes_done


@tb.compute
def run_flip(cc: ComputeContext, a: S32Array, b: S32Array, passes: int) -> int:
    cc.dispatch(a.length, lambda kc: flip(kc, a, b), passes=passes)
    return cc.passes_done


@tb.compute
def run_until(
    cc: ComputeContext, a: S32Array, done: S32Array, limit: int, passes: int, every: int
) -> int:
    cc.dispatch(
        a.length, count_until, a, done, limit, passes=passes, until=done.array[0], check_every=every
    )
    return cc.passes_done


@tb.compute
def run_counting(
    cc: ComputeContext,
    a: S32Array,
    b: S32Array,
    passes: int,
    tell: Callable[[int, int], None] | None = None,
    cancel: threading.Event | None = None,
    timeout: float | None = None,
) -> int:
    cc.dispatch(a.length, count, a, b, passes=passes, progress=tell, cancel=cancel, timeout=timeout)
    return cc.passes_done


def stepped(numbers: Numbers, passes: int) -> Numbers:
    """What `step` comes to, by NumPy."""
    for number in range(passes):
        numbers = (numbers * np.int32(3) + np.int32(number)).astype(np.int32)
    return numbers


def flipped(numbers: Numbers, passes: int) -> Numbers:
    """What `flip` comes to, in the buffer that was written last."""
    for number in range(passes):
        numbers = numbers + np.int32(1) if number % 2 == 0 else numbers * np.int32(2)
    return numbers.astype(np.int32)

"""Doubling: once, in a loop, with the host looking at one element or at everything."""

from collections.abc import Callable

import numpy as np
from tests.apps.program import Bytes, Copies, Numbers, Outcome, Program

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array

LENGTH = 48
TIMES = 6


@tb.kernel
def double(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] *= 2


@tb.compute
def double_once(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, lambda kc: double(kc, a))


@tb.compute
def double_often(cc: ComputeContext, a: S32Array, times: int) -> None:
    for _ in range(times):
        cc.dispatch(a.length, double, a)


@tb.compute
def double_in_passes(cc: ComputeContext, huge: S32Array, times: int) -> None:
    cc.dispatch(huge.length, double, huge, passes=times)


@tb.compute
def double_and_show(
    cc: ComputeContext, a: S32Array, times: int, show: Callable[[int], None]
) -> Numbers:
    for _ in range(times):
        cc.dispatch(a.length, double, a)
        show(a.array[0])
    return np.asarray(a)


@tb.compute
def double_between_sums(cc: ComputeContext, a: S32Array) -> tuple[int, int]:
    before = int(a.array.sum())
    cc.dispatch(a.length, double, a)
    between = int(a.array.sum())
    cc.dispatch(a.length, double, a)
    return before, between


def numbers() -> Numbers:
    return np.arange(5, 5 + LENGTH, dtype=np.int32)


def make(_: Accelerator) -> S32Array:
    return S32Array.of(numbers())


def run_once(accelerator: Accelerator, a: S32Array) -> Outcome:
    accelerator.compute(lambda cc: double_once(cc, a))
    return [np.asarray(a)]


def run_often(accelerator: Accelerator, a: S32Array) -> Outcome:
    accelerator.compute(double_often, a, TIMES)
    return [np.asarray(a)]


def run_in_passes(accelerator: Accelerator, a: S32Array) -> Outcome:
    accelerator.compute(double_in_passes, a, TIMES)
    return [np.asarray(a)]


def run_showing(accelerator: Accelerator, a: S32Array) -> Outcome:
    shown: list[int] = []
    last = accelerator.compute(double_and_show, a, TIMES, shown.append)
    return [last, np.array(shown)]


def run_between_sums(accelerator: Accelerator, a: S32Array) -> Outcome:
    sums = accelerator.compute(double_between_sums, a)
    return [np.asarray(a), np.array(sums)]


ONCE = Program(
    "double once",
    "H W a; k RW a; H R a",
    make,
    run_once,
    reference=lambda: [numbers() * 2],
    minimal=Copies(1, 1),
    naive=Copies(1, 1),
)

OFTEN = Program(
    "double in a loop",
    "H W a; T×{k RW a}; H R a",
    make,
    run_often,
    reference=lambda: [numbers() * 2**TIMES],
    minimal=Copies(1, 1),
    naive=Copies(TIMES, TIMES),
)

SHOWING = Program(
    "double in a loop, printing element 0",
    "H W a; T×{k RW a; H R a[0]}; H R a",
    make,
    run_showing,
    reference=lambda: [numbers() * 2**TIMES, numbers()[0] * 2 ** np.arange(1, TIMES + 1)],
    minimal=Copies(1, TIMES),
    naive=Copies(TIMES, TIMES),
    moved=Bytes(4 * LENGTH, 4 * (TIMES - 1) + 4 * LENGTH),
)

BETWEEN_READS = Program(
    "read, kernel, read, kernel, read",
    "H W a; H R a; k RW a; H R a; k RW a; H R a",
    make,
    run_between_sums,
    reference=lambda: [numbers() * 4, numbers().sum() * np.array([1, 2])],
    minimal=Copies(1, 2),
    naive=Copies(2, 2),
)

PASSES = Program(
    "passes on the device",
    "H W huge; dispatch(n, k, passes=T) RW huge; H R huge",
    make,
    run_in_passes,
    reference=lambda: [numbers() * 2**TIMES],
    minimal=Copies(1, 1),
    naive=Copies(1, 1),
)

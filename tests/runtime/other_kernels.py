"""Kernels that live in a module of their own."""

import trilby as tb
from trilby import ComputeContext, KernelContext, S32Array, i32

STEP = 3


@tb.func
def step(v: i32) -> i32:
    return v + STEP


@tb.kernel
def negate(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = -a.array[kc.x]


@tb.kernel
def go_on(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = step(a.array[kc.x])


@tb.compute
def negate_all(cc: ComputeContext, a: S32Array) -> str:
    cc.dispatch(a.length, negate, a)
    return "negated"


class Steps:
    """A class as a place for kernels."""

    @staticmethod
    @tb.kernel
    def double(kc: KernelContext, a: S32Array) -> None:
        a.array[kc.x] = 2 * a.array[kc.x]

"""A user's program with constant memory, `bf16` and raw device code, checked and run as a test."""

import math
from typing import assert_type

import trilby as tb
from trilby import (
    Accelerator,
    BF16Array,
    ComputeContext,
    F32Array,
    KernelContext,
    NDArray,
    bf16,
    f32,
    i32,
)


@tb.raw(opencl="return native_exp(x);", cuda="return __expf(x);")
def fast_exp(x: f32) -> f32:
    return math.exp(x)


@tb.raw(
    opencl="""
        float sum = 0;
        for (int i = 0; i < count; i++) sum += weights[i];
        return sum;
    """,
    reads="weights",
)
def total(weights: tb.Constant[NDArray[f32]], count: i32) -> f32:
    found: f32 = 0.0
    for i in range(count):
        found += weights[i]
    return found


@tb.kernel
def soften(
    kc: KernelContext, a: BF16Array, weights: tb.Constant[NDArray[f32]], out: F32Array, by: bf16
) -> None:
    exponent = bf16(a.array[kc.x] * by)
    out.array[kc.x] = fast_exp(exponent) / total(weights, weights.shape[0])


@tb.compute
def soften_all(
    cc: ComputeContext, a: BF16Array, weights: tb.Constant[NDArray[f32]], out: F32Array
) -> None:
    cc.dispatch(a.length, soften, a, weights, out, 0.5)
    cc.dispatch(a.length, lambda kc: soften(kc, a, weights, out, 0.5))


def use(accelerator: Accelerator, weights: NDArray[f32]) -> list[float]:
    """Numbers that were computed on a device."""
    a, out = BF16Array.of([0.0, 2.0]), F32Array.create(length=2)
    accelerator.compute(soften_all, a, weights, out)
    assert_type(a.array[0], float)
    assert_type(fast_exp(1.0), float)
    return [out.array[0], out.array[1]]

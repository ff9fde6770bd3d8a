"""Small programs to be traced, and what must be true of each trace."""

import numpy as np

import trilby as tb
from trilby import Accelerator, ComputeContext, F32Array, KernelContext, Transfers, f32
from trilby.runtime.tracing import TracedRun


@tb.kernel
def scale(kc: KernelContext, a: F32Array, factor: f32) -> None:
    a.array[kc.x] = a.array[kc.x] * factor


@tb.kernel
def add(kc: KernelContext, a: F32Array, b: F32Array) -> None:
    a.array[kc.x] = a.array[kc.x] + b.array[kc.x]


@tb.compute
def steps(cc: ComputeContext, a: F32Array, b: F32Array, times: int) -> float:
    total = 0.0
    for _ in range(times):
        cc.dispatch(a.length, scale, a, 0.5)
        cc.dispatch(a.length, add, a, b)
        total += float(a.array[0])
        b.array[0] = 2.0
    return total


@tb.compute
def many_passes(cc: ComputeContext, a: F32Array, times: int) -> None:
    cc.dispatch(a.length, scale, a, 0.5, passes=times)


def traced(
    backend: str, transfers: Transfers = Transfers.AUTO, times: int = 3, length: int = 100
) -> TracedRun:
    """A run with copies both ways: the host reads and writes in every turn."""
    with Accelerator(backend, memory="discrete", transfers=transfers) as accelerator:
        a, b = F32Array.of(np.ones(length)), F32Array.of(np.ones(length))
        with accelerator.trace() as run:
            accelerator.compute(steps, a, b, times)
            _ = a.array.sum()
    return run

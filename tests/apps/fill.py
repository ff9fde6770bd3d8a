"""Fill: the kernel writes every element, so the host's content never goes up."""

import numpy as np
from tests.apps.program import Copies, Outcome, Program

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array

LENGTH = 40


@tb.kernel
def fill(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = 3 * kc.x + 1


@tb.compute
def fill_all(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, fill, a)


def make_new(accelerator: Accelerator) -> S32Array:
    return S32Array.create(accelerator, length=LENGTH)


def make_written(_: Accelerator) -> S32Array:
    return S32Array.of(np.full(LENGTH, -1, np.int32))


def run(accelerator: Accelerator, a: S32Array) -> Outcome:
    accelerator.compute(fill_all, a)
    return [np.asarray(a)]


def reference() -> Outcome:
    return [3 * np.arange(LENGTH) + 1]


FILL = Program(
    "fill",
    "k W a; H R a",
    make_new,
    run,
    reference,
    minimal=Copies(0, 1),
    naive=Copies(1, 1),
)

FILL_OVER = Program(
    "fill over what the host wrote",
    "H W a; k W a; H R a",
    make_written,
    run,
    reference,
    minimal=Copies(0, 1),
    naive=Copies(1, 1),
)

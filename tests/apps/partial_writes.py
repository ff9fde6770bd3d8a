"""Kernels that write a part: what they leave alone keeps the host's values."""

from typing import NamedTuple

import numpy as np
from tests.apps.program import Bytes, Copies, Numbers, Outcome, Program, seeded

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array

LENGTH = 32


@tb.kernel
def number_half(kc: KernelContext, a: S32Array) -> None:
    if kc.x < a.length // 2:
        a.array[kc.x] = -kc.x


@tb.compute
def number_first_half(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, number_half, a)


@tb.kernel
def number_where(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    if b.array[kc.x] > 0:
        a.array[kc.x] = kc.x


@tb.compute
def number_where_positive(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    cc.dispatch(a.length, number_where, a, b)


class Buffers(NamedTuple):
    a: S32Array
    b: S32Array


def numbers() -> Numbers:
    return np.arange(100, 100 + LENGTH, dtype=np.int32)


def signs() -> Numbers:
    return seeded(3).integers(-5, 6, LENGTH, np.int32)


def make_one(_: Accelerator) -> S32Array:
    return S32Array.of(numbers())


def run_half(accelerator: Accelerator, a: S32Array) -> Outcome:
    accelerator.compute(number_first_half, a)
    return [np.asarray(a)]


def half_reference() -> Outcome:
    half = LENGTH // 2
    return [np.concatenate([-np.arange(half), numbers()[half:]])]


def make_two(_: Accelerator) -> Buffers:
    return Buffers(S32Array.of(numbers()), S32Array.of(signs()))


def run_where(accelerator: Accelerator, buffers: Buffers) -> Outcome:
    accelerator.compute(lambda cc: number_where_positive(cc, buffers.a, buffers.b))
    return [np.asarray(buffers.a), np.asarray(buffers.b)]


HALF = Program(
    "half write",
    "H W a; k writes a[i] for i < n/2; H R a",
    make_one,
    run_half,
    half_reference,
    minimal=Copies(0, 1),
    naive=Copies(1, 1),
    moved=Bytes(0, 4 * LENGTH // 2),
)

CONDITIONAL = Program(
    "conditional write",
    "H W a, b; k writes a[i] only where b[i] > 0; H R a",
    make_two,
    run_where,
    reference=lambda: [np.where(signs() > 0, np.arange(LENGTH), numbers()), signs()],
    minimal=Copies(2, 1),
    naive=Copies(2, 2),
)

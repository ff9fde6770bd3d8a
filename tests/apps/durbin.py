"""Toeplitz systems (PolyBench, durbin): the host writes one element after each round of kernels.

The array is on the device by then, and newer there. One element goes up; nothing else moves.
"""

from typing import NamedTuple

import numpy as np
from tests.apps.program import Bytes, Copies, Numbers, Outcome, Program, floats

import trilby as tb
from trilby import Accelerator, ComputeContext, F32Array, KernelContext, f32, i32

SIZE = 9


class Sum(tb.Buffer):
    value: f32


class System(NamedTuple):
    r: F32Array
    y: F32Array
    z: F32Array
    sum: Sum


@tb.kernel
def sum_up(kc: KernelContext, r: F32Array, y: F32Array, k: i32, result: Sum) -> None:
    total: f32 = 0.0
    for i in range(k):
        total += r.array[k - i - 1] * y.array[i]
    result.value = total


@tb.kernel
def combine(kc: KernelContext, y: F32Array, z: F32Array, alpha: f32) -> None:
    z.array[kc.x] = y.array[kc.x] + alpha * y.array[kc.max_x - 1 - kc.x]


@tb.kernel
def take_over(kc: KernelContext, z: F32Array, y: F32Array) -> None:
    y.array[kc.x] = z.array[kc.x]


@tb.compute
def solve(cc: ComputeContext, system: System) -> None:
    r, y, z, result = system
    alpha = -r.array[0]
    beta = 1.0
    y.array[0] = alpha
    for k in range(1, r.length):
        beta *= 1 - alpha * alpha
        cc.dispatch(1, sum_up, r, y, k, result)
        alpha = -(r.array[k] + result.value) / beta
        cc.dispatch(k, combine, y, z, alpha)
        cc.dispatch(k, take_over, z, y)
        y.array[k] = alpha


def given() -> Numbers:
    return floats(70, SIZE) / 4


def make(accelerator: Accelerator) -> System:
    return System(
        F32Array.of(given()),
        F32Array.create(accelerator, length=SIZE),
        F32Array.create(accelerator, length=SIZE),
        Sum.create(accelerator),
    )


def run(accelerator: Accelerator, system: System) -> Outcome:
    accelerator.compute(solve, system)
    return [np.asarray(system.y)]


def reference() -> Outcome:
    """The solution of the equations themselves, by elimination."""
    r = given().astype(np.float64)
    column = np.append(1.0, r[:-1])
    distance = np.abs(np.subtract.outer(np.arange(SIZE), np.arange(SIZE)))
    return [np.linalg.solve(column[distance], -r)]


ROUNDS = SIZE - 1

DURBIN = Program(
    "a host write inside of the loop",
    "H W r, y[0]; for k: {k R r, y[:k] W sum; H R sum; k R y w z; k R z w y; H W y[k]}; H R y",
    make,
    run,
    reference,
    minimal=Copies(1 + ROUNDS, ROUNDS + 1),
    naive=Copies(7 * ROUNDS, 7 * ROUNDS),
    moved=Bytes(4 * (SIZE - 1) + 4 * ROUNDS, 4 * ROUNDS + 4 * (SIZE - 1)),
    beside=4,  # the last element of r
    tolerance=1e-4,
)

"""A loop on the host that runs until a kernel raises a flag."""

from typing import NamedTuple

import numpy as np
from tests.apps.program import Copies, Numbers, Outcome, Program, seeded

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array, i32

LENGTH = 64
LIMIT = 1000


class Buffers(NamedTuple):
    huge: S32Array
    done: S32Array


@tb.kernel
def grow(kc: KernelContext, huge: S32Array, limit: i32, done: S32Array) -> None:
    """One step of growth; whoever passes the limit says so."""
    huge.array[kc.x] += huge.array[kc.x] // 2 + 1
    if huge.array[kc.x] > limit:
        tb.atomic_max(done.array, 0, 1)


@tb.compute
def grow_until_done(cc: ComputeContext, huge: S32Array, limit: int, done: S32Array) -> int:
    steps = 0
    while not done.array[0]:
        cc.dispatch(huge.length, grow, huge, limit, done)
        steps += 1
    return steps


@tb.compute
def grow_in_passes(cc: ComputeContext, huge: S32Array, limit: int, done: S32Array) -> int:
    cc.dispatch(huge.length, grow, huge, limit, done, passes=1000, until=done.array[0])
    return cc.passes_done


def numbers() -> Numbers:
    return seeded(2).integers(1, 100, LENGTH, np.int32)


def make(accelerator: Accelerator) -> Buffers:
    done = S32Array.create(accelerator, length=1)
    done.array[0] = 0
    return Buffers(S32Array.of(numbers()), done)


def run(accelerator: Accelerator, buffers: Buffers) -> Outcome:
    steps = accelerator.compute(grow_until_done, buffers.huge, LIMIT, buffers.done)
    return [np.array(steps), np.asarray(buffers.huge), np.asarray(buffers.done)]


def run_in_passes(accelerator: Accelerator, buffers: Buffers) -> Outcome:
    steps = accelerator.compute(grow_in_passes, buffers.huge, LIMIT, buffers.done)
    return [np.array(steps), np.asarray(buffers.huge), np.asarray(buffers.done)]


def reference() -> Outcome:
    huge, steps = numbers(), 0
    while huge.max() <= LIMIT:
        huge, steps = huge + huge // 2 + 1, steps + 1
    return [np.array(steps), huge, np.array([1])]


STEPS = int(reference()[0])

CONVERGENCE = Program(
    "convergence flag",
    "H W huge, done; until done[0]: {k RW huge, w done; H R done[0]}; H R huge",
    make,
    run,
    reference,
    minimal=Copies(2, STEPS + 1),
    naive=Copies(2 * STEPS, 2 * STEPS),
)

PASSES = Program(
    "convergence flag, in passes",
    "H W huge, done; dispatch(n, k, passes=1000, until=done[0]) RW huge, w done; H R huge",
    make,
    run_in_passes,
    reference,
    minimal=Copies(2, STEPS + 1),
    naive=Copies(2, STEPS + 2),
)

"""A crystal that grows (after ACE, HeCBench): kernels set the inside of arrays, the host reads all.

What the kernels leave alone is zero where nobody wrote, and the host's where the host did. It is
never what happened to lie in the device's memory.
"""

from typing import NamedTuple

import numpy as np
from tests.apps.program import Bytes, Copies, Numbers, Outcome, Program, floats

import trilby as tb
from trilby import Accelerator, ComputeContext, F32Array2D, KernelContext

WIDTH, HEIGHT = 9, 8
STEPS = 4
STEP = 0.125
BORDER = 0.5
CORNERS = 4
"""A star of five points never reaches them."""


class Crystal(NamedTuple):
    phase: F32Array2D
    force: F32Array2D


@tb.kernel
def find_force(kc: KernelContext, phase: F32Array2D, force: F32Array2D) -> None:
    y, x = kc.y + 1, kc.x + 1
    around = phase.array[y - 1, x] + phase.array[y + 1, x]
    around += phase.array[y, x - 1] + phase.array[y, x + 1]
    here = phase.array[y, x]
    force.array[y, x] = around - 4.0 * here + here * (1.0 - here * here)


@tb.kernel
def grow(kc: KernelContext, phase: F32Array2D, force: F32Array2D) -> None:
    phase.array[kc.y + 1, kc.x + 1] += STEP * force.array[kc.y + 1, kc.x + 1]


@tb.compute
def grow_crystal(cc: ComputeContext, crystal: Crystal, steps: int) -> None:
    phase, force = crystal
    inside = phase.width - 2, phase.height - 2
    for _ in range(steps):
        cc.dispatch(inside, find_force, phase, force)
        cc.dispatch(inside, grow, phase, force)


def phases() -> Numbers:
    return floats(50, HEIGHT, WIDTH)


def make_new(accelerator: Accelerator) -> Crystal:
    force = F32Array2D.create(accelerator, width=WIDTH, height=HEIGHT)
    return Crystal(F32Array2D.of(phases()), force)


def make_written(accelerator: Accelerator) -> Crystal:
    crystal = make_new(accelerator)
    crystal.force.array[:, :] = BORDER
    return crystal


def run(accelerator: Accelerator, crystal: Crystal) -> Outcome:
    accelerator.compute(grow_crystal, crystal, STEPS)
    return [np.asarray(crystal.phase), np.asarray(crystal.force)]


def reference(border: float) -> Outcome:
    phase, force = phases().astype(np.float64), np.full((HEIGHT, WIDTH), border)
    for _ in range(STEPS):
        here = phase[1:-1, 1:-1]
        around = phase[:-2, 1:-1] + phase[2:, 1:-1] + phase[1:-1, :-2] + phase[1:-1, 2:]
        force[1:-1, 1:-1] = around - 4 * here + here * (1 - here**2)
        phase[1:-1, 1:-1] += STEP * force[1:-1, 1:-1]
    return [phase, force]


NEW = Program(
    "partly written, of new memory",
    "H W phase; T×{k R phase w force inside; k R force w phase inside}; H R phase, force",
    make_new,
    run,
    reference=lambda: reference(0.0),
    minimal=Copies(1, 2),
    naive=Copies(4 * STEPS, 4 * STEPS),
    moved=Bytes(4 * (WIDTH * HEIGHT - CORNERS), 2 * 4 * (WIDTH - 2) * (HEIGHT - 2)),
    beside=4 * CORNERS,
    tolerance=1e-5,
)

WRITTEN = Program(
    "partly written, of memory that the host wrote",
    "H W phase, force; T×{k R phase w force inside; k R force w phase inside}; H R phase, force",
    make_written,
    run,
    reference=lambda: reference(BORDER),
    minimal=Copies(1, 2),
    naive=Copies(4 * STEPS, 4 * STEPS),
    moved=Bytes(4 * (WIDTH * HEIGHT - CORNERS), 2 * 4 * (WIDTH - 2) * (HEIGHT - 2)),
    beside=4 * CORNERS,
    tolerance=1e-5,
)

"""The cheapest way down a wall (Rodinia): some rows in each launch, in blocks with a halo."""

from typing import NamedTuple

import numpy as np
from tests.apps.program import Copies, Numbers, Outcome, Program, seeded

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, NDRange, S32Array, i32

ROWS, COLUMNS = 9, 29
AT_ONCE = 2
"""Rows in each launch; a block loses as many columns on each side."""
BLOCK = 12
INNER = BLOCK - 2 * AT_ONCE


class Paths(NamedTuple):
    wall: NDArray[i32]
    first: S32Array
    second: S32Array


@tb.kernel
def walk(kc: KernelContext, wall: NDArray[i32], source: S32Array, to: S32Array, row: i32) -> None:
    """Go down a few rows in local memory; the columns in the middle of the block are right."""
    costs = tb.local(i32, BLOCK)
    me = kc.local_x
    column = kc.group_x * INNER - AT_ONCE + me
    inside = 0 <= column < source.length
    if inside:
        costs[me] = source.array[column]
    kc.barrier("local")
    cost = 0
    for step in range(AT_ONCE):
        walks = inside and step < me < BLOCK - 1 - step
        if walks:
            left = me if column == 0 else me - 1
            right = me if column == source.length - 1 else me + 1
            cheapest = min(costs[left], costs[me], costs[right])
            cost = cheapest + wall[row + step, column]
        kc.barrier("local")
        if walks:
            costs[me] = cost
        kc.barrier("local")
    if inside and AT_ONCE <= me < BLOCK - AT_ONCE:
        to.array[column] = cost


@tb.compute
def walk_down(cc: ComputeContext, paths: Paths) -> S32Array:
    wall, source, to = paths
    blocks = -(-source.length // INNER)
    for row in range(0, wall.shape[0], AT_ONCE):
        cc.dispatch(NDRange(blocks * BLOCK, local=BLOCK), walk, wall, source, to, row)
        source, to = to, source
    return source


def costs() -> Numbers:
    return seeded(12).integers(0, 10, (ROWS, COLUMNS), np.int32)


def make(accelerator: Accelerator) -> Paths:
    wall = accelerator.array(costs()[1:])
    return Paths(wall, S32Array.of(costs()[0]), S32Array.create(accelerator, length=COLUMNS))


def run(accelerator: Accelerator, paths: Paths) -> Outcome:
    return [np.asarray(accelerator.compute(walk_down, paths))]


def reference() -> Outcome:
    cost, *rows = costs()
    for row in rows:
        wide = np.pad(cost, 1, mode="edge")
        cost = row + np.minimum(np.minimum(wide[:-2], wide[2:]), cost)
    return [cost]


LAUNCHES = (ROWS - 1) // AT_ONCE

PATHFINDER = Program(
    "pathfinder",
    "L×{k R wall rows, src W dst; swap}; H R last",
    make,
    run,
    reference,
    minimal=Copies(2, 1),
    naive=Copies(3 * LAUNCHES, 3 * LAUNCHES),
)

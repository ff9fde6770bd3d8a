"""The cheapest way down a wall (Rodinia): some rows in each launch, in blocks with a halo."""

from typing import NamedTuple

import numpy as np
from rodinia_suite.workload import Outcome, Workload, seeded

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, NDRange, S32Array, i32

AT_ONCE = 8
"""Rows in each launch; a block loses as many columns on each side."""
BLOCK = 64
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


def pathfinder(rows: int = 97, columns: int = 100_000) -> Workload[Paths]:
    """The cost of the cheapest way to each place below the wall."""
    costs = seeded(12).integers(0, 10, (rows, columns), np.int32)

    def make(accelerator: Accelerator) -> Paths:
        first, second = S32Array.of(costs[0]), S32Array.create(accelerator, length=columns)
        return Paths(accelerator.array(costs[1:].copy()), first, second)

    def run(accelerator: Accelerator, paths: Paths) -> Outcome:
        return [np.asarray(accelerator.compute(walk_down, paths))]

    def reference() -> Outcome:
        cost, *rest = costs
        for row in rest:
            wide = np.pad(cost, 1, mode="edge")
            cost = row + np.minimum(np.minimum(wide[:-2], wide[2:]), cost)
        return [cost]

    return Workload("pathfinder", f"{columns} × {rows}", make, run, reference)

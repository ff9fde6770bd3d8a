"""Needleman-Wunsch (Rodinia): blocks of a table of scores, one launch for each diagonal of them."""

from typing import NamedTuple

import numpy as np
from rodinia_suite.workload import Outcome, Workload, seeded

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDRange, S32Array2D, i32

BLOCK = 16
PENALTY = 10


class Alignment(NamedTuple):
    similarity: S32Array2D
    scores: S32Array2D


@tb.kernel  # trilby: ignore[wasted-lanes] -- blocks are 16 wide
def align(
    kc: KernelContext, similarity: S32Array2D, scores: S32Array2D, bottom: i32, left: i32
) -> None:
    """Each group fills one block of a diagonal, of which (bottom, left) is the lowest."""
    block = tb.local(i32, BLOCK + 1, BLOCK + 1)
    row = (bottom - kc.group_x) * BLOCK
    column = (left + kc.group_x) * BLOCK
    me = kc.local_x
    if me == 0:
        block[0, 0] = scores.array[row, column]
    block[me + 1, 0] = scores.array[row + me + 1, column]
    block[0, me + 1] = scores.array[row, column + me + 1]
    kc.barrier("local")
    for diagonal in range(2 * BLOCK - 1):
        y = diagonal - me + 1
        x = me + 1
        if 1 <= y <= BLOCK:
            match = block[y - 1, x - 1] + similarity.array[row + y, column + x]
            gap = max(block[y - 1, x], block[y, x - 1]) - PENALTY
            block[y, x] = max(match, gap)
        kc.barrier("local")
    for y in range(1, BLOCK + 1):
        scores.array[row + y, column + me + 1] = block[y, me + 1]


@tb.compute
def align_all(cc: ComputeContext, alignment: Alignment) -> None:
    similarity, scores = alignment
    blocks = (scores.width - 1) // BLOCK
    for count in range(1, blocks + 1):  # the upper left half
        size = NDRange(count * BLOCK, local=BLOCK)
        cc.dispatch(size, align, similarity, scores, bottom=count - 1, left=0)
    for count in range(blocks - 1, 0, -1):  # the lower right half
        size = NDRange(count * BLOCK, local=BLOCK)
        cc.dispatch(size, align, similarity, scores, bottom=blocks - 1, left=blocks - count)


def nw(blocks: int = 128) -> Workload[Alignment]:
    """The scores of all alignments of two sequences."""
    side = BLOCK * blocks + 1
    similarities = seeded(10).integers(-4, 8, (side, side), np.int32)
    borders = np.zeros((side, side), np.int32)
    borders[0, :] = borders[:, 0] = -PENALTY * np.arange(side)

    def make(_: Accelerator) -> Alignment:
        return Alignment(S32Array2D.of(similarities), S32Array2D.of(borders))

    def run(accelerator: Accelerator, alignment: Alignment) -> Outcome:
        accelerator.compute(align_all, alignment)
        return [np.asarray(alignment.scores)]

    def reference() -> Outcome:
        scores = borders.copy()
        for diagonal in range(2, 2 * side - 1):
            y = np.arange(max(1, diagonal - side + 1), min(diagonal, side))
            x = diagonal - y
            gap = np.maximum(scores[y - 1, x], scores[y, x - 1]) - PENALTY
            scores[y, x] = np.maximum(scores[y - 1, x - 1] + similarities[y, x], gap)
        return [scores]

    return Workload("nw", f"{side - 1} × {side - 1}", make, run, reference)

"""LU decomposition in place (Rodinia): three kernels over blocks, all on one matrix."""

import numpy as np
from rodinia_suite.workload import Outcome, Workload, floats

import trilby as tb
from trilby import Accelerator, ComputeContext, F32Array2D, KernelContext, NDRange, f32, i32

BLOCK = 16


@tb.kernel  # trilby: ignore[wasted-lanes] -- blocks are 16 wide
def diagonal(kc: KernelContext, m: F32Array2D, at: i32) -> None:
    """Decompose the block at (at, at) in local memory."""
    block = tb.local(f32, BLOCK, BLOCK)
    me = kc.local_x
    for i in range(BLOCK):
        block[i, me] = m.array[at + i, at + me]
    kc.barrier("local")
    for i in range(BLOCK - 1):
        if me > i:
            for j in range(i):
                block[me, i] -= block[me, j] * block[j, i]
            block[me, i] /= block[i, i]
        kc.barrier("local")
        if me > i:
            for j in range(i + 1):
                block[i + 1, me] -= block[i + 1, j] * block[j, me]
        kc.barrier("local")
    for i in range(1, BLOCK):
        m.array[at + i, at + me] = block[i, me]


@tb.kernel
def perimeter(kc: KernelContext, m: F32Array2D, at: i32) -> None:
    """Solve the blocks right of the diagonal block, and those below: a half of each group."""
    corner = tb.local(f32, BLOCK, BLOCK)
    edge = at + BLOCK * (kc.group_x + 1)
    if kc.local_x < BLOCK:
        for i in range(BLOCK):
            corner[i, kc.local_x] = m.array[at + i, at + kc.local_x]
    kc.barrier("local")
    if kc.local_x < BLOCK:
        column = edge + kc.local_x
        for i in range(1, BLOCK):
            for j in range(i):
                m.array[at + i, column] -= corner[i, j] * m.array[at + j, column]
    else:
        row = edge + kc.local_x - BLOCK
        for i in range(BLOCK):
            for j in range(i):
                m.array[row, at + i] -= m.array[row, at + j] * corner[j, i]
            m.array[row, at + i] /= corner[i, i]


@tb.kernel
def internal(kc: KernelContext, m: F32Array2D, at: i32) -> None:
    """Subtract from the rest what the perimeter explains."""
    y, x = at + BLOCK + kc.y, at + BLOCK + kc.x
    explained: f32 = 0.0
    for i in range(BLOCK):
        explained += m.array[y, at + i] * m.array[at + i, x]
    m.array[y, x] -= explained


@tb.compute
def decompose(cc: ComputeContext, m: F32Array2D) -> None:
    last = m.width - BLOCK
    for at in range(0, last, BLOCK):
        rest = m.width - at - BLOCK
        cc.dispatch(NDRange(BLOCK, local=BLOCK), diagonal, m, at)
        cc.dispatch(NDRange(2 * rest, local=2 * BLOCK), perimeter, m, at)
        cc.dispatch(NDRange((rest, rest), local=(BLOCK, BLOCK)), internal, m, at)
    cc.dispatch(NDRange(BLOCK, local=BLOCK), diagonal, m, last)


def lud(blocks: int = 32) -> Workload[F32Array2D]:
    """A lower and an upper matrix in one, whose product is the matrix."""
    side = BLOCK * blocks
    # Heavy on the diagonal, so that no rows have to be exchanged.
    matrix = floats(11, side, side) + side * np.eye(side, dtype=np.float32)

    def make(_: Accelerator) -> F32Array2D:
        return F32Array2D.of(matrix)

    def run(accelerator: Accelerator, m: F32Array2D) -> Outcome:
        accelerator.compute(decompose, m)
        both = np.asarray(m).astype(np.float64)
        lower, upper = np.tril(both, -1) + np.eye(side), np.triu(both)
        return [both, lower @ upper]

    def reference() -> Outcome:
        m = matrix.astype(np.float64)
        for i in range(side):
            m[i + 1 :, i] /= m[i, i]
            m[i + 1 :, i + 1 :] -= np.outer(m[i + 1 :, i], m[i, i + 1 :])
        return [m, matrix]

    return Workload("lud", f"{side} × {side}", make, run, reference, tolerance=1e-4)

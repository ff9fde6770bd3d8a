"""Matrix products, from naive to register-tiled, and attention, against NumPy."""

import math

import numpy as np
import pytest
from tests.conformance.running import Numbers, assert_near, launch

import trilby as tb
from trilby import Accelerator, F32Array2D, KernelContext, NDArray, NDRange, f32, i32
from trilby.reflect.functions import Kernel

SIZE = 32
TILE = 8


@tb.func
def row_times_column(a: F32Array2D, b: F32Array2D, row: i32, column: i32) -> f32:
    total = 0.0
    for k in range(a.width):
        total += a.array[row, k] * b.array[k, column]
    return total


@tb.kernel
def rows(kc: KernelContext, a: F32Array2D, b: F32Array2D, c: F32Array2D) -> None:
    """One work item for each row."""
    for column in range(b.width):
        c.array[kc.x, column] = row_times_column(a, b, kc.x, column)


@tb.kernel
def naive(kc: KernelContext, a: F32Array2D, b: F32Array2D, c: F32Array2D) -> None:
    """One work item for each number."""
    if kc.x < b.width and kc.y < a.height:
        c.array[kc.y, kc.x] = row_times_column(a, b, kc.y, kc.x)


@tb.kernel
def tiled(kc: KernelContext, a: F32Array2D, b: F32Array2D, c: F32Array2D) -> None:
    """Tiles in local memory, read by all work items of a group."""
    tile_a = tb.local(f32, TILE, TILE)
    tile_b = tb.local(f32, TILE, TILE)
    x, y = kc.local_x, kc.local_y
    total = 0.0
    for t in range(a.width // TILE):
        tile_a[y, x] = a.array[kc.y, t * TILE + x]
        tile_b[y, x] = b.array[t * TILE + y, kc.x]
        kc.barrier()
        for k in range(TILE):
            total += tile_a[y, k] * tile_b[k, x]
        kc.barrier()
    c.array[kc.y, kc.x] = total


BLOCK = 16
DEPTH = 8
OWN = 4
GROUP = BLOCK // OWN


@tb.kernel
def register_tiled(kc: KernelContext, a: F32Array2D, b: F32Array2D, c: F32Array2D) -> None:
    """A block for each group; each work item has OWN by OWN numbers of it in private memory."""
    block_a = tb.local(f32, BLOCK, DEPTH)
    block_b = tb.local(f32, DEPTH, BLOCK)
    sums = tb.private(f32, OWN, OWN)
    column = tb.private(f32, OWN)
    row = tb.private(f32, OWN)
    x, y = kc.local_x, kc.local_y
    me = y * GROUP + x
    items = GROUP * GROUP
    first_row, first_column = kc.group_y * BLOCK, kc.group_x * BLOCK
    for i in range(OWN):
        for j in range(OWN):
            sums[i, j] = 0.0
    for start in range(0, a.width, DEPTH):
        for n in range(me, BLOCK * DEPTH, items):
            block_a[n // DEPTH, n % DEPTH] = a.array[first_row + n // DEPTH, start + n % DEPTH]
            block_b[n // BLOCK, n % BLOCK] = b.array[start + n // BLOCK, first_column + n % BLOCK]
        kc.barrier("local")
        for k in range(DEPTH):
            for i in range(OWN):
                column[i] = block_a[y * OWN + i, k]
                row[i] = block_b[k, x * OWN + i]
            for i in range(OWN):
                for j in range(OWN):
                    sums[i, j] += column[i] * row[j]
        kc.barrier("local")
    for i in range(OWN):
        for j in range(OWN):
            c.array[first_row + y * OWN + i, first_column + x * OWN + j] = sums[i, j]


@tb.kernel
def with_vectors(kc: KernelContext, a: F32Array2D, b: F32Array2D, c: F32Array2D) -> None:
    """Four columns at a time."""
    total = tb.f32x4(0.0, 0.0, 0.0, 0.0)
    x = kc.x * 4
    for k in range(a.width):
        four = tb.f32x4(b.array[k, x], b.array[k, x + 1], b.array[k, x + 2], b.array[k, x + 3])
        total += four * a.array[kc.y, k]
    c.array[kc.y, x], c.array[kc.y, x + 1] = total.x, total.y
    c.array[kc.y, x + 2], c.array[kc.y, x + 3] = total.z, total.w


VARIANTS = [
    (rows, NDRange(SIZE)),
    (naive, NDRange((SIZE, SIZE))),
    (naive, NDRange((SIZE + 3, SIZE + 5), (8, 8))),
    (tiled, NDRange((SIZE, SIZE), (TILE, TILE))),
    (register_tiled, NDRange((SIZE // OWN, SIZE // OWN), (GROUP, GROUP))),
    (with_vectors, NDRange((SIZE // 4, SIZE))),
]


@pytest.mark.parametrize(("kernel", "size"), VARIANTS)
def test_products(accelerator: Accelerator, kernel: Kernel[...], size: NDRange) -> None:
    a, b = np.random.default_rng(1).random((2, SIZE, SIZE)).astype(np.float32)
    c = F32Array2D.create(width=SIZE, height=SIZE)
    launch(accelerator, size, kernel, F32Array2D.of(a), F32Array2D.of(b), c)
    assert_near(c.array, a @ b)


WIDTH = 8
KEYS = 4


@tb.kernel
def flash_attention(
    kc: KernelContext, q: NDArray[f32], k: NDArray[f32], v: NDArray[f32], out: NDArray[f32]
) -> None:
    """Softmax over blocks of keys: what was summed is scaled again when a larger score comes."""
    keys = tb.local(f32, KEYS, WIDTH)
    values = tb.local(f32, KEYS, WIDTH)
    query = tb.private(f32, WIDTH)
    total = tb.private(f32, WIDTH)
    score = tb.private(f32, KEYS)
    for d in range(WIDTH):
        query[d] = q[kc.x, d]
        total[d] = 0.0
    largest = -math.inf
    weight = 0.0
    for start in range(0, k.shape[0], KEYS):
        for d in range(WIDTH):
            keys[kc.local_x, d] = k[start + kc.local_x, d]
            values[kc.local_x, d] = v[start + kc.local_x, d]
        kc.barrier("local")
        before = largest
        for j in range(KEYS):
            dot = 0.0
            for d in range(WIDTH):
                dot += query[d] * keys[j, d]
            score[j] = dot / math.sqrt(WIDTH)
            largest = max(largest, score[j])
        shrink = math.exp(before - largest)
        weight *= shrink
        for d in range(WIDTH):
            total[d] *= shrink
        for j in range(KEYS):
            p = math.exp(score[j] - largest)
            weight += p
            for d in range(WIDTH):
                total[d] += p * values[j, d]
        kc.barrier("local")
    for d in range(WIDTH):
        out[kc.x, d] = total[d] / weight


def attention(q: Numbers, k: Numbers, v: Numbers) -> Numbers:
    scores = q @ k.T / math.sqrt(WIDTH)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights @ v / weights.sum(axis=1, keepdims=True)


def test_flash_attention(accelerator: Accelerator) -> None:
    q, k, v = np.random.default_rng(3).normal(size=(3, 16, WIDTH)).astype(np.float32)
    out = accelerator.array(np.zeros((16, WIDTH), np.float32))
    given = (accelerator.array(array) for array in (q, k, v))
    launch(accelerator, NDRange(16, KEYS), flash_attention, *given, out)
    assert_near(out, attention(*(array.astype(float) for array in (q, k, v))))

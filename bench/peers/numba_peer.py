"""The kernels for Numba, with its parallel loops; atomics exist for its GPUs only."""

import math
from importlib import import_module
from typing import Any

from peers.peer import Function, Peer, PeerAbsentError
from peers.problems import BLOCK, RATE, TILE, VOLATILITY

try:
    numba: Any = import_module("numba")
except ModuleNotFoundError as error:
    raise PeerAbsentError("numba is not installed") from error

prange: Any = numba.prange
f32: Any = numba.float32
RATE32, VOLATILITY32 = f32(RATE), f32(VOLATILITY)


def peer(*, fast: bool) -> Peer:
    """Numba as it is, or with `fastmath`."""
    compile_: Any = numba.njit(parallel=True, fastmath=fast)
    return Peer(
        "numba fastmath" if fast else "numba", {f.__name__: compile_(f) for f in _FUNCTIONS}
    )


def mandelbrot(image: Any, limit: int) -> None:
    height, width = image.shape
    scale = f32(3.0) / f32(width)
    for j in prange(height):
        cy = f32(-1.5) + f32(j) * scale
        for i in range(width):
            cx = f32(-2.0) + f32(i) * scale
            x = y = f32(0.0)
            steps = 0
            while steps < limit and x * x + y * y <= f32(4.0):
                x, y = x * x - y * y + cx, f32(2.0) * x * y + cy
                steps += 1
            image[j, i] = steps


def nbody(pos: Any, acc: Any) -> None:
    for i in prange(pos.shape[0]):
        x, y, z = pos[i, 0], pos[i, 1], pos[i, 2]
        ax = ay = az = f32(0.0)
        for j in range(pos.shape[0]):
            dx, dy, dz = pos[j, 0] - x, pos[j, 1] - y, pos[j, 2] - z
            inverse = f32(1.0) / math.sqrt(dx * dx + dy * dy + dz * dz + f32(0.01))
            pull = pos[j, 3] * inverse * inverse * inverse
            ax += dx * pull
            ay += dy * pull
            az += dz * pull
        acc[i, 0], acc[i, 1], acc[i, 2] = ax, ay, az


def matmul(a: Any, b: Any, c: Any) -> None:
    for y in prange(c.shape[0]):
        for x in range(c.shape[1]):
            total = f32(0.0)
            for k in range(a.shape[1]):
                total += a[y, k] * b[k, x]
            c[y, x] = total


def tiled_matmul(a: Any, b: Any, c: Any) -> None:
    for row in prange(c.shape[0] // TILE):
        for y in range(row * TILE, (row + 1) * TILE):
            for x in range(c.shape[1]):
                c[y, x] = f32(0.0)
        for tile in range(a.shape[1] // TILE):
            for y in range(row * TILE, (row + 1) * TILE):
                for k in range(tile * TILE, (tile + 1) * TILE):
                    for x in range(c.shape[1]):
                        c[y, x] += a[y, k] * b[k, x]


def life(now: Any, later: Any) -> None:
    for y in prange(1, now.shape[0] - 1):
        for x in range(1, now.shape[1] - 1):
            around = now[y - 1, x - 1] + now[y - 1, x] + now[y - 1, x + 1]
            around += now[y, x - 1] + now[y, x + 1]
            around += now[y + 1, x - 1] + now[y + 1, x] + now[y + 1, x + 1]
            later[y, x] = 1 if around == 3 or (around == 2 and now[y, x] == 1) else 0


def black_scholes(price: Any, strike: Any, years: Any, call: Any, put: Any) -> None:
    half, root = f32(0.5), f32(0.70710678)
    for i in prange(price.shape[0]):
        s, k, t = price[i], strike[i], years[i]
        spread = VOLATILITY32 * math.sqrt(t)
        d1 = (math.log(s / k) + (RATE32 + half * VOLATILITY32 * VOLATILITY32) * t) / spread
        d2 = d1 - spread
        later = k * math.exp(-RATE32 * t)
        n1, n2 = half + half * math.erf(d1 * root), half + half * math.erf(d2 * root)
        m1, m2 = half + half * math.erf(-d1 * root), half + half * math.erf(-d2 * root)
        call[i] = s * n1 - later * n2
        put[i] = later * m2 - s * m1


def saxpy(x: Any, y: Any, a: float) -> None:
    factor = f32(a)
    for i in prange(x.shape[0]):
        y[i] = factor * x[i] + y[i]


def stencil(image: Any, weights: Any, out: Any) -> None:
    for y in prange(2, image.shape[0] - 2):
        for x in range(2, image.shape[1] - 2):
            total = f32(0.0)
            for j in range(5):
                for i in range(5):
                    total += weights[j, i] * image[y + j - 2, x + i - 2]
            out[y, x] = total


def prefix_sum(numbers: Any, sums: Any, totals: Any) -> None:
    for block in prange(totals.shape[0]):
        total = 0
        for i in range(block * BLOCK, (block + 1) * BLOCK):
            total += numbers[i]
            sums[i] = total
        totals[block] = total
    for block in range(1, totals.shape[0]):
        totals[block] += totals[block - 1]
    for block in prange(1, totals.shape[0]):
        for i in range(block * BLOCK, (block + 1) * BLOCK):
            sums[i] += totals[block - 1]


_FUNCTIONS: tuple[Function, ...] = (
    mandelbrot, nbody, matmul, tiled_matmul, life, black_scholes, saxpy, stencil, prefix_sum,
)  # fmt: skip

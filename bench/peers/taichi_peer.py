"""The kernels for Taichi, whose outermost loops are parallel."""

# ruff: noqa: ANN201 -- Taichi does not take `-> None`
# pyright: reportInvalidTypeForm=false, reportUntypedFunctionDecorator=false
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeArgument=false

from importlib import import_module
from typing import Any

from peers.peer import Function, Peer, PeerAbsentError
from peers.problems import BLOCK, TILE

try:
    ti: Any = import_module("taichi")
except ModuleNotFoundError as error:
    raise PeerAbsentError("taichi is not installed") from error

ti.init(arch=ti.cpu, log_level=ti.ERROR)
Floats: Any = ti.types.ndarray(dtype=ti.f32, ndim=1)
Grid: Any = ti.types.ndarray(dtype=ti.f32, ndim=2)
Ints: Any = ti.types.ndarray(dtype=ti.i32, ndim=1)
Image: Any = ti.types.ndarray(dtype=ti.i32, ndim=2)
Bytes: Any = ti.types.ndarray(dtype=ti.u8, ndim=1)
Cells: Any = ti.types.ndarray(dtype=ti.u8, ndim=2)


@ti.kernel
def mandelbrot(image: Image, limit: ti.i32):
    scale = 3.0 / image.shape[1]
    for j, i in ti.ndrange(image.shape[0], image.shape[1]):
        cx = -2.0 + i * scale
        cy = -1.5 + j * scale
        x, y = 0.0, 0.0
        steps = 0
        while steps < limit and x * x + y * y <= 4.0:
            x, y = x * x - y * y + cx, 2.0 * x * y + cy
            steps += 1
        image[j, i] = steps


@ti.kernel
def nbody(pos: Grid, acc: Grid):
    for i in range(pos.shape[0]):
        x, y, z = pos[i, 0], pos[i, 1], pos[i, 2]
        ax, ay, az = 0.0, 0.0, 0.0
        for j in range(pos.shape[0]):
            dx, dy, dz = pos[j, 0] - x, pos[j, 1] - y, pos[j, 2] - z
            inverse = 1.0 / ti.sqrt(dx * dx + dy * dy + dz * dz + 0.01)
            pull = pos[j, 3] * inverse * inverse * inverse
            ax += dx * pull
            ay += dy * pull
            az += dz * pull
        acc[i, 0] = ax
        acc[i, 1] = ay
        acc[i, 2] = az


@ti.kernel
def matmul(a: Grid, b: Grid, c: Grid):
    for y, x in ti.ndrange(c.shape[0], c.shape[1]):
        total = 0.0
        for k in range(a.shape[1]):
            total += a[y, k] * b[k, x]
        c[y, x] = total


@ti.kernel
def tiled_matmul(a: Grid, b: Grid, c: Grid):
    for row in range(c.shape[0] // TILE):
        for y in range(row * TILE, (row + 1) * TILE):
            for x in range(c.shape[1]):
                c[y, x] = 0.0
        for tile in range(a.shape[1] // TILE):
            for y in range(row * TILE, (row + 1) * TILE):
                for k in range(tile * TILE, (tile + 1) * TILE):
                    for x in range(c.shape[1]):
                        c[y, x] = c[y, x] + a[y, k] * b[k, x]


@ti.kernel
def life(now: Cells, later: Cells):
    for y, x in ti.ndrange((1, now.shape[0] - 1), (1, now.shape[1] - 1)):
        around = now[y - 1, x - 1] + now[y - 1, x] + now[y - 1, x + 1]
        around += now[y, x - 1] + now[y, x + 1]
        around += now[y + 1, x - 1] + now[y + 1, x] + now[y + 1, x + 1]
        lives = ti.u8(0)
        if around == 3 or (around == 2 and now[y, x] == 1):
            lives = ti.u8(1)
        later[y, x] = lives


@ti.kernel
def saxpy(x: Floats, y: Floats, a: ti.f32):
    for i in range(x.shape[0]):
        y[i] = a * x[i] + y[i]


@ti.kernel
def stencil(image: Grid, weights: Grid, out: Grid):
    for y, x in ti.ndrange((2, image.shape[0] - 2), (2, image.shape[1] - 2)):
        total = 0.0
        for j in range(5):
            for i in range(5):
                total += weights[j, i] * image[y + j - 2, x + i - 2]
        out[y, x] = total


@ti.kernel
def histogram(numbers: Bytes, bins: Ints):
    for i in range(numbers.shape[0]):
        ti.atomic_add(bins[ti.cast(numbers[i], ti.i32)], 1)


@ti.kernel
def prefix_sum(numbers: Ints, sums: Ints, totals: Ints):
    for block in range(totals.shape[0]):
        total = 0
        for i in range(block * BLOCK, (block + 1) * BLOCK):
            total += numbers[i]
            sums[i] = total
        totals[block] = total
    ti.loop_config(serialize=True)
    for block in range(1, totals.shape[0]):
        totals[block] = totals[block] + totals[block - 1]
    for block in range(1, totals.shape[0]):
        for i in range(block * BLOCK, (block + 1) * BLOCK):
            sums[i] = sums[i] + totals[block - 1]


def peer() -> Peer:
    """Taichi on the processor; it has no error function, and so no Black-Scholes."""
    functions: tuple[Function, ...] = (
        mandelbrot, nbody, matmul, tiled_matmul, life, saxpy, stencil, histogram, prefix_sum,
    )  # fmt: skip
    return Peer("taichi", {function.__name__: function for function in functions})

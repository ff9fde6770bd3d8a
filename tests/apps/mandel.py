"""The Mandelbrot set in a picture of which the host touched one pixel before."""

from typing import NamedTuple

import numpy as np
from tests.apps.program import Copies, Numbers, Outcome, Program, seeded

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array, S32Array2D, f32, i32

WIDTH, HEIGHT = 16, 12
STEPS = 16
SCALE = 0.25
"""A power of two, so that rounding is the same everywhere."""


class Buffers(NamedTuple):
    image: S32Array2D
    palette: S32Array


@tb.func
def escape_time(cx: f32, cy: f32, limit: i32) -> i32:
    x: f32 = 0.0
    y: f32 = 0.0
    steps = 0
    while steps < limit and x * x + y * y <= 4.0:
        x, y = x * x - y * y + cx, 2.0 * x * y + cy
        steps += 1
    return steps


@tb.kernel
def draw(kc: KernelContext, image: S32Array2D, palette: S32Array, scale: f32) -> None:
    cx = f32(kc.x) * scale - 2.5
    cy = f32(kc.y) * scale - 1.5
    image.array[kc.y, kc.x] = palette.array[escape_time(cx, cy, palette.length - 1)]


@tb.compute
def touch_and_draw(cc: ComputeContext, image: S32Array2D, palette: S32Array, scale: float) -> int:
    image.array[10, 10] = image.array[10, 10] + 7
    before = image.array[10, 10]
    cc.dispatch((image.width, image.height), draw, image, palette, scale)
    return before


def colours() -> Numbers:
    return seeded(4).integers(0, 1 << 24, STEPS + 1, np.int32)


def make(accelerator: Accelerator) -> Buffers:
    image = S32Array2D.create(accelerator, width=WIDTH, height=HEIGHT)
    return Buffers(image, S32Array.of(colours()))


def run(accelerator: Accelerator, buffers: Buffers) -> Outcome:
    before = accelerator.compute(touch_and_draw, buffers.image, buffers.palette, SCALE)
    return [np.asarray(buffers.image), np.array(before)]


def reference() -> Outcome:
    shape = HEIGHT, WIDTH
    scale = np.float32(SCALE)
    cx = np.broadcast_to(np.arange(WIDTH, dtype=np.float32) * scale - np.float32(2.5), shape)
    cy = np.arange(HEIGHT, dtype=np.float32)[:, None] * scale - np.float32(1.5)
    zx, zy = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    steps = np.zeros(shape, np.int32)
    for _ in range(STEPS):
        near = zx * zx + zy * zy <= 4
        steps += near
        stepped = zx * zx - zy * zy + cx, 2 * zx * zy + cy
        zx, zy = np.where(near, stepped[0], zx), np.where(near, stepped[1], zy)
    return [colours()[steps], np.array(7)]


MANDEL = Program(
    "mandel with a host access before the dispatch",
    "H R+W a[10,10]; k W a, R palette; H R a",
    make,
    run,
    reference,
    minimal=Copies(1, 1),
    naive=Copies(2, 2),
)

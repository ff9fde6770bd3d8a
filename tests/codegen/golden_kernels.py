"""The kernels whose OpenCL C is kept in `tests/golden/opencl`, a file for each.

    python -m tests.codegen.golden_kernels

writes those files anew. Read what changed before you keep it: a test builds and runs the
text, and compares it with the file, but whether it reads well is for people to say.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.codegen.running import text_of

import trilby as tb
from trilby import (
    F32Array,
    KernelContext,
    NDArray,
    S32Array,
    S32Array2D,
    f32,
    f64,
    i16,
    i32,
    i64,
    u8,
    u32,
)
from trilby.reflect.functions import Kernel

FOLDER = Path(__file__).parent.parent / "golden" / "opencl"


@tb.func
def square(v: i32) -> i32:
    return v * v


@tb.kernel
def squares(kc: KernelContext, s32: S32Array) -> None:
    s32.array[kc.x] = square(s32.array[kc.x])


class ResultTable(tb.Buffer):
    class Result(tb.Struct):
        x: f32
        y: f32

    count: tb.Atomic[i32]
    length: i32
    result: tb.Array[Result] = tb.array("length")


@tb.kernel
def result_table(
    kc: KernelContext, xs: F32Array, ys: F32Array, radius: f32, table: ResultTable
) -> None:
    x = xs.array[kc.x]
    y = ys.array[kc.x]
    if x * x + y * y <= radius * radius:
        slot: i32 = tb.atomic_add(table.count, 1)
        if slot < table.length:
            result = table.result[slot]
            result.x = x
            result.y = y


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
def mandel(
    kc: KernelContext, image: S32Array2D, palette: S32Array, left: f32, top: f32, scale: f32
) -> None:
    cx = left + f32(kc.x) * scale
    cy = top + f32(kc.y) * scale
    image.array[kc.y, kc.x] = palette.array[escape_time(cx, cy, palette.length - 1)]


@tb.kernel
def saxpy(kc: KernelContext, a: f32, x: NDArray[f32], y: NDArray[f32], z: NDArray[f32]) -> None:
    z[kc.x] = a * x[kc.x] + y[kc.x]


@tb.kernel
def stencil(kc: KernelContext, source: S32Array2D, target: S32Array2D, wraps: bool) -> None:  # noqa: FBT001 -- a kernel's parameter
    width = source.width
    height = source.height
    total = 0
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            y = kc.y + dy
            x = kc.x + dx
            if wraps:
                total += source.array[y % height, x % width]
            elif 0 <= y < height and 0 <= x < width:
                total += source.array[y, x]
    target.array[kc.y, kc.x] = total // 9


class Scene(tb.Buffer, align=64):
    class Body(tb.Struct):
        class Tag(tb.Union):
            whole: i32
            real: f32
            bits: u32

        alive: bool
        mass: f64
        _: Any = tb.pad(4)
        tag: Tag
        trace: tb.Array[i16] = tb.array(3, stride=6)
        corner: tb.Array[f32] = tb.array(2, 2)
        aligned: i32 = tb.field(align=16)

    n: i32
    fixed: tb.Array[Body] = tb.array(2)
    body: tb.Array[Body] = tb.array("n")


@tb.kernel
def scene(kc: KernelContext, s: Scene) -> None:
    body = s.body[kc.x]
    body.alive = not s.fixed[kc.x % 2].alive
    body.mass = f64(kc.x) / 2.0
    body.tag.real = f32(kc.x) + 0.5
    body.aligned = i32(body.tag.bits >> 16)
    for k in range(3):
        body.trace[k] = i16(kc.x * 10 + k)
    body.corner[1, 0] = s.fixed[1].corner[0, 1] if body.alive else -1.0


class Particles(tb.Buffer):
    n: i32
    alive: tb.Array[bool] = tb.array("n")
    position: tb.Array[f64] = tb.array("n", 3)
    kind: tb.Array[u8] = tb.array("n")
    count: tb.Atomic[i32]
    total: i64


@tb.kernel
def particles(kc: KernelContext, p: Particles) -> None:
    if not p.alive[kc.x]:
        return
    for axis in range(3):
        p.position[kc.x, axis] *= 2.0
    if tb.atomic_add(p.count, 1) == 0:
        p.total = i64(p.n) * i64(p.kind[kc.x])


@tb.func
def weight(kc: KernelContext, n: i32) -> i32:
    return n if kc.pass_id == 0 else 1


@tb.kernel
def passes(kc: KernelContext, a: NDArray[i32], b: NDArray[i32], pass_id: i32) -> None:
    source = a if kc.pass_id % 2 == 0 else b
    to = b if kc.pass_id % 2 == 0 else a
    to[kc.x] = source[kc.x] * weight(kc, pass_id)


@tb.kernel
def marks(kc: KernelContext, a: NDArray[i32]) -> None:
    a[kc.z, kc.y, kc.x] += 1


GOLDEN: Mapping[str, Kernel[...]] = {
    "squares": squares,
    "passes": passes,
    "result_table": result_table,
    "mandel": mandel,
    "saxpy": saxpy,
    "stencil": stencil,
    "scene": scene,
    "particles": particles,
}


def write() -> None:
    """Write all files anew."""
    for name, kernel in GOLDEN.items():
        (FOLDER / f"{name}.cl").write_text(text_of(kernel))


if __name__ == "__main__":
    write()

"""Math on whole vectors, as users write it; checkers read this, and it runs on every backend."""

import math
from typing import assert_type

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, f32, i32


class Field(tb.Buffer):
    n: i32
    at: tb.Array[tb.f32x3] = tb.array("n")
    wave: tb.Array[tb.f32x3] = tb.array("n")
    angle: tb.Array[tb.f32x2] = tb.array("n")
    cell: tb.Array[tb.i32x2] = tb.array("n")
    bits: tb.Array[tb.u32x2] = tb.array("n")
    level: tb.Array[f32] = tb.array("n")


@tb.func
def waved(at: tb.f32x3, low: f32) -> tb.f32x3:
    near = tb.max(tb.exp(-tb.sqrt(tb.fabs(at))), low)
    return tb.min(near, tb.sin(at) + 1.0, 0.75) * tb.pow(2.0, tb.floor(at))


@tb.kernel
def fill(kc: KernelContext, field: Field) -> None:
    at = field.at[kc.x]
    field.wave[kc.x] = waved(at, 0.25)
    field.angle[kc.x] = tb.atan2(at.yx, tb.f32x2(1.0, 2.0)) + tb.hypot(at.xy, 3.0)
    cell = tb.i32x2(kc.x, 5 - kc.x)
    field.cell[kc.x] = tb.max(tb.min(cell, 3), cell - 4) + tb.popcount(cell)
    field.bits[kc.x] = tb.clz(tb.u32x2(1, 256))
    field.level[kc.x] = tb.sqrt(16.0) + f32(tb.min(kc.x, 1)) + math.sqrt(4.0)


@tb.compute
def fill_all(cc: ComputeContext, field: Field) -> None:
    cc.dispatch(field.n, fill, field)


def use_field(accelerator: Accelerator) -> Field:
    field = Field.create(n=3)
    for i in range(3):
        field.at[i] = tb.f32x3(0.5 * i, 1.0, -1.5 * i)
    accelerator.compute(fill_all, field)
    return field


def use_the_host() -> tb.f32x3:
    """The functions are plain Python there, and a checker knows what they give."""
    v, i = tb.f32x3(0.5, 1.0, -1.5), tb.i32x2(-1, 8)
    assert_type(tb.sqrt(v), tb.f32x3)
    assert_type(tb.sqrt(2), float)
    assert_type(tb.atan2(v, v), tb.f32x3)
    assert_type(tb.atan2(1.0, v), tb.f32x3)
    assert_type(tb.fmod(v, 1.0), tb.f32x3)
    assert_type(tb.hypot(3.0, 4.0), float)
    assert_type(tb.min(v, 1.0), tb.f32x3)
    assert_type(tb.min(0.0, v, 1.0), tb.f32x3)
    assert_type(tb.max(i, 3), tb.i32x2)
    assert_type(tb.max(1, 2, 3), int)
    assert_type(tb.max(1.0, 2), float)
    assert_type(tb.popcount(i), tb.i32x2)
    assert_type(tb.clz(8), int)
    assert_type(abs(v), tb.f32x3)
    return waved(v, 0.25)

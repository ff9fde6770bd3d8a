"""A user's program with kernels, checked by pyright strict and mypy strict, and run as a test."""

from typing import assert_type

import numpy as np
import numpy.typing as npt

import trilby as tb
from trilby import (
    Accelerator,
    ComputeContext,
    F32Array,
    KernelContext,
    NDArray,
    NDRange,
    S32Array,
    S32Array2D,
    f32,
    i32,
)

LIMIT = 100


class Table(tb.Buffer):
    class Found(tb.Struct):
        index: i32
        value: f32

    count: tb.Atomic[i32]
    length: i32
    found: tb.Array[Found] = tb.array("length")


@tb.func
def clamp(v: i32, low: i32, high: i32) -> i32:
    return low if v < low else min(v, high)


@tb.func
def average(grid: S32Array2D, x: i32, y: i32) -> i32:
    total: i32 = 0
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            row = clamp(y + dy, 0, grid.height - 1)
            column = clamp(x + dx, 0, grid.width - 1)
            total += grid.array[row, column]
    return total // 9


@tb.kernel
def blur(kc: KernelContext, source: S32Array2D, target: S32Array2D) -> None:
    target.array[kc.y, kc.x] = average(source, kc.x, kc.y)


@tb.kernel
def scale(kc: KernelContext, values: F32Array, factor: f32, offset: i32) -> None:
    if kc.x < values.length:
        values.array[kc.x] = values.array[kc.x] * factor + f32(offset)


@tb.kernel
def find(kc: KernelContext, values: F32Array, limit: f32, table: Table) -> None:
    value = values.array[kc.x]
    if value > limit and kc.x < LIMIT:
        slot = tb.atomic_add(table.count, 1)
        if slot < table.length:
            found = table.found[slot]
            found.index = kc.x
            found.value = value


@tb.kernel
def outer_product(kc: KernelContext, a: NDArray[f32], b: NDArray[f32], c: NDArray[f32]) -> None:
    if kc.y < c.shape[0] and kc.x < c.shape[1]:
        c[kc.y, kc.x] = a[kc.y] * b[kc.x]


@tb.compute
def blur_often(cc: ComputeContext, a: S32Array2D, b: S32Array2D, times: int) -> S32Array2D:
    size = NDRange((a.width, a.height), local=(2, 2))
    for _ in range(times):
        cc.dispatch(size, blur, a, b)
        a, b = b, a
    return a


@tb.compute
def scale_and_find(cc: ComputeContext, values: F32Array, table: Table, factor: float = 2.0) -> int:
    cc.dispatch(values.length, scale, values, factor, offset=1)
    cc.dispatch(values.length, lambda kc: find(kc, values, 3.0, table))
    return table.count


@tb.compute
def both(cc: ComputeContext, values: F32Array, table: Table) -> tuple[int, int]:
    first = scale_and_find(cc, values, table)
    assert_type(first, int)
    table.count = 0
    return first, scale_and_find(cc, values, table, factor=1.0)


@tb.compute
def multiply(cc: ComputeContext, a: NDArray[f32], b: NDArray[f32], c: NDArray[f32]) -> None:
    cc.dispatch((b.shape[0], a.shape[0]), lambda kc: outer_product(kc, a, b, c))


@tb.compute
def choose(cc: ComputeContext, numbers: S32Array, double: bool) -> None:  # noqa: FBT001 -- a user may
    kernel = double_kernel if double else negate_kernel
    cc.dispatch(numbers.length, kernel, numbers)


@tb.kernel
def double_kernel(kc: KernelContext, numbers: S32Array) -> None:
    numbers.array[kc.x] *= 2


@tb.kernel
def negate_kernel(kc: KernelContext, numbers: S32Array) -> None:
    numbers.array[kc.x] = -numbers.array[kc.x]


def use_grids(accelerator: Accelerator, pixels: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    a = S32Array2D.of(pixels)
    b = S32Array2D.create(accelerator, width=a.width, height=a.height)
    last = accelerator.compute(blur_often, a, b, 3)
    assert_type(last, S32Array2D)
    again = accelerator.compute(lambda cc: blur_often(cc, a, b, times=0))
    assert_type(again, S32Array2D)
    return np.asarray(last)


def use_table(accelerator: Accelerator) -> tuple[int, int, list[int]]:
    values = F32Array.of([0.0, 1.0, 2.0, 3.0])
    table = Table.create(accelerator, length=4)
    with accelerator.record() as ledger:
        first, second = accelerator.compute(lambda cc: both(cc, values, table))
    assert_type(first, int)
    assert_type(ledger.bytes_up, int)
    places = sorted(row.index for row in table.found[: table.count])
    return first, second, places


def use_arrays(accelerator: Accelerator) -> NDArray[f32]:
    a, b = accelerator.array(np.ones(2, np.float32)), accelerator.array([1.0, 2.0, 3.0])
    c: NDArray[f32] = accelerator.array(np.zeros((2, 3), np.float32))
    accelerator.compute(multiply, a, accelerator.array(np.asarray(b).astype(np.float32)), c)
    return c


def use_choice(accelerator: Accelerator, numbers: S32Array) -> None:
    accelerator.compute(choose, numbers, double=True)
    accelerator.compute(lambda cc: choose(cc, numbers, double=False))
    assert_type(clamp(3, 0, 2), int)  # a helper is plain Python on the host


def show(accelerator: Accelerator) -> str:
    context = accelerator.context_of(both)
    return f"{context}\n{accelerator.source_of(blur)}\n{accelerator.device.name}"

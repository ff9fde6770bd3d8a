"""A user's program with buffers, checked by pyright strict and mypy strict, and run as a test.

The functions stand for bodies of kernels: plain Python on buffers and scalars.
"""

from typing import Any, assert_type

import numpy as np

import trilby as tb
from trilby import F32Array, NDArray, RGBAImage, S32Array, S32Array2D, f32, i32, u8, u32


class Bits(tb.Union):
    number: f32
    pattern: u32


class ResultTable(tb.Buffer):
    class Result(tb.Struct):
        x: f32
        y: f32
        bits: Bits
        found: bool
        _: Any = tb.pad(3)
        trace: tb.Array[f32] = tb.array(4)

    count: tb.Atomic[i32]
    length: i32
    result: tb.Array[Result] = tb.array("length")
    weight: tb.Array[f32] = tb.array("length", stride=16)


class Aligned(tb.Struct, align=16):
    x: f32 = tb.field(align=16)
    y: f32


def square(v: i32) -> i32:
    return v * v


def square_item(x: i32, s32: S32Array) -> None:
    s32.array[x] = square(s32.array[x])


def blur_item(x: i32, y: i32, source: S32Array2D, target: S32Array2D) -> None:
    total: i32 = 0
    for dx in range(-1, 2):
        total += source.array[y, (x + dx) % source.width]
    target.array[y, x] = total // 3


def find_item(x: i32, values: F32Array, limit: f32, table: ResultTable) -> None:
    acc: f32 = 0.0
    for i in range(x):
        acc += values.array[i] * f32(i)
    if acc > limit:
        slot = table.count
        table.count = slot + 1
        found = table.result[slot]
        found.x = acc
        found.y = f32(x) / 2
        found.bits.number = 1.0
        found.found = True
        found.trace[0] = acc


def saxpy_item(x: i32, factor: f32, a: NDArray[f32], b: NDArray[f32]) -> None:
    b[x] = factor * a[x] + b[x]
    if a.shape[0] > x:
        b[x] += 1


def shade_item(x: i32, y: i32, level: u8, image: RGBAImage) -> None:
    pixel = image.pixel[y, x]
    pixel.r = level
    pixel.g = u8(level * 2)


def use_numbers() -> S32Array:
    numbers = S32Array.create(None, length=32)
    numbers.array[:] = range(32)
    numbers.array[1:3] = [7, 8]
    numbers.array[::2] = np.arange(16)
    numbers.array[np.arange(32) > 30] = 0
    numbers.array[0] = np.int64(3)
    assert_type(numbers, S32Array)
    assert_type(numbers.array[3], int)
    assert_type(numbers.array[2:5], tb.Array[int])
    assert_type(numbers.length, int)
    numbers.array[2:5] += 1
    numbers.array += 1
    square_item(3, numbers)
    return numbers


def compute_with_numpy(numbers: S32Array) -> float:
    total: float = numbers.array.sum() + numbers.array[2:4].mean()
    doubled = numbers.array[:] * 2
    waves = np.sin(numbers.array)
    return float(total + doubled.sum() + waves.max())


def use_structs() -> ResultTable:
    table = ResultTable.create(length=100)
    table.count = 0
    table.count += 1
    assert_type(table.count, int)
    assert_type(table.result[3], ResultTable.Result)
    assert_type(table.result[3].x, float)
    assert_type(table.result[3].trace[1], float)
    table.result[3].x = 1.0
    table.result.y[:] = 4.0
    table.result[4] = table.result[3]
    table.result[5] = ResultTable.Result(x=1.0, y=2.0, bits=Bits(), found=True)
    table.weight.fill(0.5)
    for result in table.result:
        assert_type(result, ResultTable.Result)
    aligned = Aligned(x=1.0, y=2.0)
    table.result[6].y = aligned.y
    find_item(3, F32Array.of([1.0, 2.0, 3.0]), 0.5, table)
    return table


def use_two_dimensions() -> np.ndarray[Any, Any]:
    grid = S32Array2D.of(np.arange(12).reshape(3, 4))
    assert_type(grid.array[1, 2], int)
    assert_type(grid.array[1, :], tb.Array[int])
    blurred = S32Array2D.create(width=4, height=3)
    for y in range(3):
        for x in range(4):
            blur_item(x, y, grid, blurred)
    return np.asarray(blurred)


def use_own_memory(memory: bytearray) -> None:
    with S32Array.bind(memory, length=2) as shared:
        shared.array.raw()[1] = 1


def use_n_d_arrays() -> NDArray[f32]:
    a: NDArray[f32] = NDArray(np.ones(8, np.float32))
    b: NDArray[f32] = NDArray(np.zeros(8, np.float32))
    for x in range(8):
        saxpy_item(x, 2.0, a, b)
    b += a
    assert_type(b[1], float)
    return b


def use_images() -> RGBAImage:
    image = RGBAImage.create(width=1, height=1)
    shade_item(0, 0, 100, image)
    image.channels[0, 0, 3] = 255
    return image

"""`bf16`: stored in 16 bits, computed with as `f32`, rounded after each step; as in ml_dtypes."""

import math
from typing import Any

import ml_dtypes
import numpy as np
from tests.conformance.running import Numbers, assert_close, filled, launch

import trilby as tb
from trilby import (
    Accelerator,
    BF16Array,
    BF16Array2D,
    KernelContext,
    NDArray,
    bf16,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u64,
)

BF16: Any = ml_dtypes.bfloat16


def every_number() -> Numbers:
    """All bit patterns: zeros, subnormals, infinities, NaN."""
    return np.arange(2**16, dtype=np.uint16).view(BF16)


def edges() -> Numbers:
    """Numbers that round badly, and the ends of the range."""
    finite = [0.0, -0.0, 1.0, -1.0, 0.1, 3.0, -7.5, 255.0, 256.0, 1e-3, 1e30, 3.3895e38, 1e-40]
    return np.array([*finite, 9.2e-41, math.inf, -math.inf, math.nan], BF16)


def assert_same(found: Numbers, expected: Numbers) -> None:
    """Bit for bit, but for the bits of a NaN."""
    with np.errstate(invalid="ignore"):  # some NaN are of the kind that complains
        both_nan = np.isnan(found) & np.isnan(expected)
    differs = (found.view(np.uint16) != expected.view(np.uint16)) & ~both_nan
    assert not differs.any(), f"{found[differs]} should be {expected[differs]}"


@tb.kernel
def arithmetic(kc: KernelContext, out: NDArray[bf16], a: NDArray[bf16], b: NDArray[bf16]) -> None:
    x = a[kc.x]
    y = b[kc.x]
    out[0, kc.x] = x + y
    out[1, kc.x] = x - y
    out[2, kc.x] = x * y
    out[3, kc.x] = x / y
    out[4, kc.x] = -x
    out[5, kc.x] = abs(x)
    out[6, kc.x] = x * 0.1 + 1
    out[7, kc.x] = math.sqrt(abs(x))
    out[8, kc.x] = max(x, y)


def test_each_step_is_rounded(accelerator: Accelerator) -> None:
    a, b = (side.ravel() for side in np.meshgrid(edges(), edges()))
    found = filled(accelerator, a.size, arithmetic, np.zeros((9, a.size), BF16), a, b)
    with np.errstate(all="ignore"):
        larger = np.where(b > a, b, a)  # as Python's `max` has it
        expected = [a + b, a - b, a * b, a / b, -a, abs(a), a * BF16(0.1) + BF16(1)]
        expected += [np.sqrt(abs(a)), larger]
    for row, wanted in zip(found, expected, strict=True):
        assert_same(row, wanted)


@tb.kernel
def rounded_down(kc: KernelContext, out: NDArray[bf16], a: NDArray[bf16], b: NDArray[bf16]) -> None:
    out[0, kc.x] = a[kc.x] // b[kc.x]
    out[1, kc.x] = a[kc.x] % b[kc.x]
    out[2, kc.x] = a[kc.x] ** 2.0
    out[3, kc.x] = math.sin(a[kc.x])


def test_quotients_powers_and_functions(accelerator: Accelerator) -> None:
    numbers = np.array([0.1, -0.7, 1.0, 3.0, -3.0, 12.5, 100.0], BF16)
    a, b = (side.ravel() for side in np.meshgrid(numbers, numbers))
    found = filled(accelerator, a.size, rounded_down, np.zeros((4, a.size), BF16), a, b)
    wide, other = a.astype(np.float32), b.astype(np.float32)
    assert_same(found[0], (wide // other).astype(BF16))
    assert_same(found[1], (wide % other).astype(BF16))
    assert_close(found[2], (wide**2).astype(BF16), 1)
    assert_close(found[3], np.sin(wide).astype(BF16), 1)


@tb.kernel
def to_bf16(
    kc: KernelContext,
    out: NDArray[bf16],
    single: NDArray[f32],
    double: NDArray[f64],
    half: NDArray[f16],
    whole: NDArray[i64],
    natural: NDArray[u64],
) -> None:
    i = kc.x
    out[0, i] = bf16(single[i])
    out[1, i] = bf16(double[i])
    out[2, i] = bf16(half[i])
    out[3, i] = bf16(whole[i])
    out[4, i] = bf16(i32(whole[i]))
    out[5, i] = bf16(natural[i])
    out[6, i] = bf16(whole[i] > 0)


def test_numbers_become_bf16_to_the_nearest_even(accelerator: Accelerator) -> None:
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 2**32, 4000, dtype=np.uint32)
    bits[:2000] &= 0xFFFF8000  # half of them lie between two numbers
    bits[:2] = 0x7F800001, 0xFF80FFFF  # NaN that cutting off would make infinite
    single = bits.view(np.float32)
    double = np.where(np.isnan(single), 1.5, single).astype(np.float64) * (1 + 2.0**-40)
    half = rng.integers(0, 2**16, 4000, dtype=np.uint16).view(np.float16)
    whole = rng.integers(-(2**63), 2**63 - 1, 4000) >> rng.integers(0, 60, 4000)
    whole[0] = 2**62 + 2**54 + 1
    natural = whole.view(np.uint64)
    out = np.zeros((7, 4000), BF16)
    found = filled(accelerator, 4000, to_bf16, out, single, double, half, whole, natural)
    with np.errstate(all="ignore"):
        assert_same(found[0], single.astype(BF16))
        assert_same(found[1], double.astype(BF16))
        assert_same(found[2], half.astype(np.float32).astype(BF16))
        assert_same(found[3], whole.astype(np.float32).astype(BF16))
        assert_same(found[4], whole.astype(np.int32).astype(np.float32).astype(BF16))
        assert_same(found[5], natural.astype(np.float32).astype(BF16))
        assert_same(found[6], (whole > 0).astype(BF16))


@tb.kernel
def from_bf16(
    kc: KernelContext,
    same: NDArray[bf16],
    half: NDArray[f16],
    wide: NDArray[f64],
    a: NDArray[bf16],
) -> None:
    x = a[kc.x]
    same[kc.x] = x
    half[kc.x] = x
    wide[0, kc.x] = x
    wide[1, kc.x] = u8(x)
    wide[2, kc.x] = i16(x)
    wide[3, kc.x] = bool(x)
    wide[4, kc.x] = x < 1.0
    wide[5, kc.x] = math.isnan(x)


def test_every_bf16_is_read_and_converted(accelerator: Accelerator) -> None:
    numbers = every_number()
    arrays = [np.zeros(2**16, BF16), np.zeros(2**16, np.float16), np.zeros((6, 2**16))]
    same, half, wide = map(accelerator.array, arrays)
    launch(accelerator, 2**16, from_bf16, same, half, wide, accelerator.array(numbers))
    assert_same(np.asarray(same), numbers)
    with np.errstate(all="ignore"):
        single = numbers.astype(np.float32)
        expected = single.astype(np.float16)
        assert np.array_equal(np.asarray(half), expected, equal_nan=True)
        known = np.nan_to_num(single.astype(np.float64))
        rows = [single, np.trunc(known).clip(0, 255), np.trunc(known).clip(-(2**15), 2**15 - 1)]
        rows += [single != 0, single < 1, np.isnan(single)]
        expected = np.array(rows, np.float64)
    assert np.array_equal(np.asarray(wide), expected, equal_nan=True)


class Sample(tb.Struct):
    first: bf16
    flag: bool
    second: bf16
    wide: f32


class Samples(tb.Buffer):
    n: i32
    scale: bf16
    sample: tb.Array[Sample] = tb.array("n")


@tb.func
def turned(s: Sample, by: bf16) -> Sample:
    return Sample(first=s.second * by, flag=not s.flag, second=s.first, wide=s.first + s.second)


@tb.kernel
def turn(kc: KernelContext, samples: Samples, by: bf16, more: Sample) -> None:
    mine = samples.sample[kc.x]
    samples.sample[kc.x] = turned(mine, by)
    samples.sample[kc.x].wide += more.second
    own = tb.private(bf16, 2)
    own[1] = samples.scale
    samples.sample[kc.x].second *= own[1]


def test_fields_structs_arguments_and_private_arrays(accelerator: Accelerator) -> None:
    samples = Samples.create(n=2)
    samples.scale = 3.0
    samples.sample[0] = Sample(first=0.1, flag=True, second=2.5, wide=0.0)
    samples.sample[1] = Sample(first=1e30, flag=False, second=-1.0, wide=0.0)
    more = Sample(first=0.0, flag=False, second=0.3, wide=0.0)
    launch(accelerator, 2, turn, samples, 0.7, more)
    by, tenth, added = BF16(0.7), BF16(0.1), np.float32(BF16(0.3))
    first, second = samples.sample[0], samples.sample[1]
    assert (first.first, first.flag) == (float(BF16(2.5) * by), False)
    assert first.second == float(tenth * BF16(3.0))
    assert first.wide == np.float32(tenth + BF16(2.5)) + added
    assert (second.first, second.flag) == (float(BF16(-1.0) * by), True)


@tb.kernel
def plane(kc: KernelContext, a: BF16Array2D, row: BF16Array) -> None:
    a.array[kc.y, kc.x] = a.array[kc.y, kc.x] + row.array[kc.x]


def test_the_shipped_buffers(accelerator: Accelerator) -> None:
    numbers = np.arange(12).reshape(3, 4).astype(BF16)
    a, row = BF16Array2D.of(numbers), BF16Array.of([0.5, 0.25, 0.1, 300.0])
    launch(accelerator, (4, 3), plane, a, row)
    assert_same(np.asarray(a), numbers + np.asarray(row))


@tb.kernel
def mixed(kc: KernelContext, out: NDArray[f64], a: bf16, b: f16, c: i8, d: i16) -> None:
    out[0] = a * b
    out[1] = a * c
    out[2] = a * d
    out[3] = a * 3


def test_bf16_beside_other_types(accelerator: Accelerator) -> None:
    out = filled(accelerator, 1, mixed, np.zeros(4), 0.1, 0.3, 101, 1001)
    a, b = BF16(0.1), np.float16(0.3)
    single = np.float32(a)
    assert out[0] == single * np.float32(b)
    assert out[1] == a * BF16(101)
    assert out[2] == single * np.float32(1001)
    assert out[3] == a * BF16(3)


def test_the_host_reads_and_writes_bf16() -> None:
    buffer = BF16Array.create(length=4)
    buffer.array[0] = 0.1
    buffer.array[1:3] = np.array([0.2, 300.5], np.float32)
    buffer.array[3] = BF16(7.0)
    expected = np.array([0.1, 0.2, 300.5, 7.0]).astype(BF16)
    assert np.asarray(buffer).dtype == np.dtype(BF16)
    assert_same(np.asarray(buffer), expected)
    assert buffer.array[0] == float(BF16(0.1))
    assert repr(buffer) == "BF16Array[length=4, array=bf16[4]]"
    array = NDArray[bf16](expected)
    assert np.asarray(array).dtype == np.dtype(BF16)
    assert_same(np.asarray(array), expected)
    assert float((array * 2)[1]) == float(expected[1]) * 2
    array[:2] = expected[2:]
    assert_same(expected[:2], expected[2:])

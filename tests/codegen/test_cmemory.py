"""Places in memory: structs, unions, strides, several arrays in a buffer, bools and halves."""

# ruff: noqa: ARG001 -- a kernel takes its context, used or not

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.codegen.running import copy_of, run_both, run_on, text_of

import trilby as tb
from trilby import (
    F16Array,
    KernelContext,
    NDArray,
    S32Array,
    S32Array2D,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u32,
)
from trilby.data.dtypes import I32
from trilby.reflect.functions import Kernel


def check(kernel: Kernel[...], count: int, *args: Any) -> list[Any]:
    """Run on both backends and as plain Python, and compare the bytes of every buffer."""
    outcome = run_both(kernel, count, *args)
    plain = [copy_of(arg) for arg in args]
    for x in range(count):
        context: Any = SimpleNamespace(x=x, y=0, z=0, max_x=count, max_y=1, max_z=1)
        kernel.function(context, *plain)
    for side in (outcome.interpreter, outcome.opencl):
        for expected, found in zip(plain, side, strict=True):
            if isinstance(expected, tb.Buffer | np.ndarray):
                assert raw(found) == raw(expected)
    return outcome.opencl


def raw(arg: Any) -> bytes:
    memory = arg.segment.memory if isinstance(arg, tb.Buffer) else arg
    return memory.tobytes()


# -- structs ------------------------------------------------------------------------------


class Number(tb.Union):
    whole: i32
    real: f32
    bits: u32


class Inner(tb.Struct):
    small: u8
    matrix: tb.Array[f32] = tb.array(2, 3)
    number: Number


class Scene(tb.Buffer, align=64):
    class Body(tb.Struct):
        alive: bool
        mass: f64
        _: Any = tb.pad(4)
        inner: Inner
        trace: tb.Array[i16] = tb.array(3, stride=6)
        aligned: i32 = tb.field(align=16)

    n: i32
    first: Body
    fixed: tb.Array[Inner] = tb.array(2)
    wide: tb.Array[f32] = tb.array(2, 2, stride=12)
    body: tb.Array[Body] = tb.array("n")
    grid: tb.Array[i64] = tb.array("n", 2)
    far: tb.Array[u8] = tb.array("n", stride=3)
    total: f64
    last: Inner


@tb.kernel
def fill_scene(kc: KernelContext, s: Scene) -> None:
    i = kc.x
    body = s.body[i]
    body.alive = i % 2 == 0
    body.mass = f64(i) * 1.5
    body.inner.small = u8(i * 100)
    for y in range(2):
        for x in range(3):
            body.inner.matrix[y, x] = f32(i * 100 + y * 10 + x)
    inner = body.inner
    inner.number.real = f32(i) + 0.5
    for k in range(3):
        s.body[i].trace[k] = i16(i * 10 + k)
    body.aligned = i32(inner.number.bits >> 16)
    s.grid[i, 0] = i64(i) * 10000000000
    s.grid[i, 1] = s.grid[i, 0] + i64(body.trace[2])
    s.far[i] = u8(i + 1)
    if i == 0:
        s.first.alive = not s.body[0].alive
        s.first.inner.matrix[1, 2] = 5.0
        s.fixed[1].matrix[0, 1] = s.first.inner.matrix[1, 2] * 2.0
        s.fixed[1].number.whole = -1
        s.wide[1, 0] = 1.25
        s.wide[0, 1] = s.wide[1, 0] * 2.0
        s.total = 99.0
        s.last.small = 7
        s.last.matrix[1, 1] = f32(s.n)


def test_every_kind_of_place_is_read_and_written_where_the_host_finds_it() -> None:
    found = check(fill_scene, 5, Scene.create(n=5))[0]
    assert found.body[3].inner.matrix[1, 2] == 312
    assert found.body[3].inner.number.real == 3.5
    assert found.fixed[1].number.bits == 0xFFFFFFFF
    assert found.wide[0, 1] == 2.5
    assert found.grid[4, 1] == 40000000042
    assert found.far[4] == 5
    assert found.last.matrix[1, 1] == 5


@tb.func
def grow(s: Scene, place: i32, by: f64) -> f64:
    body = s.body[place]
    body.mass += by
    return body.mass


@tb.kernel
def through_references(kc: KernelContext, s: Scene) -> None:
    body = s.body[kc.x]
    before = body.mass
    after = grow(s, kc.x, 2.0)
    other = s.body[(kc.x + 1) % s.n] if kc.x > 5 else body
    other.aligned = i32(before * 100.0) + i32(after)
    s.grid[kc.x, 0] = i64(grow(s, kc.x, 1.0))


def test_references_are_places_not_copies() -> None:
    scene = Scene.create(n=3)
    scene.body.mass[:] = [1, 2, 3]
    found = check(through_references, 3, scene)[0]
    assert [body.mass for body in found.body] == [4, 5, 6]
    assert [body.aligned for body in found.body] == [103, 204, 305]


class Pair(tb.Buffer):
    n: i32
    left: tb.Array[u8] = tb.array("n")
    right: tb.Array[f64] = tb.array("n")
    sum: f64
    count: tb.Atomic[i32]


@tb.kernel
def pair_up(kc: KernelContext, p: Pair) -> None:
    p.right[kc.x] = f64(p.left[kc.x]) / 2.0
    tb.atomic_add(p.count, 1)
    if kc.x == p.n - 1:
        p.sum = p.right[kc.x]


@pytest.mark.parametrize("n", [1, 3, 8])
def test_arrays_and_fields_behind_a_length_bound_array(n: int) -> None:
    pair = Pair.create(n=n)
    pair.left[:] = np.arange(n)
    outcome = run_both(pair_up, n, pair)
    for side in (outcome.interpreter, outcome.opencl):
        assert side[0].right[:].tolist() == [k / 2 for k in range(n)]
        assert side[0].sum == (n - 1) / 2
        assert side[0].count == n


# -- indices ------------------------------------------------------------------------------


@tb.kernel
def three_axes(kc: KernelContext, a: NDArray[i32], out: NDArray[i32]) -> None:
    z = kc.x // 6
    y = kc.x // 3 % 2
    x = kc.x % 3
    out[kc.x] = a[z, y, x] + a[0, 0, x] * 100 + a[z, 0, 0] * 10000 + a[1, y, 0] * 1000000


def test_three_dimensions_and_constant_indices() -> None:
    a = np.arange(24, dtype=np.int32).reshape(4, 2, 3)
    check(three_axes, 24, a, np.zeros(24, np.int32))


def test_flat_indices_are_wide_and_leave_out_zeros() -> None:
    text = text_of(three_axes, (3, 1))
    assert "a[(long)((long)z * a_shape1 + y) * a_shape2 + x]" in text
    assert "(uint)a[x] * 100" in text
    assert "a[(long)((long)z * a_shape1) * a_shape2] * 10000" in text
    assert "a[(long)(1L * a_shape1 + y) * a_shape2] * 1000000" in text


@tb.kernel
def unsigned_indices(kc: KernelContext, a: S32Array2D, shift: u32) -> None:
    a.array[1, u32(kc.x) + 1 + shift] = kc.x + 2


def test_an_unsigned_index_wraps_before_it_is_used() -> None:
    """`x + 4294967295` is `x - 1`, also in the middle of a row."""
    outcome = run_both(unsigned_indices, 3, S32Array2D.create(width=4, height=3), 2**32 - 1)
    for side in (outcome.interpreter, outcome.opencl):
        assert side[0].array[1, :].tolist() == [2, 3, 4, 0]


@tb.kernel
def tiles(kc: KernelContext, a: NDArray[i32], n: i32, m: i32) -> None:
    for tile in range(n // 16):
        a[tile * 16 + kc.x, kc.x + m] = kc.x + tile + 1
    a[0, kc.x * 2 + kc.y] = 7
    bound = kc.x + kc.max_x
    a[1, bound] = bound


def test_a_sum_that_could_only_wrap_to_a_negative_index_is_plain() -> None:
    """Parts of such a sum that may wrap by themselves do, and so does a variable."""
    text = text_of(tiles, (2,))
    assert "tile < (n >> 4)" in text
    assert "a[(long)(tile * 16 + kc->x) * a_shape1 + kc->x + m]" in text
    assert "(int)((uint)kc->x * 2) + kc->y]" in text
    assert "int bound = (int)((uint)kc->x + kc->max_x);" in text


def test_plain_sums_lead_to_the_same_places() -> None:
    a = np.zeros((35, 8), np.int32)
    expected = a.copy()
    for x in range(3):
        for tile in range(2):
            expected[tile * 16 + x, x + 2] = x + tile + 1
        expected[0, x * 2] = 7
        expected[1, x + 3] = x + 3
    outcome = run_both(tiles, 3, a, 33, 2)
    for side in (outcome.interpreter, outcome.opencl):
        assert side[0].tolist() == expected.tolist()


@tb.kernel
def wrapping_indices(kc: KernelContext, a: NDArray[i32], n: i32, small: i8) -> None:
    a[n + n + kc.x + 5] = kc.x + 1
    a[small * i8(2)] = 9


def test_an_index_that_wraps_into_the_array_counts() -> None:
    """Twice the highest i32 is -2, and 2 * -127 is 2 in eight bits."""
    outcome = run_both(wrapping_indices, 2, np.zeros(6, np.int32), I32.highest, -127)
    for side in (outcome.interpreter, outcome.opencl):
        assert side[0].tolist() == [0, 0, 9, 1, 2, 0]


@tb.kernel
def wide_indices(kc: KernelContext, a: S32Array2D) -> None:
    y = i64(kc.x)
    a.array[y, i64(1)] = kc.x + a.width * 10
    a.array[u8(kc.x), i16(0)] = a.height


def test_indices_of_any_integer_type() -> None:
    check(wide_indices, 3, S32Array2D.create(width=2, height=3))


# -- bools and halves ---------------------------------------------------------------------


class Flags(tb.Buffer):
    n: i32
    flag: tb.Array[bool] = tb.array("n")
    any: bool


@tb.kernel
def set_flags(kc: KernelContext, f: Flags, invert: bool) -> None:  # noqa: FBT001 -- a kernel's parameter
    f.flag[kc.x] = f.flag[kc.x] != invert
    if f.flag[kc.x] and kc.x == 2:
        f.any = invert or f.flag[0]


@pytest.mark.parametrize("invert", [False, True])
def test_bools_in_memory_and_as_arguments(invert: bool) -> None:  # noqa: FBT001 -- a parameter
    flags = Flags.create(n=4)
    flags.flag[:] = [True, False, True, False]
    found = check(set_flags, 4, flags, invert)[0]
    assert found.flag[:].tolist() == [x != invert for x in (True, False, True, False)]


@tb.kernel
def bytes_as_bools(kc: KernelContext, f: NDArray[bool], out: NDArray[i32]) -> None:
    out[kc.x] = 5 if f[kc.x] else 6


def test_any_byte_that_is_not_zero_is_true_on_a_device() -> None:
    flags = np.array([0, 1, 2, 255], np.uint8).view(np.bool_)
    found = run_on("opencl", bytes_as_bools, 4, flags, np.zeros(4, np.int32))
    assert found[1].tolist() == [6, 5, 5, 5]


@tb.kernel
def half_sums(kc: KernelContext, a: F16Array, b: NDArray[f16], factor: f16) -> None:
    a.array[kc.x] = a.array[kc.x] * factor + b[kc.x]
    b[kc.x] = a.array[kc.x] / factor


def test_halves_in_memory_and_as_arguments() -> None:
    rng = np.random.default_rng(3)
    left, right = (rng.standard_normal(64).astype(np.float16) for _ in range(2))
    factor = np.float16(0.3)
    outcome = run_both(half_sums, 64, F16Array.of(left), right, float(factor))
    expected = left * factor + right
    for side in (outcome.interpreter, outcome.opencl):
        assert np.asarray(side[0]).tolist() == expected.tolist()
        assert side[1].tolist() == (expected / factor).tolist()


# -- atomics ------------------------------------------------------------------------------


class Counters(tb.Buffer):
    small: tb.Atomic[i32]
    unsigned: tb.Atomic[u32]
    large: tb.Atomic[i64]
    real: tb.Atomic[f32]


@tb.kernel
def count(kc: KernelContext, c: Counters, seen: S32Array) -> None:
    slot = tb.atomic_add(c.small, 1)
    seen.array[slot] = 1
    tb.atomic_add(c.unsigned, 3)
    tb.atomic_add(c.large, 10000000000)
    tb.atomic_add(c.real, 0.5)


def test_atomics_on_every_type_count_each_work_item() -> None:
    n = 1000
    outcome = run_both(count, n, Counters.create(), S32Array.create(length=n))
    for side in (outcome.interpreter, outcome.opencl):
        counters = side[0]
        assert counters.small == n
        assert counters.unsigned == 3 * n
        assert counters.large == 10000000000 * n
        assert counters.real == 0.5 * n
        assert side[1].array[:].sum() == n


# -- what is read once --------------------------------------------------------------------


def test_lengths_are_parameters_and_arrays_are_found_once_where_the_function_begins() -> None:
    text = text_of(pair_up)
    assert "    __global uchar *p_left = Pair_left(p);\n" in text
    assert "    p_right[kc->x] = (double)p_left[kc->x] / 2.0;\n" in text
    assert "    atomic_add(p_count, 1);\n" in text
    assert "        *p_sum = p_right[kc->x];\n" in text
    assert "__global Pair_t *p, int p_n," in text
    assert "Pair_right(p, p_n);" in text
    assert "if (kc->x == p_n - 1)" in text

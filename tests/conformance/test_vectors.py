"""Vectors of 2, 3 and 4 lanes of all five kinds, against NumPy lane by lane."""

import math
import re
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from tests.conformance.running import Numbers, assert_close, assert_near, launch
from tests.reflect.kernel_cases import load

import trilby as tb
from trilby import Accelerator, KernelContext, NDArray, f32, i32, u8
from trilby.data.dtypes import SCALARS

LANES = "xyzw"
ELEMENTS = ("f32", "i32", "u32", "u8", "f16")
Meaning: TypeAlias = Callable[[Any, Any], Any]


def same(a: Numbers, number: float) -> Any:
    """A number in the type of some lanes."""
    return a.dtype.type(number)


def chosen(a: Numbers, b: Numbers) -> Numbers:
    """One vector or the other, by their first lanes."""
    return np.where(b[0] > a[0], a, b)


COMMON: dict[str, Meaning] = {
    "a + b": np.add,
    "a - b": np.subtract,
    "a * b": np.multiply,
    "a // b": np.floor_divide,
    "a % b": np.remainder,
    "3 * a - 1": lambda a, _: 3 * a - 1,
    "7 - a": lambda a, _: 7 - a,
    "+b": lambda _, b: b,
    "abs(a)": lambda a, _: np.abs(a),
    "min(a, b)": np.minimum,
    "max(a, b, a)": np.maximum,
    "a if b.x > a.x else b": chosen,
}
FLOATS: dict[str, Meaning] = {
    "-a": lambda a, _: -a,
    "a / b": np.true_divide,
    "1.5 / b": lambda _, b: same(b, 1.5) / b,
    "math.sqrt(abs(a))": lambda a, _: np.sqrt(np.abs(a)),
    "math.floor(a)": lambda a, _: np.floor(a),
    "tb.mix(a, b, 0.25)": lambda a, b: a + (b - a) * same(b, 0.25),
    "tb.clamp(a, -1, 1)": lambda a, _: np.clip(a, -1, 1),
    "tb.sign(a)": lambda a, _: np.sign(a),
}
INTEGERS: dict[str, Meaning] = {
    "a & b": np.bitwise_and,
    "a | b": np.bitwise_or,
    "a ^ b": np.bitwise_xor,
    "~a": lambda a, _: ~a,
    "a << 2": lambda a, _: a << 2,
    "a >> 1": lambda a, _: a >> 1,
    "a ** 2": lambda a, _: a**2,
    "tb.clamp(a, 2, b)": lambda a, b: np.minimum(np.maximum(a, 2), b),
}


def operators(element: str) -> dict[str, Meaning]:
    return COMMON | (FLOATS if SCALARS[element].is_float else INTEGERS)


def widths(element: str) -> tuple[int, ...]:
    """The widths that are tried: native code for many vectors of several takes long to compile."""
    return (2, 3, 4) if element == "f32" else (2,)


def program(element: str) -> str:
    """A buffer with vectors of each width, and a kernel with every operator on each of them."""
    rows = operators(element)
    fields = [
        f"    {name}{lanes}: tb.Array[tb.{element}x{lanes}] = tb.array({dims})"
        for lanes in widths(element)
        for name, dims in (("a", '"n"'), ("b", '"n"'), ("r", f'"n", {len(rows)}'))
    ]
    body: list[str] = []
    for lanes in widths(element):
        a, b = f"p{lanes}", f"q{lanes}"
        body += [f"    {a}, {b} = d.a{lanes}[kc.x], d.b{lanes}[kc.x]"]
        for row, text in enumerate(rows):
            spelt = re.sub(r"\b[ab]\b", lambda m, to=(a, b): to["ab".index(m[0])], text)
            body += [f"    d.r{lanes}[kc.x, {row}] = {spelt}"]
    return "\n".join(
        [
            "class Data(tb.Buffer):",
            "    n: i32",
            *fields,
            "@tb.kernel",
            "def k(kc: KernelContext, d: Data) -> None:",
            *body,
        ]
    )


def columns(array: Any, lanes: int) -> Numbers:
    return np.array([np.asarray(array[name]) for name in LANES[:lanes]])


@pytest.mark.parametrize("element", ELEMENTS)
def test_arithmetic_is_lane_by_lane(accelerator: Accelerator, element: str) -> None:
    loaded = load(program(element), file=f"vectors_{element}.py")
    dtype = SCALARS[element].numpy
    rng = np.random.default_rng(3)
    data = loaded["Data"].create(n=8)
    low = 1 if SCALARS[element].kind == "uint" else -9
    given: dict[tuple[str, int], Numbers] = {}
    for lanes in widths(element):
        for name in "ab":
            numbers = rng.integers(low, 10, (lanes, 8))
            numbers[(numbers == 0) | (numbers == -1)] = 2
            given[name, lanes] = numbers.astype(dtype)
            for lane in range(lanes):
                getattr(data, f"{name}{lanes}")[LANES[lane]] = given[name, lanes][lane]
    launch(accelerator, 8, loaded["k"], data)
    for lanes in widths(element):
        found = columns(getattr(data, f"r{lanes}"), lanes)
        for row, (text, meaning) in enumerate(operators(element).items()):
            with np.errstate(all="ignore"):
                expected = meaning(given["a", lanes], given["b", lanes])
            assert_close_or_equal(found[:, :, row], expected.astype(dtype), f"{text} {lanes}")


def assert_close_or_equal(found: Numbers, expected: Numbers, text: str) -> None:
    if found.dtype.kind == "f" and "sqrt" in text:
        assert_close(found, expected, 3)
    else:
        np.testing.assert_array_equal(found, expected, err_msg=text)


class Mote(tb.Struct):
    mass: f32
    at: tb.f32x3
    color: tb.u8x4


class Dust(tb.Buffer):
    n: i32
    mote: tb.Array[Mote] = tb.array("n")
    at: tb.Array[tb.f32x4] = tb.array("n")
    grid: tb.Array[tb.i32x2] = tb.array("n", 3)
    one: tb.f32x2


@tb.kernel
def swizzles(kc: KernelContext, d: Dust) -> None:
    v = d.at[kc.x]
    v.xy = v.wz
    d.at[kc.x] = v.wzyx + 1.0
    d.at[kc.x].yw = d.at[kc.x].xx * 2.0
    m = d.mote[kc.x]
    m.at.zx = v.xy
    m.at.y += 5.0
    m.at.xy += tb.f32x2(0.5, 0.25)
    m.color = m.color.wxyz
    m.color.x, m.color.w = m.color.w, m.color.x
    own = Mote(mass=2.0, at=d.mote[kc.x].at.zzz, color=tb.u8x4(1, 2, 3, 4))
    own.at.xz = own.at.zx * own.mass
    own.color.yz += u8(250)
    d.mote[kc.x + 2] = own
    d.grid[kc.x, 1] = d.grid[kc.x, 0].yx
    d.grid[kc.x, 1].x -= 1
    d.grid[kc.x, 2] = tb.i32x2(d.grid[kc.x, 0].y, 9)
    if kc.x == 0:
        d.one.xy = d.one.yx


def test_lanes_are_read_and_written_by_name(accelerator: Accelerator) -> None:
    d = Dust.create(n=4)
    d.at[0] = tb.f32x4(1.0, 2.0, 3.0, 4.0)
    d.at[1] = tb.f32x4(10.0, 20.0, 30.0, 40.0)
    for i in range(2):
        d.mote[i].at = tb.f32x3(0.0, float(i), 0.0)
        d.mote[i].color = tb.u8x4(5, 6, 7, 8)
        d.grid[i, 0] = tb.i32x2(i, 7)
    d.one = tb.f32x2(1.0, 2.0)
    launch(accelerator, 2, swizzles, d)
    # by hand: v = (4, 3, 3, 4), reversed (4, 3, 3, 4) + 1 = (5, 4, 4, 5), lanes y and w from x
    assert d.at[0] == tb.f32x4(5.0, 10.0, 4.0, 10.0)
    assert d.at[1] == tb.f32x4(41.0, 82.0, 31.0, 82.0)
    assert d.mote[0].at == tb.f32x3(3.5, 5.25, 4.0)
    assert d.mote[1].at == tb.f32x3(30.5, 6.25, 40.0)
    assert d.mote[0].color == tb.u8x4(7, 5, 6, 8)
    assert d.mote[2] == Mote(mass=2.0, at=tb.f32x3(8.0, 4.0, 8.0), color=tb.u8x4(1, 252, 253, 4))
    assert d.mote[3].at == tb.f32x3(80.0, 40.0, 80.0)
    assert [d.grid[0, i] for i in range(3)] == [
        tb.i32x2(0, 7),
        tb.i32x2(6, 0),
        tb.i32x2(7, 9),
    ]
    assert d.one == tb.f32x2(2.0, 1.0)


@tb.func
def turned(v: tb.f32x3, axis: tb.f32x3, flip: bool) -> tb.f32x3:
    side = tb.cross(v, axis)
    return -side if flip else side


@tb.kernel
def geometry(kc: KernelContext, a: NDArray[f32], b: NDArray[f32], out: NDArray[f32]) -> None:
    v = tb.f32x3(a[kc.x, 0], a[kc.x, 1], a[kc.x, 2])
    w = tb.f32x3(b[kc.x, 0], b[kc.x, 1], b[kc.x, 2])
    out[kc.x, 0] = tb.dot(v, w)
    out[kc.x, 1] = tb.length(v)
    c = turned(v, w, kc.x % 2 == 1)
    out[kc.x, 2], out[kc.x, 3], out[kc.x, 4] = c.x, c.y, c.z
    n = tb.normalize(v)
    out[kc.x, 5], out[kc.x, 6], out[kc.x, 7] = n.x, n.y, n.z
    longer = tb.f32x4(v.xy, w.zy)
    out[kc.x, 8] = tb.dot(longer, tb.f32x4(1.0, 10.0, 100.0, 1000.0))
    whole = tb.f32x4(0.5, n)
    out[kc.x, 9] = whole.w
    out[kc.x, 10] = tb.length(tb.f32x2(3.0, 4.0)) + f32(tb.dot(tb.i32x2(1, 2), tb.i32x2(3, 4)))


def test_geometry(accelerator: Accelerator) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(2, 6, 3)).astype(np.float32)
    out = accelerator.array(np.zeros((6, 11), np.float32))
    launch(accelerator, 6, geometry, accelerator.array(a), accelerator.array(b), out)
    found = np.asarray(out)
    signs = np.where(np.arange(6) % 2, -1, 1)[:, None]
    assert_near(found[:, 0], np.einsum("ij,ij->i", a, b))
    assert_near(found[:, 1], np.linalg.norm(a, axis=1))
    assert_near(found[:, 2:5], np.cross(a, b) * signs)
    unit = a / np.linalg.norm(a, axis=1, keepdims=True)
    assert_near(found[:, 5:8], unit)
    mixed = a[:, 0] + 10 * a[:, 1] + 100 * b[:, 2] + 1000 * b[:, 1]
    assert_near(found[:, 8], mixed, rtol=1e-4, atol=1e-4)
    assert_near(found[:, 9], unit[:, 2])
    assert found[:, 10].tolist() == [16.0] * 6


@tb.kernel
def in_control_flow(kc: KernelContext, out: NDArray[f32], start: tb.f32x2, step: tb.i32x3) -> None:
    """Vectors are values: copies do not change with the original."""
    v = start
    old = v
    best = v if kc.x < 1 else start * 2.0
    for i in range(3):
        old = v
        v.x += f32(i)
        v, best = best, v
        if tb.length(v) > 100.0:
            break
        if kc.x == 2:
            continue
        v *= tb.f32x2(1.0, -1.0)
    else:
        best = best + old
    out[kc.x, 0], out[kc.x, 1] = v.x, v.y
    out[kc.x, 2], out[kc.x, 3] = best.x, best.y
    out[kc.x, 4] = f32(step.x * 100 + step.y * 10 + step.z)
    start = start + 1.0
    out[kc.x, 5] = start.y


def test_vectors_in_loops_and_as_arguments(accelerator: Accelerator) -> None:
    out = accelerator.array(np.zeros((3, 6), np.float32))
    given = tb.f32x2(1.0, 2.0), tb.i32x3(1, 2, 3)
    launch(accelerator, 3, in_control_flow, out, *given)
    for x, row in enumerate(np.asarray(out).tolist()):
        v = old = np.array([1.0, 2.0])
        best = v.copy() if x < 1 else v * 2
        for i in range(3):
            old = v.copy()
            v = v + np.array([i, 0])
            v, best = best, v
            if x == 2:
                continue
            v = v * np.array([1, -1])
        best = best + old
        assert row == [*v, *best, 123.0, 3.0]
    assert given[0] == tb.f32x2(1.0, 2.0)  # what was passed by value stays


@tb.func
def shade(base: tb.f32x3, level: f32) -> tb.u8x4:
    scaled = tb.clamp(base * level, 0.0, 1.0) * 255.0 + 0.5
    return tb.u8x4(u8(scaled.x), u8(scaled.y), u8(scaled.z), 255)


class Picture(tb.Buffer):
    width: i32
    height: i32
    pixel: tb.Array[tb.u8x4] = tb.array("height", "width")


@tb.kernel
def paint(kc: KernelContext, picture: Picture) -> None:
    level = f32(kc.x) / f32(picture.width - 1)
    picture.pixel[kc.y, kc.x] = shade(tb.f32x3(1.0, 0.5, f32(kc.y)), level)


def test_colors_in_a_picture(accelerator: Accelerator) -> None:
    picture = Picture.create(width=5, height=3)
    launch(accelerator, (5, 3), paint, picture)
    level = np.linspace(0, 1, 5)
    for y in range(3):
        for lane, base in zip("xyz", (1.0, 0.5, y), strict=True):
            expected = np.floor(np.clip(base * level, 0, 1) * 255 + 0.5)
            assert np.asarray(picture.pixel[lane])[y].tolist() == expected.tolist()
    assert (np.asarray(picture.pixel.w) == 255).all()
    assert math.prod(picture.pixel.shape) == 15

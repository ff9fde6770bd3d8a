"""Structs as values, references, arguments, and elements, against the same Python on the host."""

from typing import Any

import numpy as np
from tests.conformance.running import launch

import trilby as tb
from trilby import (
    Accelerator,
    KernelContext,
    NDArray,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
)


class Point(tb.Struct):
    x: f32
    y: f32


class Shape(tb.Struct):
    kind: i8
    corner: Point
    color: tb.u8x3
    size: tb.f32x2
    weight: tb.Array[f32] = tb.array(3)
    rim: tb.Array[Point] = tb.array(2)


class Scene(tb.Buffer):
    count: tb.Atomic[i32]
    n: i32
    shape: tb.Array[Shape] = tb.array("n")
    center: Point
    table: tb.Array[Point] = tb.array("n", 2)


@tb.func
def point(x: f32, y: f32) -> Point:
    return Point(x=x, y=y)


@tb.func
def between(a: Point, b: Point) -> Point:
    """Structs in and out, made of the results of other calls."""
    half = point((a.x + b.x) / 2.0, (a.y + b.y) / 2.0)
    half.x += 0.0
    return half


@tb.func
def middle(s: Shape) -> Point:
    end = point(s.corner.x + s.size.x, s.corner.y + s.size.y)
    return between(s.corner, between(end, end))


@tb.func
def grown(s: Shape, by: f32) -> Shape:
    mine = s
    mine.corner.x -= by
    mine.corner = Point(x=mine.corner.x, y=mine.corner.y - by)
    mine.size += by * 2.0
    mine.kind += 1
    return mine


@tb.kernel
def by_value(kc: KernelContext, scene: Scene, base: Shape, by: f32) -> None:
    i = kc.x
    scene.shape[i] = grown(base, by * f32(i))
    mine = grown(scene.shape[i], 1.0)
    m = middle(mine)
    scene.table[i, 0] = m
    scene.table[i, 1] = between(m, scene.center)
    best = mine.corner if m.x > 2.0 else scene.shape[i].corner
    mine.corner = best
    other = mine
    other.kind = 77
    scene.shape[i + 4] = mine


def make_shape() -> Shape:
    made = Shape(
        kind=3, corner=Point(x=1.0, y=2.0), color=tb.u8x3(7, 8, 9), size=tb.f32x2(4.0, 6.0)
    )
    made.weight[:] = [0.5, 1.5, 2.5]
    made.rim[1].y = 9.0
    return made


def test_structs_by_value(accelerator: Accelerator) -> None:
    base = make_shape()
    scene = Scene.create(n=8)
    scene.center = Point(x=10.0, y=20.0)
    launch(accelerator, 4, by_value, scene, base, 0.5)
    for i in range(4):
        by = 0.5 * i
        first, second = scene.shape[i], scene.shape[i + 4]
        assert (first.kind, second.kind) == (4, 5)
        assert first.corner == Point(x=1 - by, y=2 - by)
        assert first.size == tb.f32x2(4 + 2 * by, 6 + 2 * by)
        assert first.color == second.color == tb.u8x3(7, 8, 9)
        assert first.weight.tolist() == second.weight.tolist() == [0.5, 1.5, 2.5]
        assert (second.rim[0].y, second.rim[1].y) == (0.0, 9.0)
        # the middle of a box does not move when it grows on all sides
        assert scene.table[i, 0] == Point(x=3.0, y=5.0)
        assert scene.table[i, 1] == Point(x=6.5, y=12.5)
        assert second.corner == Point(x=-by, y=1 - by)
    assert base == make_shape()


@tb.kernel
def by_reference(kc: KernelContext, scene: Scene) -> None:
    s = scene.shape[kc.x]
    s.kind = 5
    s.corner.x = 1.5
    c = s.corner
    c.y = c.x * 2.0 + f32(kc.x)
    s.weight[kc.x % 3] += 4.0
    r = s.rim[1]
    r.x, r.y = c.y, c.x
    s.rim[0] = r
    s.color.x = u8(200)
    near = scene.shape[0] if kc.x % 2 == 0 else scene.shape[1]
    if kc.x > 1:
        near.color.z = u8(kc.x)
    row = scene.table[kc.x, 1]
    row.x = s.weight[0]
    tb.atomic_add(scene.count, kc.x)
    if kc.x == 0:
        scene.center.x = 3.0
        middle_ = scene.center
        middle_.y = middle_.x + 1.0


def test_references_write_through(accelerator: Accelerator) -> None:
    scene = Scene.create(n=4)
    launch(accelerator, 4, by_reference, scene)
    for i in range(4):
        s = scene.shape[i]
        assert s.corner == Point(x=1.5, y=3.0 + i)
        assert s.rim[0] == s.rim[1] == Point(x=3.0 + i, y=1.5)
        assert s.color == tb.u8x3(200, 0, [2, 3, 0, 0][i])
        assert s.kind == 5
        assert s.weight.tolist() == [4.0 * (i % 3 == k) for k in range(3)]
        assert scene.table[i, 1].x == s.weight[0]
    assert scene.count == 6
    assert scene.center == Point(x=3.0, y=4.0)


class Mixed(tb.Struct, align=32):
    """Members whose places leave gaps, in every width."""

    a: i8
    b: f64
    c: i16
    d: tb.f32x3
    e: bool
    f: i64
    g: f16
    h: tb.Array[i16] = tb.array(2, 3)
    k: tb.f16x4
    m: tb.f32x2x2
    _: Any = tb.pad(5)
    last: u8


class Mixtures(tb.Buffer):
    n: i32
    mixed: tb.Array[Mixed] = tb.array("n")
    tail: tb.Array[i8] = tb.array("n")
    after: tb.Array[tb.f32x4] = tb.array("n")


@tb.func
def passed(given: Mixed) -> Mixed:
    return given


@tb.kernel
def copy_all(kc: KernelContext, to: Mixtures, given: Mixed) -> None:
    to.mixed[kc.x] = passed(given)
    to.mixed[kc.x + 1] = to.mixed[kc.x]
    to.tail[kc.x + 1] = given.a
    to.after[kc.x + 1] = tb.f32x4(given.d, f32(given.g))
    own = passed(to.mixed[kc.x])
    own.e = not own.e
    own.f += 1
    own.g *= 2.0
    to.mixed[kc.x + 2] = own


def test_every_member_arrives(accelerator: Accelerator) -> None:
    given = Mixed(
        a=-5,
        b=0.1,
        c=-300,
        d=tb.f32x3(1.0, 2.0, 3.0),
        e=True,
        f=2**40,
        g=0.1,
        k=tb.f16x4(1.0, 0.1, -2.0, 65504.0),
        m=tb.f32x2x2(1.0, 2.0, 3.0, 4.0),
        last=255,
    )
    given.h[:] = np.arange(6).reshape(2, 3) - 3
    to = Mixtures.create(n=3)
    launch(accelerator, 1, copy_all, to, given)
    assert to.mixed[0] == given
    assert to.mixed[1] == given
    assert to.tail.tolist() == [0, -5, 0]
    half = float(np.float16(0.1))
    assert to.after[1] == tb.f32x4(1.0, 2.0, 3.0, half)
    changed = to.mixed[2]
    assert (changed.e, changed.f, changed.g) == (False, 2**40 + 1, 2 * half)
    assert changed.h.tolist() == [[-3, -2, -1], [0, 1, 2]]
    assert (changed.last, changed.k) == (255, given.k)


class Bits(tb.Union):
    number: f32
    pattern: i32


class Cells(tb.Buffer):
    class Cell(tb.Struct):
        bits: Bits
        used: bool

    n: i32
    cell: tb.Array[Cell] = tb.array("n")


@tb.kernel
def look_at_bits(kc: KernelContext, cells: Cells, out: NDArray[i32]) -> None:
    cell = cells.cell[kc.x]
    cell.bits.number = f32(kc.x) - 0.5
    cell.used = kc.x > 1
    out[kc.x] = cell.bits.pattern
    cells.cell[kc.x + 3] = cell


def test_unions_share_their_bytes(accelerator: Accelerator) -> None:
    cells = Cells.create(n=6)
    out = accelerator.array(np.zeros(3, np.int32))
    launch(accelerator, 3, look_at_bits, cells, out)
    numbers = np.arange(3, dtype=np.float32) - np.float32(0.5)
    assert out.tolist() == numbers.view(np.int32).tolist()
    for i in range(3):
        copy = cells.cell[i + 3]
        assert (copy.bits.number, copy.used) == (float(numbers[i]), i > 1)


class Word(tb.Union):
    whole: u32
    half: tb.Array[u16] = tb.array(2)
    byte: tb.Array[u8] = tb.array(4)


@tb.kernel
def own_unions(kc: KernelContext, out: NDArray[u32]) -> None:
    """Members of unequal sizes in an array of a work item's own."""
    words = tb.private(Word, 3)
    for i in range(3):
        words[i].whole = u32(0x01020304) * u32(kc.x + i)
    words[1].byte[2] = u8(kc.x)
    words[2].half[kc.x % 2] = u16(7)
    out[kc.x, 0] = u32(words[0].byte[kc.x % 4])
    out[kc.x, 1] = words[1].whole
    out[kc.x, 2] = words[2].whole


def test_unions_of_unequal_members_in_private_arrays(accelerator: Accelerator) -> None:
    out = accelerator.array(np.zeros((40, 3), np.uint32))
    launch(accelerator, 40, own_unions, out)
    x = np.arange(40)
    words = np.array([0x01020304 * (x + i) for i in range(3)], np.uint32)
    first = words[0].view(np.uint8).reshape(-1, 4)[x, x % 4].copy()
    words[1].view(np.uint8).reshape(-1, 4)[:, 2] = x
    words[2].view(np.uint16).reshape(-1, 2)[x, x % 2] = 7
    assert np.array_equal(np.asarray(out), np.stack([first, words[1], words[2]], axis=1))


@tb.kernel
def in_values(kc: KernelContext, scene: Scene, given: Shape) -> None:
    """Fixed arrays inside a value are indexed by constants."""
    mine = given
    mine.weight[1] = given.weight[2] + f32(kc.x)
    mine.weight[0] += 1.0
    mine.rim[0].x = 5.0
    mine.rim[1] = Point(x=mine.rim[0].x, y=given.rim[1].y)
    scene.shape[kc.x] = mine


def test_arrays_inside_of_values(accelerator: Accelerator) -> None:
    scene = Scene.create(n=2)
    launch(accelerator, 2, in_values, scene, make_shape())
    for i in range(2):
        assert scene.shape[i].weight.tolist() == [1.5, 2.5 + i, 2.5]
        assert scene.shape[i].rim[0] == Point(x=5.0, y=0.0)
        assert scene.shape[i].rim[1] == Point(x=5.0, y=9.0)


@tb.kernel
def through_loops(kc: KernelContext, scene: Scene, out: NDArray[f32]) -> None:
    """The best one so far, names that are first set in a block, and a reference that moves on."""
    best = point(-1.0, 0.0)
    for i in range(5):
        candidate = point(f32(i * 7 % 5), f32(i))
        if candidate.x > best.x:
            best = candidate
            half = between(best, point(0.0, 0.0))
        else:
            half = between(candidate, best)
        out[i] = half.x * 10.0 + half.y
    out[5] = best.x * 10.0 + best.y
    r = scene.table[0, 0]
    if kc.max_x > 0:
        r = scene.table[1, 0]
    r.x = 5.0
    r = scene.table[i32(best.x) % 2, 1]
    r.y = 6.0
    v = tb.f32x3(0.0, 0.0, 0.0)
    turns = 0
    while tb.dot(v, v) < 50.0 and turns < 20:
        step = tb.f32x3(0.0, 1.0, 1.0) if turns % 3 else v
        v += tb.f32x3(1.0, 2.0, 0.5) if turns % 2 == 0 else step
        turns += 1
    out[6] = v.x + v.y * 10.0 + v.z * 100.0 + f32(turns) * 1000.0


def test_structs_in_loops(accelerator: Accelerator) -> None:
    scene = Scene.create(n=2)
    out = accelerator.array(np.zeros(7, np.float32))
    launch(accelerator, 1, through_loops, scene, out)
    # the numbers are 0, 2, 4, 1, 3; the best of them is 4, at 2
    assert out.tolist()[:6] == [0.0, 10.5, 21.0, 27.5, 38.0, 42.0]
    # (1, 2, 0.5), (1, 3, 1.5), (2, 5, 2), (4, 10, 4): the last one is long enough
    assert out.tolist()[6] == 4.0 + 100.0 + 400.0 + 4000.0
    assert scene.table[1, 0] == Point(x=5.0, y=0.0)
    assert scene.table[0, 1] == Point(x=0.0, y=6.0)
    assert scene.table[0, 0] == Point(x=0.0, y=0.0)

"""A user's kernels with all that the language has, checked by pyright and mypy strict, and run."""

import math
from typing import assert_type

import numpy as np

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
    u8,
    u32,
)

TILE = 4
GRAVITY = 9.81


class Body(tb.Struct):
    at: tb.f32x3
    speed: tb.f32x3
    mass: f32
    turn: tb.f32x3x3
    color: tb.u8x4
    trace: tb.Array[f32] = tb.array(4)


class World(tb.Buffer):
    class Cell(tb.Struct):
        hits: tb.Atomic[i32]
        heat: tb.Atomic[f32]

    count: tb.Atomic[i32]
    n: i32
    body: tb.Array[Body] = tb.array("n")
    force: tb.Array[tb.f32x3] = tb.array("n")
    cell: tb.Array[Cell] = tb.array(2, 2)


# ------------------------------------------------------------------- vectors and structs


@tb.func
def pull(a: Body, b: Body) -> tb.f32x3:
    d = b.at - a.at
    squared = tb.dot(d, d) + 0.01
    return d * (b.mass * tb.rsqrt(squared) / squared)


@tb.func
def blended(a: tb.f32x3, b: tb.f32x3, t: f32) -> tb.f32x3:
    side = tb.cross(a, b) if t > 0.5 else tb.normalize(a + b)
    mixed = tb.mix(a, b, t) + tb.clamp(side, -1.0, 1.0)
    mixed.xy = mixed.yx
    mixed.z += abs(-a).z * tb.sign(t)
    return mixed


@tb.func
def started(x: f32, mass: f32) -> Body:
    turn = tb.f32x3x3(1.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 1.0, 0.0)
    zero = tb.f32x3(0.0, 0.0, 0.0)
    at = tb.f32x3(tb.f32x2(x, 2.0 * x), -x)
    return Body(at=at, speed=zero, mass=mass, turn=turn, color=tb.u8x4(1, 2, 3, 255))


@tb.kernel
def fill(kc: KernelContext, world: World) -> None:
    world.body[kc.x] = started(f32(kc.x), 1.0)


@tb.kernel
def attract(kc: KernelContext, world: World, extra: Body, use_extra: bool) -> None:  # noqa: FBT001 -- a user may
    me = world.body[kc.x]
    total = tb.f32x3(0.0, 0.0, 0.0)
    for j in range(world.n):
        if j != kc.x:
            total += pull(me, world.body[j])
    total = total + pull(me, extra) if use_extra else total
    world.force[kc.x] = total


@tb.kernel
def advance(kc: KernelContext, world: World) -> None:
    me = world.body[kc.x]
    me.speed += world.force[kc.x] * 0.5
    me.at = me.turn @ (me.at + me.speed)
    me.trace[0] = tb.length(me.at)
    me.color.x = u8(me.color.x + 1)
    me.color = me.color & 0x7F
    slot = tb.atomic_add(world.count, 1)
    cell = world.cell[slot % 2, kc.x % 2]
    tb.atomic_inc(cell.hits)
    tb.atomic_add(cell.heat, 0.5)


@tb.kernel
def turned(kc: KernelContext, out: NDArray[f32]) -> None:
    m = tb.f32x2x2(1.0, 2.0, 3.0, 4.0)
    m[0, 1] = m[1, 0] * 0.5
    n = tb.transpose(m) @ m + m * 2.0 - -m
    v = n @ tb.f32x2(1.0, 1.0)
    grid = tb.i32x2(7, 9) // 2 + (tb.i32x2(kc.x, 1) << 1)
    out[0], out[1] = v.x, v.y
    out[2] = f32(grid.x * 10 + grid.y)
    c = blended(tb.f32x3(1.0, 0.0, 0.0), tb.f32x3(0.0, 1.0, 0.0), 0.25)
    out[3], out[4], out[5] = c.x, c.y, c.z


# ------------------------------------------------------------- groups, atomics and math


@tb.kernel
def smooth(kc: KernelContext, source: F32Array, target: F32Array, bins: S32Array) -> None:
    tile = tb.local(f32, TILE)
    counts = tb.local(i32, 2)
    own = tb.private(f32, 2, 2)
    near = tb.private(tb.f32x2, 2)
    tile[kc.local_x] = source.array[kc.x]
    if kc.local_x < 2:
        counts[kc.local_x] = 0
    kc.barrier("local")
    left = tile[max(kc.local_x - 1, 0)]
    right = tile[min(kc.local_x + 1, TILE - 1)]
    own[0, 0], own[1, 1] = left, right
    near[0] = tb.f32x2(own[0, 0], own[1, 1])
    tb.atomic_add(counts, kc.local_x % 2, 1)
    kc.barrier()
    wave = math.sin(tile[kc.local_x]) ** 2 + math.cos(tile[kc.local_x]) ** 2
    target.array[kc.x] = wave + (near[0].x + near[0].y) / 2.0 + math.sqrt(tb.fma(2.0, 2.0, 0.0))
    if kc.local_x == 0:
        tb.atomic_max(bins.array, kc.group_x, counts[0] * 10 + counts[1])


@tb.kernel
def count(kc: KernelContext, grid: S32Array2D, flags: NDArray[u32], weights: NDArray[f32]) -> None:
    old = tb.atomic_add(grid.array, (kc.y, kc.x), 5)
    seen = tb.atomic_or(flags, 0, u32(1 << kc.x))
    last = tb.atomic_exchange(weights, (0, 1), f32(old))
    swapped = tb.atomic_compare_exchange(grid.array, (0, 0), 5, 50)
    assert last >= 0.0, "weights are not negative"
    if swapped == 5 and seen < 0:
        print("never", seen, f"{swapped}!")  # noqa: T201 -- a kernel may
    bits = tb.popcount(seen) + tb.clz(u32(1))
    tb.atomic_max(flags, 1, bits)


# -------------------------------------------------------------------------------- the host


@tb.compute
def simulate(cc: ComputeContext, world: World, steps: int) -> int:
    cc.dispatch(world.n, fill, world)
    extra = started(GRAVITY, 2.0)
    for _ in range(steps):
        cc.dispatch(world.n, attract, world, extra, use_extra=True)
        cc.dispatch(world.n, lambda kc: advance(kc, world))
    return world.count


@tb.compute
def group_work(cc: ComputeContext, a: F32Array, b: F32Array, bins: S32Array) -> None:
    cc.dispatch(NDRange(a.length, TILE), smooth, a, b, bins)


@tb.compute
def turn_once(cc: ComputeContext, out: NDArray[f32]) -> None:
    cc.dispatch(1, turned, out)


@tb.compute
def count_once(
    cc: ComputeContext, grid: S32Array2D, flags: NDArray[u32], weights: NDArray[f32]
) -> None:
    cc.dispatch((grid.width, grid.height), count, grid, flags, weights)


def use_world(accelerator: Accelerator) -> World:
    world = World.create(accelerator, n=4)
    assert_type(accelerator.compute(simulate, world, 2), int)
    assert_type(world.force[0], tb.f32x3)
    assert_type(world.force[0].x, float)
    assert_type(world.body[0].turn[0, 1], float)
    assert_type(world.cell[0, 0].hits, int)
    return world


def use_turns(accelerator: Accelerator) -> list[float]:
    out: NDArray[f32] = accelerator.array(np.zeros(6, np.float32))
    accelerator.compute(turn_once, out)
    return list(out)


def use_groups(accelerator: Accelerator) -> tuple[F32Array, S32Array]:
    a, b = F32Array.of(range(8)), F32Array.create(length=8)
    bins = S32Array.create(length=2)
    accelerator.compute(group_work, a, b, bins)
    return b, bins


def use_counts(accelerator: Accelerator) -> tuple[list[list[int]], list[int]]:
    grid = S32Array2D.create(width=3, height=2)
    flags: NDArray[u32] = accelerator.array(np.zeros(2, np.uint32))
    weights: NDArray[f32] = accelerator.array(np.zeros((1, 2), np.float32))
    accelerator.compute(count_once, grid, flags, weights)
    return grid.array.tolist(), flags.tolist()


def use_the_host() -> tuple[tb.f32x3, float]:
    """Vectors, matrices and helpers are plain Python there."""
    v = blended(tb.f32x3(1.0, 0.0, 0.0), tb.f32x3(0.0, 1.0, 0.0), 0.25)
    assert_type(v, tb.f32x3)
    assert_type(v * 2.0 - 1.0, tb.f32x3)
    assert_type(2 * tb.i32x2(1, 2) % 3, tb.i32x2)
    assert_type(tb.f32x2x2(1.0, 0.0, 0.0, 1.0) @ tb.f32x2(1.0, 2.0), tb.f32x2)
    assert_type(tb.f32x2x2(1.0, 0.0, 0.0, 1.0) @ tb.f32x2x2(1.0, 2.0, 3.0, 4.0), tb.f32x2x2)
    assert_type(tb.dot(tb.i32x2(1, 2), tb.i32x2(3, 4)), int)
    assert_type(tb.dot(v, v), float)
    assert_type(tb.clamp(3, 0, 2), int)
    assert_type(tb.mix(1.0, 2.0, 0.5), float)
    assert_type(tb.normalize(v), tb.f32x3)
    body = started(1.0, 3.0)
    return v, tb.length(body.at) + pull(body, started(2.0, 1.0)).x

"""Local and private arrays of all shapes, and barriers of all scopes, against NumPy."""

import numpy as np
import pytest
from tests.conformance.running import launch

import trilby as tb
from trilby import (
    Accelerator,
    F32Array,
    KernelContext,
    NDArray,
    NDRange,
    S32Array,
    f16,
    f32,
    i16,
    i32,
    i64,
    u8,
)
from trilby.errors import RangeError

WIDTH = 8


@tb.kernel
def reverse_groups(kc: KernelContext, a: S32Array, b: NDArray[f16], c: NDArray[i64]) -> None:
    """Three local arrays of different types, read by another work item than wrote them."""
    one = tb.local(i32, WIDTH)
    two = tb.local(f16, WIDTH)
    three = tb.local(i64, WIDTH)
    flags = tb.local(bool, WIDTH)
    me, other = kc.local_x, WIDTH - 1 - kc.local_x
    one[me] = a.array[kc.x]
    two[me] = b[kc.x]
    three[me] = c[kc.x]
    flags[me] = a.array[kc.x] % 2 == 0
    kc.barrier()
    a.array[kc.x] = one[other] if flags[other] else -one[other]
    b[kc.x] = two[other] * 2.0
    c[kc.x] = three[other] + 1


def test_local_arrays_are_shared_by_a_group(accelerator: Accelerator) -> None:
    n = np.arange(4 * WIDTH)
    a = S32Array.of(n)
    b = accelerator.array((n / 10).astype(np.float16))
    c = accelerator.array(n.astype(np.int64) << 33)
    launch(accelerator, NDRange(n.size, WIDTH), reverse_groups, a, b, c)
    turned = n.reshape(4, WIDTH)[:, ::-1].ravel()
    assert a.array.tolist() == np.where(turned % 2 == 0, turned, -turned).tolist()
    assert b.tolist() == ((turned / 10).astype(np.float16) * np.float16(2)).tolist()
    assert c.tolist() == ((turned.astype(np.int64) << 33) + 1).tolist()


@tb.kernel
def transpose_tile(kc: KernelContext, source: NDArray[f32], target: NDArray[f32]) -> None:
    tile = tb.local(f32, 4, 4)
    tile[kc.local_y, kc.local_x] = source[kc.y, kc.x]
    kc.barrier("local")
    x = kc.group_y * 4 + kc.local_x
    y = kc.group_x * 4 + kc.local_y
    target[y, x] = tile[kc.local_x, kc.local_y]


def test_two_dimensions(accelerator: Accelerator) -> None:
    source = np.arange(12 * 8, dtype=np.float32).reshape(8, 12)
    target = accelerator.array(np.zeros((12, 8), np.float32))
    size = NDRange((12, 8), local=(4, 4))
    launch(accelerator, size, transpose_tile, accelerator.array(source), target)
    assert np.array_equal(np.asarray(target), source.T)


@tb.kernel
def turn_cubes(kc: KernelContext, source: NDArray[i32], target: NDArray[i32]) -> None:
    cube = tb.local(i32, 2, 3, 4)
    x, y, z = kc.local_x, kc.local_y, kc.local_z
    cube[z, y, x] = source[kc.z, kc.y, kc.x]
    kc.barrier()
    target[kc.z, kc.y, kc.x] = cube[1 - z, 2 - y, 3 - x]


def test_three_dimensions(accelerator: Accelerator) -> None:
    source = np.arange(4 * 6 * 8, dtype=np.int32).reshape(4, 6, 8)
    target = accelerator.array(np.zeros_like(source))
    size = NDRange((8, 6, 4), local=(4, 3, 2))
    launch(accelerator, size, turn_cubes, accelerator.array(source), target)
    blocks = source.reshape(2, 2, 2, 3, 2, 4)[:, ::-1, :, ::-1, :, ::-1]
    assert np.array_equal(np.asarray(target), blocks.reshape(4, 6, 8))


class Hit(tb.Struct):
    at: tb.f32x2
    count: i32
    bins: tb.Array[i16] = tb.array(2)
    used: bool


class Hits(tb.Buffer):
    n: i32
    hit: tb.Array[Hit] = tb.array("n")


@tb.func
def merged(a: Hit, b: Hit) -> Hit:
    return Hit(at=a.at + b.at, count=a.count + b.count, used=a.used or b.used)


@tb.kernel
def shared_structs(kc: KernelContext, hits: Hits) -> None:
    near = tb.local(Hit, 4)
    mine = near[kc.local_x]
    mine.at = tb.f32x2(f32(kc.x), 1.0)
    mine.count = kc.x
    mine.used = kc.x == 3
    mine.bins[0] = i16(kc.x)
    mine.bins[1] = i16(-kc.x)
    kc.barrier()
    step = 2
    while step > 0:
        if kc.local_x < step:
            kept = near[kc.local_x].bins[1]
            near[kc.local_x] = merged(near[kc.local_x], near[kc.local_x + step])
            near[kc.local_x].bins[1] = kept
        kc.barrier("both")
        step //= 2
    if kc.local_x == 0:
        hits.hit[kc.group_x] = near[0]


def test_structs_in_local_memory(accelerator: Accelerator) -> None:
    hits = Hits.create(n=2)
    launch(accelerator, NDRange(8, 4), shared_structs, hits)
    for group in range(2):
        members = np.arange(4) + 4 * group
        hit = hits.hit[group]
        assert hit.at == tb.f32x2(float(members.sum()), 4.0)
        assert (hit.count, hit.used) == (members.sum(), group == 0)
        assert hit.bins.tolist() == [0, -4 * group]


@tb.kernel
def private_arrays(kc: KernelContext, out: NDArray[i32], h: NDArray[f16]) -> None:
    row = tb.private(i32, 6)
    grid = tb.private(u8, 2, 3)
    cube = tb.private(i64, 2, 2, 2)
    halves = tb.private(f16, 2)
    hits = tb.private(Hit, 3)
    for i in range(6):
        row[i] = kc.x * i
        grid[i // 3, i % 3] = u8(200 + i * kc.x)
        cube[i % 2, i // 2 % 2, 0] = i64(i) << 40
    for i in range(3):
        hits[i] = Hit(at=tb.f32x2(0.5, f32(i)), count=i, used=i == 1)
    hits[2].at.xy += hits[1].at.yx
    last = hits[2]
    last.count += 10
    hits[0] = last
    halves[0] = h[0] / 3.0
    total = 0
    for i in range(6):
        total += row[i] + i32(grid[i // 3, i % 3])
    out[kc.x, 0] = total
    out[kc.x, 1] = i32(cube[1, 0, 0] >> 40) * 10 + i32(cube[0, 1, 0] >> 40)
    out[kc.x, 2] = hits[0].count + i32(hits[0].at.x * 100.0) + i32(hits[0].at.y * 1000.0)
    out[kc.x, 3] = i32(halves[0] * 30000.0)


def test_private_arrays(accelerator: Accelerator) -> None:
    out = accelerator.array(np.zeros((5, 4), np.int32))
    h = np.array([1.0], np.float16)
    launch(accelerator, 5, private_arrays, out, accelerator.array(h))
    for x, row in enumerate(out.tolist()):
        grid = (200 + np.arange(6) * x).astype(np.uint8)
        assert row[0] == x * 15 + int(grid.astype(int).sum())
        assert row[1] == 50 + 2  # the last writers: 5 at (1, 0), 2 at (0, 1)
        assert row[2] == 12 + 150 + 2500  # at = (0.5 + 1, 2 + 0.5)
        assert row[3] == int((h[0] / np.float16(3)) * np.float16(30000.0))


@tb.func
def rank(values: NDArray[i32], at: i32) -> i32:
    """A private array of a helper, made again in every turn of a loop."""
    found = 0
    for i in range(3):
        seen = tb.private(i32, 2)
        seen[0] = values[(at + i) % values.shape[0]]
        seen[1] = seen[0] * 2
        found += seen[i % 2]
    return found


@tb.kernel
def ranked(kc: KernelContext, values: NDArray[i32], out: NDArray[i32]) -> None:
    out[kc.x] = rank(values, kc.x)


def test_private_arrays_of_helpers(accelerator: Accelerator) -> None:
    values = np.array([3, 1, 4, 1, 5], np.int32)
    out = accelerator.array(np.zeros(5, np.int32))
    launch(accelerator, 5, ranked, accelerator.array(values), out)
    expected = values + 2 * np.roll(values, -1) + np.roll(values, -2)
    assert out.tolist() == expected.tolist()


@tb.func
def exchange(kc: KernelContext, a: S32Array) -> i32:
    """Barriers in a helper; global memory is passed within the group."""
    a.array[kc.x] += 100
    kc.barrier("global")
    seen = a.array[kc.group_x * kc.local_max_x + (kc.local_x + 1) % kc.local_max_x]
    kc.barrier(scope="global")
    return seen


@tb.kernel
def through_helpers(kc: KernelContext, a: S32Array, turns: i32) -> None:
    for _ in range(turns):
        if turns > 1:  # the same for all
            a.array[kc.x] = exchange(kc, a)


def test_barriers_in_helpers_and_loops(accelerator: Accelerator) -> None:
    a = S32Array.of(range(12))
    launch(accelerator, NDRange(12, 4), through_helpers, a, 3)
    expected = np.arange(12).reshape(3, 4)
    for _ in range(3):
        expected = np.roll(expected + 100, -1, axis=1)
    assert a.array.tolist() == expected.ravel().tolist()


@tb.kernel
def sum_of_group(kc: KernelContext, a: F32Array, out: F32Array) -> None:
    tile = tb.local(f32, 256)
    tile[kc.local_x] = a.array[kc.x]
    kc.barrier()
    if kc.local_x == 0:
        total = 0.0
        for i in range(kc.local_max_x):
            total += tile[i]
        out.array[kc.group_x] = total


@pytest.mark.parametrize("size", [1, 7, 96, 300, 1000])
def test_a_group_that_fits_is_chosen(accelerator: Accelerator, size: int) -> None:
    """Without a local size the range is cut into equal groups, whatever their number."""
    a = F32Array.of(np.arange(size))
    out = F32Array.create(length=size)
    launch(accelerator, size, sum_of_group, a, out)
    assert out.array.sum() == size * (size - 1) / 2


def test_a_range_with_barriers_needs_whole_groups(accelerator: Accelerator) -> None:
    a, out = F32Array.of(np.ones(10)), F32Array.create(length=3)
    with pytest.raises(RangeError) as caught:
        launch(accelerator, NDRange(10, 4), sum_of_group, a, out)
    assert caught.value.problem == (
        "the range (10,) is not a multiple of the local size (4,), and the kernel has barriers "
        "or local memory, which need whole groups"
    )
    assert caught.value.advice == (
        "the next smaller size that fits is `local=2`. Or launch (12,) work items and leave out "
        "the surplus in the kernel: pass the true size and test `if kc.x < n` around reads and "
        "writes, not around barriers"
    )
    assert out.array.tolist() == [0.0, 0.0, 0.0]


@tb.kernel
def guarded_by_hand(kc: KernelContext, a: F32Array, out: F32Array) -> None:
    """What the advice says."""
    tile = tb.local(f32, 4)
    tile[kc.local_x] = a.array[kc.x] if kc.x < a.length else 0.0
    kc.barrier()
    if kc.local_x == 0:
        out.array[kc.group_x] = tile[0] + tile[1] + tile[2] + tile[3]


def test_the_advice_works(accelerator: Accelerator) -> None:
    a, out = F32Array.of(np.ones(10)), F32Array.create(length=3)
    launch(accelerator, NDRange(12, 4), guarded_by_hand, a, out)
    assert out.array.tolist() == [4.0, 4.0, 2.0]


@tb.kernel
def whole_groups_leave(kc: KernelContext, a: S32Array, turns: i32) -> None:
    """`return`, `break` and `continue` around barriers, the same for all items of a group."""
    tile = tb.local(i32, 4)
    if kc.group_x == 1:
        return
    tile[kc.local_x] = a.array[kc.x]
    kc.barrier()
    for i in range(10):
        if i == turns:
            break
        kc.barrier()
        if i % 2 == 0:
            continue
        tile[kc.local_x] += 100
        kc.barrier("local")
    a.array[kc.x] = tile[3 - kc.local_x]


def test_groups_may_end_before_others(accelerator: Accelerator) -> None:
    a = S32Array.of(range(12))
    launch(accelerator, NDRange(12, 4), whole_groups_leave, a, 3)
    assert a.array.tolist() == [103, 102, 101, 100, 4, 5, 6, 7, 111, 110, 109, 108]

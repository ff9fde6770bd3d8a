"""Every atomic operation, on every type and kind of place that it takes."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.conformance.running import launch
from tests.reflect.kernel_cases import kernel

import trilby as tb
from trilby import (
    Accelerator,
    KernelContext,
    NDArray,
    NDRange,
    S32Array,
    S32Array2D,
    f32,
    i32,
    i64,
    u32,
    u64,
)
from trilby.data.dtypes import SCALARS

ITEMS = 200
STARTS = {"min": 50, "and": -1, "sub": 7, "xor": 5, "exchange": -3}
CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "min": min,
    "max": max,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def integer_kernel(type_: str) -> str:
    lines = [
        f"    tb.atomic_{name}(a, {row}, {type_}(kc.x + 1))" for row, name in enumerate(CHANGES)
    ]
    return "\n".join(
        [
            "@tb.kernel",
            f"def k(kc: KernelContext, a: NDArray[{type_}], old: NDArray[{type_}]) -> None:",
            *lines,
            "    old[0, kc.x] = tb.atomic_inc(a, 7)",
            "    old[1, kc.x] = tb.atomic_dec(a, 8)",
            f"    old[2, kc.x] = tb.atomic_exchange(a, 9, {type_}(kc.x))",
            f"    old[3, kc.x] = tb.atomic_compare_exchange(a, 10, 3, {type_}(kc.x + 10))",
            "    old[4, kc.x] = tb.atomic_add(a, 11, 2)",
        ]
    )


@pytest.mark.parametrize("type_", ["i32", "u32", "i64", "u64"])
def test_integers(accelerator: Accelerator, type_: str) -> None:
    dtype = SCALARS[type_].numpy
    start = np.array([STARTS.get(name, 0) for name in CHANGES] + [100, 100, 777, 3, 0])
    a = accelerator.array(start.astype(dtype))
    old = accelerator.array(np.zeros((5, ITEMS), dtype))
    launch(accelerator, ITEMS, kernel(integer_kernel(type_)), a, old)
    given = [dtype.type(n) for n in range(1, ITEMS + 1)]
    found = np.asarray(a)
    for row, (name, change) in enumerate(CHANGES.items()):
        with np.errstate(over="ignore"):
            expected = functools.reduce(change, given, start[row : row + 1].astype(dtype)[0])
        assert found[row] == expected, name
    olds = np.asarray(old)
    assert found[7] == 100 + ITEMS
    assert sorted(olds[0].tolist()) == list(range(100, 100 + ITEMS))  # each seen once
    assert found[8] == np.array(100 - ITEMS).astype(dtype)
    assert sorted(olds[1].tolist()) == sorted(np.arange(100, 100 - ITEMS, -1).astype(dtype))
    # what was exchanged is passed on: all numbers but the last one come back once
    assert sorted([*olds[2].tolist(), int(found[9])]) == sorted([777, *range(ITEMS)])
    winners = np.flatnonzero(olds[3] == 3)
    assert winners.size == 1
    assert found[10] == winners[0] + 10
    assert set(olds[3].tolist()) <= {3, int(found[10])}
    assert sorted(olds[4].tolist()) == list(range(0, 2 * ITEMS, 2))


@tb.kernel
def floats(kc: KernelContext, a: NDArray[f32], old: NDArray[f32]) -> None:
    old[0, kc.x] = tb.atomic_add(a, 0, 0.5)
    old[1, kc.x] = tb.atomic_exchange(a, 1, f32(kc.x) + 0.25)


def test_floats(accelerator: Accelerator) -> None:
    a = accelerator.array(np.array([1.0, -1.5], np.float32))
    old = accelerator.array(np.zeros((2, ITEMS), np.float32))
    launch(accelerator, ITEMS, floats, a, old)
    assert a[0] == 1.0 + ITEMS / 2
    assert sorted(np.asarray(old)[0].tolist()) == [1.0 + n / 2 for n in range(ITEMS)]
    seen = [*np.asarray(old)[1].tolist(), a[1]]
    assert sorted(seen) == [-1.5, *(n + 0.25 for n in range(ITEMS))]


class Stats(tb.Buffer):
    class Cell(tb.Struct):
        weight: f32
        hits: tb.Atomic[u32]
        at: tb.i32x2

    count: tb.Atomic[i32]
    total: tb.Atomic[i64]
    n: i32
    cell: tb.Array[Cell] = tb.array("n")
    bins: tb.Array[u64] = tb.array("n", 2)
    mass: tb.Atomic[f32]


@tb.func
def note(stats: Stats, at: i32) -> i32:
    return tb.atomic_add(stats.count, at)


@tb.kernel
def all_places(
    kc: KernelContext, s: Stats, grid: S32Array2D, flat: NDArray[u32], deep: NDArray[i64]
) -> None:
    note(s, 1)
    tb.atomic_add(s.total, i64(kc.x) << 32)
    tb.atomic_add(s.mass, 0.25)
    tb.atomic_inc(s.cell[kc.x % s.n].hits)
    tb.atomic_add(s.cell[0].at.y, kc.x)
    tb.atomic_max(s.bins, (kc.x % s.n, 1), u64(kc.x))
    mine = s.cell[1]
    tb.atomic_sub(mine.hits, 1)
    tb.atomic_add(grid.array, (kc.x % grid.height, 1), 2)
    tb.atomic_xor(grid.array[0, 0], kc.x)
    tb.atomic_or(flat, kc.x % 2, u32(1) << u32(kc.x % 32))
    tb.atomic_min(deep, (0, kc.x % 2), -kc.x)
    cells = grid.array
    tb.atomic_dec(cells, (1, 0))


def test_places(accelerator: Accelerator) -> None:
    s = Stats.create(n=4)
    s.cell.hits[:] = 1000
    grid = S32Array2D.create(width=2, height=3)
    flat = accelerator.array(np.zeros(2, np.uint32))
    deep = accelerator.array(np.zeros((1, 2), np.int64))
    launch(accelerator, ITEMS, all_places, s, grid, flat, deep)
    x = np.arange(ITEMS)
    assert s.count == ITEMS
    assert s.total == int(x.sum()) << 32
    assert s.mass == ITEMS / 4
    assert s.cell.hits.tolist() == [1050, 850, 1050, 1050]
    assert s.cell[0].at == tb.i32x2(0, int(x.sum()))
    assert np.asarray(s.bins).tolist() == [[0, 196 + n] for n in range(4)]
    rows = 2 * np.bincount(x % 3)
    assert grid.array.tolist() == [
        [int(np.bitwise_xor.reduce(x)), rows[0]],
        [-ITEMS, rows[1]],
        [0, rows[2]],
    ]
    assert flat.tolist() == [0x55555555, 0xAAAAAAAA]
    assert deep.tolist() == [[-198, -199]]


@tb.kernel
def in_local_memory(kc: KernelContext, a: S32Array, counts: NDArray[i32], f: NDArray[f32]) -> None:
    bins = tb.local(i32, 4)
    seats = tb.local(u64, 1, 2)
    mass = tb.local(f32, 1)
    if kc.local_x < 4:
        bins[kc.local_x] = 0
    if kc.local_x == 0:
        seats[0, 1] = 0
        mass[0] = 0.0
    kc.barrier()
    tb.atomic_inc(bins, a.array[kc.x] % 4)
    seat = tb.atomic_add(seats, (0, 1), 1)
    tb.atomic_add(mass, 0, 0.5)
    kc.barrier()
    a.array[kc.x] = i32(seat)
    if kc.local_x < 4:
        counts[kc.group_x, kc.local_x] = bins[kc.local_x]
    if kc.local_x == 0:
        f[kc.group_x] = mass[0]


def test_local_arrays(accelerator: Accelerator) -> None:
    numbers = np.random.default_rng(1).integers(0, 100, 64)
    a = S32Array.of(numbers)
    counts = accelerator.array(np.zeros((4, 4), np.int32))
    f = accelerator.array(np.zeros(4, np.float32))
    launch(accelerator, NDRange(64, 16), in_local_memory, a, counts, f)
    for group in range(4):
        part = numbers[group * 16 : (group + 1) * 16] % 4
        assert counts.tolist()[group] == np.bincount(part, minlength=4).tolist()
        assert sorted(a.array[group * 16 : (group + 1) * 16].tolist()) == list(range(16))
    assert f.tolist() == [8.0] * 4

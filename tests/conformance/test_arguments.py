"""What kernels take by value, and what they take from the Python around them."""

from typing import Any

import numpy as np
import pytest
from tests.conformance.running import filled, launch
from tests.reflect.kernel_cases import kernel

import trilby as tb
from trilby import (
    Accelerator,
    KernelContext,
    NDArray,
    S32Array,
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
    u64,
)
from trilby.reflect.functions import Kernel

GIVEN: dict[str, Any] = {
    "a": (i8, -128),
    "b": (i16, -32768),
    "c": (i32, -(2**31)),
    "d": (i64, -(2**63)),
    "e": (u8, 255),
    "f": (u16, 65535),
    "g": (u32, 2**32 - 1),
    "h": (u64, 2**64 - 1),
    "p": (f16, 0.1),
    "q": (f32, 0.1),
    "r": (f64, 0.1),
    "s": (bool, True),
    "t": (bool, False),
}


@tb.kernel
def all_scalars(
    kc: KernelContext,
    ints: NDArray[i64],
    words: NDArray[u64],
    floats: NDArray[f64],
    a: i8,
    b: i16,
    c: i32,
    d: i64,
    e: u8,
    f: u16,
    g: u32,
    h: u64,
    p: f16,
    q: f32,
    r: f64,
    s: bool,
    t: bool,
) -> None:
    ints[0], ints[1], ints[2], ints[3] = a, b, c, d
    words[0], words[1], words[2], words[3] = e, f, g, h
    floats[0], floats[1], floats[2] = p, q, r
    ints[4] = i64(s) * 10 + i64(t)
    if s and not t:
        ints[5] = 1
    a += 1
    s = not s
    ints[6] = i64(a) * 10 + i64(s)  # parameters are names like others


def test_scalars_of_every_type(accelerator: Accelerator) -> None:
    ints = accelerator.array(np.zeros(7, np.int64))
    words = accelerator.array(np.zeros(4, np.uint64))
    floats = accelerator.array(np.zeros(3))
    values = [value for _, value in GIVEN.values()]
    launch(accelerator, 1, all_scalars, ints, words, floats, *values)
    assert ints.tolist() == [-128, -(2**15), -(2**31), -(2**63), 10, 1, -1270]
    assert words.tolist() == [255, 2**16 - 1, 2**32 - 1, 2**64 - 1]
    assert floats.tolist() == [float(np.float16(0.1)), float(np.float32(0.1)), 0.1]


def test_numpy_numbers_are_numbers(accelerator: Accelerator) -> None:
    ints = accelerator.array(np.zeros(7, np.int64))
    words = accelerator.array(np.zeros(4, np.uint64))
    floats = accelerator.array(np.zeros(3))
    values = [
        np.bool(value) if of is bool else of.numpy.type(value) for of, value in GIVEN.values()
    ]
    launch(accelerator, 1, all_scalars, ints, words, floats, *values)
    assert ints.tolist()[:5] == [-128, -(2**15), -(2**31), -(2**63), 10]


TYPES = ("i32", "f32", "u8", "f64", "i16", "bool", "f16", "i64", "NDArray[i32]", "tb.f32x3")


def fifty_parameters() -> str:
    """Numbers of all widths, arrays and vectors, mixed, and a weighted sum of them."""
    names = [f"p{n}" for n in range(50)]
    params = ", ".join(f"{p}: {TYPES[n % len(TYPES)]}" for n, p in enumerate(names))
    lines = ["@tb.kernel", f"def k(kc: KernelContext, out: NDArray[f64], {params}) -> None:"]
    for n, name in enumerate(names):
        kind = TYPES[n % len(TYPES)]
        value = {"NDArray[i32]": f"{name}[1]", "tb.f32x3": f"{name}.y"}.get(kind, name)
        lines.append(f"    out[{n}] = f64({value})")
    return "\n".join(lines)


def test_fifty_arguments(accelerator: Accelerator) -> None:
    given: list[Any] = []
    for n in range(50):
        kind = TYPES[n % len(TYPES)]
        if kind == "NDArray[i32]":
            given.append(accelerator.array(np.array([0, n, 0], np.int32)))
        elif kind == "tb.f32x3":
            given.append(tb.f32x3(-1.0, float(n), -1.0))
        elif kind == "bool":
            given.append(n % 3 == 0)
        else:
            given.append(n)
    out = accelerator.array(np.zeros(50))
    launch(accelerator, 1, kernel(fifty_parameters()), out, *given)
    expected = [n % 3 == 0 if n % len(TYPES) == 5 else n for n in range(50)]
    assert out.tolist() == expected


LIMIT = 10
SCALE = 0.5
TYPED = np.uint8(250)
FLAG = True


class Settings:
    depth = 3


@tb.kernel
def constants(kc: KernelContext, out: NDArray[f32]) -> None:
    out[0] = f32(LIMIT * 2) + SCALE
    out[1] = f32(TYPED + 10)  # a NumPy constant keeps its type, and wraps
    out[2] = f32(Settings.depth)
    out[3] = 1.0 if FLAG else 2.0
    total = 0
    for i in range(LIMIT):
        total += i
    out[4] = f32(total)
    room = tb.private(i32, LIMIT // 2)
    room[LIMIT // 2 - 1] = 7
    out[5] = f32(room[4])


def test_constants_of_the_module(accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch) -> None:
    found = filled(accelerator, 1, constants, np.zeros(6, np.float32))
    assert found.tolist() == [20.5, 4.0, 3.0, 1.0, 45.0, 7.0]
    names: dict[str, Any] = constants.function.__globals__
    monkeypatch.setitem(names, "SCALE", -0.25)
    monkeypatch.setitem(names, "FLAG", False)
    monkeypatch.setattr(Settings, "depth", 8)
    again = filled(accelerator, 1, constants, np.zeros(6, np.float32))
    assert again.tolist() == [19.75, 4.0, 8.0, 2.0, 45.0, 7.0]


def make_adder(amount: int, weight: float) -> Kernel[...]:
    """Two kernels of one text, with constants of their own."""

    @tb.func
    def weighed(n: i32) -> f32:
        return f32(n) * weight

    @tb.kernel
    def add(kc: KernelContext, a: S32Array, out: NDArray[f32]) -> None:
        a.array[kc.x] += amount
        out[kc.x] = weighed(a.array[kc.x])

    return add


def test_constants_of_a_closure(accelerator: Accelerator) -> None:
    a = S32Array.of([1, 2])
    out = accelerator.array(np.zeros(2, np.float32))
    launch(accelerator, 2, make_adder(3, 0.5), a, out)
    assert (a.array.tolist(), out.tolist()) == ([4, 5], [2.0, 2.5])
    launch(accelerator, 2, make_adder(10, 2.0), a, out)
    assert (a.array.tolist(), out.tolist()) == ([14, 15], [28.0, 30.0])


def test_a_constant_of_a_closure_that_changes(accelerator: Accelerator) -> None:
    step = 1

    @tb.kernel
    def add(kc: KernelContext, a: S32Array) -> None:
        a.array[kc.x] += step

    a = S32Array.of([0, 0])
    launch(accelerator, 2, add, a)
    step = 100
    launch(accelerator, 2, add, a)
    assert a.array.tolist() == [101, 101]


class Ledger(tb.Buffer):
    rows: i32
    columns: i16
    cell: tb.Array[i32] = tb.array("rows", "columns")
    mark: tb.Array[i32] = tb.array("rows")


@tb.func
def last_cell(ledger: Ledger) -> i32:
    return ledger.cell[ledger.rows - 1, i32(ledger.columns) - 1]


@tb.kernel
def measured(kc: KernelContext, ledger: Ledger, other: Ledger, out: NDArray[i32]) -> None:
    chosen = ledger if kc.x < 3 else other
    ledger.cell[kc.x, kc.x % i32(ledger.columns)] += 1
    ledger.mark[kc.x] = chosen.rows
    out[kc.x] = chosen.rows * 1000 + i32(chosen.columns) * 100 + last_cell(ledger)


@pytest.mark.parametrize("lie", [0, 1, 2**20])
def test_kernels_do_not_trust_lengths_that_were_overwritten(
    accelerator: Accelerator, lie: int
) -> None:
    memory = np.zeros(200, np.uint8)
    ledger = Ledger.bind(memory, rows=5, columns=3)
    other = Ledger.create(rows=2, columns=7)
    ledger.cell[:] = 40
    memory[:4].view(np.int32)[0] = lie
    memory[4:6].view(np.int16)[0] = lie % 999
    out = accelerator.array(np.zeros(5, np.int32))
    launch(accelerator, 5, measured, ledger, other, out)
    cells = np.full((5, 3), 40)
    cells[np.arange(5), np.arange(5) % 3] += 1
    assert (ledger.rows, ledger.columns) == (5, 3)
    assert ledger.cell[:].tolist() == cells.tolist()
    assert ledger.mark[:].tolist() == [5, 5, 5, 2, 2]
    assert out[:].tolist() == [5340, 5340, 5340, 2740, 2740]

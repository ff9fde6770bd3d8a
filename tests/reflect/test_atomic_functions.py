"""Atomic operations: their models, their results, and what they refuse."""

from typing import Any

import numpy as np
import pytest
from tests.messages import message
from tests.reflect.kernel_cases import body, indented, kernel, lined, load, run, said

import trilby as tb
from trilby.errors import DirectCallError, FieldError, KernelTypeError, TrilbyError
from trilby.reflect.kernel_builtins import atomic_add

TABLE = """
    class Table(tb.Buffer):
        count: tb.Atomic[i32]
        length: i32
        hits: tb.Array[u32] = tb.array("length")
"""


def text_of(line: str, kind: type[TrilbyError] = KernelTypeError) -> str:
    params = "t: Table, g: S32Array2D, m: NDArray[f32], s: NDArray[i16], d: NDArray[f64], n: i32"
    source = f"@tb.kernel\ndef k(kc: KernelContext, {params}):\n{indented(line)}\n"
    return said(kind, source, **load(TABLE, "table.py"))


def test_places() -> None:
    lines = """
        slot = tb.atomic_add(t.count, 1)
        tb.atomic_add(t.hits, n, 2)
        tb.atomic_add(g.array, (n, 0), n)
        tb.atomic_add(m, n, 1)
    """
    params = "t: Table, g: S32Array2D, m: NDArray[f32], n: i32"
    assert body(lines, params, **load(TABLE, "table.py")) == lined("""
        %5 : i32 = constant @1
        %6 : i32 = atomic %1 %5 @"count" @"add"
        %7 : Var<i32> = var %6 @"slot"
        %8 : u32 = constant @2
        %9 : u32 = atomic %1 %4 %8 @"hits[]" @"add"
        %10 : i32 = constant @0
        %11 : i32 = atomic %2 %4 %10 %4 @"array[]" @"add"
        %12 : f32 = constant @1.0
        %13 : f32 = atomic %3 %4 %12 @"[]" @"add"
    """)


def test_each_work_item_gets_its_own_slot() -> None:
    names = load(TABLE, "table.py")
    table = names["Table"].create(length=8)
    source = """
        @tb.kernel
        def k(kc: KernelContext, t: Table):
            slot = tb.atomic_add(t.count, 1)
            t.hits[slot] += 1
    """
    run(kernel(source, **names), 8, table)
    assert table.count == 8
    assert table.hits[:].tolist() == [1] * 8


def test_a_struct_through_a_reference_and_a_struct_in_a_helper() -> None:
    source = """
        class Cell(tb.Struct):
            hits: i32
        class Grid(tb.Buffer):
            length: i32
            cell: tb.Array[Cell] = tb.array("length")

        @tb.func
        def hit(g: Grid, i: i32) -> i32:
            c = g.cell[i]
            return tb.atomic_add(c.hits, 5)

        @tb.kernel
        def k(kc: KernelContext, g: Grid, r: NDArray[i32]):
            r[kc.x] = hit(g, 1)
    """
    names = load(source)
    grid, found = names["Grid"].create(length=2), np.zeros(3, np.int32)
    run(names["k"], 3, grid, found)
    assert found.tolist() == [0, 5, 10]
    assert grid.cell[1].hits == 15


def test_histogram_against_numpy() -> None:
    numbers = np.random.default_rng(1).integers(0, 7, 200).astype(np.int32)
    found = np.zeros(7, np.int32)
    source = """
        @tb.kernel
        def k(kc: KernelContext, a: NDArray[i32], h: NDArray[i32]):
            tb.atomic_add(h, a[kc.x], 1)
    """
    run(kernel(source), 200, numbers, found)
    np.testing.assert_array_equal(found, np.bincount(numbers, minlength=7))


@pytest.mark.parametrize(
    ("line", "part", "problem"),
    [
        ("tb.atomic_add(n, 1)", "n", "`i32` is not a place in a buffer"),
        ("tb.atomic_add(t, 1)", "t", "`Table` is not a place in a buffer"),
        ("tb.atomic_add(3, 1)", "3", "the literal `3` is not a place in a buffer"),
        ("tb.atomic_add(s, 0, 1)", "s", "`i16` cannot be changed"),
        ("tb.atomic_add(d, 0, 1)", "d", "`f64` cannot be changed"),
        ("tb.atomic_add(t.count, 0.5)", "0.5", "the place is `i32`, and this is the literal `0.5`"),
        ("tb.atomic_add(m, 0.5, 1)", "0.5", "an index is an integer, and this is `f32`"),
        ("tb.atomic_add(t.hits, n, n)", "n)", "the place is `u32`, and this is `i32`"),
    ],
)
def test_what_is_no_place(line: str, part: str, problem: str) -> None:
    text = text_of(line).splitlines()
    at = line.rindex(part) if part in {"n)", "t", "0.5"} else line.index(f"({part}") + 1
    at = line.index("(") + 1 if part == "t" else at
    assert text[0].startswith(f"app.py:3: {problem}")
    assert text[1] == f"  3 | {line}"
    assert text[2] == f"    | {' ' * at}{'^' * len(part.rstrip(')'))}"


@pytest.mark.parametrize(
    "line",
    [
        "tb.atomic_add()",
        "tb.atomic_add(t.count)",
        "tb.atomic_add(t.count, 1, 2)",
        "tb.atomic_add(t.hits)",
        "tb.atomic_add(t.count, value=1)",
    ],
)
def test_arguments(line: str) -> None:
    text = text_of(line).splitlines()
    assert text[0].startswith("app.py:3: `tb.atomic_add` ")
    assert text[2] == f"    | {'^' * len(line)}"
    assert text[3].startswith("  help: write `tb.atomic_add(")


def test_a_length_is_fixed() -> None:
    assert text_of("tb.atomic_add(t.length, 1)", FieldError).startswith(
        "app.py:3: `length` is a length, fixed when the buffer was created\n"
    )


def test_the_host_is_told_what_to_write() -> None:
    table: Any = None
    with pytest.raises(DirectCallError) as caught:
        tb.atomic_add(table, 1)
    assert message(caught.value) == (
        "`atomic_add` works inside kernels only\n"
        "  help: on the host nothing runs beside you: write `table.count += 1`"
    )
    assert atomic_add.__name__ == "atomic_add"

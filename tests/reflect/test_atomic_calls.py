"""Calls of the atomic operations: places, operands, and what they refuse."""

import pytest
from tests.reflect.kernel_cases import lined
from tests.reflect.struct_cases import accepted, check_refusal, model_of, refusals

from trilby.errors import FieldError

ON_INTEGERS = "it works on `i32`, `u32`, `i64`, `u64`"
ON_FIELD = "write `tb.{}`"
NAME_IT = "name a field or an element: `tb.atomic_add(table.count, 1)`"
WHOLE = "write a whole number, or `i32(…)` to cut it"


def test_the_old_number_is_the_result() -> None:
    lines = "old = tb.atomic_compare_exchange(t.count, 1, n)\ntb.atomic_dec(t.count)"
    assert model_of(lines, "t: Table, n: i32") == lined("""
        %3 : i32 = constant @1
        %4 : i32 = compare_exchange %1 %3 %2 @"count"
        %5 : Var<i32> = var %4 @"old"
        %6 : i32 = constant @1
        %7 : i32 = atomic %1 %6 @"count" @"sub"
    """)


@pytest.mark.parametrize(
    "line",
    [
        "tb.atomic_add(t.point[n].n, 1)",
        "tb.atomic_add(t.point[n].w, 0, 0.5)",
        "tb.atomic_add(t.v[n].y, 1.0)",
        "tb.atomic_exchange(f.array, n, 1)",
        "tb.atomic_inc(f.array, n)",
        "tb.atomic_add(a.array[n], 1)",
        "s = tb.local(u32, 2, 2)\ntb.atomic_max(s, (0, n), 1)",
        "r = t.point[n]\ntb.atomic_add(r.n, n)",
        "x = a.array[tb.atomic_inc(t.count)]",
    ],
)
def test_places(line: str) -> None:
    accepted(line)


@refusals(
    (
        "tb.atomic_add(t.count)",
        "tb.atomic_add(t.count)",
        "`tb.atomic_add` takes a place and one value, and here it has 0",
        "write `tb.atomic_add(table.count, 1)`",
    ),
    (
        "tb.atomic_add(t.count, 1, 2)",
        "tb.atomic_add(t.count, 1, 2)",
        "`tb.atomic_add` takes a place and one value, and here it has 2",
        "write `tb.atomic_add(table.count, 1)`",
    ),
    (
        "tb.atomic_inc(t.count, 1)",
        "tb.atomic_inc(t.count, 1)",
        "`tb.atomic_inc` takes a place and no value, and here it has 1",
        "write `tb.atomic_inc(table.count)`",
    ),
    (
        "tb.atomic_compare_exchange(t.count, 1)",
        "tb.atomic_compare_exchange(t.count, 1)",
        "`tb.atomic_compare_exchange` takes a place and two values, and here it has 1",
        "write `tb.atomic_compare_exchange(table.count, 1, 2)`",
    ),
    (
        "tb.atomic_add(a.array)",
        "tb.atomic_add(a.array)",
        "`tb.atomic_add` on an array takes an index",
        "write `tb.atomic_add(a.array, i, 1)`",
    ),
    (
        "tb.atomic_add(a.array, 1)",
        "tb.atomic_add(a.array, 1)",
        "`tb.atomic_add` takes a place and one value, and here it has 0",
        "write `tb.atomic_add(a.array, i, 1)`",
    ),
    (
        "tb.atomic_add()",
        "tb.atomic_add()",
        "`tb.atomic_add` takes a place first",
        "write `tb.atomic_add(table.count, 1)`",
    ),
)
def test_operands_are_counted(lines: str, part: str, problem: str, advice: str) -> None:
    check_refusal(lines, part, problem, advice)


@refusals(
    (
        "tb.atomic_sub(f.array, 0, 1.0)",
        "f.array",
        "`f32` cannot be changed by `atomic_sub`",
        ON_INTEGERS,
    ),
    (
        "tb.atomic_max(f.array, 0, 1.0)",
        "f.array",
        "`f32` cannot be changed by `atomic_max`",
        ON_INTEGERS,
    ),
    (
        "tb.atomic_add(t.cell[0].on, 0, 1)",
        "t.cell[0].on",
        "`bool` cannot be changed by `atomic_add`",
        f"{ON_INTEGERS}, `f32`",
    ),
    (
        "tb.atomic_add(t.count, 1.5)",
        "1.5",
        "the place is `i32`, and this is the literal `1.5`",
        WHOLE,
    ),
    ("tb.atomic_add(n, 1)", "n", "`i32` is not a place in a buffer", NAME_IT),
    ("tb.atomic_add(p.x, 1.0)", "p.x", "`f32` is not a place in a buffer", NAME_IT),
    (
        "tb.atomic_add(t.point, 0, 1)",
        "t.point",
        "`Point` is not a place in a buffer",
        "name a field or an element: `tb.atomic_add(a.array, i, 1)`",
    ),
    (
        "s = tb.private(i32, 2)\ntb.atomic_add(s, 0, 1)",
        "s",
        "a private array belongs to one work item, and nobody else can change it",
        "change it as usual: `own[i] += 1`",
    ),
)
def test_places_that_do_not_fit(lines: str, part: str, problem: str, advice: str) -> None:
    check_refusal(lines, part, problem, advice)


def test_lengths_are_fixed() -> None:
    check_refusal(
        "tb.atomic_add(a.length, 1)",
        "a.length",
        "`length` is a length, fixed when the buffer was created",
        "keep a count in a field of its own",
        FieldError,
    )

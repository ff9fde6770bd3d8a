"""Ranges, groups and the kernel context."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.backend.interpreter.kernels import Array, constant, kernel, launch

from trilby.backend.interpreter.execute import groups
from trilby.data.dtypes import I32
from trilby.data.kernel_context import GRID_FIELDS
from trilby.data.ndrange import NDRange
from trilby.data.schema import NDArrayType
from trilby.errors import RangeError
from trilby.model.build import Builder
from trilby.model.ops.arith import Add, Mul
from trilby.model.ops.grid import Grid
from trilby.model.ops.memory import AtomicUpdate, Store
from trilby.model.value import Value


def contexts(size: NDRange) -> list[dict[str, int]]:
    """What every work item sees, in the order of their numbers; each runs exactly once."""
    seen = np.full((math.prod(size.size), len(GRID_FIELDS)), -1, np.int32)
    times = np.zeros(len(seen), np.int32)

    def body(b: Builder, kc: Value, table: Value, count: Value) -> None:
        values = {name: b.value(Grid, kc, name, type=I32) for name in GRID_FIELDS}
        number = constant(b, 0)
        for axis in "zyx":
            scaled = b.value(Mul, number, values[f"max_{axis}"], type=I32)
            number = b.value(Add, scaled, values[axis], type=I32)
        for column, name in enumerate(GRID_FIELDS):
            b.run(Store, table, (number, constant(b, column)), values[name], "[]")
        b.run(AtomicUpdate, count, (number,), constant(b, 1), "[]", "add")

    params = {"table": NDArrayType(I32, 2), "count": NDArrayType(I32, 1)}
    launch(kernel(dict(params), body), size, seen, times)
    assert (times == 1).all()
    return [dict(zip(GRID_FIELDS, row, strict=True)) for row in seen.tolist()]


def expected(size: tuple[int, ...], local: tuple[int, ...]) -> list[dict[str, int]]:
    """By the definition: an item's group is its number over the group's size."""
    sizes, steps = (*size, 1, 1)[:3], (*local, 1, 1)[:3]
    items: list[dict[str, int]] = []
    for z, y, x in np.ndindex(*sizes[::-1]):
        item = {"pass_id": 0}
        for axis, at, n, step in zip("xyz", (x, y, z), sizes, steps, strict=True):
            item |= {
                axis: at,
                f"max_{axis}": n,
                f"local_{axis}": at % step,
                f"local_max_{axis}": step,
                f"group_{axis}": at // step,
                f"group_max_{axis}": math.ceil(n / step),
            }
        items.append(item)
    return items


@pytest.mark.parametrize(
    ("size", "local"),
    [
        ((8,), (4,)),
        ((7,), (3,)),
        ((3,), (5,)),
        ((4, 6), (2, 3)),
        ((5, 3), (2, 2)),
        ((3, 4, 5), (2, 3, 2)),
        ((2, 2, 2), (1, 1, 1)),
    ],
)
def test_every_work_item_sees_where_it_stands(
    size: tuple[int, ...], local: tuple[int, ...]
) -> None:
    assert contexts(NDRange(size, local)) == expected(size, local)


@st.composite
def ranges(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    rank = draw(st.integers(1, 3))
    size = draw(st.tuples(*[st.integers(1, 7)] * rank))
    return size, draw(st.tuples(*[st.integers(1, 4)] * rank))


@given(ranges())
def test_any_range_with_any_group_is_covered(
    case: tuple[tuple[int, ...], tuple[int, ...]],
) -> None:
    size, local = case
    assert contexts(NDRange(size, local)) == expected(size, local)


@pytest.mark.parametrize("size", [(5,), (200,), (20, 9), (20, 9, 2)])
def test_without_a_local_size_all_items_run_in_groups_of_one_size(size: tuple[int, ...]) -> None:
    seen = contexts(NDRange(size))
    local = tuple(seen[0][f"local_max_{axis}"] for axis in "xyz"[: len(size)])
    assert math.prod(local) > 1
    assert seen == expected(size, local)


def test_the_items_of_a_row_run_first() -> None:
    order: Array = np.zeros(6, np.int32)
    clock: Array = np.zeros(1, np.int32)

    def body(b: Builder, kc: Value, out: Value, ticks: Value) -> None:
        x, y, width = (b.value(Grid, kc, name, type=I32) for name in ("x", "y", "max_x"))
        number = b.value(Add, b.value(Mul, y, width, type=I32), x, type=I32)
        now = b.value(AtomicUpdate, ticks, (constant(b, 0),), constant(b, 1), "[]", "add", type=I32)
        b.run(Store, out, (now,), number, "[]")

    array = NDArrayType(I32, 1)
    launch(kernel({"out": array, "ticks": array}, body), (3, 2), order, clock)
    assert order.tolist() == [0, 1, 2, 3, 4, 5]


def test_an_empty_range_runs_nothing() -> None:
    assert list(groups(NDRange(0), (4,))) == []
    assert list(groups(NDRange((3, 0)), (4, 4))) == []


def nothing(_: Builder, __: Value) -> None:
    """A kernel that does nothing."""


def test_a_group_that_is_too_large_is_refused() -> None:
    with pytest.raises(RangeError, match="8192"):
        launch(kernel({}, nothing), NDRange(8192, local=8192))


def test_a_range_beyond_what_an_index_can_count_is_refused() -> None:
    with pytest.raises(RangeError, match="2147483648"):
        launch(kernel({}, nothing), NDRange(2**31))

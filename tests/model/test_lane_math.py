"""The functions of `math` for numbers and vectors, as plain Python sees them."""

import inspect
import math
from typing import Any

import numpy as np
import pytest

import trilby as tb
from trilby.errors import ArgumentTypeError
from trilby.model import lane_math
from trilby.model.intrinsics import INTRINSICS

NAMES = sorted(
    name
    for name, thing in vars(lane_math).items()
    if inspect.isfunction(thing) and not name.startswith("_") and name in INTRINSICS
)
FROM_MATH = [name for name in NAMES if hasattr(math, name)]


@pytest.mark.parametrize("name", FROM_MATH)
def test_numbers_and_lanes_are_those_of_math(name: str) -> None:
    plain, ours = getattr(math, name), getattr(tb, name)
    shift = 1.0 if name == "acosh" else 0.0
    columns = [[0.5 + shift, 0.75 + shift], [0.25, 1.5]][: INTRINSICS[name].arity]
    wanted = [float(plain(*lane)) for lane in zip(*columns, strict=True)]
    assert [ours(*lane) for lane in zip(*columns, strict=True)] == wanted
    found = ours(*(tb.f32x2(*column) for column in columns))
    assert found == tb.f32x2(*np.array(wanted, np.float32).tolist())


def test_python_raises_where_these_do_not() -> None:
    with pytest.raises(ValueError, match="domain"):
        math.sqrt(-1.0)
    assert math.isnan(tb.sqrt(-1.0))
    assert tb.log(0.0) == -math.inf
    assert tb.exp(tb.f32x2(1e6, 0.0)) == tb.f32x2(math.inf, 1.0)


def test_lanes_have_their_own_precision() -> None:
    assert tb.sqrt(tb.f32x2(2.0, 3.0)).x == np.sqrt(np.float32(2.0))
    assert tb.sqrt(tb.f16x2(2.0, 3.0)).y == np.sqrt(np.float16(3.0))


def test_one_number_stands_for_all_lanes() -> None:
    v = tb.f32x3(-2.0, 0.5, 4.0)
    assert tb.min(v, 1.0) == tb.f32x3(-2.0, 0.5, 1.0)
    assert tb.max(0.0, v, tb.f32x3(0.0, 9.0, 0.0)) == tb.f32x3(0.0, 9.0, 4.0)
    assert tb.pow(2.0, v.yz) == tb.f32x2(float(np.float32(math.sqrt(2.0))), 16.0)
    assert tb.min(tb.i32x2(7, -7), 3) == tb.i32x2(3, -7)
    assert (tb.min(3, 2), tb.max(1, 4.5, 2)) == (2, 4.5)


@pytest.mark.parametrize(
    ("name", "args", "problem"),
    [
        ("sqrt", [tb.i32x2(1, 2)], "`sqrt` takes floats, and this is `i32x2`"),
        ("rsqrt", [tb.i32x2(1, 2)], "`rsqrt` takes floats, and this is `i32x2`"),
        ("clz", [tb.f32x2(1.0, 2.0)], "`clz` takes integers, and this is `f32x2`"),
        ("max", [tb.i32x2(1, 2), 0.5], "a lane of `i32x2` is `i32`, and 0.5 is a float"),
        (
            "min",
            [tb.f32x2(1.0, 2.0), tb.f32x3(1.0, 2.0, 3.0)],
            "`f32x2` and `f32x3` do not compute with each other",
        ),
    ],
)
def test_what_kernels_refuse_is_refused(name: str, args: list[Any], problem: str) -> None:
    with pytest.raises(ArgumentTypeError, match=problem):
        getattr(tb, name)(*args)


def test_bits_of_lanes_have_their_width() -> None:
    assert tb.popcount(tb.i32x2(-1, 5)) == tb.i32x2(32, 2)
    assert tb.popcount(tb.u8x2(255, 0)) == tb.u8x2(8, 0)
    assert tb.clz(tb.u8x2(1, 0)) == tb.u8x2(7, 8)
    assert tb.clz(tb.i32x2(-1, 1)) == tb.i32x2(0, 31)
    assert tb.popcount(-1, 16) == 16

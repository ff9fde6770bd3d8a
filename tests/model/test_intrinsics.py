"""The table of math functions is whole, and means what IEEE 754 says where Python raises."""

import inspect
import math

import numpy as np
import pytest

from trilby.model import math_functions
from trilby.model.composed import COMPOSED
from trilby.model.intrinsics import INTRINSICS

PLAIN = {name for name in INTRINSICS if hasattr(math, name)}


def test_the_table_is_whole() -> None:
    own = {
        name
        for name, thing in vars(math_functions).items()
        if inspect.isfunction(thing)
        and thing.__module__ == math_functions.__name__
        and not name.startswith("_")
    }
    assert own <= INTRINSICS.keys() | COMPOSED.keys()
    assert {"min", "max", "abs"} <= INTRINSICS.keys()
    for name, row in INTRINSICS.items():
        assert row.name == name
        assert row.arity in {1, 2, 3}
        assert row.ulps >= 0
        assert row.doc
        assert not row.doc.endswith(".")


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_the_meaning_is_that_of_python(name: str) -> None:
    row = INTRINSICS[name]
    args = (1.0 if name == "acosh" else 0.625, 0.5, 0.75)[: row.arity]
    assert row.meaning(*args) == getattr(math, name)(*args)


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("sqrt", (-1.0,), math.nan),
        ("log", (0.0,), -math.inf),
        ("log2", (-0.0,), -math.inf),
        ("log10", (-1.0,), math.nan),
        ("log1p", (-1.0,), -math.inf),
        ("exp", (1e6,), math.inf),
        ("exp2", (1e6,), math.inf),
        ("expm1", (1e6,), math.inf),
        ("sinh", (-1e6,), -math.inf),
        ("cosh", (-1e6,), math.inf),
        ("asin", (2.0,), math.nan),
        ("acosh", (0.5,), math.nan),
        ("atanh", (-1.0,), -math.inf),
        ("atanh", (2.0,), math.nan),
        ("sin", (math.inf,), math.nan),
        ("fmod", (1.0, 0.0), math.nan),
        ("fmod", (math.inf, 1.0), math.nan),
        ("remainder", (1.0, 0.0), math.nan),
        ("pow", (0.0, -1.0), math.inf),
        ("pow", (-0.0, -3.0), -math.inf),
        ("pow", (-8.0, 1 / 3), math.nan),
        ("pow", (-10.0, 999.0), -math.inf),
        ("floor", (-0.5,), -1.0),
        ("ceil", (-0.5,), -0.0),
        ("trunc", (math.inf,), math.inf),
        ("floor", (math.nan,), math.nan),
        ("gamma", (-0.0,), -math.inf),
        ("gamma", (500.0,), math.inf),
        ("lgamma", (-2.0,), math.inf),
        ("rsqrt", (-0.0,), -math.inf),
    ],
)
def test_poles_and_overflows(name: str, args: tuple[float, ...], expected: float) -> None:
    found = INTRINSICS[name].meaning(*args)
    np.testing.assert_equal(found, expected)  # NaN is NaN, and zeros have signs
    if name not in {"gamma", "lgamma", "rsqrt", "acosh", "atanh", "asin"}:
        numpy_name = {"pow": "power", "remainder": "fmod"}.get(name, name)
        with np.errstate(all="ignore"):
            np.testing.assert_equal(float(getattr(np, numpy_name)(*args)), expected)


def test_widths_are_known_where_bits_are_counted() -> None:
    assert INTRINSICS["popcount"].meaning(-1, 8) == 8
    assert INTRINSICS["clz"].meaning(1, 16) == 15
    assert INTRINSICS["clz"].meaning(-1, 64) == 0
    assert {name for name, row in INTRINSICS.items() if row.knows_width} == {"popcount", "clz"}


def test_min_and_max_are_pythons_with_nan() -> None:
    assert INTRINSICS["min"].meaning(1.0, math.nan) == 1.0
    assert math.isnan(INTRINSICS["max"].meaning(math.nan, 1.0))

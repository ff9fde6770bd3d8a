"""Math on vectors by formulas: within the ulps of the table, with and without the C library's."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.codegen.llvm_run import compiled, host_target, run_llvm
from tests.codegen.running import graph_of
from tests.reflect.kernel_cases import kernel

import trilby as tb
from trilby import KernelContext, NDArray, f32
from trilby.backend.native.modules import generated as generate
from trilby.codegen.llvm.formulas.math_formulas import has_formula
from trilby.data.dtypes import SCALARS
from trilby.model.intrinsics import INTRINSICS

Numbers = npt.NDArray[Any]

HIDDEN = replace(host_target(256), vector_math="")
"""The processor of the tests as if its C library had no vectors, as on macOS, ARM and musl."""

NAMES = [name for name in INTRINSICS if has_formula(name, "float")]
CASES = [(n, t) for n in NAMES for t in ("f32", "f64") if t == "f32" or has_formula(n, "double")]
NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2"}
EDGES = (
    0.0, math.inf, math.nan, 0.5, 1.0, 2.0, 3.0, 0.625, 0.70710678, 1.41421356, 0.999999, 1.000001,
    1e-45, 1e-40, 5e-324, 1e-310, 3e38, 1e300, 1e5, 1e6, 1e10, 1e22, 32768.0, 32769.0, 524289.0,
    87.4, 88.7, 89.0, 89.4, 89.5, 103.9, 104.0, 110.0, 127.9, 128.0, 129.0, 149.0, 150.0,
    709.7, 710.0, 710.4, 711.0, 745.0, 746.0, 750.0, 1023.9, 1024.0, 1074.0, 1075.0,
)  # fmt: skip
"""Where functions change their ways, and the ends of both types, with either sign."""


def samples(dtype: np.dtype[Any], count: int) -> Numbers:
    """Edges, and numbers from many ranges, the smallest and the largest among them."""
    rng = np.random.default_rng(5)
    ranges = ((-1, 1), (0.5, 1.5), (-10, 10), (-100, 100), (-800, 800), (-1e4, 1e4))
    parts = [rng.uniform(low, high, count) for low, high in ranges]
    tens = rng.uniform(-44, 38, count) if dtype.itemsize == 4 else rng.uniform(-320, 308, count)
    scattered = 10.0**tens * rng.choice([-1, 1], count)
    edges = np.array([sign * edge for sign in (1.0, -1.0) for edge in EDGES])
    with np.errstate(over="ignore", under="ignore"):
        return np.concatenate([edges, *parts, scattered]).astype(dtype)


def arguments(name: str, dtype: np.dtype[Any], count: int) -> list[Numbers]:
    """The samples; for functions of two numbers all pairs of edges, and some of the rest."""
    first = samples(dtype, count)
    if INTRINSICS[name].arity == 1:
        return [first]
    edges = first[: 2 * len(EDGES)]
    second = np.random.default_rng(6).permutation(first)
    pairs = [np.tile(edges, len(edges)), np.repeat(edges, len(edges))]
    return [np.concatenate(both) for both in zip(pairs, (first, second), strict=True)]


def truth(name: str, given: list[Numbers]) -> Numbers:
    """What is right: in doubles for floats, and for doubles in whatever is longer here."""
    meaning = INTRINSICS[name].meaning
    wide = getattr(np, NUMPY.get(name, name), None)
    if given[0].dtype == np.float64 and wide is not None and np.finfo(np.longdouble).nmant > 60:
        with np.errstate(all="ignore"):
            return wide(*(column.astype(np.longdouble) for column in given))
    rows = zip(*(column.tolist() for column in given), strict=True)
    return np.array([meaning(*row) for row in rows])


def ulps_off(found: Numbers, right: Numbers) -> Numbers:
    """How far off numbers are in units of the last place; infinite where the kind is wrong."""
    with np.errstate(all="ignore"):
        rounded = right.astype(found.dtype)
        unit = np.spacing(np.abs(rounded)).astype(np.longdouble)
        off = np.abs(found.astype(np.longdouble) - right.astype(np.longdouble)) / unit
    same = (found == rounded) & (np.signbit(found) == np.signbit(rounded))
    same |= np.isnan(found) & np.isnan(rounded)
    off = np.where(same & ~np.isfinite(rounded), 0.0, off)
    wrong = np.isnan(off) | ((found == 0) & (rounded == 0) & ~same)
    return np.where(wrong, np.inf, off)


def function_kernel(name: str, type_: str) -> Any:
    arity = INTRINSICS[name].arity
    params = ", ".join(f"a{n}: NDArray[{type_}]" for n in range(arity))
    given = ", ".join(f"a{n}[kc.x]" for n in range(arity))
    return kernel(
        f"@tb.kernel\ndef k(kc: KernelContext, out: NDArray[{type_}], {params}) -> None:\n"
        f"    out[kc.x] = math.{name}({given})\n"
    )


@pytest.mark.parametrize(("name", "type_"), CASES)
def test_a_formula_is_within_the_ulps_of_the_table(name: str, type_: str) -> None:
    dtype = SCALARS[type_].numpy
    given = arguments(name, dtype, 2000)
    out = np.zeros(len(given[0]), dtype)
    made = function_kernel(name, type_)
    found = run_llvm(made, len(out), out, *given, target=HIDDEN)[0]
    off = ulps_off(found, truth(name, given))
    if name in {"sin", "cos", "tan"} and type_ == "f64":  # NumPy's longer ones stray there
        huge = np.abs(given[0]) > 1e6
        meant = np.array([INTRINSICS[name].meaning(x) for x in given[0].tolist()])
        off = np.where(huge, ulps_off(found, meant), off)
    worst = int(np.argmax(off))
    at = [column[worst] for column in given]
    assert off[worst] <= INTRINSICS[name].ulps, f"{name}({at}) is {found[worst]}"


@pytest.mark.parametrize(("name", "type_"), CASES)
def test_no_function_with_a_formula_runs_lane_by_lane(name: str, type_: str) -> None:
    """Huge angles do; so the formulas of angles have such a call, and the others have none."""
    ranks = (1,) * (1 + INTRINSICS[name].arity)
    text = compiled(graph_of(function_kernel(name, type_), ranks), HIDDEN).optimised
    is_called = "@lanes." in text
    assert is_called == (name in {"sin", "cos", "tan"})


def test_a_processor_that_does_not_fuse_asks_the_c_library() -> None:
    target = replace(HIDDEN, features=HIDDEN.features - {"fma"}, triple="x86_64-unknown-linux-gnu")
    text = generate(graph_of(function_kernel("tanh", "f32"), (1, 1)), target).text
    assert "@formula." not in text
    assert "@lanes.tanhf" in text


@tb.kernel
def both_ways(kc: KernelContext, out: NDArray[f32], a: NDArray[f32]) -> None:
    x = a[kc.x]
    out[0, kc.x] = math.erf(x) + math.tanh(x * 0.5)
    out[1, kc.x] = math.erf(-x) + math.tanh(-x * 0.5)


def test_an_odd_function_of_both_signs_is_computed_once() -> None:
    a = np.linspace(-3, 3, 50, dtype=np.float32)
    out = run_llvm(both_ways, 50, np.zeros((2, 50), np.float32), a, target=HIDDEN)[0]
    expected = [math.erf(x) + math.tanh(x * 0.5) for x in a.tolist()]
    assert np.allclose(out[0], expected, atol=1e-6)
    assert np.array_equal(out[1], -out[0])

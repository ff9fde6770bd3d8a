"""Every function of the table, within the accuracy that it states, against Python and NumPy."""

import builtins
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.conformance.running import Numbers, assert_close, filled, launch
from tests.reflect.kernel_cases import kernel

import trilby as tb
from trilby import Accelerator, KernelContext, NDArray, f16, f32, i32
from trilby.data.dtypes import SCALARS
from trilby.model.intrinsics import INTRINSICS

DOMAINS: dict[str, tuple[float, float]] = {
    "sqrt": (0.0, 50.0),
    "rsqrt": (0.01, 50.0),
    "log": (0.01, 50.0),
    "log2": (0.01, 50.0),
    "log10": (0.01, 50.0),
    "log1p": (-0.9, 50.0),
    "asin": (-1.0, 1.0),
    "acos": (-1.0, 1.0),
    "acosh": (1.0, 50.0),
    "atanh": (-0.99, 0.99),
    "gamma": (0.1, 20.0),
    "lgamma": (2.5, 50.0),
    "erfc": (-3.0, 3.0),
    "pow": (0.1, 6.0),
    "fmod": (0.5, 6.0),
    "remainder": (0.5, 6.0),
}
"""Where a function has a value that is a plain number; elsewhere -6 to 6 will do."""
SPECIALS = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0]
FLOAT_FUNCTIONS = [row for row in INTRINSICS.values() if row.takes == "float" and not row.tests]


def exact_fma(a: float, b: float, c: float) -> Fraction:
    return Fraction(a) * Fraction(b) + Fraction(c)


def exact_rsqrt(x: float) -> float:
    return 1 / math.sqrt(x)


def truth_of(name: str) -> Callable[..., Any]:
    """The function as Python has it, on doubles."""
    own: dict[str, Callable[..., Any]] = {"fma": exact_fma, "rsqrt": exact_rsqrt}
    return own[name] if name in own else getattr(math, name)


def spelling(name: str) -> str:
    return f"tb.{name}" if name in {"fma", "rsqrt"} else f"math.{name}"


def inputs(name: str, dtype: np.dtype[Any]) -> list[Numbers]:
    low, high = DOMAINS.get(name, (-6.0, 6.0))
    rng = np.random.default_rng(7)
    return [rng.uniform(low, high, 64).astype(dtype) for _ in range(INTRINSICS[name].arity)]


def float_kernel(type_: str) -> str:
    """All functions, each in a row of its own."""
    lines = [
        "@tb.kernel",
        f"def k(kc: KernelContext, out: NDArray[{type_}], given: NDArray[{type_}]) -> None:",
    ]
    for row, function in enumerate(FLOAT_FUNCTIONS):
        args = ", ".join(f"given[{row}, {n}, kc.x]" for n in range(function.arity))
        lines.append(f"    out[{row}, kc.x] = {spelling(function.name)}({args})")
    return "\n".join(lines)


@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_functions_of_floats(accelerator: Accelerator, type_: str) -> None:
    dtype = SCALARS[type_].numpy
    given = np.zeros((len(FLOAT_FUNCTIONS), 3, 64), dtype)
    for row, function in enumerate(FLOAT_FUNCTIONS):
        given[row, : function.arity] = inputs(function.name, dtype)
    out = np.zeros((len(FLOAT_FUNCTIONS), 64), dtype)
    found = filled(accelerator, 64, kernel(float_kernel(type_)), out, given)
    for row, function in enumerate(FLOAT_FUNCTIONS):
        truth = truth_of(function.name)
        columns = given[row, : function.arity].tolist()
        expected = np.array([float(truth(*args)) for args in zip(*columns, strict=True)])
        try:
            assert_close(found[row], expected, max(function.ulps, 1))
        except AssertionError as error:
            raise AssertionError(function.name) from error


@tb.kernel
def at_the_edges(kc: KernelContext, out: NDArray[f32], x: NDArray[f32]) -> None:
    v = x[kc.x]
    out[0, kc.x] = math.sqrt(v)
    out[1, kc.x] = math.log(v)
    out[2, kc.x] = math.exp(v)
    out[3, kc.x] = math.floor(v)
    out[4, kc.x] = math.atan2(v, -1.0)
    out[5, kc.x] = math.copysign(2.0, v)
    out[6, kc.x] = math.isnan(v) + 2.0 * math.isinf(v) + 4.0 * math.isfinite(v)
    out[7, kc.x] = math.trunc(v * 1.5)
    out[8, kc.x] = abs(v)
    out[9, kc.x] = v**2.0
    out[10, kc.x] = math.atanh(v)
    out[11, kc.x] = math.fabs(v) + math.ceil(v)


def test_zeros_infinities_and_nan(accelerator: Accelerator) -> None:
    x = np.array(SPECIALS, np.float32)
    found = filled(accelerator, x.size, at_the_edges, np.zeros((12, x.size), np.float32), x)
    with np.errstate(all="ignore"):
        expected = [
            np.sqrt(x),
            np.log(x),
            np.exp(x),
            np.floor(x),
            np.arctan2(x, np.float32(-1)),
            np.copysign(np.float32(2), x),
            np.isnan(x) + 2 * np.isinf(x) + 4 * np.isfinite(x),
            np.trunc(x * np.float32(1.5)),
            np.abs(x),
            x**2,
            np.arctanh(x),
            np.abs(x) + np.ceil(x),
        ]
    for row, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert_close(one, other.astype(np.float32), 4 if row != 5 else 0)
        known = ~np.isnan(one)
        assert np.signbit(one)[known].tolist() == np.signbit(other)[known].tolist(), row


INTEGER_TYPES = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


def integer_kernel() -> str:
    params = ", ".join(f"{p}_{t}: NDArray[{t}]" for t in INTEGER_TYPES for p in ("out", "x"))
    lines = ["@tb.kernel", f"def k(kc: KernelContext, {params}) -> None:"]
    for t in INTEGER_TYPES:
        x = f"x_{t}[kc.x]"
        expressions = (
            f"tb.popcount({x})",
            f"tb.clz({x})",
            f"tb.sign({x})",
            f"tb.clamp({x}, 3, 9)",
            f"min({x}, x_{t}[0], x_{t}[1])",
            f"max({x}, x_{t}[0])",
            f"abs({x})",
        )
        lines += [f"    out_{t}[{n}, kc.x] = {e}" for n, e in enumerate(expressions)]
    return "\n".join(lines)


def test_functions_of_integers(accelerator: Accelerator) -> None:
    values: dict[str, Numbers] = {}
    for name in INTEGER_TYPES:
        type_ = SCALARS[name]
        values[name] = np.array([5, 1, 0, 7, 100, type_.highest, type_.lowest], type_.numpy)
    outs = {
        name: accelerator.array(np.zeros((7, 7), SCALARS[name].numpy)) for name in INTEGER_TYPES
    }
    given = [g for n in INTEGER_TYPES for g in (outs[n], accelerator.array(values[n]))]
    launch(accelerator, 7, kernel(integer_kernel()), *given)
    for name, x in values.items():
        digits = [np.binary_repr(int(v), SCALARS[name].bits) for v in x]
        with np.errstate(over="ignore"):
            magnitude = np.abs(x)
        expected = [
            [text.count("1") for text in digits],
            [len(text) - len(text.lstrip("0")) for text in digits],
            np.sign(x).tolist(),
            np.clip(x, 3, 9).tolist(),
            [builtins.min(int(v), 5, 1) for v in x],
            np.maximum(x, x[0]).tolist(),
            magnitude.tolist(),
        ]
        assert np.asarray(outs[name]).tolist() == expected, name


@tb.kernel
def of_numbers(kc: KernelContext, out: NDArray[f32], h: NDArray[f16], a: f32, b: f32) -> None:
    out[0] = tb.mix(a, b, 0.25)
    out[1] = tb.clamp(a, b, 4.0)
    out[2] = tb.sign(a) + tb.sign(-b) + tb.sign(0.0)
    out[3] = min(a, b, 0.5)
    out[4] = max(a, b, 1)
    out[5] = math.sqrt(h[0])  # stays a half
    out[6] = h[0] * h[0] + h[1]
    out[7] = math.hypot(a, b)
    out[8] = math.sqrt(2.0) * math.pi
    out[9] = i32(math.floor(a)) // 2


def test_functions_of_any_number(accelerator: Accelerator) -> None:
    h = np.array([0.1, 3.3], np.float16)
    found = filled(accelerator, 1, of_numbers, np.zeros(10, np.float32), h, 1.5, -2.5)
    a, b = np.float32(1.5), np.float32(-2.5)
    expected = [
        a + (b - a) * np.float32(0.25),
        a,
        2.0,
        -2.5,
        1.5,
        np.sqrt(h[0]),
        h[0] * h[0] + h[1],
        np.hypot(a, b),
        np.float32(math.sqrt(2.0) * math.pi),
        0.0,
    ]
    assert_close(found, np.array(expected, np.float32), 4)
    assert found[[0, 1, 2, 3, 4, 5, 6, 9]].tolist() == [
        float(expected[n]) for n in (0, 1, 2, 3, 4, 5, 6, 9)
    ]

"""The functions that `math` lacks, as plain Python sees them."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import trilby as tb

finite = st.floats(-1e100, 1e100)


@given(finite, finite, finite)
def test_fma_is_rounded_once(a: float, b: float, c: float) -> None:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    found = tb.fma(a, b, c)
    nearest = float(exact)
    assert abs(Fraction(found) - exact) <= Fraction(math.ulp(nearest))
    if abs(a * b) > 1e-200:  # below, parts of the product are lost
        assert found == nearest or abs(found - nearest) <= math.ulp(nearest)


def test_fma_differs_from_a_product_and_a_sum() -> None:
    a = 1.0 + 2.0**-30
    assert tb.fma(a, a, -1.0 - 2.0**-29) == 2.0**-60
    assert a * a - (1.0 + 2.0**-29) == 0.0
    assert tb.fma(math.inf, 1.0, 1.0) == math.inf
    assert math.isnan(tb.fma(math.inf, 0.0, 1.0))


@pytest.mark.parametrize(
    ("x", "expected"),
    [(4.0, 0.5), (0.25, 2.0), (0.0, math.inf), (-0.0, -math.inf), (math.inf, 0.0)],
)
def test_rsqrt(x: float, expected: float) -> None:
    assert tb.rsqrt(x) == expected
    assert math.isnan(tb.rsqrt(-1.0))


@given(st.integers(-100, 100), st.integers(-100, 0), st.integers(0, 100))
def test_clamp(x: int, low: int, high: int) -> None:
    assert tb.clamp(x, low, high) == sorted((low, x, high))[1]


def test_mix_and_sign() -> None:
    assert [tb.mix(2.0, 4.0, t) for t in (0.0, 0.5, 1.0, 2.0)] == [2.0, 3.0, 4.0, 6.0]
    assert [tb.sign(n) for n in (-7, 0, 9)] == [-1, 0, 1]
    assert [tb.sign(x) for x in (-0.5, 0.0, math.inf)] == [-1.0, 0.0, 1.0]
    assert math.copysign(1.0, tb.sign(-0.0)) == -1.0
    assert math.isnan(tb.sign(math.nan))


@given(st.integers(0, 2**32 - 1))
def test_bits(x: int) -> None:
    digits = f"{x:032b}"
    assert tb.popcount(x) == digits.count("1")
    assert tb.clz(x) == 32 - len(digits.lstrip("0"))
    assert tb.clz(x, 64) == 64 - len(digits.lstrip("0"))


def test_vectors_go_lane_by_lane() -> None:
    v = tb.f32x3(-2.0, 0.5, 4.0)
    assert tb.clamp(v, 0.0, 1.0) == tb.f32x3(0.0, 0.5, 1.0)
    assert tb.clamp(v, tb.f32x3(-1.0, 1.0, 0.0), 9.0) == tb.f32x3(-1.0, 1.0, 4.0)
    assert tb.sign(v) == tb.f32x3(-1.0, 1.0, 1.0)
    assert tb.sign(tb.i32x2(-5, 3)) == tb.i32x2(-1, 1)
    assert tb.mix(v, v + 2.0, 0.5) == v + 1.0
    assert tb.rsqrt(tb.f32x2(4.0, 16.0)) == tb.f32x2(0.5, 0.25)
    assert tb.fma(v, v, v) == v * v + v

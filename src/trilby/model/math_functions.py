"""Math functions that Python's own `math` lacks. Kernels and plain Python call them alike.

They take vectors, too, lane by lane. The functions that `math` has are in `lane_math`.
"""

import math
from typing import Any, TypeVar, overload

from trilby.arguments import brief, whole_number
from trilby.data.lanes import FloatT, IntT, VectorT, check_lanes, is_vector, lane_by_lane, lane_type
from trilby.errors import ArgumentTypeError

N = TypeVar("N", int, float)


@overload
def rsqrt(x: float) -> float: ...
@overload
def rsqrt(x: FloatT) -> FloatT: ...
def rsqrt(x: Any) -> Any:
    """`1 / sqrt(x)`."""
    if is_vector(x):
        check_lanes(x, "rsqrt", floats=True)
        return lane_by_lane(rsqrt, x, x)
    if x == 0:
        return math.copysign(math.inf, x)
    return 1.0 / math.sqrt(x) if x > 0 else math.nan


@overload
def fma(a: float, b: float, c: float) -> float: ...
@overload
def fma(a: FloatT, b: FloatT, c: FloatT) -> FloatT: ...
def fma(a: Any, b: Any, c: Any) -> Any:
    """`a * b + c`, rounded once.

    The product of two doubles is split into two parts without loss, so that only the last
    sum rounds, up to the rare case in which that sum falls between two doubles.
    """
    if is_vector(a):
        check_lanes(a, "fma", floats=True)
        return lane_by_lane(fma, a, a, b, c)
    product = a * b
    if not math.isfinite(product) or not math.isfinite(c):
        return product + c
    return math.fsum((*_exact_product(a, b, product), c))


def _exact_product(a: float, b: float, product: float) -> tuple[float, float]:
    """The rounded product, and what rounding took away (Dekker's splitting)."""
    if max(abs(a), abs(b)) > 2.0**900 or abs(product) < 2.0**-900:
        return product, 0.0
    high_a, low_a = _split(a)
    high_b, low_b = _split(b)
    rest = ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b
    return product, rest


def _split(x: float) -> tuple[float, float]:
    scaled = x * 134217729.0
    high = scaled - (scaled - x)
    return high, x - high


@overload
def clamp(x: N, low: N, high: N) -> N: ...
@overload
def clamp(x: VectorT, low: VectorT | float, high: VectorT | float) -> VectorT: ...
def clamp(x: Any, low: Any, high: Any) -> Any:
    """`x`, but at least `low` and at most `high`."""
    if is_vector(x):
        return lane_by_lane(clamp, x, x, low, high)
    return min(max(x, low), high)


@overload
def mix(a: float, b: float, t: float) -> float: ...
@overload
def mix(a: FloatT, b: FloatT, t: FloatT | float) -> FloatT: ...
def mix(a: Any, b: Any, t: Any) -> Any:
    """`a + (b - a) * t`: from `a` at 0 to `b` at 1."""
    return a + (b - a) * t


@overload
def sign(x: N) -> N: ...
@overload
def sign(x: VectorT) -> VectorT: ...
def sign(x: Any) -> Any:
    """-1, 0 or 1; NaN stays NaN."""
    if is_vector(x):
        return lane_by_lane(sign, x, x)
    if isinstance(x, float):
        return math.copysign(1.0, x) if x > 0 or x < 0 else x
    return (x > 0) - (x < 0)


@overload
def popcount(x: int, bits: int | None = None) -> int: ...
@overload
def popcount(x: IntT) -> IntT: ...
def popcount(x: Any, bits: int | None = None) -> Any:
    """How many bits are set; kernels and lanes know their width, a negative number needs one."""
    if is_vector(x):
        check_lanes(x, "popcount", floats=False)
        return lane_by_lane(popcount, x, x, lane_type(x).bits)
    number = _bits_of(x, "popcount")
    return (number if bits is None else number & _ones(bits)).bit_count()


@overload
def clz(x: int, bits: int = 32) -> int: ...
@overload
def clz(x: IntT) -> IntT: ...
def clz(x: Any, bits: int = 32) -> Any:
    """How many zero bits stand before the first one; kernels and lanes know their width."""
    if is_vector(x):
        check_lanes(x, "clz", floats=False)
        return lane_by_lane(clz, x, x, lane_type(x).bits)
    return bits - (_bits_of(x, "clz") & _ones(bits)).bit_length()


def _bits_of(x: object, function: str) -> int:
    number = int(x) if isinstance(x, bool) else whole_number(x)
    if number is None:
        raise ArgumentTypeError(
            f"`{function}` counts the bits of an integer, and {brief(x)} is {type(x).__name__}",
            advice=f"write `{function}(int(x))`",
        )
    return number


def _ones(bits: int) -> int:
    return (1 << bits) - 1

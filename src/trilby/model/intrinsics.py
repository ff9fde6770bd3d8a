"""The math functions of the kernel language, each declared once.

The row of a function gives its parameters, the types it takes and gives, its meaning (the
Python function that the interpreter calls on doubles or ints, before rounding to the type), how
far a device may stray, and a line for the reference. How a language spells it, where that is
not the name itself, stands in the language's own table. Functions that are no op of their own
but are made of simpler ones have their rows in `composed`.
"""

import math
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from trilby.dataclass import dataclass
from trilby.model import math_functions

Takes: TypeAlias = Literal["float", "integer", "number"]
"""`float`: integers are converted as NumPy does. `integer`, `number`: kept as they are."""


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """One function: `Intrinsic("hypot", ("x", "y"), "float", math.hypot, 4, "…")`.

    `tests` is true where the result is a bool, `knows_width` where the meaning is given the
    number of bits of the type as a last argument, `takes_more` where a call may have further
    arguments, each of which is joined to the result so far.
    """

    name: str
    params: tuple[str, ...]
    takes: Takes
    meaning: Callable[..., Any]
    ulps: int
    doc: str
    tests: bool = False
    knows_width: bool = False
    takes_more: bool = False

    @property
    def arity(self) -> int:
        """How many operands the op has."""
        return len(self.params)

    @property
    def takes_vectors(self) -> bool:
        """True where it works lane by lane; there are no vectors of bools."""
        return not self.tests


def _guarded(function: Callable[..., float]) -> Callable[..., float]:
    """Python raises where IEEE 754 gives NaN or infinity; kernels follow IEEE 754."""

    def guarded(*args: float) -> float:
        try:
            return function(*args)
        except ValueError:
            return _at_pole(function, args)
        except OverflowError:
            return _overflow(function, args)

    return guarded


_LOGARITHMS = frozenset({math.log, math.log2, math.log10})


def _at_pole(function: Callable[..., float], args: tuple[float, ...]) -> float:
    x = args[0]
    if (function in _LOGARITHMS and x == 0) or (function is math.log1p and x == -1):
        return -math.inf
    if function is math.atanh and abs(x) == 1:
        return math.copysign(math.inf, x)
    if function is math.lgamma and not math.isnan(x):
        return math.inf
    if function is math.gamma and x == 0:
        return math.copysign(math.inf, x)
    return math.nan


def _overflow(function: Callable[..., float], args: tuple[float, ...]) -> float:
    """Only `sinh` and `gamma` overflow downwards, the latter just below zero."""
    downwards = function in {math.sinh, math.gamma}
    return math.copysign(math.inf, args[0]) if downwards else math.inf


def _integral(function: Callable[[float], int]) -> Callable[[float], float]:
    """Infinities and NaN stay what they are, and the sign of a zero is kept."""

    def integral(x: float) -> float:
        return math.copysign(float(function(x)), x) if math.isfinite(x) else x

    return integral


def power(base: float, exponent: float) -> float:
    """`base ** exponent` as C's `pow`: NaN instead of a complex number, infinities."""
    try:
        return math.pow(base, exponent)
    except ValueError:
        return math.nan if base else _signed_infinity(base, exponent)
    except OverflowError:
        return _signed_infinity(base, exponent)


def _signed_infinity(base: float, exponent: float) -> float:
    """An odd power keeps the sign of its base, also that of a zero."""
    is_odd = abs(math.fmod(exponent, 2.0)) == 1.0
    return math.copysign(math.inf, base) if is_odd else math.inf


def _float(name: str, function: Callable[..., float], ulps: int, doc: str) -> Intrinsic:
    """A function of one float."""
    return Intrinsic(name, ("x",), "float", _guarded(function), ulps, doc)


def _floats(name: str, function: Callable[..., float], ulps: int, doc: str) -> Intrinsic:
    """A function of two floats."""
    return Intrinsic(name, ("x", "y"), "float", _guarded(function), ulps, doc)


def _test(name: str, function: Callable[[float], bool], doc: str) -> Intrinsic:
    """A question about one float."""
    return Intrinsic(name, ("x",), "float", function, 0, doc, tests=True)


def _number(name: str, function: Callable[..., Any], doc: str) -> Intrinsic:
    """A function of one number of any type."""
    return Intrinsic(name, ("x",), "number", function, 0, doc)


def _choice(name: str, function: Callable[..., Any], doc: str) -> Intrinsic:
    """One of several numbers."""
    return Intrinsic(name, ("x", "y"), "number", function, 0, doc, takes_more=True)


def _bits(name: str, function: Callable[[int, int], int], doc: str) -> Intrinsic:
    """A function of the bits of an integer."""
    return Intrinsic(name, ("x",), "integer", function, 0, doc, knows_width=True)


_ROWS = (
    _float("sqrt", math.sqrt, 3, "square root; NaN below zero"),
    _float("rsqrt", math_functions.rsqrt, 2, "one divided by the square root"),
    _float("cbrt", math.cbrt, 2, "cube root"),
    _float("exp", math.exp, 3, "e to the power of x"),
    _float("exp2", math.exp2, 3, "2 to the power of x"),
    _float("expm1", math.expm1, 3, "e to the power of x, minus 1; exact near zero"),
    _float("log", math.log, 3, "natural logarithm"),
    _float("log2", math.log2, 3, "logarithm to base 2"),
    _float("log10", math.log10, 3, "logarithm to base 10"),
    _float("log1p", math.log1p, 2, "natural logarithm of 1 + x; exact near zero"),
    _float("sin", math.sin, 4, "sine of x in radians"),
    _float("cos", math.cos, 4, "cosine of x in radians"),
    _float("tan", math.tan, 5, "tangent of x in radians"),
    _float("asin", math.asin, 4, "arc sine"),
    _float("acos", math.acos, 4, "arc cosine"),
    _float("atan", math.atan, 5, "arc tangent"),
    Intrinsic("atan2", ("y", "x"), "float", math.atan2, 6, "angle of the point (x, y)"),
    _float("sinh", math.sinh, 4, "hyperbolic sine"),
    _float("cosh", math.cosh, 4, "hyperbolic cosine"),
    _float("tanh", math.tanh, 5, "hyperbolic tangent"),
    _float("asinh", math.asinh, 4, "inverse hyperbolic sine"),
    _float("acosh", math.acosh, 4, "inverse hyperbolic cosine"),
    _float("atanh", math.atanh, 5, "inverse hyperbolic tangent"),
    _floats("hypot", math.hypot, 4, "length of the vector (x, y)"),
    _floats("pow", power, 16, "x to the power of y; `**` is the same for floats"),
    _floats("fmod", math.fmod, 0, "remainder with the sign of x"),
    _floats("remainder", math.remainder, 0, "what the multiple of y nearest to x leaves"),
    _floats("copysign", math.copysign, 0, "x with the sign of y"),
    _float("floor", _integral(math.floor), 0, "largest whole number ≤ x, as a float"),
    _float("ceil", _integral(math.ceil), 0, "smallest whole number ≥ x, as a float"),
    _float("trunc", _integral(math.trunc), 0, "x cut towards zero, as a float"),
    _float("fabs", math.fabs, 0, "magnitude of a float"),
    _float("degrees", math.degrees, 2, "radians as degrees"),
    _float("radians", math.radians, 2, "degrees as radians"),
    _float("erf", math.erf, 16, "error function"),
    _float("erfc", math.erfc, 16, "1 minus the error function"),
    _float("gamma", math.gamma, 16, "gamma function"),
    _float(
        "lgamma",
        math.lgamma,
        128,
        "logarithm of the magnitude of the gamma function; below 1, ulps of 1",
    ),
    _test("isnan", math.isnan, "whether x is not a number"),
    _test("isinf", math.isinf, "whether x is infinite"),
    _test("isfinite", math.isfinite, "whether x is neither infinite nor NaN"),
    Intrinsic("fma", ("a", "b", "c"), "float", math_functions.fma, 1, "a * b + c, rounded once"),
    Intrinsic(
        "clamp", ("x", "low", "high"), "number", math_functions.clamp, 0, "x within low and high"
    ),
    _number("sign", math_functions.sign, "-1, 0 or 1; NaN stays NaN"),
    _number("abs", abs, "magnitude; the lowest integer stays itself"),
    _choice("min", min, "the smallest, as Python's `min`"),
    _choice("max", max, "the largest, as Python's `max`"),
    _bits("popcount", math_functions.popcount, "how many bits are set"),
    _bits("clz", math_functions.clz, "zero bits before the first one"),
)

INTRINSICS: dict[str, Intrinsic] = {row.name: row for row in _ROWS}
"""Every function by its name."""

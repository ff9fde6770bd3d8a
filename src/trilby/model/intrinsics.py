"""The math functions of the kernel language, each declared once.

The row of a function gives its arity, the types it takes, its meaning (the Python function
that the interpreter calls on doubles or ints, before rounding to the type), how far a
device may stray, and a line for the reference. How a language spells it, where that is not
the name itself, stands in the language's own table.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Takes: TypeAlias = Literal["float", "number"]
"""`float`: integers are converted as NumPy does. `number`: any type, kept as it is."""


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """One function: `Intrinsic("hypot", 2, "float", math.hypot, 4, "…")`."""

    name: str
    arity: int
    takes: Takes
    meaning: Callable[..., Any]
    ulps: int
    doc: str


def _guarded(function: Callable[..., float]) -> Callable[..., float]:
    """Python raises where IEEE 754 gives NaN or infinity; kernels follow IEEE 754."""

    def guarded(*args: float) -> float:
        try:
            return function(*args)
        except ValueError:
            return _at_pole(function, args)
        except OverflowError:
            return math.inf

    return guarded


def _at_pole(function: Callable[..., float], args: tuple[float, ...]) -> float:
    if function in {math.log, math.log2, math.log10} and args[0] == 0:
        return -math.inf
    return math.nan


def _integral(function: Callable[[float], int]) -> Callable[[float], float]:
    """Infinities and NaN stay what they are, and the sign of a zero is kept."""

    def integral(x: float) -> float:
        return math.copysign(float(function(x)), x) if math.isfinite(x) else x

    return integral


def _python_min(left: float, right: float) -> float:
    return min(left, right)


def _python_max(left: float, right: float) -> float:
    return max(left, right)


_ROWS = (
    Intrinsic("sqrt", 1, "float", _guarded(math.sqrt), 3, "square root; NaN below zero"),
    Intrinsic("exp", 1, "float", _guarded(math.exp), 3, "e to the power of x"),
    Intrinsic("log", 1, "float", _guarded(math.log), 3, "natural logarithm"),
    Intrinsic("log2", 1, "float", _guarded(math.log2), 3, "logarithm to base 2"),
    Intrinsic("log10", 1, "float", _guarded(math.log10), 3, "logarithm to base 10"),
    Intrinsic("sin", 1, "float", _guarded(math.sin), 4, "sine of x in radians"),
    Intrinsic("cos", 1, "float", _guarded(math.cos), 4, "cosine of x in radians"),
    Intrinsic("tan", 1, "float", _guarded(math.tan), 5, "tangent of x in radians"),
    Intrinsic("asin", 1, "float", _guarded(math.asin), 4, "arc sine"),
    Intrinsic("acos", 1, "float", _guarded(math.acos), 4, "arc cosine"),
    Intrinsic("atan", 1, "float", _guarded(math.atan), 5, "arc tangent"),
    Intrinsic("atan2", 2, "float", math.atan2, 6, "angle of the point (x, y), given as (y, x)"),
    Intrinsic("hypot", 2, "float", math.hypot, 4, "length of the vector (x, y)"),
    Intrinsic("floor", 1, "float", _integral(math.floor), 0, "largest whole ≤ x"),
    Intrinsic("ceil", 1, "float", _integral(math.ceil), 0, "smallest whole ≥ x"),
    Intrinsic("trunc", 1, "float", _integral(math.trunc), 0, "x cut towards zero"),
    Intrinsic("fabs", 1, "float", math.fabs, 0, "magnitude of a float"),
    Intrinsic("min", 2, "number", _python_min, 0, "the smaller, as Python's `min`"),
    Intrinsic("max", 2, "number", _python_max, 0, "the larger, as Python's `max`"),
    Intrinsic("abs", 1, "number", abs, 0, "magnitude; the lowest integer stays itself"),
)


INTRINSICS: dict[str, Intrinsic] = {row.name: row for row in _ROWS}
"""Every function by its name."""

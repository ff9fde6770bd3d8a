"""Fits the polynomials of `trilby.codegen.llvm.formulas.tables`, and prints that module's tables.

    pip install mpmath && python scripts/fit_polynomials.py

Each row is a function that is smooth on an interval, what its error is measured against, and the
degrees for floats and doubles, or None where one of them has no use for it. A polynomial has the
least sum of squared errors at the zeros of a Chebyshev polynomial, which comes within a small
factor of the least error that its degree allows. Then its coefficients are rounded to the type,
from the constant on, and after each one the rest is fitted again to what rounding has left. Beside
each table stands the largest error, relative to the function that is made of it, before any
arithmetic of the type.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

mpmath: Any = import_module("mpmath")
mp, mpf = mpmath.mp, mpmath.mpf
mp.dps = 100
Number = Any
Real = Callable[[Number], Number]


@dataclass(frozen=True)
class Row:
    """`function` on `low` to `high`; an error in it weighs `weight` in what is made of it."""

    name: str
    function: Real
    low: Number
    high: Number
    degrees: tuple[int | None, int | None]
    weight: Real


def _near_zero(function: Real, series: Real) -> Real:
    """A quotient that has no value at zero, where its series has one."""
    return lambda x: series(x) if abs(x) < mpf(10) ** -9 else function(x)


ROOT = mp.sqrt(2)
QUARTER = mp.pi / 4
ROWS = (
    Row(
        "EXP",
        _near_zero(lambda r: (mp.exp(r) - 1 - r) / r**2, lambda r: mpf(1) / 2 + r / 6),
        -mp.log(2) / 2 * mpf("1.01"), mp.log(2) / 2 * mpf("1.01"), (4, 9),
        lambda r: r**2 / mp.exp(r),
    ),
    Row(
        "LOG",
        _near_zero(lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3, lambda f: mpf(1) / 3 - f / 4),
        1 / ROOT - 1, ROOT - 1, (7, None),
        _near_zero(lambda f: f**3 / mp.log1p(f), lambda f: f**2),
    ),
    Row(
        "ATANH",
        lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z if z > 0 else mpf(2) / 3,
        mpf(10) ** -20, mpf("0.02948"), (None, 7),
        lambda z: z / 2,
    ),
    Row(
        "SIN",
        lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        mpf(10) ** -20, QUARTER**2 * mpf("1.01"), (2, 6),
        lambda z: z,
    ),
    Row(
        "COS",
        lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2,
        mpf(10) ** -20, QUARTER**2 * mpf("1.01"), (2, 6),
        lambda z: z**2,
    ),
    Row(
        "ERF",
        lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1,
        mpf(10) ** -30, mpf(1), (6, 13),
        lambda _z: mpf(1),
    ),
    Row(
        "LOG_ERFC",
        lambda x: mp.log(mp.erfc(x)),
        mpf(1), mpf(6), (6, 14),
        mp.erfc,
    ),
    Row(
        "TANH",
        lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        mpf(10) ** -20, mpf("0.625") ** 2, (4, 11),
        lambda z: z,
    ),
    Row(
        "SINH",
        lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        mpf(10) ** -20, mpf(1), (3, 7),
        lambda z: z,
    ),
    Row(
        "ATAN",
        lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        mpf(10) ** -20, mpf(1), (8, 20),
        lambda z: z,
    ),
    Row(
        "ASIN",
        lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        mpf(10) ** -20, mpf("0.25"), (4, 12),
        lambda z: z,
    ),
)  # fmt: skip


def rounded(number: Number, *, is_double: bool) -> Number:
    """The nearest number of the type."""
    nearest = float(number)
    return mpf(nearest if is_double else struct.unpack("f", struct.pack("f", nearest))[0])


def least_squares(row: Row, known: list[Number], degree: int) -> list[Number]:
    """The coefficients behind those that are known, with the least sum of squared errors."""
    count, nodes = degree + 1 - len(known), 6 * (degree + 1)
    middle, half = (row.low + row.high) / 2, (row.high - row.low) / 2
    matrix = mp.matrix(nodes, count)
    right = mp.matrix(nodes, 1)
    for i in range(nodes):
        x = middle + half * mp.cos(mp.pi * (2 * i + 1) / (2 * nodes))
        weight = row.weight(x)
        for j in range(count):
            matrix[i, j] = weight * x ** (len(known) + j)
        right[i] = weight * (row.function(x) - sum(c * x**n for n, c in enumerate(known)))
    found = mp.lu_solve(matrix.T * matrix, matrix.T * right)
    return [found[n] for n in range(count)]


def fitted(row: Row, degree: int, *, is_double: bool) -> list[Number]:
    """The coefficients, each rounded to the type."""
    known: list[Number] = []
    while len(known) <= degree:
        known.append(rounded(least_squares(row, known, degree)[0], is_double=is_double))
    return known


def error(row: Row, coefficients: list[Number]) -> float:
    """The largest error on a fine grid."""
    steps = 400
    grid = (row.low + (row.high - row.low) * n / steps for n in range(steps + 1))
    return max(
        float(abs((row.function(x) - mp.polyval(coefficients[::-1], x)) * row.weight(x)))
        for x in grid
    )


CONSTANTS = (
    ("LN2", mp.log(2), 2),
    ("HALF_PI", mp.pi / 2, 3),
    ("LOG2_E", 1 / mp.log(2), 2),
    ("LOG10_E", 1 / mp.log(10), 2),
    ("LOG10_2", mp.log(2) / mp.log(10), 2),
)
"""Constants in pieces: the nearest number, the nearest to what is left, and so on."""


def pieces(number: Number, count: int, *, is_double: bool) -> tuple[float, ...]:
    """A number as a sum of numbers of the type."""
    found: list[float] = []
    for _ in range(count):
        found.append(float(rounded(number - sum(map(mpf, found)), is_double=is_double)))
    return tuple(found)


def main() -> None:
    """Print the tables."""
    for name, number, count in CONSTANTS:
        print(f"{name}: Table = {{")
        for kind in ("float", "double"):
            print(f'    "{kind}": {pieces(number, count, is_double=kind == "double")},')
        print("}")
    for row in ROWS:
        print(f"{row.name}: Table = {{")
        for kind, degree in zip(("float", "double"), row.degrees, strict=True):
            if degree is None:
                continue
            found = fitted(row, degree, is_double=kind == "double")
            print(f'    "{kind}": (  # {error(row, found):.1e}')
            for coefficient in found:
                print(f"        {float(coefficient)!r},")
            print("    ),")
        print("}")


if __name__ == "__main__":
    main()

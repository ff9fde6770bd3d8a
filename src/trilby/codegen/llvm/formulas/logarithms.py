"""Logarithms, and what floats make of them in doubles.

`x = 2 ** e (1 + f)` with `1 + f` between the roots of a half and of two.
"""

import math

from trilby.codegen.llvm.formulas.formula import FLOAT, Formula
from trilby.codegen.llvm.formulas.tables import ATANH, LN2, LOG, LOG2_E, LOG10_2, LOG10_E
from trilby.codegen.llvm.lanes import Lanes


def log(f: Formula, x: Lanes) -> Lanes:
    """The natural logarithm: `e ln 2`, and that of `1 + f`."""
    e, fraction = _split(f, x)
    high, low = (f.of(piece) for piece in LN2[f.kind.name])
    found = f.fma(e, high, _log1p(f, fraction, f.mul(e, low)))
    return _at_the_ends(f, x, found)


def log2(f: Formula, x: Lanes) -> Lanes:
    """The logarithm to base 2: `e`, and that of `1 + f`."""
    e, fraction = _split(f, x)
    natural = _log1p(f, fraction, None)
    high, low = (f.of(piece) for piece in LOG2_E[f.kind.name])
    return _at_the_ends(f, x, f.add(e, f.fma(natural, high, f.mul(natural, low))))


def log10(f: Formula, x: Lanes) -> Lanes:
    """The logarithm to base 10."""
    e, fraction = _split(f, x)
    natural = _log1p(f, fraction, None)
    high, low = (f.of(piece) for piece in LOG10_E[f.kind.name])
    two_high, two_low = (f.of(piece) for piece in LOG10_2[f.kind.name])
    small = f.fma(natural, low, f.mul(e, two_low))
    return _at_the_ends(f, x, f.fma(e, two_high, f.fma(natural, high, small)))


def _split(f: Formula, x: Lanes) -> tuple[Lanes, Lanes]:
    """`e` and `f`; numbers without a leading one are scaled first."""
    kind = f.kind
    is_low = f.less(x, f.of(2.0 ** (1 - kind.bias)))
    shift = 2.0**kind.fraction * 4
    bits = f.bits(f.choose(is_low, f.mul(x, f.of(shift)), x))
    # exponents are counted from so far below that none is negative
    origin = (kind.bias + 1) * 2 if kind is FLOAT else kind.bias + 1
    middle = f.whole(kind.bit_pattern(math.sqrt(0.5)) - (origin << kind.fraction))
    above = f.on_bits("sub", bits, middle)
    counted = f.on_bits("lshr", above, f.whole(kind.fraction))
    top = f.on_bits("shl", counted, f.whole(kind.fraction))
    mantissa = f.on_bits("sub", bits, f.on_bits("sub", top, f.whole(origin << kind.fraction)))
    whole = 2.0**kind.fraction
    as_float = f.float_of(f.on_bits("or", counted, f.whole(kind.bit_pattern(whole))))
    scaled = math.log2(shift)
    start = f.choose(is_low, f.of(whole + origin + scaled), f.of(whole + origin))
    return f.sub(as_float, start), f.sub(f.float_of(mantissa), f.of(1.0))


def _log1p(f: Formula, x: Lanes, little: Lanes | None) -> Lanes:
    """`log(1 + x) + little`.

    Floats: `x - x²/2 + x³ P(x)`. Doubles: with `s = x / (2 + x)` it is `2 atanh(s)`, and as
    `2 s = x - s x`, that is `x - s (x - s² P(s²))`.
    """
    if f.kind is FLOAT:
        square = f.mul(x, x)
        cube = f.mul(x, square)
        third = f.polynomial(LOG, x)
        rest = f.mul(cube, third) if little is None else f.fma(cube, third, little)
        return f.add(x, f.fma(f.of(-0.5), square, rest))
    s = f.div(x, f.add(x, f.of(2.0)))
    z = f.mul(s, s)
    inner = f.sub(x, f.mul(z, f.polynomial(ATANH, z)))
    minus = f.negated(s)
    rest = f.mul(minus, inner) if little is None else f.fma(minus, inner, little)
    return f.add(x, rest)


def _at_the_ends(f: Formula, x: Lanes, found: Lanes) -> Lanes:
    """Infinity at infinity, minus infinity at zero, and NaN below."""
    infinite = f.of(math.inf)
    found = f.choose(f.less(x, infinite), found, x)
    below = f.choose(f.equal(x, f.of(0.0)), f.of(-math.inf), f.of(math.nan))
    return f.choose(f.less(f.of(0.0), x), found, below)


# -- floats, in doubles -------------------------------------------------------------------


def log1p(f: Formula, x: Lanes) -> Lanes:
    """`log(1 + x)`."""
    wide = f.widened(x)
    near = f.mul(wide, f.fma(wide, f.of(-0.5), f.of(1.0)))
    return f.narrowed(_near_zero(f, wide, near, log(f, f.add(wide, f.of(1.0)))))


def asinh(f: Formula, x: Lanes) -> Lanes:
    """`log(x + sqrt(x² + 1))`."""
    wide = f.widened(x)
    a = f.magnitude(wide)
    found = log(f, f.add(a, f.root(f.fma(a, a, f.of(1.0)))))
    return f.narrowed(_near_zero(f, wide, wide, f.signed(found, wide)))


def acosh(f: Formula, x: Lanes) -> Lanes:
    """`log(x + sqrt(x² - 1))`; NaN below 1."""
    wide = f.widened(x)
    found = log(f, f.add(wide, f.root(f.fma(wide, wide, f.of(-1.0)))))
    return f.narrowed(f.choose(f.less(wide, f.of(1.0)), f.of(math.nan), found))


def atanh(f: Formula, x: Lanes) -> Lanes:
    """`log((1 + x) / (1 - x)) / 2`."""
    wide = f.widened(x)
    a = f.magnitude(wide)
    one = f.of(1.0)
    found = f.mul(f.of(0.5), log(f, f.div(f.add(one, a), f.sub(one, a))))
    return f.narrowed(_near_zero(f, wide, wide, f.signed(found, wide)))


def _near_zero(f: Formula, x: Lanes, near: Lanes, found: Lanes) -> Lanes:
    return f.choose(f.less(f.magnitude(x), f.of(2.0**-13)), near, found)

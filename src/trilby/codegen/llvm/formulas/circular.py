"""Sine, cosine, tangent, and their inverses.

`x = n π/2 + r` with a whole `n`: `π/2` is subtracted in three pieces, the first of which leaves no
rounding error. `HUGE` says up to where that is precise enough.
"""

import math

from trilby.codegen.llvm.formulas.formula import Formula
from trilby.codegen.llvm.formulas.tables import ASIN, ATAN, COS, HALF_PI, SIN
from trilby.codegen.llvm.lanes import BIT, Lanes

HUGE = {"float": 2.0**15, "double": 2.0**19}
"""Beyond these magnitudes, angles are left to the C library."""


def sin(f: Formula, x: Lanes) -> Lanes:
    """The sine."""
    n, sine, cosine = _quarter(f, x)
    found = _turned(f, n, f.choose(f.is_set(n, 1), cosine, sine))
    return f.choose(f.less(f.magnitude(x), f.of(f.kind.tiny)), x, found)


def cos(f: Formula, x: Lanes) -> Lanes:
    """The cosine, a sine one quarter further."""
    n, sine, cosine = _quarter(f, x)
    chosen = f.choose(f.is_set(n, 1), sine, cosine)
    return _turned(f, f.on_bits("add", n, f.whole(1)), chosen)


def tan(f: Formula, x: Lanes) -> Lanes:
    """The tangent."""
    n, sine, cosine = _quarter(f, x)
    is_odd = f.is_set(n, 1)
    over = f.choose(is_odd, f.negated(cosine), sine)
    found = f.div(over, f.choose(is_odd, sine, cosine))
    return f.choose(f.less(f.magnitude(x), f.of(f.kind.tiny)), x, found)


def _quarter(f: Formula, x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """`n`, and the sine and the cosine of `r`."""
    whole, n = f.rounded(x, 2 / math.pi)
    r = x
    for piece in HALF_PI[f.kind.name]:
        r = f.fma(whole, f.of(-piece), r)
    z = f.mul(r, r)
    sine = f.fma(f.mul(r, z), f.polynomial(SIN, z), r)
    cosine = f.fma(f.mul(z, z), f.polynomial(COS, z), f.fma(f.of(-0.5), z, f.of(1.0)))
    return n, sine, cosine


def _turned(f: Formula, n: Lanes, number: Lanes) -> Lanes:
    """The number, or its negative in the second half of a turn."""
    half = f.on_bits("and", n, f.whole(2))
    sign = f.on_bits("shl", half, f.whole(f.kind.bits - 2))
    return f.float_of(f.on_bits("xor", f.bits(number), sign))


def atan(f: Formula, x: Lanes) -> Lanes:
    """The arc tangent; above 1 it is that of `1 / x` taken from `π/2`."""
    a, one = f.magnitude(x), f.of(1.0)
    is_steep = f.less(one, a)
    t = f.div(f.choose(is_steep, one, a), f.choose(is_steep, a, one))
    found = _flat(f, t)
    return f.signed(f.choose(is_steep, _from_quarter(f, found), found), x)


def atan2(f: Formula, y: Lanes, x: Lanes) -> Lanes:
    """The angle of a point."""
    across, up, zero = f.magnitude(x), f.magnitude(y), f.of(0.0)
    is_steep = f.less(across, up)
    short, long = f.choose(is_steep, across, up), f.choose(is_steep, up, across)
    t = f.choose(f.equal(short, f.of(math.inf)), f.of(1.0), f.div(short, long))
    found = _flat(f, f.choose(f.equal(long, zero), zero, t))
    found = f.choose(is_steep, _from_quarter(f, found), found)
    high, low, _ = (2 * piece for piece in HALF_PI[f.kind.name])
    other_way = f.add(f.sub(f.of(high), found), f.of(low))
    is_left = f.ir.apply("icmp slt {t} {0}, {1}", [f.bits(x), f.whole(0)], BIT)
    found = f.signed(f.choose(is_left, other_way, found), y)
    is_nan = f.ir.apply("fcmp uno {t} {0}, {1}", [y, x], BIT)
    return f.choose(is_nan, f.add(y, x), found)


def _flat(f: Formula, t: Lanes) -> Lanes:
    """The arc tangent of what is between 0 and 1."""
    z = f.mul(t, t)
    return f.fma(f.mul(t, z), f.polynomial(ATAN, z), t)


def _from_quarter(f: Formula, angle: Lanes) -> Lanes:
    """`π/2 - angle`."""
    high, low, _ = HALF_PI[f.kind.name]
    return f.add(f.sub(f.of(high), angle), f.of(low))


def asin(f: Formula, x: Lanes) -> Lanes:
    """The arc sine; above 1/2 it is twice that of `sqrt((1 - x) / 2)` taken from `π/2`."""
    is_large, found = _half_angle(f, f.magnitude(x))
    doubled = f.add(found, found)
    return f.signed(f.choose(is_large, _from_quarter(f, doubled), found), x)


def acos(f: Formula, x: Lanes) -> Lanes:
    """The arc cosine."""
    is_large, found = _half_angle(f, f.magnitude(x))
    doubled = f.add(found, found)
    high, low, _ = (2 * piece for piece in HALF_PI[f.kind.name])
    other_way = f.add(f.sub(f.of(high), doubled), f.of(low))
    large = f.choose(f.less(x, f.of(0.0)), other_way, doubled)
    return f.choose(is_large, large, _from_quarter(f, f.signed(found, x)))


def _half_angle(f: Formula, a: Lanes) -> tuple[Lanes, Lanes]:
    """Whether `a` is above 1/2, and the arc sine of `a` or of `sqrt((1 - a) / 2)`."""
    is_large = f.less(f.of(0.5), a)
    z = f.choose(is_large, f.mul(f.sub(f.of(1.0), a), f.of(0.5)), f.mul(a, a))
    s = f.choose(is_large, f.root(z), a)
    return is_large, f.fma(f.mul(s, z), f.polynomial(ASIN, z), s)

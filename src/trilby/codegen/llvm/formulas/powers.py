"""Powers, roots and lengths of floats, in doubles; and the error function."""

import math

from trilby.codegen.llvm.formulas.exponentials import exp, exp_of_negative
from trilby.codegen.llvm.formulas.formula import Formula
from trilby.codegen.llvm.formulas.logarithms import log
from trilby.codegen.llvm.formulas.tables import ERF, LOG_ERFC
from trilby.codegen.llvm.lanes import BIT, Lanes


def erf(f: Formula, x: Lanes) -> Lanes:
    """`x + x P(x²)` below 1; above it is 1 but for the exponential of a polynomial."""
    z, a = f.mul(x, x), f.magnitude(x)
    small = f.fma(x, f.polynomial(ERF, z), x)
    rest = exp_of_negative(f, f.polynomial(LOG_ERFC, f.within(a, 1.0, 6.0)))
    large = f.signed(f.sub(f.of(1.0), rest), x)
    return f.choose(f.less(a, f.of(1.0)), small, large)


def hypot(f: Formula, x: Lanes, y: Lanes) -> Lanes:
    """The length of a vector; infinite if a part is, whatever the other is."""
    across, up = f.widened(x), f.widened(y)
    length = f.root(f.fma(across, across, f.mul(up, up)))
    infinite = f.of(math.inf)
    ends = [f.equal(f.magnitude(part), infinite) for part in (across, up)]
    return f.narrowed(f.choose(f.either(*ends), infinite, length))


def cbrt(f: Formula, x: Lanes) -> Lanes:
    """The cube root: `exp(log(x) / 3)`."""
    wide = f.widened(x)
    third = f.mul(log(f, f.magnitude(wide)), f.of(1 / 3))
    return f.narrowed(f.signed(exp(f, third), wide))


def power(f: Formula, base: Lanes, exponent: Lanes) -> Lanes:
    """`exp(y log(x))`, and what C says of signs, zeros and infinities."""
    x, y = f.widened(base), f.widened(exponent)
    one, zero, infinite = f.of(1.0), f.of(0.0), f.of(math.inf)
    a = f.magnitude(x)
    found = exp(f, f.mul(y, log(f, a)))
    is_endless = f.equal(f.magnitude(y), infinite)
    found = f.choose(f.both(f.equal(a, one), is_endless), one, found)
    is_negative = f.ir.apply("icmp slt {t} {0}, {1}", [f.bits(x), f.whole(0)], BIT)
    is_whole = f.equal(f.ir.call("floor", [y]), y)
    half = f.mul(y, f.of(0.5))
    is_even = f.equal(f.ir.call("floor", [half]), half)
    is_odd = f.ir.apply("xor {t} {0}, {1}", [f.ir.varying(is_even), f.ir.varying(is_whole)])
    flipped = f.both(is_negative, is_odd)
    found = f.choose(flipped, f.negated(found), found)
    is_below = f.both(f.less(x, zero), f.less(a, infinite))
    is_broken = f.ir.apply("fcmp one {t} {0}, {1}", [f.ir.call("floor", [y]), y], BIT)
    found = f.choose(f.both(is_below, is_broken), f.of(math.nan), found)
    is_one = f.either(f.equal(y, zero), f.equal(x, one))
    return f.narrowed(f.choose(is_one, one, found))

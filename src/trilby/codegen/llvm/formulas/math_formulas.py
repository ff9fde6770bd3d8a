"""Which functions there are formulas for, and their texts."""

import math
from collections.abc import Callable

from trilby.codegen.llvm.formulas.formula import DOUBLE, FLOAT, KINDS, Formula
from trilby.codegen.llvm.formulas.tables import (
    ASIN,
    ATAN,
    ATANH,
    COS,
    ERF,
    EXP,
    HALF_PI,
    LN2,
    LOG,
    LOG2_E,
    LOG10_2,
    LOG10_E,
    LOG_ERFC,
    SIN,
    SINH,
    TANH,
    Table,
)
from trilby.codegen.llvm.ir import BIT, Lanes, of_kind

# ------------------------------------------------------------------------------------- exponentials
# e to a power, and what is made of it.
#
# `x = k ln 2 + r` with a whole `k`, and `r` so small that a short polynomial gives `exp(r)`.

_REACH = {"float": (-104.0, 89.0), "double": (-746.0, 710.0)}
"""Beyond these, the exponential is 0 or infinite."""


def exp(f: Formula, x: Lanes) -> Lanes:
    """`exp(x)`."""
    power, k = _parts(f, f.within(x, *_REACH[f.kind.name]))
    return _scaled(f, f.add(power, f.of(1.0)), k)


def exp2(f: Formula, x: Lanes) -> Lanes:
    """`2 ** x`."""
    low, high = (bound * 1.45 for bound in _REACH[f.kind.name])
    held = f.within(x, low, high)
    whole, k = f.rounded(held, 1.0)
    power = _of_rest(f, f.mul(f.sub(held, whole), f.of(LN2[f.kind.name][0])))
    return _scaled(f, f.add(power, f.of(1.0)), k)


def expm1(f: Formula, x: Lanes) -> Lanes:
    """`exp(x) - 1`: `2 (2 ** (k - 1) (exp(r) - 1) + 2 ** (k - 1) - 1/2)`."""
    lowest = -40.0 if f.kind is DOUBLE else -20.0
    power, k = _parts(f, f.within(x, lowest, _REACH[f.kind.name][1]))
    scale = f.two_to(f.on_bits("add", k, f.whole(f.kind.bias - 1)))
    half = f.fma(power, scale, f.sub(scale, f.of(0.5)))
    is_tiny = f.less(f.magnitude(x), f.of(2.0 ** -(f.kind.fraction + 2)))
    return f.choose(is_tiny, x, f.add(half, half))


def sinh(f: Formula, x: Lanes) -> Lanes:
    """`(exp(x) - exp(-x)) / 2`, and a polynomial where that would cancel."""
    half = _half_exp(f, f.magnitude(x))
    large = f.sub(half, f.div(f.of(0.25), half))
    return _or_odd(f, x, 1.0, SINH, large)


def cosh(f: Formula, x: Lanes) -> Lanes:
    """`(exp(x) + exp(-x)) / 2`."""
    half = _half_exp(f, f.magnitude(x))
    return f.add(half, f.div(f.of(0.25), half))


def tanh(f: Formula, x: Lanes) -> Lanes:
    """`1 - 2 / (exp(2 x) + 1)`, and a polynomial where that would cancel."""
    a = f.magnitude(x)
    double = exp(f, f.add(a, a))
    large = f.sub(f.of(1.0), f.div(f.of(2.0), f.add(double, f.of(1.0))))
    return _or_odd(f, x, 0.625, TANH, large)


def exp_of_negative(f: Formula, x: Lanes) -> Lanes:
    """`exp(x)` where `x` is not above zero, and the result far from the smallest numbers."""
    power, k = _parts(f, x)
    scale = f.two_to(f.on_bits("add", k, f.whole(f.kind.bias)))
    return f.fma(power, scale, scale)


def _parts(f: Formula, x: Lanes) -> tuple[Lanes, Lanes]:
    """`exp(r) - 1`, and `k`."""
    whole, k = f.rounded(x, LOG2_E[f.kind.name][0])
    rest = x
    for piece in LN2[f.kind.name]:
        rest = f.fma(whole, f.of(-piece), rest)
    return _of_rest(f, rest), k


def _of_rest(f: Formula, r: Lanes) -> Lanes:
    """`exp(r) - 1 = r + r² Q(r)`."""
    return f.fma(f.mul(r, r), f.polynomial(EXP, r), r)


def _scaled(f: Formula, number: Lanes, k: Lanes, less: int = 0) -> Lanes:
    """`number * 2 ** (k - less)`, in two steps, of which neither is beyond the type."""
    both = f.on_bits("add", k, f.whole(2 * f.kind.bias - less))
    first = f.on_bits("lshr", both, f.whole(1))
    second = f.on_bits("sub", both, first)
    return f.mul(f.mul(number, f.two_to(first)), f.two_to(second))


def _half_exp(f: Formula, x: Lanes) -> Lanes:
    """`exp(x) / 2`, also where `exp(x)` is beyond the type."""
    power, k = _parts(f, f.within(x, 0.0, _REACH[f.kind.name][1] + 1))
    return _scaled(f, f.add(power, f.of(1.0)), k, less=1)


def _or_odd(f: Formula, x: Lanes, limit: float, table: Table, large: Lanes) -> Lanes:
    """`x + x³ P(x²)` below a limit, and `large` with the sign of `x` above."""
    z = f.mul(x, x)
    small = f.fma(f.mul(x, z), f.polynomial(table, z), x)
    is_tiny = f.less(f.magnitude(x), f.of(f.kind.tiny))
    is_small = f.less(f.magnitude(x), f.of(limit))
    small = f.choose(is_tiny, x, small)
    return f.choose(is_small, small, f.signed(large, x))


# --------------------------------------------------------------------------------------- logarithms
# Logarithms, and what floats make of them in doubles.
#
# `x = 2 ** e (1 + f)` with `1 + f` between the roots of a half and of two.


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


# ----------------------------------------------------------------------------------------- circular
# Sine, cosine, tangent, and their inverses.
#
# `x = n π/2 + r` with a whole `n`: `π/2` is subtracted in three pieces, the first of which leaves
# no rounding error. `HUGE` says up to where that is precise enough.

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
    other_way = _from_quarter(f, found, 2)
    is_left = f.ir.apply("icmp slt", [f.bits(x), f.whole(0)], BIT)
    found = f.signed(f.choose(is_left, other_way, found), y)
    is_nan = f.ir.apply("fcmp uno", [y, x], BIT)
    return f.choose(is_nan, f.add(y, x), found)


def _flat(f: Formula, t: Lanes) -> Lanes:
    """The arc tangent of what is between 0 and 1."""
    z = f.mul(t, t)
    return f.fma(f.mul(t, z), f.polynomial(ATAN, z), t)


def _from_quarter(f: Formula, angle: Lanes, quarters: int = 1) -> Lanes:
    """`π/2 - angle`, or so many times `π/2` less an angle."""
    high, low, _ = (quarters * piece for piece in HALF_PI[f.kind.name])
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
    other_way = _from_quarter(f, doubled, 2)
    large = f.choose(f.less(x, f.of(0.0)), other_way, doubled)
    return f.choose(is_large, large, _from_quarter(f, f.signed(found, x)))


def _half_angle(f: Formula, a: Lanes) -> tuple[Lanes, Lanes]:
    """Whether `a` is above 1/2, and the arc sine of `a` or of `sqrt((1 - a) / 2)`."""
    is_large = f.less(f.of(0.5), a)
    z = f.choose(is_large, f.mul(f.sub(f.of(1.0), a), f.of(0.5)), f.mul(a, a))
    s = f.choose(is_large, f.root(z), a)
    return is_large, f.fma(f.mul(s, z), f.polynomial(ASIN, z), s)


# ------------------------------------------------------------------------------------------- powers
# Powers, roots and lengths of floats, in doubles; and the error function.


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
    is_negative = f.ir.apply("icmp slt", [f.bits(x), f.whole(0)], BIT)
    is_whole = f.equal(f.ir.call("floor", [y]), y)
    half = f.mul(y, f.of(0.5))
    is_even = f.equal(f.ir.call("floor", [half]), half)
    is_odd = f.ir.apply("xor", [f.ir.varying(is_even), f.ir.varying(is_whole)])
    flipped = f.both(is_negative, is_odd)
    found = f.choose(flipped, f.negated(found), found)
    is_below = f.both(f.less(x, zero), f.less(a, infinite))
    is_broken = f.ir.apply("fcmp one", [f.ir.call("floor", [y]), y], BIT)
    found = f.choose(f.both(is_below, is_broken), f.of(math.nan), found)
    is_one = f.either(f.equal(y, zero), f.equal(x, one))
    return f.narrowed(f.choose(is_one, one, found))


# ---------------------------------------------------------------------------------------- functions

_OF_ALL: dict[str, Callable[..., Lanes]] = {
    formula.__name__: formula
    for formula in (
        exp,
        exp2,
        expm1,
        sinh,
        cosh,
        tanh,
        log,
        log2,
        log10,
        sin,
        cos,
        tan,
        asin,
        acos,
        atan,
        atan2,
        erf,
    )
}
_OF_FLOATS: dict[str, Callable[..., Lanes]] = {
    formula.__name__: formula for formula in (log1p, asinh, acosh, atanh, hypot, cbrt)
} | {"pow": power}
"""Those that are computed in doubles."""

_OF_ANGLES = frozenset({"sin", "cos", "tan"})


def has_formula(name: str, kind: str) -> bool:
    """Whether there is a formula for a function of numbers of a type."""
    return name in _OF_ALL or (name in _OF_FLOATS and kind == "float")


def function_of(
    name: str, symbol: str, arity: int, kind: str, lanes: int, one_by_one: str
) -> tuple[str, list[str]]:
    """The definition of a function under a symbol, and the declarations of what it calls.

    `one_by_one` is the symbol of the C library's function, lane by lane.

    Arguments are frozen: lanes that do not run may hold anything, and huge angles are a branch.
    """
    formula = Formula(lanes, KINDS[kind])
    ir = formula.ir
    vector = ir.vector(kind)
    args = [Lanes(kind, ir.let(f"freeze {vector} %a{n}"), None) for n in range(arity)]
    found = ir.varying((_OF_ALL | _OF_FLOATS)[name](formula, *args))
    if name in _OF_ANGLES:
        found = _with_huge(formula, args[0], found, one_by_one)
    ir.line(f"ret {vector} {found.text}")
    params = ", ".join(f"{vector} %a{n}" for n in range(arity))
    head = f"define internal {vector} {symbol}({params}) #3 {{"
    return "\n".join([head, "begin:", *ir.head, *ir.lines, "}"]), list(ir.declarations)


def _with_huge(f: Formula, x: Lanes, found: Lanes, one_by_one: str) -> Lanes:
    """What was found, but for huge angles, which the C library knows."""
    ir, vector = f.ir, f.ir.vector(f.kind.name)
    result = ir.alloca(vector)
    ir.store(vector, found.text, result)
    limit = of_kind(HUGE[f.kind.name], f.kind.name)
    is_huge = ir.spread(f.less(limit, f.magnitude(x)))
    ir.branch(ir.any(is_huge), "huge", "usual")
    ir.label("huge")
    exactly = ir.let(f"call {vector} {one_by_one}({vector} {x.text})")
    chosen = f"select {ir.vector(BIT)} {is_huge}, {vector} {exactly}, {vector} {found.text}"
    ir.store(vector, ir.let(chosen), result)
    ir.label("usual")
    return Lanes(f.kind.name, ir.load(vector, result), None)

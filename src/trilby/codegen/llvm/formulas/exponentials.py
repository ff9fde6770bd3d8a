"""e to a power, and what is made of it.

`x = k ln 2 + r` with a whole `k`, and `r` so small that a short polynomial gives `exp(r)`.
"""

from trilby.codegen.llvm.formulas.formula import DOUBLE, Formula
from trilby.codegen.llvm.formulas.tables import EXP, LN2, LOG2_E, SINH, TANH, Table
from trilby.codegen.llvm.lanes import Lanes

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

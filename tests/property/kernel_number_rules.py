"""The ways to make numbers and truths in random kernels.

What feeds integers, conditions and other floats is exact: `+ - * /`, comparisons, and the
functions that round nowhere.
"""

from collections.abc import Sequence

from tests.property.kernel_operands import condition, expression, literal, pair, signed
from tests.property.kernel_types import (
    FLOATS,
    INTEGERS,
    MEETINGS,
    NUMBERS,
    SCALARS,
    bits,
    common,
    float_of,
    integers,
)
from tests.property.kernel_writer import Rule, Writer

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


# -- two operands -------------------------------------------------------------------------


def _arithmetic(w: Writer, type_: str, depth: int) -> str:
    left, right = pair(w, type_, depth)
    return f"({left} {w.draft.pick(('+', '-', '*'))} {right})"


def _bitwise(w: Writer, type_: str, depth: int) -> str:
    left, right = pair(w, type_, depth)
    return f"({left} {w.draft.pick(('&', '|', '^'))} {right})"


def _divided(w: Writer, type_: str, depth: int) -> str:
    """The divisor of integers is odd, so it is not zero."""
    sign = w.draft.pick(("//", "%"))
    pairs = [(a, b) for a, b in MEETINGS[type_] if a in INTEGERS and b in INTEGERS]
    left, right = w.draft.pick_pair([(type_, type_), *pairs])
    a = expression(w, left, depth)
    if left == right and w.draft.chance(3):
        divisors = [n for n in integers(type_) if n]
        return f"({a} {sign} {signed(w.draft.pick(divisors))})"
    return f"({a} {sign} ({expression(w, right, depth)} | 1))"


def _shifted(w: Writer, type_: str, depth: int) -> str:
    sign = w.draft.pick(("<<", ">>"))
    is_literal = w.draft.chance(5)
    left = literal(w, type_) if is_literal else expression(w, type_, depth)
    if not is_literal and w.draft.chance(3):
        return f"({left} {sign} {w.draft.number(0, bits(type_) - 1)})"
    count = expression(w, type_, depth)
    if w.draft.free and w.draft.chance(2):
        return f"({left} {sign} {count})"
    return f"({left} {sign} ({count} & {bits(type_) - 1}))"


def _power(w: Writer, type_: str, depth: int) -> str:
    base = expression(w, type_, depth)
    if w.draft.chance(2):
        return f"({base} ** {w.draft.number(0, 5)})"
    if w.draft.chance(3):
        return f"({w.draft.number(0, 3)} ** ({base} & 3))"
    return f"({base} ** ({expression(w, type_, depth)} & 7))"


def _bool_arithmetic(w: Writer, type_: str, depth: int) -> str:
    """Bools count as `i32`."""
    if not w.draft.free or type_ != "i32":
        return _arithmetic(w, type_, depth)
    left, right = expression(w, "bool", depth), expression(w, "bool", depth)
    sign = w.draft.pick(("+", "-", "*", "-1", "~"))
    if sign == "-1":
        return f"(-{left})"
    return f"(~{left})" if sign == "~" else f"({left} {sign} {right})"


# -- one operand, functions, choices ------------------------------------------------------


def _unary(w: Writer, type_: str, depth: int) -> str:
    signs = ("-", "+") if type_ in FLOATS else ("-", "~", "+")
    return f"({w.draft.pick(signs)}{expression(w, type_, depth)})"


def cast(w: Writer, type_: str, depth: int) -> str:
    return f"{type_}({expression(w, w.draft.pick_type(SCALARS), depth)})"


def chosen(w: Writer, type_: str, depth: int) -> str:
    """A ternary; where the arms are of several types, or literals, a cast says the type."""
    test = condition(w, depth)
    if type_ in NUMBERS and w.draft.chance(2):
        left, right = pair(w, type_, depth)
        return f"{type_}(({left} if {test} else {right}))"
    left, right = (expression(w, type_, depth) for _ in range(2))
    return f"({left} if {test} else {right})"


def _function(w: Writer, type_: str, depth: int) -> str:
    """Functions of numbers that are exact."""
    name = w.draft.pick(("min", "max", "abs", "tb.clamp", "tb.sign", "min3"))
    if name in {"abs", "tb.sign"}:
        return f"{name}({expression(w, type_, depth)})"
    left, right = pair(w, type_, depth)
    if name in {"min", "max"}:
        return f"{name}({left}, {right})"
    third = expression(w, type_, depth)
    return f"{'max' if name == 'min3' else name}({left}, {third}, {right})"


def _bit_function(w: Writer, type_: str, depth: int) -> str:
    return f"tb.{w.draft.pick(('popcount', 'clz'))}({expression(w, type_, depth)})"


# -- floats -------------------------------------------------------------------------------


def _float_arithmetic(w: Writer, type_: str, depth: int) -> str:
    left, right = pair(w, type_, depth)
    return f"({left} {w.draft.pick(('+', '-', '*', '/', '+', '-', '*', '//', '%'))} {right})"


def _quotient_of_integers(w: Writer, type_: str, depth: int) -> str:
    left, right = (w.draft.pick_type(INTEGERS) for _ in range(2))
    if type_ != "f64" or common(left, right) in FLOATS:
        return _float_arithmetic(w, type_, depth)
    if w.draft.chance(3):
        return f"({expression(w, left, depth)} {w.draft.pick(('+', '*', '-'))} 0.5)"
    return f"({expression(w, left, depth)} / {expression(w, right, depth)})"


def _exact_function(w: Writer, type_: str, depth: int) -> str:
    name = w.draft.pick(("floor", "ceil", "trunc", "fabs", "fmod", "remainder", "copysign", "mix"))
    operand = expression(w, w.draft.pick_type([s for s in NUMBERS if float_of(s) == type_]), depth)
    if name in {"floor", "ceil", "trunc", "fabs"}:
        return f"math.{name}({operand})"
    other = expression(w, type_, depth)
    if name == "copysign":  # the sign of a NaN means nothing, so it is not copied
        whole = expression(w, w.draft.pick_type(INTEGERS), depth)
        return f"math.copysign({other}, {type_}({whole}))"
    if name == "mix":
        return f"tb.mix({expression(w, type_, depth)}, {other}, {literal(w, type_)})"
    return f"math.{name}({other}, {expression(w, type_, depth)})"


# -- bools --------------------------------------------------------------------------------


def _compared(w: Writer, _: str, depth: int) -> str:
    left, right = w.draft.pick_type(SCALARS), w.draft.pick_type(SCALARS)
    first = expression(w, left, depth)
    sign = w.draft.pick(COMPARISONS)
    if w.draft.chance(3):
        return f"({first} {sign} {literal(w, left)})"
    return f"({first} {sign} {expression(w, right, depth)})"


def _chain(w: Writer, _: str, depth: int) -> str:
    parts = [expression(w, w.draft.pick_type(NUMBERS), depth) for _ in range(3)]
    signs = [w.draft.pick(COMPARISONS) for _ in range(2)]
    return f"({parts[0]} {signs[0]} {parts[1]} {signs[1]} {parts[2]})"


def _logical(w: Writer, _: str, depth: int) -> str:
    words = [w.draft.pick((" and ", " or ")), w.draft.pick((" and ", " or "))]
    parts = [expression(w, "bool", depth) for _ in range(w.draft.number(2, 3))]
    return "(" + parts[0] + "".join(a + b for a, b in zip(words, parts[1:], strict=False)) + ")"


def _negated(w: Writer, _: str, depth: int) -> str:
    return f"(not {condition(w, depth)})"


def _truth(w: Writer, _: str, depth: int) -> str:
    if w.draft.chance(2):
        return f"bool({expression(w, w.draft.pick_type(SCALARS), depth)})"
    name = w.draft.pick(("isnan", "isinf", "isfinite"))
    return f"math.{name}({expression(w, w.draft.pick_type(FLOATS), depth)})"


OF_INTEGERS: Sequence[Rule] = (
    _arithmetic,
    _arithmetic,
    _bitwise,
    _divided,
    _shifted,
    _power,
    _unary,
    _function,
    _bit_function,
)
OF_I32: Sequence[Rule] = (*OF_INTEGERS, _bool_arithmetic)
OF_FLOATS: Sequence[Rule] = (
    _float_arithmetic,
    _float_arithmetic,
    _quotient_of_integers,
    _exact_function,
    _function,
    _unary,
)
OF_BOOLS: Sequence[Rule] = (
    _compared,
    _compared,
    _chain,
    _logical,
    _negated,
    _bitwise,
    _truth,
)

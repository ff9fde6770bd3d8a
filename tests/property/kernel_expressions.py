"""Random expressions of kernels, each of a type that is asked for.

What feeds integers, conditions and other floats is exact: `+ - * /`, comparisons, and the
functions that round nowhere. Functions with an error of some ulps stand at the root of an
expression only, in `root`.
"""

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from tests.property.kernel_types import (
    FLOAT_LITERALS,
    FLOATS,
    INTEGERS,
    LANES,
    MEETINGS,
    NUMBERS,
    SCALARS,
    VECTORS,
    assignable_to,
    bits,
    common,
    float_of,
    integers,
)
from tests.property.kernel_writer import RECORD, Writer

from trilby.model.intrinsics import INTRINSICS

Rule: TypeAlias = Callable[[Writer, str, int], str]
"""Writes an expression of a type, made of others that are at most so deep."""

CHANGED = ("i32", "u8", "i64", "f32")
"""The types for which there is a helper that changes memory."""

ATOMICS = ("i32", "u32", "i64", "u64")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def expression(w: Writer, type_: str, depth: int = 2) -> str:
    """A number, a vector or a struct of exactly this type; it stands alone or in parentheses."""
    if depth <= 0 or not w.draft.spend():
        return leaf(w, type_)
    if type_ == RECORD:
        return _record(w, depth)
    if type_ in VECTORS:
        return w.draft.pick(_VECTOR_RULES)(w, type_, depth - 1)
    return w.draft.pick(_RULES[type_])(w, type_, depth - 1)


def held(w: Writer, type_: str) -> str:
    """What a name can hold; a bare struct in memory would make it a reference to that."""
    text = expression(w, type_, 3)
    return _constructed(w, 0) if type_ == RECORD and is_in_memory(text) else text


def is_in_memory(text: str) -> bool:
    """True for a struct in a buffer or array, where Trilby makes references of it."""
    return re.fullmatch(rf"row|ref\d+|table\.row\[i\]|(a|tile)\d+_{RECORD}\[.*\]", text) is not None


def condition(w: Writer, depth: int = 2) -> str:
    """Something of which only the truth counts: any number will do."""
    if w.draft.chance(4):
        return expression(w, w.draft.pick(SCALARS), depth)
    return expression(w, "bool", depth)


def given_to(w: Writer, type_: str, depth: int = 2) -> str:
    """What is stored or passed: of the type, a literal, or of a type that goes into it."""
    if type_ not in SCALARS:
        return expression(w, type_, depth)
    way = w.draft.pick(("same", "same", "literal", "other"))
    if way == "literal":
        return literal(w, type_)
    return expression(w, type_ if way == "same" else w.draft.pick(assignable_to(type_)), depth)


# -- the simplest -------------------------------------------------------------------------


def leaf(w: Writer, type_: str) -> str:
    """Something that can be read, or a literal with its type."""
    found = w.readable(type_)
    if found and not w.draft.chance(6):
        return filled(w, w.draft.pick(found))
    if type_ == RECORD:
        return _constructed(w, 0)
    if type_ in VECTORS:
        return _vector_of_lanes(w, type_, 0)
    others = [text for text, own in w.values.items() if own in SCALARS]
    if others and w.draft.chance(2):
        return f"{type_}({filled(w, w.draft.pick(others))})"
    return f"{type_}({literal(w, type_)})"


def literal(w: Writer, type_: str) -> str:
    """A number as Python writes it, within the type."""
    if type_ == "bool":
        return w.draft.pick(("False", "True"))
    if type_ in INTEGERS:
        return w.draft.pick([*(_signed(n) for n in integers(type_)), "WHOLE"])
    if w.draft.chance(3):
        return _signed(w.draft.number(-9, 9))
    return w.draft.pick([*(_signed(n) for n in FLOAT_LITERALS), "WHOLE", "PART"])


def _signed(number: float) -> str:
    text = repr(number)
    return f"({text})" if text.startswith("-") else text


def filled(w: Writer, text: str) -> str:
    """A place with its indices written out."""
    return re.sub(r"\$(\d+)", lambda found: index(w, int(found[1])), text)


def index(w: Writer, size: int) -> str:
    """An integer of any type that lies below a size."""
    way = w.draft.pick(("literal", "item", "value", "value"))
    if way == "item" and w.in_kernel:
        return f"i % {size}"
    if way == "literal" or not w.draft.spend():
        return str(w.draft.number(0, size - 1))
    return f"{expression(w, w.draft.pick(INTEGERS), 1)} % {size}"


# -- two operands -------------------------------------------------------------------------


def pair(w: Writer, type_: str, depth: int) -> tuple[str, str]:
    """Two operands that meet in a type."""
    ways = ["same", "same", "right", "left", "mixed"]
    if w.draft.free and w.counters and type_ in {"i32", "i64", "u32", "u64", *FLOATS}:
        ways += ["counter", "counter"]
    way = w.draft.pick(ways)
    if way == "mixed" and MEETINGS[type_]:
        left, right = w.draft.pick(MEETINGS[type_])
        return expression(w, left, depth), expression(w, right, depth)
    one = expression(w, type_, depth)
    if way == "right":
        return one, literal(w, type_)
    if way == "left":
        return literal(w, type_), one
    if way == "counter":
        return w.draft.pick(w.counters), one
    return one, expression(w, type_, depth)


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
    left, right = w.draft.pick([(type_, type_), *pairs])
    a = expression(w, left, depth)
    if left == right and w.draft.chance(3):
        divisors = [n for n in integers(type_) if n]
        return f"({a} {sign} {_signed(w.draft.pick(divisors))})"
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


def _cast(w: Writer, type_: str, depth: int) -> str:
    return f"{type_}({expression(w, w.draft.pick(SCALARS), depth)})"


def _chosen(w: Writer, type_: str, depth: int) -> str:
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


def _called(w: Writer, type_: str, depth: int) -> str:
    """A helper that gives the type; in kernels also one that changes memory first."""
    if w.in_kernel and type_ in CHANGED and w.draft.chance(3):
        w.draft.changed.add(type_)
        return f"bump_{type_}(mem_{type_}, i, {given_to(w, type_, depth)})"
    if w.in_kernel and type_ in ATOMICS and w.draft.chance(3):
        return _exchanged(w, type_, depth)
    helpers = [helper for helper in w.helpers if helper.result == type_]
    if not helpers and type_ in SCALARS:
        helpers = w.helpers
    if not helpers:
        return expression(w, type_, depth)
    helper = w.draft.pick(helpers)
    call = f"{helper.name}({', '.join(given_to(w, param, depth) for param in helper.params)})"
    return call if helper.result == type_ else f"{type_}({_number_of(w, call, helper.result)})"


def _number_of(w: Writer, text: str, type_: str) -> str:
    """A number, or one of those that a vector or struct is made of."""
    if type_ in VECTORS:
        return f"{text}.{w.draft.pick(LANES[: VECTORS[type_][1]])}"
    if type_ == RECORD:
        name = w.draft.pick(tuple(w.draft.members))
        return _number_of(w, f"{text}.{name}", w.draft.members[name])
    return text


def _exchanged(w: Writer, type_: str, depth: int) -> str:
    """An atomic change of the item's own number, which gives what was there before."""
    name = w.draft.pick(("add", "sub", "inc", "max", "xor", "exchange", "compare_exchange"))
    count = {"inc": 0, "compare_exchange": 2}.get(name, 1)
    operands = "".join(f", {given_to(w, type_, depth)}" for _ in range(count))
    return f"tb.atomic_{name}(mem_{type_}, i{operands})"


# -- floats -------------------------------------------------------------------------------


def _float_arithmetic(w: Writer, type_: str, depth: int) -> str:
    left, right = pair(w, type_, depth)
    return f"({left} {w.draft.pick(('+', '-', '*', '/', '+', '-', '*', '//', '%'))} {right})"


def _quotient_of_integers(w: Writer, type_: str, depth: int) -> str:
    left, right = (w.draft.pick(INTEGERS) for _ in range(2))
    if type_ != "f64" or common(left, right) in FLOATS:
        return _float_arithmetic(w, type_, depth)
    if w.draft.chance(3):
        return f"({expression(w, left, depth)} {w.draft.pick(('+', '*', '-'))} 0.5)"
    return f"({expression(w, left, depth)} / {expression(w, right, depth)})"


def _exact_function(w: Writer, type_: str, depth: int) -> str:
    name = w.draft.pick(("floor", "ceil", "trunc", "fabs", "fmod", "remainder", "copysign", "mix"))
    operand = expression(w, w.draft.pick([s for s in NUMBERS if float_of(s) == type_]), depth)
    if name in {"floor", "ceil", "trunc", "fabs"}:
        return f"math.{name}({operand})"
    other = expression(w, type_, depth)
    if name == "copysign":  # the sign of a NaN means nothing, so it is not copied
        whole = expression(w, w.draft.pick(INTEGERS), depth)
        return f"math.copysign({other}, {type_}({whole}))"
    if name == "mix":
        return f"tb.mix({expression(w, type_, depth)}, {other}, {literal(w, type_)})"
    return f"math.{name}({other}, {expression(w, type_, depth)})"


def root(w: Writer, type_: str) -> tuple[str, int]:
    """What a result is made of, and how many ulps a device may be off."""
    if type_ not in FLOATS or w.draft.chance(3):
        return given_to(w, type_, 3), 0
    name = w.draft.pick(INEXACT)
    row = INTRINSICS[name]
    args = ", ".join(expression(w, type_, 2) for _ in range(row.arity))
    owner = "tb" if name in {"rsqrt", "fma"} else "math"
    return f"{owner}.{name}({args})", row.ulps


INEXACT = tuple(name for name, row in INTRINSICS.items() if row.ulps > 0)


# -- bools --------------------------------------------------------------------------------


def _compared(w: Writer, _: str, depth: int) -> str:
    left, right = w.draft.pick(SCALARS), w.draft.pick(SCALARS)
    first = expression(w, left, depth)
    sign = w.draft.pick(COMPARISONS)
    if w.draft.chance(3):
        return f"({first} {sign} {literal(w, left)})"
    return f"({first} {sign} {expression(w, right, depth)})"


def _chain(w: Writer, _: str, depth: int) -> str:
    parts = [expression(w, w.draft.pick(NUMBERS), depth) for _ in range(3)]
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
        return f"bool({expression(w, w.draft.pick(SCALARS), depth)})"
    name = w.draft.pick(("isnan", "isinf", "isfinite"))
    return f"math.{name}({expression(w, w.draft.pick(FLOATS), depth)})"


# -- vectors and structs ------------------------------------------------------------------


def _vector_of_lanes(w: Writer, type_: str, depth: int) -> str:
    element, lanes = VECTORS[type_]
    return f"tb.{type_}({', '.join(given_to(w, element, depth) for _ in range(lanes))})"


def _vector_arithmetic(w: Writer, type_: str, depth: int) -> str:
    element, _ = VECTORS[type_]
    left = expression(w, type_, depth)
    single = w.draft.chance(3)
    right = given_to(w, element, depth) if single else expression(w, type_, depth)
    if element in FLOATS:
        return f"({left} {w.draft.pick(('+', '-', '*', '/'))} {right})"
    sign = w.draft.pick(("+", "-", "*", "&", "|", "^", "//", "%"))
    if sign in {"//", "%"}:
        right = f"({expression(w, type_, depth)} | 1)"
    return f"({left} {sign} {right})"


def _vector_function(w: Writer, type_: str, depth: int) -> str:
    name = w.draft.pick(("-", "min", "max", "abs", "tb.cross"))
    one = expression(w, type_, depth)
    if name == "-" or (name == "tb.cross" and type_ != "f32x3"):
        return f"(-{one})"
    if name == "abs":
        return f"abs({one})"
    return f"{name}({one}, {expression(w, type_, depth)})"


def _swizzled(w: Writer, type_: str, depth: int) -> str:
    """Lanes of another vector with the same element, or of an expression."""
    element, lanes = VECTORS[type_]
    sources = [v for v, (own, _) in VECTORS.items() if own == element]
    source = w.draft.pick(sources)
    picked = "".join(w.draft.pick(LANES[: VECTORS[source][1]]) for _ in range(lanes))
    return f"{expression(w, source, depth)}.{picked}"


def _dotted(w: Writer, type_: str, depth: int) -> str:
    """One number of a vector."""
    sources = [v for v, (own, _) in VECTORS.items() if own == type_]
    if not sources:
        return expression(w, type_, depth)
    source = w.draft.pick(sources)
    if w.draft.chance(2):
        return f"tb.dot({expression(w, source, depth)}, {expression(w, source, depth)})"
    return f"{expression(w, source, depth)}.{w.draft.pick(LANES[: VECTORS[source][1]])}"


def _record(w: Writer, depth: int) -> str:
    if w.draft.chance(2):
        return _called(w, RECORD, depth - 1)
    return _constructed(w, depth - 1)


def _constructed(w: Writer, depth: int) -> str:
    members = (f"{name}={given_to(w, own, depth)}" for name, own in w.draft.members.items())
    return f"{RECORD}({', '.join(members)})"


def _leaf_rule(w: Writer, type_: str, _: int) -> str:
    return leaf(w, type_)


_ANYWHERE: Sequence[Rule] = (_leaf_rule, _cast, _chosen, _called, _called)
_OF_INTEGERS: Sequence[Rule] = (
    *_ANYWHERE,
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
_OF_FLOATS: Sequence[Rule] = (
    *_ANYWHERE,
    _float_arithmetic,
    _float_arithmetic,
    _quotient_of_integers,
    _exact_function,
    _function,
    _unary,
)
_OF_BOOLS: Sequence[Rule] = (
    *_ANYWHERE,
    _compared,
    _compared,
    _chain,
    _logical,
    _negated,
    _bitwise,
    _truth,
)
_RULES: dict[str, Sequence[Rule]] = {
    **dict.fromkeys(INTEGERS, _OF_INTEGERS),
    **dict.fromkeys(FLOATS, _OF_FLOATS),
    "i32": (*_OF_INTEGERS, _bool_arithmetic, _dotted),
    "u32": (*_OF_INTEGERS, _dotted),
    "u8": (*_OF_INTEGERS, _dotted),
    "f16": (*_OF_FLOATS, _dotted),
    "f32": (*_OF_FLOATS, _dotted),
    "bool": _OF_BOOLS,
}
_VECTOR_RULES: Sequence[Rule] = (
    _leaf_rule,
    _vector_of_lanes,
    _vector_arithmetic,
    _vector_function,
    _swizzled,
    _called,
    _chosen,
)

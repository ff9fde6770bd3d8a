"""Every way to make a random expression, by the type that is asked for.

Functions with an error of some ulps stand at the root of an expression only, in `root`.
"""

from collections.abc import Mapping, Sequence

from tests.property.kernel_number_rules import (
    OF_BOOLS,
    OF_FLOATS,
    OF_I32,
    OF_INTEGERS,
    cast,
    chosen,
)
from tests.property.kernel_operands import (
    constructed,
    expression,
    given_to,
    leaf,
    vector_of_lanes,
)
from tests.property.kernel_types import FLOATS, INTEGERS, LANES, NUMBERS, SCALARS, VECTORS
from tests.property.kernel_writer import RECORD, Rule, Writer

from trilby.model.intrinsics import INTRINSICS

ATOMICS = ("i32", "u32", "i64", "u64")
INEXACT = tuple(name for name, row in INTRINSICS.items() if row.ulps > 0)


def root(w: Writer, type_: str) -> tuple[str, str]:
    """What a result is made of, and how near a device comes: a word and a number of ulps.

    Around the zeros of `lgamma` there are no digits to count in: there the ulps are those of 1.
    """
    if type_ not in FLOATS or w.draft.chance(3):
        return given_to(w, type_, 3), "exact"
    name = w.draft.pick(INEXACT)
    row = INTRINSICS[name]
    args = ", ".join(expression(w, type_, 2) for _ in range(row.arity))
    owner = "tb" if name in {"rsqrt", "fma"} else "math"
    word = "around" if name == "lgamma" else "near"
    return f"{owner}.{name}({args})", f"{word}{row.ulps}"


# -- calls --------------------------------------------------------------------------------


def _called(w: Writer, type_: str, depth: int) -> str:
    """A helper that gives the type; in kernels also one that changes memory first."""
    if w.in_kernel and type_ in NUMBERS and w.draft.chance(3):
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


# -- vectors and structs ------------------------------------------------------------------


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
    source = w.draft.pick_type(sources)
    picked = "".join(w.draft.pick(LANES[: VECTORS[source][1]]) for _ in range(lanes))
    return f"{expression(w, source, depth)}.{picked}"


def _dotted(w: Writer, type_: str, depth: int) -> str:
    """One number of a vector."""
    sources = [v for v, (own, _) in VECTORS.items() if own == type_]
    if not sources:
        return expression(w, type_, depth)
    source = w.draft.pick_type(sources)
    if w.draft.chance(2):
        return f"tb.dot({expression(w, source, depth)}, {expression(w, source, depth)})"
    return f"{expression(w, source, depth)}.{w.draft.pick(LANES[: VECTORS[source][1]])}"


def _record(w: Writer, _: str, depth: int) -> str:
    return _called(w, RECORD, depth) if w.draft.chance(2) else constructed(w, depth)


def _leaf_rule(w: Writer, type_: str, _: int) -> str:
    return leaf(w, type_)


_ANYWHERE: Sequence[Rule] = (_leaf_rule, cast, chosen, _called, _called)
_OF_VECTORS: Sequence[Rule] = (
    _leaf_rule,
    vector_of_lanes,
    _vector_arithmetic,
    _vector_function,
    _swizzled,
    _called,
    chosen,
)
RULES: Mapping[str, Sequence[Rule]] = {
    **dict.fromkeys(INTEGERS, (*_ANYWHERE, *OF_INTEGERS)),
    **dict.fromkeys(FLOATS, (*_ANYWHERE, *OF_FLOATS)),
    **dict.fromkeys(VECTORS, _OF_VECTORS),
    "i32": (*_ANYWHERE, *OF_I32, _dotted),
    "u32": (*_ANYWHERE, *OF_INTEGERS, _dotted),
    "u8": (*_ANYWHERE, *OF_INTEGERS, _dotted),
    "f16": (*_ANYWHERE, *OF_FLOATS, _dotted),
    "f32": (*_ANYWHERE, *OF_FLOATS, _dotted),
    "bool": (*_ANYWHERE, *OF_BOOLS),
    RECORD: (_record,),
}
"""The ways to make an expression of each type; one that stands twice comes twice as often."""

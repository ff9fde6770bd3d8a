"""What random expressions are made of: places that can be read, literals, and each other.

Which ways there are to make an expression of a type stands in the rules of the draft.
"""

import re

from tests.property.kernel_types import (
    FLOAT_LITERALS,
    FLOATS,
    INTEGERS,
    MEETINGS,
    SCALARS,
    VECTORS,
    assignable_to,
    integers,
)
from tests.property.kernel_writer import RECORD, Writer


def expression(w: Writer, type_: str, depth: int = 2) -> str:
    """A number, a vector or a struct of exactly this type; it stands alone or in parentheses."""
    if depth <= 0 or not w.draft.spend():
        return leaf(w, type_)
    return w.draft.pick(w.draft.rules[type_])(w, type_, depth - 1)


def condition(w: Writer, depth: int = 2) -> str:
    """Something of which only the truth counts: any number will do."""
    if w.draft.chance(4):
        return expression(w, w.draft.pick_type(SCALARS), depth)
    return expression(w, "bool", depth)


def given_to(w: Writer, type_: str, depth: int = 2) -> str:
    """What is stored or passed: of the type, a literal, or of a type that goes into it."""
    if type_ not in SCALARS:
        return expression(w, type_, depth)
    way = w.draft.pick(("same", "same", "literal", "other"))
    if way == "literal":
        return literal(w, type_)
    return expression(w, type_ if way == "same" else w.draft.pick_type(assignable_to(type_)), depth)


# -- the simplest -------------------------------------------------------------------------


def leaf(w: Writer, type_: str) -> str:
    """Something that can be read, or a literal with its type."""
    found = w.readable(type_)
    if found and not w.draft.chance(6):
        return filled(w, w.draft.pick(found))
    if type_ == RECORD:
        return constructed(w, 0)
    if type_ in VECTORS:
        return vector_of_lanes(w, type_, 0)
    others = [text for text, own in w.values.items() if own in SCALARS]
    if others and w.draft.chance(2):
        return f"{type_}({filled(w, w.draft.pick(others))})"
    return f"{type_}({literal(w, type_)})"


def literal(w: Writer, type_: str) -> str:
    """A number as Python writes it, within the type."""
    if type_ == "bool":
        return w.draft.pick(("False", "True"))
    if type_ in INTEGERS:
        return w.draft.pick([*(signed(n) for n in integers(type_)), "WHOLE"])
    if w.draft.chance(3):
        return signed(w.draft.number(-9, 9))
    return w.draft.pick([*(signed(n) for n in FLOAT_LITERALS), "WHOLE", "PART"])


def signed(number: float) -> str:
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
    return f"{expression(w, w.draft.pick_type(INTEGERS), 1)} % {size}"


def pair(w: Writer, type_: str, depth: int) -> tuple[str, str]:
    """Two operands that meet in a type."""
    ways = ["same", "same", "right", "left", "mixed"]
    if w.draft.free and w.counters and type_ in {"i32", "i64", "u32", "u64", *FLOATS}:
        ways += ["counter", "counter"]
    way = w.draft.pick(ways)
    if way == "mixed" and MEETINGS[type_]:
        left, right = w.draft.pick_pair(MEETINGS[type_])
        return expression(w, left, depth), expression(w, right, depth)
    one = expression(w, type_, depth)
    if way == "right":
        return one, literal(w, type_)
    if way == "left":
        return literal(w, type_), one
    if way == "counter":
        return w.draft.pick(w.counters), one
    return one, expression(w, type_, depth)


def vector_of_lanes(w: Writer, type_: str, depth: int) -> str:
    element, lanes = VECTORS[type_]
    return f"tb.{type_}({', '.join(given_to(w, element, depth) for _ in range(lanes))})"


def constructed(w: Writer, depth: int) -> str:
    members = (f"{name}={given_to(w, own, depth)}" for name, own in w.draft.members.items())
    return f"{RECORD}({', '.join(members)})"


def held(w: Writer, type_: str) -> str:
    """What a name can hold; a bare struct in memory would make it a reference to that."""
    text = expression(w, type_, 3)
    return constructed(w, 0) if type_ == RECORD and is_in_memory(text) else text


def is_in_memory(text: str) -> bool:
    """True for a struct in a buffer or array, where Trilby makes references of it."""
    return re.fullmatch(rf"row|ref\d+|table\.row\[i\]|(a|tile)\d+_{RECORD}\[.*\]", text) is not None

"""Statements of random kernels that touch memory: private arrays, results, atomics, calls."""

from tests.property.kernel_expressions import ATOMICS, root
from tests.property.kernel_operands import condition, expression, filled, given_to
from tests.property.kernel_types import FLOATS, NUMBERS, SCALARS, VECTORS, spelt
from tests.property.kernel_writer import RECORD, Writer


def private_array(w: Writer) -> None:
    """Every element is set before any is read."""
    type_ = w.draft.pick_type((*SCALARS, *VECTORS, RECORD, RECORD, RECORD))
    name, size = w.draft.name("a", type_), w.draft.number(2, 4)
    w.line(f"{name} = tb.private({spelt(type_)}, {size})")
    for k in range(size):
        w.line(f"{name}[{k}] = {given_to(w, type_, 1)}")
    w.declare(f"{name}[${size}]", type_)


def result(w: Writer) -> None:
    """Write a result; nobody reads it again, so it may be off by some ulps."""
    type_ = w.draft.pick_type((*NUMBERS, *FLOATS, *FLOATS))
    text, precision = root(w, type_)
    w.line(f"{precision}_{type_}[i] = {text}")


def atomic(w: Writer) -> None:
    """Changes whose order does not matter; the old number is not used."""
    name = w.draft.pick(("add", "sub", "inc", "dec", "min", "max", "and", "or", "xor"))
    type_ = w.draft.pick_type(ATOMICS)
    kind = "add" if name in {"sub", "inc", "dec"} else name
    place = f"{kind}_{type_}, {filled(w, '$3')}"
    operand = "" if name in {"inc", "dec"} else f", {given_to(w, type_)}"
    w.line(f"tb.atomic_{name}({place}{operand})")


def change_memory(w: Writer) -> None:
    """A call for its effect alone."""
    type_ = w.draft.pick_type(NUMBERS)
    w.draft.changed.add(type_)
    name = w.draft.pick(("bump", "put"))
    w.line(f"{name}_{type_}(mem_{type_}, i, {expression(w, type_)})")


def choose_array(w: Writer) -> None:
    """A name for one of two arrays; in both the item has an element of its own."""
    type_ = w.draft.pick_type(NUMBERS)
    w.draft.last_name += 1
    name = f"chosen{w.draft.last_name}"
    w.line(f"{name} = mem_{type_} if {condition(w)} else alt_{type_}")
    w.values[f"{name}[i]"] = w.places[f"{name}[i]"] = type_

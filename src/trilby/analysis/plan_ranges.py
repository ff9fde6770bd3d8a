"""Whether the range of a dispatch has work items: without any, nothing is launched, nor needed.

Lengths and constants are taken for more than 0. Of a number by a name it has to be asked.
"""

from collections.abc import Iterable
from typing import TypeAlias

from trilby.analysis.alias import Text
from trilby.analysis.host_ops import HostOps
from trilby.analysis.host_trees import Call, Display, Hole, Item, Member, Name, Node, Number
from trilby.analysis.known_calls import OURS
from trilby.model.ops.core import VarLoad
from trilby.model.ops.host import HostValue
from trilby.model.ops.memory import Extent, Load
from trilby.model.value import Value

Conditions: TypeAlias = tuple[Text, ...]


def has_items(size: Value, ops: HostOps) -> Conditions | None:
    """What must be true for a range to have work items; None where only the launch can tell."""
    number = ops.seen(size).number
    if number is not None:
        return () if number > 0 else None
    maker = ops.makers.get(size)
    match maker:
        case Load() | Extent():
            return ()
        case VarLoad(var):
            things = ops.seen(size).things
            is_made_here = bool(things) and all(thing.kind == "container" for thing in things)
            return () if is_made_here else _named(ops.called.get(var), ops)
        case HostValue(inputs=inputs):
            return _in_text(ops.tree_of(maker), inputs, ops)
        case _:
            return None


def _named(name: str | None, ops: HostOps) -> Conditions | None:
    if name is None:
        return None
    if name not in ops.names or ops.sorts.of(ops.names[name]) == "list":
        return ()
    if ops.sorts.of(ops.names[name]) == "number":
        return (Text(name, (name,)),)
    is_shadowed = not ops.names.keys().isdisjoint({"type", "int", "tuple"})
    return None if is_shadowed else (Text(f"type({name}) in (int, tuple) and {name}", (name,)),)


def _in_text(node: Node, inputs: tuple[Value, ...], ops: HostOps) -> Conditions | None:
    match node:
        case Number(number):
            return () if number > 0 else None
        case Name(name):
            return _named(name, ops)
        case Hole(number):
            return has_items(inputs[number], ops)
        case Display(items):
            return _all(_in_text(item, inputs, ops) for item in items)
        case Call(Name(name) | Member(name=name), (size, *_)) if name in OURS:
            return _in_text(size, inputs, ops)
        case Member() | Item(Member(name="shape")):
            return ()
        case _:
            is_constant = node.names is not None and ops.names.keys().isdisjoint(node.names)
            return () if is_constant else None


def _all(found: Iterable[Conditions | None]) -> Conditions | None:
    total: dict[Text, None] = {}
    for conditions in found:
        if conditions is None:
            return None
        total.update(dict.fromkeys(conditions))
    return tuple(total)

"""Accesses of the host, and what can be told of them without looking at names."""

from collections.abc import Callable, Iterable, Mapping

from trilby.analysis import known_calls
from trilby.analysis.alias import (
    NOTHING,
    BufferPart,
    HostHeap,
    Points,
    Reference,
    Reload,
    Seen,
    Thing,
    Things,
)
from trilby.analysis.host_code import CallExpression, OneOf
from trilby.data.dtypes import ScalarType, Type
from trilby.data.schema import BufferType, index_count, join_path, type_at
from trilby.dataclass import dataclass
from trilby.model.value import Value

_COMPUTED: Mapping[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def computed(sign: str, numbers: list[int]) -> int | None:
    """The integer that an operation makes of integers, if that is known."""
    match sign, numbers:
        case "not", [number]:
            return int(not number)
        case "neg", [number]:
            return -number
        case (("//" | "%"), [_, 0]):
            return None
        case _, [left, right] if sign in _COMPUTED:
            return int(_COMPUTED[sign](left, right))
        case _:
            return None


@dataclass(frozen=True, slots=True)
class HostTouch:
    """An access of the host; `surely` where it happens whenever its op does.

    `handed` is true of what code that is not known is given: it counts as reading.
    """

    seen: Seen
    reads: bool
    writes: bool
    surely: bool = True
    handed: bool = False


def loaded(memory: HostHeap, var: Value) -> Seen:
    """What a variable holds, by its name."""
    held = memory.held.get(var)
    if held is None:
        return Seen(where=Reload(var))
    return Seen(held.things, held.is_part, None, Reload(var), held.number)


def part_below(
    owner: Seen, step: tuple[str, tuple[Reference, ...]], things: Things
) -> BufferPart | None:
    """The place one step below another, if that is a place of a known buffer."""
    before = owner.part or BufferPart("", ())
    if (owner.is_part and owner.part is None) or before.is_view:
        return None
    name, indices = step
    path = join_path(before.path, name)
    if any(type_at(things.types[thing], path) is None for thing in things.buffers(owner.things)):
        return None
    return BufferPart(path, (*before.indices, *indices))


def is_number(buffer: Type, part: BufferPart) -> bool:
    """Whether a place is one number, and not a row, a struct or an array."""
    is_scalar = isinstance(type_at(buffer, part.path), ScalarType)
    return is_scalar and index_count(buffer, part.path) == len(part.indices)


def is_length(things: Things, buffers: Points, name: str) -> bool:
    """Whether an attribute of some buffers is a length, which is no data."""
    types = [things.types[thing] for thing in buffers]
    return all(isinstance(type_, BufferType) and name in type_.length_names for type_ in types)


def item_at(things: Things, memory: HostHeap, owners: Points, number: int | None) -> Points:
    """What may lie at a place of some containers: which one it is, if its number is known."""
    found = NOTHING
    for owner in owners:
        place = None if number is None else things.known.get((owner, number))
        inside = memory.inside.get(owner, NOTHING)
        found |= inside if place is None else memory.inside.get(place, inside)
    return found


def forget_items(things: Things, memory: HostHeap, owners: Iterable[Thing]) -> None:
    """Which item of a container lies where is not known any more."""
    for owner in owners:
        number = 0
        while (place := things.known.get((owner, number))) is not None:
            memory.inside[place] = memory.inside.get(owner, NOTHING)
            number += 1


def written_by(node: CallExpression, name: str, method: str) -> frozenset[int] | None:
    """The numbers of the arguments that a well-known function writes; None for any other."""
    if not method:
        return frozenset() if name in known_calls.READING else None
    if name and method in known_calls.MAKERS:
        return frozenset()
    return written_by_module(node, name, method)


def written_by_module(node: CallExpression, name: str, method: str) -> frozenset[int] | None:
    """The same of a function that belongs to a module by that name."""
    positional = len(node.args) - len(node.keywords)
    return known_calls.written_arguments(
        name, method, positional, node.keywords, unpacked=is_unpacked(node)
    )


def is_unpacked(node: CallExpression) -> bool:
    """Whether a call has arguments of which nobody can say which they are: `*all`, `**all`."""
    starred = (isinstance(arg, OneOf) and len(arg.parts) == 1 for arg in node.args)
    return "" in node.keywords or any(starred)

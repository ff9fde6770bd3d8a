"""Which bytes are meant by what a program names: a buffer, a view, a struct, a single field."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias, cast

from trilby.data.buffer import Buffer
from trilby.data.dtypes import ScalarType
from trilby.data.ranges import Ranges
from trilby.data.record import Record, unknown_field
from trilby.data.segment import Segment
from trilby.data.views import Array
from trilby.data.window import exact_index, window_of
from trilby.dataclass import dataclass
from trilby.errors import ArgumentTypeError
from trilby.runtime.binding import is_ndarray, places_of, share_memory
from trilby.runtime.callers import Caller


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes of a buffer, from the start of its segment: those of `a.array[2:4]` are 8 to 16.

    `lengths` and `fields` are the places of the whole buffer, as far as it is at hand. Where the
    bytes are one number, `element` is its type.
    """

    segment: Segment
    ranges: Ranges
    lengths: tuple[range, ...] = ()
    fields: tuple[tuple[str, int, int], ...] = ()
    element: ScalarType | None = None


Place: TypeAlias = Buffer | Record | Array[Any] | Part | str
"""What can be moved; a text names a field of the buffer or struct before it."""


def part_of(thing: object, key: object = None) -> Part | None:
    """The bytes of a thing, or those that a key selects of it; None for what has no bytes.

    `key` is a field of a buffer or struct by its name, or an index or slice of a view.
    """
    if isinstance(thing, Part):
        return thing
    if isinstance(thing, Buffer):
        lengths, fields = places_of(thing.__schema__, thing.__lengths__)
        ranges = Ranges.of(*((start, stop) for _, start, stop in fields))
        if isinstance(key, str):
            ranges = _slot(thing, key)
        return Part(thing.segment, ranges, lengths, fields)
    if isinstance(thing, Record):
        start = thing.__start__
        whole = Ranges.span(start, start + thing.__layout__.size)
        return Part(thing.__segment__, _slot(thing, key) if isinstance(key, str) else whole)
    window = window_of(thing)
    if window is None:
        return None
    indices = cast("tuple[object, ...]", key) if isinstance(key, tuple) else (key,)
    ranges = window.ranges if key is None else window.ranges_at(indices)
    fields = places_of(thing.__schema__, thing.shape)[1] if is_ndarray(thing) else ()
    return Part(window.segment, ranges, (), fields)


def are_apart(one: object, other: object) -> bool:
    """Whether two things have no byte in common; what has no bytes is apart from everything."""
    left, right = _segment_of(one), _segment_of(other)
    if left is None or right is None:
        return True
    return not share_memory(left, right)


def _segment_of(thing: object) -> Segment | None:
    """The memory that a buffer has, or that a view belongs to."""
    if isinstance(thing, Buffer):
        return thing.segment
    part = part_of(thing)
    return part.segment if part else None


def _slot(owner: Buffer | Record, name: str) -> Ranges:
    slots = owner.__layout__.slots
    if name not in slots:
        raise unknown_field(type(owner).__name__, name, owner.__elements__)
    start = owner.__start__ + slots[name].offset
    return Ranges.span(start, start + slots[name].size)


def field_of(owner: object, key: Any) -> object:
    """`owner.key`, or `owner[key]`, where a number is not read: its place is given instead."""
    if isinstance(key, str) and isinstance(owner, Buffer | Record):
        slot = owner.__layout__.slots.get(key)
        if slot is not None and isinstance(owner.__elements__.get(key), ScalarType):
            return getattr(owner, key) if slot.shape else _number_in(owner, key, slot.type)
    window = window_of(owner)
    if window is not None and isinstance(window.element, ScalarType):
        index = exact_index(key)
        if index is not None and len(index) == window.live.ndim:
            return _number_in(owner, index, window.element)
    return getattr(owner, key) if isinstance(key, str) else cast("Any", owner)[key]


def _number_in(owner: object, key: object, element: object) -> Part | None:
    part = part_of(owner, key)
    if part is None or not isinstance(element, ScalarType):
        return part
    return replace(part, element=element)


def parts_of(given: Iterable[object], method: str) -> Iterator[Part]:
    """The parts that `put` and `get` are given: `a, b, table, "count", grid.array[0]`."""
    things = list(given)
    while things:
        thing = things.pop(0)
        if isinstance(thing, Buffer | Record) and things and isinstance(things[0], str):
            field = things.pop(0)
            yield _found(part_of(thing, field), field, method)
        else:
            yield _found(part_of(thing), thing, method)


def _found(part: Part | None, thing: object, method: str) -> Part:
    if part is not None:
        return part
    advice = "give buffers, arrays, views, or structs of them"
    if isinstance(thing, bool | int | float):
        advice = f'name the field, which is not read then: `{method}(table, "count")`'
    raise ArgumentTypeError(
        f"`{method}` is given {type(thing).__name__}, which has no place in a buffer",
        advice=advice,
        location=Caller.now().location,
    )

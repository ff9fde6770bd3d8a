"""Where the places of a path lie in the bytes of a buffer, and where only padding lies."""

from collections.abc import Iterator, Mapping
from functools import cache
from math import prod
from typing import TypeAlias, cast

from trilby.data.dtypes import Type
from trilby.data.layout import layout, leaf_offset, shape_of, size_of, stride_of
from trilby.data.ranges import Ranges, union
from trilby.data.schema import (
    ArrayType,
    BufferType,
    NDArrayType,
    PadType,
    StructType,
    leaves,
    path_steps,
    step_into,
)
from trilby.dataclass import dataclass

Axes: TypeAlias = tuple[tuple[int, int], ...]
"""The size and the distance in bytes of each index."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A path below a buffer: a member, the axes of arrays in its elements, and where in there.

    The axes of the member itself have sizes that only a launch knows. `gaps` are the lengths
    of the padding in a `cell`, which is an element, by where it begins; where the member is no
    array the cell is the buffer.
    """

    member: str
    axes: Axes
    offset: int
    size: int
    cell: int
    gaps: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a buffer in a launch: its bytes, and its axes."""

    start: int
    stop: int
    axes: Axes


def spot_of(type_: Type, path: str) -> Spot:
    """Follow a path; sizes that only a launch knows are left to `members_of`."""
    if isinstance(type_, NDArrayType):
        return Spot("", (), 0, type_.element.size, 0, {})
    name, *steps = path_steps(path)
    field = type_.field(name) if isinstance(type_, BufferType) else None
    if field is None or not isinstance(type_, BufferType):
        raise TypeError(path)
    here = field.type
    if isinstance(here, ArrayType) and steps:
        axes, offset, size = _inside(here.element, steps[1:])
        return Spot(name, axes, offset, size, stride_of(here), _gaps_in_element(here))
    axes, offset, size = _inside(here, steps)
    return Spot(name, axes, offset, size, 0, _gaps_in_header(type_))


def _inside(here: Type, steps: list[str]) -> tuple[Axes, int, int]:
    """The axes, the offset and the size of a place in an element."""
    axes: Axes = ()
    offset = 0
    for step in steps:
        below = step_into(here, step)
        if below is None:
            raise TypeError(step)
        if isinstance(here, ArrayType):
            shape = shape_of(here, {})
            strides = [stride_of(here) * prod(shape[axis + 1 :]) for axis in range(len(shape))]
            axes = (*axes, *zip(shape, strides, strict=True))
        elif isinstance(here, StructType):
            offset += layout(here).slots[step].offset
        here = below
    return axes, offset, size_of(here)


@cache
def _gaps_in_element(array: ArrayType) -> Mapping[int, int]:
    stride, element = stride_of(array), array.element
    data = Ranges.span(0, size_of(element))
    if isinstance(element, StructType):
        places = ((leaf_offset(element, leaf), leaf.type.size) for leaf in leaves(element))
        data = union((start, start + size) for start, size in places)
    return {start: stop - start for start, stop in Ranges.span(0, stride) - data}


@cache
def _gaps_in_header(buffer: BufferType) -> Mapping[int, int]:
    """The padding between members whose place depends on no length."""
    slots = layout(buffer, dict.fromkeys(buffer.length_names, 0)).slots
    data: list[tuple[int, int]] = []
    for field in buffer.fields:
        slot = slots[field.name]
        if not isinstance(field.type, PadType):
            data.append((slot.offset, slot.offset + slot.size))
        if isinstance(field.type, ArrayType) and field.type.is_bound:
            data.append((slot.offset, slot.offset + 1))
            break
    found = union(data)
    return {start: stop - start for start, stop in Ranges.span(*found.hull) - found}


def members_of(type_: Type, given: object) -> Mapping[str, Member]:
    """The members of a buffer or n-d array with its lengths or its shape."""
    if isinstance(type_, NDArrayType) and isinstance(given, tuple):
        shape = cast("tuple[int, ...]", given)
        strides = [type_.element.size * prod(shape[axis + 1 :]) for axis in range(len(shape))]
        axes = tuple(zip(shape, strides, strict=True))
        return {"": Member(0, type_.element.size * prod(shape), axes)}
    if isinstance(type_, BufferType) and isinstance(given, Mapping):
        slots = layout(type_, cast("Mapping[str, int]", given)).slots
        return {
            name: Member(
                slot.offset,
                slot.offset + slot.size,
                tuple(zip(slot.shape, slot.strides, strict=True)),
            )
            for name, slot in slots.items()
        }
    raise TypeError(given)


def content_of(type_: Type, members: Mapping[str, Member]) -> Ranges:
    """All bytes of a buffer but its lengths, and but padding that no member is followed by."""
    if not isinstance(type_, BufferType):
        return union((member.start, member.stop) for member in members.values())
    return union(_own_bytes(type_, members))


def _own_bytes(type_: BufferType, members: Mapping[str, Member]) -> Iterator[tuple[int, int]]:
    gaps = _gaps_in_header(type_)
    for field in type_.fields:
        if isinstance(field.type, PadType) or field.name in type_.length_names:
            continue
        member = members[field.name]
        is_array = isinstance(field.type, ArrayType)
        yield member.start, member.stop + (0 if is_array else gaps.get(member.stop, 0))

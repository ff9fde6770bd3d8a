"""Where the members of a type lie in memory.

Pure arithmetic on schemas: offsets, sizes, alignments, as C has them. It knows nothing of memory,
of buffers that exist, or of the classes that users write.
"""

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

import numpy as np

from trilby.data.dtypes import ScalarType, Type
from trilby.data.schema import (
    INDEX,
    ArrayType,
    BufferType,
    Field,
    Leaf,
    PadType,
    StructType,
    walk_path,
)
from trilby.dataclass import dataclass
from trilby.errors import BindingError, SchemaError


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of one member. `shape` and `strides` are empty where it is no array."""

    name: str
    type: Type
    offset: int
    size: int
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()

    @property
    def cell(self) -> int:
        """The bytes that belong to one element, a wider stride included."""
        return self.strides[-1] if self.strides else self.size


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of all members, padding included, and the size of the whole."""

    slots: Mapping[str, Slot]
    size: int
    align: int


def round_up(value: int, step: int) -> int:
    """The next multiple of `step`: `round_up(12, 8)` is 16."""
    return -(-value // step) * step


def layout(type_: StructType, lengths: Mapping[str, int] | None = None) -> Layout:
    """Place the members of a struct, union or buffer.

    `lengths` has the values of the length fields; a type without length-bound arrays
    needs none. The offset of a member that follows such an array depends on them.
    """
    bound = first_bound(type_)
    slots: dict[str, Slot] = {}
    end, align = 0, type_.align or 1
    for number, field in enumerate(type_.fields):
        if number == bound:  # what stands before it is a struct of its own, with padding at its end
            end = round_up(end, align)
        start = 0 if type_.is_union else round_up(end, field_align(field))
        slots[field.name] = slot = _slot(field, start, lengths or {})
        end, align = max(end, start + slot.size), max(align, field_align(field))
    return Layout(slots, round_up(end, align), align)


def header_size(type_: BufferType) -> int:
    """The bytes before the first length-bound array, which begins exactly there.

    A buffer without such an array is all header.
    """
    bound = type_.fields[first_bound(type_) :][:1]
    return fixed_offsets(type_)[bound[0].name] if bound else layout(type_).size


def first_bound(struct: StructType) -> int:
    """The number of fields before the first length-bound array."""
    for number, field in enumerate(struct.fields):
        if isinstance(field.type, ArrayType) and field.type.is_bound:
            return number
    return len(struct.fields)


def align_of(type_: Type) -> int:
    """The alignment of a value of that type."""
    match type_:
        case ScalarType():
            return type_.size
        case PadType():
            return 1
        case ArrayType():
            return align_of(type_.element)
        case StructType():
            return max((type_.align or 1, *map(field_align, type_.fields)))
        case _:
            raise SchemaError(f"`{type_}` has no place inside a struct or buffer")


def field_align(field: Field) -> int:
    """The alignment of a member: its type's, or more where it was asked for."""
    return max(align_of(field.type), field.align or 1)


def size_of(type_: Type, lengths: Mapping[str, int] | None = None) -> int:
    """The bytes that a value of that type takes, padding at its end included."""
    match type_:
        case ScalarType() | PadType():
            return type_.size
        case ArrayType():
            return stride_of(type_) * math.prod(shape_of(type_, lengths or {}))
        case StructType():
            return layout(type_, lengths).size
        case _:
            raise SchemaError(f"`{type_}` has no place inside a struct or buffer")


def stride_of(type_: ArrayType) -> int:
    """The distance in bytes from one element to the next."""
    return max(round_up(size_of(type_.element), align_of(type_)), type_.stride or 0)


def shape_of(type_: ArrayType, lengths: Mapping[str, int]) -> tuple[int, ...]:
    """The dimensions with the lengths put in."""
    missing = [dim for dim in type_.dims if isinstance(dim, str) and dim not in lengths]
    if missing:
        raise BindingError(
            f"the length `{missing[0]}` is not known",
            advice=f"give it a number: `{missing[0]}=...`",
        )
    return tuple(lengths[dim] if isinstance(dim, str) else dim for dim in type_.dims)


@cache
def numpy_dtype(type_: Type) -> np.dtype[Any]:
    """The NumPy dtype of the same bytes by C rules. Padding has no name in it.

    An array with a wider stride becomes an array of one-field records named `value`.
    """
    match type_:
        case ScalarType():
            return type_.numpy
        case ArrayType():
            base = numpy_dtype(type_.element)
            stride = stride_of(type_)
            if stride != base.itemsize:
                base = _record(["value"], [base], [0], stride)
            return np.dtype((base, shape_of(type_, {})))
        case StructType():
            places = layout(type_)
            slots = [s for s in places.slots.values() if not isinstance(s.type, PadType)]
            formats = [numpy_dtype(slot.type) for slot in slots]
            offsets = [slot.offset for slot in slots]
            return _record([slot.name for slot in slots], formats, offsets, places.size)
        case _:
            raise SchemaError(f"`{type_}` has no NumPy counterpart")


def _record(
    names: list[str], formats: list[np.dtype[Any]], offsets: list[int], size: int
) -> np.dtype[Any]:
    spec = {"names": names, "formats": formats, "offsets": offsets, "itemsize": size}
    return np.dtype(cast("Any", spec))


def _slot(field: Field, start: int, lengths: Mapping[str, int]) -> Slot:
    if not isinstance(field.type, ArrayType):
        return Slot(field.name, field.type, start, size_of(field.type))
    shape = shape_of(field.type, lengths)
    return array_slot(field.name, field.type, start, shape, stride_of(field.type))


def array_slot(name: str, type_: Type, start: int, shape: tuple[int, ...], stride: int) -> Slot:
    """The place of an array, row after row; `stride` is between neighbours in a row."""
    strides = tuple(stride * math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    return Slot(name, type_, start, stride * math.prod(shape), shape, strides)


@cache
def fixed_offsets(buffer: BufferType) -> Mapping[str, int]:
    """The offsets of the fields up to the first length-bound array, that one included."""
    slots = layout(buffer, dict.fromkeys(buffer.length_names, 0)).slots
    fixed = buffer.fields[: first_bound(buffer) + 1]
    return {field.name: slots[field.name].offset for field in fixed}


def member_offset(struct: StructType, name: str) -> int:
    """The byte at which a member begins that has a fixed place."""
    if isinstance(struct, BufferType):
        return fixed_offsets(struct)[name]
    return layout(struct).slots[name].offset


def leaf_offset(struct: StructType, leaf: Leaf) -> int:
    """The byte at which a number inside a struct begins."""
    indices = iter(leaf.indices)
    offset = 0
    for step, here in walk_path(struct, leaf.path):
        if step == INDEX and isinstance(here, ArrayType):
            flat = 0
            for size in shape_of(here, {}):
                flat = flat * size + next(indices)
            offset += flat * stride_of(here)
        elif isinstance(here, StructType):
            offset += layout(here).slots[step].offset
    return offset

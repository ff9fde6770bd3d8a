"""The lengths of a buffer: from what a user gives, from a header in memory, from a shape."""

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import numpy as np

from trilby.arguments import brief, whole_number
from trilby.data.dtypes import ScalarType
from trilby.data.layout import Layout, layout
from trilby.data.schema import ArrayType, BufferType, Field, sizes_of
from trilby.data.segment import Live
from trilby.errors import BindingError
from trilby.spelling import closest


def given_lengths(type_: BufferType, given: Mapping[str, object]) -> dict[str, int]:
    """The lengths as a user gave them, one for each length field, checked."""
    kinds = sizes_of(type_)
    example = ", ".join(f"{name}=32" for name in kinds)
    for name in given:
        if name not in kinds:
            raise _unknown(type_, name, kinds)
    for name in kinds:
        if name not in given:
            raise BindingError(
                f"`{type_.name}` needs a value for `{name}`",
                advice=f"write `{type_.name}.create(accelerator, {example})`",
            )
    return {name: _length(type_, name, given[name], kinds[name]) for name in kinds}


def read_lengths(type_: BufferType, memory: Live) -> dict[str, int]:
    """The lengths that the header in a piece of memory has."""
    found: dict[str, int] = {}
    for name, kind in sizes_of(type_).items():
        before = type_.fields[: [field.name for field in type_.fields].index(name) + 1]
        slot = layout(replace(type_, fields=before), found).slots[name]
        if slot.offset + slot.size > memory.nbytes:
            raise BindingError(
                f"{memory.nbytes} bytes are too few to hold even `{name}` of `{type_.name}`",
                advice="bind memory that holds the header and the arrays",
            )
        value = int(np.ndarray((), kind.numpy, memory, slot.offset))
        found[name] = _length(type_, name, value, kind)
    return found


def write_lengths(places: Layout, lengths: Mapping[str, int], memory: Live) -> None:
    """Put the lengths into the header."""
    for name, value in lengths.items():
        slot = places.slots[name]
        if isinstance(slot.type, ScalarType):
            np.ndarray((), slot.type.numpy, memory, slot.offset)[...] = value


def shape_lengths(type_: BufferType, field: Field, shape: tuple[int, ...]) -> dict[str, int]:
    """The lengths with which an array of a buffer has that shape."""
    array = cast("ArrayType", field.type)
    found: dict[str, int] = {}
    fits = len(shape) == array.rank
    for dim, count in zip(array.dims, shape, strict=False):
        wanted = found.setdefault(dim, count) if isinstance(dim, str) else dim
        fits = fits and wanted == count
    if not fits:
        dims = ", ".join(map(str, array.dims))
        raise BindingError(
            f"values of shape {shape} do not fit `{type_.name}`, whose `{field.name}` has the "
            f"shape ({dims})",
            advice="reshape the values, or use another buffer class",
        )
    return found


def _length(type_: BufferType, name: str, value: object, kind: ScalarType) -> int:
    number = whole_number(value)
    if number is None:
        raise BindingError(
            f"the length `{name}` of `{type_.name}` is a whole number, and {brief(value)} is "
            f"{type(value).__name__}",
            advice="give an int; `n // 2` instead of `n / 2`",
        )
    if number < 0:
        raise BindingError(
            f"the length `{name}` of `{type_.name}` cannot be {brief(number)}",
            advice="the smallest is 0",
        )
    if number > kind.highest:
        raise BindingError(
            f"the length `{name}` of `{type_.name}` is {kind} and cannot be {brief(number)}",
            advice=f"the largest is {kind.highest}; a class with `{name}: i64` reaches further",
        )
    return number


def _unknown(type_: BufferType, name: str, kinds: Mapping[str, ScalarType]) -> BindingError:
    close = closest(name, kinds)
    if type_.field(name):
        advice = f"set it when the buffer exists: `buffer.{name} = ...`"
    elif close:
        advice = f"did you mean `{close}`?"
    else:
        advice = f"its lengths: {', '.join(kinds) or 'none'}"
    return BindingError(f"`{type_.name}` has no length `{name}`", advice=advice)

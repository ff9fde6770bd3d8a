"""From what a user assigns to the numbers that are stored, or an error that says why not.

Numbers must fit: an integer outside the range of its target is an `OverflowError`, a
fraction for an integer a `TypeError`. Nothing here writes to a buffer.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np

from trilby.arguments import brief
from trilby.data.dtypes import BF16, BOOL, Number, ScalarType, scalar_of
from trilby.data.record import Record
from trilby.data.segment import Live, is_ndarray
from trilby.errors import ArgumentTypeError, ArgumentValueError, NumberOverflowError


def number(value: object, target: ScalarType) -> Number:
    """One number for a place of type `target`."""
    if isinstance(value, int):
        return _integer(value, target)
    if isinstance(value, float | np.floating):
        if not target.is_float:
            raise _wrong_kind(f"the float {value}", target)
        return float(cast("Any", value))
    if isinstance(value, np.integer | np.bool):
        return _integer(int(cast("Any", value)), target)
    if getattr(value, "shape", None) == ():
        return number(np.asarray(value).item(), target)
    raise _wrong_kind(_described(value), target)


def numbers(value: object, target: ScalarType) -> Live:
    """Numbers that can be stored in an array of `target`; an array of them is not copied."""
    if isinstance(value, int | float):
        return np.asarray(number(value, target), target.numpy)
    found = _as_array(value)
    kind = _kind(found)
    if kind == "O":
        return _from_objects(found, value, target)
    if kind not in "biuf" or (kind == "f" and not target.is_float and found.size):
        raise _wrong_kind(_described(value if kind != "f" else found), target)
    if kind in "iu" and not target.is_float and found.size:
        _check_range(found, target)
    return found


def records(value: object, cls: type[Record]) -> Live:
    """Structs for an array: one for all of it, a sequence of them, or a structured array.

    A struct is given as an object of its class, a tuple of all its members, or a dict.
    """
    if is_ndarray(value):
        found: Live = np.asarray(value)  # a subclass could have a `np.copyto` of its own
        if found.dtype != cls.__dtype__:
            raise _wrong_kind(_described(found), cls)
    elif isinstance(value, Record | Mapping | tuple):
        found = record(cast("object", value), cls).__array__()
    elif isinstance(value, Sequence):
        found = np.zeros(len(cast("Sequence[object]", value)), cls.__dtype__)
        for place, entry in enumerate(cast("Sequence[object]", value)):
            found[place] = record(entry, cls).__array__()
    else:
        raise _wrong_kind(_described(value), cls)
    return found


def record(value: object, cls: type[Record]) -> Record:
    """One struct as an object of its class."""
    if isinstance(value, cls):
        return value
    if isinstance(value, Mapping):
        return _of_members(cls, cast("Mapping[str, object]", value))
    entries = as_tuple(value)
    if entries is not None and not cls.__schema__.is_union:
        if len(entries) != len(cls.__elements__):
            raise ArgumentValueError(
                f"{len(entries)} values for the {len(cls.__elements__)} members of "
                f"`{cls.__name__}`",
                advice=f"give one value each for {', '.join(cls.__elements__)}",
            )
        return _of_members(cls, dict(zip(cls.__elements__, entries, strict=True)))
    raise _wrong_kind(_described(value), cls)


def _of_members(cls: type[Record], members: Mapping[str, object]) -> Record:
    made = cls.__new__(cls)
    Record.__init__(made, **members)  # classes have others: a vector is made of numbers in order
    return made


def as_tuple(value: object) -> tuple[object, ...] | None:
    """The value if it is a tuple, else None."""
    return cast("tuple[object, ...]", value) if isinstance(value, tuple) else None


def check_shape(given: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    """Values are stretched as NumPy does it, to `wanted` and no further."""
    if given in {(), wanted}:
        return
    try:
        fits = np.broadcast_shapes(given, wanted) == wanted
    except ValueError:
        fits = False
    if not fits:
        raise ArgumentValueError(
            f"values of shape {given} do not fit into shape {wanted}",
            advice="give as many values as there are elements, or one value for all",
        )


def _as_array(value: object) -> Live:
    if isinstance(value, range):
        return np.arange(value.start, value.stop, value.step)
    if isinstance(value, Iterator):
        value = list(cast("Iterator[object]", value))
    try:
        return np.asarray(value)
    except ValueError as error:  # rows of different lengths
        raise ArgumentValueError(
            f"{brief(value)} cannot be made an array: {error}",
            advice="give rows of the same length",
        ) from error


def _kind(found: Live) -> str:
    """NumPy's letter for a kind of numbers; it has none for those of other packages."""
    return "f" if scalar_of(found.dtype) is BF16 else found.dtype.kind


def _integer(value: int, target: ScalarType) -> Number:
    if target.is_float:
        return _float(value, target)
    lowest, highest = _ends(target)
    if not lowest <= value <= highest:
        raise NumberOverflowError(
            f"{brief(value)} is out of bounds for {target} ({lowest} to {highest})",
            advice="store a smaller number, or declare a wider type",
        )
    return value


def _float(value: int, target: ScalarType) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise NumberOverflowError(
            f"{brief(value)} is out of bounds for {target}",
            advice="store a smaller number, or `math.inf`",
        ) from error


def _ends(target: ScalarType) -> tuple[int, int]:
    return (0, 1) if target is BOOL else (target.lowest, target.highest)


def _check_range(found: Live, target: ScalarType) -> None:
    if np.can_cast(found.dtype, target.numpy, "safe"):
        return
    _integer(int(found.min()), target)
    _integer(int(found.max()), target)


def _from_objects(found: Live, value: object, target: ScalarType) -> Live:
    """NumPy keeps integers of more than 64 bits as objects; they may still fit a float."""
    entries = cast("list[object]", found.ravel().tolist())
    if not found.ndim or not all(isinstance(entry, int | float) for entry in entries):
        raise _wrong_kind(_described(value), target)
    stored = [number(entry, target) for entry in entries]
    return np.array(stored, target.numpy).reshape(found.shape)


def _described(value: object) -> str:
    if is_ndarray(value):
        return f"an array of {value.dtype}"
    return f"{brief(value)} of type {type(value).__name__}"


def _wrong_kind(what: str, target: "ScalarType | type[Record]") -> ArgumentTypeError:
    if isinstance(target, ScalarType):
        advice = (
            "give numbers"
            if target.is_float
            else "give integers; convert on purpose with `int(x)` or `x.astype(...)`"
        )
        return ArgumentTypeError(f"{what} cannot be stored as {target}", advice=advice)
    names = ", ".join(target.__elements__)
    return ArgumentTypeError(
        f"{what} is no `{target.__name__}`",
        advice=f"give a `{target.__name__}`, a tuple or a dict of {names}, or an array of that "
        "dtype",
    )

"""What struct and union objects have in common: a place in a segment, and named members.

A record object holds no numbers. It is an accessor for bytes that belong to a buffer, or,
for a struct that was made by calling its class, to a small segment of its own. The members
are descriptors that `declare` puts on the class.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np

from trilby.arguments import closest
from trilby.data.dtypes import ScalarType
from trilby.data.layout import Layout
from trilby.data.ranges import Ranges
from trilby.data.schema import StructType
from trilby.data.segment import Live, Segment, sealed
from trilby.errors import ArgumentTypeError, FieldError


class Record:
    """Base of `Struct` and `Union`.

    The class has `__schema__`, the type as pure data; `__layout__`, the places of its
    members; `__dtype__`, the same as a NumPy dtype; and `__elements__`, which says for
    every member what it, or one element of it, is.
    """

    __slots__ = ("__segment__", "__start__", "__weakref__")
    __schema__: ClassVar[StructType]
    __layout__: ClassVar[Layout]
    __dtype__: ClassVar[np.dtype[Any]]
    __elements__: ClassVar[Mapping[str, "Element"]]
    __segment__: Segment
    __start__: int

    def __init__(self, **values: object) -> None:
        size = self.__layout__.size
        segment = Segment(np.zeros(size, np.uint8), type(self).__name__, borrowed=False)
        object.__setattr__(self, "__segment__", segment)
        object.__setattr__(self, "__start__", 0)
        _check_names(type(self), values)
        for name, value in values.items():
            if self.__layout__.slots[name].shape:  # an array takes all its elements
                getattr(self, name)[...] = value
            else:
                setattr(self, name, value)

    @classmethod
    def __at__(cls, segment: Segment, start: int) -> Self:
        """The record at a place."""
        record = object.__new__(cls)
        object.__setattr__(record, "__segment__", segment)
        object.__setattr__(record, "__start__", start)
        return record

    def __array__(
        self,
        dtype: np.dtype[Any] | None = None,
        copy: bool | None = None,  # noqa: FBT001 -- NumPy's signature
    ) -> np.ndarray[Any, Any]:
        """A snapshot: a structured array without dimensions, read-only unless `copy=True`."""
        if copy is False:
            raise ValueError("a struct leaves as a copy; `copy=False` cannot be had")
        wanted = self.__dtype__ if dtype is None else np.dtype(dtype)
        snapshot = self._live().astype(wanted, copy=True)
        if copy is not True and wanted == self.__dtype__:
            snapshot = sealed(snapshot)
        return snapshot

    def _live(self) -> Live:
        start = self.__start__
        self.__segment__.reading(Ranges(start, start + self.__layout__.size))
        return np.ndarray((), self.__dtype__, self.__segment__.memory, self.__start__)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return bool(self._live() == other._live())

    __hash__ = None  # pyright: ignore[reportAssignmentType] -- compared by content that changes

    def __repr__(self) -> str:
        if self.__segment__.released:
            return f"{type(self).__name__}(released)"
        numbers = self._live()
        shown = (_shown(cls, numbers[name]) for name, cls in self.__elements__.items())
        members = ", ".join(map("=".join, zip(self.__elements__, shown, strict=True)))
        return f"{type(self).__name__}({members})"

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (type(self), self._live().tobytes())

    if not TYPE_CHECKING:  # a checker must see only the declared members

        def __setattr__(self, name: str, value: object) -> None:
            assign_member(self, name, value, self.__elements__)

        def __getattr__(self, name: str) -> object:
            raise unknown_field(type(self).__name__, name, self.__elements__)


Element: TypeAlias = ScalarType | type[Record]
"""What an array is made of, as accessors see it."""


def unknown_field(owner: str, name: str, known: Iterable[str]) -> FieldError:
    """The error for a name that a buffer, struct or array does not have."""
    if name.startswith("_"):
        return FieldError(f"`{owner}` has no attribute `{name}`")
    close = closest(name, known)
    fields = ", ".join(known) or "none"
    advice = f"did you mean `{close}`?" if close else f"its fields: {fields}"
    return FieldError(f"`{owner}` has no field `{name}`", advice=advice)


def assign_member(holder: object, name: str, value: object, known: Iterable[str]) -> None:
    """`holder.name = value`, for members and a user's own properties only."""
    if not hasattr(getattr(type(holder), name, None), "__set__"):
        raise unknown_field(type(holder).__name__, name, known)
    object.__setattr__(holder, name, value)


def _check_names(cls: type[Record], values: Mapping[str, object]) -> None:
    known = cls.__elements__
    for name in values:
        if name not in known:
            raise unknown_field(cls.__name__, name, known)
    if cls.__schema__.is_union:
        if len(values) > 1:
            raise ArgumentTypeError(
                f"`{cls.__name__}` is a union and takes one member, not {len(values)}",
                advice=f"give one of {', '.join(known)}",
            )
        return
    slots = cls.__layout__.slots
    missing = [name for name in known if name not in values and not slots[name].shape]
    if missing:
        raise ArgumentTypeError(
            f"`{cls.__name__}` lacks a value for `{missing[0]}`",
            advice=f"give all of {', '.join(known)}; only arrays may be left out",
        )


def _shown(element: Element, numbers: Live) -> str:
    if numbers.shape:
        return str(numbers).replace("\n", "")
    if isinstance(element, ScalarType):
        return repr(numbers.item())
    return repr(_restore(element, numbers.tobytes()))


def _restore(cls: type[Record], content: bytes) -> Record:
    memory = np.frombuffer(bytearray(content), np.uint8)
    return cls.__at__(Segment(memory, cls.__name__, borrowed=False), 0)

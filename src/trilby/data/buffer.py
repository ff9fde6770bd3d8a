"""`Buffer`: a class of fields bound to a memory segment.

The host's side only: creating, binding, accessors, release. A buffer belongs to no
accelerator; where its content is current is the business of the runtime, which watches
the segment.
"""

import inspect
import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Never, Self, TypeVar, cast

import numpy as np

from trilby.arguments import brief, closest, whole_number
from trilby.data.declare import declare
from trilby.data.dtypes import ScalarType, Type
from trilby.data.layout import Layout, fixed_offsets, header_size, layout
from trilby.data.ranges import Ranges
from trilby.data.record import Element, assign_member, unknown_field
from trilby.data.schema import ArrayType, BufferType, Field, StructType, sizes_of
from trilby.data.segment import Live, Segment, borrowed_bytes
from trilby.data.struct import LengthMember, install_members
from trilby.data.views import Array
from trilby.data.window import converted
from trilby.errors import ArgumentTypeError, BindingError, OutOfHostMemoryError
from trilby.shown import Shown

# ------------------------------------------------------------------------------------------ lengths
# The lengths of a buffer: from what a user gives, from a header in memory, from a shape.


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
    offsets = fixed_offsets(type_)
    found: dict[str, int] = {}
    for name, kind in sizes_of(type_).items():
        if offsets[name] + kind.size > memory.nbytes:
            raise BindingError(
                f"{memory.nbytes} bytes are too few to hold even `{name}` of `{type_.name}`",
                advice="bind memory that holds the header and the arrays",
            )
        value = int(np.ndarray((), kind.numpy, memory, offsets[name]))
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


# ------------------------------------------------------------------------------------------- buffer


class Buffer(Shown):
    """Fields and arrays in one piece of memory. The order of annotations is their order.

        class ResultTable(tb.Buffer):
            class Result(tb.Struct):
                x: f32
                y: f32
            count: tb.Atomic[i32]
            length: i32
            result: tb.Array[Result] = tb.array("length")

        table = ResultTable.create(accelerator, length=100)
        table.count = 0
        table.result[3].x = 1.0

    The class has `__schema__`, the type as pure data, and `__elements__`, which says for
    every field what it, or one element of it, is. The class keyword `align=64` raises the
    alignment.
    """

    __slots__ = ("__arrays__", "__layout__", "__lengths__", "__segment__", "__weakref__")
    __schema__: ClassVar[BufferType]
    __elements__: ClassVar[Mapping[str, Element]]
    __start__: ClassVar[int] = 0
    __segment__: Segment
    __layout__: Layout
    __lengths__: Mapping[str, int]
    __arrays__: dict[str, Array[Any]]

    def __init_subclass__(cls, *, align: int | None = None) -> None:
        frame = inspect.currentframe()
        around = frame.f_back if frame else None
        schema, cls.__elements__ = declare(cls, around, Buffer, align=align)
        cls.__schema__ = cast("BufferType", schema)
        install_members(cls)
        for name in cls.__schema__.length_names:
            setattr(cls, name, LengthMember(name))

    def __init__(self) -> None:
        cls = type(self).__name__
        raise BindingError(
            f"a `{cls}` is not made by calling its class",
            advice=f"write `{cls}.create(accelerator, ...)`, `{cls}.bind(memory)` or "
            f"`{cls}.of(values)`",
        )

    # ------------------------------------------------------------------- ways to make one

    @classmethod
    def create(cls, accelerator: object = None, /, *unnamed: Never, **lengths: int) -> Self:
        """A new buffer full of zeros: `S32Array.create(accelerator, length=32)`.

        It belongs to no accelerator: any may use it, and none needs to be given.
        """
        given = (accelerator, *unnamed) if _is_plain(accelerator) else unnamed
        if given:
            raise _unnamed(cls, given)
        known = given_lengths(cls.__schema__, lengths)
        places = layout(cls.__schema__, known)
        try:
            segment = Segment.allocate(places.size, cls.__name__)
        except MemoryError as error:
            raise OutOfHostMemoryError(
                f"this machine has no {places.size:,} bytes for `{cls.__name__}`",
                advice="use smaller lengths, or map a file: `bind(np.memmap(…))`",
            ) from error
        write_lengths(places, known, segment.memory)
        return _made(cls, segment, places, known)

    @classmethod
    def bind(cls, memory: object, /, **lengths: int) -> Self:
        """A buffer on memory that you already have; it is shared, not copied.

        The memory holds the whole layout, header and arrays. Lengths that are given are
        written to the header; without them, the header's own are taken. What you do to
        the memory behind the buffer's back is not tracked.
        """
        content = borrowed_bytes(memory, cls.__name__)
        schema = cls.__schema__
        known = given_lengths(schema, lengths) if lengths else read_lengths(schema, content)
        places = layout(schema, known)
        _check_room(cls, content, places, known)
        segment = Segment(content[: places.size], cls.__name__, borrowed=True)
        if segment.address % places.align:
            raise BindingError(
                f"`{cls.__name__}` is aligned to {places.align} bytes, and the memory begins "
                f"{segment.address % places.align} bytes after such a place",
                advice=f"begin at a multiple of {places.align} bytes",
            )
        write_lengths(places, known, segment.memory)
        return _made(cls, segment, places, known)

    @classmethod
    def of(cls, values: object, /) -> Self:
        """A new buffer with a copy of `values` in its one array: `S32Array.of([1, 2, 3])`.

        The lengths are taken from the shape of the values.
        """
        schema = cls.__schema__
        field = _only_array(schema, f"{cls.__name__}.of", bound=True)
        source = converted(values, cls.__elements__[field.name])
        buffer = cls.create(**shape_lengths(schema, field, source.shape))
        getattr(buffer, field.name)[...] = source
        return buffer

    # ------------------------------------------------------------------------- properties

    @property
    def nbytes(self) -> int:
        """The size of the whole layout in bytes."""
        return self.__layout__.size

    @property
    def segment(self) -> Segment:
        """The memory, and who watches it."""
        return self.__segment__

    @property
    def layout(self) -> Layout:
        """Where each field lies."""
        return self.__layout__

    # ---------------------------------------------------------------------------- the end

    def release(self) -> None:
        """Give the memory up; every later use is a `ReleasedError`."""
        self.__segment__.release()
        self.__arrays__.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    # --------------------------------------------------------------------------- protocols

    def __array__(
        self,
        dtype: np.dtype[Any] | None = None,
        copy: bool | None = None,  # noqa: FBT001 -- NumPy's signature
    ) -> np.ndarray[Any, Any]:
        field = _only_array(self.__schema__, "np.asarray", bound=False)
        return getattr(self, field.name).__array__(dtype, copy)

    def __reduce__(self) -> tuple[object, ...]:
        self.__segment__.reading(Ranges.span(0, self.nbytes))
        return _restored, (type(self), self.__segment__.memory.copy())

    def __repr__(self) -> str:
        fields = (field for field in self.__schema__.fields if field.name in self.__elements__)
        text = ", ".join(f"{field.name}={self._shown(field)}" for field in fields)
        ending = " (released)" if self.__segment__.released else ""
        return f"{type(self).__name__}[{text}]{ending}"

    def _shown(self, field: Field) -> str:
        """Lengths as numbers, everything else as its type: showing a buffer reads no data."""
        if field.name in self.__lengths__:
            return str(self.__lengths__[field.name])
        if isinstance(field.type, ArrayType):
            count = math.prod(self.__layout__.slots[field.name].shape)
            return f"{_short(field.type.element)}[{count}]"
        return f"Atomic[{field.type}]" if field.atomic else _short(field.type)

    if not TYPE_CHECKING:  # a checker must see only the declared fields

        def __setattr__(self, name: str, value: object) -> None:
            assign_member(self, name, value, self.__elements__)

        def __getattr__(self, name: str) -> object:
            if name in self.__schema__.length_names:  # it is there until the memory is released
                _ = self.__segment__.memory
            raise unknown_field(type(self).__name__, name, self.__elements__)


BufferT = TypeVar("BufferT", bound=Buffer)


def _made(
    cls: type[BufferT], segment: Segment, places: Layout, lengths: Mapping[str, int]
) -> BufferT:
    buffer = object.__new__(cls)
    segment.lengths = SimpleNamespace(**lengths)
    object.__setattr__(buffer, "__segment__", segment)
    object.__setattr__(buffer, "__layout__", places)
    object.__setattr__(buffer, "__lengths__", lengths)
    object.__setattr__(buffer, "__arrays__", {})
    return buffer


def _is_plain(value: object) -> bool:
    """True for a value of Python's or NumPy's own, which no accelerator is; None may stand."""
    own = type(value).__module__ in {"builtins", "numpy"}
    return own and value is not None and type(value) is not object


def _unnamed(cls: type[Buffer], given: Sequence[object]) -> BindingError:
    """The error for lengths without their names, or for no accelerator in its place."""
    names = sizes_of(cls.__schema__)
    numbers = [number for number in map(whole_number, given) if number is not None]
    is_complete = len(numbers) == len(given) == len(names)
    shown = [brief(number) for number in numbers] if is_complete else ["32"] * len(names)
    meant = [f"{name}={number}" for name, number in zip(names, shown, strict=True)]
    return BindingError(
        f"`{cls.__name__}.create` takes an accelerator, or nothing, and then lengths by their "
        f"names; this is {', '.join(map(brief, given))}",
        advice=f"write `{cls.__name__}.create({', '.join(('accelerator', *meant))})`",
    )


def _restored(cls: type[BufferT], content: Live) -> BufferT:
    """A buffer with a copy of the whole content of another: for `copy` and `pickle`."""
    lengths = read_lengths(cls.__schema__, content)
    buffer = cls.create(**lengths)
    everything = Ranges.span(0, buffer.nbytes)
    buffer.segment.memory[...] = content
    buffer.segment.written(everything)
    return buffer


def _only_array(schema: BufferType, what: str, *, bound: bool) -> Field:
    arrays = [
        field
        for field in schema.fields
        if isinstance(field.type, ArrayType) and (field.type.is_bound or not bound)
    ]
    if len(arrays) != 1:
        names = ", ".join(field.name for field in arrays)
        raise ArgumentTypeError(
            f"`{what}` needs a buffer with one array, and `{schema.name}` has "
            + (f"{len(arrays)}: {names}" if arrays else "none"),
            advice=f"name the one you mean: `buffer.{arrays[0].name}`"
            if arrays
            else "read its fields one by one",
        )
    return arrays[0]


def _check_room(
    cls: type[Buffer], content: Live, places: Layout, lengths: Mapping[str, int]
) -> None:
    if content.nbytes >= places.size:
        return
    given = ", ".join(f"{name}={value}" for name, value in lengths.items())
    raise BindingError(
        f"`{cls.__name__}` with {given or 'its fields'} takes {places.size} bytes "
        f"({header_size(cls.__schema__)} of them before the array), and the memory has "
        f"{content.nbytes}",
        advice="bind memory for header and arrays; an array without a header is shared by "
        f"`accelerator.array(x)` and copied by `{cls.__name__}.of(x)`",
    )


def _short(type_: Type) -> str:
    return type_.name if isinstance(type_, StructType) else str(type_)

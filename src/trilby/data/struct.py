"""`Struct` and `Union`: the classes that users extend to name bytes."""

import inspect
from operator import attrgetter
from types import FrameType
from typing import Any, dataclass_transform

from trilby.data.declare import declare
from trilby.data.layout import layout, numpy_dtype
from trilby.data.markers import field
from trilby.data.record import Element, Record
from trilby.data.schema import ArrayType
from trilby.data.views import Array, check_unchanged
from trilby.data.window import Window, read_element, window, write_element
from trilby.errors import FieldError

# ------------------------------------------------------------------------------------------ members
# The descriptors that make a declared field an attribute of buffers and structs.
#
# Each is a few lines between a place in a segment and the window module.


class FieldMember:
    """A field: a number, a nested record, or an array, whose accessor a buffer keeps.

    The object that holds it, a buffer or a record, says in which segment and from which byte on.
    """

    __slots__ = ("element", "is_array", "is_kept", "name")

    def __init__(self, name: str, element: Element, *, is_array: bool, is_kept: bool) -> None:
        self.name = name
        self.element = element
        self.is_array = is_array
        self.is_kept = is_kept

    def __get__(self, holder: Any, owner: type) -> Any:
        if holder is None:
            return self
        if self.is_kept:
            _ = holder.__segment__.memory
            kept: dict[str, Array[Any]] = holder.__arrays__
            if self.name not in kept:
                kept[self.name] = Array(self._window(holder))
            return kept[self.name]
        if self.is_array:
            return Array[Any](self._window(holder))
        return read_element(holder.__segment__, self._place(holder), self.element)

    def __set__(self, holder: Any, value: object) -> None:
        if self.is_array:
            check_unchanged(self._window(holder), value, self.name)
        else:
            write_element(holder.__segment__, self._place(holder), self.element, value)

    def _place(self, holder: Any) -> int:
        return holder.__start__ + holder.__layout__.slots[self.name].offset

    def _window(self, holder: Any) -> Window:
        slot = holder.__layout__.slots[self.name]
        place = holder.__start__ + slot.offset
        return window(holder.__segment__, place, self.element, slot.shape, slot.strides, slot.cell)


class LengthMember(property):
    """A length: fixed when the buffer is made, so that reading it is no access to data.

    Loops read it in every turn, so it is read without a line of Python.
    """

    def __init__(self, name: str) -> None:
        super().__init__(attrgetter(f"__segment__.lengths.{name}"))
        self.name = name

    def __set__(self, holder: object, value: object) -> None:
        cls = type(holder).__name__
        raise FieldError(
            f"`{self.name}` is a length of `{cls}` and is fixed at creation",
            advice=f"make another buffer: `{cls}.create(accelerator, {self.name}=...)`",
        )


# ------------------------------------------------------------------------------------------- struct


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class Struct(Record):
    """Members one after the other, as in C. The order of annotations is the order in memory.

        class Particle(tb.Struct):
            x: f32
            y: f32
            alive: bool
            trace: tb.Array[f32] = tb.array(16)

    A struct lives in a buffer, where `table.particle[3]` is an accessor for it, or on its
    own: `Particle(x=1.0, y=2.0, alive=True)`. `table.particle[3] = p` copies; a tuple of
    all members or a dict will do instead of `p`. The class keyword `align=16` raises its
    alignment.
    """

    __slots__ = ()

    def __init_subclass__(cls, *, align: int | None = None) -> None:
        _prepare(cls, inspect.currentframe(), Struct, align)


class Union(Record):
    """Members one over the other, as in C. It is as large as its largest member.

    class Bits(tb.Union):
        number: f32
        pattern: u32
    """

    __slots__ = ()

    def __init_subclass__(cls, *, align: int | None = None) -> None:
        _prepare(cls, inspect.currentframe(), Union, align)


def _prepare(cls: type[Record], frame: FrameType | None, root: type, align: int | None) -> None:
    around = frame.f_back if frame else None
    cls.__schema__, cls.__elements__ = declare(cls, around, root, align=align)
    cls.__layout__ = layout(cls.__schema__)
    cls.__dtype__ = numpy_dtype(cls.__schema__)
    install_members(cls)


def install_members(cls: Any) -> None:
    """Put a descriptor on the class for every field that holds something."""
    for name, element in cls.__elements__.items():
        field = cls.__schema__.field(name)
        is_array = field is not None and isinstance(field.type, ArrayType)
        is_kept = is_array and hasattr(cls, "__arrays__")
        setattr(cls, name, FieldMember(name, element, is_array=is_array, is_kept=is_kept))

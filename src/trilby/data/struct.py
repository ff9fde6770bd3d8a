"""`Struct` and `Union`: the classes that users extend to name bytes."""

import inspect
from operator import attrgetter
from types import FrameType
from typing import Any, Protocol, cast, dataclass_transform

from trilby.data.declare import Declaration, Kind, declare
from trilby.data.layout import Layout, layout, numpy_dtype
from trilby.data.markers import field
from trilby.data.record import Element, Record
from trilby.data.schema import ArrayType
from trilby.data.segment import Segment
from trilby.data.views import Array, check_unchanged
from trilby.data.window import Window, read_element, window, write_element
from trilby.errors import FieldError

# ------------------------------------------------------------------------------------------ members
# The descriptors that make a declared field an attribute of buffers and structs.
#
# Each is a few lines between a place in a segment and the window module; it knows the name of its
# field and asks the object that holds it where that lies.


class Holder(Protocol):
    """A buffer or a record: members, placed by a layout, from some byte of a segment on."""

    @property
    def __segment__(self) -> Segment: ...
    @property
    def __start__(self) -> int: ...
    @property
    def __layout__(self) -> Layout: ...


class SingleMember:
    """A number or a nested record."""

    __slots__ = ("element", "name")

    def __init__(self, name: str, element: Element) -> None:
        self.name = name
        self.element = element

    def __get__(self, holder: Holder | None, owner: type) -> Any:
        if holder is None:
            return self
        return read_element(holder.__segment__, self._place(holder), self.element)

    def __set__(self, holder: Holder, value: object) -> None:
        write_element(holder.__segment__, self._place(holder), self.element, value)

    def _place(self, holder: Holder) -> int:
        return holder.__start__ + holder.__layout__.slots[self.name].offset


class ArrayMember:
    """An array, fixed or bound to lengths."""

    __slots__ = ("element", "name")

    def __init__(self, name: str, element: Element) -> None:
        self.name = name
        self.element = element

    def __get__(self, holder: Holder | None, owner: type) -> Any:
        return self if holder is None else Array[Any](self.window(holder))

    def __set__(self, holder: Holder, value: object) -> None:
        check_unchanged(self.window(holder), value, self.name)

    def window(self, holder: Holder) -> Window:
        """The elements in one object."""
        slot = holder.__layout__.slots[self.name]
        place = holder.__start__ + slot.offset
        return window(holder.__segment__, place, self.element, slot.shape, slot.strides, slot.cell)


class KeptArrayMember(ArrayMember):
    """An array of a buffer, whose accessor is made once and kept."""

    __slots__ = ()

    def __get__(self, holder: Any, owner: type) -> Any:
        if holder is None:
            return self
        _ = holder.__segment__.memory
        kept: dict[str, Array[Any]] = holder.__arrays__
        if self.name not in kept:
            kept[self.name] = Array(self.window(holder))
        return kept[self.name]


class LengthMember(property):
    """A length: fixed when the buffer is made, so that reading it is no access to data.

    Loops read it in every turn, so it is read without a line of Python.
    """

    def __init__(self, name: str) -> None:
        super().__init__(attrgetter(f"__segment__.lengths.{name}"))
        self.name = name

    def __set__(self, holder: Holder, value: object) -> None:
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
        _prepare(cls, inspect.currentframe(), Struct, "struct", align)


class Union(Record):
    """Members one over the other, as in C. It is as large as its largest member.

    class Bits(tb.Union):
        number: f32
        pattern: u32
    """

    __slots__ = ()

    def __init_subclass__(cls, *, align: int | None = None) -> None:
        _prepare(cls, inspect.currentframe(), Union, "union", align)


def _prepare(
    cls: type[Record], frame: FrameType | None, root: type, kind: Kind, align: int | None
) -> None:
    declaration = declare(cls, frame.f_back if frame else None, root, kind, align=align)
    cls.__schema__ = declaration.schema
    cls.__layout__ = layout(declaration.schema)
    cls.__dtype__ = numpy_dtype(declaration.schema)
    cls.__elements__ = declaration.elements
    install_members(cls, declaration, ArrayMember)


def install_members(cls: type, declaration: Declaration, array_member: type[ArrayMember]) -> None:
    """Put a descriptor on the class for every field that holds something."""
    for name, element in declaration.elements.items():
        member = cast("Any", declaration.schema.field(name)).type
        kind = array_member if isinstance(member, ArrayType) else SingleMember
        setattr(cls, name, kind(name, element))

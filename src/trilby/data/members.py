"""The descriptors that make a declared field an attribute of buffers and structs.

Each is a few lines between a place in a segment and the window module; it knows the name
of its field and asks the object that holds it where that lies.
"""

from operator import attrgetter
from typing import Any, Protocol

from trilby.data.layout import Layout
from trilby.data.record import Element
from trilby.data.segment import Segment
from trilby.data.views import Array, check_unchanged
from trilby.data.window import Window, read_element, window, write_element
from trilby.errors import FieldError


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

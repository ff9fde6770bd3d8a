"""A window: numbers or records at regular distances in a segment, read and written in the open.

Every access of the host passes here and is announced to the segment with the exact range
of bytes. What users hold are `Array` objects, which wrap windows; this module knows
nothing of them and little of NumPy's protocols.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex, TypeVar, cast

import numpy as np

from trilby.data.dtypes import Number, ScalarType
from trilby.data.ranges import Ranges, union
from trilby.data.record import Element, Record, unknown_field
from trilby.data.segment import HostAccess, Live, Segment, accessing, address_of
from trilby.data.values import check_shape, number, numbers, record, records
from trilby.dataclass import dataclass
from trilby.mending import mend

T = TypeVar("T")

MOST_PIECES = 4096
"""Elements that lie in more pieces than this are announced as one range around them."""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Elements in a segment. `live` is NumPy's view of them, `start` the first one's place.

    `cell` is how many bytes belong to an element: more than its size where the array was
    declared with a wider stride, so that the gap holds nothing.
    """

    segment: Segment
    start: int
    live: Live
    element: Element
    cell: int

    @property
    def ranges(self) -> Ranges:
        """The bytes of the elements; the hull of them where they lie in too many pieces."""
        return self._pieces[0]

    @property
    def _pieces(self) -> tuple[Ranges, bool]:
        """The bytes of the elements, and whether these are no more than that.

        They are told exactly, however many pieces they lie in, where nothing may be copied for
        those between them.
        """
        if not self.live.size:
            return Ranges.EMPTY, True
        live = self.live
        pairs = [pair for pair in zip(live.shape, live.strides, strict=True) if pair[0] > 1]
        low = self.start + sum((count - 1) * min(stride, 0) for count, stride in pairs)
        axes, size = _axes_with_gaps(pairs, live.itemsize, self.cell)
        is_long = math.prod(count for count, _ in axes) > MOST_PIECES
        if is_long and not self.segment.copies_nothing:
            reach = sum((count - 1) * stride for count, stride in axes)
            return Ranges.span(low, low + reach + size), False
        starts = [low]
        for count, stride in axes:
            starts = [start + step * stride for start in starts for step in range(count)]
        return union((start, start + size) for start in starts), True

    def ranges_at(self, key: tuple[object, ...]) -> Ranges:
        """The bytes that a key selects, without looking at them; all for a mask or a list."""
        index = exact_index(key)
        if index is not None and len(index) == self.live.ndim:
            place = self.place_of(index)
            return Ranges(((place, place + self.live.itemsize),))
        return self.part(key).ranges if is_basic(key) else self.ranges

    def read(self) -> Live:
        """The live elements, announced as read. For use at once, as a part of an access."""
        self.segment.reading(self.ranges)
        return self.live

    def read_by(self, use: Callable[[Live], T]) -> T:
        """Use the live elements, all of which may be read."""
        return accessing(HostAccess.READ, lambda: use(self.read()))

    def write_by(self, use: Callable[[Live], T], *, partly: bool = False) -> T:
        """Write to the live elements."""
        return accessing(HostAccess.WRITE, lambda: self.written_by(use, partly=partly))

    def written_by(self, use: Callable[[Live], T], *, partly: bool = False) -> T:
        """Write to the live elements, as a part of an access.

        `partly` says that not all of them will be, also where an error ends it. An error in the
        numbers comes when all are written; any other leaves what the host had current in an
        unknown state, and what it had not as it is on the device.
        """
        ranges, exact = self._pieces
        if partly or not exact:
            self.segment.reading(ranges)
        self.segment.writing(ranges)
        try:
            result = use(self.live)
            self.segment.written(ranges)
        except (FloatingPointError, RuntimeWarning):
            self.segment.written(ranges)
            raise
        except BaseException:
            mend(self.segment.maybe_written, ranges)
            raise
        return result

    def item(self, index: tuple[int, ...]) -> object:
        """One element: a Python number, or a record object."""
        return read_element(self.segment, self.place_of(index), self.element)

    def set_item(self, index: tuple[int, ...], value: object) -> None:
        """Write one element."""
        write_element(self.segment, self.place_of(index), self.element, value)

    def place_of(self, index: tuple[int, ...]) -> int:
        """The place of one element, or an `IndexError`."""
        place = self.start
        for axis, (position, count) in enumerate(zip(index, self.live.shape, strict=True)):
            if not -count <= position < count:
                raise IndexError(
                    f"index {position} is out of bounds for axis {axis} with size {count}"
                )
            place += (position % count) * self.live.strides[axis]
        return place

    def part(self, key: Any) -> "Window":
        """The elements that a key of integers, slices, `...` and `None` selects."""
        live = self.live[key]
        start = address_of(live) - self.segment.address if live.size else self.start
        return Window(self.segment, start, live, self.element, self.cell)

    def column(self, name: str) -> "Window":
        """One member of every record."""
        cls = self.element
        if isinstance(cls, ScalarType):
            raise unknown_field(f"Array[{cls}]", name, ())
        if name not in cls.__elements__:
            raise unknown_field(cls.__name__, name, cls.__elements__)
        slot = cls.__layout__.slots[name]
        return window(
            self.segment,
            self.start + slot.offset,
            cls.__elements__[name],
            self.live.shape + slot.shape,
            self.live.strides + slot.strides,
            slot.cell,
        )

    def members_as(self, scalar: ScalarType) -> "Window":
        """Records that are nothing but numbers of one type, as one more dimension of them."""
        count = self.live.itemsize // scalar.size
        shape, strides = (*self.live.shape, count), (*self.live.strides, scalar.size)
        return window(self.segment, self.start, scalar, shape, strides, scalar.size)

    def assign(self, value: object) -> None:
        """Write all elements: from one value for all, or from as many as there are."""
        other = window_of(value)
        if other is not None and self.is_same_as(other):
            return

        def store(source: Live) -> None:
            check_shape(source.shape, self.live.shape)
            self.written_by(lambda live: np.copyto(live, source, casting="unsafe"))

        self._store(value, store)

    def assign_selected(self, key: Any, value: object) -> None:
        """Write the elements that a mask or a list of indices selects."""

        def store(source: Live) -> None:
            self.written_by(lambda live: live.__setitem__(key, source), partly=True)

        self._store(value, store)

    def _store(self, value: object, store: Callable[[Live], None]) -> None:
        """Convert a value, which may run code of the user, and then store it."""
        other = window_of(value)
        if other is None:
            source = converted(value, self.element)
            accessing(HostAccess.WRITE, lambda: store(source))
        else:
            accessing(HostAccess.WRITE, lambda: store(converted(other.read(), self.element)))

    def is_same_as(self, other: "Window") -> bool:
        """True where both show the same elements in the same order."""
        return (
            self.segment is other.segment
            and self.start == other.start
            and self.element is other.element
            and self.live.shape == other.live.shape
            and self.live.strides == other.live.strides
        )

    def escape(self) -> Live:
        """A raw, writable view of the elements, remembered by the segment while it lives."""
        ranges = self.ranges
        low = ranges.hull[0] if ranges else self.start
        block = self.segment.escape(ranges)
        live = self.live
        return np.ndarray(live.shape, live.dtype, block, self.start - low, live.strides)


def window(
    segment: Segment,
    start: int,
    element: Element,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    cell: int,
) -> Window:
    """A window on elements at `start`."""
    live = np.ndarray(shape, dtype_of(element), segment.memory, start, strides)
    return Window(segment, start, live, element, cell)


def _axes_with_gaps(
    axes: Sequence[tuple[int, int]], itemsize: int, cell: int
) -> tuple[list[tuple[int, int]], int]:
    """The axes that leave gaps, each as count and distance, and the bytes of a piece without.

    The gap that belongs to an element's own cell is no gap.
    """
    left = sorted(((count, abs(stride)) for count, stride in axes), key=lambda axis: axis[1])
    size, dense = itemsize, cell
    while left and left[0][1] == dense:
        count, stride = left.pop(0)
        size, dense = (count - 1) * stride + size, count * stride
    return left, size


def dtype_of(element: Element) -> np.dtype[Any]:
    """The NumPy dtype of an element."""
    return element.numpy if isinstance(element, ScalarType) else element.__dtype__


def read_element(segment: Segment, place: int, element: Element) -> "Number | Record":
    """The number at a place (it is read now), or the record there (nothing is read)."""
    if not isinstance(element, ScalarType):
        _ = segment.memory
        return element.__at__(segment, place)

    def read() -> Number:
        segment.reading(Ranges(((place, place + element.size),)))
        return np.ndarray((), element.numpy, segment.memory, place).item()

    return accessing(HostAccess.READ, read)


def write_element(segment: Segment, place: int, element: Element, value: object) -> None:
    """Set the number or the record at a place."""
    if isinstance(element, ScalarType):
        stored: object = number(value, element)
    else:
        stored = record(value, element).__array__()
    target = np.ndarray((), dtype_of(element), segment.memory, place)
    ranges = Ranges(((place, place + target.itemsize),))

    def write() -> None:
        segment.writing(ranges)
        try:
            target[...] = stored
            segment.written(ranges)
        except BaseException:
            mend(segment.maybe_written, ranges)
            raise

    accessing(HostAccess.WRITE, write)


def converted(value: object, element: Element) -> Live:
    """What a user gave, as an array of numbers or records that can be stored."""
    return numbers(value, element) if isinstance(element, ScalarType) else records(value, element)


def window_of(value: object) -> Window | None:
    """The window of a tracked array, or None for anything else."""
    found = getattr(value, "__window__", None)
    return found if isinstance(found, Window) else None


def exact_index(key: object) -> tuple[int, ...] | None:
    """The key as a tuple of integers, or None where it is anything but integers."""
    if type(key) is int:
        return (key,)
    entries = cast("tuple[object, ...]", key) if isinstance(key, tuple) else (key,)
    if all(is_index(entry) for entry in entries):
        return tuple(cast("SupportsIndex", entry).__index__() for entry in entries)
    return None


def is_basic(key: object) -> bool:
    """True for keys that select without copying: integers, slices, `...`, `None`."""
    entries = cast("tuple[object, ...]", key) if isinstance(key, tuple) else (key,)
    return all(
        entry is None or entry is ... or isinstance(entry, slice) or is_index(entry)
        for entry in entries
    )


def is_index(entry: object) -> bool:
    """True for integers, and for objects that stand for one."""
    return hasattr(type(entry), "__index__") and not isinstance(entry, bool | np.bool | np.ndarray)

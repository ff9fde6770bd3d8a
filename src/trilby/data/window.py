"""A window: numbers or records at regular distances in a segment, read and written in the open.

Every access of the host passes here and is announced to the segment with the exact range
of bytes. What users hold are `Array` objects, which wrap windows; this module knows
nothing of them and little of NumPy's protocols.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, SupportsIndex, TypeVar, cast

import numpy as np

from trilby.arguments import brief
from trilby.data.dtypes import BF16, BOOL, Number, ScalarType, scalar_of
from trilby.data.ranges import Ranges
from trilby.data.record import Element, Record, unknown_field
from trilby.data.segment import HostAccess, Live, Segment, accessing, address_of, is_ndarray
from trilby.dataclass import dataclass
from trilby.errors import ArgumentTypeError, ArgumentValueError, NumberOverflowError
from trilby.mending import mend

# ------------------------------------------------------------------------------------------- values
# From what a user assigns to the numbers that are stored, or an error that says why not.
#
# Numbers must fit: an integer outside the range of its target is an `OverflowError`, a fraction
# for an integer a `TypeError`. Nothing here writes to a buffer.


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
    if isinstance(value, tuple) and not cls.__schema__.is_union:
        entries = cast("tuple[object, ...]", value)
        if len(entries) != len(cls.__elements__):
            raise ArgumentValueError(
                f"{len(entries)} values for the {len(cls.__elements__)} members of "
                f"`{cls.__name__}`",
                advice=f"give one value each for {', '.join(cls.__elements__)}",
            )
        return _of_members(cls, dict(zip(cls.__elements__, entries, strict=True)))
    raise _wrong_kind(_described(cast("object", value)), cls)


def _of_members(cls: type[Record], members: Mapping[str, object]) -> Record:
    made = cls.__new__(cls)
    Record.__init__(made, **members)  # classes have others: a vector is made of numbers in order
    return made


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
    lowest, highest = (0, 1) if target is BOOL else (target.lowest, target.highest)
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


# ------------------------------------------------------------------------------------------- window

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
        ranges = Ranges(low, low + size)
        for count, stride in axes:
            ranges = ranges.repeated(stride, count)
        return ranges, True

    def ranges_at(self, key: tuple[object, ...]) -> Ranges:
        """The bytes that a key selects, without looking at them; all for a mask or a list."""
        index = exact_index(key)
        if index is not None and len(index) == self.live.ndim:
            place = self.place_of(index)
            return Ranges(place, place + self.live.itemsize)
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
        numbers comes before anything is written, or when all is: marks in what was stale show
        which. Any other leaves what the host had current in an unknown state, and what
        it had not as it is on the device.
        """
        ranges, exact = self._pieces
        if partly or not exact:
            self.segment.reading(ranges)
        self.segment.writing(ranges)
        marks = self.segment.mark_stale(ranges)
        try:
            result = use(self.live)
            self.segment.written(ranges)
        except BaseException:
            is_over = self.segment.are_overwritten(marks)
            mend(self.segment.written if is_over else self.segment.maybe_written, ranges)
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
                    f"index {brief(position)} is out of bounds for axis {axis} with size {count}"
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
        segment.reading(Ranges(place, place + element.size))
        return np.ndarray((), element.numpy, segment.memory, place).item()

    return accessing(HostAccess.READ, read)


def write_element(segment: Segment, place: int, element: Element, value: object) -> None:
    """Set the number or the record at a place."""
    if isinstance(element, ScalarType):
        stored: object = number(value, element)
    else:
        stored = record(value, element).__array__()
    target = np.ndarray((), dtype_of(element), segment.memory, place)
    ranges = Ranges(place, place + target.itemsize)

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

"""Host memory with a state: bytes, who watches them, and what leaked out of them.

A segment knows byte ranges and nothing of what the bytes mean. Accessors announce all bytes
that they read or write; the runtime sets a watcher that hears it and sees to it that they
are current before they are read.
"""

import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import Any, ClassVar, Protocol, TypeAlias, TypeGuard, TypeVar, cast

import numpy as np

from trilby.data.layout import round_up
from trilby.data.ranges import Ranges
from trilby.dataclass import dataclass
from trilby.errors import BindingError, ReentryError, ReleasedError
from trilby.process import PROCESS

# ---------------------------------------------------------------------------------------- raw views
# Raw views: memory in the user's own hands, and which of it, for as long as any of it lives.


@dataclass(frozen=True, eq=False)
class Escape:
    """A raw view that the user asked for; it lives as long as any NumPy view made from it."""

    memory: "Live"
    among: "RawViews"

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.memory.__array_interface__


class RawViews:
    """All raw views that were taken of one stretch of memory, which starts at `address`.

    While one is alive the host may write what it shows at any time, and nobody hears of it.
    """

    __slots__ = ("__weakref__", "_address", "_all")

    def __init__(self, address: int) -> None:
        self._address = address
        self._all: dict[weakref.ref[Escape], Ranges] = {}

    def __bool__(self) -> bool:
        """Whether there is one, or was one of which `ended` was not yet asked."""
        return bool(self._all)

    def add(self, ranges: Ranges, memory: "Live") -> Escape:
        """Another one; the ranges are from the start of the memory."""
        escape = Escape(memory, self)
        self._all[weakref.ref(escape)] = ranges.shifted(self._address)
        PROCESS.raw_views.add(self)
        return escape

    @property
    def shown(self) -> Ranges:
        """The bytes that those show, by address."""
        views = tuple(self._all.items())
        return Ranges.of(*(part for ref, parts in views if ref() is not None for part in parts))

    def ended(self, within: Ranges) -> Ranges:
        """Those of some bytes, by address, that views showed which ended since this was asked.

        What such a view showed of other bytes stays to be asked for.
        """
        found: list[tuple[int, int]] = []
        for ref, ranges in tuple(self._all.items()):
            if ref() is not None:
                continue
            found += ranges & within
            left = ranges - within
            if left:
                self._all[ref] = left
            else:
                self._all.pop(ref, None)
        return Ranges.of(*found)

    def meets(self, ranges: Ranges) -> bool:
        """Whether any of them shows, or showed, some of these bytes."""
        return any(parts.meets(ranges) for parts in tuple(self._all.values()))


def raw_views_of(ranges: Ranges) -> Iterator[RawViews]:
    """What was taken of some bytes, through whichever array."""
    for views in tuple(PROCESS.raw_views):
        if views.meets(ranges):
            yield views


# ------------------------------------------------------------------------------------------ segment

PAGE = 4096
MOST_PARTS = 64
"""Into so many ranges the bytes are told apart that were written before anybody watched."""

Live: TypeAlias = np.ndarray[Any, Any]
"""A NumPy array over the bytes of a segment. It must not get into a user's hands."""


T = TypeVar("T")


class HostAccess(IntEnum):
    """What a thread does with the live memory of buffers."""

    NONE = 0
    READ = 1
    WRITE = 2


def sealed(copy: Live) -> Live:
    """A copy of live memory that nobody can write to: what he wrote there would be lost."""
    copy.flags.writeable = False
    return copy.view()  # which cannot be made writable again


_MARK = os.urandom(64)
"""Bytes that nobody knows, so that nobody writes them."""


def _mark_at(end: slice) -> Live:
    """What is put there: a byte has the same mark in each of two that overlap."""
    numbers = np.arange(end.start, end.stop, dtype=np.intp) % len(_MARK)
    return np.frombuffer(_MARK, np.uint8)[numbers]


class _HostAccesses(threading.local):
    now = HostAccess.NONE


ACCESSES = _HostAccesses()
"""What each thread is in the middle of. Its signal handlers run there too.

While it reads or writes, what it uses must stay as it was announced: a kernel that such a handler
launches would overtake it, or be lost. While it writes, nothing may be brought to the host either.
"""


def accessing(kind: HostAccess, use: Callable[[], T]) -> T:
    """Do something with live memory, in whose middle no kernel is launched."""
    outer = ACCESSES.now
    if outer is HostAccess.WRITE:
        raise reentered()
    try:
        ACCESSES.now = kind
        result = use()
    finally:
        ACCESSES.now = outer
    return result


def reentered() -> ReentryError:
    """A thread was interrupted in the middle of a launch, a copy or an access, to begin another."""
    return ReentryError(
        "this thread is in the middle of a launch, a copy, or an access to a buffer, and was "
        "interrupted to begin another one",
        advice="a signal handler, or a function that NumPy calls on errors, may only note that it "
        "was called (`stop = True`): launch, read and write between two launches, where the "
        "program looks at that",
    )


class Watcher(Protocol):
    """Hears of host accesses. Ranges are in bytes from the start of the segment."""

    def before_read(self, ranges: Ranges) -> None:
        """The host is about to read these bytes, so they must be current on the host."""
        ...

    def before_write(self, ranges: Ranges) -> None:
        """The host is about to set every one of these bytes that holds data.

        A write that leaves gaps announces a read first. `after_write` follows, or
        `after_failed_write`.
        """
        ...

    def after_write(self, ranges: Ranges) -> None:
        """The bytes were written: from now on the host's content is the content."""
        ...

    def stale(self, ranges: Ranges) -> Ranges:
        """Those of these bytes that are not current on the host."""
        ...

    def after_failed_write(self, ranges: Ranges) -> None:
        """An error ended the write: nothing, some or all of the bytes were written.

        Bytes that were current on the host still are, as they are now; others are stale.
        """
        ...

    @property
    def copies_nothing(self) -> bool:
        """Whether no copy is made by itself now: an access has to name just its bytes."""
        ...

    def released(self) -> None:
        """The user gives the memory up, and nobody will ask for the content any more."""
        ...

    def escaped(self) -> None:
        """A raw view was given out: from now on the host may write at any time."""
        ...


def _nobody(_segment: object) -> None:
    """While nothing computes, nobody watches."""


class Segment:
    """A stretch of host memory, zeroed, page-aligned and a whole number of pages long.

    `borrowed` is true where the memory is the user's own, which may have any place and
    size. `label` names the segment in messages. `touched` are the bytes that may differ from
    zero, as far as no watcher heard of it. `raw_views` are those that users have. `lengths` has
    those of the arrays in it as attributes, until the memory is released.
    """

    __slots__ = (
        "__weakref__",
        "_memory",
        "address",
        "borrowed",
        "label",
        "lengths",
        "raw_views",
        "released",
        "touched",
        "watcher",
    )

    watcher_of: "ClassVar[Callable[[Segment], Watcher | None]]" = staticmethod(_nobody)
    """Finds the watcher of memory that others have too, and that is watched for them."""

    def __init__(self, memory: Live, label: str, *, borrowed: bool) -> None:
        self.label = label
        self.borrowed = borrowed
        self.released = False
        self.lengths: object = None
        self.watcher: Watcher | None = None
        self.address = address_of(memory)
        self._memory: Live | None = memory
        self.raw_views = RawViews(self.address)
        self.touched = Ranges.span(0, memory.nbytes)

    @classmethod
    def allocate(cls, nbytes: int, label: str) -> "Segment":
        """New memory full of zeros."""
        pages = round_up(nbytes, PAGE)
        if pages > sys.maxsize - PAGE:
            raise BindingError(
                f"{label} would take {nbytes} bytes, more than an address can reach",
                advice="use smaller lengths",
            )
        block = np.zeros(pages + PAGE, np.uint8)
        start = -address_of(block) % PAGE
        segment = cls(block[start : start + nbytes], label, borrowed=False)
        segment.touched = Ranges.EMPTY
        return segment

    @property
    def memory(self) -> Live:
        """All bytes as `uint8`. Taking it announces nothing."""
        if self._memory is None:
            raise ReleasedError(
                f"this {self.label} was released",
                advice="use it before `release()`, or outside of the `with` block make a new one",
            )
        return self._memory

    @property
    def nbytes(self) -> int:
        """The number of bytes."""
        return self.memory.nbytes

    def release(self) -> None:
        """Give the memory up. Every later use is a `ReleasedError`; a second call is nothing."""
        if self.watcher is not None and self._memory is not None:
            self.watcher.released()
        self._memory = None
        self.released = True
        self.lengths = None

    def reading(self, ranges: Ranges) -> None:
        """Announce a read."""
        watcher = self._find_watcher()
        if watcher is not None and ranges:
            watcher.before_read(ranges)

    def writing(self, ranges: Ranges) -> None:
        """Announce a write that will set all of the bytes."""
        watcher = self._find_watcher()
        if watcher is not None and ranges:
            watcher.before_write(ranges)

    def _find_watcher(self) -> Watcher | None:
        """The watcher; of memory that others have too, it may be one that watches it for them."""
        _ = self.memory  # which raises if it was released
        if self.watcher is None and (self.borrowed or self.raw_views):
            self.watcher = Segment.watcher_of(self)
        return self.watcher

    def written(self, ranges: Ranges) -> None:
        """Announce that a write was done."""
        if self.watcher is not None:
            if ranges:
                self.watcher.after_write(ranges)
        elif not self.touched.covers(ranges):
            touched = self.touched | ranges
            self.touched = touched if len(touched) <= MOST_PARTS else Ranges.span(*touched.hull)

    def maybe_written(self, ranges: Ranges) -> None:
        """Announce that an error ended a write."""
        if self.watcher is None:
            self.written(ranges)
        elif ranges:
            self.watcher.after_failed_write(ranges)

    @property
    def copies_nothing(self) -> bool:
        """Whether no copy is made by itself now: an access has to name just its bytes."""
        return self.watcher is not None and self.watcher.copies_nothing

    def mark_stale(self, ranges: Ranges) -> list[tuple[slice, bytes]]:
        """Put marks at the ends of what is stale on the host, which nobody reads there.

        Whoever sets all of these bytes sets the marks as well, see `are_overwritten`. The result
        says where they are, and what was there.
        """
        stale = self.watcher.stale(ranges) if self.watcher is not None else Ranges.EMPTY
        if not stale:
            return []
        (first, behind), (before, last) = stale.ends
        size = len(_MARK)
        ends = {(first, min(behind, first + size)), (max(before, last - size), last)}
        marks = [(slice(*end), self.memory[slice(*end)].tobytes()) for end in sorted(ends)]
        for end, _ in marks:
            self.memory[end] = _mark_at(end)
        return marks

    def are_overwritten(self, marks: Sequence[tuple[slice, bytes]]) -> bool:
        """Whether there were marks, and all are gone; those that are left are taken away."""
        left = [mark for mark in marks if (self.memory[mark[0]] == _mark_at(mark[0])).all()]
        for end, old in left:
            self.memory[end] = np.frombuffer(old, np.uint8)
        return bool(marks) and not left

    def escape(self, ranges: Ranges) -> Live:
        """Raw bytes for the user, writable, current now, and remembered in `raw_views`."""
        start, stop = ranges.hull
        self.reading(ranges)
        self.writing(ranges)
        escape = self.raw_views.add(ranges, self.memory[start:stop])
        self.written(ranges)
        if self.watcher is not None:
            self.watcher.escaped()
        return np.asarray(escape)


def borrowed_bytes(memory: object, label: str) -> Live:
    """The bytes of memory that the user already has; nothing is copied.

    Anything with a writable, contiguous buffer will do; the result keeps it alive.
    """
    try:
        if is_ndarray(memory):
            view = _bytes_of(memory)
        else:
            view = np.frombuffer(cast("Any", memory), np.uint8)
    except (TypeError, ValueError, BufferError) as error:
        raise BindingError(
            f"{label} cannot be bound to {_described(memory)}: {error}",
            advice="give one contiguous block of bytes with a buffer: a NumPy array "
            "(`np.ascontiguousarray`), a bytearray, an mmap",
        ) from error
    if not view.flags.writeable:
        raise BindingError(
            f"{label} cannot be bound to {_described(memory)}, which is read-only",
            advice="give writable memory, for example a copy: `np.array(x)`, `bytearray(x)`",
        )
    return view


def _bytes_of(array: Live) -> Live:
    if not array.flags.c_contiguous:
        raise ValueError("its elements do not lie one after the other in row-major order")
    return np.asarray(array).reshape(-1).view(np.uint8)  # a matrix would keep its two dimensions


def is_ndarray(value: object) -> TypeGuard[Live]:
    """True for NumPy arrays; it spares the checker an array of unknowns."""
    return isinstance(value, np.ndarray)


def address_of(array: Live) -> int:
    """The address of an array's first element."""
    return int(array.__array_interface__["data"][0])


def _described(memory: object) -> str:
    if is_ndarray(memory):
        return f"an ndarray of {memory.dtype} with shape {memory.shape}"
    return f"a {type(memory).__name__}"

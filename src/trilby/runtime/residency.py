"""Where data is, and the one place that decides what is copied, and when.

The rule here is the simple one, by access: before a launch every buffer that the kernel
touches goes up, after it every buffer that the kernel writes comes down. A kernel that only
writes may write a part, so what it leaves alone must be there before it starts: nothing the
host wrote is ever lost. Between launches the host's copy is the only one that counts.
"""

import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from threading import RLock

from trilby.analysis.access import Access
from trilby.backend.base import Backend, Event, Memory
from trilby.data.segment import Segment
from trilby.runtime.ledger import Copy, Direction
from trilby.source import Location

POISON = 0xA5
"""The byte that fills copies whose content is stale, when poisoning is on."""


@dataclass(frozen=True, slots=True)
class Use:
    """A buffer in a launch: its memory, what the kernel does with it, what to call it.

    `lengths` are the bytes that hold the lengths of arrays: they are set when the buffer is
    created and belong to every copy of it.
    """

    segment: Segment
    access: Access
    label: str
    lengths: tuple[range, ...] = ()


@dataclass(frozen=True, slots=True)
class _DeviceCopy:
    """The memory of a buffer on the device.

    `free` gives it back, once; when the buffer goes, that is done by itself.
    """

    memory: Memory
    free: Callable[[], object]


class Residency:
    """The device copies of one accelerator."""

    def __init__(self, backend: Backend, record: Callable[[Copy], None], *, poison: bool) -> None:
        self._backend = backend
        self._record = record
        self._poison = poison
        self._copies: weakref.WeakKeyDictionary[Segment, _DeviceCopy] = weakref.WeakKeyDictionary()
        self.lock = RLock()
        # buffers may live longer than the accelerator that used them
        weakref.finalize(self, _free_all, self._copies)

    def close(self) -> None:
        """Free everything on the device; the host has the content of all of it."""
        with self.lock:
            _free_all(self._copies)

    def before_launch(
        self, uses: Sequence[Use], kernel: str, location: Location | None
    ) -> list[Memory]:
        """Bring what a kernel needs to the device; gives the memory of each use."""
        merged = _merged(uses)
        for use in merged:
            memory = self._memory(use)
            if use.access is not Access.UNTOUCHED:
                self._copy("up", use, memory, f"{kernel} {_verb(use.access)} it", location)
        return [self._copies[use.segment].memory for use in uses]

    def after_launch(
        self, uses: Sequence[Use], kernel: str, location: Location | None, launched: Event
    ) -> None:
        """Bring back what a kernel wrote."""
        launched.wait()
        for use in _merged(uses):
            memory = self._copies[use.segment].memory
            if Access.WRITES in use.access:
                self._copy("down", use, memory, f"{kernel} wrote it", location)
            if self._poison:
                self._spoil(use, memory)

    def _memory(self, use: Use) -> Memory:
        copy = self._copies.get(use.segment)
        if copy is None:
            memory = self._backend.allocate(use.segment.nbytes)
            free = weakref.finalize(use.segment, self._backend.free, memory)
            self._copies[use.segment] = copy = _DeviceCopy(memory, free)
            self._spoil(use, memory)
        return copy.memory

    def _spoil(self, use: Use, memory: Memory) -> None:
        """Leave nothing of a stale copy but its lengths."""
        if self._poison and use.segment.nbytes:
            self._backend.fill(memory, 0, use.segment.nbytes, POISON).wait()
        for part in use.lengths:
            content = _bytes(use.segment)[part.start : part.stop]
            self._backend.upload(memory, part.start, content).wait()

    def _copy(
        self, direction: Direction, use: Use, memory: Memory, cause: str, location: Location | None
    ) -> None:
        nbytes = use.segment.nbytes
        if not nbytes:
            return
        copy = self._backend.upload if direction == "up" else self._backend.download
        started = time.perf_counter()
        copy(memory, 0, _bytes(use.segment)).wait()
        seconds = time.perf_counter() - started
        self._record(Copy(direction, use.label, 0, nbytes, cause, location, seconds))


def _verb(access: Access) -> str:
    return {
        Access.READS: "reads",
        Access.WRITES: "may write a part of",
        Access.BOTH: "reads and writes",
    }[access]


def _merged(uses: Iterable[Use]) -> list[Use]:
    """Each buffer once, with all that the kernel does through any of its parameters."""
    merged: dict[Segment, Use] = {}
    for use in uses:
        known = merged.get(use.segment)
        merged[use.segment] = use if known is None else _both(known, use)
    return list(merged.values())


def _both(left: Use, right: Use) -> Use:
    label = left.label if left.label == right.label else f"{left.label}, {right.label}"
    lengths = tuple(dict.fromkeys((*left.lengths, *right.lengths)))
    return Use(left.segment, left.access | right.access, label, lengths)


def _free_all(copies: "weakref.WeakKeyDictionary[Segment, _DeviceCopy]") -> None:
    for copy in list(copies.values()):
        copy.free()
    copies.clear()


def _bytes(segment: Segment) -> memoryview:
    return segment.memory.data

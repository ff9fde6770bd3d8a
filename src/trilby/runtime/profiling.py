"""Takes down what launches, copies, compilations and waits took, while somebody profiles.

What a device took is read from its events when they are over: at the end, or when many have
piled up. So the program under measurement waits for nothing that it would not wait for anyway.
"""

import time
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import field
from threading import Lock, RLock
from typing import TYPE_CHECKING, NamedTuple

from trilby.backend.base import Backend, Event, Repeated
from trilby.backend.kept import FadingEvent, wait_whatever
from trilby.dataclass import dataclass
from trilby.runtime.callers import Caller
from trilby.runtime.figures import BothWays, CopyFigures, DispatchFigures, WaitFigures
from trilby.runtime.origins import KernelWrite, launch_of
from trilby.runtime.profiled_runs import Dispatched, ProfiledRuns
from trilby.source import Location
from trilby.stages import Spent, measured_stages

if TYPE_CHECKING:
    from trilby.runtime.content import Replica
    from trilby.runtime.ledger import Direction
    from trilby.runtime.replicas import Moved

PROFILES: "list[Book]" = []
"""All that profile now, of any accelerator. Empty nearly always, and then nothing is done."""

MOST_KEPT = 16_384
"""So many launches or copies are kept before those that are over are read and let go."""

_MOST_BYTES = 1 << 26
"""Copies keep the host's memory alive until they are read; so many bytes of it may pile up."""
_MOST_LAUNCHES = 256


class WaitedAt(NamedTuple):
    """Where the host waited, why, and for which buffer; empty for several."""

    why: str
    buffer: str
    file: str
    line: int

    @property
    def location(self) -> Location:
        """The line."""
        return Location(self.file, self.line)


class Place(NamedTuple):
    """A buffer, and the field where a copy lies; empty where it has parts of several."""

    buffer: str
    field: str


class _Copy:
    """A copy that was started; `moved` is forgotten as soon as it is known what it took.

    `of` is the dispatch that it is for, or whose result it is, as soon as that is known.
    """

    __slots__ = ("direction", "moved", "nbytes", "of", "seconds")

    def __init__(self, moved: "Moved") -> None:
        self.moved: Moved | None = moved
        self.direction: Direction = moved.direction
        self.nbytes = moved.piece.nbytes
        self.of: Dispatched | None = None
        self.seconds = 0.0


@dataclass(slots=True, eq=False)
class Book:
    """All that is taken down for one profile of an accelerator, and of all its threads.

    `backends` are the devices that it uses: more than one where it had to take another.
    Whoever has `_lock` changes figures, and does nothing else; whoever has `_reading` takes out
    events and may wait for them. Those that take something down never wait for a reader.
    """

    backends: list[Backend]
    compiled: Spent = field(default_factory=Spent)
    waits: dict[WaitedAt, WaitFigures] = field(default_factory=dict[WaitedAt, WaitFigures])
    buffers: dict[Place, BothWays] = field(default_factory=dict[Place, BothWays])
    _dispatches: dict[Dispatched, DispatchFigures] = field(
        default_factory=dict[Dispatched, DispatchFigures]
    )
    _launches: deque[tuple[Dispatched, Event | None]] = field(
        default_factory=deque[tuple[Dispatched, Event | None]]
    )
    _runs: list[ProfiledRuns] = field(default_factory=list[ProfiledRuns])
    _most_runs: int = _MOST_LAUNCHES
    _copies: deque[_Copy] = field(default_factory=deque[_Copy])
    _copied: int = 0
    _unused: "dict[Replica, list[_Copy]]" = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _reading: RLock = field(default_factory=RLock)

    # ------------------------------------------------------------------------- taking down

    def launched(
        self, writer: KernelWrite, event: Event | None, replicas: "Iterable[Replica]" = ()
    ) -> None:
        """A kernel was launched; None is a launch that was refused."""
        by = Dispatched.by(writer)
        self.used(by, replicas)
        if isinstance(event, FadingEvent):
            event.keep_times()
        self._launches.append((by, event))
        if len(self._launches) > MOST_KEPT:
            self._read_what_is_over()

    def used(self, by: Dispatched, replicas: "Iterable[Replica]") -> None:
        """A dispatch uses what came to the device before, and nobody used yet: it came for it."""
        if by not in self._dispatches:
            with self._lock:
                self._dispatch(by)
        for replica in replicas if self._unused else ():
            for copy in self._unused.pop(replica, ()):
                with self._lock:
                    copy.of = by
                    if copy.moved is None:
                        self._count_for(by, copy)

    def keep(self, runs: ProfiledRuns) -> None:
        """A launch may be run again: all its runs are kept."""
        self._runs.append(runs)
        if len(self._runs) > self._most_runs:
            self._forget_ended()
            self._most_runs = max(_MOST_LAUNCHES, 2 * len(self._runs))

    def called(self, function: str, began: float) -> None:
        """A compute function has returned; a profile does not tell of it."""

    def moved(self, moved: "Moved") -> None:
        """A copy was started."""
        copy = _Copy(moved)
        if copy.direction == "up":
            self._unused.setdefault(moved.replica, []).append(copy)
        if isinstance(moved.event, FadingEvent):
            moved.event.keep_times()
        self._copies.append(copy)
        self._copied += copy.nbytes
        if len(self._copies) > MOST_KEPT or self._copied > _MOST_BYTES:
            self._read_what_is_over()

    def waited(self, event: Event, seconds: float, at: WaitedAt) -> None:
        """The host waited for an event."""
        writer = launch_of(event)
        with self._lock:
            figures = self.waits.get(at)
            if figures is None:
                figures = self.waits[at] = WaitFigures()
            figures.add(seconds)
            if writer is not None:
                self._dispatch(Dispatched.by(writer)).wait_seconds += seconds

    def add_compiled(self, spent: Spent) -> None:
        """Something was compiled."""
        with self._lock:
            for key, seconds in spent.items():
                self.compiled[key] = self.compiled.get(key, 0.0) + seconds

    # ----------------------------------------------------------------------------- reading

    def settle(self) -> None:
        """Wait for all that was begun, however it ends, and read it."""
        for backend in self.backends:
            backend.flush()
        with self._reading:
            for runs in tuple(self._runs):
                runs.wait()
            self._read(wait=True)

    def dispatches(self) -> dict[Dispatched, DispatchFigures]:
        """What is known by now of every kernel and line."""
        with self._reading:
            found = {line: figures.copy() for line, figures in tuple(self._dispatches.items())}
            for runs in tuple(self._runs):
                for line, figures in runs.read().items():
                    found.setdefault(line, DispatchFigures()).runs.join(figures)
        return found

    def let_go(self) -> None:
        """Read the copies that are over: they keep memory of the host alive."""
        with self._reading:
            self._read_copies(wait=False)

    def _read_what_is_over(self) -> None:
        """Read what there is to read, unless another thread does."""
        if self._reading.acquire(blocking=False):
            try:
                self._read(wait=False)
            finally:
                self._reading.release()

    def _read(self, *, wait: bool) -> None:
        self._read_launches(wait=wait)
        self._read_copies(wait=wait)

    def _read_launches(self, *, wait: bool) -> None:
        launches = self._launches
        while launches:
            by, event = launches[0]
            if event is not None and not _is_over(event, wait=wait):
                return
            with self._lock:
                self._dispatch(by).runs.add(None if event is None else event.times)
            launches.popleft()

    def _read_copies(self, *, wait: bool) -> None:
        copies = self._copies
        while copies:
            copy = copies[0]
            if copy.moved is not None:
                if not _is_over(copy.moved.event, wait=wait):
                    return
                self._count(copy, copy.moved)
            copies.popleft()

    def _count(self, copy: _Copy, moved: "Moved") -> None:
        times = moved.event.times
        writer = launch_of(moved.event) if copy.direction == "down" else None
        place = _place(moved)
        with self._lock:
            self._copied -= copy.nbytes
            copy.moved, copy.seconds = None, times[1] if times else 0.0
            ways = self.buffers.get(place)
            if ways is None:
                ways = self.buffers[place] = BothWays()
            _way(ways, copy).add(copy.nbytes, copy.seconds)
            by = Dispatched.by(writer) if writer else copy.of
            if by is not None:
                self._count_for(by, copy)

    def _count_for(self, by: Dispatched, copy: _Copy) -> None:
        _way(self._dispatch(by).copies, copy).add(copy.nbytes, copy.seconds)

    def _dispatch(self, by: Dispatched) -> DispatchFigures:
        figures = self._dispatches.get(by)
        if figures is None:
            figures = self._dispatches[by] = DispatchFigures()
        return figures

    def _forget_ended(self) -> None:
        """Count launches that will not be run again, unless another thread is reading."""
        if not self._reading.acquire(blocking=False):
            return
        try:
            for runs in self._runs:
                runs.read()
            ended = {runs for runs in self._runs if runs.is_over}
            for runs in ended:
                for line, figures in runs.read().items():
                    with self._lock:
                        self._dispatch(line).runs.join(figures)
            self._runs = [runs for runs in self._runs if runs not in ended]
        finally:
            self._reading.release()


def _is_over(event: Event, *, wait: bool) -> bool:
    if wait and not event.done:
        wait_whatever(event)
    return event.done


def _way(ways: BothWays, copy: _Copy) -> CopyFigures:
    return ways.up if copy.direction == "up" else ways.down


def _place(moved: "Moved") -> Place:
    """The buffer and, where a copy lies within one field, that field."""
    replica, piece = moved.replica, moved.piece
    start = piece.start - replica.address
    stop = start + (piece.rows - 1) * piece.pitch + piece.size
    inside = (name for name, first, last in replica.fields if first <= start and stop <= last)
    return Place(replica.label, next(inside, ""))


# ------------------------------------------------------------------- for those who do the work


def profiles_of(backend: Backend) -> "list[Book]":
    """Those who profile a device."""
    return [book for book in PROFILES if backend in book.backends]


def keep_runs(backend: Backend, launch: Repeated, writer: KernelWrite) -> ProfiledRuns | None:
    """Let those who profile know of all runs of a launch from now on; None where nobody does."""
    books = profiles_of(backend)
    if not books:
        return None
    runs = ProfiledRuns(launch, writer)
    for book in books:
        book.keep(runs)
    return runs


@contextmanager
def compiling(backend: Backend) -> Generator[None]:
    """Something is compiled for a device."""
    books = profiles_of(backend)
    if not books:
        yield
        return
    with measured_stages() as spent:
        try:
            yield
        finally:
            for book in books:
                book.add_compiled(spent)


def note_wait(event: Event, seconds: float, why: str, replicas: "Sequence[Replica]") -> None:
    """The host has waited for an event, for the sake of these replicas."""
    caller = Caller.now()
    buffer = replicas[0].label if len(replicas) == 1 else ""
    at = WaitedAt(why, buffer, caller.code.co_filename, caller.number)
    backends = [replica.owner.backend for replica in replicas]
    for book in PROFILES:
        if any(backend in book.backends for backend in backends):
            book.waited(event, seconds, at)


@contextmanager
def calling(backend: Backend, function: str) -> Generator[None]:
    """A compute function is called, and somebody may want to know."""
    books = list(profiles_of(backend))
    began = time.perf_counter()
    try:
        yield
    finally:
        for book in books:
            book.called(function, began)

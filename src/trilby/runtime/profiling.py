"""Takes down what launches, copies, compilations and waits took, while somebody profiles.

What a device took is read from its events when they are over: at the end, or when many have
piled up. So the program under measurement waits for nothing that it would not wait for anyway.
"""

import sys
from collections import deque
from dataclasses import field
from itertools import chain
from threading import Lock, RLock
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from trilby.backend.base import Backend, Event, Repeated
from trilby.backend.done import FadingEvent
from trilby.backend.kept import wait_whatever
from trilby.dataclass import dataclass
from trilby.locks import if_free, new_lock, new_rlock
from trilby.runtime.held import KernelWrite, launch_of
from trilby.runtime.profiled_runs import (
    BothWays,
    Dispatched,
    DispatchFigures,
    ProfiledRuns,
    WaitFigures,
)
from trilby.runtime.profiles import WaitedAt
from trilby.stages import Spent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trilby.runtime.content import Replica
    from trilby.runtime.replicas import Moved

MOST_KEPT = 4_096
"""So many launches, copies and waits are kept before those that are over are read."""

_MOST_BYTES = 1 << 24
"""Copies keep the host's memory alive until they are read; so much of it may pile up."""
_MOST_LEFT = 1 << 20
"""The same for a profile that has ended and was not read."""
_MOST_UNUSED = 256
"""So many buffers are remembered that came to the device and were not used by now."""
_MOST_LAUNCHES = 256


class CopyPlace(NamedTuple):
    """A buffer, and the field where a copy lies; empty where it has parts of several."""

    buffer: str
    field: str


class _Used(NamedTuple):
    """A dispatch that used some replicas: what came before, and nobody used yet, came for it."""

    writer: KernelWrite
    replicas: "Sequence[Replica]"


class _Waited(NamedTuple):
    """The host has waited for an event."""

    event: Event
    seconds: float
    at: WaitedAt


@dataclass(slots=True, eq=False)
class Book:
    """All that is taken down for one profile of an accelerator, and of all its threads.

    `backends` are the devices that it uses: more than one where it had to take another.
    Whoever has `_lock` changes figures, and does nothing else; whoever has `_reading` takes out
    events and may wait for them. Those that take something down never wait for a reader.

    `_seen` is what happened, in order, and was not read; the figures lack it. `_held` are the
    replicas that are kept alive by it. What came to the device is in `_unused` from when it is read
    until the dispatch is read that it came for.
    """

    hears_calls: ClassVar = False
    wants_every_run: ClassVar = False

    backends: list[Backend]
    compiled: Spent = field(default_factory=Spent)
    waits: dict[WaitedAt, WaitFigures] = field(default_factory=dict)
    buffers: dict[CopyPlace, BothWays] = field(default_factory=dict)
    _dispatches: dict[Dispatched, DispatchFigures] = field(default_factory=dict)
    _launches: deque[tuple[KernelWrite, Event | None]] = field(default_factory=deque)
    _runs: list[ProfiledRuns] = field(default_factory=list)
    _most_runs: int = _MOST_LAUNCHES
    _seen: "deque[Moved | _Used | _Waited]" = field(default_factory=deque)
    _most_seen: int = MOST_KEPT
    _held: "set[Replica]" = field(default_factory=set)
    _held_bytes: int = 0
    _most_bytes: int = _MOST_BYTES
    _has_ended: bool = False
    _unused: "dict[Replica, list[tuple[int, float]]]" = field(default_factory=dict)
    _lock: Lock = field(default_factory=new_lock)
    _reading: RLock = field(default_factory=new_rlock)

    # ------------------------------------------------------------------------- taking down

    def launched(
        self, writer: KernelWrite, event: Event | None, replicas: "Sequence[Replica]" = ()
    ) -> None:
        """A kernel was launched; None is a launch that was refused."""
        if isinstance(event, FadingEvent):
            event.keep_times()
        self._launches.append((writer, event))
        self.used(writer, replicas)
        if len(self._launches) > MOST_KEPT:
            self._read_what_is_over()

    def used(self, writer: KernelWrite, replicas: "Sequence[Replica]") -> None:
        """A dispatch uses what came to the device before."""
        for replica in replicas:
            if replica not in self._held:
                self._hold(replica)
        self._seen.append(_Used(writer, replicas))
        if len(self._seen) > self._most_seen:
            self._read_what_is_over()

    @staticmethod
    def runs_of(launch: Repeated, writer: KernelWrite, *, every: bool) -> ProfiledRuns:
        """All runs of a launch from now on, for several books perhaps."""
        return ProfiledRuns(launch, writer, every=every)

    def keep(self, runs: ProfiledRuns) -> None:
        """A launch may be run again: all its runs are kept."""
        self._runs.append(runs)
        if len(self._runs) > self._most_runs:
            self._forget_ended()
            self._most_runs = max(_MOST_LAUNCHES, 2 * len(self._runs))

    def called(self, function: str, began: float) -> None:
        """A compute function has returned that was called at that time, if it `hears_calls`."""

    def moved(self, moved: "Moved") -> None:
        """A copy was started."""
        if isinstance(moved.event, FadingEvent):
            moved.event.keep_times()
        if moved.replica not in self._held:
            self._hold(moved.replica)
        self._seen.append(moved)
        if len(self._seen) > self._most_seen:
            self._read_what_is_over()

    def waited(self, event: Event, seconds: float, at: WaitedAt) -> None:
        """The host waited for an event."""
        self._seen.append(_Waited(event, seconds, at))
        if len(self._seen) > self._most_seen:
            self._read_what_is_over()

    def _hold(self, replica: "Replica") -> None:
        """A replica is kept alive, and with it the memory of a buffer; not too much of that."""
        self._held.add(replica)
        self._held_bytes += replica.nbytes
        if self._held_bytes > self._most_bytes:
            self._most_seen = 0

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

    def end(self) -> None:
        """Nothing more belongs to it."""
        self._has_ended = True
        if self._held_bytes > _MOST_LEFT:
            self._read_what_is_over()

    def _read_what_is_over(self) -> None:
        """Read what there is to read, unless another thread does."""
        if_free(self._reading, lambda: self._read(wait=False))

    def _read(self, *, wait: bool) -> None:
        self._held, self._held_bytes = set(), 0
        self._read_seen(wait=wait)
        self._read_launches(wait=wait)
        self._hold_the_rest()

    def _read_seen(self, *, wait: bool) -> None:
        """Read in the order in which it happened: so the rows are in the order of the program."""
        while self._seen:
            seen = self._seen[0]
            if isinstance(seen, _Used):
                self._count_used(seen)
            elif isinstance(seen, _Waited):
                self._count_waited(seen)
            elif _is_over(seen.event, wait=wait):
                self._count_moved(seen)
            else:
                return
            self._seen.popleft()

    def _hold_the_rest(self) -> None:
        """Let go of replicas, but for those that somebody may still be about to use."""
        if self._has_ended and not self._seen:
            self._unused.clear()
        while sum(one.nbytes for one in self._unused) > _MOST_BYTES:
            del self._unused[next(iter(self._unused))]
        self._most_bytes = sys.maxsize
        for replica in (*self._unused, *chain(*map(_replicas_of, tuple(self._seen)))):
            if replica not in self._held:
                self._hold(replica)
        self._most_bytes = max(_MOST_BYTES, 2 * self._held_bytes)  # with what is not over
        self._most_seen = max(MOST_KEPT, 2 * len(self._seen))

    def _read_launches(self, *, wait: bool) -> None:
        launches = self._launches
        while launches:
            writer, event = launches[0]
            if event is not None and not _is_over(event, wait=wait):
                return
            with self._lock:
                self._dispatch(writer).runs.add(None if event is None else event.times)
            launches.popleft()

    def _count_used(self, used: _Used) -> None:
        with self._lock:
            figures = self._dispatch(used.writer)
            for replica in used.replicas if self._unused else ():
                for nbytes, seconds in self._unused.pop(replica, ()):
                    figures.copies.up.add(nbytes, seconds)

    def _count_waited(self, waited: _Waited) -> None:
        writer = launch_of(waited.event)
        with self._lock:
            self.waits.setdefault(waited.at, WaitFigures()).add(waited.seconds)
            if writer is not None:
                self._dispatch(writer).wait_seconds += waited.seconds

    def _count_moved(self, moved: "Moved") -> None:
        times, nbytes = moved.event.times, moved.ranges.nbytes
        seconds = times[1] if times else 0.0
        with self._lock:
            ways = self.buffers.setdefault(_place(moved), BothWays())
            if moved.direction == "up":
                ways.up.add(nbytes, seconds)
                self._unused.setdefault(moved.replica, []).append((nbytes, seconds))
                if len(self._unused) > _MOST_UNUSED:
                    del self._unused[next(iter(self._unused))]
                return
            ways.down.add(nbytes, seconds)
            writer = launch_of(moved.event)
            if writer is not None:
                self._dispatch(writer).copies.down.add(nbytes, seconds)

    def _dispatch(self, writer: KernelWrite) -> DispatchFigures:
        return self._dispatches.setdefault(Dispatched.by(writer), DispatchFigures())

    def _forget_ended(self) -> None:
        """Count launches that will not be run again, unless another thread is reading."""
        if_free(self._reading, self._count_ended)

    def _count_ended(self) -> None:
        for runs in self._runs:
            runs.read()
        ended = {runs for runs in self._runs if runs.is_over}
        for runs in ended:
            for line, figures in runs.read().items():
                with self._lock:
                    found = self._dispatches.setdefault(line, DispatchFigures())
                    found.runs.join(figures)
        self._runs = [runs for runs in self._runs if runs not in ended]


def _is_over(event: Event, *, wait: bool) -> bool:
    if wait and not event.done:
        wait_whatever(event)
    return event.done


def _replicas_of(seen: "Moved | _Used | _Waited") -> "Sequence[Replica]":
    if isinstance(seen, _Waited):
        return ()
    return seen.replicas if isinstance(seen, _Used) else (seen.replica,)


def _place(moved: "Moved") -> CopyPlace:
    """The buffer and, where a copy lies within one field, that field."""
    replica = moved.replica
    start, stop = moved.ranges.shifted(-replica.address).hull
    inside = (name for name, first, last in replica.fields if first <= start and stop <= last)
    return CopyPlace(replica.label, next(inside, ""))

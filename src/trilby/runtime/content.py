"""Where the content of some memory is current: on the host, on devices, byte by byte.

The rules, and nothing else: a copy happens when a side needs content that it does not have,
and then both have it; a write leaves only the writer's side current; a read makes nothing
stale; zeros that nobody wrote are everywhere. Who asks, and why, is the business of others.

Bytes are named by their address on the host, so that arrays that share a part of their
memory share what is known of it. All of this is guarded by one lock, `LOCK`: a buffer may
belong to several accelerators and be used by several threads.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from itertools import repeat
from typing import TYPE_CHECKING, Protocol, cast

from trilby.backend.base import Event, Memory, Repeated, events_of
from trilby.backend.say import OUTPUT
from trilby.data.ranges import Ranges
from trilby.data.segment import ACCESSES, RawViews, reentered
from trilby.dataclass import dataclass
from trilby.errors import ReentryError, TrilbyError
from trilby.locks import hold_over_forks, new_rlock

if TYPE_CHECKING:
    from trilby.runtime.replicas import Replicas
    from trilby.runtime.watch import Watch


LOCK = new_rlock()

hold_over_forks(0, LOCK.acquire, LOCK.release, LOCK.release)

is_locked_here = cast("Callable[[], bool]", LOCK._is_owned)  # noqa: SLF001  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] -- the only way to ask
"""Whether this thread has the lock: it is in the middle of things."""

OUTPUT.must_wait = is_locked_here


def check_entry() -> None:
    """Raise where this thread is in the middle of things, and cannot begin others.

    A signal handler runs between any two steps of the main thread.
    """
    if is_locked_here():
        raise reentered()


def check_launch() -> None:
    """Raise where this thread cannot launch: it has the lock, or is amid a host access."""
    if ACCESSES.now or is_locked_here():
        raise reentered()


_MOST_READERS = 16


class RunsAhead(Protocol):
    """The last of the launches of a hot loop that have not noted what they left under way."""

    def note_round(self) -> None:
        """Note it, of all launches of the loop."""
        ...


@dataclass(slots=True, eq=False)
class Clock:
    """Counts the changes of all contents and of the work under way on replicas.

    As long as it stands still nothing has changed, but by the launches of a hot loop, each of
    which leaves the replicas as it did in the turn before. `ahead` is the last of these, if they
    have not been noted; who wants to know has them noted. `runner` stands for the accelerator and
    the thread whose launches these are.
    """

    now: int = 0
    runner: object = None
    ahead: RunsAhead | None = None

    def settle(self) -> None:
        """Note what the launches of a hot loop have left under way."""
        if self.ahead is not None:
            self._note()

    def _note(self) -> None:
        with LOCK:
            if self.ahead is not None:  # another thread may have been faster
                self.ahead.note_round()
                self.ahead = None


CLOCK = Clock()


@dataclass(slots=True, eq=False)
class Replica:
    """The memory of a segment on one device, and which bytes of it are current.

    `shared` memory is the host's own: nothing is ever stale there, but work on it must be
    waited for. `writing` and `reading` are the work that has to be done before the memory may
    be read, or overwritten; of launches that are repeated, their last runs. `noted_writing` and
    `noted_reading` lack what a hot loop has not noted yet, see `Clock`. `asked` are the
    bytes that kernels needed so far. `lengths` are the bytes of the lengths of arrays, which are
    no data: they never change and are always there.
    """

    owner: "Replicas"
    memory: Memory
    host: memoryview
    address: int
    label: str
    shared: bool
    fields: tuple[tuple[str, int, int], ...] = ()
    lengths: Ranges = Ranges.EMPTY
    valid: Ranges = Ranges.EMPTY
    noted_writing: tuple[Event | Repeated, ...] = ()
    noted_reading: tuple[Event | Repeated, ...] = ()
    last_use: int = 0
    use_before: int = 0
    is_named: bool = False
    asked: Ranges = Ranges.EMPTY

    @property
    def nbytes(self) -> int:
        """The size of the segment."""
        return self.host.nbytes

    @property
    def whole(self) -> Ranges:
        """All bytes of the segment."""
        return Ranges.span(self.address, self.address + self.nbytes)

    @property
    def data(self) -> Ranges:
        """The bytes of its fields: all that can be stale."""
        parts = Ranges.of(*((start, stop) for _, start, stop in self.fields))
        return parts.shifted(self.address)

    def take_name(self, label: str) -> None:
        """Call it as the first kernel does that gets it."""
        if not self.is_named:
            self.label, self.is_named = label, True

    def snapshot(self, ranges: Ranges) -> list[tuple[int, bytes]]:
        """A copy of bytes of memory that is the host's own, when nothing works on it."""
        for event in (*self.writers, *self.readers):
            event.wait()
        base = self.address
        return [(start, bytes(self.host[start - base : stop - base])) for start, stop in ranges]

    def restore(self, content: list[tuple[int, bytes]]) -> None:
        """Put a snapshot back."""
        for start, old in content:
            place = start - self.address
            self.host[place : place + len(old)] = old

    def has_place_of(self, address: int, nbytes: int) -> bool:
        """True for the replica of just these bytes."""
        return self.address == address and self.host.nbytes == nbytes

    @property
    def writing(self) -> tuple[Event | Repeated, ...]:
        """The work that has to be done before the memory may be read."""
        CLOCK.settle()
        return self.noted_writing

    @writing.setter
    def writing(self, work: tuple[Event | Repeated, ...]) -> None:
        CLOCK.settle()
        self.noted_writing = work
        CLOCK.now += 1

    @property
    def reading(self) -> tuple[Event | Repeated, ...]:
        """The work that has to be done, too, before the memory may be overwritten."""
        CLOCK.settle()
        return self.noted_reading

    @reading.setter
    def reading(self, work: tuple[Event | Repeated, ...]) -> None:
        CLOCK.settle()
        self.noted_reading = work
        CLOCK.now += 1

    @property
    def writers(self) -> tuple[Event, ...]:
        """The work under way that writes the memory."""
        return events_of(self.writing)

    @writers.setter
    def writers(self, events: tuple[Event, ...]) -> None:
        self.writing = events

    @property
    def readers(self) -> tuple[Event, ...]:
        """The work under way that reads the memory."""
        return events_of(self.reading)

    @readers.setter
    def readers(self, events: tuple[Event, ...]) -> None:
        self.reading = events

    def read_by(self, work: Event | Repeated) -> None:
        """Remember work that reads the memory."""
        reading = self.reading
        if len(reading) >= _MOST_READERS:
            reading = tuple(event for event in self.readers if not event.done)
        self.reading = (*reading, work)

    def written_by(self, work: Event | Repeated) -> None:
        """Remember work that writes the memory, and that waited for all before it."""
        self.writing = (work,)
        self.reading = ()

    def settled(self) -> None:
        """Forget work that is done."""
        self.writing = tuple(event for event in self.writers if not event.done)
        self.reading = tuple(event for event in self.readers if not event.done)


@dataclass(slots=True, eq=False)
class Scan:
    """How the host walks through memory that it fetches: where it came to, in which steps."""

    stop: int = -1
    size: int = 0


@dataclass(slots=True, eq=False)
class Content:
    """What is known of a stretch of host memory.

    `host` are the bytes that are current on the host, `fresh` the zeros that nobody wrote;
    they count as current on the host too. `version` changes when any of it does, and with
    nothing else. `arriving` and `leaving` are copies under way to and from the host's memory.
    `by_kernels` are the bytes that a kernel wrote last; `host_wrote` and `kernel_wrote` say
    who did, for people. `raw_views` are those of all arrays on this memory.
    """

    start: int
    stop: int
    host: Ranges
    fresh: Ranges
    replicas: list[Replica] = field(default_factory=list[Replica])
    arriving: list[tuple[Ranges, Event]] = field(default_factory=list[tuple[Ranges, Event]])
    leaving: list[tuple[Ranges, Event]] = field(default_factory=list[tuple[Ranges, Event]])
    version: int = 0
    by_kernels: Ranges = Ranges.EMPTY
    host_wrote: object = "the host wrote it"
    kernel_wrote: object = ""
    watches: "list[Watch]" = field(default_factory=list["Watch"])
    scan: Scan = field(default_factory=Scan)
    raw_views: list[RawViews] = field(default_factory=list[RawViews])

    @property
    def whole(self) -> Ranges:
        """All bytes."""
        return Ranges.span(self.start, self.stop)

    def replicas_of(self, address: int, nbytes: int) -> list[Replica]:
        """The replicas of exactly this memory."""
        return [replica for replica in self.replicas if replica.has_place_of(address, nbytes)]

    def changed(self) -> None:
        """What is known of it is about to change.

        This comes first: after Ctrl-C nobody takes what is half changed for what it was.
        """
        self.version += 1
        CLOCK.now += 1

    @property
    def is_quiet(self) -> bool:
        """True where the host has everything, and nothing that is under way uses its memory."""
        if self.arriving or self.leaving or not self.host.covers(self.whole):
            return False
        return not any(r.shared and (r.writing or r.reading) for r in self.replicas)

    @property
    def may_be_seen(self) -> bool:
        """Whether somebody has a raw view of it, or had one that nobody has asked for since."""
        return any(self.raw_views) and any(views.meets(self.whole) for views in self.raw_views)

    @property
    def seen(self) -> Ranges:
        """What raw views show that are alive: the host may write it at any time."""
        return Ranges.of(*(part for views in self.raw_views for part in views.shown))

    def end_raw_views(self) -> Ranges:
        """Count as written by the host what raw views showed that have ended; gives those bytes.

        From here on it is known like any other write, whatever becomes of what is done next. Bytes
        that another view still shows are not among them: that one speaks for them.
        """
        shown = (part for views in self.raw_views for part in views.ended(self.whole))
        ended = (Ranges.of(*shown) & self.host) - self.seen
        if ended:
            self.written_by_host(ended, "a raw view of it was alive")
        return ended

    def writer_of(self, ranges: Ranges) -> object:
        """Who wrote bytes last, or the last of several.

        A launch that is repeated leaves its name only at its own event.
        """
        if not self.by_kernels.meets(ranges):
            return self.host_wrote
        for replica in self.replicas:
            for event in replica.writers:
                if event.origin is not None and replica.valid.meets(ranges - self.host):
                    return event.origin
        return self.kernel_wrote

    def written_by_host(self, ranges: Ranges, writer: object) -> None:
        """The host has set these bytes."""
        self._set_on_host(ranges)
        self.by_kernels -= ranges
        self.host_wrote = writer

    def _set_on_host(self, ranges: Ranges) -> None:
        """The bytes in the host's memory are other ones now."""
        stale = [r for r in self.replicas if not r.shared and r.valid.meets(ranges)]
        if stale or self.fresh.meets(ranges) or not self.host.covers(ranges):
            self.changed()
        host, fresh = self.host | ranges, self.fresh - ranges
        others = _setting_valid(stale, [replica.valid - ranges for replica in stale])
        self.host, self.fresh = host, fresh
        deque(others, maxlen=0)

    def written_by_device(self, writing: Replica, ranges: Ranges, writer: object) -> None:
        """A device has set these bytes, or may have, and had the others before."""
        self.by_kernels |= ranges
        self.kernel_wrote = writer
        if writing.shared:
            self._set_on_host(ranges)
            return
        discrete = [r for r in self.replicas if r is not writing and not r.shared]
        stale = [replica for replica in discrete if replica.valid.meets(ranges)]
        if stale or not writing.valid.covers(ranges) or self.host.meets(ranges):
            self.changed()
            self.scan = Scan()
        host, fresh, valid = self.host - ranges, self.fresh - ranges, writing.valid | ranges
        others = _setting_valid(stale, [replica.valid - ranges for replica in stale])
        self.host, self.fresh, writing.valid = host, fresh, valid
        deque(others, maxlen=0)

    def only_at(self, replica: Replica) -> Ranges:
        """What a device has current and nobody else has; nothing if the replica was dropped.

        Ctrl-C may come in the middle of that: then the device still lists it, and its owner has it
        no more.
        """
        if replica not in self.replicas:
            return Ranges.EMPTY
        only = replica.valid - self.host
        for other in self.replicas:
            if other is not replica:
                only -= other.valid
        return only

    def distrust(self, replica: Replica, ranges: Ranges) -> Ranges:
        """What a device has of these bytes may be anything: others have it better, if any do.

        Gives the bytes that are no longer current there.
        """
        stale = (replica.valid & ranges) - self.only_at(replica)
        self.changed()
        replica.valid -= stale
        return stale

    def arrived(self, ranges: Ranges, event: Event) -> None:
        """These bytes are current on the host as soon as some work is done."""
        self.changed()
        self.arriving.append((ranges, event))
        self.host |= ranges

    def arrived_at(self, replica: Replica, ranges: Ranges) -> None:
        """These bytes are current on a device, for work that waits for its writers."""
        self.changed()
        replica.valid |= ranges

    def before_host_reads(self, ranges: Ranges) -> list[Event]:
        """The work under way that gives the host these bytes, and what failed to give them."""
        events = [event for coming, event in self.arriving if coming.meets(ranges)]
        for replica in self.replicas:
            if replica.shared:
                events.extend(replica.writers)
        self.tidy()
        return events

    def before_host_writes(self, ranges: Ranges) -> list[Event]:
        """The work under way that uses these bytes of the host's memory."""
        events = [event for going, event in self.leaving if going.meets(ranges)]
        for replica in self.replicas:
            if replica.shared:
                events.extend(replica.readers)
        return self.before_host_reads(ranges) + events

    def before_unseen_accesses(self) -> list[Event]:
        """The work under way on bytes that raw views show, which may be used at any moment."""
        seen = self.seen
        return self.before_host_writes(seen) if seen else []

    def tidy(self) -> None:
        """Forget work that is done. What a copy failed to bring is not here."""
        for coming, event in self.arriving:
            if has_failed(event):
                self.changed()
                self.host -= coming
        if self.arriving:
            self.arriving = [entry for entry in self.arriving if not entry[1].done]
        if self.leaving:
            self.leaving = [entry for entry in self.leaving if not entry[1].done]
        for replica in self.replicas:
            if replica.shared:
                replica.settled()

    def overcome(self) -> None:
        """Some work failed, which was told: nobody has to wait any more for what is done.

        Writers stay: what failed to write is not there, and whoever needs it must hear so.
        """
        self.tidy()
        for replica in self.replicas:
            replica.readers = tuple(event for event in replica.readers if not event.done)


def _setting_valid(replicas: Iterable[Replica], valid: Iterable[Ranges]) -> Iterator[None]:
    """Says what is current on some devices, when it is walked through.

    A call of C does that in one step, to which belongs what is set just before that call: Ctrl-C
    is heard after calls.
    """
    return map(setattr, replicas, repeat("valid"), valid)


def has_failed(event: Event) -> bool:
    """Whether work is done, and did not end well."""
    if not event.done:
        return False
    try:
        event.wait()
    except ReentryError:  # of a signal handler
        raise
    except TrilbyError:
        return True
    return False


# ----------------------------------------------------------------------------------------- contents
# All memory that any device has seen, in stretches of which something is known.


class Contents:
    """All memory that a device has seen, by address. Stretches that overlap become one."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._all: list[Content] = []

    def around(self, start: int, stop: int, merged: Callable[[Content, Content], None]) -> Content:
        """The content that has these bytes; it is made, or grows, if there is none.

        `merged` hears of each one that is now a part of another.
        """
        place = bisect_right(self._starts, start)
        if place and self._all[place - 1].stop > start:
            place -= 1
        until = place
        while until < len(self._all) and self._all[until].start < stop:
            until += 1
        found = self._all[place:until]
        if len(found) == 1 and found[0].start <= start and stop <= found[0].stop:
            return found[0]
        content = _joined(start, stop, found)
        self._starts[place:until] = [content.start]
        self._all[place:until] = [content]
        for old in found:
            merged(old, content)
        return content

    @property
    def all(self) -> tuple[Content, ...]:
        """All that is known."""
        return tuple(self._all)

    def knows(self, start: int, stop: int) -> bool:
        """Whether there is anything known of any of these bytes."""
        place = bisect_right(self._starts, start)
        before = place > 0 and self._all[place - 1].stop > start
        return before or (place < len(self._all) and self._all[place].start < stop)

    def forget(self, content: Content) -> None:
        """Take out one that no segment has any more."""
        place = bisect_right(self._starts, content.start) - 1
        if place >= 0 and self._all[place] is content:
            del self._starts[place], self._all[place]


def _joined(start: int, stop: int, parts: Iterable[Content]) -> Content:
    """One content for a stretch and all that overlap it; what nobody knew is on the host."""
    known = list(parts)
    for part in known:
        start, stop = min(start, part.start), max(stop, part.stop)
    whole = Ranges.span(start, stop)
    joined = Content(start, stop, whole, Ranges.EMPTY)
    for part in known:
        joined.host -= part.whole - part.host
        joined.fresh |= part.fresh
        joined.replicas += part.replicas
        joined.arriving += part.arriving
        joined.leaving += part.leaving
        joined.version += part.version
        joined.by_kernels |= part.by_kernels
        joined.raw_views += part.raw_views
        joined.host_wrote = part.host_wrote
        joined.kernel_wrote = part.kernel_wrote or joined.kernel_wrote
    joined.changed()
    return joined


CONTENTS = Contents()

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
from itertools import count, repeat
from typing import TYPE_CHECKING, cast

from trilby.backend.base import Memory, Ticket
from trilby.data.ranges import Ranges
from trilby.data.segment import ACCESSES, RawViews, reentered
from trilby.dataclass import dataclass
from trilby.errors import ReentryError, TrilbyError
from trilby.locks import hold_over_forks, new_rlock
from trilby.mending import mend
from trilby.process import PROCESS

if TYPE_CHECKING:
    from trilby.runtime.replicas import Replicas
    from trilby.runtime.watch import Watch


LOCK = new_rlock()

hold_over_forks(0, LOCK.acquire, LOCK.release, LOCK.release)

is_locked_here = cast("Callable[[], bool]", LOCK._is_owned)  # noqa: SLF001  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] -- the only way to ask
"""Whether this thread has the lock: it is in the middle of things."""

PROCESS.must_print_later = is_locked_here


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


@dataclass(slots=True, eq=False)
class Journal:
    """The command that is being given to a device, as a function that notes it.

    An interrupt may come between the moment at which a device takes a command and the moment at
    which buffers know of it. So the function is entered here first. It looks whether the device has
    the command, and may be called twice. While a command is noted, `pending` is that function; else
    it is None.
    """

    pending: Callable[[], object] | None = None

    def commit(self, begin: Callable[[], object], note: Callable[[], object]) -> None:
        """Give a command to a device and note it, with the lock held: both or neither."""
        if self.pending is not None:
            self.recover()
        self.pending = note
        try:
            begin()
            note()
            self.pending = None
        except BaseException:  # also Ctrl-C, or whatever a signal handler raises
            mend(self.recover)
            raise

    def recover(self) -> None:
        """Note a command that an interrupt left behind: the state is that of whole commands."""
        note = self.pending
        if note is not None:
            note()
            self.pending = None


JOURNAL = Journal()


@dataclass(slots=True, eq=False)
class Replica:
    """The memory of a segment on one device, and which bytes of it are current.

    `shared` memory is the host's own: nothing is ever stale there, but work on it must be
    waited for. `writers` is the last command that writes it, which waited for all before it, and
    `readers` the last one of each queue that reads it since. `checks` are launches whose `assert`
    may have failed, which is told to whoever waits. `asked` are the bytes that kernels needed so
    far. `lengths` are the bytes of the lengths of arrays, which are no data: they never change and
    are always there.
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
    writers: tuple[Ticket, ...] = ()
    readers: tuple[Ticket, ...] = ()
    checks: tuple[Ticket, ...] = ()
    last_use: int = 0
    use_before: int = 0
    is_named: bool = False
    asked: Ranges = Ranges.EMPTY
    serial: int = field(default_factory=count().__next__)
    """Tells it from others that may have had the same memory before."""

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

    def has_place_of(self, address: int, nbytes: int) -> bool:
        """True for the replica of just these bytes."""
        return self.address == address and self.host.nbytes == nbytes

    @property
    def under_way(self) -> tuple[Ticket, ...]:
        """The commands that use the memory, as far as they are known not to be done."""
        return (*self.writers, *self.readers)

    def read_by(self, ticket: Ticket) -> None:
        """Remember a command that reads the memory; those before it in its queue are done first."""
        others = (one for one in self.readers if one.queue is not ticket.queue)
        self.readers = (*others, ticket)

    def written_by(self, ticket: Ticket) -> None:
        """Remember a command that writes the memory, and that waited for all before it."""
        self.writers, self.readers = (ticket,), ()

    def settled(self) -> None:
        """Forget commands that are done."""
        self.writers = tuple(one for one in self.writers if not one.done)
        self.readers = tuple(one for one in self.readers if not one.done)


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
    arriving: list[tuple[Ranges, Ticket]] = field(default_factory=list[tuple[Ranges, Ticket]])
    leaving: list[tuple[Ranges, Ticket]] = field(default_factory=list[tuple[Ranges, Ticket]])
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

    @property
    def is_quiet(self) -> bool:
        """True where the host has everything, and nothing that is under way uses its memory."""
        if self.arriving or self.leaving or not self.host.covers(self.whole):
            return False
        return not any(r.checks or (r.shared and r.under_way) for r in self.replicas)

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
        """Who wrote bytes last, or the last of several: a launch leaves its name at its ticket."""
        if not self.by_kernels.meets(ranges):
            return self.host_wrote
        for replica in self.replicas:
            for ticket in replica.writers:
                if ticket.origin is not None and replica.valid.meets(ranges - self.host):
                    return ticket.origin
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

    def arrived(self, ranges: Ranges, ticket: Ticket) -> None:
        """These bytes are current on the host as soon as some work is done."""
        self.changed()
        self.arriving.append((ranges, ticket))
        self.host |= ranges

    def arrived_at(self, replica: Replica, ranges: Ranges) -> None:
        """These bytes are current on a device, for work that waits for its writers."""
        self.changed()
        replica.valid |= ranges

    def before_host_reads(self, ranges: Ranges) -> list[Ticket]:
        """The work under way that gives the host these bytes, and what failed to give them."""
        tickets = [ticket for coming, ticket in self.arriving if coming.meets(ranges)]
        for replica in self.replicas:
            tickets.extend(replica.checks)
            if replica.shared:
                tickets.extend(replica.writers)
        self.tidy()
        return tickets

    def before_host_writes(self, ranges: Ranges) -> list[Ticket]:
        """The work under way that uses these bytes of the host's memory."""
        tickets = [ticket for going, ticket in self.leaving if going.meets(ranges)]
        for replica in self.replicas:
            if replica.shared:
                tickets.extend(replica.readers)
        return self.before_host_reads(ranges) + tickets

    def before_unseen_accesses(self) -> list[Ticket]:
        """The work under way on bytes that raw views show, which may be used at any moment."""
        seen = self.seen
        return self.before_host_writes(seen) if seen else []

    def tidy(self) -> None:
        """Forget work that is done. What a copy failed to bring is not here."""
        for coming, ticket in self.arriving:
            if has_failed(ticket):
                self.changed()
                self.host -= coming
        if self.arriving:
            self.arriving = [entry for entry in self.arriving if not entry[1].done]
        if self.leaving:
            self.leaving = [entry for entry in self.leaving if not entry[1].done]
        for replica in self.replicas:
            if replica.shared:
                replica.settled()
            if replica.checks:
                replica.checks = tuple(
                    one for one in replica.checks if not one.done or has_failed(one)
                )

    def overcome(self) -> None:
        """Some work failed, which was told: nobody has to wait any more for what is done.

        Writers stay: what failed to write is not there, and whoever needs it must hear so.
        """
        self.tidy()
        for replica in self.replicas:
            replica.readers = tuple(one for one in replica.readers if not one.done)


def _setting_valid(replicas: Iterable[Replica], valid: Iterable[Ranges]) -> Iterator[None]:
    """Says what is current on some devices, when it is walked through.

    A call of C does that in one step, to which belongs what is set just before that call: Ctrl-C
    is heard after calls.
    """
    return map(setattr, replicas, repeat("valid"), valid)


def has_failed(ticket: Ticket) -> bool:
    """Whether work is done, and did not end well."""
    if not ticket.done:
        return False
    try:
        ticket.wait()
    except ReentryError:  # of a signal handler
        raise
    except TrilbyError:
        return True
    return False


def wait_whatever(tickets: Iterable[Ticket]) -> None:
    """Return when commands are over, however they end: whoever needs a result hears of that."""
    for ticket in tickets:
        try:
            ticket.wait()
        except ReentryError:  # of a signal handler
            raise
        except TrilbyError:
            pass


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

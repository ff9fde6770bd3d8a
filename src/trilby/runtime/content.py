"""Where the content of some memory is current: on the host, on devices, byte by byte.

`Content.fetch` makes bytes current on one side: it copies what that side lacks, and then both have
it. `Content.touch` notes a write: it leaves only the writer's side current. A read makes nothing
stale; zeros that nobody wrote are everywhere. Who asks, and why, is the business of others.

Bytes are named by their address on the host, so that arrays that share a part of their
memory share what is known of it. All of this is guarded by one lock, `LOCK`: a buffer may
belong to several accelerators and be used by several threads.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import field
from functools import partial
from itertools import count, repeat
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from trilby.backend.base import Memory, Queue, Ticket
from trilby.data.ranges import Ranges, copies, in_few_ranges
from trilby.data.segment import ACCESSES, RawViews, reentered
from trilby.dataclass import dataclass
from trilby.errors import ReentryError, TrilbyError
from trilby.locks import hold_over_forks, new_rlock
from trilby.mending import mend
from trilby.process import PROCESS
from trilby.runtime.profiles import RECORDINGS

if TYPE_CHECKING:
    from trilby.runtime.replicas import Reason, Replicas
    from trilby.runtime.watch import Watch

Direction: TypeAlias = Literal["up", "down"]
"""Whether a copy goes to a device, or comes back."""

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
    it is None. Ctrl-C right after the device took `double` finds it there: `recover` calls it, and
    `b` is valid on the device.
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

    After `double` has written all 4,096 bytes of `b`, `valid` is these, and `writers` the ticket of
    `double`.
    `shared` memory is the host's own: nothing is ever stale there, but work on it must be
    waited for. `writers` is the last command that writes it, which waited for all before it, and
    `readers` the last one of each queue that reads it since. `checks` are launches whose `assert`
    may have failed, which is told to whoever waits. `asked` are the bytes that kernels needed so
    far, and `prefetched` is the version of the content when a plan had brought all of it. `lengths`
    are the bytes of the lengths of arrays, which are no data: they never change and
    are always there.
    """

    owner: "Replicas"
    content: "Content"
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
    prefetched: int = -1
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

    def bytes_of(self, piece: Ranges) -> tuple[int, memoryview]:
        """Where a piece begins in the memory, and the host's bytes from its start to its end."""
        start, stop = piece.start - self.address, piece.stop - self.address
        return start, self.host[start:stop]

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
class Content:
    """What is known of a stretch of host memory.

    After `double` has written `b`, `host` is empty; after `b[5]`, it is the bytes 20 to 24.
    `host` are the bytes that are current on the host, `fresh` the zeros that nobody wrote;
    they count as current on the host too. `version` changes when any of it does, and with
    nothing else. `arriving` and `leaving` are copies under way to and from the host's memory.
    `by_kernels` are the bytes that a kernel wrote last; `host_wrote` and `kernel_wrote` say
    who did, for people. `raw_views` are those of all arrays on this memory. `scan` is where the
    host came to as it walks through memory that it fetches, and how much it fetched last.
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
    scan: tuple[int, int] = (-1, 0)
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
        if not any(self.raw_views):
            return Ranges.EMPTY
        return Ranges.of(*(part for views in self.raw_views for part in views.shown))

    def end_raw_views(self) -> Ranges:
        """Count as written by the host what raw views showed that have ended; gives those bytes.

        From here on it is known like any other write, whatever becomes of what is done next. Bytes
        that another view still shows are not among them: that one speaks for them.
        """
        if not any(self.raw_views):
            return Ranges.EMPTY
        shown = (part for views in self.raw_views for part in views.ended(self.whole))
        ended = (Ranges.of(*shown) & self.host) - self.seen
        if ended:
            self.touch(ended, None, "a raw view of it was alive")
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

    def touch(self, ranges: Ranges, where: Replica | None, writer: object) -> None:
        """The host, or a device, has set these bytes, or may have: nobody else has them now.

        A device on the host's own memory sets them there.
        """
        writing = None if where is None or where.shared else where
        if where is None:
            self.by_kernels -= ranges
            self.host_wrote = writer
        else:
            self.by_kernels |= ranges
            self.kernel_wrote = writer
        others = [one for one in self.replicas if not one.shared and one is not writing]
        stale = [one for one in others if one.valid.meets(ranges)]
        if writing is None:
            has_all = self.host.covers(ranges) and not self.fresh.meets(ranges)
        else:
            has_all = writing.valid.covers(ranges) and not self.host.meets(ranges)
        if has_all and not stale:
            return
        self.changed()
        valid = [one.valid - ranges for one in stale]
        if writing is None:
            host = self.host | ranges
        else:
            host, self.scan = self.host - ranges, (-1, 0)
            stale.append(writing)
            valid.append(writing.valid | ranges)
        fresh = self.fresh - ranges
        # What devices have is set by one call of C, and what the host has just before it: Ctrl-C is
        # heard after calls.
        setting = map(setattr, stale, repeat("valid"), valid)
        self.host, self.fresh = host, fresh
        deque(setting, maxlen=0)

    def fetch(self, ranges: Ranges, reason: "Reason", to: Replica | None = None) -> None:
        """Start to copy bytes to the host, or to a device, as far as it lacks them.

        Zeros that nobody wrote are made on the device.
        """
        if to is None or to.shared:
            self._fetch_to_host(ranges - self.host, reason)
            return
        missing = ranges - to.valid
        zeros = missing & self.fresh
        if zeros:
            zeros = in_few_ranges(zeros, self.fresh - to.valid - to.lengths)
            to.owner.fill(to, zeros, 0)
            missing -= zeros
            self._arrived_at(to, zeros)
        if missing:
            self.copy("up", to, missing, reason)

    def _fetch_to_host(self, missing: Ranges, reason: "Reason") -> None:
        if missing:
            for recording in RECORDINGS:
                recording.notice(self)
        for replica in self.replicas if missing else ():
            found = missing & replica.valid
            if found:
                self.copy("down", replica, found, reason)
                missing -= found
        if missing:
            raise AssertionError(f"{missing} is current nowhere")

    def copy(
        self, direction: "Direction", replica: Replica, ranges: Ranges, reason: "Reason"
    ) -> None:
        """Start to copy bytes to a device or from it, whether the other side has them or not."""
        is_up = direction == "up"
        if is_up:
            self.fetch(ranges, reason)
        replica.owner.check(replica, reason)
        valid = replica.valid
        movable = self.host - self.fresh - valid if is_up else valid - self.host
        for piece in copies(ranges, movable):
            ticket = (self._copy_up if is_up else self._copy_down)(replica, piece)
            replica.owner.tell(direction, replica, piece, reason, ticket)
        if is_up:
            self._arrived_at(replica, ranges)

    def _copy_up(self, replica: Replica, piece: Ranges) -> Ticket:
        after = (*replica.under_way, *self.before_host_reads(piece))

        def note(ticket: Ticket) -> None:
            replica.written_by(ticket)
            self.leaving.append((piece, ticket))

        backend = replica.owner.backend
        begin = partial(backend.upload, replica.memory, *replica.bytes_of(piece), after)
        return give_command(backend.upload_queue, partial(begin, piece.rows), note)

    def _copy_down(self, replica: Replica, piece: Ranges) -> Ticket:
        origin = replica.writers
        after = (*origin, *self.before_host_writes(piece))

        def note(ticket: Ticket) -> None:
            ticket = ticket._replace(origin=origin)
            replica.read_by(ticket)
            self.changed()
            self.arriving.append((piece, ticket))
            self.host |= piece

        backend = replica.owner.backend
        begin = partial(backend.download, replica.memory, *replica.bytes_of(piece), after)
        ticket = give_command(backend.download_queue, partial(begin, piece.rows), note)
        return ticket._replace(origin=origin)

    def _arrived_at(self, replica: Replica, ranges: Ranges) -> None:
        """These bytes are current on a device, for work that waits for its writers."""
        self.changed()
        replica.valid |= ranges

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


def give_command(
    queue: Queue, begin: Callable[[], Ticket], note: Callable[[Ticket], None]
) -> Ticket:
    """Give a queue one command and note it: both or neither, whatever interrupts."""
    before = queue.submitted

    def note_begun() -> None:
        if queue.submitted > before:
            note(Ticket(queue, queue.submitted))

    JOURNAL.commit(begin, note_begun)
    return Ticket(queue, queue.submitted)


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
    """All memory that a device has seen, by address. Stretches that overlap become one.

    Two arrays on one NumPy array have one content, if they share a byte.
    """

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._all: list[Content] = []

    def around(self, start: int, stop: int) -> Content:
        """The content that has these bytes; it is made, or grows, if there is none."""
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
            _move(old, content)
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


def _move(old: Content, new: Content) -> None:
    """A content became a part of another."""
    old.changed()
    for watch in old.watches:
        watch.content = new
        new.watches.append(watch)
    for replica in old.replicas:
        replica.content = new
    old.replicas.clear()


CONTENTS = Contents()

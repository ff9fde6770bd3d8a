"""The copies of buffers on one device: their memory, and how content gets there and back.

What is current where is known to `Content`; this module moves bytes so that it becomes what
somebody needs, and asks for room. Everything here is called with the lock held; it starts
work and waits for none, except where poison or a full device make it.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from trilby.backend.base import Backend, Memory, Queue, Ticket, Times
from trilby.backend.failures import check_buffer, closed
from trilby.data.ranges import Ranges, copies, in_few_ranges
from trilby.data.segment import Segment
from trilby.dataclass import dataclass
from trilby.errors import DeviceError, GuardError, KernelAssertionError, OutOfDeviceMemoryError
from trilby.process import PROCESS
from trilby.runtime.callers import Caller
from trilby.runtime.content import JOURNAL, Content, Replica, has_failed, wait_whatever
from trilby.runtime.explicit import check_eviction
from trilby.runtime.profiles import RECORDINGS

if TYPE_CHECKING:
    from trilby.runtime.ledger import Direction


# --------------------------------------------------------------------------------------------- room
# Room on a device, which is finite: who has to go when a buffer needs memory.
#
# Copies whose content is also elsewhere go first, since they cost nothing; then those that will
# be needed last. When a buffer is needed next is guessed from when it was used before: one that
# is used again and again comes back after the same number of launches.

Evict = Callable[[Content, Replica], None]


class Room:
    """The replicas of one device, and how much memory they may take."""

    def __init__(self, backend: Backend, limit: int | None) -> None:
        self._backend = backend
        self.limit = limit
        self.is_tight = limit is not None
        """Whether it matters who was used when."""
        self.clock = 0
        self._replicas: dict[int, tuple[Content, Replica]] = {}

    @property
    def used(self) -> int:
        """The bytes of the device that replicas take."""
        return sum(replica.nbytes for _, replica in self.replicas if not replica.shared)

    @property
    def replicas(self) -> list[tuple[Content, Replica]]:
        """Everything that is on the device."""
        return list(self._replicas.values())

    def add(self, content: Content, replica: Replica) -> None:
        """Count a replica."""
        self._replicas[id(replica)] = content, replica

    def remove(self, replica: Replica) -> None:
        """Count a replica no more."""
        self._replicas.pop(id(replica), None)

    def moved_to(self, content: Content) -> None:
        """The replicas of a content that was joined with others belong to the new one."""
        for replica in content.replicas:
            if id(replica) in self._replicas:
                self._replicas[id(replica)] = content, replica

    def used_by_launch(self, replicas: Iterable[Replica]) -> None:
        """A launch uses these, each named once."""
        self.clock += 1
        for replica in replicas:
            replica.use_before, replica.last_use = replica.last_use, self.clock

    def allocate(self, nbytes: int, pinned: set[int], evict: Evict) -> Memory:
        """Memory on the device, after others have made room for it.

        `pinned` are the identities of replicas that must stay.
        """
        if self.limit is not None:
            while self.used + nbytes > self.limit:
                self._evict_one(nbytes, pinned, evict, None)
        while True:
            try:
                return self._backend.allocate(nbytes)
            except OutOfDeviceMemoryError as error:
                self.is_tight = True
                self._evict_one(nbytes, pinned, evict, error)

    def _evict_one(
        self, nbytes: int, pinned: set[int], evict: Evict, cause: DeviceError | None
    ) -> None:
        # A list of all first: buffers end at any moment, also while this looks through them.
        free = [pair for pair in self.replicas if id(pair[1]) not in pinned and not pair[1].shared]
        if not free:
            raise self._full(nbytes, pinned, cause) from cause
        evict(*max(free, key=self._next_use))

    def _next_use(self, pair: tuple[Content, Replica]) -> tuple[bool, float]:
        content, replica = pair
        clean = not content.only_at(replica)
        if not replica.use_before:
            return clean, float("inf") if clean else self.clock - replica.last_use
        period = replica.last_use - replica.use_before
        return clean, replica.last_use + period - self.clock

    def _full(
        self, nbytes: int, pinned: set[int], cause: DeviceError | None
    ) -> OutOfDeviceMemoryError:
        if cause is not None and not self._replicas:
            raise cause
        has = sum(self._replicas[key][1].nbytes for key in pinned)
        limit = self.limit if self.limit is not None else self._backend.device.memory_bytes
        what = "the memory limit" if self.limit is not None else self._backend.device.name
        return OutOfDeviceMemoryError(
            f"one launch needs {has + nbytes:,} bytes on the device at the same time, and "
            f"{what} has {limit:,}",
            advice="launch over smaller buffers, one part after the other"
            + (", or raise `memory_limit`" if self.limit is not None else ""),
        )


# ----------------------------------------------------------------------------------------- replicas

POISON = 0xA5
"""The byte that fills copies whose content is stale, when poisoning is on."""


@dataclass(slots=True, eq=False)
class Moved:
    """One copy that was started: what `Replicas` tells whoever records."""

    direction: "Direction"
    replica: Replica
    ranges: Ranges
    reason: "Reason"
    ticket: Ticket
    times: Times | None = None

    def read_times(self) -> None:
        """Take what it took from its queue, if it is over and that is not known."""
        if self.times is None and self.ticket.done:
            self.times = self.ticket.queue.times(self.ticket.number)


class Reason(NamedTuple):
    """Why a copy is made, and the line of the user's program that needs it.

    `Reason("reads it", caller, writer=…, kernel="square")` says "square reads it; the host wrote it
    at app.py:12". The sentence is made when somebody reads it. `is_last` marks the last copy that
    can be made of some content: no guard prevents it.
    """

    need: str
    caller: Caller | None
    is_last: bool = False
    writer: object = None
    kernel: str = ""

    @property
    def text(self) -> str:
        """The sentence for people."""
        need = f"{self.kernel} {self.need}" if self.kernel else self.need
        return need if self.writer is None else f"{need}; {self.writer}"


Hear: TypeAlias = Callable[[Moved], None]


_MOST_UNCHECKED = 64


class Replicas:
    """The device memory of one accelerator.

    `unchecked` are launches that have no buffers, or none any more, and whose `assert` may have
    failed.
    """

    def __init__(
        self, backend: Backend, hear: Hear, *, share: bool, poison: bool, limit: int | None
    ) -> None:
        self.backend = backend
        self._hear = hear
        self.shares = share
        self._poison = poison
        self.room = Room(backend, limit)
        self.guards = 0
        self.is_closed = False
        self.unchecked: tuple[Ticket, ...] = ()
        number = next(PROCESS.opening_numbers[backend.device.spec])
        self._place = backend.device.spec + (f"#{number}" if number > 1 else "")

    @property
    def place(self) -> str:
        """The name of the device, for traces: the second accelerator on it is `opencl:0#2`."""
        return self._place

    @property
    def all(self) -> list[tuple[Content, Replica]]:
        """Everything that is on the device."""
        return self.room.replicas

    # ------------------------------------------------------------------------- memory

    def of(self, content: Content, segment: Segment) -> Replica | None:
        """The replica of a segment, if there is one."""
        for replica in content.replicas:
            if replica.owner is self and replica.has_place_of(segment.address, segment.nbytes):
                return replica
        return None

    def make(
        self, content: Content, segment: Segment, lengths: Iterable[range], pinned: set[int]
    ) -> Replica:
        """Memory for a segment; others make room for it, but none that is pinned."""
        if self.is_closed:
            raise closed(self.backend.device)
        host = segment.memory.data
        check_buffer(self.backend.device, segment.label, host.nbytes)
        memory = self.backend.share(host) if self.shares else None
        shared = memory is not None
        if memory is None:
            memory = self.room.allocate(host.nbytes, pinned, self.send_home)
        replica = Replica(self, memory, host, segment.address, segment.label, shared)
        try:
            if not shared:
                self._begin(replica, lengths)
            content.changed()
            self.room.add(content, replica)
            content.replicas.append(replica)
        except BaseException:
            self.drop(content, replica)
            raise
        return replica

    def _begin(self, replica: Replica, lengths: Iterable[range]) -> None:
        """New memory holds nothing but the lengths of its arrays, which are no data."""
        if self._poison:
            self._fill(replica, replica.whole, POISON)
        self.add_lengths(replica, lengths)

    def add_lengths(self, replica: Replica, lengths: Iterable[range]) -> None:
        """Copy the lengths of arrays, which a device needs and nobody ever changes."""
        for part in lengths if not replica.shared else ():
            source, after = replica.host[part.start : part.stop], replica.under_way
            give_command(
                self.backend.upload_queue,
                partial(self.backend.upload, replica.memory, part.start, source, after),
                replica.written_by,
            )
            replica.lengths |= Ranges.span(part.start, part.stop).shifted(replica.address)

    def drop(self, content: Content, replica: Replica) -> None:
        """Give the memory back; what only it had current is lost."""
        content.changed()
        if replica in content.replicas:  # not where Ctrl-C came before
            content.replicas.remove(replica)
        self.room.remove(replica)
        self.check_later(replica.checks)
        self.backend.free(replica.memory, replica.under_way)

    def check_later(self, checks: Iterable[Ticket]) -> None:
        """Let `accelerator.wait()` hear whether these launches failed."""
        known = self.unchecked
        if len(known) >= _MOST_UNCHECKED:
            known = tuple(one for one in known if not one.done or has_failed(one))
        self.unchecked = (*known, *(one for one in checks if one not in known))

    def has_told(self, failure: Ticket) -> None:
        """Somebody heard of an `assert` that failed: nobody else has to."""

        def without(tickets: tuple[Ticket, ...]) -> tuple[Ticket, ...]:
            return tuple(one for one in tickets if one != failure)

        self.unchecked = without(self.unchecked)
        for _, one in self.all:
            one.checks, one.writers = without(one.checks), without(one.writers)
            one.readers = without(one.readers)

    def send_home(self, content: Content, replica: Replica) -> None:
        """Give the memory back when the host has all that only it had current."""
        check_eviction(replica)
        only = content.only_at(replica)
        if only:
            reason = Reason("the device is full, and it is needed last", None)
            self.to_host(content, only, reason)
            for ticket in content.before_unseen_accesses():
                with suppress(KernelAssertionError):  # it is told later
                    ticket.wait()
        self.drop(content, replica)

    # ------------------------------------------------------------------------- copies

    def to_device(self, content: Content, replica: Replica, ranges: Ranges, reason: Reason) -> None:
        """Make bytes current on the device; zeros that nobody wrote are made there."""
        if replica.shared:
            self.to_host(content, ranges - content.host, reason)
            return
        missing = ranges - replica.valid
        zeros = missing & content.fresh
        if zeros:
            zeros = in_few_ranges(zeros, content.fresh - replica.valid - replica.lengths)
            self._fill(replica, zeros, 0)
            missing -= zeros
            content.arrived_at(replica, zeros)
        if missing:
            self.to_host(content, missing - content.host, reason)
            self._upload(content, replica, missing, reason)
            content.arrived_at(replica, missing)

    def upload(self, content: Content, replica: Replica, reason: Reason) -> None:
        """Copy all bytes to the device, whether it has them or not."""
        self.to_host(content, replica.whole - content.host, reason)
        self._upload(content, replica, replica.whole, reason)
        content.arrived_at(replica, replica.whole)

    def download(self, content: Content, replica: Replica, ranges: Ranges, reason: Reason) -> None:
        """Copy bytes to the host, whether it has them or not."""
        _download(content, replica, ranges, reason)

    def to_host(self, content: Content, missing: Ranges, reason: Reason) -> None:
        """Make bytes current on the host that are not, from wherever they are."""
        bring_home(content, missing, reason)

    def _upload(self, content: Content, replica: Replica, ranges: Ranges, reason: Reason) -> None:
        self.check(replica, reason)
        movable = content.host - content.fresh - replica.valid
        for piece in copies(ranges, movable):
            after = (*replica.under_way, *content.before_host_reads(piece))

            def note(ticket: Ticket, piece: Ranges = piece) -> None:
                replica.written_by(ticket)
                content.leaving.append((piece, ticket))

            begin = partial(_copy_up, replica, piece, after)
            ticket = give_command(self.backend.upload_queue, begin, note)
            self.tell("up", replica, piece, reason, ticket)

    def check(self, replica: Replica, reason: Reason) -> None:
        """Refuse to move anything while a guard is set."""
        if self.guards and not reason.is_last:
            raise GuardError(
                f"`{replica.label}` has to move inside of `accelerator.guard()`: {reason.text}",
                advice="bring it before the guarded block, or take this access out of it",
                location=reason.caller.location if reason.caller else None,
            )

    def tell(
        self,
        direction: "Direction",
        replica: Replica,
        ranges: Ranges,
        reason: Reason,
        ticket: Ticket,
    ) -> None:
        """Let whoever records hear of a copy."""
        self._hear(Moved(direction, replica, ranges, reason, ticket))

    # ------------------------------------------------------------------------- poison

    def spoil_host(self, content: Content, replica: Replica, stale: Ranges) -> None:
        """Overwrite what is no longer current on the host, for tests."""
        if not self._poison or not stale:
            return
        wait_whatever(content.before_host_writes(stale))
        memory = np.frombuffer(replica.host, np.uint8)
        for start, stop in stale:
            memory[start - replica.address : stop - replica.address] = POISON

    def spoil_device(self, replica: Replica, stale: Ranges) -> None:
        """Overwrite what is no longer current on the device, for tests."""
        if self._poison:
            self._fill(replica, stale - replica.lengths, POISON)

    def _fill(self, replica: Replica, ranges: Ranges, byte: int) -> None:
        for start, stop in ranges:
            place, after = (start - replica.address, stop - start, byte), replica.under_way
            give_command(
                self.backend.upload_queue,
                partial(self.backend.fill, replica.memory, *place, after),
                replica.written_by,
            )


def bring_home(content: Content, missing: Ranges, reason: Reason) -> None:
    """Start to copy bytes to the host that it lacks, from the devices that have them."""
    if missing:
        for recording in RECORDINGS:
            recording.notice(content)
    for replica in content.replicas:
        found = missing & replica.valid
        if found:
            _download(content, replica, found, reason)
            missing -= found
    if missing:
        raise AssertionError(f"{missing} is current nowhere")


def _download(content: Content, replica: Replica, ranges: Ranges, reason: Reason) -> None:
    replica.owner.check(replica, reason)
    queue = replica.owner.backend.download_queue
    for piece in copies(ranges, replica.valid - content.host):
        after = (*replica.writers, *content.before_host_writes(piece))
        origin = replica.writers

        def note(ticket: Ticket, piece: Ranges = piece, origin: object = origin) -> None:
            ticket = ticket._replace(origin=origin)
            replica.read_by(ticket)
            content.arrived(piece, ticket)

        ticket = give_command(queue, partial(_copy_down, replica, piece, after), note)
        replica.owner.tell("down", replica, piece, reason, ticket._replace(origin=origin))


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


def _copy_up(replica: Replica, piece: Ranges, after: Sequence[Ticket]) -> Ticket:
    """Start to copy from the host's memory."""
    start, stop = piece.shifted(-replica.address).hull
    source, rows = replica.host[start:stop], piece.rows
    return replica.owner.backend.upload(replica.memory, start, source, after, rows)


def _copy_down(replica: Replica, piece: Ranges, after: Sequence[Ticket]) -> Ticket:
    """Start to copy to the host's memory."""
    start, stop = piece.shifted(-replica.address).hull
    target, rows = replica.host[start:stop], piece.rows
    return replica.owner.backend.download(replica.memory, start, target, after, rows)

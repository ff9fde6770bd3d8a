"""The copies of buffers on one device: their memory, and the room that it takes.

What is current where is known to `Content`, which copies it. Everything here is called with the
lock held; it starts work and waits for none, except where poison or a full device make it.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from trilby.backend.base import Backend, Memory, Ticket, Times
from trilby.backend.failures import check_buffer, closed
from trilby.data.ranges import Ranges
from trilby.data.segment import Segment
from trilby.dataclass import dataclass
from trilby.errors import DeviceError, GuardError, KernelAssertionError, OutOfDeviceMemoryError
from trilby.process import PROCESS
from trilby.runtime.callers import Caller
from trilby.runtime.content import (
    Content,
    Direction,
    Replica,
    give_command,
    has_failed,
    wait_whatever,
)
from trilby.runtime.explicit import check_eviction

# --------------------------------------------------------------------------------------------- room
# Room on a device, which is finite: who has to go when a buffer needs memory.
#
# Copies whose content is also elsewhere go first, since they cost nothing; then those that will
# be needed last. When a buffer is needed next is guessed from when it was used before: one that
# is used again and again comes back after the same number of launches.


class Room:
    """The replicas of one device, and how much memory they may take.

    With a limit of 8,192 bytes, and with `a` and `b` of 4,096 bytes there, a third buffer of that
    size has the one of them evicted that is needed last.
    """

    def __init__(self, backend: Backend, limit: int | None) -> None:
        self._backend = backend
        self.limit = limit
        self.is_tight = limit is not None
        """Whether it matters who was used when."""
        self.clock = 0
        self._replicas: dict[int, Replica] = {}

    @property
    def used(self) -> int:
        """The bytes of the device that replicas take."""
        return sum(replica.nbytes for replica in self.replicas if not replica.shared)

    @property
    def replicas(self) -> list[Replica]:
        """Everything that is on the device."""
        return list(self._replicas.values())

    def add(self, replica: Replica) -> None:
        """Count a replica."""
        self._replicas[id(replica)] = replica

    def remove(self, replica: Replica) -> None:
        """Count a replica no more."""
        self._replicas.pop(id(replica), None)

    def used_by_launch(self, replicas: Iterable[Replica]) -> None:
        """A launch uses these, each named once."""
        self.clock += 1
        for replica in replicas:
            replica.use_before, replica.last_use = replica.last_use, self.clock

    def allocate(self, nbytes: int, pinned: set[int], evict: Callable[[Replica], None]) -> Memory:
        """Memory on the device, after others have made room for it.

        `pinned` are the identities of replicas that must stay.
        """
        if self.limit is not None:
            while self.used + nbytes > self.limit:
                evict(self._last_needed(nbytes, pinned, None))
        while True:
            try:
                return self._backend.allocate(nbytes)
            except OutOfDeviceMemoryError as error:
                self.is_tight = True
                evict(self._last_needed(nbytes, pinned, error))

    def _last_needed(self, nbytes: int, pinned: set[int], cause: DeviceError | None) -> Replica:
        # A list of all first: buffers end at any moment, also while this looks through them.
        free = [one for one in self.replicas if id(one) not in pinned and not one.shared]
        if not free:
            raise self._full(nbytes, pinned, cause) from cause
        return max(free, key=self._next_use)

    def _next_use(self, replica: Replica) -> tuple[bool, float]:
        clean = not replica.content.only_at(replica)
        if not replica.use_before:
            return clean, float("inf") if clean else self.clock - replica.last_use
        period = replica.last_use - replica.use_before
        return clean, replica.last_use + period - self.clock

    def _full(
        self, nbytes: int, pinned: set[int], cause: DeviceError | None
    ) -> OutOfDeviceMemoryError:
        if cause is not None and not self._replicas:
            raise cause
        has = sum(self._replicas[key].nbytes for key in pinned)
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
    """One copy that was started, for ledgers, recordings and profiles: 4,096 bytes of `a`, "up"."""

    direction: Direction
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
    """The device memory of one accelerator: after `double`, the replicas of `a` and `b`.

    `unchecked` are launches that have no buffers, or none any more, and whose `assert` may have
    failed.
    """

    def __init__(
        self, backend: Backend, hear: Hear, *, share: bool, poison: bool, limit: int | None
    ) -> None:
        self.backend = backend
        self._hear = hear
        self.shares = share
        self.poisons = poison
        self.room = Room(backend, limit)
        self.guards = 0
        self.is_closed = False
        self.unchecked: tuple[Ticket, ...] = ()
        number = next(PROCESS.opening_numbers[backend.device.spec])
        self.place = backend.device.spec + (f"#{number}" if number > 1 else "")
        """The name of the device, for traces: the second accelerator on it is `opencl:0#2`."""

    @property
    def all(self) -> list[Replica]:
        """Everything that is on the device."""
        return self.room.replicas

    # ------------------------------------------------------------------------- memory

    def of(self, content: Content, segment: Segment) -> Replica | None:
        """The replica of a segment, if there is one."""
        for replica in content.replicas:
            if replica.owner is self and replica.has_place_of(segment.address, segment.nbytes):
                return replica
        return None

    def obtain(
        self,
        content: Content,
        segment: Segment,
        lengths: Iterable[range],
        fields: tuple[tuple[str, int, int], ...],
        pinned: set[int],
    ) -> Replica:
        """The replica of a segment; others make room for a new one, but none that is pinned."""
        replica = self.of(content, segment)
        if replica is None:
            replica = self.make(content, segment, lengths, pinned)
        elif not replica.lengths:
            self.add_lengths(replica, lengths)
        replica.fields = fields or replica.fields
        return replica

    def make(
        self, content: Content, segment: Segment, lengths: Iterable[range], pinned: set[int]
    ) -> Replica:
        """Memory for a segment."""
        if self.is_closed:
            raise closed(self.backend.device)
        host = segment.memory.data
        check_buffer(self.backend.device, segment.label, host.nbytes)
        memory = self.backend.share(host) if self.shares else None
        shared = memory is not None
        if memory is None:
            memory = self.room.allocate(host.nbytes, pinned, self.send_home)
        replica = Replica(self, content, memory, host, segment.address, segment.label, shared)
        try:
            if self.poisons and not shared:
                self.fill(replica, replica.whole, POISON)
            self.add_lengths(replica, lengths)
            content.changed()
            self.room.add(replica)
            content.replicas.append(replica)
        except BaseException:
            self.drop(replica)
            raise
        return replica

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

    def drop(self, replica: Replica) -> None:
        """Give the memory back; what only it had current is lost."""
        content = replica.content
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
        for one in self.all:
            one.checks, one.writers = without(one.checks), without(one.writers)
            one.readers = without(one.readers)

    def send_home(self, replica: Replica) -> None:
        """Give the memory back when the host has all that only it had current."""
        check_eviction(replica)
        content = replica.content
        only = content.only_at(replica)
        if only:
            content.fetch(only, Reason("the device is full, and it is needed last", None))
            for ticket in content.before_unseen_accesses():
                with suppress(KernelAssertionError):  # it is told later
                    ticket.wait()
        self.drop(replica)

    # ------------------------------------------------------------------------- copies

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
        direction: Direction,
        replica: Replica,
        ranges: Ranges,
        reason: Reason,
        ticket: Ticket,
    ) -> None:
        """Let whoever records hear of a copy."""
        self._hear(Moved(direction, replica, ranges, reason, ticket))

    def fill(self, replica: Replica, ranges: Ranges, byte: int) -> None:
        """Set bytes on the device."""
        for start, stop in ranges:
            place, after = (start - replica.address, stop - start, byte), replica.under_way
            give_command(
                self.backend.upload_queue,
                partial(self.backend.fill, replica.memory, *place, after),
                replica.written_by,
            )

    def poison(self, replica: Replica, on_host: Ranges, on_device: Ranges) -> None:
        """Overwrite what is no longer current with a pattern: a missing copy cannot hide then."""
        if not self.poisons:
            return
        self.fill(replica, on_device - replica.lengths, POISON)
        on_host &= replica.whole
        if on_host:
            wait_whatever(replica.content.before_host_writes(on_host))
        memory = np.frombuffer(replica.host, np.uint8)
        for start, stop in on_host:
            memory[start - replica.address : stop - replica.address] = POISON


Current: TypeAlias = list[tuple[Content, Ranges, list[tuple[Replica, Ranges]]]]
"""Contents, with what was current of each on the host and on devices."""


def current_in(contents: Iterable[Content]) -> Current:
    """What is current in contents whose stale bytes are to be poisoned: mostly there are none."""
    return [
        (content, content.host, [(replica, replica.valid) for replica in content.replicas])
        for content in contents
        if any(replica.owner.poisons for replica in content.replicas)
    ]


def poison_stale(before: Current, writer: Replicas | None = None) -> None:
    """Poison what is no longer current, after a write by a device, or by the host."""
    for content, host, replicas in before:
        for replica, valid in replicas:
            on_host = host - content.host if replica.owner is writer else Ranges.EMPTY
            replica.owner.poison(replica, on_host, valid - replica.valid)

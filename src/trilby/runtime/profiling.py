"""What launches, copies, compilations and waits took, while a profile is open.

Tickets are read when their commands are over: at the end, or when many have piled up. So the
program under measurement waits for nothing that it would not wait for anyway.
"""

from collections import deque
from dataclasses import field, replace
from threading import RLock
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from trilby.backend.base import Backend, Queue, Ticket, Times
from trilby.dataclass import dataclass
from trilby.locks import if_free, new_rlock
from trilby.runtime.content import wait_whatever
from trilby.runtime.launch_buffers import KernelWrite, launch_of
from trilby.runtime.profiles import WaitedAt
from trilby.source import Location
from trilby.stages import Spent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trilby.runtime.content import Replica
    from trilby.runtime.passes import PortionTimes
    from trilby.runtime.replicas import Moved

MOST_UNREAD = 1024
"""So many commands pile up before those that are over are read. Queues remember 4,096."""

_MOST_UNUSED = 256
"""So many buffers are remembered that came to the device and were not used by now."""


# ------------------------------------------------------------------------------------------ figures
# What is added up for a profile: counts, bytes, seconds.


@dataclass(slots=True)
class RunFigures:
    """Runs of a kernel. Those that failed are counted, and took no time."""

    count: int = 0
    failed: int = 0
    seconds: float = 0.0
    least: float = 0.0
    most: float = 0.0
    delay: float = 0.0

    def add(self, times: Times | None) -> None:
        """Add one run."""
        self.count += 1
        if times is None:
            self.failed += 1
            return
        seconds = times.seconds
        is_first = self.count - self.failed == 1
        self.least = seconds if is_first else min(self.least, seconds)
        self.most = max(self.most, seconds)
        self.seconds += seconds
        self.delay += times.queued


@dataclass(slots=True)
class CopyFigures:
    """Copies in one direction."""

    copies: int = 0
    nbytes: int = 0
    seconds: float = 0.0

    def add(self, nbytes: int, seconds: float) -> None:
        """Add one copy."""
        self.copies += 1
        self.nbytes += nbytes
        self.seconds += seconds

    def remove(self, nbytes: int, seconds: float) -> None:
        """Take one copy out that belongs elsewhere."""
        self.copies -= 1
        self.nbytes -= nbytes
        self.seconds -= seconds


@dataclass(slots=True)
class BothWays:
    """Copies to the device and back."""

    up: CopyFigures = field(default_factory=CopyFigures)
    down: CopyFigures = field(default_factory=CopyFigures)

    def copy(self) -> "BothWays":
        """The figures of now."""
        return BothWays(replace(self.up), replace(self.down))


@dataclass(slots=True)
class DispatchFigures:
    """The dispatches of a kernel from one line, with the copies for them and of their results."""

    runs: RunFigures = field(default_factory=RunFigures)
    copies: BothWays = field(default_factory=BothWays)
    wait_seconds: float = 0.0

    def copy(self) -> "DispatchFigures":
        """The figures of now."""
        return DispatchFigures(replace(self.runs), self.copies.copy(), self.wait_seconds)


@dataclass(slots=True)
class WaitFigures:
    """How often and how long the host waited."""

    count: int = 0
    seconds: float = 0.0
    most: float = 0.0

    def add(self, seconds: float) -> None:
        """Add one wait."""
        self.count += 1
        self.seconds += seconds
        self.most = max(self.most, seconds)


class Dispatched(NamedTuple):
    """A kernel, and the line that dispatched it."""

    kernel: str
    file: str
    line: int

    @classmethod
    def by(cls, writer: KernelWrite) -> "Dispatched":
        """What dispatched a launch."""
        caller = writer.caller
        return cls(writer.kernel, caller.code.co_filename, caller.number)

    @property
    def location(self) -> Location:
        """The line."""
        return Location(self.file, self.line)


class CopyPlace(NamedTuple):
    """A buffer, and the field where a copy lies; empty where it has parts of several."""

    buffer: str
    field: str


@dataclass(slots=True, eq=False)
class Command:
    """A launch, or a copy with its `place`; `times` are there when it was read.

    Many passes have `portions`.
    """

    ticket: Ticket | None
    figures: "DispatchFigures | None"
    times: Times | None = None
    portions: "PortionTimes | None" = None
    is_up: bool = False
    place: CopyPlace | None = None
    nbytes: int = 0


@dataclass(slots=True, eq=False)
class Book:
    """All that is taken down for one profile of an accelerator, and of all its threads.

    `backends` are the devices that it uses: more than one where it had to take another. `_unread`
    are commands in the order in which they were submitted; the figures lack what they took.
    `_unused` are copies to the device that no launch has used yet, by the serial of their replica.
    Whoever has `_lock` reads, and may wait for commands.
    """

    hears_calls: ClassVar = False

    backends: list[Backend]
    compiled: Spent = field(default_factory=Spent)
    waits: dict[WaitedAt, WaitFigures] = field(default_factory=dict)
    buffers: dict[CopyPlace, BothWays] = field(default_factory=dict)
    _dispatches: dict[Dispatched, DispatchFigures] = field(default_factory=dict)
    _last: "tuple[KernelWrite | None, DispatchFigures]" = field(
        default_factory=lambda: (None, DispatchFigures())
    )
    _told: dict[Queue, int] = field(default_factory=dict)
    _unread: deque[Command] = field(default_factory=deque)
    _unused: dict[int, list[Command]] = field(default_factory=dict)
    _lock: RLock = field(default_factory=new_rlock)

    # ------------------------------------------------------------------------- taking down

    def launched(
        self,
        writer: KernelWrite,
        ticket: Ticket | None,
        replicas: "Sequence[Replica]" = (),
        portions: "PortionTimes | None" = None,
    ) -> Command:
        """A kernel was launched, once or for many passes; without a ticket, it was refused.

        After an interrupt it may be told twice, and counts once.
        """
        last = self._unread[-1] if self._unread else Command(None, None)
        told = self._told.get(ticket.queue, 0) if ticket is not None and portions is None else 0
        if ticket is not None and (ticket.number <= told or last.ticket == ticket):
            return last
        known, figures = self._last
        if known is not writer:
            figures = self._dispatch(writer)
            self._last = writer, figures
        for replica in replicas if self._unused else ():
            for copy in self._unused.pop(replica.serial, ()):
                self._use(copy, figures, replica.label)
        command = Command(ticket, figures, portions=portions)
        self._unread.append(command)
        if ticket is not None:
            self._told[ticket.queue] = ticket.number  # behind it: it counts also if Ctrl-C comes
        self._read_some()
        return command

    def moved(self, moved: "Moved") -> Command:
        """A copy was started."""
        replica, is_up = moved.replica, moved.direction == "up"
        writer = None if is_up else launch_of(moved.ticket)
        figures = None if writer is None else self._dispatch(writer)
        place = _place(moved)
        copy = Command(moved.ticket, figures, None, None, is_up, place, moved.ranges.nbytes)
        if is_up:
            self._unused.setdefault(replica.serial, []).append(copy)
            if len(self._unused) > _MOST_UNUSED:
                del self._unused[next(iter(self._unused))]
        self._unread.append(copy)
        self._read_some()
        return copy

    def waited(self, ticket: Ticket, seconds: float, at: WaitedAt) -> None:
        """The host waited for a command."""
        self.waits.setdefault(at, WaitFigures()).add(seconds)
        writer = launch_of(ticket)
        if writer is not None:
            self._dispatch(writer).wait_seconds += seconds

    def add_compiled(self, spent: Spent) -> None:
        """Something was compiled."""
        for key, seconds in spent.items():
            self.compiled[key] = self.compiled.get(key, 0.0) + seconds

    def called(self, function: str, began: float) -> None:
        """A compute function has returned that was called at that time, if it `hears_calls`."""

    def _dispatch(self, writer: KernelWrite) -> DispatchFigures:
        return self._dispatches.setdefault(Dispatched.by(writer), DispatchFigures())

    def _use(self, copy: Command, figures: DispatchFigures, label: str) -> None:
        """A launch uses what was copied to the device: it has a name from now on at the latest."""
        before = copy.place
        if before is None:
            return
        place = before._replace(buffer=label)
        copy.figures, copy.place = figures, place
        times = copy.times
        if times is None:
            return  # it is counted when it is read
        self.buffers.setdefault(before, BothWays()).up.remove(copy.nbytes, times.seconds)
        for one in (self.buffers.setdefault(place, BothWays()), figures.copies):
            one.up.add(copy.nbytes, times.seconds)

    def _read_some(self) -> None:
        """Read what is over, if much has piled up."""
        if len(self._unread) > MOST_UNREAD:
            if_free(self._lock, lambda: self._read(wait=len(self._unread) > 2 * MOST_UNREAD))

    # ----------------------------------------------------------------------------- reading

    def settle(self) -> None:
        """Wait for all that was begun, however it ends, and read it."""
        with self._lock:
            self._read(wait=True)

    def dispatches(self) -> dict[Dispatched, DispatchFigures]:
        """What is known by now of every kernel and line."""
        with self._lock:
            return {line: figures.copy() for line, figures in tuple(self._dispatches.items())}

    def _read(self, *, wait: bool) -> None:
        while self._unread:
            command = self._unread[0]
            ticket = command.ticket
            if ticket is not None:
                if wait and not ticket.done:
                    wait_whatever([ticket])
                if not ticket.done:
                    return
                portions = command.portions
                command.times = portions.read() if portions else ticket.queue.times(ticket.number)
            self._count(command)
            self._unread.popleft()

    def _count(self, command: Command) -> None:
        times, place, figures = command.times, command.place, command.figures
        if place is None:
            if figures is not None:
                figures.runs.add(times)
            return
        seconds = times.seconds if times else 0.0
        command.times = times or Times(None, 0.0)
        ways = self.buffers.setdefault(place, BothWays())
        for one in (ways, figures.copies if figures is not None else None):
            if one is not None:
                (one.up if command.is_up else one.down).add(command.nbytes, seconds)


def _place(moved: "Moved") -> CopyPlace:
    """The buffer and, where a copy lies within one field, that field."""
    replica = moved.replica
    start, stop = moved.ranges.shifted(-replica.address).hull
    inside = (name for name, first, last in replica.fields if first <= start and stop <= last)
    return CopyPlace(replica.label, next(inside, ""))

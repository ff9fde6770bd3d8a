"""The buffers of a launch: what it does with each, and where that lies on its device."""

from typing import cast

from trilby.backend.base import Ticket
from trilby.data.ranges import Ranges
from trilby.data.segment import Segment
from trilby.data.touched import Touched
from trilby.dataclass import dataclass
from trilby.runtime.callers import Caller
from trilby.runtime.content import Content, Replica


@dataclass(frozen=True, slots=True)
class Writer:
    """Who wrote some bytes, and at which line: "square wrote it at app.py:12".

    A launch is known by the name of its kernel: it is the origin of tickets. The host is
    `Writer("the host", caller)`.
    """

    kernel: str
    caller: Caller

    def __str__(self) -> str:
        return f"{self.kernel} wrote it at {self.caller.line.short}"


def launch_of(ticket: Ticket) -> Writer | None:
    """The launch that a ticket is of, or whose result it copies; None where nobody knows.

    The origin of a copy are the tickets of those who wrote what it copies.
    """
    origin = ticket.origin
    if isinstance(origin, Writer):
        return origin
    if not isinstance(origin, tuple):
        return None
    writers = map(launch_of, cast("tuple[Ticket, ...]", origin))
    return next((launch for launch in writers if launch is not None), None)


@dataclass(frozen=True, slots=True)
class Use:
    """A buffer argument of a launch: its memory, what the kernel does with it, what to call it.

    For `a` of `double`: its segment, `touched` that reads 4,096 bytes, and the label "a".
    `lengths` are the bytes that hold the lengths of arrays: they are set when the buffer is
    created and belong to every copy of it. `fields` are name, start and stop of all data.
    """

    segment: Segment
    touched: Touched
    label: str
    lengths: tuple[range, ...] = ()
    fields: tuple[tuple[str, int, int], ...] = ()


@dataclass(slots=True, eq=False)
class LaunchBuffer:
    """A buffer of a launch on its device: the bytes that are touched, by their host addresses.

    Two arguments that are the same buffer are one `LaunchBuffer`. `double` reads 4,096 bytes of
    `a`: its `touched.reads` are those of `a`, its `touched.writes` are empty. `escaped` is what
    untracked views show of it, and may have been written through them; `seen` is the part of views
    that are still alive.
    """

    replica: Replica
    touched: Touched
    escaped: Ranges
    seen: Ranges

    @property
    def content(self) -> Content:
        """What is current of it where."""
        return self.replica.content

    @property
    def is_there(self) -> bool:
        """Whether it still has its place on the device, and nobody else writes it unseen."""
        return self.replica in self.content.replicas and not self.content.may_be_seen

    @property
    def has_other_users(self) -> bool:
        """True where the host's memory is that of several devices, or of several arrays on one."""
        return self.replica.shared and sum(one.shared for one in self.content.replicas) > 1

    def before(self) -> list[Ticket]:
        """The commands that must be done before the launch may run."""
        replica, touched = self.replica, self.touched
        after = list(replica.under_way if touched.writes else replica.writers)
        if replica.shared and touched.writes:
            after += self.content.before_host_writes(touched.reads | touched.writes)
        elif replica.shared:
            after += self.content.before_host_reads(touched.reads)
        return after

"""The buffers of a launch: what it does with each, and where that lies on its device."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

from trilby.backend.base import Event
from trilby.data.ranges import Ranges
from trilby.data.segment import Segment
from trilby.data.touched import Touched
from trilby.dataclass import dataclass
from trilby.runtime.callers import Caller
from trilby.runtime.content import Content, Replica

# ------------------------------------------------------------------------------------------ origins
# Which launch some work belongs to: what its event says when it fails or is measured.


@dataclass(frozen=True, slots=True)
class KernelWrite:
    """Which launch wrote, for the cause of a copy and for what fails."""

    kernel: str
    caller: Caller

    def __str__(self) -> str:
        return f"{self.kernel} wrote it at {self.caller.line.short}"


def launch_of(event: Event) -> KernelWrite | None:
    """The launch that an event is of, or whose result it copies; None where nobody knows.

    The origin of a copy are the events of those who wrote what it copies.
    """
    origin = event.origin
    if isinstance(origin, KernelWrite):
        return origin
    if not isinstance(origin, tuple):
        return None
    writers = map(launch_of, cast("tuple[Event, ...]", origin))
    return next((launch for launch in writers if launch is not None), None)


# --------------------------------------------------------------------------------------------- held


@dataclass(frozen=True, slots=True)
class Use:
    """A buffer in a launch: its memory, what the kernel does with it, what to call it.

    `lengths` are the bytes that hold the lengths of arrays: they are set when the buffer is
    created and belong to every copy of it. `fields` are name, start and stop of all data.
    """

    segment: Segment
    touched: Touched
    label: str
    lengths: tuple[range, ...] = ()
    fields: tuple[tuple[str, int, int], ...] = ()


@dataclass(slots=True, eq=False)
class HeldBuffer:
    """A buffer of a launch on its device: what is read, written and covered, by address.

    `escaped` is what raw views show of its content, and may have been written through them; `seen`
    is the part of views that are still alive.
    """

    content: Content
    replica: Replica
    reads: Ranges
    writes: Ranges
    covers: Ranges
    escaped: Ranges
    seen: Ranges

    @property
    def needs(self) -> Ranges:
        """What must be current on the device: also what may be left as it is."""
        return self.reads | (self.writes - self.covers)

    @property
    def is_there(self) -> bool:
        """Whether it still has its place on the device, and nobody else writes it unseen."""
        return self.replica in self.content.replicas and not self.content.may_be_seen

    @property
    def is_in_place(self) -> bool:
        """Whether the device has what is needed, and it is known what has to be waited for."""
        content, replica = self.content, self.replica
        if not self.is_there:
            return False
        if replica.shared:
            still = not content.arriving and not content.leaving and len(content.replicas) == 1
            return still and content.host.covers(self.needs)
        return replica.valid.covers(self.needs)

    @property
    def below(self) -> Touched:
        """What is touched, from the start of the segment."""
        return Touched(self.reads, self.writes, self.covers).shifted(-self.replica.address)


def held_with(held: Sequence[HeldBuffer], uses: Sequence[Use]) -> list[HeldBuffer]:
    """The same buffers, of which a launch uses other parts."""
    return [_with_parts_of(one, uses) for one in held]


def _with_parts_of(held: HeldBuffer, uses: Sequence[Use]) -> HeldBuffer:
    replica = held.replica
    touched = Touched.NOTHING
    for use in uses:
        if replica.has_place_of(use.segment.address, use.segment.nbytes):
            touched |= use.touched
    touched = touched.shifted(replica.address)
    return replace(held, reads=touched.reads, writes=touched.writes, covers=touched.covers)


def held_by(content: Content, replica: Replica, use: Use) -> HeldBuffer:
    """What a launch does with a buffer on its device."""
    touched = use.touched.shifted(replica.address)
    ended = content.end_raw_views()
    seen = content.seen
    return HeldBuffer(
        content,
        replica,
        touched.reads,
        touched.writes,
        touched.covers,
        seen | ended,
        seen,
    )


def merged(left: HeldBuffer, right: HeldBuffer) -> HeldBuffer:
    """The same buffer under two names."""
    return HeldBuffer(
        left.content,
        left.replica,
        left.reads | right.reads,
        left.writes | right.writes,
        left.covers | right.covers,
        left.escaped | right.escaped,
        left.seen | right.seen,
    )


def versions_of(held: Iterable[HeldBuffer]) -> tuple[int, ...]:
    """How the content of some buffers is now, to be compared later."""
    return tuple(one.content.version for one in held)

"""Copies that are asked for before anybody needs them: by `put` and `get`, or by a plan."""

from collections.abc import Iterator, Sequence
from typing import Literal

from trilby.data.buffer import Buffer
from trilby.dataclass import dataclass
from trilby.runtime.binding import is_ndarray
from trilby.runtime.callers import Caller
from trilby.runtime.content import LOCK, check_launch
from trilby.runtime.explicit import block_of, name_of
from trilby.runtime.parts import Part, part_of, parts_of
from trilby.runtime.profiles import RECORDINGS
from trilby.runtime.replicas import Reason
from trilby.runtime.residency import Residency
from trilby.runtime.watch import Watch, wait_for, watched
from trilby.source import Location


@dataclass(frozen=True, slots=True)
class Redundant:
    """A `put` or `get` that moved nothing: the other side had all of it already.

    The second of two `accelerator.put(a)`, with nothing between them, is one.
    """

    kind: Literal["put", "get"]
    buffer: str
    location: Location

    def __str__(self) -> str:
        return f"this {self.kind} of `{self.buffer}` moved nothing new ({self.location.short})"


def put(residency: Residency, given: Sequence[object]) -> Iterator[Redundant]:
    """Start to bring what is given to the device; tells what was there."""
    check_launch()
    caller = Caller.now()
    for part in list(parts_of(given, "put")):
        _note_raw_views(part)
        moved = supply(residency, part, "you put it", caller)
        _leave_to_raw_views(part)
        if not moved and not residency.replicas.shares:
            yield _redundant("put", part, caller)


def get(residency: Residency, given: Sequence[object]) -> Iterator[Redundant]:
    """Start to bring what is given to the host; tells what was there.

    Whoever reads it waits for it. Memory that can be read without anybody knowing has its
    content when this is done.
    """
    check_launch()
    caller = Caller.now()
    for part in list(parts_of(given, "get")):
        segment = part.segment
        watch = segment.watcher
        hidden = segment.borrowed or (isinstance(watch, Watch) and watch.content.may_be_seen)
        moved = isinstance(watch, Watch) and watch.fetch(part.ranges, "you get it", wait=hidden)
        if not moved and not residency.replicas.shares:
            yield _redundant("get", part, caller)


def supply(residency: Residency, part: Part, why: str, caller: Caller) -> bool:
    """Make bytes current on the device; false where nothing had to be copied for it."""
    replicas, segment = residency.replicas, part.segment
    with LOCK:
        content = watched(segment).content
        replica = replicas.obtain(content, segment, part.lengths, part.fields, set())
        for recording in RECORDINGS:
            recording.begin(replica)
        wanted = part.ranges.shifted(replica.address)
        missing = wanted - (content.host if replica.shared else replica.valid) - content.fresh
        content.fetch(wanted, Reason(why, caller, writer=content.writer_of(missing)), replica)
        return bool(missing)


def _note_raw_views(part: Part) -> None:
    """What raw views show of a part may have been written through them."""
    with LOCK:
        content = watched(part.segment).content
        content.end_raw_views()
        changed = content.seen & content.host & part.ranges.shifted(part.segment.address)
        if changed:
            content.touch(changed, None, "a raw view of it is alive")


def _leave_to_raw_views(part: Part) -> None:
    """Wait for copies of what raw views show: what is written through them later comes too late."""
    with LOCK:
        content = watched(part.segment).content
        events = content.before_unseen_accesses()
    wait_for(events, "a raw view of it is alive", content.replicas)


def _redundant(kind: Literal["put", "get"], part: Part, caller: Caller) -> Redundant:
    segment = part.segment
    name = name_of(segment.address, segment.nbytes, segment.label)
    return Redundant(kind, name, caller.line)


def prefetch(residency: Residency, thing: object) -> None:
    """Start to bring a buffer or a part of one to the device; anything else is left alone.

    A plan asks at every call of its function, and mostly for what is there: a replica remembers
    that it has all of a buffer, as long as nothing about it changes. What may change until it is
    used without anybody knowing is better brought by the launch, and so is everything where memory
    is short: what came early might have to go again.
    """
    check_launch()
    replicas = residency.replicas
    whole = thing if isinstance(thing, Buffer) or is_ndarray(thing) else None
    if whole is not None and not RECORDINGS:
        segment, watch = whole.segment, whole.segment.watcher
        known = replicas.of(watch.content, segment) if isinstance(watch, Watch) else None
        if known is not None and known.prefetched == known.content.version:
            return
    part = None if block_of(replicas) else part_of(thing)
    if part is None or replicas.room.is_tight:
        return
    with LOCK:
        content = watched(part.segment).content
        if content.may_be_seen:
            return
        supply(residency, part, "the plan says that a kernel will read it", Caller.now())
        replica = replicas.of(content, part.segment)
        if replica is not None and whole is not None:
            replica.prefetched = content.version

"""A traced run as slices on tracks, and as ways of data: from a write over a copy to a read.

The trace and the report draw the same timeline. It knows nothing of files.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import islice
from typing import Literal, TypeAlias

from trilby.data.ranges import Ranges
from trilby.dataclass import dataclass
from trilby.oracle.excess import CopyMade
from trilby.oracle.trace import Trace
from trilby.runtime.launch_buffers import Writer
from trilby.runtime.ledger import Copy, copy_of
from trilby.runtime.profile import Command
from trilby.runtime.replicas import Moved
from trilby.runtime.tracing import Moment, SeenCommand, SeenWork, TracedRun
from trilby.source import Location
from trilby.tools.movements import name_of_copy

# --------------------------------------------------------------------------------------------- ways
# Which write a copy carries, and which access needed it: from a recorded trace.


def ways_of(
    trace: Trace, made: Sequence[CopyMade], copies: Sequence[range]
) -> list[tuple[int | None, int | None]]:
    """For each copy the touch whose data it has, and the first touch that needed it there.

    `copies` has, for each, its parts among those that were made.
    """
    numbers: list[list[int]] = [[] for _ in trace.buffers]
    for number, touch in enumerate(trace.touches):
        for buffer in touch.accesses:
            numbers[buffer].append(number)
    known: dict[int, tuple[Ranges, Ranges]] = {}

    def written_and_needed(touch: int, buffer: int) -> tuple[Ranges, Ranges]:
        """What a touch writes of a buffer, and what has to be there for it."""
        access = trace.touches[touch].accesses[buffer]
        if id(access) not in known:  # the trace holds the access, so the id stays
            covers = Ranges.of(*access.covers)
            writes = Ranges.of(*access.writes) | covers
            known[id(access)] = writes, Ranges.of(*access.reads) | (writes - covers)
        return known[id(access)]

    def way(parts: Sequence[CopyMade]) -> tuple[int | None, int | None]:
        if not parts:
            return None, None
        first = parts[0]
        moved = Ranges.of(*((part.start, part.start + part.nbytes) for part in parts))
        here = numbers[first.buffer]
        split = bisect_left(here, first.position)
        written = (
            n for n in reversed(here[:split]) if written_and_needed(n, first.buffer)[0].meets(moved)
        )
        needed = (
            n
            for n in islice(here, split, None)
            if trace.touches[n].place == first.target
            and written_and_needed(n, first.buffer)[1].meets(moved)
        )
        return next(written, None), next(needed, None)

    return [way([made[part] for part in parts]) for parts in copies]


# ----------------------------------------------------------------------------------------- timeline

Track: TypeAlias = Literal["host", "up", "down", "kernel"]
Kind: TypeAlias = Literal[
    "compute", "compile", "dispatch", "wait", "read", "write", "access", "copy", "kernel"
]

SHORTEST = 1e-6
"""What happens at a moment on the host is drawn with this length, in seconds."""


@dataclass(slots=True, eq=False)
class Slice:
    """Something that took from `begin` to `end`, in seconds since the run began.

    `queued` is when the device was given it. `about` is what people want to know of it.
    """

    track: Track
    kind: Kind
    name: str
    begin: float
    end: float
    thread: int = 0
    location: Location | None = None
    queued: float | None = None
    about: dict[str, str | int] = field(default_factory=dict[str, str | int])
    copy: Copy | None = None

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Flow:
    """A copy, the write that made it necessary, and the access that needed it, where known."""

    write: Slice | None
    copy: Slice
    read: Slice | None


@dataclass(frozen=True, slots=True)
class Timeline:
    """All slices of a run in the order of their begin, and the flows between them."""

    run: TracedRun
    slices: tuple[Slice, ...]
    flows: tuple[Flow, ...]
    seconds: float

    def on(self, track: Track) -> tuple[Slice, ...]:
        """The slices of a track."""
        return tuple(one for one in self.slices if one.track == track)


def timeline_of(run: TracedRun) -> Timeline:
    """Put together what was seen; work that is under way is waited for."""
    run.book.settle()
    making = _Making(run)
    slices = [*making.of_seen(), *making.of_host_touches()]
    making.stretch_over_waits()
    begin = sorted(slices, key=lambda one: (one.begin, -one.end))
    flows = tuple(making.flows())
    last = max([run.ended - run.began, *(one.end for one in slices)])
    return Timeline(run, tuple(begin), flows, last)


class _Making:
    """What is known while a timeline is made; `touched` are the slices of touches by number."""

    def __init__(self, run: TracedRun) -> None:
        self.run = run
        self.touched: dict[int, Slice] = {}
        self.copied: list[tuple[SeenCommand, Slice]] = []
        self.waits: list[tuple[SeenWork, Slice]] = []
        self.next_touch = 0
        behind = [
            seen.moment.at - times.began + times.queued
            for seen in run.book.seen
            if isinstance(seen, SeenCommand) and not _is_by_host_clock(seen.command)
            if (times := seen.command.times) is not None and times.began is not None
        ]
        self.behind = min(behind, default=0.0)
        """How far the clock of the device is behind the host's.

        Work is queued before the host comes to note it. So the smallest difference between the
        two that was ever seen is the nearest to the truth.
        """

    def of_seen(self) -> Iterator[Slice]:
        for seen in self.run.book.seen:
            if isinstance(seen, SeenWork):
                yield self._work(seen)
            elif isinstance(seen.of, Writer):
                yield from self._launch(seen, seen.of)
            else:
                yield self._copy(seen, seen.of)

    def _span(self, command: Command, noted: float) -> tuple[float, float]:
        """Begin and end of some work of the device, in seconds since the run began.

        What nobody dated began when it was noted, after its time in the queue.
        """
        began, seconds, delay = command.times or (None, 0.0, 0.0)
        if began is None:
            began = noted + delay
        elif not _is_by_host_clock(command):
            began += self.behind
        return began - self.run.began, began - self.run.began + seconds

    def _host(self, kind: Kind, name: str, moment: Moment, begin: float, end: float) -> Slice:
        begin, end = begin - self.run.began, end - self.run.began
        return Slice("host", kind, name, begin, max(end, begin + SHORTEST), moment.thread)

    def _launch(self, seen: SeenCommand, writer: Writer) -> Iterator[Slice]:
        moment, command = seen.moment, seen.command
        touches = list(self._touches_of(seen.moment.touches, writer))
        if touches:  # of many passes that are told of at their end
            moment = self.run.book.trace.moments[touches[0]]
        at = min(moment.at, seen.moment.at)
        dispatch = self._host("dispatch", f"dispatch {writer.kernel}", moment, at, at)
        dispatch.location = writer.caller.line
        yield dispatch
        if command.ticket is None:
            dispatch.name = f"{writer.kernel} is refused"
            return
        begin, end = self._span(command, at)
        kernel = Slice("kernel", "kernel", writer.kernel, begin, end, 0, writer.caller.line)
        kernel.queued = min(at - self.run.began, begin)
        kernel.about = {"line": writer.caller.line.short}
        self.touched |= dict.fromkeys(touches, kernel)
        yield kernel

    def _touches_of(self, after: int, writer: Writer) -> Iterator[int]:
        """The touches of a launch: the one that follows, or, for passes, those that were told."""
        touches = self.run.book.trace.touches
        kernel, place = writer.kernel, self.run.place
        told = [
            number
            for number in range(self.next_touch, after)
            if touches[number].label == kernel
            and touches[number].place == place
            and touches[number].location == writer.caller.line
        ]
        if told:
            self.next_touch = after
            yield from told
        elif after < len(touches) and touches[after].label == kernel:
            self.next_touch = after + 1
            yield after

    def _copy(self, seen: SeenCommand, moved: Moved) -> Slice:
        copy = copy_of(moved)
        begin, end = self._span(seen.command, seen.moment.at)
        made = Slice(
            copy.direction, "copy", name_of_copy(copy), begin, end, 0, copy.location, copy=copy
        )
        made.queued = min(seen.moment.at - self.run.began, begin)
        made.about = {"bytes": copy.nbytes, "offset": copy.start, "because": copy.cause}
        if copy.location:
            made.about["line"] = copy.location.short
        self.copied.append((seen, made))
        return made

    def _work(self, seen: SeenWork) -> Slice:
        work = self._host(seen.kind, seen.name, seen.moment, seen.begin, seen.end)
        work.location = seen.location
        if seen.kind == "wait":
            work.about = {"because": seen.why}
            self.waits.append((seen, work))
        return work

    def of_host_touches(self) -> Iterator[Slice]:
        """Accesses of the host; those of one line that follow each other are one."""
        trace, last, key = self.run.book.trace, None, None
        for number, touch in enumerate(trace.touches):
            if number in self.touched or touch.place != "host":
                last, key = None, None
                continue
            moment = trace.moments[number]
            if last is None or key != (moment.thread, touch.location):
                last = self._host("access", "", moment, moment.at, moment.at)
                last.location = touch.location
                key = moment.thread, touch.location
                yield last
            last.end = max(last.end, moment.at - self.run.began + SHORTEST)
            self.touched[number] = last
            for buffer, access in touch.accesses.items():
                verb = "write" if access.writes or access.covers else "read"
                last.kind = verb if last.kind in {"access", verb} else "access"
                last.about[f"{verb}s"] = _joined(
                    str(last.about.get(f"{verb}s", "")), trace.buffers[buffer].name
                )
            last.name = "; ".join(f"{verb} {names}" for verb, names in last.about.items())

    def stretch_over_waits(self) -> None:
        """An access that had to wait takes until it has what it waited for."""
        for seen, wait in self.waits:
            access = self.touched.get(seen.moment.touches - 1)
            if access is not None and access.track == "host" and access.thread == wait.thread:
                access.end = max(access.end, wait.end)

    def flows(self) -> Iterator[Flow]:
        """The ways of data, with slices for touches."""
        made = [seen.made for seen, _ in self.copied]
        ways = ways_of(self.run.book.trace, self.run.ledger.recording.copies, made)
        for (_, copy), (write, read) in zip(self.copied, ways, strict=True):
            slices = [None if n is None else self.touched.get(n) for n in (write, read)]
            yield Flow(slices[0], copy, slices[1])


def _is_by_host_clock(command: Command) -> bool:
    return command.ticket is not None and command.ticket.queue.by_host_clock


def _joined(names: str, name: str) -> str:
    return names if name in names.split(", ") else f"{names}, {name}".lstrip(", ")

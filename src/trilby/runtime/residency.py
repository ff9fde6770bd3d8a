"""Launches: what must be where before a kernel runs, and what is true afterwards.

One `Residency` belongs to one accelerator. The strategies differ only here, in which copies
are made that are not needed yet: `ALWAYS` and `BY_ACCESS` copy around every launch,
`TRACKED` knows whole buffers only, `PLANNED` and `AUTO` leave the rest to what is needed.
"""

import os
from collections.abc import Callable, Iterable, Sequence

from trilby.at_exit import PROGRAM_END, EndStep, run_all
from trilby.backend.base import Argument, Backend, Event, Executable, Memory, Prepared, Repeated
from trilby.backend.say import say_all
from trilby.data.ndrange import NDRange
from trilby.data.ranges import Ranges
from trilby.data.segment import Segment
from trilby.dataclass import dataclass
from trilby.errors import DeviceError, ReentryError, TrilbyError
from trilby.mending import mend
from trilby.messages import is_told, tell
from trilby.options import Transfers
from trilby.runtime.callers import Caller
from trilby.runtime.content import LOCK, Content, Replica, check_entry, has_failed
from trilby.runtime.explicit import check_launch
from trilby.runtime.held import HeldBuffer, KernelWrite, Use, held_by, merged, versions_of
from trilby.runtime.profiles import PROFILES, RECORDINGS, profiles_of
from trilby.runtime.replicas import Hear, Reason, Replicas, bring_home
from trilby.runtime.watch import wait_for, watched


@dataclass(frozen=True, slots=True)
class Work:
    """A launch that was asked for."""

    kernel: str
    executable: Executable
    size: NDRange
    arguments: Callable[[Sequence[Memory]], Sequence[Argument]]
    buffers: Sequence[Segment]
    uses: Sequence[Use]
    caller: Caller
    transfers: Transfers
    varies: bool = False
    """True where the next launch from the same line may need other parts of its buffers."""
    explicit: bool = False
    """True where nothing is to move by itself: what the kernel lacks is an error."""


@dataclass(slots=True, eq=False)
class Standing:
    """A launch that found everything in place, and will again while no version changes.

    `read` are the replicas that are only read.
    """

    launch: Repeated
    held: tuple[HeldBuffer, ...]
    versions: tuple[int, ...]
    read: tuple[Replica, ...]
    written: tuple[Replica, ...]


class Residency:
    """The one place that decides what is copied for a launch, and when."""

    def __init__(
        self, backend: Backend, hear: Hear, *, share: bool, poison: bool, limit: int | None
    ) -> None:
        self.backend = backend
        self.replicas = Replicas(backend, hear, share=share, poison=poison, limit=limit)
        self.before_launch: Callable[[Work], None] | None = None

    def close(self) -> None:
        """Bring home all that only the device has, and free everything on it, for good."""
        check_entry()
        with LOCK:
            self.replicas.is_closed = True
            pairs = self.replicas.all
            waiting: list[Event] = []
            for content, replica in pairs:
                reason = Reason("the accelerator is closed", Caller.now(), is_last=True)
                bring_home(content, content.only_at(replica), reason)
                waiting += content.before_host_writes(replica.whole)
            for content, replica in pairs:
                self.replicas.drop(content, replica)
        wait_for(waiting, "the accelerator is closed", [replica for _, replica in pairs])

    # ------------------------------------------------------------------------ launches

    def launch(self, work: Work) -> Standing | None:
        """Bring what a kernel needs, and run it.

        The result, if any, may be run again instead of an equal launch while it is current.
        """
        if self.before_launch is not None:
            self.before_launch(work)
        try:
            with LOCK:
                held, prepared = self.prepare(work)
                writer = KernelWrite(work.kernel, work.caller)
                self._begin_and_note(prepared, held, work, writer)
                waiting = self.give_back(held, work)
                standing = self._standing(prepared, held, work)
        finally:
            if work.executable.debugs:
                say_all()
        if waiting:
            back = f"what {work.kernel} wrote is copied back"
            wait_for(waiting, back, [buffer.replica for buffer in held])
        return standing

    # The steps of a launch, each with the lock held:

    def prepare(self, work: Work) -> tuple[list[HeldBuffer], Prepared]:
        """Bring what a kernel needs, and make its launch ready."""
        held = self._hold(work)
        self.replicas.room.used_by_launch(one.replica for one in held)
        for buffer in held:
            self._bring(buffer, work)
        places = {(h.replica.address, h.replica.nbytes): h.replica.memory for h in held}
        memories = [places[s.address, s.nbytes] for s in work.buffers]
        return held, self.backend.prepare(work.executable, work.size, work.arguments(memories))

    def bring_again(self, held: Sequence[HeldBuffer], work: Work) -> None:
        """Bring what a kernel needs that is about to run again, to where it was before."""
        self.replicas.room.used_by_launch(one.replica for one in held)
        for one in held:
            if not one.is_in_place:
                self._bring(one, work)
            elif one.covers.covers(one.replica.valid):
                one.replica.settled()  # nobody will ask for what failed there

    def note(
        self, held: Sequence[HeldBuffer], work: Work, event: Event, writer: KernelWrite
    ) -> None:
        """A launch is under way: remember it, and what it leaves current where."""
        for buffer in held:
            self._note(buffer, event, writer)
        self._record(work, held)

    def give_back(self, held: Sequence[HeldBuffer], work: Work) -> list[Event]:
        """Start to copy back what must not wait; gives what has to be waited for."""
        waiting: list[Event] = []
        at_once = work.transfers in {Transfers.ALWAYS, Transfers.BY_ACCESS}
        for buffer in held:
            if not (at_once or buffer.seen):
                continue
            waiting += self._return(buffer, work)
            for recording in RECORDINGS if buffer.seen else ():
                recording.raw_reads(buffer)
        return waiting

    def wait(self) -> None:
        """Return when all work is done; raise what failed."""
        check_entry()
        with LOCK:
            replicas = [replica for _, replica in self.replicas.all]
            events = [e for one in replicas for e in (*one.writers, *one.readers)]
        wait_for(events, "all work is waited for", replicas)

    def run_in_place(
        self,
        held: Sequence[HeldBuffer],
        writer: KernelWrite,
        launch: Repeated,
        run: Callable[[], None],
    ) -> None:
        """Run a launch again whose buffers are in place, and remember what it leaves current.

        The lock is held. `launch` knows whether it was run, also where Ctrl-C left `run`.
        """
        written = [one for one in held if one.writes]
        for one in held:
            if one.covers.covers(one.replica.valid):
                one.replica.settled()  # nobody will ask for what failed there
        for book in PROFILES:
            if self.backend in book.backends:
                book.used(writer, [one.replica for one in held])
        before = launch.begun

        def note() -> None:
            for one in written:
                self._note_written(one, writer)

        try:
            run()
            note()
        except BaseException:
            if launch.begun == before:
                mend(self._distrust, held)
            else:
                mend(note)
            raise

    def _begin_and_note(
        self, prepared: Prepared, held: Sequence[HeldBuffer], work: Work, writer: KernelWrite
    ) -> None:
        """Run the kernel and remember it, also where an interrupt falls between the two."""
        prepared.latest = None

        def note_begun() -> None:
            begun = prepared.latest
            if begun is None or has_failed(begun):
                self._distrust(held)
            else:
                begun.origin = writer
                self.note(held, work, begun, writer)

        try:
            event = self._begin(prepared, held, work, writer)
            self.note(held, work, event, writer)
        except BaseException:  # also Ctrl-C, or whatever a signal handler raises
            mend(note_begun)
            raise

    def _distrust(self, held: Sequence[HeldBuffer]) -> None:
        """The kernel failed, or was not run: what others have is taken from them."""
        for buffer in held:
            stale = buffer.content.distrust(buffer.replica, buffer.writes)
            self.replicas.spoil_device(buffer.replica, stale)

    def _begin(
        self, prepared: Prepared, held: Sequence[HeldBuffer], work: Work, writer: KernelWrite
    ) -> Event:
        """Run the kernel; one that asserts or prints is waited for at once.

        Where it fails the host has what it had, as far as it had it.
        """
        shared = [one for one in held if one.replica.shared and work.executable.debugs]
        before = [one.replica.snapshot(one.writes) for one in shared]
        try:
            event = self._run(prepared, held, writer)
            if work.executable.debugs:
                replicas = [buffer.replica for buffer in held]
                wait_for([event], f"{work.kernel} asserts or prints", replicas)
        except BaseException:
            mend(_restore_failed, prepared, shared, before)
            raise
        return event

    def _run(self, prepared: Prepared, held: Sequence[HeldBuffer], writer: KernelWrite) -> Event:
        books = profiles_of(self.backend) if PROFILES else ()
        try:
            event = self.backend.run(prepared, work_before(held))
        except ReentryError:  # of a signal handler
            raise
        except TrilbyError:
            for book in books:
                book.launched(writer, None)
            raise
        event.origin = writer
        for book in books:
            book.launched(writer, event, [buffer.replica for buffer in held])
        return event

    def _hold(self, work: Work) -> list[HeldBuffer]:
        """Every buffer once, with memory on the device, and all that is done through any name."""
        found: dict[int, HeldBuffer] = {}
        # All are watched before any is looked at: those that overlap become one content.
        uses = [(watched(use.segment), use) for use in work.uses]
        there = (self.replicas.of(watch.content, use.segment) for watch, use in uses)
        pinned = {id(replica) for replica in there if replica is not None}
        for watch, use in uses:
            content = watch.content
            replica = self.replicas.of(content, use.segment)
            if replica is None:
                replica = self.replicas.make(content, use.segment, use.lengths, pinned)
                pinned.add(id(replica))
            elif not replica.lengths:
                self.replicas.add_lengths(replica, use.lengths)
            held = held_by(content, replica, use)
            known = found.get(id(replica))
            if known is None:
                replica.take_name(use.label)
            replica.fields = use.fields
            found[id(replica)] = held if known is None else merged(known, held)
        for recording in RECORDINGS:
            for held in found.values():
                recording.begin(held.content, held.replica)
        return list(found.values())

    # ------------------------------------------------------------------- before and after

    def _bring(self, held: HeldBuffer, work: Work) -> None:
        """Make current on the device what the launch needs, and what the strategy says."""
        content, replica = held.content, held.replica
        if held.covers.covers(replica.valid):
            replica.settled()  # nobody will ask for what failed there
        # In explicit mode what a raw view shows that is alive is the user's to put.
        escaped = (held.escaped - held.seen if work.explicit else held.escaped) & content.host
        if escaped:
            for recording in RECORDINGS:
                recording.raw_writes(held)
            content.written_by_host(escaped, "a raw view of it is alive")
        needs = held.needs
        if work.transfers is Transfers.ALWAYS and not replica.shared:
            self.replicas.upload(content, replica, self._reason(work, held, "is given it"))
            return
        if not needs:
            self._say(work, held, "needs nothing of it")
            return
        if work.transfers is Transfers.BY_ACCESS and not replica.shared:
            self.replicas.upload(content, replica, self._reason(work, held))
            return
        if work.transfers is Transfers.TRACKED:
            needs = replica.data
        elif not (work.explicit or replica.shared or replica.valid.covers(needs)):
            needs = self._widened(held, needs, work)
        if replica.valid.covers(needs) or replica.shared:
            self._say(work, held, "is present")
        reason = self._reason(work, held)
        check_launch(content, replica, needs, reason)
        self.replicas.to_device(content, replica, needs, reason)

    def _widened(self, held: HeldBuffer, needs: Ranges, work: Work) -> Ranges:
        """More than a launch needs, where the next one will need other parts.

        One copy then takes the place of many: all that the host has newer in those fields.
        """
        content, replica = held.content, held.replica
        moves = not replica.asked or replica.asked.covers(needs)
        replica.asked |= needs
        if moves and not work.varies:
            return needs
        newer = content.host - content.fresh - held.covers
        fields = (Ranges.span(start, stop) for _, start, stop in replica.fields)
        touched = [field.hull for field in fields if field.meets(_below(replica, needs))]
        return needs | (newer & Ranges.of(*touched).shifted(replica.address))

    def _note(self, held: HeldBuffer, event: Event, writer: KernelWrite) -> None:
        """The launch is under way: remember it, and what it leaves current where."""
        if not held.writes:
            held.replica.read_by(event)
            return
        held.replica.written_by(event)
        self._note_written(held, writer)

    def _note_written(self, held: HeldBuffer, writer: KernelWrite) -> None:
        content, replica = held.content, held.replica
        before = content.host
        had = [(other, other.valid) for other in content.replicas if other is not replica]
        content.written_by_device(replica, held.writes, writer)
        replica.owner.spoil_host(content, replica, before - content.host)
        for other, valid in had:
            other.owner.spoil_device(other, valid - other.valid)

    def _return(self, held: HeldBuffer, work: Work) -> list[Event]:
        """Start to copy back what must not wait; gives what has to be waited for.

        Memory that a raw view shows may be written at any moment: nothing may use it then.
        """
        content, replica = held.content, held.replica
        if replica.shared:
            return [*replica.writers, *replica.readers] if held.seen else []
        reason = Reason(f"{work.kernel} wrote it", work.caller)
        if work.transfers is Transfers.ALWAYS:
            self.replicas.download(content, replica, replica.whole, reason)
            return content.before_host_reads(replica.whole)
        if work.transfers is Transfers.BY_ACCESS and held.writes:
            self.replicas.download(content, replica, held.writes, reason)
            return content.before_host_reads(held.writes)
        seen = held.writes & held.seen
        if seen and not work.explicit:
            reason = Reason("a raw view of it is alive", work.caller)
            bring_home(content, seen - content.host, reason)
        return content.before_unseen_accesses()

    # -------------------------------------------------------------------------- the rest

    def _standing(
        self, prepared: Prepared, held: Sequence[HeldBuffer], work: Work
    ) -> Standing | None:
        lasting = work.transfers in {Transfers.AUTO, Transfers.PLANNED}
        if not lasting or work.executable.debugs or any(h.seen for h in held):
            return None
        if not any(h.writes for h in held):
            return None  # its runs would not wait for each other, and only the last be known
        if any(h.replica.shared and _has_another_user(h.content) for h in held):
            return None
        return Standing(
            self.backend.repeated(prepared),
            tuple(held),
            versions_of(held),
            tuple(h.replica for h in held if not h.writes),
            tuple(h.replica for h in held if h.writes),
        )

    def _record(self, work: Work, held: Sequence[HeldBuffer]) -> None:
        if not RECORDINGS:
            return
        uses = {buffer.replica: buffer.below for buffer in held}
        for recording in RECORDINGS:
            recording.kernel(self.replicas.place, uses, work.kernel, work.caller.line)

    def _reason(self, work: Work, held: HeldBuffer, verb: str = "") -> Reason:
        does = verb or _verb(held)
        who = held.content.writer_of(held.needs - held.replica.valid)
        return Reason(f"{work.kernel} {does}; {who}", work.caller)

    def _say(self, work: Work, held: HeldBuffer, what: str) -> None:
        if is_told("debug"):
            tell("debug", "%s: %s %s", work.kernel, held.replica.label, what)


def work_before(held: Iterable[HeldBuffer]) -> list[Event]:
    """What must be done before a launch on some buffers may run."""
    after: list[Event] = []
    for buffer in held:
        after += buffer.replica.writers
        if buffer.writes:
            after += buffer.replica.readers
        if buffer.replica.shared and buffer.writes:
            after += buffer.content.before_host_writes(buffer.reads | buffer.writes)
        elif buffer.replica.shared:
            after += buffer.content.before_host_reads(buffer.reads)
    return after


def _restore_failed(
    prepared: Prepared, shared: Sequence[HeldBuffer], before: Sequence[list[tuple[int, bytes]]]
) -> None:
    failed = prepared.latest is not None and has_failed(prepared.latest)
    for buffer, content in zip(shared, before, strict=True) if failed else ():
        buffer.replica.restore(content)


def _has_another_user(content: Content) -> bool:
    """True where the host's memory is that of several devices, or of several arrays on one."""
    return sum(replica.shared for replica in content.replicas) > 1


def _below(replica: Replica, ranges: Ranges) -> Ranges:
    return ranges.shifted(-replica.address)


def _verb(held: HeldBuffer) -> str:
    if not held.writes:
        return "reads it"
    return "reads and writes it" if held.reads else "may write a part of it"


# ------------------------------------------------------------------------------------- open devices
# The devices that accelerators have open, and how they are closed: by `close`, or at last at
# exit.
#
# Closing a device waits for its work and copies back what only it has. An accelerator that is
# dropped closes its devices too, and so does the end of the program, with all devices at once:
# wrapped memory has its content first, then the queues are finished, and then no driver has any
# work left.

_OPEN: set[Residency] = set()


def add_open(residency: Residency) -> None:
    """A device was opened."""
    PROGRAM_END.watch_this_process()
    with LOCK:
        if not PROGRAM_END.has_begun:
            _OPEN.add(residency)
            return
    residency.backend.close()
    raise DeviceError(
        f"{residency.backend.device.spec} is opened while the program ends",
        advice="end threads, and work that `atexit` handlers begin, before that",
    )


def close_all(residencies: Iterable[Residency]) -> None:
    """Copy everything back from some devices, then finish their queues and close them."""
    closing = tuple(residencies)
    run_all(
        [
            *(residency.close for residency in closing),
            *(residency.backend.close for residency in closing),
            lambda: _OPEN.difference_update(closing),
        ]
    )


def close_dropped(residencies: Iterable[Residency]) -> None:
    """Close the devices of an accelerator that nobody has any more, as far as they are open."""
    close_all(residency for residency in residencies if residency in _OPEN)


def open_now() -> tuple[Residency, ...]:
    """The devices that are open."""
    with LOCK:
        return tuple(_OPEN)


def _close_at_exit() -> None:
    close_all(open_now())


PROGRAM_END.add(EndStep.CLOSE_ACCELERATORS, _close_at_exit)

if hasattr(os, "register_at_fork"):  # what the parent opened is the parent's to close
    os.register_at_fork(after_in_child=_OPEN.clear)

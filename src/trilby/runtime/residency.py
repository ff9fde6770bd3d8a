"""Launches: what must be where before a kernel runs, and what is true afterwards.

One `Residency` belongs to one accelerator. The strategies differ only here, in which copies
are made that are not needed yet: `ALWAYS` and `BY_ACCESS` copy around every launch,
`TRACKED` knows whole buffers only, `PLANNED` and `AUTO` leave the rest to what is needed.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from trilby.at_exit import PROGRAM_END, run_all
from trilby.backend.base import Backend, Ticket
from trilby.data.ranges import Ranges
from trilby.data.touched import Touched
from trilby.errors import DeviceError, KernelAssertionError, TrilbyError
from trilby.messages import is_told, tell
from trilby.options import Transfers
from trilby.process import PROCESS
from trilby.runtime.callers import Caller
from trilby.runtime.content import JOURNAL, LOCK, check_entry
from trilby.runtime.explicit import check_needs
from trilby.runtime.launch_buffers import LaunchBuffer, Use
from trilby.runtime.prepared_launch import (
    LASTING,
    LaunchRequest,
    PreparedLaunch,
    prepared_launch,
)
from trilby.runtime.profiles import PROFILES, RECORDINGS
from trilby.runtime.replicas import Hear, Reason, Replicas, current_in, poison_stale
from trilby.runtime.watch import wait_for, watched


class Residency:
    """The one place that decides what is copied for a launch, and when.

    For the first `double` it has `a` copied, which the kernel reads, and not `b`, all of which it
    overwrites.
    """

    def __init__(
        self, backend: Backend, hear: Hear, *, share: bool, poison: bool, limit: int | None
    ) -> None:
        self.backend = backend
        self.replicas = Replicas(backend, hear, share=share, poison=poison, limit=limit)
        self.before_launch: Callable[[LaunchRequest], None] | None = None

    def close(self) -> None:
        """Bring home all that only the device has, and free everything on it, for good."""
        check_entry()
        with LOCK:
            self.replicas.is_closed = True
            replicas = self.replicas.all
            waiting: list[Ticket] = []
            for replica in replicas:
                content = replica.content
                reason = Reason("the accelerator is closed", Caller.now(), is_last=True)
                content.fetch(content.only_at(replica), reason)
                waiting += content.before_host_writes(replica.whole)
            for replica in replicas:
                self.replicas.drop(replica)
        wait_for(waiting, "the accelerator is closed", replicas)
        self._check()

    def wait(self) -> None:
        """Return when all work is done; raise what failed."""
        check_entry()
        with LOCK:
            replicas = self.replicas.all
            tickets = [one for r in replicas for one in (*r.checks, *r.under_way)]
        try:
            wait_for(tickets, "all work is waited for", replicas)
        except TrilbyError:
            with LOCK:
                for replica in replicas:
                    replica.content.overcome()
            raise
        self._check()

    def _check(self) -> None:
        """Wait for launches without buffers, and raise what failed."""
        for ticket in self.replicas.unchecked:
            try:
                wait_for([ticket])
            except KernelAssertionError:
                self._has_told(ticket)
                raise
            self._has_told(ticket)

    def _has_told(self, ticket: Ticket) -> None:
        with LOCK:
            self.replicas.has_told(ticket)

    # ------------------------------------------------------------------------ launches

    def launch(self, launch: PreparedLaunch, times: int = 1, first_pass: int = 0) -> Ticket:
        """Copy what a launch needs and the device lacks, submit it, and note what it leaves.

        The lock is held.
        """
        is_told_of = RECORDINGS or (is_told("debug") and not first_pass)
        if not launch.is_current or launch.transfers not in LASTING or is_told_of:
            self.bring(launch)
        self.submit(launch, times, first_pass)
        launch.note_current()
        return Ticket(launch.queue, launch.queue.submitted, launch.origin)

    def prepare(self, request: LaunchRequest) -> PreparedLaunch:
        """Give the buffers of a launch their places on the device. The lock is held."""
        buffers = self._place(request.uses)
        places = {(b.replica.address, b.replica.nbytes): b.replica.memory for b in buffers}
        arguments = request.arguments_with([places[s.address, s.nbytes] for s in request.buffers])
        prepared = self.backend.prepare(request.executable, request.size, arguments)
        return prepared_launch(request, prepared, self.backend, buffers)

    def bring(self, launch: PreparedLaunch) -> None:
        """Copy what a launch needs and the device lacks. The lock is held."""
        self.replicas.room.used_by_launch(one.replica for one in launch.buffers)
        for recording in RECORDINGS:
            for buffer in launch.buffers:
                recording.begin(buffer.replica)
        for buffer in launch.buffers:
            self._bring(buffer, launch)

    def submit(self, launch: PreparedLaunch, times: int, first_pass: int) -> None:
        """Give the device a launch and note it: both or neither. The lock is held."""
        prepared, queue = launch.prepared, launch.queue
        before = prepared.begun
        current = current_in(one.content for one in launch.buffers if one.touched.writes)
        is_recorded = False

        def note() -> None:
            nonlocal is_recorded
            begun = prepared.begun - before
            if begun:
                ticket = Ticket(queue, queue.submitted, launch.origin)
                touched = launch.touched(first_pass, begun)
                self._note(launch, ticket, touched)
                if RECORDINGS and not is_recorded:
                    is_recorded = True
                    self._record(launch, touched)

        begin = partial(prepared.submit, times, first_pass, launch.before())
        try:
            JOURNAL.commit(begin, note)
        except TrilbyError as error:
            launch.tell_refused(error)
            raise
        poison_stale(current, self.replicas)

    def give_back(self, launch: PreparedLaunch, transfers: Transfers) -> list[Ticket]:
        """Start to copy back what must not wait; gives what has to be waited for.

        The lock is held.
        """
        waiting: list[Ticket] = []
        at_once = transfers in {Transfers.ALWAYS, Transfers.BY_ACCESS}
        for buffer in launch.buffers:
            if not (at_once or buffer.seen):
                continue
            waiting += self._return(buffer, launch, transfers)
            for recording in RECORDINGS if buffer.seen else ():
                recording.raw_reads(buffer)
        return waiting

    def finish(self, launch: PreparedLaunch, waiting: Sequence[Ticket]) -> None:
        """Wait for what a launch has to give back; the lock is free."""
        if waiting:
            back = f"what {launch.kernel} wrote is copied back"
            wait_for(waiting, back, [one.replica for one in launch.buffers])

    def _place(self, uses: Sequence[Use]) -> list[LaunchBuffer]:
        """Every buffer once, with memory on the device, and all that is done through any name."""
        # All are watched before any is looked at: those that overlap become one content.
        watches = [(watched(use.segment), use) for use in uses]
        there = (self.replicas.of(watch.content, use.segment) for watch, use in watches)
        pinned = {id(replica) for replica in there if replica is not None}
        found: dict[int, LaunchBuffer] = {}
        for watch, use in watches:
            content = watch.content
            replica = self.replicas.obtain(content, use.segment, use.lengths, use.fields, pinned)
            pinned.add(id(replica))
            touched = use.touched.shifted(replica.address)
            known = found.get(id(replica))
            if known is not None:
                known.touched |= touched
                continue
            if not replica.is_named:  # it is called as the first kernel does that gets it
                replica.label, replica.is_named = use.label, True
            ended, seen = content.end_raw_views(), content.seen
            found[id(replica)] = LaunchBuffer(replica, touched, seen | ended, seen)
        return list(found.values())

    # ------------------------------------------------------------------- before and after

    def _bring(self, buffer: LaunchBuffer, launch: PreparedLaunch) -> None:
        """Make current on the device what the launch needs, and what the strategy says."""
        content, replica, touched = buffer.content, buffer.replica, buffer.touched
        if replica.shared or touched.covers.covers(replica.valid):
            replica.settled()  # nobody will ask for what failed there
        # In explicit mode what a raw view shows that is alive is the user's to put.
        escaped = buffer.escaped - buffer.seen if launch.explicit else buffer.escaped
        if escaped and escaped.meets(content.host):
            for recording in RECORDINGS:
                recording.raw_writes(buffer)
            content.touch(escaped & content.host, None, "a raw view of it is alive")
        one_memory = all(one.shared for one in content.replicas)
        if one_memory and content.host.covers(touched.needs):  # a copy that failed left it without
            self._say(launch, buffer)
            return
        if launch.transfers is Transfers.ALWAYS and not replica.shared:
            content.copy("up", replica, replica.whole, self._reason(launch, buffer, "is given it"))
            return
        needs = touched.needs
        if not needs:
            self._say(launch, buffer)
            return
        if launch.transfers is Transfers.BY_ACCESS and not replica.shared:
            content.copy("up", replica, replica.whole, self._reason(launch, buffer))
            return
        if launch.transfers is Transfers.TRACKED:
            needs = replica.data
        elif not (launch.explicit or replica.shared or replica.valid.covers(needs)):
            needs = self._widened(buffer, needs, launch)
        if replica.shared or replica.valid.covers(needs):
            self._say(launch, buffer)
        reason = self._reason(launch, buffer)
        check_needs(replica, needs, reason)
        content.fetch(needs, reason, replica)

    def _widened(self, buffer: LaunchBuffer, needs: Ranges, launch: PreparedLaunch) -> Ranges:
        """More than a launch needs, where the next one will need other parts.

        One copy then takes the place of many: all that the host has newer in those fields.
        """
        content, replica = buffer.content, buffer.replica
        moves = not replica.asked or replica.asked.covers(needs)
        replica.asked |= needs
        if moves and not launch.varies:
            return needs
        newer = content.host - content.fresh - buffer.touched.covers
        below = needs.shifted(-replica.address)
        fields = (Ranges.span(start, stop) for _, start, stop in replica.fields)
        touched = [field.hull for field in fields if field.meets(below)]
        return needs | (newer & Ranges.of(*touched).shifted(replica.address))

    def _note(self, launch: PreparedLaunch, ticket: Ticket, touched: Sequence[Touched]) -> None:
        """The launch is under way: remember it, and what it leaves current where."""
        for buffer, part in zip(launch.buffers, touched, strict=True):
            replica = buffer.replica
            if part.writes:
                replica.written_by(ticket)
                buffer.content.touch(part.writes, replica, launch.origin)
            else:
                replica.read_by(ticket)
        if launch.executable.asserts:
            launch.note_check(ticket)
            if not launch.buffers:
                self.replicas.check_later([ticket])
        if PROFILES:
            launch.tell_profiles(ticket)

    def _record(self, launch: PreparedLaunch, touched: Sequence[Touched]) -> None:
        uses = {
            one.replica: part.shifted(-one.replica.address)
            for one, part in zip(launch.buffers, touched, strict=True)
        }
        for recording in RECORDINGS:
            recording.kernel(self.replicas.place, uses, launch.kernel, launch.caller.line)

    def _return(
        self, buffer: LaunchBuffer, launch: PreparedLaunch, transfers: Transfers
    ) -> list[Ticket]:
        """Start to copy back what must not wait; gives what has to be waited for.

        Memory that a raw view shows may be written at any moment: nothing may use it then.
        """
        content, replica, writes = buffer.content, buffer.replica, buffer.touched.writes
        if replica.shared:
            return list(replica.under_way) if buffer.seen else []
        reason = Reason("wrote it", launch.caller, kernel=launch.kernel)
        if transfers is Transfers.ALWAYS:
            content.copy("down", replica, replica.whole, reason)
            return content.before_host_reads(replica.whole)
        if transfers is Transfers.BY_ACCESS and writes:
            content.copy("down", replica, writes, reason)
            return content.before_host_reads(writes)
        seen = writes & buffer.seen
        if seen and not launch.explicit:
            content.fetch(seen, Reason("a raw view of it is alive", launch.caller))
        return content.before_unseen_accesses()

    def _reason(self, launch: PreparedLaunch, buffer: LaunchBuffer, verb: str = "") -> Reason:
        touched = buffer.touched
        if not verb and not touched.writes:
            verb = "reads it"
        elif not verb:
            verb = "reads and writes it" if touched.reads else "may write a part of it"
        who = buffer.content.writer_of(touched.needs - buffer.replica.valid)
        return Reason(verb, launch.caller, writer=who, kernel=launch.kernel)

    def _say(self, launch: PreparedLaunch, buffer: LaunchBuffer) -> None:
        """Nothing is copied for a buffer."""
        if is_told("debug"):
            what = "is present" if buffer.touched.needs else "needs nothing of it"
            tell("debug", "%s: %s %s", launch.kernel, buffer.replica.label, what)


# ------------------------------------------------------------------------------------- open devices
# The devices that accelerators have open, and how they are closed: by `close`, or at last at
# exit.
#
# Closing a device waits for its work and copies back what only it has. An accelerator that is
# dropped closes its devices too, and so does the end of the program, with all devices at once:
# wrapped memory has its content first, then the queues are finished, and then no driver has any
# work left.

_OPEN: set[Residency] = PROCESS.open_devices


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


PROGRAM_END.add(_close_at_exit)

if hasattr(os, "register_at_fork"):  # what the parent opened is the parent's to close
    os.register_at_fork(after_in_child=_OPEN.clear)

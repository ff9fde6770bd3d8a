"""What happens when the host looks at or touches the memory of a buffer that a device knows.

A `Watch` is the watcher of one segment. It sees to it that what the host reads is current,
that nothing under way uses what the host writes, and that the state of the content is true
afterwards. It waits for what the access needs and for nothing else, and not under the lock.
"""

import sys
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeAlias, cast

from trilby.backend.base import Ticket
from trilby.data.ranges import Ranges
from trilby.data.segment import Segment, raw_views_of
from trilby.errors import ReentryError, TrilbyError
from trilby.mending import is_final
from trilby.process import PROCESS
from trilby.runtime.callers import Caller
from trilby.runtime.content import (
    CONTENTS,
    LOCK,
    Content,
    Replica,
    check_entry,
    check_launch,
    is_locked_here,
)
from trilby.runtime.explicit import block_of, check_host_read
from trilby.runtime.launch_buffers import Writer
from trilby.runtime.profiles import PROFILES, RECORDINGS, note_wait
from trilby.runtime.replicas import Reason, current_in, poison_stale

_GIVEN_BACK = "its memory is yours, and the array on it is gone"

Coming: TypeAlias = tuple[Iterable[Ticket], str, Sequence[Replica]]
"""Copies to memory that is given back, why they are made, and from where."""


class Watch:
    """The watcher of one segment, and its link to what is known of its memory.

    Before `b[5]` is read, `before_read` brings the bytes 20 to 24, if the device has them newer.
    """

    __slots__ = ("address", "borrowed", "coming", "content", "ends", "nbytes", "raw_views")

    def __init__(self, content: Content, segment: Segment) -> None:
        self.content = content
        self.address = segment.address
        self.nbytes = segment.nbytes
        self.borrowed = segment.borrowed
        self.raw_views = segment.raw_views
        self.coming: Coming = (), "", ()
        self.ends: tuple[weakref.ref[Segment], _End] | None = None

    def before_read(self, ranges: Ranges) -> None:
        """Bring what the host is about to read, and wait for it."""
        check_entry()
        if not RECORDINGS and self.content.is_quiet:
            return
        with LOCK:
            content = self.content
            missing = ranges.shifted(self.address) - content.host
            if missing:
                reason = _reason("the host reads it", content, missing)
                check_host_read(content, missing, reason)
                content.fetch(_grown(content, missing), reason)
            tickets = self._reading(ranges)
        self._wait_for(tickets, "the host reads it")

    def start_to_read(self, ranges: Ranges, why: str) -> list[Ticket]:
        """Bring just these bytes, also where nothing moves by itself. The lock is held.

        The host may read them when what this gives was waited for.
        """
        self._fetch(ranges, why)
        return self._reading(ranges)

    def fetch(self, ranges: Ranges, why: str, *, wait: bool = False) -> bool:
        """Start to bring bytes home before anybody reads them; false where they are there."""
        check_launch()
        with LOCK:
            content = self.content
            if self not in content.watches:  # its segment is gone, and nobody can look
                return False
            has_moved = self._fetch(ranges, why)
            tickets = content.before_unseen_accesses()
            if wait:
                tickets += content.before_host_reads(ranges.shifted(self.address))
        self._wait_for(tickets, why)
        return has_moved

    def _fetch(self, ranges: Ranges, why: str) -> bool:
        """Start to bring just these bytes home; false where they are there."""
        content = self.content
        missing = ranges.shifted(self.address) - content.host
        if missing:
            content.fetch(missing, _reason(why, content, missing))
        return bool(missing)

    def _reading(self, ranges: Ranges) -> list[Ticket]:
        """Note that the host reads bytes; gives what it has to wait for."""
        for recording in RECORDINGS:
            recording.host_reads(self, ranges)
        content = self.content
        wanted = ranges.shifted(self.address)
        return content.before_host_reads(wanted) + content.before_unseen_accesses()

    def before_write(self, ranges: Ranges) -> None:
        """Wait for copies and kernels that use the memory."""
        check_entry()
        if self.content.is_quiet:
            return
        with LOCK:
            events = self.content.before_host_writes(ranges.shifted(self.address))
        self._wait_for(events, "the host writes to it")

    def _wait_for(self, events: Iterable[Ticket], why: str) -> None:
        """Wait for work; what failed is told here, and then no more."""
        try:
            wait_for(events, why, self.content.replicas)
        except TrilbyError:
            with LOCK:
                self.content.overcome()
            raise
        bury_when_idle()

    def after_write(self, ranges: Ranges) -> None:
        """From now on the host's content is the content."""
        with LOCK:
            content = self.content
            wanted = ranges.shifted(self.address)
            for recording in RECORDINGS:
                recording.host_writes(self, ranges)
            before = current_in([content])
            content.touch(wanted, None, Writer("the host", Caller.now()))
            poison_stale(before)
        bury_when_idle()

    def stale(self, ranges: Ranges) -> Ranges:
        """Those of these bytes that are not current on the host."""
        if self.content.is_quiet:
            return Ranges.EMPTY
        with LOCK:
            return (ranges.shifted(self.address) - self.content.host).shifted(-self.address)

    def after_failed_write(self, ranges: Ranges) -> None:
        """What the host had current is the content, whatever was made of it."""
        with LOCK:
            changed = ranges.shifted(self.address) & self.content.host
        if changed:
            self.after_write(changed.shifted(-self.address))

    @property
    def copies_nothing(self) -> bool:
        """Whether a device that has a copy is inside of `explicit()` or `guard()`."""
        owners = [replica.owner for replica in self.content.replicas]
        return any(owner.guards or block_of(owner) for owner in owners)

    def released(self) -> None:
        """The user gave the memory up: what he lent gets its content back.

        That is waited for before devices let go of it: then they do so at once.
        """
        check_entry()
        with LOCK:
            if self.borrowed and self in self.content.watches:
                mine = self.content.replicas_of(self.address, self.nbytes)
                self._give_back(mine, is_last=False)
        try:
            wait_for(*self.coming)
        finally:
            with LOCK:
                coming = self.leave(is_last=False)
        wait_for(*coming)

    def escaped(self) -> None:
        """A raw view was given out: launches that are known must look again."""
        with LOCK:
            self.content.changed()

    def leave(self, *, is_last: bool = True) -> "Coming":
        """The segment is gone, and with it, unless others have it too, its copies on devices.

        The lock is held. With `is_last` this is done also where a device fails, which is raised
        afterwards; where a signal interrupts it, all of it is done again. Gives what to wait for,
        each time.
        """
        content = self.content  # it may be another by now
        if self not in content.watches:
            return self.coming
        content.changed()
        content.end_raw_views()
        if not self.raw_views and self.raw_views in content.raw_views:  # others still count
            content.raw_views.remove(self.raw_views)
        mine = content.replicas_of(self.address, self.nbytes)
        shared = [watch.place for watch in content.watches].count(self.place) > 1
        steps: list[Callable[[], None]] = []
        if self.borrowed:
            steps.append(partial(self._give_back, mine, is_last=is_last))
        if not shared:
            steps += [partial(replica.owner.drop, replica) for replica in mine]
        failures: list[Exception] = []
        for step in steps:
            try:
                step()
            except (TrilbyError, AssertionError) as error:
                if not is_last or not is_final(error):
                    raise
                failures.append(error)
        self._end(is_shared=shared)
        if failures:
            raise failures[0]
        return self.coming

    def _give_back(self, mine: Sequence[Replica], *, is_last: bool) -> None:
        content = self.content
        for recording in RECORDINGS:
            recording.host_reads(self, Ranges.span(0, self.nbytes))
        content.fetch(self.whole, Reason(_GIVEN_BACK, None, is_last))
        self.coming = content.before_host_writes(self.whole), _GIVEN_BACK, mine

    def _end(self, *, is_shared: bool) -> None:
        for recording in RECORDINGS if not is_shared else ():
            recording.ended(self)
        content = self.content
        if len(content.watches) == 1:
            CONTENTS.forget(content)
        content.watches.remove(self)  # last: where Ctrl-C comes before, all is done again
        self.ends = None

    @property
    def whole(self) -> Ranges:
        """All bytes of the segment."""
        return Ranges.span(self.address, self.address + self.nbytes)

    @property
    def place(self) -> tuple[int, int]:
        """Where its memory is, and how long."""
        return self.address, self.nbytes


def _reason(need: str, content: Content, missing: Ranges) -> Reason:
    return Reason(need, Caller.now(), writer=content.writer_of(missing))


def watched(segment: Segment) -> Watch:
    """The watch of a segment; from the first call on its state is known."""
    watch = segment.watcher
    if isinstance(watch, Watch):
        return watch
    _leave_ended()  # one of them may have been at the same place
    start, nbytes = segment.address, segment.nbytes
    if nbytes:
        content = CONTENTS.around(start, start + nbytes)
    else:
        content = Content(start, start, Ranges.EMPTY, Ranges.EMPTY)
    fresh = content.fresh
    if not segment.borrowed:
        fresh |= (Ranges.span(0, nbytes) - segment.touched).shifted(start)
    watch = Watch(content, segment)
    watch.ends = (weakref.ref(segment, bury_when_idle), _End(segment, _ENDED.append))
    watch.ends[1].leave = watch.leave
    taken = raw_views_of(Ranges.span(start, start + nbytes))
    for views in {segment.raw_views, *taken}.difference(content.raw_views):
        content.raw_views.append(views)
    content.fresh, segment.watcher = fresh, watch
    content.watches.append(watch)  # in the same step: Ctrl-C is heard after a call
    return watch


class _End(weakref.ref[Segment]):
    """A weak reference that is called back when its segment ends: `del b` appends it to `_ENDED`.

    That is done in C, where no interrupt is heard.
    """

    __slots__ = ("leave",)
    leave: "Callable[[], Coming]"


_take_first = deque["Callable[[], None]"].popleft

_ENDED: deque[_End] = PROCESS.ended_segments
"""The segments that have ended and are not left yet, in whatever thread they did.

Who has the lock may leave them: another segment may have got the memory by then, and must not be
taken for the one that ended. They are taken out when memory that was lent has its content, for
which every thread waits that comes by.
"""

_LOST: "deque[Callable[[], None]]" = PROCESS.lost_objects
"""What to do about other objects that were collected in the middle of things."""


def is_gone(take_leave: Callable[[], None]) -> None:
    """Something was collected, which can happen between any two steps of this very thread."""
    _LOST.append(take_leave)
    bury_when_idle()


def bury_when_idle(_: object = None) -> None:
    """Take leave of what is gone, unless this thread is in the middle of things."""
    if not (_ENDED or _LOST) or is_locked_here() or sys.is_finalizing():
        return
    while _ENDED:
        _bury_ended()
    while _LOST:
        _bury_lost()


def _leave_ended() -> None:
    """Leave all segments that have ended. The lock is held, and nothing is waited for."""
    for end in tuple(_ENDED):
        end.leave()


def _bury_ended() -> None:
    with LOCK:
        if not _ENDED:  # another thread was faster
            return
        first = _ENDED[0]
        coming = first.leave()
    try:
        wait_for(*coming)
    except BaseException as error:
        if is_final(error):
            _take_out(first)
        raise
    _take_out(first)


def _take_out(first: _End) -> None:
    with LOCK:
        if _ENDED and _ENDED[0] is first:  # two threads may have waited for it
            _ENDED.popleft()


def _bury_lost() -> None:
    lost: Callable[[], None] | None = None
    try:
        for lost in map(_take_first, (_LOST,)):  # noqa: B007 -- in one step, without Ctrl-C
            break
        if lost is not None:
            lost()
    except BaseException as error:
        if lost is None and isinstance(error, IndexError):  # another thread was faster
            return
        if lost is not None and not is_final(error):
            _LOST.appendleft(lost)
        raise


def _watched_elsewhere(segment: Segment) -> Watch | None:
    """The watch of a segment whose memory is known under another name; None where it is not."""
    check_entry()
    with LOCK:
        if not CONTENTS.knows(segment.address, segment.address + segment.nbytes):
            return None
        return watched(segment)


Segment.watcher_of = staticmethod(_watched_elsewhere)


def wait_for(tickets: Iterable[Ticket], why: str = "", replicas: Sequence[Replica] = ()) -> None:
    """Wait for work on some replicas; one that failed says which dispatch it was.

    A copy fails with the kernel whose result it should have brought: that is then raised. An
    `assert` that failed is told once.
    """
    for ticket in tickets:
        started = time.perf_counter() if PROFILES and not ticket.done else 0.0
        try:
            ticket.wait()
        except ReentryError:  # of a signal handler
            raise
        except TrilbyError as error:
            origin = ticket.origin
            if isinstance(error, AssertionError):
                with LOCK:
                    for owner in {one.owner for one in replicas}:
                        owner.has_told(ticket)
            if isinstance(origin, tuple):
                wait_for(cast("tuple[Ticket, ...]", origin), why, replicas)
            if not error.is_placed and isinstance(origin, Writer):
                error.location = origin.caller.location
            raise
        finally:
            if started:
                note_wait(ticket, time.perf_counter() - started, why, replicas)


def _grown(content: Content, missing: Ranges) -> Ranges:
    """What to fetch when the host lacks some bytes: more and more while it walks on.

    Each step that follows on the last fetches twice as much, so that a walk through n bytes
    takes some log n copies and fetches less than twice what it reads.
    """
    start, stop = missing.hull
    last, size = content.scan
    if start == last and len(missing) == 1:
        stop = max(stop, min(start + 2 * size, content.stop))
        first, _ = (Ranges.span(start, stop) - content.host).ends
        missing |= Ranges(*first)
        stop = missing.hull[1]
    content.scan = stop, missing.nbytes
    return missing

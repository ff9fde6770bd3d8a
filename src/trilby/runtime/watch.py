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
from typing import cast

from trilby.backend.base import Event
from trilby.backend.giving import GIVING
from trilby.data.ranges import Ranges
from trilby.data.raw_views import raw_views_of
from trilby.data.segment import Segment
from trilby.errors import TrilbyError
from trilby.runtime.callers import Caller
from trilby.runtime.content import LOCK, Content, Replica, Scan, check_entry, is_locked_here
from trilby.runtime.contents import CONTENTS
from trilby.runtime.explicit import block_of, check_host_read
from trilby.runtime.origins import KernelWrite
from trilby.runtime.profiles import PROFILES, note_wait
from trilby.runtime.recordings import RECORDINGS
from trilby.runtime.replicas import Reason, bring_home

_GIVEN_BACK = "its memory is yours, and the array on it is gone"


class Watch:
    """The watcher of one segment, and its link to what is known of its memory."""

    __slots__ = ("address", "borrowed", "content", "ends", "nbytes", "raw_views")

    def __init__(self, content: Content, segment: Segment) -> None:
        self.content = content
        self.address = segment.address
        self.nbytes = segment.nbytes
        self.borrowed = segment.borrowed
        self.raw_views = segment.raw_views
        self.ends: tuple[object, _End] | None = None

    def before_read(self, ranges: Ranges) -> None:
        """Bring what the host is about to read, and wait for it."""
        check_entry()
        if not RECORDINGS and self.content.is_quiet:
            return
        with LOCK:
            content = self.content
            wanted = ranges.shifted(self.address)
            missing = wanted - content.host
            if missing:
                reason = Reason(f"the host reads it; {content.writer_of(missing)}", Caller.now())
                check_host_read(content, missing, reason)
                bring_home(content, _grown(content, missing), reason)
            for recording in RECORDINGS:
                recording.host_reads(self, ranges)
            events = content.before_host_reads(wanted) + content.before_unseen_accesses()
        self._wait_for(events, "the host reads it")

    def start_to_read(self, ranges: Ranges, why: str) -> list[Event]:
        """Bring just these bytes, also where nothing moves by itself. The lock is held.

        The host may read them when what this gives was waited for.
        """
        content = self.content
        wanted = ranges.shifted(self.address)
        missing = wanted - content.host
        if missing:
            reason = Reason(f"{why}; {content.writer_of(missing)}", Caller.now())
            bring_home(content, missing, reason)
        for recording in RECORDINGS:
            recording.host_reads(self, ranges)
        return content.before_host_reads(wanted) + content.before_unseen_accesses()

    def fetch(self, ranges: Ranges, why: str, *, wait: bool = False) -> bool:
        """Start to bring bytes home before anybody reads them; false where they are there."""
        check_entry()
        with LOCK:
            content = self.content
            if self not in content.watches:  # its segment is gone, and nobody can look
                return False
            wanted = ranges.shifted(self.address)
            missing = wanted - content.host
            if missing:
                reason = Reason(f"{why}; {content.writer_of(missing)}", Caller.now())
                bring_home(content, missing, reason)
            events = content.before_unseen_accesses()
            if wait:
                events += content.before_host_reads(wanted)
        self._wait_for(events, why)
        return bool(missing)

    def before_write(self, ranges: Ranges) -> None:
        """Wait for copies and kernels that use the memory."""
        check_entry()
        if self.content.is_quiet:
            return
        with LOCK:
            events = self.content.before_host_writes(ranges.shifted(self.address))
        self._wait_for(events, "the host writes to it")

    def _wait_for(self, events: Iterable[Event], why: str) -> None:
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
            had = [(replica, replica.valid) for replica in content.replicas]
            content.written_by_host(wanted, HostWrite())
            for replica, valid in had:
                if replica.valid is not valid:
                    replica.owner.spoil_device(replica, valid - replica.valid)
        bury_when_idle()

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
        """The user gave the memory up: what he lent gets its content back."""
        self._leave(is_last=False)

    def escaped(self) -> None:
        """A raw view was given out: launches that are known must look again."""
        with LOCK:
            self.content.changed()

    def leave(self) -> None:
        """The segment is gone, and with it, unless others have it too, its copies on devices."""
        self._leave(is_last=True)

    def _leave(self, *, is_last: bool) -> None:
        with LOCK:
            content = self.content  # it may be another by now
            if self not in content.watches:
                return
            content.changed()
            content.end_raw_views()
            if not self.raw_views and self.raw_views in content.raw_views:  # others still count
                content.raw_views.remove(self.raw_views)
            mine = [r for r in content.replicas if r.has_place_of(self.address, self.nbytes)]
            whole = Ranges.span(self.address, self.address + self.nbytes)
            events: list[Event] = []
            if self.borrowed:
                reason = Reason(_GIVEN_BACK, None, is_last)
                bring_home(content, whole - content.host, reason)
                events = content.before_host_writes(whole)
            alike = [w for w in content.watches if (w.address, w.nbytes) == self._place]
            others = len(alike) > 1
            for replica in mine if not others else ():
                replica.owner.drop(content, replica)
            for recording in RECORDINGS if not others else ():
                recording.ended(self)
            if len(content.watches) == 1:
                CONTENTS.forget(content)
            content.watches.remove(self)  # last: where Ctrl-C comes before, all is done again
            self.ends = None
        wait_for(events, _GIVEN_BACK, mine)

    @property
    def _place(self) -> tuple[int, int]:
        return self.address, self.nbytes


class HostWrite:
    """Who wrote, for the cause of a copy: the line is looked up when it is shown."""

    __slots__ = ("_caller",)

    def __init__(self) -> None:
        self._caller = Caller.now()

    def __str__(self) -> str:
        return f"the host wrote it at {self._caller.line.short}"


def watched(segment: Segment) -> Watch:
    """The watch of a segment; from the first call on its state is known."""
    watch = segment.watcher
    if isinstance(watch, Watch):
        return watch
    _bury()  # one of them may have been at the same place
    start, nbytes = segment.address, segment.nbytes
    if nbytes:
        content = CONTENTS.around(start, start + nbytes, _moved)
    else:
        content = Content(start, start, Ranges.EMPTY, Ranges.EMPTY)
    fresh = content.fresh
    if not segment.borrowed:
        fresh |= (Ranges.span(0, nbytes) - segment.touched).shifted(start)
    watch = Watch(content, segment)
    watch.ends = (weakref.ref(segment, bury_when_idle), _End(segment, _GONE.append))
    watch.ends[1].take_leave = watch.leave
    taken = raw_views_of(Ranges.span(start, start + nbytes))
    for views in {segment.raw_views, *taken}.difference(content.raw_views):
        content.raw_views.append(views)
    content.fresh, segment.watcher = fresh, watch
    content.watches.append(watch)  # in the same step: Ctrl-C is heard after a call
    return watch


class _End(weakref.ref[Segment]):
    """Is called back when a segment ends. That is done in C, where no interrupt is heard."""

    __slots__ = ("take_leave",)
    take_leave: Callable[[], None]


class _Loss:
    """Something else that ended."""

    __slots__ = ("take_leave",)

    def __init__(self, take_leave: Callable[[], None]) -> None:
        self.take_leave = take_leave


_take_first = deque[_End | _Loss].popleft

_GONE: deque[_End | _Loss] = deque()
"""What to do about objects that were collected while their thread was in the middle of things."""


def is_gone(take_leave: Callable[[], None]) -> None:
    """Something was collected, which can happen between any two steps of this very thread."""
    _GONE.append(_Loss(take_leave))
    bury_when_idle()


def bury_when_idle(_: object = None) -> None:
    """Take leave of what is gone, unless this thread is in the middle of things."""
    if _GONE and not GIVING.now and not is_locked_here() and not sys.is_finalizing():
        _bury()


def _bury() -> None:
    """Take leave of what is gone; nothing is half done."""
    while _GONE:
        gone: _End | _Loss | None = None
        first = map(_take_first, (_GONE,))
        try:
            for gone in first:  # noqa: B007 -- in one step: Ctrl-C is heard after calls
                break
            if gone is not None:
                gone.take_leave()
        except BaseException as error:
            if gone is None and isinstance(error, IndexError):  # another thread was faster
                return
            if gone is not None and not isinstance(error, TrilbyError):
                _GONE.appendleft(gone)
            raise


def _watched_elsewhere(segment: Segment) -> Watch | None:
    """The watch of a segment whose memory is known under another name; None where it is not."""
    with LOCK:
        if not CONTENTS.knows(segment.address, segment.address + segment.nbytes):
            return None
        return watched(segment)


Segment.watcher_of = staticmethod(_watched_elsewhere)


def wait_for(events: Iterable[Event], why: str = "", replicas: Sequence[Replica] = ()) -> None:
    """Wait for work on some replicas; one that failed says which dispatch it was.

    A copy fails with the kernel whose result it should have brought: that is then raised.
    """
    for event in events:
        started = time.perf_counter() if PROFILES and not event.done else 0.0
        try:
            event.wait()
        except TrilbyError as error:
            origin = event.origin
            if isinstance(origin, tuple):
                wait_for(cast("tuple[Event, ...]", origin), why, replicas)
            if not error.is_placed and isinstance(origin, KernelWrite):
                error.location = origin.caller.location
            raise
        finally:
            if started:
                note_wait(event, time.perf_counter() - started, why, replicas)


def _moved(old: Content, new: Content) -> None:
    """A content became a part of another."""
    old.changed()
    for watch in old.watches:
        watch.content = new
        new.watches.append(watch)
    for owner in {replica.owner for replica in old.replicas}:
        owner.room.moved_to(new)
    old.replicas.clear()


def _grown(content: Content, missing: Ranges) -> Ranges:
    """What to fetch when the host lacks some bytes: more and more while it walks on.

    Each step that follows on the last fetches twice as much, so that a walk through n bytes
    takes some log n copies and fetches less than twice what it reads.
    """
    start, stop = missing.hull
    scan = content.scan
    if start == scan.stop and len(missing) == 1:
        stop = max(stop, min(start + 2 * scan.size, content.stop))
        missing |= _first_run(Ranges.span(start, stop) - content.host)
        stop = missing.hull[1]
    content.scan = Scan(stop, missing.total)
    return missing


def _first_run(ranges: Ranges) -> Ranges:
    return Ranges(ranges.parts[:1])

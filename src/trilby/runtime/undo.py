"""What it takes to undo the kernels of a compute call, so that it can start again elsewhere.

Before a kernel first uses a buffer, what only its device has comes home, since the device may be
lost; before it writes, the bytes that it may write are kept. This costs copies: it is done only
where there is another device to start again on.
"""

import weakref
from collections.abc import Iterable
from dataclasses import field

import numpy as np

from trilby.backend.base import Event
from trilby.data.ranges import Ranges
from trilby.data.segment import Live, Segment
from trilby.dataclass import dataclass
from trilby.errors import DeviceError, ReentryError, TrilbyError
from trilby.options import Transfers
from trilby.runtime.callers import Caller
from trilby.runtime.content import LOCK
from trilby.runtime.held import Use
from trilby.runtime.replicas import Reason, Replicas, bring_home
from trilby.runtime.residency import Work
from trilby.runtime.watch import Watch, wait_for, watched


@dataclass(frozen=True, slots=True)
class Kept:
    """Bytes of a buffer as they were; `fresh` are zeros that nobody had written.

    Memory that somebody lent is kept alive, since he sees it. That of a buffer that is gone is
    nobody's.
    """

    watch: Watch
    segment: "weakref.ref[Segment]"
    lent: Live | None
    pieces: tuple[tuple[int, bytes], ...]
    fresh: Ranges

    @property
    def memory(self) -> Live | None:
        """The host's memory, as long as anybody can see it."""
        segment = self.segment()
        return self.lent if segment is None or segment.released else segment.memory

    def put_back(self, why: str) -> None:
        """Let the host have the bytes again, and nobody else."""
        memory, first = self.memory, self.watch.address
        if memory is None:
            return
        for start, old in self.pieces:
            memory[start - first : start - first + len(old)] = np.frombuffer(old, np.uint8)
        for start, stop in self.fresh:
            memory[start - first : stop - first] = 0
        kept = Ranges.of(*((start, start + len(old)) for start, old in self.pieces))
        content = self.watch.content
        content.written_by_host(kept | self.fresh, why)
        content.fresh |= self.fresh


@dataclass(slots=True, eq=False)
class Undo:
    """How everything was before a compute call, as far as its kernels changed it.

    `lost` is what failed where something that only the device had was to be brought home.
    """

    replicas: Replicas
    lost: DeviceError | None = None
    _kept: list[Kept] = field(default_factory=list[Kept])
    _written: Ranges = Ranges.EMPTY

    def before(self, work: Work) -> None:
        """Keep what a launch will change, and bring home what it could take away."""
        try:
            with LOCK:
                uses = [(watched(use.segment), use) for use in work.uses]
                events = [e for one in uses for e in self._bring_home(*one, work.caller)]
            replicas = [one for watch, _ in uses for one in watch.content.replicas]
            wait_for(events, "the run may have to start again on another device", replicas)
        except DeviceError as error:
            self.lost = error
            raise
        with LOCK:
            self._drop_unseen()
            for watch, use in uses:
                self._keep(watch, use, everything=work.transfers is Transfers.ALWAYS)

    def _drop_unseen(self) -> None:
        self._kept = [kept for kept in self._kept if kept.memory is not None]

    def _bring_home(self, watch: Watch, use: Use, caller: Caller) -> list[Event]:
        content, whole = watch.content, _whole(watch)
        missing = whole - content.host - self._written
        if missing:
            reason = Reason("the run may have to start again on another device", caller)
            bring_home(content, missing, reason)
        elif self._written.covers(use.footprint.writes.shifted(watch.address)):
            return []  # nothing is copied
        return content.before_host_reads(whole)

    def _keep(self, watch: Watch, use: Use, *, everything: bool) -> None:
        data = Ranges.of(*((start, stop) for _, start, stop in use.fields))
        changing = data if everything else use.footprint.writes
        changed = changing.shifted(watch.address) - self._written
        if not changed:
            return
        fresh = changed & watch.content.fresh
        segment, first = use.segment, watch.address
        memory = segment.memory
        pieces = tuple(
            (start, memory[start - first : stop - first].tobytes())
            for start, stop in changed - fresh
        )
        lent = memory if segment.borrowed else None
        self._kept.append(Kept(watch, weakref.ref(segment), lent, pieces, fresh))
        self._written |= changed

    def restore(self, why: str) -> None:
        """Make everything as it was, on the host, and take the device's copies away."""
        settle(self.replicas)
        with LOCK:
            for kept in reversed(self._kept):
                kept.put_back(why)
            for content, replica in self.replicas.all:
                if content.only_at(replica):
                    continue
                self.replicas.drop(content, replica)


def _whole(watch: Watch) -> Ranges:
    return Ranges.span(watch.address, watch.address + watch.nbytes)


def settle(replicas: Replicas) -> None:
    """Wait until no work of a device uses the host's memory, however it ends."""
    with LOCK:
        pairs = replicas.all
        events: list[Event] = []
        for content, replica in pairs:
            events += [*replica.writers, *replica.readers]
            events += content.before_host_writes(replica.whole)
    _wait_whatever(events)
    with LOCK:
        for content, _ in pairs:
            content.overcome()


def _wait_whatever(events: Iterable[Event]) -> None:
    for event in events:
        try:
            event.wait()
        except ReentryError:  # of a signal handler
            raise
        except TrilbyError:  # what failed is why this is asked for, and is told
            continue

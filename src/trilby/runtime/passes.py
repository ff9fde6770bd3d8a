"""Many passes of one dispatch: brought once, run back to back, stopped after a whole one.

The passes are given to the device in portions. Between two of them the lock is free, other
threads may look at the buffers, and it is seen whether the run is to end. Whatever ends it, also
Ctrl-C: what is known of the buffers is how they are after the last pass that was begun.
"""

import os
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from typing import TYPE_CHECKING

from trilby.backend.base import Queue, Ticket, Times
from trilby.backend.say import say_all
from trilby.dataclass import dataclass
from trilby.errors import PassesCancelledError, PassesTimeoutError
from trilby.options import Transfers
from trilby.runtime.content import JOURNAL, LOCK, Replica
from trilby.runtime.launches import Launches
from trilby.runtime.pass_options import PassOptions, Progress
from trilby.runtime.prepared_launch import LaunchRequest, PreparedLaunch
from trilby.runtime.profiles import PROFILES, note_wait, profiles_of
from trilby.runtime.residency import Residency
from trilby.runtime.watch import wait_for
from trilby.shown import tool

if TYPE_CHECKING:
    from trilby.runtime.context import ComputeContext

# --------------------------------------------------------------------------------------------- pace
# How many passes are given to a device at once.
#
# Enough that it never runs dry, and few enough that a run that is to stop does so in a moment.

MOST_AT_ONCE = 1024
"""The most passes of one portion."""

PORTION_SECONDS = 0.01
"""What a portion is to take."""

MOST_UNDER_WAY = 2
"""The portions that the device may have: one that runs, and one that comes next."""

_GROWTH = 4


class Pace:
    """The portions under way, and the size of the next one; `size` is that of the first.

    Passes of 0.1 ms begin with portions of 1, 4, 16 and 64, and then have some 100.
    """

    def __init__(self, size: int = 1) -> None:
        self.size = size
        self._under_way: deque[tuple[Ticket, int, float]] = deque()
        self._last_end = 0.0

    def next_size(self, most: int) -> int:
        """How many passes to begin now."""
        return min(self.size, most, MOST_AT_ONCE)

    def begun(self, ticket: Ticket, passes: int, started: float) -> None:
        """Passes were begun, since some moment."""
        self._under_way.append((ticket, passes, started))

    @property
    def too_many(self) -> bool:
        """Whether the device has all it needs."""
        return len(self._under_way) >= MOST_UNDER_WAY

    @property
    def oldest(self) -> Ticket | None:
        """The portion that ends first."""
        return self._under_way[0][0] if self._under_way else None

    def ended(self) -> None:
        """The oldest portion is done: from the time it took follows the size of the next."""
        _, passes, started = self._under_way.popleft()
        now = time.perf_counter()
        took = max(now - max(started, self._last_end), 1e-9)
        self._last_end = now
        wanted = int(PORTION_SECONDS * passes / took)
        self.size = max(1, min(wanted, _GROWTH * max(passes, self.size), MOST_AT_ONCE))


# ------------------------------------------------------------------------------------------- passes


@dataclass(slots=True, eq=False)
class PortionTimes:
    """What the portions of a run took, added up before their queue forgets them.

    For 1,000 passes in ten portions it is what the device took for all of them.
    """

    began: float | None = None
    seconds: float = 0.0
    queued: float = 0.0
    has_failed: bool = False
    _unread: "list[tuple[Queue, int, int]]" = field(default_factory=list)

    def add(self, queue: Queue, first: int, last: int) -> None:
        """A portion was submitted, as the commands from one number to another."""
        self._unread.append((queue, first, last))

    def read(self) -> Times | None:
        """Add up the portions that are over; None where one failed."""
        while self._unread and self._unread[0][0].completed >= self._unread[0][2]:
            queue, first, last = self._unread.pop(0)
            one, other = queue.times(first), queue.times(last)
            if one is None or other is None:
                self.has_failed = True
                continue
            if one.began is not None and other.began is not None:
                self.seconds += other.began + other.seconds - one.began
            if self.began is None:
                self.began, self.queued = one.began, one.queued
        return None if self.has_failed else Times(self.began, self.seconds, self.queued)


PROGRESS_SECONDS = 0.1
"""How often progress is told."""

_RESTLESS_SECONDS = 60e-6
_PAUSE_SHARE = 1 / 32
_LONGEST_PAUSE = 1e-3


class PassesRun:
    """One dispatch with many passes: a prepared launch that is submitted in portions.

    With `passes=1000` and portions of 100, `done` is 300 after the third.
    `done` passes were given to the device. `_launch` is the launch, from when its data is in place;
    `_first` is the number of its first pass here, and `_begun` how many runs it had before that.
    """

    def __init__(
        self,
        kernel: str,
        launches: Launches,
        residency: Residency,
        launch: PreparedLaunch | None,
        request: Callable[[], LaunchRequest | None],
        options: PassOptions,
    ) -> None:
        self._launches = launches
        self._residency = residency
        self._options = options
        self._request = request
        self._launch = launch
        self._first = 0
        self._begun = launch.prepared.begun if launch else 0
        self._ran = PortionTimes() if PROFILES else None
        self._last: Ticket | None = None
        self._pace = Pace(launch.portion if launch else 1)
        self._started = self._told = time.perf_counter()
        self._kernel = kernel
        self._transfers = launch.transfers if launch else Transfers.AUTO

    @property
    def done(self) -> int:
        """The passes that the device has."""
        launch = self._launch
        return self._first + (launch.prepared.begun - self._begun if launch else 0)

    def run(self, context: "ComputeContext") -> None:
        """Run all passes, or as many as the options say; the context counts them."""
        progress = self._options.progress
        bar: AbstractContextManager[Progress | None]
        if progress is True:
            bar = tool("trilby.tools.progress", "progress_bar")(self._kernel)
        else:
            bar = nullcontext(progress)
        try:
            with bar as tell:
                self._run(tell)
            self._keep()
        except BaseException:
            self._show_in_raw_views()
            raise
        finally:
            context.passes_done = self.done
            if self._launch is not None:
                self._launch.is_one_of_many = False
            self._tell_profiles()
            say_all()

    def _run(self, tell: Progress | None) -> None:
        options = self._options
        while self.done < options.passes:
            until = self._next_look()
            while self.done < until:
                self._begin_portion(until)
                self._tell(tell)
            if options.until is not None and self.done < options.passes and self._is_flagged():
                break
        self._finish(tell)

    def _next_look(self) -> int:
        """The pass before which the flag is looked at."""
        options = self._options
        if options.until is None:
            return options.passes
        return min(options.passes, self.done + options.check_every)

    def _begin_portion(self, until: int) -> None:
        while self._pace.too_many:
            self._await_oldest()
        self._check_stop()
        started = time.perf_counter()
        request = None
        if self._launch is None:
            request = self._request()
        if request is not None:
            self._transfers = request.transfers
            if self._residency.before_launch is not None:  # it may have to undo this
                self._residency.before_launch(request)
        with LOCK:
            launch = self._ready(request)
            count = self._pace.next_size(until - self.done)
            if launch.executable.asserts or launch.executable.prints:
                count = 1  # the next one is begun when this one went well
            before = launch.queue.submitted
            ticket = self._last = self._residency.launch(launch, count, self.done)
            launch.transfers = Transfers.AUTO  # what a strategy brings at first, it brings once
            if self._ran is not None:
                self._ran.add(launch.queue, before + 1, ticket.number)
        self._pace.begun(ticket, count, started)
        if launch.executable.asserts or launch.executable.prints:
            self._await_all()

    def _ready(self, request: LaunchRequest | None) -> PreparedLaunch:
        """The launch, with its buffers on the device. The lock is held."""
        launch, done = self._launch, self.done
        if launch is not None:
            launch.is_one_of_many = True
        if launch is not None and (launch.is_there or launch.is_current):
            if done and not launch.is_current:
                launch.touch_from(done, self._options.passes)
            return launch
        launch = self._launches.prepare(request or self._request())
        launch.is_one_of_many = True
        if done:
            launch.transfers = Transfers.AUTO
            launch.touch_from(done, self._options.passes)
        self._first, self._begun = done, launch.prepared.begun
        self._launch = launch
        return launch

    def _keep(self) -> None:
        """Let an equal dispatch find the launch."""
        launch = self._launch
        if launch is None:
            return
        with LOCK:
            launch.portion = self._pace.size
            launch.transfers = self._transfers
            launch.touch_from(0, self._options.passes)
            self._launches.keep(launch, self._options.passes)

    @property
    def _replicas(self) -> list[Replica]:
        return [one.replica for one in self._launch.buffers] if self._launch else []

    # ---------------------------------------------------------------------------- the ends

    def _is_flagged(self) -> bool:
        """Look at the flag, when all passes so far are done."""
        flag = self._options.until
        if flag is None:
            return False
        with LOCK:
            launch = self._launch if self._launch and self._launch.is_current else None
            tickets = flag.fetch()
            if launch is not None:
                launch.note_current()
        for ticket in tickets:
            self._await(ticket)
        self._await_all()
        return flag.is_raised

    def _tell(self, tell: Progress | None) -> None:
        """Tell of the passes that are done, from time to time; host code may do anything then."""
        if tell is None or time.perf_counter() - self._told < PROGRESS_SECONDS:
            return
        if self.done < self._options.passes:
            self._await_all()
            self._give_back(Transfers.AUTO)
            tell(self.done, self._options.passes)
            self._told = time.perf_counter()

    def _finish(self, tell: Progress | None) -> None:
        if tell is not None:
            self._await_all()
        self._give_back(self._transfers)
        if tell is not None:
            tell(self.done, self._options.passes)

    def _show_in_raw_views(self) -> None:
        """Passes were stopped: also raw views that are alive show what those before left."""
        with LOCK:
            JOURNAL.recover()
            launch = self._launch
            is_seen = launch is not None and any(one.seen for one in launch.buffers)
        if is_seen:
            self._give_back(Transfers.AUTO)

    def _give_back(self, transfers: Transfers) -> None:
        launch = self._launch
        if launch is None:
            return
        with LOCK:
            waiting = self._residency.give_back(launch, transfers)
        self._residency.finish(launch, waiting)
        say_all()

    def _tell_profiles(self) -> None:
        """For a profile all passes are one launch."""
        launch = self._launch
        if launch is not None and self._ran is not None:
            for book in profiles_of(self._residency.backend):
                book.launched(launch.origin, self._last, self._replicas, self._ran)

    # ------------------------------------------------------------------------------ waiting

    def _await_oldest(self) -> None:
        oldest = self._pace.oldest
        if oldest is not None:
            self._await(oldest)
            self._pace.ended()
            if self._ran is not None:
                self._ran.read()

    def _await_all(self) -> None:
        while self._pace.oldest is not None:
            self._await_oldest()

    def _await(self, ticket: Ticket) -> None:
        """Wait for work, and hear while it is under way that the run is to end."""
        started = time.perf_counter()
        is_stoppable = self._options.cancel is not None or self._options.timeout is not None
        while is_stoppable and not ticket.done:
            self._check_stop()
            waited = time.perf_counter() - started
            if waited < _RESTLESS_SECONDS and hasattr(os, "sched_yield"):
                os.sched_yield()
            else:
                time.sleep(min(waited * _PAUSE_SHARE, _LONGEST_PAUSE))
        why = f"the passes of {self._kernel} go on"
        if PROFILES and is_stoppable:
            note_wait(ticket, time.perf_counter() - started, why, self._replicas)
        wait_for([ticket], why, self._replicas)

    def _check_stop(self) -> None:
        """Raise where the run is to end: what is under way ends by itself."""
        options = self._options
        if options.cancel is not None and options.cancel.is_set():
            raise PassesCancelledError(
                f"`{self._kernel}` was cancelled after {self._count()}",
                advice="the buffers are as these passes left them",
                done=self.done,
            )
        timeout = options.timeout
        if timeout is not None and time.perf_counter() - self._started > timeout:
            raise PassesTimeoutError(
                f"`{self._kernel}` took longer than {timeout:g} seconds, and was stopped "
                f"after {self._count()}",
                advice="the buffers are as these passes left them",
                done=self.done,
            )

    def _count(self) -> str:
        return f"{self.done} of {self._options.passes} passes"

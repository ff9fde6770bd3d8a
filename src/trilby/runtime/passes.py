"""Many passes of one dispatch: brought once, run back to back, stopped after a whole one.

The passes are given to the device in portions. Between two of them the lock is free, other
threads may look at the buffers, and it is seen whether the run is to end. Whatever ends it, also
Ctrl-C: what is known of the buffers is how they are after the last pass that was begun.
"""

import importlib
import os
import time
from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Protocol, cast

from trilby.analysis.pass_footprints import Footprints, PassFootprints
from trilby.backend.base import Event, Passes
from trilby.backend.done import Together
from trilby.backend.say import say_all
from trilby.data.touched import Touched
from trilby.dataclass import dataclass
from trilby.errors import PassesCancelledError, PassesTimeoutError
from trilby.mending import mend
from trilby.options import Transfers
from trilby.runtime.binding import Bound, uses
from trilby.runtime.compile import AnalysedKernel
from trilby.runtime.content import LOCK, Content, Replica
from trilby.runtime.held import HeldBuffer, KernelWrite, Use, held_with
from trilby.runtime.pass_options import PassOptions, Progress
from trilby.runtime.profiles import PROFILES, note_wait, profiles_of
from trilby.runtime.residency import Residency, Work, work_before
from trilby.runtime.watch import wait_for

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
    """The portions under way, and the size of the next one; `size` is that of the first."""

    def __init__(self, size: int = 1) -> None:
        self.size = size
        self._under_way: deque[tuple[Event, int, float]] = deque()
        self._last_end = 0.0

    def next_size(self, most: int) -> int:
        """How many passes to begin now."""
        return min(self.size, most, MOST_AT_ONCE)

    def begun(self, event: Event, passes: int, started: float) -> None:
        """Passes were begun, since some moment."""
        self._under_way.append((event, passes, started))

    @property
    def too_many(self) -> bool:
        """Whether the device has all it needs."""
        return len(self._under_way) >= MOST_UNDER_WAY

    @property
    def oldest(self) -> Event | None:
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


# ----------------------------------------------------------------------------------------- progress
# The bar that `progress=True` asks for.
#
# What draws on a terminal stands above this layer, and is loaded by its name when it is asked
# for.

_BAR = "trilby.tools.progress"


def progress_bar(title: str) -> AbstractContextManager[Progress]:
    """A bar for the passes of a kernel, as long as the block goes on."""
    module = importlib.import_module(_BAR)
    return cast("AbstractContextManager[Progress]", module.progress_bar(title))


# ------------------------------------------------------------------------------------------- passes

PROGRESS_SECONDS = 0.1
"""How often progress is told."""

_RESTLESS_SECONDS = 60e-6
_PAUSE_SHARE = 1 / 32
_LONGEST_PAUSE = 1e-3


@dataclass(slots=True, eq=False)
class KnownPasses:
    """What stays known of many passes from one dispatch to the next one that is equal.

    `portion` is how many of them take the time of one portion.
    """

    footprints: PassFootprints
    portion: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class PreparedPasses:
    """Passes that are prepared, and the buffers that they use on the device."""

    held: Sequence[HeldBuffer]
    launch: Passes

    @property
    def is_there(self) -> bool:
        """Whether they may be run again, when what they need was brought."""
        return all(one.is_there for one in self.held)


@dataclass(slots=True, eq=False)
class _Ready:
    """Passes whose buffers are in place, as long as no version changes.

    `before` passes were run by others, `first` is the number of the first one that is not, and
    `noted` of them are known to the buffers. `touched` is what those used that had the last of
    several `footprints`.
    """

    prepared: PreparedPasses
    first: int
    before: int
    versions: Sequence[tuple[Content, int]] = ()
    noted: int = 0
    footprints: Footprints | None = None
    touched: Sequence[HeldBuffer] = ()

    @property
    def held(self) -> Sequence[HeldBuffer]:
        return self.prepared.held

    @property
    def launch(self) -> Passes:
        return self.prepared.launch

    @property
    def begun(self) -> int:
        return self.prepared.launch.begun - self.before

    @property
    def is_current(self) -> bool:
        return all(content.version == version for content, version in self.versions)

    def stay_current(self) -> None:
        """What has changed was changed by these passes, or for them."""
        self.versions = [(one.content, one.content.version) for one in self.held]


@dataclass(slots=True, eq=False)
class PassWork:
    """Many passes that were asked for: the launch, its kernel, and what it is given."""

    work: Work
    analysed: AnalysedKernel
    bound: Bound
    known: KnownPasses

    def uses(self, footprints: Sequence[Touched]) -> list[Use]:
        """The uses of their buffers by passes with these footprints."""
        return uses(self.bound, self.analysed.access, footprints)


class CountsPasses(Protocol):
    """Remembers how many passes were run."""

    passes_done: int


class PassesRun:
    """One dispatch with many passes. `done` of them were given to the device.

    `prepared` are equal passes that were run before, and that nobody else uses, or those that may
    be run again when this was run; None where there are none.
    """

    def __init__(
        self,
        residency: Residency,
        asked: PassWork,
        options: PassOptions,
        prepared: PreparedPasses | None = None,
    ) -> None:
        self._residency = residency
        self._work = work = asked.work
        self._options = options
        self._known = asked.known
        self._footprints = asked.known.footprints
        self._uses = asked.uses
        self.prepared = prepared
        self._writer = KernelWrite(work.kernel, work.caller)
        self._ready: _Ready | None = None
        self._profiled = Together() if PROFILES else None
        self._pace = Pace(asked.known.portion)
        self._started = self._told = time.perf_counter()
        self.done = 0

    def run(self, context: CountsPasses) -> None:
        """Run all passes, or as many as the options say; the context counts them."""
        progress = self._options.progress
        bar = progress_bar(self._work.kernel) if progress is True else nullcontext(progress)
        try:
            with bar as tell:
                self._run(tell)
        except BaseException:
            self._show_in_raw_views()
            raise
        finally:
            mend(self._note_all)
            self._known.portion = self._pace.size
            context.passes_done = self.done
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
        with LOCK:
            is_ready = self._ready is not None and self._ready.is_current
        work = None if is_ready else self._announced()
        with LOCK:
            ready = self._ready if work is None else self._prepare(work)
            if ready is None or not ready.is_current:  # another thread was in between
                return
            count = self._pace.next_size(until - self.done)
            ready.launch.run(count, work_before(ready.held))
            event = self._note()
            if event is not None:
                self._pace.begun(event, count, started)
        say_all()

    def _announced(self) -> Work:
        """What is left to be done, of which those hear who may have to undo it."""
        work = self._work
        if self.done:  # what a strategy brings beyond what is needed, it brings once
            left = self._footprints.over(range(self.done, self._options.passes))
            work = replace(work, uses=self._uses(left), transfers=Transfers.AUTO)
        if self._residency.before_launch is not None:
            self._residency.before_launch(work)
        return work

    def _prepare(self, work: Work) -> _Ready:
        """Bring what all passes that are left need. The lock is held."""
        self._note()
        prepared = self.prepared
        is_same = not self.done or not self._footprints.differ
        if prepared is not None and is_same and prepared.is_there:
            self._residency.bring_again(prepared.held, work)
        else:
            held, launch = self._residency.prepare(work)
            prepared = PreparedPasses(held, self._residency.backend.passes(launch))
            if is_same:
                self.prepared = prepared if self._lasts(held) else None
        prepared.launch.count_from(self.done)
        prepared.launch.is_timed = self._profiled is not None
        self._ready = ready = _Ready(prepared, self.done, prepared.launch.begun)
        ready.stay_current()
        return ready

    def _lasts(self, held: Sequence[HeldBuffer]) -> bool:
        """Whether passes on these buffers may be run again."""
        work = self._work
        lasting = work.transfers in {Transfers.AUTO, Transfers.PLANNED} and not work.explicit
        return lasting and not work.executable.debugs and not any(one.seen for one in held)

    def _note(self) -> Event | None:
        """Let the buffers know of all passes that were begun. The lock is held.

        Where Ctrl-C comes in between, it is done once more.
        """
        ready = self._ready
        if ready is None or ready.begun == ready.noted:
            return None
        begun = ready.begun
        held = self._touched(ready, begun)
        event = ready.launch.latest
        event.origin = self._writer
        was_current = ready.is_current
        self._residency.note(held, self._work, event, self._writer)
        if was_current:
            ready.stay_current()
        self.done = ready.first + begun
        ready.noted = begun
        if self._profiled is not None:
            self._profiled.add(event)
        return event

    def _touched(self, ready: _Ready, begun: int) -> Sequence[HeldBuffer]:
        """What those passes used that the buffers do not know of."""
        passes = range(ready.first + ready.noted, ready.first + begun)
        if not self._footprints.differ or passes == range(ready.first, self._options.passes):
            return ready.held
        footprints = self._footprints.over(passes)
        if footprints is not ready.footprints:
            ready.touched = held_with(ready.held, self._uses(footprints))
            ready.footprints = footprints
        return ready.touched

    def _tell_profiles(self) -> None:
        """For a profile all passes are one launch."""
        event = self._profiled if self.done else None
        for book in profiles_of(self._residency.backend) if self._profiled else ():
            book.launched(self._writer, event, self._replicas)

    @property
    def _replicas(self) -> list[Replica]:
        return [one.replica for one in self._ready.held] if self._ready else []

    # ---------------------------------------------------------------------------- the ends

    def _is_flagged(self) -> bool:
        """Look at the flag, when all passes so far are done."""
        flag = self._options.until
        if flag is None:
            return False
        with LOCK:
            ready = self._ready if self._ready and self._ready.is_current else None
            events = flag.fetch()
            if ready is not None:
                ready.stay_current()
        for event in events:
            self._await(event)
        self._await_all()
        return flag.is_raised

    def _tell(self, tell: Progress | None) -> None:
        """Tell of the passes that are done, from time to time; host code may do anything then."""
        if tell is None or time.perf_counter() - self._told < PROGRESS_SECONDS:
            return
        if self.done < self._options.passes:
            self._call(tell)

    def _call(self, tell: Progress) -> None:
        self._await_all()
        self._give_back(Transfers.AUTO)
        self._ready = None
        tell(self.done, self._options.passes)
        self._told = time.perf_counter()

    def _finish(self, tell: Progress | None) -> None:
        if tell is None:
            self._give_back(self._work.transfers)
            return
        self._await_all()
        self._give_back(self._work.transfers)
        tell(self.done, self._options.passes)

    def _note_all(self) -> None:
        with LOCK:
            self._note()

    def _show_in_raw_views(self) -> None:
        """Passes were stopped: also raw views that are alive show what those before left."""
        with LOCK:
            self._note()
            is_seen = self._ready is not None and any(one.seen for one in self._ready.held)
        if is_seen:
            self._give_back(Transfers.AUTO)

    def _give_back(self, transfers: Transfers) -> None:
        with LOCK:
            ready = self._ready
            if ready is None:
                return
            work = self._work
            if transfers is not work.transfers:
                work = replace(work, transfers=transfers)
            waiting = self._residency.give_back(ready.held, work)
        if not waiting:
            return
        back = f"what {self._work.kernel} wrote is copied back"
        wait_for(waiting, back, self._replicas)

    # ------------------------------------------------------------------------------ waiting

    def _await_oldest(self) -> None:
        oldest = self._pace.oldest
        if oldest is not None:
            self._await(oldest)
            self._pace.ended()

    def _await_all(self) -> None:
        while self._pace.oldest is not None:
            self._await_oldest()

    def _await(self, event: Event) -> None:
        """Wait for work, and hear while it is under way that the run is to end."""
        started = time.perf_counter()
        is_stoppable = self._options.cancel is not None or self._options.timeout is not None
        while is_stoppable and not event.done:
            self._check_stop()
            waited = time.perf_counter() - started
            if waited < _RESTLESS_SECONDS and hasattr(os, "sched_yield"):
                os.sched_yield()
            else:
                time.sleep(min(waited * _PAUSE_SHARE, _LONGEST_PAUSE))
        why = f"the passes of {self._work.kernel} go on"
        if PROFILES and is_stoppable:
            note_wait(event, time.perf_counter() - started, why, self._replicas)
        wait_for([event], why, self._replicas)

    def _check_stop(self) -> None:
        """Raise where the run is to end: what is under way ends by itself."""
        options = self._options
        if options.cancel is not None and options.cancel.is_set():
            raise PassesCancelledError(
                f"`{self._work.kernel}` was cancelled after {self._count()}",
                advice="the buffers are as these passes left them",
                done=self.done,
            )
        timeout = options.timeout
        if timeout is not None and time.perf_counter() - self._started > timeout:
            raise PassesTimeoutError(
                f"`{self._work.kernel}` took longer than {timeout:g} seconds, and was stopped "
                f"after {self._count()}",
                advice="the buffers are as these passes left them",
                done=self.done,
            )

    def _count(self) -> str:
        return f"{self.done} of {self._options.passes} passes"

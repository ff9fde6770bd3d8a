"""Launches that are repeated; brief ones are given to the driver a few at a time.

A hot loop in Python is a little slower than the kernels that it launches, if these are small.
The device then falls asleep after each of them, and waking it takes longer than everything
else. So a launch that was seen to be brief is held back until there are some, which are given
to the driver one right after the other. What is held back is a fraction of a millisecond of
work at most. Whoever asks for an event of such a launch, waits for anything or begins something
else gives all to the driver first; so does the end of a compute function.
"""

import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from itertools import repeat
from typing import TypeAlias, cast
from weakref import WeakSet, ref

import pyopencl as cl

from trilby.backend.base import Argument, Event, Repeated
from trilby.backend.done import DoneEvent
from trilby.backend.opencl_drivers import check_drivers
from trilby.backend.opencl_events import OpenCLEvent, RefusedEvent, is_over
from trilby.backend.opencl_kernels import OpenCLPrepared
from trilby.backend.opencl_runs import LARGE_BURST, OpenCLRuns, Put
from trilby.data.segment import reentered
from trilby.errors import DeviceError
from trilby.locks import GIVING, new_rlock

MOST_HELD = 64
"""The launches of a burst. From so many on, waking the device hardly counts."""

UNSEEN_BURSTS = 8
"""Of so many bursts one is looked at: asking how long a launch took is not free either."""

BRIEF_SECONDS = 10e-6
"""What a launch may take on the device to be held back."""

Changes: TypeAlias = tuple[tuple[int, Argument], ...]
Run: TypeAlias = "tuple[OpenCLRepeated, Sequence[Event | Repeated], Changes]"
WaitList: TypeAlias = Callable[[Sequence[Event]], "list[cl.Event] | None"]


class OpenCLRepeated(Repeated):
    """A launch that may be held back.

    `event` is that of the last run that the driver has, None where it refused it. `chain` is
    what a run came after, if that was only runs of launches like this one, and `follows` the only
    one of these. `checked` is that of the prepared launch. Each of `steps` gives the driver one
    run, which comes after `waits`; `put` is told of it. `_turns` are the steps that are left: so
    they are counted without a step of Python.
    """

    __slots__ = (
        "_burst",
        "_changes",
        "_runs",
        "_turns",
        "_unseen",
        "chain",
        "checked",
        "event",
        "failure",
        "follows",
        "prepared",
        "put",
        "steps",
        "waits",
    )

    def __init__(self, prepared: OpenCLPrepared, burst: "Burst") -> None:
        brief = prepared.seconds < BRIEF_SECONDS
        super().__init__(burst.held, MOST_HELD if brief else 1)
        self.prepared = prepared
        self.waits: list[cl.Event | None] = []  # None would be a run that the driver refused
        self._turns = repeat(self.waits, sys.maxsize)
        self.steps: Iterator[cl.Event] = map(prepared.enqueue, self._turns)  # pyright: ignore[reportArgumentType] -- as above
        self.event: cl.Event | None = None
        self.chain: Sequence[OpenCLRepeated] | None = None
        self.follows: OpenCLRepeated | None = None
        self.checked = -1
        self.failure: DeviceError | None = None
        self.put: Put | None = None
        self._burst = burst
        self._runs: OpenCLRuns | None = None
        self._changes: Changes = ()
        self._unseen = 0
        burst.launches.add(self)

    @property
    def latest(self) -> Event:
        """The last run, which the driver has now, or has refused."""
        self._burst.submit()
        event: Event
        if self.event is not None:
            event = OpenCLEvent(self.event, self.prepared.task)
        elif self.failure is not None:
            event = RefusedEvent(self.failure)
        else:
            event = DoneEvent()
        event.origin = self.origin
        return event

    def run(self, after: Sequence[Event | Repeated]) -> None:
        """Run it, now or a moment later."""
        self.same = (self, after, ())
        run, self._changes = (self, after, self._changes), ()
        self.begun += 1
        self.held.append(run)  # in the same step: Ctrl-C is heard after a call
        if len(self.held) >= self.most:
            self.submit()

    def submit(self) -> None:
        """Give the driver what is held back, and see now and then how long a run took."""
        self._unseen += 1
        if self.most == 1 or self._unseen >= UNSEEN_BURSTS:
            self._look()
        self._burst.submit()

    def replace(self, position: int, argument: Argument) -> None:
        """Set another argument for the runs to come; those that are held back keep theirs."""
        self._changes += ((position, argument),)
        self.same = None

    def keep(self, full: Callable[[], None]) -> OpenCLRuns:
        """Keep the driver's events; nothing else about a run changes."""
        burst = self._burst
        reference: ref[OpenCLRepeated] = ref(self)
        latest = partial(_latest_of, reference)
        with burst.lock:
            self.kept = self._runs = runs = OpenCLRuns(full, self._turns, burst.lock, latest)
            burst.kept.add(reference)
            self._put_next(is_brief=False)
        return runs

    def keep_next(self, kind: Hashable) -> None:
        """Keep the events of the next runs, and of those that are held back before them."""
        if self._runs is not None:
            with self._burst.lock:
                self._runs.note_burst()
                self._runs.measure_from(self.runs_begun())
                self._put_next(is_brief=False)

    def keep_no_more(self) -> None:
        """Nobody wants to know of the runs to come."""
        if self._runs is not None:
            with self._burst.lock:
                self._runs.end()
                self._burst.kept.discard(ref(self))
                self.kept = self._runs = self.put = None

    def runs_begun(self) -> int:
        """The runs that the driver has, and those that are held back."""
        if self._runs is None:
            return 0
        with self._burst.lock:
            return self._runs.total + sum(run[0] is self for run in self._burst.held)

    def note_burst(self, *, is_large: bool) -> int:
        """Some runs were given to the driver: count them, and see what to do about the next.

        The result says for how many of these nothing changes.
        """
        if self._runs is None:
            return sys.maxsize
        self._runs.note_burst()
        self._put_next(is_brief=is_large and self.most > 1)
        return self._runs.same_for

    def _put_next(self, *, is_brief: bool) -> None:
        """See who is told of the next runs."""
        if self._runs is not None:
            self.put = self._runs.put_next(is_brief=is_brief)
            self._burst.unnoted = min(self._burst.unnoted, self._runs.same_for)

    def refuse(self, failure: DeviceError, *, was_tried: bool) -> None:
        """The driver did not take a run: it fails like one that goes wrong."""
        if self._runs is not None:
            self._runs.first += not was_tried  # it is a run all the same
            self._runs.fresh.append(None)
            self._runs.note_burst()
        self.event, self.failure = None, failure

    def _look(self) -> None:
        """See how long the last run took, if it is over."""
        event = self.event
        if event is not None and is_over(event):
            self._unseen = 0
            took = OpenCLEvent(event, self.prepared.task).seconds or float("inf")
            # one that was interrupted says little
            self.prepared.seconds = min(took, 4 * self.prepared.seconds)
            self.most = MOST_HELD if self.prepared.seconds < BRIEF_SECONDS else 1
            if self.most == 1:
                self._put_next(is_brief=False)

    def give(self, after: Sequence[Event | Repeated], changes: Changes) -> None:
        """Give a run to the driver, which may refuse it."""
        self.chain = None  # not what `waits` is for, if Ctrl-C comes before the end of this
        for position, argument in changes:
            self.prepared.replace(position, argument)
        self.prepared.check()
        self.checked = self.prepared.checked
        self.waits[:] = self._burst.wait_list(after) or ()
        for self.event in self.steps:  # noqa: B020 -- see `_give_all`
            break
        if self.put is not None:
            self.put(self.event)
        has_run = len(self.waits) == len(after)  # not those before whose run Ctrl-C came
        if has_run and all(type(one) is OpenCLRepeated for one in after):
            chain = cast("Sequence[OpenCLRepeated]", after)
            follows = chain[0] if len(after) == 1 else None
            self.chain, self.follows = chain, follows


class Burst:
    """The launches of one queue that are held back, in order."""

    def __init__(self, queue: cl.CommandQueue, wait_list: WaitList) -> None:
        self._queue = queue
        self._wait_list = wait_list
        self.lock = new_rlock()
        self.held: list[Run] = []
        self._is_giving = False
        self.launches: WeakSet[OpenCLRepeated] = WeakSet()
        self.kept: set[ref[OpenCLRepeated]] = set()
        self.unnoted = 0
        """So many runs may be given before those that are kept must be noted."""

    def submit(self) -> None:
        """Give everything to the driver that is held back; wait where another thread does."""
        if self.held or self._is_giving:
            self._submit()

    def _submit(self) -> None:
        check_drivers()
        with self.lock:
            if self._is_giving:  # by this thread, in which a signal handler runs now
                raise reentered()
            self._is_giving = GIVING.now = True
            try:
                size = len(self.held)
                # no `while`: where it goes on, Python 3.13.0 runs neither `except` nor `finally`
                for _ in iter(self._count_held, 0):
                    self._give_all()
                self._queue.flush()
                self.unnoted -= size
                if self.unnoted <= 0 and self.kept:
                    self._note(size)
            finally:
                self._is_giving = GIVING.now = False

    def _count_held(self) -> int:
        return len(self.held)

    def _note(self, size: int) -> None:
        """Note what is kept of a burst, and for how many runs that need not be done again."""
        unnoted = sys.maxsize
        for reference in tuple(self.kept):
            launch = reference()
            if launch is not None:
                unnoted = min(unnoted, launch.note_burst(is_large=size >= LARGE_BURST))
            else:
                self.kept.discard(reference)
        self.unnoted = unnoted  # not before: after Ctrl-C the next burst is noted

    def _give_all(self) -> None:
        """Give the driver what is held back now. A hot loop spends its time here.

        An interrupt is heard between two steps of Python, where all that is not yet given is
        held back again; `for` takes an event from `steps` and keeps it in one step.
        """
        runs = self.held[:]
        rest, count = iter(runs), len(runs)
        launch, after, changes = runs[0]
        moment, before = launch.prepared.owner.moment, launch.event
        del self.held[:count]  # another thread may have added some
        try:
            for launch, after, changes in rest:
                before = launch.event
                if after is not launch.chain or changes or launch.checked != moment:
                    launch.give(after, changes)
                    continue
                if launch.follows is not None:
                    launch.waits[0] = launch.follows.event
                else:
                    launch.waits[:] = [one.event for one in launch.chain]  # pyright: ignore[reportOptionalIterable] -- it is `after`
                for launch.event in launch.steps:  # noqa: B020 -- it is another loop's
                    break
                if launch.put is None:
                    continue  # said: Python 3.13 catches nothing where a loop goes on unsaid
                launch.put(launch.event)
        except cl.Error as error:
            launch.refuse(launch.prepared.task.failed(error), was_tried=True)
            self._go_on_with(rest)
        except DeviceError as error:
            launch.refuse(error, was_tried=False)
            self._go_on_with(rest)
        except BaseException:
            this = [(launch, after, changes)] if launch.event is before else []
            self.held[:0] = [*this, *rest]
            raise

    def _go_on_with(self, rest: Iterable[Run]) -> None:
        """A run was refused; those after it are still to be given."""
        self.held[:0] = rest
        for one in self.launches:
            one.chain = None  # it may have the event that is missing now

    def wait_list(self, after: Sequence[Event | Repeated]) -> "list[cl.Event] | None":
        """What the driver can wait for. Runs that came before are not held back any more."""
        return self._wait_list([_event(one) for one in after])


def _latest_of(reference: "ref[OpenCLRepeated]") -> cl.Event | None:
    launch = reference()
    return None if launch is None else launch.event


def _event(work: Event | Repeated) -> Event:
    if not isinstance(work, OpenCLRepeated):
        return work.latest if isinstance(work, Repeated) else work
    if work.event is not None:
        return OpenCLEvent(work.event, work.prepared.task)
    if work.failure is not None:
        raise work.failure
    return DoneEvent()

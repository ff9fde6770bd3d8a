"""Launches that are repeated; brief ones are given to the driver a few at a time.

A hot loop in Python is a little slower than the kernels that it launches, if these are small.
The device then falls asleep after each of them, and waking it takes longer than everything
else. So a launch that was seen to be brief is held back until there are some, which are given
to the driver one right after the other. What is held back is a fraction of a millisecond of
work at most. Whoever asks for an event of such a launch, waits for anything or begins something
else gives all to the driver first; so does the end of a compute function.
"""

import gc
from collections import deque
from collections.abc import Callable, Sequence
from threading import RLock
from typing import TypeAlias, cast

import pyopencl as cl

from trilby.backend.base import Argument, Event, Repeated
from trilby.backend.opencl_events import OpenCLEvent, RefusedEvent, is_over
from trilby.backend.opencl_kernels import OpenCLPrepared
from trilby.errors import DeviceError

MOST_HELD = 16
"""The launches of a burst. From so many on, waking the device hardly counts."""

BRIEF_SECONDS = 20e-6
"""What a launch may take on the device to be held back."""

Changes: TypeAlias = tuple[tuple[int, Argument], ...]
WaitList: TypeAlias = Callable[[Sequence[Event]], "list[cl.Event] | None"]


class OpenCLRepeated(Repeated):
    """A launch that may be held back.

    `event` is that of the last run that the driver has, None where it refused it. `number` is
    that of the last run, among all of the burst. The chain is what a run came after, if that was
    only runs of launches like this one.
    """

    __slots__ = (
        "_burst",
        "_chain",
        "_changes",
        "_failure",
        "_is_brief",
        "_took",
        "event",
        "number",
        "prepared",
    )

    def __init__(self, prepared: OpenCLPrepared, burst: "Burst") -> None:
        super().__init__()
        self.prepared = prepared
        self.event: cl.Event | None = None
        self.number = 0
        self._failure: DeviceError | None = None
        self._burst = burst
        self._chain: Sequence[OpenCLRepeated] = ()
        self._changes: Changes = ()
        self._is_brief = False
        self._took = float("inf")

    @property
    def latest(self) -> Event:
        """The last run, which the driver has now, or has refused."""
        if self.number > self._burst.given:
            self._burst.submit_all()
        event: Event
        if self.event is not None:
            event = OpenCLEvent(self.event, self.prepared.task)
        else:
            event = RefusedEvent(self.refusal)
        event.origin = self.origin
        return event

    def run(self, after: Sequence[Event | Repeated]) -> None:
        """Run it, now or a moment later. A hot loop does little else than this."""
        burst = self._burst
        burst.held.append((self, after, self._changes))
        self._changes = ()
        burst.begun = self.number = burst.begun + 1
        if not self._is_brief or self.number - burst.given >= MOST_HELD:
            self._look()
            burst.submit_all()

    def replace(self, position: int, argument: Argument) -> None:
        """Set another argument for the runs to come; those that are held back keep theirs."""
        self._changes += ((position, argument),)

    def _look(self) -> None:
        """See how long the last run took, if it is over."""
        event = self.event
        if event is not None and is_over(event):
            took = OpenCLEvent(event, self.prepared.task).seconds or float("inf")
            self._took = min(took, 4 * self._took)  # one that was interrupted says little
            self._is_brief = self._took < BRIEF_SECONDS

    def give(self, after: Sequence[Event | Repeated], changes: Changes) -> None:
        """Give a run to the driver; what it refuses fails like a launch that went wrong."""
        prepared = self.prepared
        try:
            for position, argument in changes:
                prepared.replace(position, argument)
            if prepared.checked != prepared.owner.moment:
                prepared.check()
            if after is not self._chain or self._burst.has_failed:
                self.event = prepared.enqueue(self._wait_list(after))
            elif len(after) == 1:
                self.event = prepared.enqueue([self._chain[0].event])  # pyright: ignore[reportArgumentType] -- none was refused
            else:
                self.event = prepared.enqueue([one.event for one in self._chain])  # pyright: ignore[reportArgumentType] -- as above
        except cl.Error as error:
            self._refuse(prepared.task.failed(error))
        except DeviceError as error:
            self._refuse(error)

    def _wait_list(self, after: Sequence[Event | Repeated]) -> "list[cl.Event] | None":
        if all(type(one) is OpenCLRepeated for one in after):
            self._chain = cast("Sequence[OpenCLRepeated]", after)
        return self._burst.wait_list(after)

    @property
    def refusal(self) -> DeviceError:
        """Why the driver did not take the last run."""
        if self._failure is None:
            raise AssertionError("it was never run")
        return self._failure

    def _refuse(self, failure: DeviceError) -> None:
        self.event, self._failure = None, failure
        self._burst.has_failed = True


class Burst:
    """The launches of one queue that are held back, in order.

    `begun` runs were asked for, by one thread at a time; the driver has `given` of them.
    """

    def __init__(self, queue: cl.CommandQueue, wait_list: WaitList) -> None:
        self._queue = queue
        self._wait_list = wait_list
        self._lock = RLock()
        self.held: deque[tuple[OpenCLRepeated, Sequence[Event | Repeated], Changes]] = deque()
        self.begun = 0
        self.given = 0
        self.has_failed = False

    def submit(self) -> None:
        """Give everything to the driver that is held back."""
        if self.held:
            self.submit_all()

    def submit_all(self) -> None:
        """The same; what another thread is giving to the driver is waited for."""
        held = self.held
        with self._lock:
            collects = gc.isenabled()
            gc.disable()  # buffers that end here would begin copies before their turn
            try:
                while held:
                    launch, after, changes = held.popleft()
                    launch.give(after, changes)
                    self.given += 1
                self._queue.flush()
            except BaseException:
                held.clear()  # what came later must not be run without what came before
                self.given = self.begun
                raise
            finally:
                if collects:
                    gc.enable()

    def wait_list(self, after: Sequence[Event | Repeated]) -> "list[cl.Event] | None":
        """What the driver can wait for. Runs that came before are not held back any more."""
        return self._wait_list([_event(one) for one in after])


def _event(work: Event | Repeated) -> Event:
    if not isinstance(work, OpenCLRepeated):
        return work.latest if isinstance(work, Repeated) else work
    if work.event is None:
        raise work.refusal
    return OpenCLEvent(work.event, work.prepared.task)

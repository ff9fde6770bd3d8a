"""Commands that were given to an OpenCL queue, and how to wait for them.

OpenCL waits inside of the driver, where Ctrl-C is not heard. So the main thread asks again
and again whether a command is done: at first without a pause, then with pauses that are a
small part of what it waited, which costs as little time as waiting in the driver does.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import cast

import pyopencl as cl

from trilby.backend.base import DeviceInfo, Times
from trilby.backend.failures import assertion_failed, failed
from trilby.backend.opencl_builds import FirstLaunches, Patience
from trilby.backend.opencl_drivers import Drivers, check_drivers
from trilby.data.segment import Live
from trilby.dataclass import dataclass
from trilby.errors import DeviceError
from trilby.source import Location

_STATUS = cl.event_info.COMMAND_EXECUTION_STATUS
QUEUED = cl.profiling_info.QUEUED
START = cl.profiling_info.START
END = cl.profiling_info.END
_COMPLETE = cast("int", cl.command_execution_status.COMPLETE)

_status = cast("Callable[[cl.Event, cl.event_info], int]", cl.Event.get_info)
time_at = cast("Callable[[cl.Event, cl.profiling_info], int]", cl.Event.get_profiling_info)
"""The properties of an event, such as `event.profile`, take thirty times as long."""

_RESTLESS_SECONDS = 60e-6
_PAUSE_SHARE = 1 / 32
_LONGEST_PAUSE = 1e-3
_LONG_SECONDS = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What commands do, and where: their events say it when they fail."""

    device: DeviceInfo
    context: cl.Context
    what: str
    submit: Callable[[], None]
    """Gives the driver all that is held back; nobody waits before that."""
    first_launches: FirstLaunches
    """Those of the device, which the driver may still compile for while somebody waits."""

    def failed(self, error: cl.Error) -> DeviceError:
        """What is raised in place of an error of OpenCL."""
        return failed(self.device, self.what, error)


class OpenCLEvent:
    """A command that was given to a queue."""

    __slots__ = ("event", "origin", "task")
    by_host_clock = False

    def __init__(self, event: cl.Event, task: Task) -> None:
        self.event = event
        self.task = task
        self.origin: object = None

    @property
    def done(self) -> bool:
        """True once the command is over, well or badly."""
        return is_over(self.event)

    @property
    def seconds(self) -> float:
        """How long the device took; 0.0 where it was not measured."""
        times = self.times
        return times[1] if times else 0.0

    @property
    def times(self) -> Times:
        """For how long it was queued and for how long it ran; None where it failed."""
        return times_of(self.event)

    @property
    def began(self) -> float | None:
        """When the device began; None where it failed or nobody measures."""
        return beginning_of(self.event)

    def wait(self) -> None:
        """Return when it is done; raise a `DeviceError` if it failed."""
        self.task.submit()
        try:
            wait_for(self.event, self.task.first_launches)
        except cl.Error as error:
            raise self.task.failed(error) from error


class RefusedEvent:
    """A launch that the driver did not take, which is found out after it was begun."""

    __slots__ = ("failure", "origin")
    done = True
    seconds = 0.0
    times = None

    def __init__(self, failure: DeviceError) -> None:
        self.failure = failure
        self.origin: object = None

    def wait(self) -> None:
        """Raise why."""
        raise self.failure


class CopyEvent(OpenCLEvent):
    """A command that uses memory of the host.

    pyopencl's event keeps that memory alive, and when it is dropped it waits for the command.
    So an event that is dropped too early moves to `orphans`, where it may grow old.
    """

    __slots__ = ("orphans",)

    def __init__(self, event: cl.Event, task: Task, orphans: deque[cl.Event]) -> None:
        self.orphans = orphans
        super().__init__(event, task)

    def __del__(self) -> None:
        event: cl.Event | None = getattr(self, "event", None)  # none, if Ctrl-C came in `__init__`
        if event is not None and not is_over(event):
            self.orphans.append(event)


class AssertingEvent(CopyEvent):
    """The launch of a kernel with assertions, together with the copy of what it reports."""

    __slots__ = ("asserts", "ran", "report")

    def __init__(
        self,
        ran: cl.Event,
        copy: cl.Event,
        task: Task,
        orphans: deque[cl.Event],
        report: Live,
        asserts: Sequence[tuple[str, Location]],
    ) -> None:
        super().__init__(copy, task, orphans)
        self.ran = ran
        self.report = report
        self.asserts = asserts

    @property
    def times(self) -> Times:
        """Those of the launch, without the copy; None where an `assert` failed."""
        return None if self.report[0] else times_of(self.ran)

    @property
    def began(self) -> float | None:
        """When the launch did."""
        return beginning_of(self.ran)

    def wait(self) -> None:
        """Return when all is done; raise what the first failed `assert` says."""
        super().wait()
        number, x, y, z = (int(n) for n in self.report)
        if number:
            message, location = self.asserts[number - 1]
            raise assertion_failed(message, (x, y, z), location)


def times_of(event: cl.Event, first: cl.Event | None = None) -> Times:
    """What a command took that is over, or all since a first one; zeros where nobody measures."""
    if has_failed(event):
        return None
    since = first or event
    try:
        queued, start, end = time_at(since, QUEUED), time_at(since, START), time_at(event, END)
    except cl.Error:  # the device does not measure
        return 0.0, 0.0
    return max(start - queued, 0) * 1e-9, max(end - start, 0) * 1e-9


def beginning_of(event: cl.Event) -> float | None:
    """When a command began that is over, by the clock of its device."""
    try:
        return time_at(event, START) * 1e-9
    except cl.Error:  # it failed, or the device does not measure
        return None


def is_over(event: cl.Event) -> bool:
    """Whether a command has ended; failures are below zero."""
    return _status(event, _STATUS) <= _COMPLETE


def has_failed(event: cl.Event) -> bool:
    """Whether a command has ended badly."""
    return _status(event, _STATUS) < _COMPLETE


def drop_finished(events: deque[cl.Event]) -> None:
    """Drop events from the left as long as they are over. Several threads may do so."""
    while events:
        try:
            oldest = events.popleft()
        except IndexError:  # another thread was faster
            return
        if not is_over(oldest):
            events.appendleft(oldest)
            return


def wait_for(event: cl.Event, first_launches: FirstLaunches | None = None) -> None:
    """Return when a command is over; raise the error of OpenCL if it failed.

    If that takes long, `first_launches` say for which the driver may be compiling.
    """
    check_drivers()
    if first_launches is not None and not is_over(event):
        first_launches.check()
    if Drivers.are_left or threading.current_thread() is threading.main_thread():
        try:
            _await_end(event, first_launches)
        except BaseException:
            if first_launches is not None:
                first_launches.note_interrupt()
            raise
    if not Drivers.are_left or has_failed(event):  # else its device was closed, and waited for it
        event.wait()


def _await_end(event: cl.Event, first_launches: FirstLaunches | None) -> None:
    started = time.perf_counter()
    patience: Patience | None = None
    while not is_over(event):
        waited = time.perf_counter() - started
        if waited < _RESTLESS_SECONDS:
            _give_way()
            continue
        time.sleep(min(waited * _PAUSE_SHARE, _LONGEST_PAUSE))
        if waited > _LONG_SECONDS:
            patience = patience or Patience()
            if patience.is_over and first_launches is not None:
                first_launches.tell_slow()
                patience = Patience()


def _give_way() -> None:
    """Let other threads run, for as short as possible: `sleep` takes 50 µs at least."""
    if hasattr(os, "sched_yield"):
        os.sched_yield()
    else:
        time.sleep(0)

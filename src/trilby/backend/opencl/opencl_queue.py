"""In-order queues of an OpenCL device, and how to wait for their commands.

OpenCL waits inside of the driver, where Ctrl-C is not heard. So Python asks again and again whether
commands are over: at first without a pause, then with pauses that are a small part of what it
waited, which costs as little time as waiting in the driver does.

Ctrl-C is heard between two steps of Python. Submitting a command, noting its event and counting it
are one call of C: `events.extend(zip(map(enqueue, …), numbers, …))`. So none is lost.
"""

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import repeat
from typing import Any, NamedTuple, cast

import numpy as np
import pyopencl as cl

# Not `cl.enqueue_copy`: it is written in Python, where Ctrl-C could come behind the command.
from pyopencl._cl import _enqueue_read_buffer as read_buffer  # pyright: ignore[reportPrivateUsage]

from trilby.backend.base import DeviceInfo, Ticket, Times
from trilby.backend.failures import assertion_failed, failed
from trilby.backend.opencl.opencl_builds import FirstLaunches, Patience
from trilby.backend.opencl.opencl_drivers import Drivers, check_drivers
from trilby.errors import TrilbyError
from trilby.locks import if_free, new_lock, new_rlock
from trilby.source import Location

MOST_UNDER_WAY = 1 << 14
"""With so many commands under way, whoever submits another waits until half of them are over."""
MOST_TIMES = 4096
ALL_NUMBERS = sys.maxsize

_STATUS = cl.event_info.COMMAND_EXECUTION_STATUS
_COMPLETE = cast("int", cl.command_execution_status.COMPLETE)
_status = cast("Callable[[cl.Event, cl.event_info], int]", cl.Event.get_info)
_time_at = cast("Callable[[cl.Event, cl.profiling_info], int]", cl.Event.get_profiling_info)
"""The properties of an event, such as `event.profile`, take thirty times as long."""

_MOMENTS = cl.profiling_info.QUEUED, cl.profiling_info.START, cl.profiling_info.END

_RESTLESS_SECONDS = 60e-6
_PAUSE_SHARE = 1 / 32
_LONGEST_PAUSE = 1e-3
_LONG_SECONDS = 0.1


class AssertReport(NamedTuple):
    """Four numbers on the device, for the first `assert` that fails: which, and its work item."""

    buffer: cl.Buffer
    asserts: Sequence[tuple[str, Location]]


class OpenCLQueue:
    """One in-order queue: `(event, number, what it does)` of each command not known to be over.

    What a command does is a text for errors, with the `AssertReport` of kernels that assert.
    `moment` changes when launches that are prepared must be looked at again: memory was freed, the
    device closed, or the driver's queue is another.
    """

    by_host_clock = False

    def __init__(
        self, cl_device: cl.Device, context: cl.Context, device: DeviceInfo, first: FirstLaunches
    ) -> None:
        self.context = context
        self.device = device
        self.first_launches = first
        self.moment = 0
        self.lock = new_rlock()
        """For submitting commands; reading and dropping those that are over needs `_polling`."""
        self.events: deque[tuple[Any, ...]] = deque()
        self.numbers = iter(range(1, ALL_NUMBERS))
        self.numbers_left: Callable[[], int] = cast("Any", self.numbers).__length_hint__
        self._spare_reports: list[cl.Buffer] = []
        self._queue_that = cache(partial(_make_queue, context, cl_device))
        self.driver_queue = self._queue_that(measures=False)
        self._polling = new_lock()
        self._flushed = 0
        self._measuring = 0
        self._failures: dict[int, TrilbyError] = {}
        self._times: dict[int, Times] = {}

    @property
    def submitted(self) -> int:
        """The number of the last command that the driver has."""
        return ALL_NUMBERS - 1 - self.numbers_left()

    @property
    def completed(self) -> int:
        """The number up to which all commands are over."""
        if self.events and not Drivers.are_lost:
            if_free(self._polling, self._drop_finished)
        submitted = self.submitted  # before the events: other threads may submit in between
        return submitted - len(self.events)

    def submit(
        self,
        what: str,
        after: Sequence[Ticket],
        command: Callable[..., cl.Event],
        nbytes: int,
        *arguments: Any,
    ) -> Ticket:
        """Copy or fill: give the driver a command that takes the queue, arguments, a wait list."""
        if not nbytes:
            return Ticket(self, self.submitted)
        waits = self.wait_list(after)
        try:
            with self.lock:
                enqueue = partial(command, self.driver_queue, *arguments)
                self.events.extend(zip(map(enqueue, (waits,)), self.numbers, repeat(what)))
                number = self.submitted
            self.keep_going()
        except cl.Error as error:
            raise failed(self.device, what, error) from error
        return Ticket(self, number)

    def wait_list(self, after: Sequence[Ticket]) -> list[cl.Event] | None:
        """What the driver itself must wait for; the host waits here for other devices."""
        waits: list[cl.Event] = []
        for queue, number, _ in after:
            if queue is self:
                continue
            if isinstance(queue, OpenCLQueue) and queue.context is self.context:
                waits += queue.pending(number)
            else:
                queue.wait(number)
        return waits or None

    def pending(self, number: int) -> Sequence[cl.Event]:
        """The event of a command, which its driver was told to begin; nothing where it is over."""
        if number <= self.completed:
            return ()
        self.flush()
        with self.lock:
            try:  # counted from the right, since others may drop events on the left
                return (self.events[number - self.submitted - 1][-3],)
            except IndexError:
                return ()

    def flush(self) -> None:
        """See that the driver begins its commands."""
        submitted = self.submitted
        if self._flushed < submitted:
            self._flushed = submitted
            try:
                self.driver_queue.flush()
            except cl.Error as error:
                raise failed(self.device, "beginning its work", error) from error

    def keep_going(self) -> None:
        """See that the driver begins its commands, drop those that are over, and wait for some."""
        self.flush()
        if self.submitted - self.completed > MOST_UNDER_WAY:
            self._await(self.submitted - MOST_UNDER_WAY // 2)

    def wait(self, number: int) -> None:
        """Return when a command is over; raise its failure, at every call."""
        check_drivers()
        if number > self.completed:
            self.first_launches.check()
            self._await(number)
        if number in self._failures:
            raise self._failures[number].with_traceback(None)

    def finish(self) -> None:
        """Return when all is over, well or badly."""
        self._await(self.submitted)

    def _await(self, number: int) -> None:
        try:
            self._poll(number)
        except BaseException:
            self.first_launches.note_interrupt()
            raise

    def _poll(self, number: int) -> None:
        started = time.perf_counter()
        patience: Patience | None = None
        while number > self.completed:
            waited = time.perf_counter() - started
            if waited < _RESTLESS_SECONDS:
                _give_way()
                continue
            time.sleep(min(waited * _PAUSE_SHARE, _LONGEST_PAUSE))
            if waited > _LONG_SECONDS:
                patience = self._after_a_while(patience or Patience())

    def _after_a_while(self, patience: Patience) -> Patience:
        """Say what the driver may be compiling, if somebody has waited for long."""
        if not patience.is_over:
            return patience
        self.first_launches.tell_slow()
        return Patience()

    def times(self, number: int) -> Times | None:
        """What a command took; nothing where it was not measured."""
        has_failed = number <= self.completed and number in self._failures
        return None if has_failed else self._times.get(number, Times(None, 0.0))

    def measure(self, on: bool) -> None:  # noqa: FBT001 -- a switch
        """Give the next commands to a driver's queue that measures, or to one that does not."""
        with self.lock:
            before = self._measuring
            measuring = before + (1 if on else -1)
            if bool(before) != bool(measuring):
                self.finish()
                self.driver_queue = self._queue_that(measures=bool(measuring))
                self.moment += 1
            self._measuring = measuring

    def _drop_finished(self) -> None:
        """Drop events from the left as long as they are over, and remember what is to be known."""
        events = self.events
        self.flush()
        while events:
            command = events[0]
            try:
                status = _status(command[-3], _STATUS)
            except cl.Error:  # the device is lost
                status = -1
            if status > _COMPLETE:
                break
            is_noted = status != _COMPLETE or self._measuring or command[-1].__class__ is not str
            report = self._note_end(command, status) if is_noted else None
            events.popleft()  # behind all that Ctrl-C may leave undone
            if report is not None:
                self._spare_reports.append(report.buffer)

    def _note_end(self, command: Any, status: int) -> AssertReport | None:
        """Remember how a command ended; the result is its report, if that can be used again."""
        event, number, what = command[-3:]
        what, report = (what, None) if isinstance(what, str) else what
        try:
            if status != _COMPLETE:
                event.wait()  # raises what OpenCL has to say
            failure = self._failed_assertion(report) if report else None
        except cl.Error as error:
            failure = failed(self.device, what, error)
        if failure is not None:
            self._failures[number] = failure
            return None
        if self._measuring:
            self._times[number] = _times_of(event)
            if len(self._times) > MOST_TIMES:
                del self._times[next(iter(self._times))]
        return report

    def take_report(self) -> cl.Buffer:
        """Four zeros on the device."""
        if self._spare_reports:
            return self._spare_reports.pop()
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        return cl.Buffer(self.context, flags, hostbuf=np.zeros(4, np.int32))

    def _failed_assertion(self, report: AssertReport) -> TrilbyError | None:
        found = np.zeros(4, np.int32)
        idle = self._queue_that(measures=not self._measuring)  # the other one has later commands
        read_buffer(idle, report.buffer, found, is_blocking=True)
        number, x, y, z = found.tolist()
        if not number:
            return None
        message, location = report.asserts[number - 1]
        return assertion_failed(message, (x, y, z), location)


def _make_queue(context: cl.Context, device: cl.Device, *, measures: bool) -> cl.CommandQueue:
    """A queue that measures commands, where the device can; that costs time for each of them."""
    wanted = device.queue_properties & (cl.command_queue_properties.PROFILING_ENABLE * measures)
    return cl.CommandQueue(context, device, cast("cl.command_queue_properties", wanted))


def _times_of(event: cl.Event) -> Times:
    try:
        queued, start, end = (_time_at(event, moment) for moment in _MOMENTS)
    except cl.Error:  # the device does not measure
        return Times(None, 0.0)
    return Times(start * 1e-9, max(end - start, 0) * 1e-9, max(start - queued, 0) * 1e-9)


def _give_way() -> None:
    """Let other threads run, for as short as possible: `sleep` takes 50 µs at least."""
    if hasattr(os, "sched_yield"):
        os.sched_yield()
    else:
        time.sleep(0)

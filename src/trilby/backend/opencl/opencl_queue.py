"""In-order queues of an OpenCL device, and how to wait for their commands and for the compiler.

OpenCL waits inside of the driver, where Ctrl-C is not heard. So Python asks again and again whether
work is over: at first without a pause, then with pauses that are a small part of what it waited,
which costs as little time as waiting in the driver does.

Ctrl-C is heard between two steps of Python. Submitting a command, noting its event and counting it
are one call of C: `events.extend(zip(map(enqueue, …), numbers, …))`. So none is lost, as one could
be in `cl.enqueue_copy`, which is written in Python.

Drivers compile inside of a call, and some put a part of that off to the first launch of a kernel.
PoCL 3.0 may do so for ever for vectors of 64 bytes, see `tests/backend/test_driver_faults.py`.
"""

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import repeat
from operator import length_hint
from typing import Any, cast

import numpy as np
import pyopencl as cl

from trilby.backend.base import DeviceInfo, Ticket, Times
from trilby.backend.failures import assertion_failed, closed, failed
from trilby.backend.opencl.opencl_drivers import Drivers, check_drivers
from trilby.errors import DeviceError, TrilbyError
from trilby.locks import if_free, new_lock, new_rlock
from trilby.messages import tell

MOST_UNDER_WAY = 1 << 14
"""With so many commands under way, whoever submits another waits until half of them are over."""
MOST_TIMES = 4096
ALL_NUMBERS = sys.maxsize

SLOW_SECONDS = 5.0
"""After so long a user is told what the driver is doing. It is the time of this process on the
processor, since drivers compile there: a busy machine is no reason to warn of a driver."""
SLOW_SHARE = 12
"""So many times as long may pass by the clock, if nothing is computed."""

_give_way: Callable[[], object] = getattr(os, "sched_yield", partial(time.sleep, 0))
_MEASURES = cl.command_queue_properties.PROFILING_ENABLE
_STATUS = cl.event_info.COMMAND_EXECUTION_STATUS
_RUNNING = cast("int", cl.command_execution_status.RUNNING)
_COMPLETE = cast("int", cl.command_execution_status.COMPLETE)
_status = cast("Callable[[cl.Event, cl.event_info], int]", cl.Event.get_info)
"""The properties of an event, such as `event.profile`, take thirty times as long."""


def wait_until_over(left: Callable[[], int], when_slow: Callable[[], object]) -> None:
    """Return when `left()` is 0 or less; call `when_slow()` whenever that takes long again."""
    started, slow_at = time.perf_counter(), time.process_time() + SLOW_SECONDS
    while left() > _COMPLETE:
        waited = time.perf_counter() - started
        if waited < 60e-6:  # which is what the shortest sleep takes
            _give_way()
        else:
            time.sleep(min(waited / 32, 1e-3))
            if time.process_time() + waited / SLOW_SHARE > slow_at:
                when_slow()
                slow_at += SLOW_SECONDS


@contextmanager
def explained(device: DeviceInfo, what: str) -> Generator[None]:
    """Raise an error of OpenCL as one that says what failed."""
    try:
        yield
    except cl.Error as error:
        raise failed(device, what, error) from error


class OpenCLQueue:
    """One in-order queue: `(event, number, what it does)` of each command not known to be over.

    What a command does is a text for errors. If it is a launch that asserts, or one that the driver
    may compile for, three things follow: what finds the `assert` that failed, the kernel's name,
    and the events that the launch waits for.
    `moment` changes when prepared launches must be looked at again: memory was freed, the device
    closed, or the driver's queue is another. `compute` is the device's queue for launches.

    Where Ctrl-C comes while the driver compiles for a first launch, and a user was told so, the
    device is given up: nobody waits for that driver again, which may never return.
    """

    by_host_clock = False

    def __init__(
        self, context: cl.Context, device: DeviceInfo, compute: "OpenCLQueue | None" = None
    ) -> None:
        self.context = context
        self.device = device
        self.compute = compute or self
        self.is_open = True
        self.told_slow = self.given_up = ""
        """The kernels that the driver was compiling when a user was told so, and at Ctrl-C."""
        self.moment = 0
        self.lock = new_rlock()
        """For submitting commands; reading and dropping those that are over needs `_polling`."""
        self.events: deque[tuple[Any, ...]] = deque()
        self.numbers = iter(range(1, ALL_NUMBERS))
        # Measuring costs time for each command: there is a queue for it, where the device can.
        measuring = context.devices[0].queue_properties & _MEASURES
        self.driver_queue, self._idle_queue = (
            cl.CommandQueue(context, None, cast("Any", one)) for one in (0, measuring)
        )
        self._polling = new_lock()
        self._flushed = 0
        self._measuring = 0
        self._failures: dict[int, TrilbyError] = {}
        self._times: dict[int, Times] = {}

    @property
    def submitted(self) -> int:
        """The number of the last command that the driver has."""
        return ALL_NUMBERS - 1 - length_hint(self.numbers)

    @property
    def completed(self) -> int:
        """The number up to which all commands are over."""
        if self.events and not Drivers.are_lost:
            if_free(self._polling, self._drop_finished)
        submitted = self.submitted  # before the events: other threads may submit in between
        return submitted - len(self.events)

    def check_open(self) -> None:
        """Raise after the device was closed, and in a forked child."""
        check_drivers()
        if not self.compute.is_open:
            raise closed(self.device)

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
        with explained(self.device, what), self.lock:
            enqueued = map(partial(command, self.driver_queue, *arguments), (waits,))
            self.events.extend(zip(enqueued, self.numbers, repeat(what), strict=False))
            number = self.submitted
        self.keep_going()
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
        """The event of a command, which its driver was told to begin; nothing if it was dropped."""
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
            try:  # a hot loop comes here: no context manager
                self.driver_queue.flush()
            except cl.Error as error:
                raise failed(self.device, "beginning its work", error) from error

    def keep_going(self) -> None:
        """See that the driver begins its commands, drop those that are over, and wait for some."""
        self.flush()
        if self.submitted - self.completed > MOST_UNDER_WAY:
            self.finish(self.submitted - MOST_UNDER_WAY // 2)

    def wait(self, number: int) -> None:
        """Return when a command is over; raise its failure, at every call."""
        check_drivers()
        if self.compute.given_up and number > self.completed:
            raise DeviceError(
                f"the driver of {self.device.name} was compiling `{self.compute.given_up}` when "
                "Ctrl-C came, and nobody waits for it any more",
                advice="what only this device had is lost; start again with another device, or "
                "with a kernel that its driver compiles sooner",
            )
        self.finish(number)
        if number in self._failures:
            raise self._failures[number].with_traceback(None)

    def finish(self, last: int | None = None) -> None:
        """Return when a command is over, or else all are, well or badly."""
        compute = self.compute
        try:
            self._poll(self.submitted if last is None else last)
        except BaseException:
            if compute.told_slow == compute.compiled_kernel():
                compute.given_up = compute.told_slow
            raise

    def _poll(self, number: int) -> None:
        """Look at a command until it is over. Python 3.13 needs a function for this loop."""
        when_slow = self.compute.tell_if_compiling
        while number > self.completed:
            for event in self.pending(number):
                with suppress(cl.Error):  # the device is lost, as `completed` finds out
                    wait_until_over(partial(_status, event, _STATUS), when_slow)

    def tell_slow(self, entry: str) -> None:
        """Say that the driver has been compiling a kernel for long."""
        said = (
            "the driver of %s has been compiling `%s` for at least %g seconds; Ctrl-C stops waiting"
        )
        tell("warning", said, self.device.name, entry, SLOW_SECONDS)

    def tell_if_compiling(self) -> None:
        """Say which kernel the driver seems to be compiling at its first launch, once."""
        entry = self.compiled_kernel()
        if entry and entry != self.told_slow:
            self.tell_slow(entry)
            self.told_slow = entry

    def compiled_kernel(self) -> str:
        """The kernel of the oldest command, if that is its first launch and could have begun."""
        if self.completed < self.submitted:
            with suppress(IndexError, cl.Error):  # another thread dropped it, or the device is lost
                event, _, what = self.events[0][-3:]
                _, _, entry, waits = ("", None, "", ()) if isinstance(what, str) else what
                if all(_status(one, _STATUS) <= _COMPLETE for one in waits):
                    return entry if _status(event, _STATUS) > _RUNNING else ""
        return ""

    def times(self, number: int) -> Times | None:
        """What a command took; nothing where it was not measured."""
        has_failed = number <= self.completed and number in self._failures
        return None if has_failed else self._times.get(number, Times(None, 0.0))

    def measure(self, on: bool) -> None:  # noqa: FBT001 -- a switch
        """Give the next commands to a driver's queue that measures, or to one that does not."""
        with self.lock:
            measuring = self._measuring + (1 if on else -1)
            if bool(measuring) != bool(self._measuring):
                self.finish()
                self.driver_queue, self._idle_queue = self._idle_queue, self.driver_queue
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
            if status != _COMPLETE or self._measuring or command[-1].__class__ is not str:
                self._note_end(command, status)
            events.popleft()  # behind all that Ctrl-C may leave undone

    def _note_end(self, command: Any, status: int) -> None:
        """Remember how a command ended."""
        event, number, what = command[-3:]
        what, find_failure = (what, None) if isinstance(what, str) else what[:2]
        try:
            if status != _COMPLETE:
                event.wait()  # raises what OpenCL has to say
            failure = find_failure() if find_failure else None
        except cl.Error as error:
            failure = failed(self.device, what, error)
        if failure is not None:
            self._failures[number] = failure
        elif self._measuring:
            with suppress(cl.Error):  # the device does not measure
                at = event.profile
                nanoseconds = at.start, at.end - at.start, at.start - at.queued
                self._times[number] = Times(*(max(one, 0) * 1e-9 for one in nanoseconds))
            if len(self._times) > MOST_TIMES:
                del self._times[next(iter(self._times))]

    def failed_assertion(self, report: cl.Buffer, asserts: Sequence[Any]) -> TrilbyError | None:
        """What a launch has to say: four numbers, which `assert` failed and in which work item."""
        found = np.zeros(4, np.int32)
        cl.enqueue_copy(self._idle_queue, found, report)  # the other one has later commands
        number, x, y, z = found.tolist()
        if not number:
            return None
        message, location = asserts[number - 1]
        return assertion_failed(message, (x, y, z), location)

"""Launches that are given to the driver a few at a time.

A hot loop in Python is a little slower than the kernels that it launches, if these are small.
The device then falls asleep after each of them, and waking it takes longer than everything
else. So launches are held back until there are some, and given to the driver one right after
the other. Whatever asks about one of them, or has to come after it, gives all to the driver
first; so does the end of a compute function.
"""

from collections.abc import Sequence
from threading import Lock

import pyopencl as cl

from trilby.backend.base import Event, Starter
from trilby.backend.opencl_events import OpenCLEvent, Task, is_over
from trilby.backend.opencl_kernels import OpenCLPrepared
from trilby.errors import DeviceError

MOST_HELD = 8


class HeldEvent(OpenCLEvent):
    """A launch that the driver may not have yet; whoever asks for its event sees to that.

    `after` is what it has to wait for, and then why it failed, if it did.
    """

    __slots__ = ("after", "prepared")

    def __init__(self, prepared: OpenCLPrepared, after: Sequence[Event]) -> None:
        self._event: cl.Event | None = None  # pyright: ignore[reportIncompatibleVariableOverride] -- the driver may not have it yet
        self.prepared = prepared
        self.after: Sequence[Event] | DeviceError = after

    @property
    def task(self) -> Task:  # pyright: ignore[reportIncompatibleVariableOverride] -- it is the launch's
        """What it does, and where."""
        return self.prepared.task

    @property
    def event(self) -> cl.Event:
        """The event of OpenCL; raises where the driver refused the launch."""
        if self._event is None:
            self.prepared.submit()
        if self._event is None:
            raise self.after if isinstance(self.after, DeviceError) else AssertionError(self)
        return self._event

    @property
    def done(self) -> bool:
        """True once the launch is over, well or badly."""
        if self._event is None:
            self.prepared.submit()
        return self._event is None or is_over(self._event)

    def give(self) -> None:
        """Give the launch to the driver."""
        after = self.after
        try:
            self._event = self.prepared.enqueue([entry.event for entry in after])  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType, reportAttributeAccessIssue, reportUnknownMemberType, reportOptionalIterable] -- events of the same backend
        except cl.Error as error:
            self.after = self.task.failed(error)
        except DeviceError as error:
            self.after = error
        else:
            self.after = ()


class Burst:
    """The launches of one queue that are held back."""

    def __init__(self, queue: cl.CommandQueue) -> None:
        self._queue = queue
        self._held: list[HeldEvent] = []
        self._lock = Lock()

    def starter(self, prepared: OpenCLPrepared) -> Starter:
        """Hold launches of one kind back. A hot loop does little else than this."""
        prepared.submit = self.submit

        def start(after: Sequence[Event]) -> Event:
            event = HeldEvent(prepared, after)
            held = self._held
            held.append(event)
            if len(held) >= MOST_HELD:
                self.submit()
            return event

        return start

    def submit(self) -> None:
        """Give everything to the driver that is held back."""
        if not self._held:
            return
        with self._lock:
            held, self._held = self._held, []
            for event in held:
                event.give()
            self._queue.flush()

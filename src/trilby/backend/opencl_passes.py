"""Many passes of one launch, given to the driver one right after the other.

They go through a queue that keeps their order: the driver then has no list of events to look at
for each of them. It measures them only for somebody who wants to know: reading its clocks takes a
driver for a processor a tenth of a small pass. The loop over the passes runs in C from end to end,
so that not even Ctrl-C comes between a pass and its number.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, count, islice, repeat
from typing import Any, TypeAlias

import numpy as np
import pyopencl as cl

from trilby.backend.base import Argument, Event, Passes, Times
from trilby.backend.opencl_events import OpenCLEvent, Task, times_of
from trilby.backend.opencl_kernels import OpenCLPrepared
from trilby.backend.pass_by_pass import PassByPass

WaitList: TypeAlias = Callable[[Sequence[Event]], "list[cl.Event] | None"]
QueueOf: TypeAlias = Callable[[bool], cl.CommandQueue]
RunDebugging: TypeAlias = Callable[[OpenCLPrepared, "list[cl.Event] | None"], OpenCLEvent]


class OpenCLPasses(Passes):
    """The passes of a kernel that neither asserts nor prints.

    `_queue_of` gives a queue that measures its commands, or one that does not. `_begun` ends with
    the event of the last pass, and how many there were. `_oldest` is the event of the first pass of
    the last portion.
    """

    __slots__ = (
        "_begun",
        "_enqueue",
        "_numbers",
        "_oldest",
        "_prepared",
        "_queue",
        "_queue_of",
        "_wait_list",
    )

    def __init__(self, prepared: OpenCLPrepared, queue_of: QueueOf, wait_list: WaitList) -> None:
        super().__init__()
        self._prepared = prepared
        self._queue_of = queue_of
        self._wait_list = wait_list
        self._take_queue()
        self._numbers = count(1)
        self._begun: deque[tuple[Any, ...]] = deque(maxlen=1)
        self._oldest: cl.Event | None = None

    def _take_queue(self) -> None:
        """Give the passes to come to a queue that measures them, or to one that does not."""
        prepared = self._prepared
        self._queue = self._queue_of(self.is_timed)
        place = prepared.kernel, prepared.whole, prepared.local, None
        self._enqueue = partial(cl.enqueue_nd_range_kernel, self._queue, *place)

    @property
    def begun(self) -> int:
        """How many passes the driver has."""
        return self._begun[-1][-1] if self._begun else 0

    @property
    def latest(self) -> OpenCLEvent:
        """The last portion."""
        return PortionEvent(self._begun[-1][-2], self._prepared.task, self._oldest)

    def run(self, passes: int, after: Sequence[Event] = ()) -> None:
        """Give some more passes to the driver."""
        prepared = self._prepared
        prepared.task.submit()
        prepared.check()
        if self._queue is not self._queue_of(self.is_timed):
            self._take_queue()
        before = self._wait_list(after)
        waits = chain((before,), repeat(None, passes - 1))
        enqueued = map(self._enqueue, waits)
        try:
            portion: Iterator[tuple[Any, ...]] = zip(enqueued, self._numbers, strict=False)
            if prepared.executable.takes_pass:
                is_set = self._set_numbers(passes)
                portion = zip(is_set, enqueued, self._numbers, strict=False)
            self._begun.extend(islice(portion, 1))
            first: cl.Event = self._begun[-1][-2]
            self._oldest = first
            prepared.note_launch(first, before)
            self._begun.extend(portion)
            self._queue.flush()
        except cl.Error as error:
            raise prepared.task.failed(error) from error

    def _set_numbers(self, passes: int) -> Iterator[None]:
        """Sets the number of each pass when it is asked for the next."""
        start = self.next_number
        return map(self._prepared.set_pass, np.arange(start, start + passes, dtype=np.int32))

    def replace(self, position: int, argument: Argument) -> None:
        """Set another argument for the passes to come."""
        self._prepared.replace(position, argument)


class PortionEvent(OpenCLEvent):
    """Passes that follow each other: the last one, and the first for how long all of them took."""

    __slots__ = ("first",)

    def __init__(self, event: cl.Event, task: Task, first: cl.Event | None) -> None:
        super().__init__(event, task)
        self.first = first or event

    @property
    def times(self) -> Times:
        """For how long the first was queued, and how long all of them ran."""
        return times_of(self.event, self.first)


def debugging_passes(prepared: OpenCLPrepared, run: RunDebugging) -> PassByPass:
    """The passes of a kernel that asserts or prints, each of which is waited for.

    What one has written whose `assert` fails is taken back.
    """

    def run_one(number: int, after: Sequence[Event]) -> Event:
        for event in after:
            event.wait()
        prepared.set_pass(np.int32(number))
        kept = _kept(prepared) if prepared.executable.asserts else []
        try:
            event = run(prepared, None)
            event.wait()
        except BaseException:
            prepared.queue.finish()
            for buffer, content in kept:
                cl.enqueue_copy(prepared.queue, buffer, content).wait()
            raise
        return event

    return PassByPass(run_one, prepared)


def _kept(prepared: OpenCLPrepared) -> list[tuple[cl.Buffer, cl.Buffer]]:
    """Every buffer of a launch, and a copy of it on the device."""
    kept: list[tuple[cl.Buffer, cl.Buffer]] = []
    for memory in prepared.memories.values():
        buffer = prepared.owner.buffer_of(memory)
        copy = cl.Buffer(prepared.task.context, cl.mem_flags.READ_WRITE, buffer.size)
        cl.enqueue_copy(prepared.queue, copy, buffer).wait()
        kept.append((buffer, copy))
    return kept

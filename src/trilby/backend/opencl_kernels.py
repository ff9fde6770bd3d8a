"""Kernels that were built by OpenCL, and launches that are prepared: arguments are set once.

A kernel object of OpenCL carries the arguments of its launches, and making one takes as long
as a hundred launches. So every prepared launch has one to itself and, when it is dropped,
leaves it to the next.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import cache, partial
from itertools import chain, count, islice, repeat
from struct import Struct
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
import pyopencl as cl
from pyopencl._cl import _Program  # pyright: ignore[reportPrivateUsage]

from trilby.backend.base import (
    Argument,
    Event,
    Memory,
    Passes,
    Scalar,
    StructArgument,
    Times,
    type_by_value,
    value_by_value,
)
from trilby.backend.group_size import GroupLimits, group_size, rounded_up
from trilby.backend.opencl_events import OpenCLEvent, Task, times_of
from trilby.backend.run_again import PassByPass
from trilby.data.dtypes import ScalarType
from trilby.data.ndrange import NDRange
from trilby.dataclass import dataclass
from trilby.errors import DeviceError
from trilby.source import Location

RANGE_ARGUMENTS = 3
"""Behind the arguments of a kernel comes the range, `int max_x, int max_y, int max_z`."""

_Enqueue: TypeAlias = Callable[[list[cl.Event] | None], cl.Event]

_RANGE_NUMBER = Struct("=i")


class OpenCLMemoryOwner(Protocol):
    """Knows the memory that its launches may use; `moment` changes when some of it is freed."""

    moment: int

    def check_open(self) -> None:
        """Raise where it was closed."""
        ...

    def buffer_of(self, memory: Memory) -> cl.Buffer:
        """The buffer of OpenCL; raises where it is freed or another's."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class OpenCLKernel:
    """A built kernel; `spare` are kernel objects that no prepared launch uses.

    `seconds` is what launches were seen to take, by their range, and `launched` are the sizes of
    groups that the driver has compiled it for, or was asked to.

    Behind its arguments and its range, one that `takes_pass` takes the number of its pass, and
    one with `asserts` takes a report of what failed as its last argument.
    """

    program: _Program
    entry: str
    source: str
    limits: GroupLimits
    task: Task
    parameters: int
    asserts: tuple[tuple[str, Location], ...] = ()
    prints: bool = False
    takes_pass: bool = False
    spare: list[cl.Kernel] = field(default_factory=list[cl.Kernel])
    seconds: dict[tuple[int, ...], float] = field(default_factory=dict[tuple[int, ...], float])
    launched: set[tuple[int, ...]] = field(default_factory=set[tuple[int, ...]])

    @property
    def debugs(self) -> bool:
        """Whether somebody is to see at once what it reports."""
        return bool(self.asserts) or self.prints

    def take_object(self) -> cl.Kernel:
        """A kernel object with arguments that are to be set anew, all of them."""
        try:
            return self.spare.pop()
        except IndexError:
            return cl.Kernel(self.program, self.entry)

    def check_count(self, given: int) -> None:
        """Raise where arguments are missing: those of the launch before would be used."""
        expected = self.parameters - RANGE_ARGUMENTS - self.takes_pass - bool(self.asserts)
        if given != expected:
            raise DeviceError(
                f"`{self.entry}` takes {expected} arguments, and {given} are given",
                advice="this is a fault of Trilby: please report it with the program",
            )


class OpenCLPrepared:
    """A launch whose arguments are set.

    It has a kernel object of its own. `checked` is the number of the last moment at which
    none of its memory was freed.
    """

    __slots__ = (
        "_last",
        "checked",
        "debugs",
        "enqueue",
        "event_of",
        "executable",
        "kernel",
        "local",
        "memories",
        "owner",
        "queue",
        "ran",
        "set_pass",
        "task",
        "whole",
    )

    def __init__(
        self,
        owner: OpenCLMemoryOwner,
        queue: cl.CommandQueue,
        executable: OpenCLKernel,
        size: NDRange,
        arguments: Sequence[Argument],
    ) -> None:
        executable.check_count(len(arguments))
        self.owner = owner
        self.queue = queue
        self.executable = executable
        self.task = executable.task
        self.debugs = executable.debugs
        self.memories: dict[int, Memory] = {}
        self.checked = -1
        self.ran: cl.Event | None = None
        self.event_of: Callable[[cl.Event], OpenCLEvent] = partial(OpenCLEvent, task=self.task)
        self._last: tuple[cl.Event, OpenCLEvent] | None = None
        self.local = group_size(size, executable.limits)
        self.whole = rounded_up(size, self.local)
        self.kernel = executable.take_object()
        self.enqueue: _Enqueue = partial(
            cl.enqueue_nd_range_kernel, queue, self.kernel, self.whole, self.local, None
        )
        for position, argument in enumerate(arguments):
            self.replace(position, argument)
        for position, extent in enumerate(size.padded, len(arguments)):
            _set_bytes(self.kernel, position, _RANGE_NUMBER.pack(extent))
        self.set_pass: Callable[[np.int32], None] = _nothing
        if executable.takes_pass:
            place = len(arguments) + RANGE_ARGUMENTS
            self.set_pass = partial(_bytes_setter(self.kernel), place)
            self.set_pass(np.int32(0))

    @property
    def latest(self) -> OpenCLEvent | None:
        """The last run that the driver has."""
        return None if self.ran is None else self.event(self.ran)

    @latest.setter
    def latest(self, nothing: None) -> None:
        self.ran = None

    def event(self, ran: cl.Event) -> OpenCLEvent:
        """The event of a run, which is the same for all who ask."""
        if self._last is None or self._last[0] is not ran:
            self._last = ran, self.event_of(ran)
        return self._last[1]

    def run_after(self, wait_list: list[cl.Event] | None) -> cl.Event:
        """Give the driver a run. `for` keeps its event in the same step, see `opencl_bursts`."""
        for self.ran in map(self.enqueue, (wait_list,)):  # noqa: B020 -- see above
            break
        return cast("cl.Event", self.ran)

    @property
    def seconds(self) -> float:
        """What launches of this kernel over this range were seen to take."""
        return self.executable.seconds.get(self.whole, float("inf"))

    @seconds.setter
    def seconds(self, took: float) -> None:
        self.executable.seconds[self.whole] = took

    def note_launch(self, event: cl.Event, after: Sequence[cl.Event] | None) -> None:
        """See whether the driver may have to compile for this launch: for a new size of groups."""
        if self.local not in self.executable.launched:
            self.executable.launched.add(self.local)
            self.task.first_launches.add(event, after, self.executable.entry)

    def replace(self, position: int, argument: Argument) -> None:
        """Set another argument for the runs to come; OpenCL has read those of the others."""
        try:
            if isinstance(argument, Scalar):
                _set_bytes(self.kernel, position, _packed(argument))
            elif isinstance(argument, StructArgument):
                _set_bytes(self.kernel, position, argument.content)
            else:
                self.kernel.set_arg(position, self.owner.buffer_of(argument))
                self.memories[position] = argument
        except cl.Error as error:
            raise self.task.failed(error) from error

    def set_report(self, report: cl.Buffer) -> None:
        """Set where assertions leave what failed: behind all other arguments."""
        self.kernel.set_arg(self.executable.parameters - 1, report)

    def check(self) -> None:
        """Raise if memory was freed: OpenCL does not keep it for a kernel object."""
        moment = self.owner.moment
        if self.checked == moment:
            return
        self.owner.check_open()
        for memory in self.memories.values():
            self.owner.buffer_of(memory)
        self.checked = moment

    def __del__(self) -> None:
        if hasattr(self, "kernel"):
            self.executable.spare.append(self.kernel)


def _packed(scalar: Scalar) -> bytes:
    return _packer(scalar.type).pack(value_by_value(scalar))


@cache
def _packer(kind: ScalarType) -> Struct:
    return Struct(type_by_value(kind).char)


def _set_bytes(kernel: cl.Kernel, position: int, content: bytes) -> None:
    _bytes_setter(kernel)(position, content)


def _bytes_setter(kernel: cl.Kernel) -> Callable[[int, bytes | np.int32], None]:
    # `set_arg` takes 9 µs to find out that these are bytes, and this 0.2.
    setter: Callable[[int, bytes | np.int32], None] = kernel._set_arg_buf  # noqa: SLF001  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType] -- not in its stubs
    return setter  # pyright: ignore[reportUnknownVariableType] -- as above


def _nothing(_number: np.int32) -> None:
    """A kernel that does not read the number of its pass is not told."""


# ------------------------------------------------------------------------------------ opencl passes
# Many passes of one launch, given to the driver one right after the other.
#
# They go through a queue that keeps their order: the driver then has no list of events to look at
# for each of them. It measures them only for somebody who wants to know: reading its clocks takes
# a driver for a processor a tenth of a small pass. The loop over the passes runs in C from end to
# end, so that not even Ctrl-C comes between a pass and its number.

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

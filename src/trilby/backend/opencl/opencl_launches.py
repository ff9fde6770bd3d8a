"""Kernels that were built by OpenCL, and launches that are prepared: arguments are set once.

A kernel object of OpenCL carries the arguments of its launches, and making one takes as long
as a hundred launches. So every prepared launch has one to itself and, when it is dropped,
leaves it to the next.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import cache, partial
from itertools import chain, islice, repeat
from operator import length_hint
from struct import Struct
from typing import Any

import numpy as np
import pyopencl as cl
from pyopencl._cl import _Program  # pyright: ignore[reportPrivateUsage]

from trilby.backend.base import (
    Argument,
    Memory,
    Scalar,
    StructArgument,
    Ticket,
)
from trilby.backend.failures import failed
from trilby.backend.group_size import GroupLimits, group_size, rounded_up
from trilby.backend.opencl.opencl_drivers import Drivers
from trilby.backend.opencl.opencl_memory import MemoryPool
from trilby.backend.opencl.opencl_queue import ALL_NUMBERS, AssertReport, OpenCLQueue
from trilby.codegen.identifiers import OWN
from trilby.data.dtypes import ScalarType, type_by_value, value_by_value
from trilby.data.ndrange import NDRange
from trilby.dataclass import dataclass
from trilby.errors import DeviceError
from trilby.source import Location

RANGE_ARGUMENTS = 3
"""Behind the arguments of a kernel comes the range, `int max_x, int max_y, int max_z`."""

_RANGE_NUMBER = Struct("=i")
HURRY = 32
"""After so many launches the driver is told to begin them; a wait tells it earlier."""

_new_ticket: Callable[[Any], Ticket] = partial(tuple[Any].__new__, Ticket)
"""Takes half as long as `Ticket`, which is written in Python."""


@dataclass(frozen=True, slots=True, eq=False)
class OpenCLKernel:
    """A built kernel; `spare` are kernel objects that no prepared launch uses.

    `launched` are the sizes of groups that the driver has compiled it for, or was asked to.
    Behind its arguments and its range, one that `takes_pass` takes the number of its pass, and
    one with `assertions` takes a report of what failed as its last argument.
    """

    context: cl.Context
    program: _Program
    entry: str
    source: str
    limits: GroupLimits
    what: str
    parameters: int
    assertions: tuple[tuple[str, Location], ...] = ()
    prints: bool = False
    takes_pass: bool = False
    spare: list[cl.Kernel] = field(default_factory=list[cl.Kernel])
    launched: set[tuple[int, ...]] = field(default_factory=set[tuple[int, ...]])

    @property
    def asserts(self) -> bool:
        """Whether a launch may fail by itself."""
        return bool(self.assertions)

    def take_object(self) -> cl.Kernel:
        """A kernel object with arguments that are to be set anew, all of them."""
        try:
            return self.spare.pop()
        except IndexError:
            return cl.Kernel(self.program, self.entry)

    def check_count(self, given: int) -> None:
        """Raise where arguments are missing: those of the launch before would be used."""
        expected = self.parameters - RANGE_ARGUMENTS - self.takes_pass - self.asserts
        if given != expected:
            raise DeviceError(
                f"`{self.entry}` takes {expected} arguments, and {given} are given",
                advice="this is a fault of Trilby: please report it with the program",
            )


class OpenCLPrepared:
    """A launch whose arguments are set, with a kernel object of its own.

    `_checked` is the queue's moment at which its memory was there, and -1 where each run needs more
    than to be enqueued. `_runs` gives what its runs do, and counts them.
    """

    def __init__(
        self,
        pool: MemoryPool,
        queue: OpenCLQueue,
        executable: OpenCLKernel,
        size: NDRange,
        arguments: Sequence[Argument],
    ) -> None:
        executable.check_count(len(arguments))
        self.executable = executable
        self._pool = pool
        self._queue = queue
        self._extend = queue.events.extend
        self._numbers_left = queue.numbers_left
        self._memories: dict[int, Memory] = {}
        self._checked = -1
        self._runs = repeat(executable.what, sys.maxsize)
        self._local = group_size(size, executable.limits)
        self._whole = rounded_up(size, self._local)
        self.kernel = executable.take_object()
        self._bind()
        for position, argument in enumerate(arguments):
            self.replace(position, argument)
        set_bytes = _bytes_setter(self.kernel)
        for position, extent in enumerate(size.padded, len(arguments)):
            set_bytes(position, _RANGE_NUMBER.pack(extent))
        self._set_pass: Callable[[Any], None] | None = None
        if executable.takes_pass:
            self._set_pass = partial(set_bytes, len(arguments) + RANGE_ARGUMENTS)

    def _bind(self) -> None:
        """Take the queue that the driver has for it now; each of `_steps` is a run there."""
        place = self._queue.driver_queue, self.kernel, self._whole, self._local, None
        self._enqueue = partial(cl.enqueue_nd_range_kernel, *place)
        at_once = map(self._enqueue, repeat(None))
        self._steps = zip(at_once, self._queue.numbers, self._runs, strict=False)

    @property
    def begun(self) -> int:
        """The runs that the driver has."""
        return sys.maxsize - length_hint(self._runs)

    def submit(self, times: int = 1, first_pass: int = 0, after: Sequence[Ticket] = ()) -> Ticket:
        """Run the kernel in whole groups; it leaves out the work items beyond the range."""
        queue = self._queue
        if after or times != 1 or self._checked != queue.moment or Drivers.are_lost:
            return self._submit_checked(times, first_pass, after)
        try:
            with queue.lock:
                self._extend(islice(self._steps, 1))
                number = ALL_NUMBERS - 1 - self._numbers_left()
        except cl.Error as error:
            raise self._failed(error) from error
        if not number % HURRY or len(queue.events) == 1:
            queue.keep_going()
        return _new_ticket((queue, number, None))

    def _submit_checked(self, times: int, first_pass: int, after: Sequence[Ticket]) -> Ticket:
        queue, executable = self._queue, self.executable
        moment = queue.moment
        self._check_memory()
        waits = queue.wait_list(after)
        if executable.prints and sys.stdout is not None:
            sys.stdout.flush()  # what the host printed comes first
        try:
            with queue.lock:
                self._bind()
                runs = self._with_report(times) if executable.asserts else self._runs
                enqueued = map(self._enqueue, chain((waits,), repeat(None, times - 1)))
                if self._set_pass is not None:
                    passes = np.arange(first_pass, first_pass + times, dtype=np.int32)
                    is_set = map(self._set_pass, passes)
                    self._extend(zip(is_set, enqueued, queue.numbers, runs, strict=False))
                else:
                    self._extend(zip(enqueued, queue.numbers, runs, strict=False))
                number = queue.submitted
        except cl.Error as error:
            raise self._failed(error) from error
        self._note_first_launch(number - times + 1, waits or [])
        if executable.asserts or executable.prints or executable.takes_pass:
            moment = -1
        self._checked = moment
        queue.keep_going()
        return Ticket(queue, number)

    def _with_report(self, times: int) -> Iterator[Any]:
        """What these runs do; the last one has the report of all."""
        report = AssertReport(self._queue.take_report(), self.executable.assertions)
        self.kernel.set_arg(self.executable.parameters - 1, report.buffer)
        return zip(self._runs, chain(repeat(None, times - 1), (report,)), strict=False)

    def _note_first_launch(self, number: int, waits: list[cl.Event]) -> None:
        """See whether the driver may have to compile for this launch: for a new size of groups."""
        if self._local not in self.executable.launched:
            self.executable.launched.add(self._local)
            for event in self._queue.pending(number):
                before = [*waits, *self._queue.pending(number - 1)]
                name = self.executable.entry.removeprefix(OWN)
                self._queue.first_launches.add(event, before, name)

    def _check_memory(self) -> None:
        """Raise if memory was freed: OpenCL does not keep it for a kernel object."""
        self._pool.check_open()
        for memory in self._memories.values():
            self._pool.buffer_of(memory)

    def replace(self, position: int, argument: Argument) -> None:
        """Set another argument for the runs to come; OpenCL has read those of the others."""
        try:
            if isinstance(argument, Scalar):
                content = _packer(argument.type).pack(value_by_value(argument.type, argument.value))
                _bytes_setter(self.kernel)(position, content)
            elif isinstance(argument, StructArgument):
                _bytes_setter(self.kernel)(position, argument.content)
            else:
                self.kernel.set_arg(position, self._pool.buffer_of(argument))
                self._memories[position] = argument
        except cl.Error as error:
            raise self._failed(error) from error

    def _failed(self, error: cl.Error) -> DeviceError:
        return failed(self._queue.device, self.executable.what, error)

    def __del__(self) -> None:
        if hasattr(self, "kernel"):
            self.executable.spare.append(self.kernel)


@cache
def _packer(kind: ScalarType) -> Struct:
    return Struct(type_by_value(kind).char)


def _bytes_setter(kernel: cl.Kernel) -> Callable[[int, bytes], None]:
    # `set_arg` takes 9 µs to find out that these are bytes, and this 0.2.
    return kernel._set_arg_buf  # noqa: SLF001  # pyright: ignore -- not in its stubs

"""Kernels: built by OpenCL, and prepared as launches whose arguments are set once.

A kernel object of OpenCL carries the arguments of its launches, and making one takes as long
as a hundred launches. So every prepared launch has one to itself and, when it is dropped,
leaves it to the next.
"""

import ctypes
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from functools import partial
from itertools import chain, islice, repeat
from operator import length_hint
from typing import Any, cast

import numpy as np
import pyopencl as cl

# `cl.Program.build` sends whatever a compiler says through Python's warnings, which only a
# filter for the whole process could stop. The program that it wraps does not.
from pyopencl._cl import _Program  # pyright: ignore[reportPrivateUsage]

from trilby.backend.background import BackgroundCall
from trilby.backend.base import Argument, DeviceInfo, Memory, Scalar, StructArgument, Ticket
from trilby.backend.failures import failed, not_prepared, refused_code
from trilby.backend.group_size import GroupLimits, group_size, rounded_up
from trilby.backend.opencl.opencl_drivers import Drivers
from trilby.backend.opencl.opencl_queue import (
    ALL_NUMBERS,
    OpenCLQueue,
    explained,
    tell_slow,
    wait_until_over,
)
from trilby.codegen.cfamily import Generated
from trilby.codegen.identifiers import OWN
from trilby.data.ndrange import NDRange
from trilby.dataclass import dataclass
from trilby.messages import tell

HURRY = 32
"""After so many launches the driver is told to begin them; a wait tells it earlier."""

REBUILDS = 3
"""How often a program without its kernel is built again, each time as another program."""

# Nothing here loosens the meaning of floats. Warnings would be about code that nobody
# wrote by hand.
_BUILD_OPTIONS = b"-cl-std=CL1.2 -w"

_NO_SUCH_KERNEL = cast("int", cl.status_code.INVALID_KERNEL_NAME)

_new_ticket: Callable[[Any], Ticket] = partial(tuple[Any].__new__, Ticket)
"""Takes half as long as `Ticket`, which is written in Python."""


def build_kernel(
    context: cl.Context, device: DeviceInfo, code: Generated
) -> tuple[_Program, cl.Kernel]:
    """Build a program and take its kernel; build past entries of the driver's cache without it.

    A build that Ctrl-C came before goes on in its thread, and nobody hears of its result.
    """
    name, text = code.entry.removeprefix(OWN), code.text
    for rebuild in range(1, REBUILDS + 2):
        program = _Program(context, text)
        build = BackgroundCall(partial(_build, program, context), daemon=True)
        wait_until_over(build.is_alive, partial(tell_slow, name, device))
        try:
            build()
        except cl.Error as error:
            log = program.get_build_info(context.devices[0], cl.program_build_info.LOG)
            raise refused_code(device, name, text, str(log or error)) from error
        try:
            return program, cl.Kernel(program, code.entry)
        except cl.Error as error:
            if error.code != _NO_SUCH_KERNEL or rebuild > REBUILDS:
                raise not_prepared(device, name, error) from error
        tell("info", "the driver's cache of `%s` is damaged: it is built again", name)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(program))  # PoCL aborts where it is released
        text += f"\ntypedef int trilby_built_again_{rebuild};\n"  # a comment makes no difference
    raise AssertionError


def _build(program: _Program, context: cl.Context) -> None:
    program._build(_BUILD_OPTIONS, context.devices)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- see the import


@dataclass(frozen=True, slots=True, eq=False)
class OpenCLKernel:
    """A built kernel; `spare` are kernel objects that no prepared launch uses.

    `launched` are the sizes of groups that the driver has compiled it for, or was asked to.
    """

    context: cl.Context
    program: _Program
    code: Generated
    limits: GroupLimits
    source: str
    asserts: bool
    prints: bool
    spare: list[cl.Kernel]
    launched: set[tuple[int, ...]] = field(default_factory=set[tuple[int, ...]])


class OpenCLPrepared:
    """A launch whose arguments are set, with a kernel object of its own.

    `_checked` is the queue's moment at which its memory was there, and -1 where each run needs more
    than to be enqueued. `_runs` gives what its runs do, and counts them. Each of `_steps` is a run.
    """

    def __init__(
        self,
        buffer_of: Callable[[Memory], cl.MemoryObjectHolder],
        queue: OpenCLQueue,
        executable: OpenCLKernel,
        size: NDRange,
        arguments: Sequence[Argument],
    ) -> None:
        self.executable = executable
        self._buffer_of = buffer_of
        self._queue = queue
        self._extend = queue.events.extend
        self._numbers_left = queue.numbers_left
        self._memories: dict[int, Memory] = {}
        self._checked = -1
        self._name = executable.code.entry.removeprefix(OWN)
        self._what = f"running `{self._name}`"
        self._runs = repeat(self._what, sys.maxsize)
        self._steps: Iterator[Any] = iter(())
        self._local = group_size(size, executable.limits)
        self._whole = rounded_up(size, self._local)
        try:
            self.kernel = executable.spare.pop()
        except IndexError:
            self.kernel = cl.Kernel(executable.program, executable.code.entry)
        # `set_arg` takes 9 µs to find out that these are bytes, and this 0.2.
        self._set_bytes: Callable[[int, Any], None] = self.kernel._set_arg_buf  # noqa: SLF001  # pyright: ignore -- not in its stubs
        for position, argument in enumerate(arguments):
            self.replace(position, argument)
        for position, extent in enumerate(size.padded, len(arguments)):
            self._set_bytes(position, np.int32(extent))
        self._pass_position = len(arguments) + len(size.padded)

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
            raise failed(queue.device, self._what, error) from error
        if not number % HURRY or len(queue.events) == 1:
            queue.keep_going()
        return _new_ticket((queue, number, None))

    def _submit_checked(self, times: int, first_pass: int, after: Sequence[Ticket]) -> Ticket:
        queue, executable = self._queue, self.executable
        moment = queue.moment
        queue.check_open()
        for memory in self._memories.values():  # OpenCL does not keep it for a kernel object
            self._buffer_of(memory)
        if executable.prints and sys.stdout is not None:
            sys.stdout.flush()  # what the host printed comes first
        is_new = self._local not in executable.launched  # then the driver may compile
        executable.launched.add(self._local)
        settings: Iterable[None] = repeat(None)
        if executable.code.takes_pass:
            passes = np.arange(first_pass, first_pass + times, dtype=np.int32)
            settings = map(partial(self._set_bytes, self._pass_position), passes)
        place = self.kernel, self._whole, self._local, None
        ticket = queue.submit(
            self._what,
            after,
            cl.enqueue_nd_range_kernel,
            *place,
            times=times,
            runs=self._with_report(times) if executable.asserts else self._runs,
            settings=settings,
            compiles=self._name if is_new else "",
        )
        if executable.asserts or executable.prints or executable.code.takes_pass:
            moment = -1
        self._checked = moment
        enqueue = partial(cl.enqueue_nd_range_kernel, queue.driver_queue, *place)
        self._steps = zip(map(enqueue, repeat(None)), queue.numbers, self._runs, strict=False)
        return ticket

    def _with_report(self, times: int) -> Iterator[Any]:
        """What these runs do; the last one has the report of all."""
        code, flags = self.executable.code, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        with explained(self._queue.device, self._what):
            report = cl.Buffer(self._queue.context, flags, hostbuf=np.zeros(4, np.int32))
            self.kernel.set_arg(self._pass_position + code.takes_pass, report)
        find = partial(self._queue.failed_assertion, report, code.asserts)
        return zip(self._runs, chain(repeat(None, times - 1), (find,)), strict=False)

    def replace(self, position: int, argument: Argument) -> None:
        """Set another argument for the runs to come; OpenCL has read those of the others."""
        with explained(self._queue.device, self._what):
            if isinstance(argument, Scalar):
                self._set_bytes(position, np.array(argument.value, argument.type.numpy))
            elif isinstance(argument, StructArgument):
                self._set_bytes(position, argument.content)
            else:
                self.kernel.set_arg(position, self._buffer_of(argument))
                self._memories[position] = argument

    def __del__(self) -> None:
        if hasattr(self, "kernel"):
            self.executable.spare.append(self.kernel)

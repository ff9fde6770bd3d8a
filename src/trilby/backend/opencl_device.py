"""One OpenCL device that was opened: kernels as OpenCL C, buffers, copies, launches.

This module and `opencl`, which finds the devices, are the only ones that know pyopencl. It
decides neither what moves nor when. What fails is said in our own errors: no error of
OpenCL passes through, and no failure of a device takes the process with it.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, TypeAlias

import numpy as np
import pyopencl as cl

# `cl.Program.build` sends whatever a compiler says through Python's warnings, which only a
# filter for the whole process could stop. The program that it wraps does not.
from pyopencl._cl import _Program  # pyright: ignore[reportPrivateUsage]

from trilby.analysis.reach import KernelGraph
from trilby.backend.base import (
    Argument,
    DeviceInfo,
    Event,
    Executable,
    Memory,
    Scalar,
    StructArgument,
)
from trilby.backend.by_value import type_by_value, value_by_value
from trilby.backend.failures import (
    assertion_failed,
    blamed,
    closed,
    failed,
    foreign,
    freed,
    no_room,
    refused_code,
)
from trilby.backend.group_size import GroupLimits, group_size, rounded_up
from trilby.codegen.opencl import generate
from trilby.data.ndrange import NDRange
from trilby.errors import BuildError
from trilby.source import Location

_Command: TypeAlias = Callable[[cl.CommandQueue, list[cl.Event] | None], cl.Event]

# Nothing here loosens the meaning of floats. Warnings would be about code that nobody
# wrote by hand.
_BUILD_OPTIONS = b"-cl-std=CL1.2 -w"

# OpenCL has no buffer of no bytes.
_SMALLEST_BUFFER = 16

_NO_ROOM = frozenset(
    {
        cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE,
        cl.status_code.OUT_OF_RESOURCES,
        cl.status_code.OUT_OF_HOST_MEMORY,
        cl.status_code.INVALID_BUFFER_SIZE,
    }
)


class _Doing:
    """Turns an error of OpenCL into a `DeviceError` that says what was being done."""

    __slots__ = ("_device", "_what")

    def __init__(self, device: DeviceInfo, what: str) -> None:
        self._device = device
        self._what = what

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, cl.Error):
            raise failed(self._device, self._what, error) from error


@dataclass(slots=True, eq=False)
class OpenCLMemory:
    """A buffer of OpenCL, None once it is freed: drivers crash on released buffers.

    `nbytes` is what was asked for.
    """

    nbytes: int
    context: cl.Context
    buffer: cl.Buffer | None


@dataclass(slots=True, eq=False)  # not frozen: one is made at every launch
class OpenCLEvent:
    """A command that was given to a queue.

    The event of a copy keeps the host's memory alive until the copy is done: pyopencl's
    event refers to it, and waits when it is dropped.
    """

    event: cl.Event
    context: cl.Context
    doing: _Doing

    def wait(self) -> None:
        """Return when it is done; raise a `DeviceError` if it failed."""
        with self.doing:
            self.event.wait()


@dataclass(slots=True, eq=False)
class OpenCLKernel:
    """A built kernel. One launch at a time may set its arguments: `lock` sees to that."""

    kernel: cl.Kernel
    context: cl.Context
    source: str
    limits: GroupLimits
    doing: _Doing
    asserts: tuple[tuple[str, Location], ...] = ()
    lock: threading.Lock = field(default_factory=threading.Lock)
    typed: bool = False

    def take_types(self, arguments: Sequence[Argument]) -> None:
        """Tell pyopencl the types, once: it then sets numbers 40 times faster."""
        if not self.typed:
            given = (type_by_value(a.type) if isinstance(a, Scalar) else None for a in arguments)
            failure = (None,) if self.asserts else ()
            dtypes = (*given, np.int32, np.int32, np.int32, *failure)
            self.kernel.set_scalar_arg_dtypes(dtypes)  # pyright: ignore[reportUnknownMemberType] -- pyopencl left a parameter untyped
            self.typed = True


@dataclass(frozen=True, slots=True, eq=False)
class AssertingEvent:
    """The launch of a kernel with assertions: waiting for it raises where one failed."""

    launch: OpenCLEvent
    executable: OpenCLKernel
    queue: cl.CommandQueue
    failure: cl.Buffer

    def wait(self) -> None:
        """Return when all is done; raise what the first failed `assert` says."""
        self.launch.wait()
        report = np.zeros(4, np.int32)
        with self.executable.doing:
            cl.enqueue_copy(self.queue, report, self.failure)
        if report[0]:
            message, location = self.executable.asserts[int(report[0]) - 1]
            x, y, z = report[1:].tolist()
            raise assertion_failed(message, (x, y, z), location)


@dataclass(frozen=True, slots=True)
class _Opened:
    context: cl.Context
    queue: cl.CommandQueue


class OpenCLBackend:
    """One device with a context and a queue of its own."""

    def __init__(self, cl_device: cl.Device, device: DeviceInfo) -> None:
        self.device = device
        self._cl_device = cl_device
        context = cl.Context([cl_device])
        self._opened: _Opened | None = _Opened(context, _make_queue(context, cl_device))

    @property
    def _open(self) -> _Opened:
        if self._opened is None:
            raise closed(self.device)
        return self._opened

    def compile(self, graph: KernelGraph) -> OpenCLKernel:
        """Generate OpenCL C and build it."""
        generated = generate(graph)
        try:
            return self.build(generated.text, generated.entry, generated.asserts)
        except BuildError as error:
            raise blamed(error, graph) from error.__cause__

    def build(
        self, text: str, entry: str, asserts: Sequence[tuple[str, Location]] = ()
    ) -> OpenCLKernel:
        """Build the `__kernel` function `entry` of some OpenCL C.

        Its last three parameters are the range, `int max_x, int max_y, int max_z`.
        """
        context = self._open.context
        with _Doing(self.device, f"preparing `{entry}`"):
            kernel = cl.Kernel(self._program(context, text, entry), entry)
            items = kernel.get_work_group_info(
                cl.kernel_work_group_info.WORK_GROUP_SIZE, self._cl_device
            )
        limits = GroupLimits(items, tuple(self._cl_device.max_work_item_sizes))
        doing = _Doing(self.device, f"running `{entry}`")
        return OpenCLKernel(kernel, context, text, limits, doing, tuple(asserts))

    def _program(self, context: cl.Context, text: str, entry: str) -> _Program:
        program = _Program(context, text)
        try:
            program._build(_BUILD_OPTIONS, [self._cl_device])  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- see the import
        except cl.Error as error:
            log = program.get_build_info(self._cl_device, cl.program_build_info.LOG)
            raise refused_code(self.device, entry, text, str(log or error)) from error
        return program

    def allocate(self, nbytes: int) -> OpenCLMemory:
        """A buffer that kernels may read and write."""
        context = self._open.context
        size = max(nbytes, _SMALLEST_BUFFER)
        with _Doing(self.device, f"allocating {nbytes} bytes"):
            try:
                buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, size)
            except cl.Error as error:
                if error.code not in _NO_ROOM:
                    raise
                largest = self._cl_device.max_mem_alloc_size
                raise no_room(self.device, nbytes, largest) from error
        return OpenCLMemory(nbytes, context, buffer)

    def free(self, memory: Memory) -> None:
        """Release a buffer; OpenCL keeps it until the commands that use it are done."""
        if not isinstance(memory, OpenCLMemory):
            raise foreign(self.device, memory)
        buffer, memory.buffer = memory.buffer, None
        if buffer is None:
            raise freed(self.device, memory.nbytes)
        with _Doing(self.device, "giving memory back"):
            buffer.release()

    def upload(
        self, memory: Memory, offset: int, source: memoryview, after: Sequence[Event] = ()
    ) -> OpenCLEvent:
        """Copy host bytes to `offset` in a buffer."""
        buffer = self._buffer(memory)
        return self._start(
            lambda queue, wait_for: cl.enqueue_copy(
                queue, buffer, source, dst_offset=offset, is_blocking=False, wait_for=wait_for
            ),
            "copying to the device",
            source.nbytes,
            after,
        )

    def download(
        self, memory: Memory, offset: int, target: memoryview, after: Sequence[Event] = ()
    ) -> OpenCLEvent:
        """Copy bytes of a buffer from `offset` to the host."""
        buffer = self._buffer(memory)
        return self._start(
            lambda queue, wait_for: cl.enqueue_copy(
                queue, target, buffer, src_offset=offset, is_blocking=False, wait_for=wait_for
            ),
            "copying to the host",
            target.nbytes,
            after,
        )

    def fill(
        self, memory: Memory, offset: int, nbytes: int, byte: int, after: Sequence[Event] = ()
    ) -> OpenCLEvent:
        """Set every byte of a range."""
        buffer = self._buffer(memory)
        return self._start(
            lambda queue, wait_for: cl.enqueue_fill_buffer(
                queue, buffer, bytes((byte,)), offset, nbytes, wait_for
            ),
            "filling memory",
            nbytes,
            after,
        )

    def launch(
        self,
        executable: Executable,
        size: NDRange,
        arguments: Sequence[Argument],
        after: Sequence[Event] = (),
    ) -> "OpenCLEvent | AssertingEvent":
        """Run a kernel in whole groups; it leaves out the work items beyond the range."""
        opened = self._open
        if not isinstance(executable, OpenCLKernel) or executable.context is not opened.context:
            raise foreign(self.device, executable)
        local = group_size(size, executable.limits)
        whole = rounded_up(size, local)
        values = [self._value(argument) for argument in arguments]
        failure = self._failure_flag(executable)
        wait_for = self._wait_list(after)
        with executable.doing, executable.lock:
            executable.take_types(arguments)
            event = executable.kernel(
                opened.queue, whole, local, *values, *size.padded, *failure, wait_for=wait_for
            )
        done = OpenCLEvent(event, opened.context, executable.doing)
        return AssertingEvent(done, executable, opened.queue, failure[0]) if failure else done

    def _value(self, argument: Argument) -> Any:
        """What pyopencl takes for an argument."""
        if isinstance(argument, Scalar):
            return value_by_value(argument)
        if isinstance(argument, StructArgument):
            return np.frombuffer(argument.content, np.uint8)
        return self._buffer(argument)

    def _failure_flag(self, executable: OpenCLKernel) -> tuple[cl.Buffer, ...]:
        """Four zeros for a kernel with assertions, to leave its failure in."""
        if not executable.asserts:
            return ()
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        with executable.doing:
            return (cl.Buffer(self._open.context, flags, hostbuf=np.zeros(4, np.int32)),)

    def close(self) -> None:
        """Wait for everything and give the device back; closing twice is no error."""
        opened, self._opened = self._opened, None
        if opened is not None:
            with _Doing(self.device, "finishing its work"):
                opened.queue.finish()

    def _start(
        self, command: _Command, what: str, nbytes: int, after: Sequence[Event]
    ) -> OpenCLEvent:
        """Give a command to the queue; in place of one about no bytes, a marker."""
        opened = self._open
        doing = _Doing(self.device, what)
        with doing:
            wait_for = self._wait_list(after)
            enqueue = command if nbytes else cl.enqueue_marker
            event = enqueue(opened.queue, wait_for)
        return OpenCLEvent(event, opened.context, doing)

    def _wait_list(self, after: Sequence[Event]) -> list[cl.Event] | None:
        """What the driver itself can wait for; for the rest the host waits here."""
        ours: list[cl.Event] = []
        for event in after:
            if isinstance(event, OpenCLEvent) and event.context is self._open.context:
                ours.append(event.event)
            else:
                event.wait()
        return ours or None

    def _buffer(self, memory: Memory) -> cl.Buffer:
        if not isinstance(memory, OpenCLMemory) or memory.context is not self._open.context:
            raise foreign(self.device, memory)
        if memory.buffer is None:
            raise freed(self.device, memory.nbytes)
        return memory.buffer


def _make_queue(context: cl.Context, device: cl.Device) -> cl.CommandQueue:
    """A queue that may overlap commands, where the device can."""
    out_of_order = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
    if device.queue_properties & out_of_order:
        return cl.CommandQueue(context, device, out_of_order)
    return cl.CommandQueue(context, device)

"""One OpenCL device that was opened: kernels as OpenCL C, buffers, copies, launches.

The modules named `opencl…` are the only ones that know pyopencl. This one decides neither
what moves nor when. What fails is said in our own errors: no error of OpenCL passes through,
and no failure of a device takes the process with it.
"""

import sys
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias, cast

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
    Passes,
    Prepared,
    Repeated,
    Rows,
)
from trilby.backend.done import DoneEvent
from trilby.backend.failures import (
    beyond,
    blamed,
    closed,
    failed,
    foreign,
    freed,
    not_prepared,
    not_shared,
    refused_code,
)
from trilby.backend.group_size import GroupLimits
from trilby.backend.opencl_builds import FirstLaunches, build_where_ctrl_c_is_heard, kernel_of
from trilby.backend.opencl_bursts import Burst, OpenCLRepeated
from trilby.backend.opencl_drivers import Drivers, check_drivers, keep_all, use_drivers
from trilby.backend.opencl_events import (
    AssertingEvent,
    CopyEvent,
    OpenCLEvent,
    Task,
    drop_finished,
    wait_for,
)
from trilby.backend.opencl_kernels import (
    OpenCLKernel,
    OpenCLPasses,
    OpenCLPrepared,
    debugging_passes,
)
from trilby.backend.opencl_memory import MemoryPool, OpenCLMemory
from trilby.backend.run_again import RunAgain
from trilby.backend.work_memory import (
    NO_ARRAYS,
    WorkMemory,
    checked_by_driver,
    limited_by_stack,
)
from trilby.codegen.identifiers import OWN
from trilby.codegen.opencl_c import generate
from trilby.data.ndrange import NDRange
from trilby.data.segment import Live, address_of
from trilby.errors import BuildError
from trilby.source import Location
from trilby.stages import stage

_Command: TypeAlias = Callable[[list[cl.Event] | None], cl.Event]

# Nothing here loosens the meaning of floats. Warnings would be about code that nobody
# wrote by hand.
_BUILD_OPTIONS = b"-cl-std=CL1.2 -w"

_TIMED = cl.command_queue_properties.PROFILING_ENABLE
_UNORDERED = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
"""Queues may measure commands, and overlap them where the device can."""

_WIDEST_NUMBER = 8
"""Memory of the host begins where any number may; wider things see to their own places."""


class OpenCLBackend:
    """One device with a context and a queue of its own."""

    def __init__(self, cl_device: cl.Device, device: DeviceInfo) -> None:
        use_drivers()
        self.device = device
        self.context = cl.Context([cl_device])
        self.queue = _make_queue(self.context, cl_device, _TIMED | _UNORDERED)
        self._in_order: dict[bool, cl.CommandQueue] = {}
        self.burst = Burst(self.queue, self._wait_list)
        self.first_launches = FirstLaunches(device.name)
        self._cl_device = cl_device
        self._is_open = True
        self.pool = MemoryPool(self.context, device)
        self._orphans: deque[cl.Event] = deque()
        self._uploading = self._task("copying to the device")
        self._downloading = self._task("copying to the host")
        self._filling = self._task("filling memory")
        self.moment = 0
        """Counts what invalidates memory: launches that were prepared before are checked again."""

    def _task(self, what: str) -> Task:
        return Task(self.device, self.context, what, self.burst.submit, self.first_launches)

    def check_open(self) -> None:
        """Raise after `close`, and in a forked child."""
        check_drivers()
        if not self._is_open:
            raise closed(self.device)

    def compile(self, graph: KernelGraph, *, fast_math: bool = False) -> OpenCLKernel:
        """Generate OpenCL C and build it."""
        arrays = checked_by_driver(graph, self.device, self._cl_device.local_mem_size)
        with stage("generate"):
            generated = generate(graph, fuses=fast_math)
        try:
            with stage("build"):
                return self.build(
                    generated.text,
                    generated.entry,
                    generated.asserts,
                    takes_pass=generated.takes_pass,
                    arrays=arrays,
                )
        except BuildError as error:
            raise blamed(error, graph) from error.__cause__

    def begin_compile(
        self, graph: KernelGraph, *, fast_math: bool = False
    ) -> Callable[[], OpenCLKernel]:
        """Nothing can be begun: all is done later."""
        return partial(self.compile, graph, fast_math=fast_math)

    def build(
        self,
        text: str,
        entry: str,
        asserts: Sequence[tuple[str, Location]] = (),
        *,
        takes_pass: bool = False,
        arrays: WorkMemory = NO_ARRAYS,
    ) -> OpenCLKernel:
        """Build the `__kernel` function `entry` of some OpenCL C.

        Its last three parameters are the range, `int max_x, int max_y, int max_z`, before the
        number of the pass and the report of assertions, where it takes these.
        """
        self.check_open()
        name = entry.removeprefix(OWN)
        try:
            program, kernel = kernel_of(partial(self._program, name=name), text, entry)
            items = kernel.get_work_group_info(
                cl.kernel_work_group_info.WORK_GROUP_SIZE, self._cl_device
            )
        except cl.Error as error:
            raise not_prepared(self.device, name, error) from error
        axes = tuple(self._cl_device.max_work_item_sizes)
        limits = limited_by_stack(GroupLimits(items, axes), arrays, self.device)
        task = self._task(f"running `{name}`")
        return OpenCLKernel(
            program,
            entry,
            text,
            limits,
            task,
            kernel.num_args,
            tuple(asserts),
            prints="printf(" in text,
            takes_pass=takes_pass,
            spare=[kernel],
        )

    def _program(self, text: str, name: str) -> _Program:
        program = _Program(self.context, text)
        build = partial(program._build, _BUILD_OPTIONS, [self._cl_device])  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- see the import
        try:
            build_where_ctrl_c_is_heard(build, name, self.device.name)
        except cl.Error as error:
            log = program.get_build_info(self._cl_device, cl.program_build_info.LOG)
            raise refused_code(self.device, name, text, str(log or error)) from error
        return program

    def allocate(self, nbytes: int) -> OpenCLMemory:
        """A buffer that kernels may read and write."""
        self.check_open()
        try:
            return self.pool.take(nbytes)
        except cl.Error as error:
            raise failed(self.device, f"allocating {nbytes} bytes", error) from error

    def can_share(self, address: int, nbytes: int) -> bool:
        """Whether the device can work on the host's bytes in place."""
        shares = "shared_memory" in self.device.features
        return shares and nbytes > 0 and address % _WIDEST_NUMBER == 0

    def share(self, source: memoryview) -> OpenCLMemory:
        """The host's bytes, which a CPU's kernels read and write where they are."""
        self.check_open()
        address = address_of(np.frombuffer(source, np.uint8)) if source.nbytes else 0
        if source.readonly or not self.can_share(address, source.nbytes):
            raise not_shared(self.device, source.nbytes)
        try:
            return self.pool.share(source)
        except cl.Error as error:
            raise failed(self.device, f"sharing {source.nbytes} bytes", error) from error

    def free(self, memory: Memory, after: Sequence[Event] = ()) -> None:
        """Keep a buffer for later; also after `close`, when it is released."""
        if not isinstance(memory, OpenCLMemory):
            raise foreign(self.device, memory)
        buffer = memory.buffer
        self.moment += 1
        if buffer is None:
            raise freed(self.device, memory.nbytes)
        if Drivers.are_lost:
            return
        try:
            self.pool.give(memory, buffer, after)
            if not self._is_open:
                self.pool.trim()
        except cl.Error as error:
            raise failed(self.device, "giving memory back", error) from error

    def trim(self) -> None:
        """Release the buffers that are kept."""
        try:
            self.pool.trim()
        except cl.Error as error:
            raise failed(self.device, "giving memory back", error) from error

    def upload(
        self,
        memory: Memory,
        offset: int,
        source: memoryview,
        after: Sequence[Event] = (),
        rows: Rows | None = None,
    ) -> Event:
        """Copy host bytes to `offset` in a buffer."""
        buffer = self._span(memory, offset, source.nbytes)
        where = _rectangle(rows, offset, source.nbytes) if rows else {"dst_offset": offset}
        return self._start(
            lambda wait_list: cl.enqueue_copy(
                self.queue, buffer, source, **where, is_blocking=False, wait_for=wait_list
            ),
            self._uploading,
            source.nbytes,
            after,
        )

    def download(
        self,
        memory: Memory,
        offset: int,
        target: memoryview,
        after: Sequence[Event] = (),
        rows: Rows | None = None,
    ) -> Event:
        """Copy bytes of a buffer from `offset` to the host."""
        buffer = self._span(memory, offset, target.nbytes)
        where = _rectangle(rows, offset, target.nbytes) if rows else {"src_offset": offset}
        return self._start(
            lambda wait_list: cl.enqueue_copy(
                self.queue, target, buffer, **where, is_blocking=False, wait_for=wait_list
            ),
            self._downloading,
            target.nbytes,
            after,
        )

    def fill(
        self, memory: Memory, offset: int, nbytes: int, byte: int, after: Sequence[Event] = ()
    ) -> Event:
        """Set every byte of a range."""
        buffer = self._span(memory, offset, nbytes)
        return self._start(
            lambda wait_list: cl.enqueue_fill_buffer(
                self.queue, buffer, bytes((byte,)), offset, nbytes, wait_list
            ),
            self._filling,
            nbytes,
            after,
        )

    def prepare(
        self, executable: Executable, size: NDRange, arguments: Sequence[Argument]
    ) -> OpenCLPrepared:
        """Decide on groups, in which the range is rounded up, and set the arguments."""
        self.check_open()
        if not isinstance(executable, OpenCLKernel) or executable.task.context is not self.context:
            raise foreign(self.device, executable)
        return OpenCLPrepared(self, self.queue, executable, size, arguments)

    def run(self, prepared: Prepared, after: Sequence[Event] = ()) -> OpenCLEvent:
        """Run a kernel in whole groups; it leaves out the work items beyond the range."""
        if not isinstance(prepared, OpenCLPrepared) or prepared.owner is not self:
            raise foreign(self.device, prepared)
        self.burst.submit()
        prepared.check()
        wait_list = self._wait_list(after) if after else None
        try:
            if prepared.debugs:
                return self._run_debugging(prepared, wait_list)
            event = self._enqueue(prepared, wait_list)
            self.queue.flush()
        except cl.Error as error:
            raise prepared.task.failed(error) from error
        return OpenCLEvent(event, prepared.task)

    def _enqueue(self, prepared: OpenCLPrepared, wait_list: list[cl.Event] | None) -> cl.Event:
        event = prepared.run_after(wait_list)
        prepared.note_launch(event, wait_list)
        return event

    def repeated(self, prepared: Prepared) -> Repeated:
        """Run the same launch with nothing left to decide."""
        if not isinstance(prepared, OpenCLPrepared) or prepared.debugs:
            return RunAgain(self.run, prepared)
        return OpenCLRepeated(prepared, self.burst)

    def passes(self, prepared: Prepared) -> Passes:
        """Run passes through a queue that keeps their order."""
        if not isinstance(prepared, OpenCLPrepared) or prepared.owner is not self:
            raise foreign(self.device, prepared)
        if prepared.debugs:
            return debugging_passes(prepared, self._run_debugging)
        return OpenCLPasses(prepared, self._queue_in_order, self._wait_list)

    def _queue_in_order(self, timed: bool) -> cl.CommandQueue:  # noqa: FBT001 -- a key
        """A queue that keeps the order of its commands, and measures these or does not."""
        if timed not in self._in_order:
            wanted = _TIMED if timed else 0
            self._in_order[timed] = _make_queue(self.context, self._cl_device, wanted)
        return self._in_order[timed]

    def flush(self) -> None:
        """Give the driver what is held back."""
        self.burst.submit()

    def all_begun(self) -> OpenCLEvent:
        """A marker, which comes after all that the queue has."""
        self.burst.submit()
        try:
            event = cl.enqueue_marker(self.queue)
            self.queue.flush()
        except cl.Error as error:
            raise failed(self.device, "marking the end of its work", error) from error
        return OpenCLEvent(event, self._task("doing all that was begun"))

    def _run_debugging(
        self, prepared: OpenCLPrepared, wait_list: list[cl.Event] | None
    ) -> OpenCLEvent:
        """Run a kernel with assertions or prints; what the host printed comes first."""
        if prepared.executable.prints and sys.stdout is not None:
            sys.stdout.flush()
        if prepared.executable.asserts:
            self._expect_report(prepared)
        event = prepared.event(self._enqueue(prepared, wait_list))
        self.queue.flush()
        return event

    def _expect_report(self, prepared: OpenCLPrepared) -> None:
        """Let the next run leave what failed in four numbers, which its event fetches."""
        report = np.zeros(4, np.int32)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        failure = cl.Buffer(self.context, flags, hostbuf=report)
        prepared.set_report(failure)
        prepared.event_of = partial(self._fetch_report, prepared, report, failure)

    def _fetch_report(
        self, prepared: OpenCLPrepared, report: Live, failure: cl.Buffer, ran: cl.Event
    ) -> AssertingEvent:
        """The event of a run that asserts: what failed is known when this is there."""
        copied = cl.enqueue_copy(self.queue, report, failure, is_blocking=False, wait_for=[ran])
        asserts = prepared.executable.asserts
        return AssertingEvent(ran, copied, prepared.task, self._orphans, report, asserts)

    def close(self) -> None:
        """Wait for everything and give the device back; closing twice is no error."""
        if not self._is_open or Drivers.are_lost:
            return
        self.burst.submit()
        self._is_open = False
        self.moment += 1
        if self.first_launches.given_up:
            keep_all()
            return
        try:
            for queue in (self.queue, *self._in_order.values()):
                wait_for(cl.enqueue_marker(queue), self.first_launches)
                queue.finish()
            self.pool.trim()
        except cl.Error as error:
            raise failed(self.device, "finishing its work", error) from error
        self._orphans.clear()

    def _start(self, command: _Command, task: Task, nbytes: int, after: Sequence[Event]) -> Event:
        """Give a command to the queue; nothing where it is about no bytes."""
        self.burst.submit()
        drop_finished(self._orphans)
        try:
            wait_list = self._wait_list(after) if after else None
            if not nbytes:
                return self._nothing(task, wait_list)
            event = command(wait_list)
            self.queue.flush()
        except cl.Error as error:
            raise task.failed(error) from error
        return CopyEvent(event, task, self._orphans)

    def _nothing(self, task: Task, wait_list: list[cl.Event] | None) -> Event:
        if wait_list is None:
            return DoneEvent()
        return OpenCLEvent(cl.enqueue_marker(self.queue, wait_list), task)

    def _wait_list(self, after: Sequence[Event]) -> list[cl.Event] | None:
        """What the driver itself can wait for; for the rest the host waits here."""
        context = self.context
        ours: list[cl.Event] = []
        for event in after:
            if isinstance(event, OpenCLEvent) and event.task.context is context:
                ours.append(event.event)
            else:
                event.wait()
        return ours or None

    def buffer_of(self, memory: Memory) -> cl.Buffer:
        """The buffer behind memory that was allocated here and not freed."""
        self.check_open()
        if not isinstance(memory, OpenCLMemory) or memory.context is not self.context:
            raise foreign(self.device, memory)
        if memory.buffer is None:
            raise freed(self.device, memory.nbytes)
        return memory.buffer

    def _span(self, memory: Memory, offset: int, nbytes: int) -> cl.Buffer:
        buffer = self.buffer_of(memory)
        if offset < 0 or nbytes < 0 or offset + nbytes > memory.nbytes:
            raise beyond(self.device, offset, nbytes, memory.nbytes)
        return buffer


def _rectangle(rows: Rows, offset: int, nbytes: int) -> dict[str, Any]:
    """How pyopencl is told to copy rows."""
    return {
        "buffer_origin": (offset, 0, 0),
        "host_origin": (0, 0, 0),
        "region": (rows.size, len(rows.starts(nbytes)), 1),
        "buffer_pitches": (rows.pitch, 0),
        "host_pitches": (rows.pitch, 0),
    }


def _make_queue(context: cl.Context, device: cl.Device, wanted: int) -> cl.CommandQueue:
    """A queue with those of some properties that the device has."""
    possible = cast("cl.command_queue_properties", device.queue_properties & wanted)
    return cl.CommandQueue(context, device, possible)

"""One OpenCL device that was opened: kernels as OpenCL C, buffers, copies, launches.

What fails is said in our own errors: no error of OpenCL passes through, and no failure of a device
takes the process with it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyopencl as cl

# `cl.Program.build` sends whatever a compiler says through Python's warnings, which only a
# filter for the whole process could stop. The program that it wraps does not.
# `cl.enqueue_copy` and `cl.enqueue_fill_buffer` are written in Python: see `opencl_queue`.
from pyopencl._cl import (
    _enqueue_fill_buffer,  # pyright: ignore[reportPrivateUsage]
    _enqueue_read_buffer,  # pyright: ignore[reportPrivateUsage]
    _enqueue_read_buffer_rect,  # pyright: ignore[reportPrivateUsage]
    _enqueue_write_buffer,  # pyright: ignore[reportPrivateUsage]
    _enqueue_write_buffer_rect,  # pyright: ignore[reportPrivateUsage]
    _Program,  # pyright: ignore[reportPrivateUsage]
)

from trilby.analysis.reach import KernelGraph
from trilby.backend.base import Argument, DeviceInfo, Executable, Memory, Ticket
from trilby.backend.failures import beyond, blamed, failed, foreign, not_prepared, refused_code
from trilby.backend.group_size import GroupLimits
from trilby.backend.opencl.opencl_builds import (
    FirstLaunches,
    build_where_ctrl_c_is_heard,
    kernel_of,
)
from trilby.backend.opencl.opencl_drivers import Drivers, keep_all, use_drivers
from trilby.backend.opencl.opencl_launches import OpenCLKernel, OpenCLPrepared
from trilby.backend.opencl.opencl_memory import MemoryPool, OpenCLMemory
from trilby.backend.opencl.opencl_queue import OpenCLQueue
from trilby.backend.work_memory import (
    NO_ARRAYS,
    WorkMemory,
    checked_by_driver,
    limited_by_stack,
)
from trilby.codegen.identifiers import OWN
from trilby.codegen.opencl_c import generate
from trilby.data.ndrange import NDRange
from trilby.data.ranges import Rows
from trilby.data.segment import address_of
from trilby.errors import BuildError
from trilby.source import Location
from trilby.stages import stage

# Nothing here loosens the meaning of floats. Warnings would be about code that nobody
# wrote by hand.
_BUILD_OPTIONS = b"-cl-std=CL1.2 -w"

_WIDEST_NUMBER = 8
"""Memory of the host begins where any number may; wider things see to their own places."""

_WRITE = partial(_enqueue_write_buffer, is_blocking=False)
_WRITE_ROWS = partial(_enqueue_write_buffer_rect, is_blocking=False)
_READ = partial(_enqueue_read_buffer, is_blocking=False)
_READ_ROWS = partial(_enqueue_read_buffer_rect, is_blocking=False)


class OpenCLBackend:
    """One device with a context and three queues of its own."""

    def __init__(self, cl_device: cl.Device, device: DeviceInfo) -> None:
        use_drivers()
        self.device = device
        self.context = cl.Context([cl_device])
        self.first_launches = FirstLaunches(device.name)
        queue = partial(OpenCLQueue, cl_device, self.context, device, self.first_launches)
        self.compute = queue()
        self.upload_queue = queue()
        self.download_queue = queue()
        self.pool = MemoryPool(self.context, device)
        self._cl_device = cl_device

    def compile(self, graph: KernelGraph, *, fast_math: bool = False) -> Callable[[], OpenCLKernel]:
        """Nothing can be begun: all is done later."""
        return partial(self._compile, graph, fast_math=fast_math)

    def _compile(self, graph: KernelGraph, *, fast_math: bool) -> OpenCLKernel:
        arrays = checked_by_driver(graph, self.device, self._cl_device.local_mem_size)
        with stage("generate"):
            made = generate(graph, fuses=fast_math)
        try:
            with stage("build"):
                return self.build(made.text, made.entry, made.asserts, made.takes_pass, arrays)
        except BuildError as error:
            raise blamed(error, graph) from error.__cause__

    def build(
        self,
        text: str,
        entry: str,
        assertions: Sequence[tuple[str, Location]] = (),
        takes_pass: bool = False,  # noqa: FBT001, FBT002 -- as the kernel's parameters
        arrays: WorkMemory = NO_ARRAYS,
    ) -> OpenCLKernel:
        """Build the `__kernel` function `entry` of some OpenCL C.

        Its last three parameters are the range, `int max_x, int max_y, int max_z`, before the
        number of the pass and the report of assertions, where it takes these.
        """
        self.pool.check_open()
        name = entry.removeprefix(OWN)
        try:
            program, kernel = kernel_of(partial(self._program, name=name), text, entry)
            items = kernel.get_work_group_info(
                cl.kernel_work_group_info.WORK_GROUP_SIZE, self._cl_device
            )
        except cl.Error as error:
            raise not_prepared(self.device, name, error) from error
        axes = tuple(self._cl_device.max_work_item_sizes)
        return OpenCLKernel(
            self.context,
            program,
            entry,
            text,
            limited_by_stack(GroupLimits(items, axes), arrays, self.device),
            f"running `{name}`",
            kernel.num_args,
            tuple(assertions),
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
        self.pool.check_open()
        try:
            return self.pool.take(nbytes)
        except cl.Error as error:
            raise failed(self.device, f"allocating {nbytes} bytes", error) from error

    def share(self, source: memoryview) -> OpenCLMemory | None:
        """The host's bytes, which a CPU's kernels read and write where they are."""
        self.pool.check_open()
        if source.readonly or not source.nbytes or "shared_memory" not in self.device.features:
            return None
        if address_of(np.frombuffer(source, np.uint8)) % _WIDEST_NUMBER:
            return None
        try:
            return self.pool.share(source)
        except cl.Error as error:
            raise failed(self.device, f"sharing {source.nbytes} bytes", error) from error

    def free(self, memory: Memory, after: Sequence[Ticket] = ()) -> None:
        """Keep a buffer for later; also after `close`, when it is released."""
        if not isinstance(memory, OpenCLMemory):
            raise foreign(self.device, memory)
        self.compute.moment += 1
        if Drivers.are_lost:
            return
        try:
            self.pool.give(memory, after)
            if not self.pool.is_open:
                self.pool.trim()
        except cl.Error as error:
            raise failed(self.device, "giving memory back", error) from error

    def upload(
        self,
        memory: Memory,
        offset: int,
        source: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        """Copy host bytes to `offset` in a buffer."""
        place = self._span(memory, offset, source.nbytes), source, *_where(rows, offset, source)
        command = _WRITE_ROWS if rows else _WRITE
        return self.upload_queue.submit(
            "copying to the device", after, command, source.nbytes, *place
        )

    def download(
        self,
        memory: Memory,
        offset: int,
        target: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        """Copy bytes of a buffer from `offset` to the host."""
        place = self._span(memory, offset, target.nbytes), target, *_where(rows, offset, target)
        command = _READ_ROWS if rows else _READ
        return self.download_queue.submit(
            "copying to the host", after, command, target.nbytes, *place
        )

    def fill(
        self, memory: Memory, offset: int, nbytes: int, byte: int, after: Sequence[Ticket] = ()
    ) -> Ticket:
        """Set every byte of a range."""
        buffer = self._span(memory, offset, nbytes)
        place = buffer, bytes((byte,)), offset, nbytes
        return self.upload_queue.submit(
            "filling memory", after, _enqueue_fill_buffer, nbytes, *place
        )

    def prepare(
        self, executable: Executable, size: NDRange, arguments: Sequence[Argument]
    ) -> OpenCLPrepared:
        """Decide on groups, in which the range is rounded up, and set the arguments."""
        self.pool.check_open()
        if not isinstance(executable, OpenCLKernel) or executable.context is not self.context:
            raise foreign(self.device, executable)
        return OpenCLPrepared(self.pool, self.compute, executable, size, arguments)

    def close(self) -> None:
        """Wait for everything and give the device back; closing twice is no error."""
        if not self.pool.is_open or Drivers.are_lost:
            return
        self.pool.is_open = False
        self.compute.moment += 1
        if self.first_launches.given_up:
            keep_all()
            return
        try:
            for queue in (self.compute, self.upload_queue, self.download_queue):
                queue.finish()
            self.pool.trim()
        except cl.Error as error:
            raise failed(self.device, "finishing its work", error) from error

    def _span(self, memory: Memory, offset: int, nbytes: int) -> cl.Buffer:
        buffer = self.pool.buffer_of(memory)
        if offset < 0 or nbytes < 0 or offset + nbytes > memory.nbytes:
            raise beyond(self.device, offset, nbytes, memory.nbytes)
        return buffer


def _where(rows: Rows | None, offset: int, host: memoryview) -> tuple[Any, ...]:
    """The place of a copy as OpenCL takes it: an offset, or the rows of a rectangle."""
    if rows is None:
        return (offset,)
    region = rows.size, len(rows.starts(host.nbytes)), 1
    return (offset, 0, 0), (0, 0, 0), region, (rows.pitch, 0), (rows.pitch, 0)

"""One OpenCL device that was opened: its memory, copies, kernels as OpenCL C, and launches.

What fails is said in our own errors: no error of OpenCL passes through, and no failure of a device
takes the process with it.

Most of the time of a loop that allocates, copies and frees goes into allocating: the pages of new
memory are made at the first touch. So buffers come from a pool of pyopencl, which takes a buffer
back when Python drops it. Memory that is freed while commands work on it is dropped only when they
are done, because a command of its next owner could overtake them.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

import numpy as np
import pyopencl as cl
from pyopencl import tools

# `cl.enqueue_copy` and `cl.enqueue_fill_buffer` are written in Python: see `opencl_queue`.
from pyopencl._cl import (
    _enqueue_fill_buffer,  # pyright: ignore[reportPrivateUsage]
    _enqueue_read_buffer,  # pyright: ignore[reportPrivateUsage]
    _enqueue_read_buffer_rect,  # pyright: ignore[reportPrivateUsage]
    _enqueue_write_buffer,  # pyright: ignore[reportPrivateUsage]
    _enqueue_write_buffer_rect,  # pyright: ignore[reportPrivateUsage]
)

from trilby.analysis.reach import KernelGraph
from trilby.backend.base import Argument, DeviceInfo, Executable, Memory, Ticket
from trilby.backend.failures import beyond, blamed, failed, foreign, freed, no_room
from trilby.backend.group_size import GroupLimits
from trilby.backend.opencl.opencl_drivers import Drivers, keep_all
from trilby.backend.opencl.opencl_launches import OpenCLKernel, OpenCLPrepared, build_kernel
from trilby.backend.opencl.opencl_queue import OpenCLQueue, explained
from trilby.backend.work_memory import NO_ARRAYS, WorkMemory, checked_by_driver, limited_by_stack
from trilby.codegen.cfamily import Generated
from trilby.codegen.opencl_c import generate
from trilby.data.ndrange import NDRange
from trilby.data.ranges import Rows
from trilby.data.segment import address_of
from trilby.dataclass import dataclass
from trilby.errors import BuildError
from trilby.stages import stage

KEPT_SHARE = 8
"""Of the memory of a device, one part in so many may be kept for later."""

_EXACT_BITS = 24
"""The pool rounds sizes up to numbers of so many digits: 16 MiB are exact, 4 GiB to 256 bytes."""

_WIDEST_NUMBER = 8
"""Memory of the host begins where any number may; wider things see to their own places."""

_PAUSE_SECONDS = 0.0002

_WRITE = _enqueue_write_buffer, _enqueue_write_buffer_rect
_READ = _enqueue_read_buffer, _enqueue_read_buffer_rect


@dataclass(slots=True, eq=False)
class OpenCLMemory:
    """A buffer of OpenCL, None once it is freed: drivers crash on released buffers."""

    nbytes: int
    context: cl.Context
    buffer: cl.MemoryObjectHolder | None


class OpenCLBackend:
    """One device with a context, three queues and a pool of memory of its own."""

    def __init__(self, cl_device: cl.Device, device: DeviceInfo) -> None:
        self.device = device
        self.context = cl.Context([cl_device])
        self.compute = OpenCLQueue(cl_device, self.context, device)
        self.upload_queue = OpenCLQueue(cl_device, self.context, device, self.compute)
        self.download_queue = OpenCLQueue(cl_device, self.context, device, self.compute)
        self._cl_device = cl_device
        self._memory_queue = cl.CommandQueue(self.context)
        allocator = tools.ImmediateAllocator(self._memory_queue, cl.mem_flags.READ_WRITE)
        self.pool = tools.MemoryPool(allocator, _EXACT_BITS)
        # Finalisers free at any moment, also inside of a method of this class.
        self._freed: dict[Memory, tuple[object, Sequence[Ticket]]] = {}
        """Freed memory with its buffer and the commands that may still use it, the oldest first."""

    def compile(self, graph: KernelGraph, *, fast_math: bool = False) -> Callable[[], OpenCLKernel]:
        """Nothing can be begun: all is done later."""
        return partial(self._compile, graph, fast_math=fast_math)

    def _compile(self, graph: KernelGraph, *, fast_math: bool) -> OpenCLKernel:
        arrays = checked_by_driver(graph, self.device, self._cl_device.local_mem_size)
        with stage("generate"):
            code = generate(graph, fuses=fast_math)
        try:
            with stage("build"):
                return self.build(code, arrays)
        except BuildError as error:
            raise blamed(error, graph) from error.__cause__

    def build(self, code: Generated, arrays: WorkMemory = NO_ARRAYS) -> OpenCLKernel:
        """Build a kernel of OpenCL C."""
        self.compute.check_open()
        program, kernel = build_kernel(self.context, self.device, code)
        about = cl.kernel_work_group_info.WORK_GROUP_SIZE
        items = kernel.get_work_group_info(about, self._cl_device)
        limits = GroupLimits(items, tuple(self._cl_device.max_work_item_sizes))
        return OpenCLKernel(
            self.context,
            program,
            code,
            limited_by_stack(limits, arrays, self.device),
            source=code.text,
            asserts=bool(code.asserts),
            prints="printf(" in code.text,
            spare=[kernel],
        )

    def allocate(self, nbytes: int) -> OpenCLMemory:
        """A buffer that kernels may read and write, and that no command uses."""
        self.compute.check_open()
        for _ in range(2):
            self._drop_unused()
            buffer = self._attempt(max(nbytes, 1))  # OpenCL has no buffer of no bytes
            if buffer is not None:
                return OpenCLMemory(nbytes, self.context, buffer)
            while self._freed:  # until what works on it has ended, well or badly
                time.sleep(_PAUSE_SECONDS)
                self._drop_unused()
            self.pool.free_held()
        raise no_room(self.device, nbytes, self.pool.active_bytes)

    def _attempt(self, size: int) -> cl.MemoryObjectHolder | None:
        """A buffer, or None where there is no room."""
        largest, all_bytes = self.device.buffer_bytes, self.device.memory_bytes
        # Drivers for CPUs give more than there is, and the system ends the process later.
        if size > largest or self.pool.managed_bytes + size > all_bytes:
            return None
        try:
            if self.pool.alloc_size(self.pool.bin_number(size)) > largest:
                return cl.Buffer(self.context, cl.mem_flags.READ_WRITE, size)
            buffer = self.pool.allocate(size)
            self._memory_queue.finish()  # the driver makes new memory there
        except cl.Error as error:
            if not error.what.is_out_of_memory():
                raise failed(self.device, f"allocating {size} bytes", error) from error
            return None
        return buffer

    def share(self, source: memoryview) -> OpenCLMemory | None:
        """The host's bytes, which a CPU's kernels read and write where they are."""
        self.compute.check_open()
        self._drop_unused()
        if source.readonly or not source.nbytes or "shared_memory" not in self.device.features:
            return None
        if address_of(np.frombuffer(source, np.uint8)) % _WIDEST_NUMBER:
            return None
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
        with explained(self.device, f"sharing {source.nbytes} bytes"):
            buffer = cl.Buffer(self.context, flags, hostbuf=source)  # which keeps them alive
        return OpenCLMemory(source.nbytes, self.context, buffer)

    def free(self, memory: Memory, after: Sequence[Ticket] = ()) -> None:
        """Keep a buffer for later; also after `close`, when it is released."""
        self.compute.moment += 1
        if Drivers.are_lost:
            return
        self._freed[memory] = self.buffer_of(memory), after
        cast("OpenCLMemory", memory).buffer = None  # after it is noted: Ctrl-C loses nothing
        self._drop_unused()

    def _drop_unused(self) -> None:
        """Give buffers back to the pool, or to the host, as long as no command uses the oldest."""
        for memory in list(self._freed):
            if not all(ticket.done for ticket in self._freed.get(memory, (None, ()))[1]):
                break
            self._freed.pop(memory, None)
        if (
            self.pool.managed_bytes - self.pool.active_bytes
            > self.device.memory_bytes // KEPT_SHARE
        ):
            self.pool.free_held()

    def buffer_of(self, memory: Memory) -> cl.MemoryObjectHolder:
        """The buffer behind memory that was allocated here and not freed."""
        if not isinstance(memory, OpenCLMemory) or memory.context is not self.context:
            raise foreign(self.device, memory)
        if memory.buffer is None:
            raise freed(self.device, memory.nbytes)
        return memory.buffer

    def upload(
        self,
        memory: Memory,
        offset: int,
        source: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        """Copy host bytes to `offset` in a buffer."""
        place = memory, offset, source
        return self._copy(self.upload_queue, "copying to the device", _WRITE, place, after, rows)

    def download(
        self,
        memory: Memory,
        offset: int,
        target: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        """Copy bytes of a buffer from `offset` to the host."""
        place = memory, offset, target
        return self._copy(self.download_queue, "copying to the host", _READ, place, after, rows)

    def _copy(
        self,
        queue: OpenCLQueue,
        what: str,
        commands: tuple[Callable[..., cl.Event], Callable[..., cl.Event]],
        place: tuple[Memory, int, memoryview],
        after: Sequence[Ticket],
        rows: Rows | None,
    ) -> Ticket:
        """Copy to or from the host: all bytes of a stretch, or rows of it."""
        whole, by_rows = (partial(command, is_blocking=False) for command in commands)
        memory, offset, host = place
        buffer = self._span(memory, offset, host.nbytes)
        if not host.nbytes:
            return Ticket(queue, queue.submitted)
        if rows is None:
            return queue.submit(what, after, whole, buffer, host, offset)
        region = rows.size, len(rows.starts(host.nbytes)), 1
        corners, pitches = ((offset, 0, 0), (0, 0, 0)), ((rows.pitch, 0), (rows.pitch, 0))
        return queue.submit(what, after, by_rows, buffer, host, *corners, region, *pitches)

    def fill(
        self, memory: Memory, offset: int, nbytes: int, byte: int, after: Sequence[Ticket] = ()
    ) -> Ticket:
        """Set every byte of a range."""
        buffer, queue = self._span(memory, offset, nbytes), self.upload_queue
        if not nbytes:
            return Ticket(queue, queue.submitted)
        place = buffer, bytes((byte,)), offset, nbytes
        return queue.submit("filling memory", after, _enqueue_fill_buffer, *place)

    def _span(self, memory: Memory, offset: int, nbytes: int) -> cl.MemoryObjectHolder:
        self.compute.check_open()
        buffer = self.buffer_of(memory)
        if offset < 0 or nbytes < 0 or offset + nbytes > memory.nbytes:
            raise beyond(self.device, offset, nbytes, memory.nbytes)
        return buffer

    def prepare(
        self, executable: Executable, size: NDRange, arguments: Sequence[Argument]
    ) -> OpenCLPrepared:
        """Decide on groups, in which the range is rounded up, and set the arguments."""
        self.compute.check_open()
        if not isinstance(executable, OpenCLKernel) or executable.context is not self.context:
            raise foreign(self.device, executable)
        return OpenCLPrepared(self.buffer_of, self.compute, executable, size, arguments)

    def close(self) -> None:
        """Wait for everything and give the device back; closing twice is no error."""
        if not self.compute.is_open or Drivers.are_lost:
            return
        self.compute.is_open = False
        self.compute.moment += 1
        if self.compute.given_up:
            keep_all()
            return
        for queue in (self.compute, self.upload_queue, self.download_queue):
            queue.finish()
        self._freed.clear()
        self.pool.stop_holding()

"""One OpenCL device that was opened: its memory, copies, kernels as OpenCL C, and launches.

What fails is said in our own errors: no error of OpenCL passes through, and no failure of a device
takes the process with it.

Most of the time of a loop that allocates, copies and frees goes into allocating: the pages of new
memory are made at the first touch. So buffers come from a pool of pyopencl, which takes a buffer
back when Python drops it. Memory that is freed while commands work on it is dropped only when they
are done, because a command of its next owner could overtake them.

A kernel object of OpenCL carries the arguments of its launches, and making one takes as long
as a hundred launches. So every prepared launch has one to itself and, when it is dropped,
leaves it to the next.
"""

import ctypes
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import cache, partial
from itertools import chain, islice, repeat
from operator import length_hint
from typing import Any, cast

import numpy as np
import pyopencl as cl
from pyopencl import tools

# `cl.Program.build` sends what compilers say through Python's warnings, which only a filter for the
# whole process could stop. `cl.enqueue_copy` and others are written in Python: see `opencl_queue`.
from pyopencl._cl import (
    _enqueue_fill_buffer,  # pyright: ignore[reportPrivateUsage]
    _enqueue_read_buffer,  # pyright: ignore[reportPrivateUsage]
    _enqueue_read_buffer_rect,  # pyright: ignore[reportPrivateUsage]
    _enqueue_write_buffer,  # pyright: ignore[reportPrivateUsage]
    _enqueue_write_buffer_rect,  # pyright: ignore[reportPrivateUsage]
    _Program,  # pyright: ignore[reportPrivateUsage]
)

from trilby.analysis.reach import KernelGraph
from trilby.backend import failures
from trilby.backend.background import BackgroundCall
from trilby.backend.base import (
    Argument,
    DeviceInfo,
    Executable,
    Memory,
    Scalar,
    StructArgument,
    Ticket,
)
from trilby.backend.group_size import GroupLimits, group_size, rounded_up
from trilby.backend.opencl.opencl_drivers import Drivers, keep_all
from trilby.backend.opencl.opencl_queue import ALL_NUMBERS, OpenCLQueue, explained, wait_until_over
from trilby.backend.work_memory import NO_ARRAYS, WorkMemory, checked_by_driver, limited_by_stack
from trilby.codegen.cfamily import Generated
from trilby.codegen.identifiers import OWN
from trilby.codegen.opencl_c import generate
from trilby.data.ndrange import NDRange
from trilby.data.ranges import Rows
from trilby.data.segment import address_of
from trilby.dataclass import dataclass
from trilby.errors import BuildError, TrilbyError
from trilby.locks import new_rlock
from trilby.messages import tell
from trilby.stages import stage

KEPT_SHARE = 8
"""Of the memory of a device, one part in so many may be kept for later."""
_EXACT_BITS = 24
"""The pool rounds sizes up to numbers of so many digits: 16 MiB are exact, 4 GiB to 256 bytes."""
HURRY = 32
"""After so many launches the driver is told to begin them; a wait tells it earlier."""
REBUILDS = 3
"""How often a program without its kernel is built again, each time as another program."""

# Nothing loosens the meaning of floats. Warnings would be about code that nobody wrote by hand.
_BUILD_OPTIONS = b"-cl-std=CL1.2 -w"
_WARNING = new_rlock()
"""The filters of warnings are those of all threads: one changes them at a time."""
_NO_SUCH_KERNEL = cast("int", cl.status_code.INVALID_KERNEL_NAME)


@dataclass(slots=True, eq=False)
class OpenCLMemory:
    """A buffer of OpenCL, None once it is freed: drivers crash on released buffers."""

    nbytes: int
    context: cl.Context
    buffer: cl.Buffer | None


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
        backend: "OpenCLBackend",
        executable: OpenCLKernel,
        size: NDRange,
        arguments: Sequence[Argument],
    ) -> None:
        self.executable = executable
        self._backend = backend
        self._queue = backend.compute
        self._extend = backend.compute.events.extend
        self._numbers = backend.compute.numbers
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
        code = executable.code
        expected = self.kernel.num_args - len(size.padded) - code.takes_pass - bool(code.asserts)
        if len(arguments) != expected:  # those of the launch before would be used
            raise failures.wrong_count(code.entry, expected, len(arguments))
        # `set_arg` takes 9 µs to find out that these are bytes, and this 0.2.
        setter = self.kernel._set_arg_buf  # noqa: SLF001  # pyright: ignore -- not in its stubs
        self._set_bytes = cast("Callable[[int, Any], None]", setter)
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
                number = ALL_NUMBERS - 1 - length_hint(self._numbers)
        except cl.Error as error:
            raise failures.failed(queue.device, self._what, error) from error
        if not number % HURRY:
            queue.keep_going()
        elif len(queue.events) == 1:
            queue.flush()
        return Ticket(queue, number)

    def _submit_checked(self, times: int, first_pass: int, after: Sequence[Ticket]) -> Ticket:
        queue, executable, code = self._queue, self.executable, self.executable.code
        moment = queue.moment
        queue.check_open()
        for memory in self._memories.values():  # OpenCL does not keep it for a kernel object
            self._backend.buffer_of(memory)
        if executable.prints and sys.stdout is not None:
            sys.stdout.flush()  # what the host printed comes first
        waits = queue.wait_list(after)
        runs: Iterable[Any] = self._runs
        is_new = self._local not in executable.launched  # then the driver may compile
        executable.launched.add(self._local)
        if is_new or code.asserts:
            find = self._give_report() if code.asserts else None
            finds = chain(repeat(None, times - 1), (find,))
            runs = zip(runs, finds, repeat(self._name if is_new else ""), repeat(waits or ()))
        settings: Iterable[None] = repeat(None)
        if code.takes_pass:
            passes = np.arange(first_pass, first_pass + times, dtype=np.int32)
            settings = map(partial(self._set_bytes, self._pass_position), passes)
        with explained(queue.device, self._what), queue.lock:
            place = queue.driver_queue, self.kernel, self._whole, self._local, None
            enqueue = partial(cl.enqueue_nd_range_kernel, *place)
            enqueued = map(enqueue, chain((waits,), repeat(None, times - 1)))
            self._extend(zip(settings, enqueued, queue.numbers, runs, strict=False))
            number = queue.submitted
            self._steps = zip(map(enqueue, repeat(None)), queue.numbers, self._runs, strict=False)
        self._checked = -1 if code.asserts or executable.prints or code.takes_pass else moment
        queue.keep_going()
        return Ticket(queue, number)

    def _give_report(self) -> Callable[[], TrilbyError | None]:
        """Give the kernel four zeros for its assertions; the result finds there what failed."""
        code, queue = self.executable.code, self._queue
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        with explained(queue.device, self._what):
            report = cl.Buffer(queue.context, flags, hostbuf=np.zeros(4, np.int32))
            self.kernel.set_arg(self._pass_position + code.takes_pass, report)
        return partial(queue.failed_assertion, report, code.asserts)

    def replace(self, position: int, argument: Argument) -> None:
        """Set another argument for the runs to come; OpenCL has read those of the others."""
        try:
            if isinstance(argument, Scalar):
                self._set_bytes(position, np.array(argument.value, argument.type.numpy))
            elif isinstance(argument, StructArgument):
                self._set_bytes(position, argument.content)
            else:
                self.kernel.set_arg(position, self._backend.buffer_of(argument))
                self._memories[position] = argument
        except cl.Error as error:
            raise failures.failed(self._queue.device, self._what, error) from error

    def __del__(self) -> None:
        if hasattr(self, "kernel"):
            self.executable.spare.append(self.kernel)


class OpenCLBackend:
    """One device with a context, three queues and a pool of memory of its own."""

    def __init__(self, cl_device: cl.Device, device: DeviceInfo) -> None:
        self.device = device
        self.context = cl.Context([cl_device])
        self.compute = OpenCLQueue(self.context, device)
        self.upload_queue = OpenCLQueue(self.context, device, self.compute)
        self.download_queue = OpenCLQueue(self.context, device, self.compute)
        self._cl_device = cl_device
        # Any other allocator has the driver write to new memory, behind kernels that run for long.
        allocator = tools.DeferredAllocator(self.context, cl.mem_flags.READ_WRITE)
        # It warns that a driver may say late that it has no room.
        with _WARNING, warnings.catch_warnings(action="ignore"):
            self.pool = tools.MemoryPool(allocator, _EXACT_BITS)
        self._pooled: set[Memory] = set()
        """Memory that is not freed: where Ctrl-C comes before that, its buffer must not go back to
        the pool while commands use it."""
        self._unpooled: set[Memory] = set()
        """The same for memory as large as a buffer may be, which the pool would make larger."""
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
            raise failures.blamed(error, graph) from error.__cause__

    def build(
        self, code: Generated, arrays: WorkMemory = NO_ARRAYS, rebuilds: int = REBUILDS
    ) -> OpenCLKernel:
        """Build a kernel of OpenCL C; build past entries of the driver's cache that lack it.

        A build that Ctrl-C came before goes on in its thread, and nobody hears of its result.
        """
        self.compute.check_open()
        name = code.entry.removeprefix(OWN)
        program = _Program(self.context, code.text)
        work = partial(program._build, _BUILD_OPTIONS, [self._cl_device])  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] -- see the import
        build = BackgroundCall(work, daemon=True)
        wait_until_over(build.is_alive, cache(partial(self.compute.tell_slow, name)))
        try:
            build()
        except cl.Error as error:
            log = program.get_build_info(self._cl_device, cl.program_build_info.LOG)
            raise failures.refused_code(self.device, name, code.text, str(log or error)) from error
        try:
            kernel = cl.Kernel(program, code.entry)
        except cl.Error as error:
            if error.code != _NO_SUCH_KERNEL or not rebuilds:
                raise failures.not_prepared(self.device, name, error) from error
            tell("info", "the driver's cache of `%s` is damaged: it is built again", name)
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(program))  # PoCL aborts at its release
            difference = f"\ntypedef int trilby_built_again_{rebuilds};\n"  # a comment is none
            return self.build(replace(code, text=code.text + difference), arrays, rebuilds - 1)
        about = cl.kernel_work_group_info.WORK_GROUP_SIZE
        items = kernel.get_work_group_info(about, self._cl_device)
        limits = GroupLimits(items, tuple(self._cl_device.max_work_item_sizes))
        limits = limited_by_stack(limits, arrays, self.device)
        source, has = code.text, (bool(code.asserts), "printf(" in code.text)
        return OpenCLKernel(self.context, program, code, limits, source, *has, [kernel])

    def allocate(self, nbytes: int) -> OpenCLMemory:
        """A buffer that kernels may read and write, and that no command uses."""
        self.compute.check_open()
        size = max(nbytes, 1)  # OpenCL has no buffer of no bytes
        largest, pool = self.device.buffer_bytes, self.pool
        for _ in range(2):
            self._drop_unused()
            # Drivers for CPUs give more than there is, and the system ends the process later.
            if size <= min(largest, self.device.memory_bytes - self._held_bytes()):
                with explained(self.device, f"allocating {nbytes} bytes"), suppress(cl.MemoryError):
                    has_bin = pool.alloc_size(pool.bin_number(size)) <= largest
                    new = partial(cl.Buffer, self.context, cl.mem_flags.READ_WRITE)
                    buffer = cast("cl.Buffer", pool.allocate(size) if has_bin else new(size))
                    memory = OpenCLMemory(nbytes, self.context, buffer)
                    (self._pooled if has_bin else self._unpooled).add(memory)
                    return memory
            while self._freed:  # until what works on it has ended, well or badly
                time.sleep(0.0002)
                self._drop_unused()
            pool.free_held()
        raise failures.no_room(self.device, nbytes, self._held_bytes())

    def _held_bytes(self) -> int:
        """The size of all buffers that the driver made, also of those that are kept for later."""
        unpooled = sum(one.nbytes for one in tuple(self._unpooled))  # others end at any moment
        return self.pool.managed_bytes + unpooled

    def share(self, source: memoryview) -> OpenCLMemory | None:
        """The host's bytes, which a CPU's kernels read and write where they are."""
        self.compute.check_open()
        self._drop_unused()
        if source.readonly or not source.nbytes or "shared_memory" not in self.device.features:
            return None
        if address_of(np.frombuffer(source, np.uint8)) % 8:  # the widest number that kernels read
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
            self._pooled.discard(memory)
            self._unpooled.discard(memory)
            self._freed.pop(memory, None)
        kept = self.pool.managed_bytes - self.pool.active_bytes
        if kept > self.device.memory_bytes // KEPT_SHARE:
            self.pool.free_held()

    def buffer_of(self, memory: Memory) -> cl.Buffer:
        """The buffer behind memory that was allocated here and not freed."""
        if not isinstance(memory, OpenCLMemory) or memory.context is not self.context:
            raise failures.foreign(self.device, memory)
        if memory.buffer is None:
            raise failures.freed(self.device, memory.nbytes)
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
        write = _enqueue_write_buffer_rect if rows else _enqueue_write_buffer
        command, place = (
            partial(write, is_blocking=False),
            self._place(memory, offset, source, rows),
        )
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
        read = _enqueue_read_buffer_rect if rows else _enqueue_read_buffer
        command, place = partial(read, is_blocking=False), self._place(memory, offset, target, rows)
        return self.download_queue.submit(
            "copying to the host", after, command, target.nbytes, *place
        )

    def fill(
        self,
        memory: Memory,
        offset: int,
        nbytes: int,
        byte: int,
        after: Sequence[Ticket] = (),
    ) -> Ticket:
        """Set every byte of a range."""
        place = self._span(memory, offset, nbytes), bytes((byte,)), offset, nbytes
        return self.upload_queue.submit(
            "filling memory", after, _enqueue_fill_buffer, nbytes, *place
        )

    def _place(
        self, memory: Memory, offset: int, host: memoryview, rows: Rows | None
    ) -> tuple[Any, ...]:
        """What OpenCL takes for a copy: buffer, host, and an offset or the rows of a rectangle."""
        buffer = self._span(memory, offset, host.nbytes)
        if rows is None:
            return buffer, host, offset
        region = rows.size, len(rows.starts(host.nbytes)), 1
        return buffer, host, (offset, 0, 0), (0, 0, 0), region, (rows.pitch, 0), (rows.pitch, 0)

    def _span(self, memory: Memory, offset: int, nbytes: int) -> cl.Buffer:
        self.compute.check_open()
        buffer = self.buffer_of(memory)
        if offset < 0 or nbytes < 0 or offset + nbytes > memory.nbytes:
            raise failures.beyond(self.device, offset, nbytes, memory.nbytes)
        return buffer

    def prepare(
        self, executable: Executable, size: NDRange, arguments: Sequence[Argument]
    ) -> OpenCLPrepared:
        """Decide on groups, in which the range is rounded up, and set the arguments."""
        self.compute.check_open()
        if not isinstance(executable, OpenCLKernel) or executable.context is not self.context:
            raise failures.foreign(self.device, executable)
        return OpenCLPrepared(self, executable, size, arguments)

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
        for memories in (self._freed, self._pooled, self._unpooled):
            memories.clear()
        self.pool.stop_holding()

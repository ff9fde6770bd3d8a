"""The interpreter as a device. Everything is done when a method returns."""

import math
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from trilby.analysis.reach import KernelGraph
from trilby.backend.base import (
    Argument,
    DeviceInfo,
    Executable,
    Memory,
    Scalar,
    StructArgument,
    Ticket,
)
from trilby.backend.failures import closed, foreign, freed, no_room
from trilby.backend.group_size import GroupLimits, group_size
from trilby.backend.immediate import ImmediateQueue
from trilby.backend.interpreter.execute import execute
from trilby.backend.interpreter.kernel_arguments import POISON, InterpreterMemory, bind
from trilby.backend.interpreter.translate import KernelProgram, translate
from trilby.backend.work_memory import checked
from trilby.data.ndrange import MAX_DIMENSIONS, NDRange
from trilby.data.ranges import Rows
from trilby.dataclass import dataclass
from trilby.errors import DeviceError, DeviceUnavailableError
from trilby.mending import mend
from trilby.stages import stage

MAX_GROUP_ITEMS = 4096
_MOST_FOR_ARRAYS = 1 << 30
"""The most bytes of local and private arrays, which are made and filled for every launch."""

LIMITS = GroupLimits(MAX_GROUP_ITEMS, (MAX_GROUP_ITEMS,) * MAX_DIMENSIONS)


@dataclass(slots=True, eq=False)
class InterpreterPrepared:
    """A kernel with a range, its groups and its arguments."""

    owner: "InterpreterBackend"
    program: KernelProgram
    size: NDRange
    local: tuple[int, ...]
    arguments: list[Argument]
    begun: int = 0

    def submit(self, times: int = 1, first_pass: int = 0, after: Sequence[Ticket] = ()) -> Ticket:
        """Run the kernel. An error in it is raised here, naming the work item and the line.

        A run that is left by an error or by Ctrl-C leaves device memory as it was before.
        """
        queue = self.owner.compute
        for number in range(first_pass, first_pass + times):
            queue.run(partial(self.run_once, number), after)
        return Ticket(queue, queue.submitted)

    def run_once(self, number: int) -> None:
        """Run one pass, and count it."""
        bound = bind(self.program.entry, [self.owner.checked(a) for a in self.arguments])
        memories = {a for a in self.arguments if isinstance(a, InterpreterMemory)}
        before = [(memory, bytes(memory.span(0, memory.nbytes))) for memory in memories]
        begun = self.begun + 1
        try:
            execute(self.program, self.size, self.local, bound, number)
            self.begun = begun
        except BaseException:
            if self.begun != begun:
                mend(_restore, before)
            raise

    def replace(self, position: int, argument: Argument) -> None:
        """Set another argument for the runs to come."""
        self.arguments[position] = argument


def _restore(contents: list[tuple[InterpreterMemory, bytes]]) -> None:
    for memory, content in contents:
        memory.span(0, memory.nbytes)[:] = content


class InterpreterBackend:
    """Runs kernels work item by work item and checks every index."""

    def __init__(self, device: DeviceInfo) -> None:
        self.device = device
        self.compute = self.upload_queue = self.download_queue = ImmediateQueue()
        self._is_open = True

    def compile(
        self, graph: KernelGraph, *, fast_math: bool = False
    ) -> Callable[[], KernelProgram]:
        """Translate a kernel to Python; the definition rounds twice, whatever is allowed."""
        return partial(self._translated, graph)

    def _translated(self, graph: KernelGraph) -> KernelProgram:
        self._check_open()
        arrays = checked(graph, self.device)
        with stage("generate"):
            return replace(translate(graph), arrays=arrays)

    def allocate(self, nbytes: int) -> InterpreterMemory:
        """Bytes with a content that does not look like zeros."""
        self._check_open()
        if nbytes < 0:
            raise DeviceError(f"cannot allocate {nbytes} bytes")
        # Filling more than there is would not fail here but take the machine down.
        if nbytes > (self.device.memory_bytes or nbytes):
            raise no_room(self.device, nbytes)
        return InterpreterMemory(nbytes, self, bytearray([POISON]) * nbytes)

    def share(self, source: memoryview) -> None:
        """Never: its memory is its own, so that a copy that is missing shows."""

    def free(self, memory: Memory, after: Sequence[Ticket] = ()) -> None:
        """Give memory back; using it afterwards is an error."""
        self._own(memory).content = None

    def upload(
        self,
        memory: Memory,
        offset: int,
        source: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        """Copy host bytes to the device."""
        self._check_open()
        target = self._own(memory).span(offset, source.nbytes)
        return self.upload_queue.run(partial(_copy, source, target, rows), after)

    def download(
        self,
        memory: Memory,
        offset: int,
        target: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        """Copy device bytes to the host."""
        self._check_open()
        source = self._own(memory).span(offset, target.nbytes)
        return self.download_queue.run(partial(_copy, source, target, rows), after)

    def fill(
        self, memory: Memory, offset: int, nbytes: int, byte: int, after: Sequence[Ticket] = ()
    ) -> Ticket:
        """Set every byte of a range."""
        self._check_open()
        source = memoryview(bytes([byte]) * nbytes)
        target = self._own(memory).span(offset, nbytes)
        return self.upload_queue.run(partial(_copy, source, target, None), after)

    def prepare(
        self, executable: Executable, size: NDRange, arguments: Sequence[Argument]
    ) -> InterpreterPrepared:
        """Decide on groups; the arguments are checked here and at each run."""
        self._check_open()
        if not isinstance(executable, KernelProgram):
            raise foreign(self.device, executable)
        for argument in arguments:
            self.checked(argument)
        local = group_size(size, LIMITS)
        self._check_arrays(executable, local)
        return InterpreterPrepared(self, executable, size, local, list(arguments))

    def _check_arrays(self, program: KernelProgram, local: tuple[int, ...]) -> None:
        """Raise where the arrays of a group are more than the interpreter makes."""
        arrays = program.arrays
        items = math.prod(local) if program.waits else 1
        needed = arrays.local + items * arrays.private
        if needed > _MOST_FOR_ARRAYS:
            needs = f"{items} work items that run at once need {needed:,}"
            raise arrays.no_room(self.device, needs, _MOST_FOR_ARRAYS)

    def checked(self, argument: Argument) -> InterpreterMemory | Scalar | StructArgument:
        """An argument that may be used: its memory was made here, and not freed."""
        self._check_open()
        if isinstance(argument, Scalar | StructArgument):
            return argument
        return self._own(argument)

    def close(self) -> None:
        """Nothing is under way; from now on only `free` may be called."""
        self._is_open = False

    def _check_open(self) -> None:
        if not self._is_open:
            raise closed(self.device)

    def _own(self, memory: Memory) -> InterpreterMemory:
        if not isinstance(memory, InterpreterMemory) or memory.owner is not self:
            raise foreign(self.device, memory)
        if memory.content is None:
            raise freed(self.device, memory.nbytes)
        return memory


class InterpreterFamily:
    """The interpreter, which is everywhere and has one device."""

    __slots__ = ()
    name = "interpreter"

    def devices(self) -> Sequence[DeviceInfo]:
        """The one device."""
        return (_device(),)

    def open(self, index: int) -> InterpreterBackend:
        """A device with memory of its own."""
        if index != 0:
            raise DeviceUnavailableError(
                f"there is one interpreter, and no `interpreter:{index}`",
                advice="use `interpreter`",
            )
        return InterpreterBackend(_device())


def _device() -> DeviceInfo:
    return DeviceInfo(
        backend="interpreter",
        index=0,
        name="Python interpreter",
        kind="software",
        vendor="Trilby",
        driver=f"{platform.python_implementation()} {platform.python_version()}",
        memory_bytes=_host_memory(),
        compute_units=1,
        max_group_items=MAX_GROUP_ITEMS,
        features=frozenset({"f64", "f16", "i64_atomics"}),
        clock="host",
    )


def _host_memory() -> int:
    """What the machine has, or 0 where the system does not tell."""
    if not hasattr(os, "sysconf"):
        return 0
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _copy(source: memoryview, target: memoryview, rows: Rows | None) -> None:
    """Copy bytes, or the rows of them."""
    if not source.nbytes:
        return
    source, target = source.cast("B"), target.cast("B")
    size = rows.size if rows else source.nbytes
    for start in rows.starts(source.nbytes) if rows else (0,):
        target[start : start + size] = source[start : start + size]

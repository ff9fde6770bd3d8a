"""The interpreter as a device. Everything is done when a method returns."""

import math
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from trilby.analysis.reach import KernelGraph
from trilby.backend.base import (
    Argument,
    DeviceInfo,
    Event,
    Executable,
    Memory,
    Prepared,
    Rows,
    Scalar,
    StructArgument,
)
from trilby.backend.done import DoneEvent
from trilby.backend.failures import closed, foreign, freed, no_room, not_shared
from trilby.backend.group_size import GroupLimits, group_size
from trilby.backend.interpreter.execute import execute
from trilby.backend.interpreter.kernel_arguments import POISON, InterpreterMemory, bind
from trilby.backend.interpreter.translate import KernelProgram, translate
from trilby.backend.run_again import PassByPass, RunAgain
from trilby.backend.work_memory import checked
from trilby.data.ndrange import MAX_DIMENSIONS, NDRange
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
    """A kernel with a range, its groups, its arguments and the number of its pass."""

    program: KernelProgram
    size: NDRange
    local: tuple[int, ...]
    arguments: list[Argument]
    pass_id: int = 0
    latest: Event | None = None

    def replace(self, position: int, argument: Argument) -> None:
        """Set another argument for the runs to come."""
        self.arguments[position] = argument


def _contents(prepared: InterpreterPrepared) -> list[tuple[InterpreterMemory, bytes]]:
    """What the memory of a launch has."""
    memories = {a for a in prepared.arguments if isinstance(a, InterpreterMemory)}
    return [(memory, bytes(memory.span(0, memory.nbytes))) for memory in memories]


def _restore(contents: list[tuple[InterpreterMemory, bytes]]) -> None:
    for memory, content in contents:
        memory.span(0, memory.nbytes)[:] = content


class InterpreterBackend:
    """Runs kernels work item by work item and checks every index.

    An error in a kernel is raised by `run` itself, and so is Ctrl-C. Both leave device memory as
    it was before the run.
    """

    def __init__(self, device: DeviceInfo) -> None:
        self.device = device
        self._is_open = True

    def compile(self, graph: KernelGraph, *, fast_math: bool = False) -> KernelProgram:
        """Translate a kernel to Python; the definition rounds twice, whatever is allowed."""
        self._check_open()
        arrays = checked(graph, self.device)
        with stage("generate"):
            return replace(translate(graph), arrays=arrays)

    def begin_compile(
        self, graph: KernelGraph, *, fast_math: bool = False
    ) -> Callable[[], KernelProgram]:
        """Nothing can be begun: all is done later."""
        return partial(self.compile, graph, fast_math=fast_math)

    def allocate(self, nbytes: int) -> InterpreterMemory:
        """Bytes with a content that does not look like zeros."""
        self._check_open()
        if nbytes < 0:
            raise DeviceError(f"cannot allocate {nbytes} bytes")
        # Filling more than there is would not fail here but take the machine down.
        if nbytes > (self.device.memory_bytes or nbytes):
            raise no_room(self.device, nbytes)
        return InterpreterMemory(nbytes, self, bytearray([POISON]) * nbytes)

    def can_share(self, address: int, nbytes: int) -> bool:
        """Never: its memory is its own, so that a copy that is missing shows."""
        return False

    def share(self, source: memoryview) -> InterpreterMemory:
        """Refused."""
        raise not_shared(self.device, source.nbytes)

    def free(self, memory: Memory, after: Sequence[Event] = ()) -> None:
        """Give memory back; using it afterwards is an error."""
        self._own(memory).content = None

    def trim(self) -> None:
        """Nothing is kept."""

    def upload(
        self,
        memory: Memory,
        offset: int,
        source: memoryview,
        after: Sequence[Event] = (),
        rows: Rows | None = None,
    ) -> DoneEvent:
        """Copy host bytes to the device."""
        started = self._begin(after)
        _copy(source, self._own(memory).span(offset, source.nbytes), rows)
        return DoneEvent.since(started)

    def download(
        self,
        memory: Memory,
        offset: int,
        target: memoryview,
        after: Sequence[Event] = (),
        rows: Rows | None = None,
    ) -> DoneEvent:
        """Copy device bytes to the host."""
        started = self._begin(after)
        _copy(self._own(memory).span(offset, target.nbytes), target, rows)
        return DoneEvent.since(started)

    def fill(
        self, memory: Memory, offset: int, nbytes: int, byte: int, after: Sequence[Event] = ()
    ) -> DoneEvent:
        """Set every byte of a range."""
        started = self._begin(after)
        self._own(memory).span(offset, nbytes)[:] = bytes([byte]) * nbytes
        return DoneEvent.since(started)

    def prepare(
        self, executable: Executable, size: NDRange, arguments: Sequence[Argument]
    ) -> InterpreterPrepared:
        """Decide on groups; the arguments are checked here and at each run."""
        self._check_open()
        if not isinstance(executable, KernelProgram):
            raise foreign(self.device, executable)
        for argument in arguments:
            self._checked(argument)
        local = group_size(size, LIMITS)
        self._check_arrays(executable, local)
        return InterpreterPrepared(executable, size, local, list(arguments))

    def _check_arrays(self, program: KernelProgram, local: tuple[int, ...]) -> None:
        """Raise where the arrays of a group are more than the interpreter makes."""
        arrays = program.arrays
        items = math.prod(local) if program.waits else 1
        needed = arrays.local + items * arrays.private
        if needed > _MOST_FOR_ARRAYS:
            needs = f"{items} work items that run at once need {needed:,}"
            raise arrays.no_room(self.device, needs, _MOST_FOR_ARRAYS)

    def run(self, prepared: Prepared, after: Sequence[Event] = ()) -> DoneEvent:
        """Run a kernel; an error in it is raised here, naming the work item and the line."""
        started = self._begin(after)
        if not isinstance(prepared, InterpreterPrepared):
            raise foreign(self.device, prepared)
        bound = bind(prepared.program.entry, [self._checked(a) for a in prepared.arguments])
        before = _contents(prepared)
        try:
            execute(prepared.program, prepared.size, prepared.local, bound, prepared.pass_id)
            event = prepared.latest = DoneEvent.since(started)
        except BaseException:
            mend(_restore, before)
            raise
        return event

    def repeated(self, prepared: Prepared) -> RunAgain:
        """Run the same launch."""
        return RunAgain(self.run, prepared)

    def passes(self, prepared: Prepared) -> PassByPass:
        """Run one pass after another. What one that fails has written is taken back."""
        if not isinstance(prepared, InterpreterPrepared):
            raise foreign(self.device, prepared)

        def run(number: int, after: Sequence[Event]) -> Event:
            before = _contents(prepared)
            try:
                return self.run(replace(prepared, pass_id=number), after)
            except BaseException:
                mend(_restore, before)
                raise

        return PassByPass(run, prepared)

    def flush(self) -> None:
        """All is done already."""

    def all_begun(self) -> DoneEvent:
        """All is done already."""
        return DoneEvent()

    def _checked(self, argument: Argument) -> InterpreterMemory | Scalar | StructArgument:
        if isinstance(argument, Scalar | StructArgument):
            return argument
        return self._own(argument)

    def close(self) -> None:
        """Nothing is under way; from now on only `free` may be called."""
        self._is_open = False

    def _begin(self, after: Sequence[Event]) -> float:
        """Wait for what comes before; gives the time at which the work begins."""
        self._check_open()
        for event in after:
            event.wait()
        return time.perf_counter()

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

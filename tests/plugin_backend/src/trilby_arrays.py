"""A small, complete backend: kernels run as Python, and device memory is NumPy arrays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

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
from trilby.backend.failures import foreign, no_room
from trilby.backend.group_size import GroupLimits, group_size
from trilby.backend.immediate import ImmediateQueue
from trilby.backend.interpreter.execute import execute
from trilby.backend.interpreter.kernel_arguments import bind
from trilby.backend.interpreter.translate import KernelProgram, translate
from trilby.backend.work_memory import checked
from trilby.data.ndrange import NDRange
from trilby.data.ranges import Rows
from trilby.errors import DeviceUnavailableError
from trilby.mending import mend

DEVICE = DeviceInfo(
    backend="arrays",
    index=0,
    name="NumPy arrays",
    kind="software",
    vendor="Example",
    driver="1.0",
    memory_bytes=1 << 30,
    compute_units=1,
    max_group_items=1024,
    features=frozenset({"f64", "f16", "i64_atomics", "shared_memory"}),
    clock="host",
)
LIMITS = GroupLimits(items=1024, axes=(1024, 1024, 1024))

Bytes: TypeAlias = npt.NDArray[np.uint8]


@dataclass(eq=False)
class ArrayMemory:
    """Device memory: an array of bytes."""

    array: Bytes

    @property
    def nbytes(self) -> int:
        return self.array.nbytes

    @property
    def bytes(self) -> memoryview:
        """What the generated Python reads and writes."""
        return self.array.data


def restore(arrays: list[Bytes], before: list[Bytes]) -> None:
    for array, content in zip(arrays, before, strict=True):
        array[:] = content


@dataclass(eq=False)
class ArrayLaunch:
    """A launch that was prepared: it can be submitted any number of times."""

    queue: ImmediateQueue
    program: KernelProgram
    size: NDRange
    group: tuple[int, ...]
    arguments: list[ArrayMemory | Scalar | StructArgument]
    begun: int = 0

    def submit(self, times: int = 1, first_pass: int = 0, after: Sequence[Ticket] = ()) -> Ticket:
        for pass_id in range(first_pass, first_pass + times):
            self.queue.run(partial(self.run_once, pass_id), after)
        return Ticket(self.queue, self.queue.submitted)

    def run_once(self, pass_id: int) -> None:
        """Run all work items and count the run; or leave everything as it was."""
        arrays = [one.array for one in self.arguments if isinstance(one, ArrayMemory)]
        before = [array.copy() for array in arrays]
        counted = self.begun + 1
        try:
            bound = bind(self.program.entry, self.arguments)
            execute(self.program, self.size, self.group, bound, pass_id)
            self.begun = counted
        except BaseException:
            if self.begun != counted:
                mend(restore, arrays, before)
            raise

    def replace(self, position: int, argument: Argument) -> None:
        self.arguments[position] = own(argument)


class ArrayBackend:
    """The opened device. One queue serves launches and copies, and runs each command at once."""

    def __init__(self) -> None:
        self.device = DEVICE
        self.compute = self.upload_queue = self.download_queue = ImmediateQueue()

    def compile(
        self, graph: KernelGraph, *, fast_math: bool = False
    ) -> Callable[[], KernelProgram]:
        checked(graph, DEVICE)  # raises if the kernel's private and local arrays are too large
        return partial(translate, graph)

    def allocate(self, nbytes: int) -> ArrayMemory:
        if nbytes > DEVICE.memory_bytes:
            raise no_room(DEVICE, nbytes)
        return ArrayMemory(np.empty(nbytes, np.uint8))

    def share(self, source: memoryview) -> ArrayMemory:
        return ArrayMemory(np.frombuffer(source, np.uint8))

    def free(self, memory: Memory, after: Sequence[Ticket] = ()) -> None:
        own_memory(memory).array = np.empty(0, np.uint8)

    def upload(
        self,
        memory: Memory,
        offset: int,
        source: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        host = np.frombuffer(source, np.uint8)
        target = own_memory(memory).array[offset : offset + host.nbytes]
        return self.upload_queue.run(partial(copy, host, target, rows), after)

    def download(
        self,
        memory: Memory,
        offset: int,
        target: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        host = np.frombuffer(target, np.uint8)
        source = own_memory(memory).array[offset : offset + host.nbytes]
        return self.download_queue.run(partial(copy, source, host, rows), after)

    def fill(
        self, memory: Memory, offset: int, nbytes: int, byte: int, after: Sequence[Ticket] = ()
    ) -> Ticket:
        target = own_memory(memory).array[offset : offset + nbytes]
        return self.upload_queue.run(partial(target.fill, byte), after)

    def prepare(
        self, executable: Executable, size: NDRange, arguments: Sequence[Argument]
    ) -> ArrayLaunch:
        if not isinstance(executable, KernelProgram):
            raise foreign(DEVICE, executable)
        group = group_size(size, LIMITS)
        return ArrayLaunch(self.compute, executable, size, group, [own(one) for one in arguments])

    def close(self) -> None:
        """Nothing is under way, and nothing is held."""


def copy(source: Bytes, target: Bytes, rows: Rows | None) -> None:
    """Copy all bytes, or only the pieces that `rows` names."""
    size = rows.size if rows else source.nbytes
    for start in rows.starts(source.nbytes) if rows else (0,):
        target[start : start + size] = source[start : start + size]


def own(argument: Argument) -> ArrayMemory | Scalar | StructArgument:
    return argument if isinstance(argument, Scalar | StructArgument) else own_memory(argument)


def own_memory(memory: Memory) -> ArrayMemory:
    if not isinstance(memory, ArrayMemory):
        raise foreign(DEVICE, memory)
    return memory


class ArrayFamily:
    """The entry point: finds the devices of this backend, and opens them."""

    name = "arrays"

    def devices(self) -> Sequence[DeviceInfo]:
        return (DEVICE,)

    def open(self, index: int) -> ArrayBackend:
        if index != DEVICE.index:
            raise DeviceUnavailableError(f"there is no `arrays:{index}`", advice="use `arrays`")
        return ArrayBackend()

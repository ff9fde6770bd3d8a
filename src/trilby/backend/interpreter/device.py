"""The interpreter as a device. Everything is done when a method returns."""

import os
import platform
from collections.abc import Sequence

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
from trilby.backend.failures import closed, foreign, freed, no_room
from trilby.backend.group_size import GroupLimits, group_size
from trilby.backend.interpreter.arguments import bind
from trilby.backend.interpreter.execute import execute
from trilby.backend.interpreter.memory import POISON, InterpreterMemory
from trilby.backend.interpreter.translate import Program, translate
from trilby.data.ndrange import MAX_DIMENSIONS, NDRange
from trilby.errors import DeviceError, DeviceUnavailableError

MAX_GROUP_ITEMS = 4096
LIMITS = GroupLimits(MAX_GROUP_ITEMS, (MAX_GROUP_ITEMS,) * MAX_DIMENSIONS)


class DoneEvent:
    """Work that was over before anybody could wait for it."""

    __slots__ = ()

    def wait(self) -> None:
        """Return at once."""


class InterpreterBackend:
    """Runs kernels work item by work item and checks every index.

    An error in a kernel is raised by `launch` itself and leaves device memory as it was at
    that moment.
    """

    def __init__(self, device: DeviceInfo) -> None:
        self.device = device
        self._is_open = True

    def compile(self, graph: KernelGraph) -> Program:
        """Translate a kernel to Python."""
        self._check_open()
        return translate(graph)

    def allocate(self, nbytes: int) -> InterpreterMemory:
        """Bytes with a content that does not look like zeros."""
        self._check_open()
        if nbytes < 0:
            raise DeviceError(f"cannot allocate {nbytes} bytes")
        # Filling more than there is would not fail here but take the machine down.
        if nbytes > (self.device.memory_bytes or nbytes):
            raise no_room(self.device, nbytes, self.device.memory_bytes)
        return InterpreterMemory(nbytes, self, bytearray([POISON]) * nbytes)

    def free(self, memory: Memory) -> None:
        """Give memory back; using it afterwards is an error."""
        self._own(memory).content = None

    def upload(
        self, memory: Memory, offset: int, source: memoryview, after: Sequence[Event] = ()
    ) -> DoneEvent:
        """Copy host bytes to the device."""
        self._begin(after)
        target = self._own(memory).span(offset, source.nbytes)
        if source.nbytes:
            target[:] = source.cast("B")
        return DoneEvent()

    def download(
        self, memory: Memory, offset: int, target: memoryview, after: Sequence[Event] = ()
    ) -> DoneEvent:
        """Copy device bytes to the host."""
        self._begin(after)
        source = self._own(memory).span(offset, target.nbytes)
        if target.nbytes:
            target.cast("B")[:] = source
        return DoneEvent()

    def fill(
        self, memory: Memory, offset: int, nbytes: int, byte: int, after: Sequence[Event] = ()
    ) -> DoneEvent:
        """Set every byte of a range."""
        self._begin(after)
        self._own(memory).span(offset, nbytes)[:] = bytes([byte]) * nbytes
        return DoneEvent()

    def launch(
        self,
        executable: Executable,
        size: NDRange,
        arguments: Sequence[Argument],
        after: Sequence[Event] = (),
    ) -> DoneEvent:
        """Run a kernel; an error in it is raised here, naming the work item and the line."""
        self._begin(after)
        if not isinstance(executable, Program):
            raise foreign(self.device, executable)
        own = [a if isinstance(a, Scalar | StructArgument) else self._own(a) for a in arguments]
        execute(executable, size, group_size(size, LIMITS), bind(executable.entry, own))
        return DoneEvent()

    def close(self) -> None:
        """Nothing is under way; from now on only `free` may be called."""
        self._is_open = False

    def _begin(self, after: Sequence[Event]) -> None:
        self._check_open()
        for event in after:
            event.wait()

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
    )


def _host_memory() -> int:
    """What the machine has, or 0 where the system does not tell."""
    if not hasattr(os, "sysconf"):
        return 0
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

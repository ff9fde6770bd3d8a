"""The interpreter as a device. Everything is done when a method returns."""

import os
import platform
from collections.abc import Sequence
from math import prod

from trilby.analysis.reach import KernelGraph
from trilby.backend.base import Argument, DeviceInfo, Event, Executable, Memory, Scalar
from trilby.backend.interpreter.arguments import bind
from trilby.backend.interpreter.execute import execute, local_size
from trilby.backend.interpreter.memory import InterpreterMemory
from trilby.backend.interpreter.translate import Program, translate
from trilby.data.ndrange import NDRange
from trilby.errors import DeviceError, DeviceUnavailableError

MAX_GROUP_ITEMS = 4096


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

    __slots__ = ("_live", "device")

    def __init__(self, device: DeviceInfo) -> None:
        self.device = device
        self._live: set[InterpreterMemory] = set()

    def compile(self, graph: KernelGraph) -> Program:
        """Translate a kernel to Python."""
        return translate(graph)

    def allocate(self, nbytes: int) -> InterpreterMemory:
        """Bytes with a content that does not look like zeros."""
        memory = InterpreterMemory(nbytes)
        self._live.add(memory)
        return memory

    def free(self, memory: Memory) -> None:
        """Give memory back; using it afterwards is an error."""
        own = self._own(memory)
        self._live.remove(own)
        own.free()

    def upload(
        self, memory: Memory, offset: int, source: memoryview, after: Sequence[Event] = ()
    ) -> DoneEvent:
        """Copy host bytes to the device."""
        _wait(after)
        target = self._own(memory).span(offset, source.nbytes)
        if source.nbytes:
            target[:] = source.cast("B")
        return DoneEvent()

    def download(
        self, memory: Memory, offset: int, target: memoryview, after: Sequence[Event] = ()
    ) -> DoneEvent:
        """Copy device bytes to the host."""
        _wait(after)
        source = self._own(memory).span(offset, target.nbytes)
        if target.nbytes:
            target.cast("B")[:] = source
        return DoneEvent()

    def fill(
        self, memory: Memory, offset: int, nbytes: int, byte: int, after: Sequence[Event] = ()
    ) -> DoneEvent:
        """Set every byte of a range."""
        _wait(after)
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
        _wait(after)
        if not isinstance(executable, Program):
            raise DeviceError("this kernel was compiled by another backend")
        _check_group(size)
        own = [a if isinstance(a, Scalar) else self._own(a) for a in arguments]
        execute(executable, size, bind(executable.entry, own))
        return DoneEvent()

    def close(self) -> None:
        """Free everything that is still allocated."""
        for memory in self._live:
            memory.free()
        self._live.clear()

    def _own(self, memory: Memory) -> InterpreterMemory:
        if isinstance(memory, InterpreterMemory) and memory in self._live:
            return memory
        raise DeviceError(
            f"these {memory.nbytes} bytes of memory were freed, or belong to another device"
        )


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


def _check_group(size: NDRange) -> None:
    items = prod(local_size(size))
    if items > MAX_GROUP_ITEMS:
        raise DeviceError(
            f"a group of {items} work items is more than the {MAX_GROUP_ITEMS} of this device",
            advice="ask for a smaller local size",
        )


def _wait(events: Sequence[Event]) -> None:
    for event in events:
        event.wait()

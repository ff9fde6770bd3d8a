"""The null backend: it counts what it is asked to do, and does nothing.

What it copies and computes is undefined; use it to measure and to test everything
around a device. `open(0).counts` says what was asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from trilby.analysis.reach import KernelGraph
from trilby.backend.base import Argument, DeviceInfo, Event, Executable, Memory
from trilby.data.ndrange import NDRange
from trilby.errors import DeviceUnavailableError

DEVICE = DeviceInfo(
    backend="null",
    index=0,
    name="Null device",
    kind="software",
    vendor="Trilby",
    driver="none",
    memory_bytes=0,
    compute_units=0,
    max_group_items=1024,
    features=frozenset({"f64", "f16", "i64_atomics"}),
)


@dataclass(slots=True)
class Counts:
    """How often each thing was asked for, and how many bytes and work items it was."""

    compiles: int = 0
    allocations: int = 0
    allocated_bytes: int = 0
    frees: int = 0
    freed_bytes: int = 0
    uploads: int = 0
    uploaded_bytes: int = 0
    downloads: int = 0
    downloaded_bytes: int = 0
    fills: int = 0
    filled_bytes: int = 0
    launches: int = 0
    work_items: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class NullMemory:
    """A size without bytes."""

    nbytes: int


@dataclass(frozen=True, slots=True, eq=False)
class NullExecutable:
    """A kernel that will not run."""

    source: str


class NullEvent:
    """Nothing to wait for."""

    __slots__ = ()

    def wait(self) -> None:
        """Return at once."""


class NullBackend:
    """Counts every call in `counts`."""

    __slots__ = ("counts", "device")

    def __init__(self) -> None:
        self.device = DEVICE
        self.counts = Counts()

    def compile(self, graph: KernelGraph) -> NullExecutable:
        """Count a kernel."""
        self.counts.compiles += 1
        return NullExecutable(f"{graph.entry.name} does nothing\n")

    def allocate(self, nbytes: int) -> NullMemory:
        """Count memory."""
        self.counts.allocations += 1
        self.counts.allocated_bytes += nbytes
        return NullMemory(nbytes)

    def free(self, memory: Memory) -> None:
        """Count memory given back."""
        self.counts.frees += 1
        self.counts.freed_bytes += memory.nbytes

    def upload(
        self, memory: Memory, offset: int, source: memoryview, after: Sequence[Event] = ()
    ) -> NullEvent:
        """Count the bytes and drop them."""
        self.counts.uploads += 1
        self.counts.uploaded_bytes += source.nbytes
        return NullEvent()

    def download(
        self, memory: Memory, offset: int, target: memoryview, after: Sequence[Event] = ()
    ) -> NullEvent:
        """Count the bytes and leave the target as it is."""
        self.counts.downloads += 1
        self.counts.downloaded_bytes += target.nbytes
        return NullEvent()

    def fill(
        self, memory: Memory, offset: int, nbytes: int, byte: int, after: Sequence[Event] = ()
    ) -> NullEvent:
        """Count the bytes."""
        self.counts.fills += 1
        self.counts.filled_bytes += nbytes
        return NullEvent()

    def launch(
        self,
        executable: Executable,
        size: NDRange,
        arguments: Sequence[Argument],
        after: Sequence[Event] = (),
    ) -> NullEvent:
        """Count the launch and its work items."""
        self.counts.launches += 1
        self.counts.work_items += size.items
        return NullEvent()

    def close(self) -> None:
        """Nothing is open."""


class NullFamily:
    """The one null device, which is everywhere."""

    __slots__ = ()
    name = "null"

    def devices(self) -> Sequence[DeviceInfo]:
        """The null device."""
        return (DEVICE,)

    def open(self, index: int) -> NullBackend:
        """A backend with counts of its own."""
        if index != DEVICE.index:
            raise DeviceUnavailableError(
                f"there is one null device, and no `null:{index}`", advice="use `null`"
            )
        return NullBackend()

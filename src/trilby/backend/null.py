"""The null backend: it counts what it is asked to do, and does nothing.

What it copies and computes is undefined; use it to measure and to test everything
around a device. `open(0).counts` says what was asked for.
"""

from collections.abc import Callable, Sequence
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
)
from trilby.backend.done import DoneEvent
from trilby.backend.failures import foreign
from trilby.backend.run_again import PassByPass, RunAgain
from trilby.data.ndrange import NDRange
from trilby.dataclass import dataclass
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
    features=frozenset({"f64", "f16", "i64_atomics", "shared_memory"}),
    clock="none",
)


@dataclass(slots=True)
class Counts:
    """How often each thing was asked for, and how many bytes and work items it was."""

    compiles: int = 0
    allocations: int = 0
    allocated_bytes: int = 0
    frees: int = 0
    freed_bytes: int = 0
    shares: int = 0
    shared_bytes: int = 0
    trims: int = 0
    uploads: int = 0
    uploaded_bytes: int = 0
    downloads: int = 0
    downloaded_bytes: int = 0
    fills: int = 0
    filled_bytes: int = 0
    preparations: int = 0
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
    debugs: bool = False


@dataclass(slots=True, eq=False)
class NullPrepared:
    """A launch that will be counted."""

    size: NDRange
    latest: Event | None = None

    def replace(self, position: int, argument: Argument) -> None:
        """Arguments are not looked at."""


class NullBackend:
    """Counts every call in `counts`."""

    __slots__ = ("counts", "device")

    def __init__(self) -> None:
        self.device = DEVICE
        self.counts = Counts()

    def compile(self, graph: KernelGraph, *, fast_math: bool = False) -> NullExecutable:
        """Count a kernel."""
        self.counts.compiles += 1
        return NullExecutable(f"{graph.entry.name} does nothing\n")

    def begin_compile(
        self, graph: KernelGraph, *, fast_math: bool = False
    ) -> Callable[[], NullExecutable]:
        """Nothing can be begun: all is done later."""
        return partial(self.compile, graph, fast_math=fast_math)

    def allocate(self, nbytes: int) -> NullMemory:
        """Count memory."""
        self.counts.allocations += 1
        self.counts.allocated_bytes += nbytes
        return NullMemory(nbytes)

    def can_share(self, address: int, nbytes: int) -> bool:
        """Whatever it is."""
        return True

    def share(self, source: memoryview) -> NullMemory:
        """Count the bytes."""
        self.counts.shares += 1
        self.counts.shared_bytes += source.nbytes
        return NullMemory(source.nbytes)

    def free(self, memory: Memory, after: Sequence[Event] = ()) -> None:
        """Count memory given back."""
        self.counts.frees += 1
        self.counts.freed_bytes += memory.nbytes

    def trim(self) -> None:
        """Count it; nothing is kept."""
        self.counts.trims += 1

    def upload(
        self,
        memory: Memory,
        offset: int,
        source: memoryview,
        after: Sequence[Event] = (),
        rows: Rows | None = None,
    ) -> DoneEvent:
        """Count the bytes and drop them."""
        self.counts.uploads += 1
        self.counts.uploaded_bytes += _moved(source, rows)
        return DoneEvent()

    def download(
        self,
        memory: Memory,
        offset: int,
        target: memoryview,
        after: Sequence[Event] = (),
        rows: Rows | None = None,
    ) -> DoneEvent:
        """Count the bytes and leave the target as it is."""
        self.counts.downloads += 1
        self.counts.downloaded_bytes += _moved(target, rows)
        return DoneEvent()

    def fill(
        self, memory: Memory, offset: int, nbytes: int, byte: int, after: Sequence[Event] = ()
    ) -> DoneEvent:
        """Count the bytes."""
        self.counts.fills += 1
        self.counts.filled_bytes += nbytes
        return DoneEvent()

    def prepare(
        self, executable: Executable, size: NDRange, arguments: Sequence[Argument]
    ) -> NullPrepared:
        """Count a launch that may follow."""
        self.counts.preparations += 1
        return NullPrepared(size)

    def run(self, prepared: Prepared, after: Sequence[Event] = ()) -> DoneEvent:
        """Count the launch and its work items."""
        if not isinstance(prepared, NullPrepared):
            raise foreign(self.device, prepared)
        self.counts.launches += 1
        self.counts.work_items += prepared.size.items
        event = prepared.latest = DoneEvent()
        return event

    def repeated(self, prepared: Prepared) -> RunAgain:
        """Count the same launch."""
        return RunAgain(self.run, prepared)

    def passes(self, prepared: Prepared) -> PassByPass:
        """Count every pass."""
        return PassByPass(lambda _, after: self.run(prepared, after), prepared)

    def flush(self) -> None:
        """Nothing was begun."""

    def all_begun(self) -> DoneEvent:
        """Nothing was begun."""
        return DoneEvent()

    def close(self) -> None:
        """Nothing is open."""


def _moved(content: memoryview, rows: Rows | None) -> int:
    return rows.size * len(rows.starts(content.nbytes)) if rows else content.nbytes


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

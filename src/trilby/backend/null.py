"""The null backend: it counts what it is asked to do, and does nothing.

What it copies and computes is undefined; use it to measure and to test everything around a
device. `open(0).counts["uploads"]` says how often something was asked for.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from trilby.analysis.reach import KernelGraph
from trilby.backend.base import Argument, DeviceInfo, Executable, Memory, Rows, Ticket
from trilby.backend.immediate import ImmediateQueue
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
    features=frozenset({"f64", "f16", "i64_atomics", "shared_memory"}),
    clock="none",
)


class NullMemory(NamedTuple):
    """A size without bytes."""

    nbytes: int


class NullExecutable(NamedTuple):
    """A kernel that will not run."""

    source: str
    asserts: bool = False
    prints: bool = False


class NullPrepared:
    """A launch that will be counted."""

    def __init__(self, backend: "NullBackend", size: NDRange) -> None:
        self._backend = backend
        self._size = size
        self.begun = 0

    def submit(self, times: int = 1, first_pass: int = 0, after: Sequence[Ticket] = ()) -> Ticket:
        """Count the runs and their work items."""
        ticket = self._backend.count("work_items", times * self._size.items, "launches", times)
        self.begun += times
        return ticket

    def replace(self, position: int, argument: Argument) -> None:
        """Arguments are not looked at."""


class NullQueue(ImmediateQueue):
    """A queue of commands that take no time."""

    def measure(self, on: bool) -> None:  # noqa: FBT001 -- of `Queue`
        """Do nothing."""


class NullBackend:
    """Counts every call in `counts`, and the bytes and work items that it was about."""

    def __init__(self) -> None:
        self.device = DEVICE
        self.compute = self.upload_queue = self.download_queue = NullQueue()
        self.counts: Counter[str] = Counter()

    def count(self, unit: str, amount: int, calls: str, times: int = 1) -> Ticket:
        """Count something that was asked for."""
        return self.compute.run(lambda: self.counts.update({unit: amount, calls: times}))

    def compile(self, graph: KernelGraph, *, fast_math: bool = False) -> Callable[[], Executable]:
        """Count a kernel."""
        self.count("functions", len(graph.functions), "compiles")
        return lambda: NullExecutable(f"{graph.entry.name} does nothing\n")

    def allocate(self, nbytes: int) -> NullMemory:
        """Count memory."""
        self.count("allocated_bytes", nbytes, "allocations")
        return NullMemory(nbytes)

    def share(self, source: memoryview) -> NullMemory:
        """Count the bytes of the host."""
        self.count("shared_bytes", source.nbytes, "shares")
        return NullMemory(source.nbytes)

    def free(self, memory: Memory, after: Sequence[Ticket] = ()) -> None:
        """Count memory given back."""
        self.count("freed_bytes", memory.nbytes, "frees")

    def upload(
        self,
        memory: Memory,
        offset: int,
        source: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        """Count the bytes and drop them."""
        return self.count("uploaded_bytes", _moved(source, rows), "uploads")

    def download(
        self,
        memory: Memory,
        offset: int,
        target: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        """Count the bytes and leave the target as it is."""
        return self.count("downloaded_bytes", _moved(target, rows), "downloads")

    def fill(
        self, memory: Memory, offset: int, nbytes: int, byte: int, after: Sequence[Ticket] = ()
    ) -> Ticket:
        """Count the bytes."""
        return self.count("filled_bytes", nbytes, "fills")

    def prepare(
        self, executable: Executable, size: NDRange, arguments: Sequence[Argument]
    ) -> NullPrepared:
        """Count a launch that may follow."""
        self.count("arguments", len(arguments), "preparations")
        return NullPrepared(self, size)

    def close(self) -> None:
        """Nothing is open."""


def _moved(content: memoryview, rows: Rows | None) -> int:
    return rows.size * len(rows.starts(content.nbytes)) if rows else content.nbytes


class NullFamily:
    """The one null device, which is everywhere."""

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

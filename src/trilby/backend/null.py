"""The null backend: it counts what it is asked to do, and does nothing: results are undefined."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from trilby.analysis.reach import KernelGraph
from trilby.backend.base import Argument, DeviceInfo, Executable, Memory, Prepared, Ticket
from trilby.backend.immediate import ImmediateQueue
from trilby.data.ndrange import NDRange
from trilby.data.ranges import Rows
from trilby.errors import DeviceUnavailableError

FEATURES = frozenset({"f64", "f16", "i64_atomics", "shared_memory"})
DEVICE = DeviceInfo(
    "null", 0, "Null device", "software", "Trilby", "none", 0, 0, 1024, FEATURES, clock="none"
)


class NullHandle(NamedTuple):
    """What the null device hands out: memory without bytes, or a kernel that will not run."""

    nbytes: int = 0
    source: str = ""
    asserts = prints = False


class NullPrepared:
    """A launch that will be counted."""

    def __init__(self, backend: "NullBackend", size: NDRange) -> None:
        self._backend, self._size, self.begun = backend, size, 0

    def submit(self, times: int = 1, first_pass: int = 0, after: Sequence[Ticket] = ()) -> Ticket:
        self.begun += times
        return self._backend.count("work_items", times * self._size.items, "launches", times)

    def replace(self, position: int, argument: Argument) -> None: ...


class NullBackend:
    """Counts every call in `counts`, and the bytes and work items that it was about."""

    def __init__(self) -> None:
        self.device = DEVICE
        self.compute = self.upload_queue = self.download_queue = ImmediateQueue(measures=False)
        self.counts: Counter[str] = Counter()

    def count(self, unit: str, amount: int, calls: str, times: int = 1) -> Ticket:
        return self.compute.run(lambda: self.counts.update({unit: amount, calls: times}))

    def compile(self, graph: KernelGraph, *, fast_math: bool = False) -> Callable[[], Executable]:
        self.count("functions", len(graph.functions), "compiles")
        return lambda: NullHandle(source=f"{graph.entry.name} does nothing\n")

    def allocate(self, nbytes: int) -> NullHandle:
        self.count("allocated_bytes", nbytes, "allocations")
        return NullHandle(nbytes)

    def share(self, source: memoryview) -> NullHandle:
        self.count("shared_bytes", source.nbytes, "shares")
        return NullHandle(source.nbytes)

    def free(self, memory: Memory, after: Sequence[Ticket] = ()) -> None:
        self.count("freed_bytes", memory.nbytes, "frees")

    def upload(self, memory: Memory, offset: int, source: memoryview, *a: Any, **k: Any) -> Ticket:
        return self.count("uploaded_bytes", _moved(source, *a, **k), "uploads")

    def download(
        self, memory: Memory, offset: int, target: memoryview, *a: Any, **k: Any
    ) -> Ticket:
        return self.count("downloaded_bytes", _moved(target, *a, **k), "downloads")

    def fill(self, memory: Memory, offset: int, nbytes: int, *a: Any, **k: Any) -> Ticket:
        return self.count("filled_bytes", nbytes, "fills")

    def prepare(self, executable: Executable, size: NDRange, arguments: Sequence[Any]) -> Prepared:
        self.count("arguments", len(arguments), "preparations")
        return NullPrepared(self, size)

    def close(self) -> None: ...


def _moved(content: memoryview, _: object = (), rows: Rows | None = None, **__: object) -> int:
    return rows.size * len(rows.starts(content.nbytes)) if rows else content.nbytes


class NullFamily:
    """The one null device, which is everywhere."""

    name = "null"

    def devices(self) -> Sequence[DeviceInfo]:
        return (DEVICE,)

    def open(self, index: int) -> NullBackend:
        if index:
            raise DeviceUnavailableError(f"there is no `null:{index}`", advice="use `null`")
        return NullBackend()

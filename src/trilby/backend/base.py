"""What a backend is: a device that compiles kernels, holds memory, copies and launches.

A backend decides nothing about *when* data moves; the runtime does. It never sees Python
source: it is handed code models and bytes.

The arguments of a launch follow the kernel's parameters after the kernel context: a
buffer is its `Memory`; an n-d array is its `Memory` and then one `i32` scalar for each
axis of its shape; a number is a `Scalar`, a struct a `StructArgument`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from trilby.analysis.reach import KernelGraph
from trilby.data.dtypes import Number, ScalarType
from trilby.data.ndrange import NDRange
from trilby.data.schema import StructType


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """The properties of one device, for choosing and for showing."""

    backend: str
    index: int
    name: str
    kind: Literal["cpu", "gpu", "accelerator", "software"]
    vendor: str
    driver: str
    memory_bytes: int
    compute_units: int
    max_group_items: int
    features: frozenset[str] = frozenset()
    """Of `f64`, `f16`, `i64_atomics`, `shared_memory` (the host's memory is the device's)."""
    constant_bytes: int = 0
    """The most that one buffer in constant memory may have; 0 where there is no limit."""
    constant_arguments: int = 0
    """How many buffers of a kernel may lie in constant memory; 0 where there is no limit."""

    @property
    def spec(self) -> str:
        """What to give to `Accelerator`: `opencl:0`."""
        return f"{self.backend}:{self.index}"


class Event(Protocol):
    """Work that was started."""

    def wait(self) -> None:
        """Return when it is done; raise a `DeviceError` if it failed."""
        ...


class Memory(Protocol):
    """Bytes on a device, of no use to the host but to hand back to the backend."""

    @property
    def nbytes(self) -> int:
        """How many bytes."""
        ...


class Executable(Protocol):
    """A kernel compiled for one device."""

    @property
    def source(self) -> str:
        """The generated text, for people."""
        ...


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number passed by value."""

    type: ScalarType
    value: Number


@dataclass(frozen=True, slots=True)
class StructArgument:
    """A struct passed by value, as its bytes by C rules."""

    type: StructType
    content: bytes


Argument: TypeAlias = Memory | Scalar | StructArgument


class Backend(Protocol):
    """One opened device. All work may be asynchronous; `after` names what must be done first."""

    @property
    def device(self) -> DeviceInfo:
        """What was opened."""
        ...

    def compile(self, graph: KernelGraph) -> Executable:
        """Make a kernel ready to launch, or raise a `BuildError` that names the Python line."""
        ...

    def allocate(self, nbytes: int) -> Memory:
        """Memory with undefined content; raises a `DeviceError` where there is not enough."""
        ...

    def free(self, memory: Memory) -> None:
        """Give memory back once the work that uses it is done."""
        ...

    def upload(
        self, memory: Memory, offset: int, source: memoryview, after: Sequence[Event] = ()
    ) -> Event:
        """Copy host bytes to `offset` in device memory."""
        ...

    def download(
        self, memory: Memory, offset: int, target: memoryview, after: Sequence[Event] = ()
    ) -> Event:
        """Copy device bytes from `offset` to the host."""
        ...

    def fill(
        self, memory: Memory, offset: int, nbytes: int, byte: int, after: Sequence[Event] = ()
    ) -> Event:
        """Set every byte of a range."""
        ...

    def launch(
        self,
        executable: Executable,
        size: NDRange,
        arguments: Sequence[Argument],
        after: Sequence[Event] = (),
    ) -> Event:
        """Run a kernel once for each work item of a range that is not empty."""
        ...

    def close(self) -> None:
        """Wait for everything and give the device back."""
        ...


class Family(Protocol):
    """A kind of backend: finds its devices and opens them. Importing it must cost nothing."""

    @property
    def name(self) -> str:
        """`opencl`, `interpreter`, …"""
        ...

    def devices(self) -> Sequence[DeviceInfo]:
        """What this machine has; raises `DeviceUnavailableError` with the reason if nothing."""
        ...

    def open(self, index: int) -> Backend:
        """Open the device of that index, or raise `DeviceUnavailableError`."""
        ...

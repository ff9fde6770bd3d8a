"""The backend protocol: what a device must do so that Trilby can use it.

A backend compiles kernels, holds memory, copies and launches. It decides nothing about *when* data
moves; the runtime does. It never sees Python source: it gets code models and bytes. The smallest
complete one is `null.py`; `docs/backends.md` walks through another.

A device has three in-order queues: `compute` for kernels, `upload` and `download` for copies and
fills. A command is named by a `Ticket`, its queue and its number there. Commands of one queue run
in the order of their numbers; where a command must come after one of another queue, the runtime
says so by `after`. A backend may use one object for all three queues.

The arguments of a launch follow the kernel's parameters after the kernel context: a buffer is its
`Memory` and then one `Scalar` for each of its `sizes_of` (the lengths of a buffer, the shape of an
n-d array); a number is a `Scalar`, a struct a `StructArgument`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from trilby.analysis.closure import ComputeClosure
from trilby.analysis.reach import KernelGraph
from trilby.data.dtypes import BF16, BOOL, F16, Number, ScalarType
from trilby.data.ndrange import NDRange
from trilby.data.schema import StructType
from trilby.dataclass import dataclass

Kind: TypeAlias = Literal["cpu", "gpu", "accelerator", "software"]


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """The properties of one device, for choosing and for showing."""

    backend: str
    index: int
    name: str
    kind: Kind
    vendor: str
    driver: str
    memory_bytes: int
    compute_units: int
    max_group_items: int
    features: frozenset[str] = frozenset()
    """Of `f64`, `f16`, `i64_atomics`, `shared_memory` (the host's memory is the device's)."""
    buffer_bytes: int = 0
    """The most that one buffer may have; 0 where there is no limit but the memory."""
    constant_bytes: int = 0
    """The most that one buffer in constant memory may have; 0 where there is no limit."""
    constant_arguments: int = 0
    """How many buffers of a kernel may lie in constant memory; 0 where there is no limit."""
    clock: Literal["device", "host", "none"] = "device"
    """Whose clock measures commands."""

    @property
    def spec(self) -> str:
        """The name to give to `Accelerator`: `opencl:0`."""
        return f"{self.backend}:{self.index}"


class Rows(NamedTuple):
    """Pieces of a copy: each has `size` bytes, and they begin `pitch` bytes apart."""

    size: int
    pitch: int

    def starts(self, nbytes: int) -> range:
        """Where the pieces of a stretch begin that starts with one and ends with one."""
        return range(0, nbytes - self.size + 1, self.pitch)


# ---------------------------------------------------------------------------------------- queues


class Times(NamedTuple):
    """What a command took: its beginning on the queue's clock, its duration, its time queued."""

    began: float | None
    seconds: float
    queued: float = 0.0


class Queue(Protocol):
    """An in-order queue of a device; its commands have the numbers 1, 2, 3 …

    `submitted` is the number of the last command that the device has. It is exact at any time, also
    after Ctrl-C has left the call that submitted a command. `by_host_clock` says whether `began`
    of `Times` is on the clock of `time.perf_counter`.
    """

    by_host_clock: bool

    @property
    def submitted(self) -> int:
        """The number of the last command that the device has."""
        ...

    @property
    def completed(self) -> int:
        """The number up to which all commands are over, well or badly."""
        ...

    def wait(self, number: int) -> None:
        """Return when this command is over; raise a `DeviceError` if it failed, at every call.

        A kernel whose `assert` failed raises here. `KeyboardInterrupt` gets through.
        """
        ...

    def times(self, number: int) -> Times | None:
        """What a command took that is over; None where it failed.

        A queue measures while `measure(True)` holds, and then remembers the last 4,096 commands.
        """
        ...

    def measure(self, on: bool) -> None:  # noqa: FBT001 -- a switch
        """Begin or end measuring commands."""
        ...


class Ticket(NamedTuple):
    """A command that a device has: its queue, its number there, and what the runtime says of it.

    `Ticket(queue, 7)` is done as soon as `queue.completed` is 7 or more: all before it are done,
    too. `origin` is the launch, or for a copy the tickets of the launches whose results it copies.
    """

    queue: Queue
    number: int
    origin: object = None

    @property
    def done(self) -> bool:
        """True once it is over, well or badly."""
        return self.queue.completed >= self.number

    def wait(self) -> None:
        """Return when it is over; raise a `DeviceError` if it failed."""
        self.queue.wait(self.number)


# ------------------------------------------------------------------------------- kernels, launches


class Memory(Protocol):
    """Bytes on a device, of no use to the host but to hand back to the backend."""

    @property
    def nbytes(self) -> int:
        """Its size."""
        ...


class Executable(Protocol):
    """A kernel compiled for one device."""

    @property
    def source(self) -> str:
        """The generated code, for people."""
        ...

    @property
    def asserts(self) -> bool:
        """Whether a launch may fail by itself."""
        ...

    @property
    def prints(self) -> bool:
        """Whether a launch is waited for at once, since it writes lines."""
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


class Prepared(Protocol):
    """A launch with its range and arguments set, to be submitted any number of times.

    `begun` counts the runs that the device has. It is exact at any time, also after Ctrl-C.
    """

    @property
    def begun(self) -> int:
        """The runs that the device has got."""
        ...

    def submit(self, times: int = 1, first_pass: int = 0, after: Sequence[Ticket] = ()) -> Ticket:
        """Run the kernel so many times, with `kc.pass_id` counted from `first_pass` on.

        The ticket is that of the last run. After Ctrl-C `begun` says how many the device has got.
        """
        ...

    def replace(self, position: int, argument: Argument) -> None:
        """Set another argument for the runs to come; those under way keep theirs."""
        ...


# ---------------------------------------------------------------------------------------- backends


class Backend(Protocol):
    """One opened device. Commands start at once, and keep the host's bytes alive until done."""

    @property
    def device(self) -> DeviceInfo:
        """What was opened."""
        ...

    @property
    def compute(self) -> Queue:
        """The queue of launches."""
        ...

    @property
    def upload_queue(self) -> Queue:
        """The queue of copies to the device, and of fills."""
        ...

    @property
    def download_queue(self) -> Queue:
        """The queue of copies to the host."""
        ...

    def compile(self, graph: KernelGraph, *, fast_math: bool = False) -> Callable[[], Executable]:
        """Begin to compile a kernel; calling the result finishes that.

        Either raises a `BuildError` that names the Python line. With `fast_math` the kernel may
        round `a * b + c` once rather than twice.
        """
        ...

    def allocate(self, nbytes: int) -> Memory:
        """Memory with undefined content; raises `OutOfDeviceMemoryError` where it is too much."""
        ...

    def share(self, source: memoryview) -> Memory | None:
        """The host's own bytes as memory of the device, kept alive; None where that cannot be.

        What a kernel wrote is there for the host when the kernel was waited for, and what the host
        wrote is there for kernels that are submitted afterwards.
        """
        ...

    def free(self, memory: Memory, after: Sequence[Ticket] = ()) -> None:
        """Give memory back, without waiting. `after` are the commands on it that may be under way.

        It may be handed out again when these are done. It is called from finalisers and after
        `close`, too.
        """
        ...

    def upload(
        self,
        memory: Memory,
        offset: int,
        source: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        """Copy host bytes to `offset` in device memory; with `rows`, only these pieces."""
        ...

    def download(
        self,
        memory: Memory,
        offset: int,
        target: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        """Copy device bytes from `offset` to the host; with `rows`, only these pieces."""
        ...

    def fill(
        self, memory: Memory, offset: int, nbytes: int, byte: int, after: Sequence[Ticket] = ()
    ) -> Ticket:
        """Set every byte of a range, in the order of uploads."""
        ...

    def prepare(
        self, executable: Executable, size: NDRange, arguments: Sequence[Argument]
    ) -> Prepared:
        """Make a launch ready over a range that is not empty."""
        ...

    def close(self) -> None:
        """Wait for everything and give the device back; closing twice is no error."""
        ...


@runtime_checkable
class Handoff(Protocol):
    """The optional part of a backend: it sees a compute call as a whole before it is compiled."""

    def handoff(self, closure: ComputeClosure) -> ComputeClosure:
        """Inspect the closure of a compute call, and return it or a changed one.

        A backend may change models (`closure.with_function(old, new)`), and may take over running
        the call (`replace(closure, run=…)`). A kernel whose array ranks are known only at its
        launch is handed over then, in a closure without compute functions.
        """
        ...


class Family(Protocol):
    """A kind of backend: finds its devices and opens them. Importing it must cost nothing."""

    @property
    def name(self) -> str:
        """The backend's name: `opencl`, `interpreter`, …"""
        ...

    def devices(self) -> Sequence[DeviceInfo]:
        """The devices of this machine; raises `DeviceUnavailableError` with the reason if none."""
        ...

    def open(self, index: int) -> Backend:
        """Open the device of that index, or raise `DeviceUnavailableError`."""
        ...


# ----------------------------------------------------------------------------------------- by value
# How numbers are passed by value to kernels in C: bools and 16-bit floats travel as bits.
#
# C on devices has no bool parameters, and OpenCL no half ones.


def type_by_value(kind: ScalarType) -> np.dtype[Any]:
    """The type of the kernel's parameter: `uchar` for a bool, `ushort` for a 16-bit float."""
    if kind is BOOL:
        return np.dtype(np.uint8)
    return np.dtype(np.uint16) if kind in {F16, BF16} else kind.numpy


def value_by_value(scalar: Scalar) -> Number:
    """The number in that type: `value_by_value(Scalar(F16, 1.0))` is `0x3c00`."""
    if scalar.type in {F16, BF16}:
        return int(np.array(scalar.value, scalar.type.numpy).view(np.uint16))
    return int(scalar.value) if scalar.type is BOOL else scalar.value

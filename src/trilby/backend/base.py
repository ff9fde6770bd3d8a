"""The backend protocol: what a device must do so that Trilby can use it.

A backend compiles kernels, holds memory, copies and launches. It decides nothing about *when* data
moves; the runtime does. It never sees Python source: it gets code models and bytes. The smallest
complete one is `null.py`; `docs/backends.md` walks through another.

A device has three in-order queues: `compute` for launches, `upload_queue` for copies to the device
and fills, `download_queue` for copies to the host; one object may be all three. A command is named
by a `Ticket`, its queue and its number there. Commands of one queue run in the order of their
numbers; where one must come after commands of another queue, the runtime says so by `after`.

The arguments of a launch follow the kernel's parameters after the kernel context: a buffer is its
`Memory` and then one `Scalar` for each of its `sizes_of` (the lengths of a buffer, the shape of an
n-d array); a number is a `Scalar`, a struct a `StructArgument`.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from trilby.analysis.closure import ComputeClosure
from trilby.analysis.reach import KernelGraph
from trilby.data.dtypes import Number, ScalarType
from trilby.data.ndrange import NDRange
from trilby.data.ranges import Rows
from trilby.data.schema import StructType
from trilby.dataclass import dataclass

# Methods of protocols are docstrings alone:
# pyright: reportReturnType=false
Kind: TypeAlias = Literal["cpu", "gpu", "accelerator", "software"]
Argument: TypeAlias = "Memory | Scalar | StructArgument"


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """The properties of one device; `spec` is its name for `Accelerator`: `opencl:0`.

    `features` are some of `f64`, `f16`, `i64_atomics`, `shared_memory` (the host's memory is the
    device's). A buffer may have `buffer_bytes`, in constant memory `constant_bytes`, of which a
    kernel may have `constant_arguments`; 0 is no limit. `clock` is whose clock measures commands.
    """

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
    buffer_bytes: int = 0
    constant_bytes: int = 0
    constant_arguments: int = 0
    clock: Literal["device", "host", "none"] = "device"

    @property
    def spec(self) -> str:
        return f"{self.backend}:{self.index}"


class Times(NamedTuple):
    """What a command took: its beginning on the queue's clock, its duration, its time queued."""

    began: float | None
    seconds: float
    queued: float = 0.0


class Queue(Protocol):
    """An in-order queue of a device; its commands have the numbers 1, 2, 3 …

    `submitted` is the number of the last command that the device has, exact at any time, also after
    Ctrl-C has left the call. Up to `completed` all are over, well or badly. Ctrl-C ends a `wait`,
    not the work. With `by_host_clock`, `began` of `Times` is on the clock of `time.perf_counter`.
    """

    by_host_clock: bool

    @property
    def submitted(self) -> int: ...
    @property
    def completed(self) -> int: ...

    def wait(self, number: int) -> None:
        """Return when this command is over; raise a `DeviceError` if it failed, at every call."""

    def times(self, number: int) -> Times | None:
        """What a command took that is over; None where it failed."""

    def measure(self, on: bool) -> None:  # noqa: FBT001 -- a switch
        """Begin or end measuring commands; the times of the last 4,096 are remembered."""


class Ticket(NamedTuple):
    """A command that a device has: its queue, its number there, and what the runtime says of it.

    `Ticket(queue, 7)` is done, well or badly, once `queue.completed` is 7: all before it are, too.
    `origin` is the launch, or for a copy the tickets of the launches whose results it copies.
    """

    queue: Queue
    number: int
    origin: object = None

    @property
    def done(self) -> bool:
        return self.queue.completed >= self.number

    def wait(self) -> None:
        self.queue.wait(self.number)


class Memory(Protocol):
    """So many bytes on a device, of no use to the host but to hand back to the backend."""

    @property
    def nbytes(self) -> int: ...


class Executable(Protocol):
    """A kernel compiled for one device; `source` is the generated code, for people.

    A launch of one that `asserts` may fail by itself; one that `prints` is waited for at once.
    """

    @property
    def source(self) -> str: ...
    @property
    def asserts(self) -> bool: ...
    @property
    def prints(self) -> bool: ...


class Scalar(NamedTuple):
    """A number passed by value."""

    type: ScalarType
    value: Number


class StructArgument(NamedTuple):
    """A struct passed by value, as its bytes by C rules."""

    type: StructType
    content: bytes


class Prepared(Protocol):
    """A launch with its range and arguments set, to be submitted any number of times.

    `begun` counts the runs that the device has got; it is exact at any time, also after Ctrl-C.
    """

    @property
    def begun(self) -> int: ...

    def submit(self, times: int = 1, first_pass: int = 0, after: Sequence[Ticket] = ()) -> Ticket:
        """Run it so often, `kc.pass_id` counted from `first_pass` on; the last run's ticket."""

    def replace(self, position: int, argument: Argument) -> None:
        """Set another argument for the runs to come; those under way keep theirs."""


class Backend(Protocol):
    """One opened device. Commands start at once, and keep the host's bytes alive until done."""

    @property
    def device(self) -> DeviceInfo: ...
    @property
    def compute(self) -> Queue: ...
    @property
    def upload_queue(self) -> Queue: ...
    @property
    def download_queue(self) -> Queue: ...

    def compile(self, graph: KernelGraph, *, fast_math: bool = False) -> Callable[[], Executable]:
        """Begin to compile a kernel; calling the result finishes that.

        Either raises a `BuildError` that names the Python line. `fast_math` may fuse `a * b + c`.
        """

    def allocate(self, nbytes: int) -> Memory:
        """Memory with undefined content; raises `OutOfDeviceMemoryError` where it is too much."""

    def share(self, source: memoryview) -> Memory | None:
        """The host's own bytes as memory of the device, kept alive; None where that cannot be.

        Kernels see what the host wrote before their submission; it sees their writes after waiting.
        """

    def free(self, memory: Memory, after: Sequence[Ticket] = ()) -> None:
        """Give memory back once `after` are done; never waits. Finalisers do so after `close`."""

    def upload(
        self,
        memory: Memory,
        offset: int,
        source: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        """Copy host bytes to `offset` in device memory; with `rows`, only these pieces."""

    def download(
        self,
        memory: Memory,
        offset: int,
        target: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        """Copy device bytes from `offset` to the host; with `rows`, only these pieces."""

    def fill(
        self, memory: Memory, offset: int, nbytes: int, byte: int, after: Sequence[Ticket] = ()
    ) -> Ticket:
        """Set every byte of a range, in the order of uploads."""

    def prepare(
        self, executable: Executable, size: NDRange, arguments: Sequence[Argument]
    ) -> Prepared:
        """Make a launch ready over a range that is not empty."""

    def close(self) -> None:
        """Wait for everything and give the device back; closing twice is no error."""


@runtime_checkable
class Handoff(Protocol):
    """The optional part of a backend: it gets the closure of a compute call before compilation.

    It returns that, with other models (`closure.with_function(old, new)`) or to be run by itself
    (`replace(closure, run=…)`). Kernels whose array ranks only a launch tells come then, alone.
    """

    def handoff(self, closure: ComputeClosure) -> ComputeClosure: ...


class Family(Protocol):
    """A kind of backend, such as `opencl`, with its devices. Importing it must cost nothing."""

    name: str

    def devices(self) -> Sequence[DeviceInfo]:
        """The devices of this machine; raises `DeviceUnavailableError` with the reason if none."""

    def open(self, index: int) -> Backend:
        """Open the device of that index, or raise `DeviceUnavailableError`."""

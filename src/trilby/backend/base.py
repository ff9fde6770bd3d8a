"""What a backend is: a device that compiles kernels, holds memory, copies and launches.

A backend decides nothing about *when* data moves; the runtime does. It never sees Python
source: it is handed code models and bytes.

The arguments of a launch follow the kernel's parameters after the kernel context: a
buffer is its `Memory` and then one `Scalar` for each of its `sizes_of` (the lengths of a buffer,
the shape of an n-d array); a number is a `Scalar`, a struct a `StructArgument`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    Protocol,
    TypeAlias,
    runtime_checkable,
)

import numpy as np

from trilby.analysis.closure import ComputeClosure
from trilby.analysis.reach import KernelGraph
from trilby.data.dtypes import BF16, BOOL, F16, Number, ScalarType
from trilby.data.ndrange import NDRange
from trilby.data.schema import StructType
from trilby.dataclass import dataclass

if TYPE_CHECKING:
    from trilby.backend.kept import KeptRuns


Times: TypeAlias = tuple[float, float] | None
"""For how long work was queued and for how long it ran, in seconds; None where it failed."""

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
    """Who measures what its work takes."""

    @property
    def spec(self) -> str:
        """What to give to `Accelerator`: `opencl:0`."""
        return f"{self.backend}:{self.index}"


class Rows(NamedTuple):
    """Pieces of a copy: each has `size` bytes, and they begin `pitch` bytes apart."""

    size: int
    pitch: int

    def starts(self, nbytes: int) -> range:
        """Where the pieces of a stretch begin that starts with one and ends with one."""
        return range(0, nbytes - self.size + 1, self.pitch)


class Event(Protocol):
    """Work that was started."""

    origin: object
    """Whatever the runtime wants to know of it when it fails."""

    @property
    def done(self) -> bool:
        """True once it is over, well or badly: then `wait` returns or raises at once."""
        ...

    @property
    def seconds(self) -> float:
        """How long the device took, once it is done; 0.0 where nobody measures that."""
        ...

    @property
    def times(self) -> "Times":
        """For how long it was queued and for how long it ran, once it is done.

        None where it failed; zeros where nobody measures that.
        """
        ...

    def wait(self) -> None:
        """Return when it is done; raise a `DeviceError` if it failed, at every call.

        `KeyboardInterrupt` gets through, and leaves the work to go on. A kernel whose `assert`
        fails raises here, at its own event: what comes after it runs all the same.
        """
        ...


@runtime_checkable
class Dated(Protocol):
    """Work that also knows when it began."""

    by_host_clock: bool
    """True for the clock of `time.perf_counter`, false for one of the device's own."""

    @property
    def began(self) -> float | None:
        """In seconds of that clock, once it is done; None where nobody noted it."""
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

    @property
    def debugs(self) -> bool:
        """True for a kernel that asserts or prints: its launches are waited for at once."""
        ...


class Prepared(Protocol):
    """A launch with everything decided, to be run any number of times, by one thread at a time."""

    @property
    def latest(self) -> Event | None:
        """The last run that the device has, also if Ctrl-C came before `Backend.run` returned it.

        The runtime sets it to None before each run.
        """
        ...

    @latest.setter
    def latest(self, nothing: None) -> None: ...

    def replace(self, position: int, argument: "Argument") -> None:
        """Set another argument for the runs to come; those under way keep theirs."""
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


class Repeated(ABC):
    """A prepared launch that is run again and again, in as few steps as can be.

    Its events have `origin` as theirs. To run it once more like the last time, with the same
    numbers and after the last runs of the same others, append `same` to `held`, and call `submit`
    when there are `most` in it: that is what a hot loop has the time for. `same` is None where it
    must be `run`. `kept` are its runs since somebody wants to know of each. `begun` counts those of
    `run` that the device has, or will get: also where Ctrl-C came before `run` was over.
    """

    __slots__ = ("__weakref__", "begun", "held", "kept", "most", "origin", "same")

    def __init__(self, held: list[Any], most: int) -> None:
        self.origin: object = None
        self.begun = 0
        self.held = held
        self.most = most
        self.same: object = None
        self.kept: KeptRuns | None = None

    @property
    @abstractmethod
    def latest(self) -> Event:
        """The last run; before the first one something that is done."""

    @abstractmethod
    def run(self, after: "Sequence[Event | Repeated]") -> None:
        """Run it once more, after some work and the last runs of others that are repeated.

        It may be held back for a moment, until somebody asks for its event, something else is
        begun or waited for, or `Backend.flush` is called.
        """

    @abstractmethod
    def submit(self) -> None:
        """Give all that is held back to the device."""

    @abstractmethod
    def replace(self, position: int, argument: "Argument") -> None:
        """Set another argument for the runs to come."""

    @abstractmethod
    def keep(self, full: Callable[[], None]) -> "KeptRuns":
        """Keep what the device has of every run from now on; see `KeptRuns` for `full`."""

    def keep_next(self, kind: Hashable) -> None:  # noqa: B027 -- most backends keep every run
        """The next runs are of this kind: keep them, however many there were before.

        The first ones that are kept are of the kind None.
        """

    def keep_no_more(self) -> None:
        """Nobody wants to know of the runs to come."""
        self.kept = None

    def runs_begun(self) -> int | None:
        """A number that all runs from now on reach, and none of those before, held back or not.

        They are the `numbers` of the runs that are kept. Here none is: 0. Where runs are added up
        by their kinds, they have no numbers: None.
        """
        return 0


class Passes(ABC):
    """A prepared launch that is run for one pass after another, from pass 0 on.

    `is_timed` says whether somebody will ask how long the passes to come took.
    Also when `run` was left by an error, or by Ctrl-C, `begun` is the number of passes that the
    device has, or has done, and no part of another pass is done.
    """

    __slots__ = ("_ahead", "is_timed")

    def __init__(self) -> None:
        self._ahead = 0
        self.is_timed = False

    def count_from(self, first: int) -> None:
        """Give the next pass another number, which those behind it follow."""
        self._ahead = first - self.begun

    @property
    def next_number(self) -> int:
        """What the next pass is called."""
        return self._ahead + self.begun

    @property
    @abstractmethod
    def begun(self) -> int:
        """How many passes the device was given so far."""

    @property
    @abstractmethod
    def latest(self) -> Event:
        """Those of the last call of `run`, or the last of them; there must have been one.

        It is done when all passes so far are. Those that are timed say how long they took.
        """

    @abstractmethod
    def run(self, passes: int, after: Sequence[Event] = ()) -> None:
        """Give the device some more passes: the first after some work, each after the last one."""

    @abstractmethod
    def replace(self, position: int, argument: "Argument") -> None:
        """Set another argument for the passes to come."""


def events_of(work: Sequence[Event | Repeated]) -> tuple[Event, ...]:
    """Events as they are; of launches that are repeated, those of their last runs."""
    return tuple(one.latest if isinstance(one, Repeated) else one for one in work)


Argument: TypeAlias = Memory | Scalar | StructArgument


class Backend(Protocol):
    """One opened device.

    Copies, fills and launches start at once and may overlap and overtake each other: `after`
    names what must be done first. Until they are done they keep the host's bytes alive.
    """

    @property
    def device(self) -> DeviceInfo:
        """What was opened."""
        ...

    def compile(self, graph: KernelGraph, *, fast_math: bool = False) -> Executable:
        """Make a kernel ready to launch, or raise a `BuildError` that names the Python line.

        With `fast_math` it may round `a * b + c` once rather than twice.
        """
        ...

    def begin_compile(
        self, graph: KernelGraph, *, fast_math: bool = False
    ) -> Callable[[], Executable]:
        """Begin the same, as far as the host can do other things meanwhile.

        Calling the result does the rest, and returns or raises what `compile` would.
        """
        ...

    def allocate(self, nbytes: int) -> Memory:
        """Memory with undefined content; raises a `DeviceError` where there is not enough."""
        ...

    def can_share(self, address: int, nbytes: int) -> bool:
        """Whether `share` takes these bytes of the host; never without `shared_memory`."""
        ...

    def share(self, source: memoryview) -> Memory:
        """The host's own bytes as memory of the device; it keeps them alive.

        What a kernel wrote is there for the host when the kernel's event was waited for, and
        what the host wrote is there for kernels that are run afterwards.
        """
        ...

    def free(self, memory: Memory, after: Sequence[Event] = ()) -> None:
        """Give memory back, without waiting. `after` is the work on it that may be under way.

        The memory is kept, and handed out again when that work is done.
        """
        ...

    def trim(self) -> None:
        """Let go of all memory that was freed and kept, once the work on it is done."""
        ...

    def upload(
        self,
        memory: Memory,
        offset: int,
        source: memoryview,
        after: Sequence[Event] = (),
        rows: Rows | None = None,
    ) -> Event:
        """Copy host bytes to `offset` in device memory; with `rows`, only these pieces."""
        ...

    def download(
        self,
        memory: Memory,
        offset: int,
        target: memoryview,
        after: Sequence[Event] = (),
        rows: Rows | None = None,
    ) -> Event:
        """Copy device bytes from `offset` to the host; with `rows`, only these pieces."""
        ...

    def fill(
        self, memory: Memory, offset: int, nbytes: int, byte: int, after: Sequence[Event] = ()
    ) -> Event:
        """Set every byte of a range."""
        ...

    def prepare(
        self, executable: Executable, size: NDRange, arguments: Sequence[Argument]
    ) -> Prepared:
        """Decide all about a launch over a range that is not empty."""
        ...

    def run(self, prepared: Prepared, after: Sequence[Event] = ()) -> Event:
        """Run a kernel once for each work item of the range it was prepared for."""
        ...

    def repeated(self, prepared: Prepared) -> Repeated:
        """The same in fewer steps, for a launch that is run again and again."""
        ...

    def passes(self, prepared: Prepared) -> Passes:
        """The same for many passes. Nobody else may use what was prepared."""
        ...

    def flush(self) -> None:
        """See to it that all that was begun gets done, without waiting for it."""
        ...

    def all_begun(self) -> Event:
        """All that was begun so far, as one event: for work whose own event was lost by Ctrl-C."""
        ...

    def close(self) -> None:
        """Wait for everything and give the device back."""
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
        """`opencl`, `interpreter`, …"""
        ...

    def devices(self) -> Sequence[DeviceInfo]:
        """What this machine has; raises `DeviceUnavailableError` with the reason if nothing."""
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

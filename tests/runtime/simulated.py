"""A machine with any devices: each an interpreter that says it is something, and fails at will."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import cast

import pytest

from trilby.analysis.reach import KernelGraph
from trilby.backend import registry
from trilby.backend.base import (
    Argument,
    Backend,
    DeviceInfo,
    Executable,
    Memory,
    Ticket,
    Times,
)
from trilby.backend.immediate import ImmediateQueue
from trilby.backend.interpreter.interpreter_device import InterpreterBackend, InterpreterPrepared
from trilby.backend.interpreter.kernel_arguments import InterpreterMemory
from trilby.backend.interpreter.translate import KernelProgram
from trilby.backend.registry import Entry
from trilby.data.ndrange import NDRange
from trilby.data.ranges import Rows
from trilby.errors import BuildError, DeviceError, DeviceUnavailableError, OutOfDeviceMemoryError

GPU = DeviceInfo(
    backend="sim",
    index=0,
    name="Speedster 9000",
    kind="gpu",
    vendor="Nvidia Corp",
    driver="1.0",
    memory_bytes=1 << 30,
    compute_units=64,
    max_group_items=1024,
    features=frozenset({"f16", "i64_atomics"}),
)
CPU = replace(
    GPU,
    index=1,
    name="Steady CPU",
    kind="cpu",
    vendor="Maker",
    features=frozenset({"f64", "i64_atomics", "shared_memory"}),
)


class SimulatedQueue(ImmediateQueue):
    """A queue some of whose commands fail when they are waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.failures: dict[int, DeviceError] = {}

    def wait(self, number: int) -> None:
        if number in self.failures:
            raise self.failures[number]

    def times(self, number: int) -> Times | None:
        return None if number in self.failures else super().times(number)


class SimulatedPrepared(InterpreterPrepared):
    """A launch that fails as its device says."""

    def submit(self, times: int = 1, first_pass: int = 0, after: Sequence[Ticket] = ()) -> Ticket:
        device = cast("Simulated", self.owner)
        queue = device.compute
        for number in range(first_pass, first_pass + times):
            device.check_lost()
            device.runs += 1
            is_good = device.runs <= device.good_runs
            if not is_good and device.fails in {"run", "lost"}:
                device.is_lost = device.fails == "lost"
                raise DeviceError(f"run {device.runs} failed")
            super().submit(1, number, after)
            if not is_good and device.fails == "later":
                queue.failures[queue.submitted] = DeviceError("the kernel trapped")
        return Ticket(queue, queue.submitted)


class Simulated(InterpreterBackend):
    """One device. `fails` says at what it fails: `compile`, `allocate`, `run`, `later`, `lost`.

    A `run` fails after `good_runs` that go well, before it does anything. One that fails `later`
    has done its work, which may be half of it elsewhere, and says so when it is waited for. A
    `lost` device fails at a run, and does nothing after it.
    """

    def __init__(self, info: DeviceInfo, fails: str = "", good_runs: int = 0) -> None:
        super().__init__(info)
        self.compute = SimulatedQueue()
        self.fails = fails
        self.good_runs = good_runs
        self.runs = 0
        self.downloads = 0
        self.is_lost = False
        self.is_closed = False

    def compile(
        self, graph: KernelGraph, *, fast_math: bool = False
    ) -> Callable[[], KernelProgram]:
        if self.fails == "compile":
            raise BuildError("the compiler crashed")
        return super().compile(graph, fast_math=fast_math)

    def allocate(self, nbytes: int) -> InterpreterMemory:
        self.check_lost()
        if self.fails == "allocate":
            raise OutOfDeviceMemoryError(f"no room for {nbytes} bytes")
        return super().allocate(nbytes)

    def share(self, source: memoryview) -> InterpreterMemory | None:  # pyright: ignore[reportIncompatibleMethodOverride] -- the interpreter never shares
        if "shared_memory" not in self.device.features or not source.nbytes:
            return None
        return InterpreterMemory(source.nbytes, self, cast("bytearray", source))

    def upload(
        self,
        memory: Memory,
        offset: int,
        source: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        self.check_lost()
        return super().upload(memory, offset, source, after, rows)

    def download(
        self,
        memory: Memory,
        offset: int,
        target: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        self.check_lost()
        self.downloads += 1
        return super().download(memory, offset, target, after, rows)

    def prepare(
        self, executable: Executable, size: NDRange, arguments: Sequence[Argument]
    ) -> InterpreterPrepared:
        made = super().prepare(executable, size, arguments)
        return SimulatedPrepared(self, made.program, made.size, made.local, made.arguments)

    def close(self) -> None:
        self.is_closed = True
        super().close()

    def check_lost(self) -> None:
        if self.is_lost:
            raise DeviceError("the device is lost")


@dataclass
class Machine:
    """The devices of one family, `sim`; those in `asleep` do not open."""

    devices_: list[Simulated]
    asleep: set[int] = field(default_factory=set[int])
    name: str = "sim"

    def devices(self) -> Sequence[DeviceInfo]:
        return [one.device for one in self.devices_]

    def open(self, index: int) -> Backend:
        if index in self.asleep:
            raise DeviceUnavailableError(f"device {index} is asleep", advice="wake it")
        return self.devices_[index]


def machine(monkeypatch: pytest.MonkeyPatch, *devices: Simulated) -> Machine:
    """Let the machine have these devices, and the interpreter."""
    made = Machine(list(devices))
    monkeypatch.setitem(sys.modules, "simulated_family", SimpleNamespace(Family=lambda: made))  # pyright: ignore[reportArgumentType] -- as good as a module
    interpreter = next(entry for entry in registry.ENTRIES if entry.name == "interpreter")
    null = next(entry for entry in registry.ENTRIES if entry.name == "null")
    sim = Entry("sim", "simulated_family", "Family")
    monkeypatch.setattr(registry, "ENTRIES", (sim, interpreter, null))
    return made

"""Compute calls that start again on another device, or say why they do not."""

import logging
import math
import threading
from collections import ChainMap, UserList, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, ClassVar, cast

import numpy as np
import pytest
from tests.runtime.simulated import CPU, GPU, Machine, Simulated, machine

import trilby as tb
from trilby import ComputeContext, F64Array, KernelContext, NDArray, S32Array, f64, i32
from trilby.errors import BuildError, DeviceError, MissingFeatureError, OutOfDeviceMemoryError
from trilby.options import Transfers

START = np.arange(8, dtype=np.int32)


class Accelerator(tb.Accelerator):
    """One that ends with its test: devices that are lost say so when they are closed."""

    opened: ClassVar["list[Accelerator]"] = []

    def __init__(self, *args: Any, **wishes: Any) -> None:
        super().__init__(*args, **wishes)
        self.opened.append(self)


@pytest.fixture(autouse=True)
def _ends() -> Iterator[None]:
    yield
    while Accelerator.opened:
        with suppress(DeviceError):
            Accelerator.opened.pop().close()


@tb.kernel
def add_one(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = a.array[kc.x] + 1


@tb.kernel
def add(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    a.array[kc.x] = a.array[kc.x] + b.array[kc.x]


@tb.kernel
def fill(kc: KernelContext, a: S32Array, value: i32) -> None:
    a.array[kc.x] = value


@tb.kernel
def halve(kc: KernelContext, a: F64Array) -> None:
    a.array[kc.x] = a.array[kc.x] / f64(2.0)


@tb.kernel
def add_one_to_array(kc: KernelContext, a: NDArray[i32]) -> None:
    a[kc.x] = a[kc.x] + 1


@tb.compute
def add_two(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, add_one, a)
    cc.dispatch(a.length, add_one, a)


@tb.compute
def add_times(cc: ComputeContext, a: S32Array, times: int) -> int:
    total = 0
    seen: list[int] = []
    while times > 0:
        cc.dispatch(a.length, add_one, a)
        total += a.array[0]
        seen.append(total)
        times -= 1
    return total


@tb.compute
def halve_all(cc: ComputeContext, a: F64Array) -> None:
    cc.dispatch(a.length, halve, a)


@tb.compute
def add_both(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    cc.dispatch(a.length, add, a, b)
    cc.dispatch(a.length, fill, b, 7)


@tb.compute
def through_scratch(cc: ComputeContext, a: S32Array) -> None:
    scratch = S32Array.create(cc.accelerator, length=a.length)
    scratch.array[:] = 1
    cc.dispatch(a.length, add, a, scratch)
    cc.dispatch(a.length, add_one, a)


@tb.compute
def host_writes_between(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, add_one, a)
    a.array[0] = 100
    cc.dispatch(a.length, add_one, a)


@tb.compute
def calls_between(cc: ComputeContext, a: S32Array, tell: Callable[[int], None]) -> None:
    cc.dispatch(a.length, add_one, a)
    tell(1)
    cc.dispatch(a.length, add_one, a)


@tb.compute
def walks(cc: ComputeContext, buffers: Iterator[S32Array]) -> None:
    for buffer in buffers:
        cc.dispatch(buffer.length, add_one, buffer)


@tb.compute
def add_to_array(cc: ComputeContext, a: NDArray[i32], tell: Callable[[int], None]) -> None:
    cc.dispatch(a.shape[0], add_one_to_array, a)
    tell(2)


def numbers() -> S32Array:
    made = S32Array.create(length=len(START))
    made.array[:] = START
    return made


def content(buffer: Any) -> list[Any]:
    return np.asarray(buffer.array).tolist()


DISCRETE_CPU = replace(CPU, features=CPU.features - {"shared_memory"})


@pytest.fixture(params=[GPU, replace(GPU, features=GPU.features | {"shared_memory"})])
def first(request: pytest.FixtureRequest) -> Any:
    """A device with a memory of its own, and one that works on the host's."""
    return request.param


def of(monkeypatch: pytest.MonkeyPatch, *devices: Simulated) -> Accelerator:
    machine(monkeypatch, *devices)
    return Accelerator("sim:0", fallback=["cpu", "interpreter"], poison=True)


# ------------------------------------------------------------------------------ starting again


@pytest.mark.parametrize(
    ("fails", "reason"),
    [
        ("compile", "the compiler crashed"),
        ("run", "run 1 failed"),
        ("later", "the kernel trapped"),
        ("lost", "run 1 failed"),
    ],
)
@pytest.mark.parametrize("good_runs", [0, 1])
def test_the_next_device_starts_from_what_was_there(
    monkeypatch: pytest.MonkeyPatch, first: Any, fails: str, good_runs: int, reason: str
) -> None:
    accelerator = of(monkeypatch, Simulated(first, fails, good_runs), Simulated(CPU))
    a = numbers()
    accelerator.compute(add_two, a)
    assert content(a) == (START + 2).tolist()
    assert accelerator.device == CPU
    (record,) = accelerator.fallbacks
    assert (record.failed, record.used, record.function) == (first, CPU, "add_two")
    assert record.reason == reason.replace("1", str(good_runs + 1))
    accelerator.close()


@pytest.mark.parametrize("transfers", list(Transfers))
@pytest.mark.parametrize("fails", ["run", "later", "lost"])
@pytest.mark.parametrize("good_runs", [0, 1, 2, 5])
def test_the_host_may_look_in_between(
    monkeypatch: pytest.MonkeyPatch, transfers: Transfers, fails: str, good_runs: int
) -> None:
    accelerator = of(monkeypatch, Simulated(GPU, fails, good_runs), Simulated(DISCRETE_CPU))
    a = numbers()
    with accelerator.strategy(transfers):
        assert accelerator.compute(add_times, a, 4) == 1 + 2 + 3 + 4
    assert content(a) == (START + 4).tolist()
    assert len(accelerator.fallbacks) == (good_runs < 4)


def test_a_device_without_f64(monkeypatch: pytest.MonkeyPatch) -> None:
    accelerator = of(monkeypatch, Simulated(GPU), Simulated(CPU))
    a = F64Array.create(length=4)
    a.array[:] = [1, 2, 3, 4]
    accelerator.compute(halve_all, a)
    assert content(a) == [0.5, 1.0, 1.5, 2.0]
    (record,) = accelerator.fallbacks
    assert record.reason.startswith("Speedster 9000 has no `f64`, and ")


def test_a_device_without_room(monkeypatch: pytest.MonkeyPatch) -> None:
    accelerator = of(monkeypatch, Simulated(GPU, "allocate"), Simulated(CPU))
    a = numbers()
    accelerator.compute(lambda cc: add_two(cc, a))
    assert content(a) == (START + 2).tolist()
    assert accelerator.device == CPU


def test_several_devices_fail_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    accelerator = of(monkeypatch, Simulated(GPU, "lost", 1), Simulated(CPU, "later", 1))
    a = numbers()
    accelerator.compute(add_two, a)
    assert content(a) == (START + 2).tolist()
    assert [each.used.spec for each in accelerator.fallbacks] == ["sim:1", "interpreter:0"]
    accelerator.close()


def test_later_calls_stay_on_the_device_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, cpu = Simulated(GPU, "run", 2), Simulated(CPU)
    accelerator = of(monkeypatch, gpu, cpu)
    a, b = numbers(), numbers()
    accelerator.compute(add_two, a)  # goes well, and its result is on the device alone
    accelerator.compute(add_two, b)
    accelerator.compute(add_two, a)
    assert content(a) == (START + 4).tolist()
    assert content(b) == (START + 2).tolist()
    assert gpu.runs == 3
    assert len(accelerator.fallbacks) == 1
    accelerator.close()
    assert gpu.is_closed
    assert cpu.is_closed


def test_zeros_that_nobody_wrote_are_zeros_again(
    monkeypatch: pytest.MonkeyPatch, first: Any
) -> None:
    accelerator = of(monkeypatch, Simulated(first, "run", 1), Simulated(CPU))
    a = S32Array.create(length=4)
    accelerator.compute(add_two, a)
    assert content(a) == [2, 2, 2, 2]


def test_what_one_kernel_read_and_the_next_wrote(
    monkeypatch: pytest.MonkeyPatch, first: Any
) -> None:
    accelerator = of(monkeypatch, Simulated(first, "later", 1), Simulated(CPU))
    a, b = numbers(), numbers()
    accelerator.compute(add_both, a, b)
    assert content(a) == (START * 2).tolist()
    assert content(b) == [7] * len(START)


def test_memory_that_was_lent(monkeypatch: pytest.MonkeyPatch, first: Any) -> None:
    accelerator = of(monkeypatch, Simulated(first, "run"), Simulated(CPU))
    lent = START.copy()
    a = accelerator.array(lent)
    accelerator.compute(add_to_array, a, print)
    assert np.asarray(a).tolist() == (START + 1).tolist()
    del a
    assert lent.tolist() == (START + 1).tolist()
    assert len(accelerator.fallbacks) == 1


def test_buffers_that_are_made_on_the_way(monkeypatch: pytest.MonkeyPatch, first: Any) -> None:
    accelerator = of(monkeypatch, Simulated(first, "run", 1), Simulated(CPU))
    a = numbers()
    accelerator.compute(through_scratch, a)
    assert content(a) == (START + 2).tolist()


def test_a_build_that_fails_before_the_first_line_hinders_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    accelerator = of(monkeypatch, Simulated(GPU, "compile"), Simulated(CPU))
    a = numbers()
    accelerator.compute(host_writes_between, a)
    assert content(a) == [101, *(START + 2).tolist()[1:]]


def test_what_comes_after_the_failing_line_hinders_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    accelerator = of(monkeypatch, Simulated(GPU, "compile"), Simulated(CPU))
    told: list[int] = []
    a = accelerator.array(START.copy())
    accelerator.compute(add_to_array, a, told.append)
    assert np.asarray(a).tolist() == (START + 1).tolist()
    assert told == [2]


@tb.compute
def add_by_hand(cc: ComputeContext, a: S32Array, b: S32Array) -> int:
    with cc.explicit():
        cc.put(a).put(b)
        cc.dispatch(a.length, add, a, b)
        first = cc.get(a).accelerator.device.index + int(a.array[1])
        cc.dispatch(a.length, add_one, a)
        cc.get(a)
    return first


@pytest.mark.parametrize("fails", ["run", "later", "lost"])
@pytest.mark.parametrize("good_runs", [0, 1])
def test_copies_by_hand_are_made_again(
    monkeypatch: pytest.MonkeyPatch, fails: str, good_runs: int
) -> None:
    accelerator = of(monkeypatch, Simulated(GPU, fails, good_runs), Simulated(DISCRETE_CPU))
    a, b = numbers(), numbers()
    assert accelerator.compute(add_by_hand, a, b) == 1 + 2
    assert content(a) == (START * 2 + 1).tolist()
    assert accelerator.device == DISCRETE_CPU


@tb.raw(opencl="this is not OpenCL")
def one_more(value: i32) -> i32:
    return value + 1


@tb.kernel
def raise_each(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = one_more(a.array[kc.x])


@tb.compute
def raise_all(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, add_one, a)
    cc.dispatch(a.length, raise_each, a)


def test_a_real_compiler_that_refuses() -> None:
    with Accelerator("opencl", fallback=["interpreter"]) as accelerator:
        a = numbers()
        accelerator.compute(raise_all, a)
        assert content(a) == (START + 2).tolist()
        (record,) = accelerator.fallbacks
        assert (record.failed.backend, record.used.backend) == ("opencl", "interpreter")
        assert "refused `raise_each`" in record.reason


@pytest.mark.parametrize("memory", ["shared", "discrete"])
def test_a_real_device_that_does_not_fail(memory: Any) -> None:
    with Accelerator("opencl", fallback=["interpreter"], memory=memory, poison=True) as accelerator:
        a = numbers()
        for _ in range(3):
            accelerator.compute(add_two, a)
        assert accelerator.compute(add_times, a, 2) == 7 + 8
        assert content(a) == (START + 8).tolist()
        assert accelerator.fallbacks == ()


# -------------------------------------------------------------------------- not starting again


def test_a_host_that_wrote_in_between_is_told_that_this_cannot_be_undone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    accelerator = of(monkeypatch, Simulated(GPU, "run", 1), Simulated(CPU))
    a = numbers()
    with pytest.raises(DeviceError, match="run 2 failed") as caught:
        accelerator.compute(host_writes_between, a)
    assert "the call was not started again on another device: test_fallback.py:" in (
        caught.value.advice
    )
    assert "writes to a buffer (`a.array[0] = 100`), which cannot be undone" in (
        caught.value.advice
    )
    assert accelerator.fallbacks == ()
    assert accelerator.device == GPU


def test_code_that_is_not_known_cannot_be_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    accelerator = of(monkeypatch, Simulated(GPU, "later", 1), Simulated(CPU))
    told: list[int] = []
    with pytest.raises(DeviceError, match="the kernel trapped") as caught:
        accelerator.compute(calls_between, numbers(), told.append)
    assert "calls code that is not known (`tell(1)`)" in caught.value.advice
    assert told == [1]


def test_an_iterator_cannot_be_wound_back(monkeypatch: pytest.MonkeyPatch) -> None:
    accelerator = of(monkeypatch, Simulated(GPU, "run", 1), Simulated(CPU))
    with pytest.raises(DeviceError) as caught:
        accelerator.compute(walks, iter([numbers(), numbers()]))
    assert "`walks` is given an iterator, which may have moved on" in caught.value.advice


@tb.compute
def walks_all(cc: ComputeContext, many: list[Iterator[S32Array]]) -> None:
    for buffers in many:
        for buffer in buffers:
            cc.dispatch(buffer.length, add_one, buffer)


@dataclass
class World:
    grid: S32Array
    spare: list[S32Array]


class Counter:
    """An object whose operator leaves a trace."""

    count = 0

    def __lt__(self, other: int) -> bool:
        self.count += 1
        return self.count < other


COUNTER = Counter()


@tb.compute
def steps(cc: ComputeContext, world: World) -> None:
    for grid in [world.grid, *world.spare]:
        cc.dispatch(grid.length, add_one, grid)


@tb.compute
def compares(cc: ComputeContext, a: S32Array, things: list[Counter]) -> None:
    if things[0] < 3:
        cc.dispatch(a.length, add_one, a)


@tb.compute
def compares_a_global(cc: ComputeContext, a: S32Array) -> None:
    if COUNTER < 3:
        cc.dispatch(a.length, add_one, a)


@tb.compute
def adds_by_position(cc: ComputeContext, a: Any) -> None:
    np.add(a.array, 10, a.array)
    cc.dispatch(a.length, add_one, a)


@tb.compute
def adds_by_a_dictionary(cc: ComputeContext, a: Any) -> None:
    options = {"out": a.array}
    np.add(a.array, 10, **options)
    cc.dispatch(a.length, add_one, a)


@tb.compute
def puts_along_an_axis(cc: ComputeContext, a: Any) -> None:
    np.put_along_axis(a.array, np.array([0]), a.array[0] + 10, 0)
    cc.dispatch(a.length, add_one, a)


class Number(int):
    """A number whose operator leaves a trace."""

    def __add__(self, other: int) -> "Number":
        COUNTER.count += 1
        return self


class Holder:
    """Has such an object as an attribute of its class."""

    it = Counter()


class Meta(type):
    """A class of classes with an operator."""

    def __len__(cls) -> int:
        COUNTER.count += 1
        return 1


class Counted(metaclass=Meta):
    """Its length leaves a trace."""


@tb.compute
def uses(cc: ComputeContext, a: S32Array, thing: Any) -> None:
    cc.dispatch(a.length, add_one, a)
    _ = thing


HIDING: dict[str, Callable[[], object]] = {
    "a subclass of int": lambda: Number(3),
    "an attribute of a class": Holder,
    "a class": lambda: Holder,
    "a class of classes": lambda: Counted,
    "a list of another kind": lambda: UserList([iter([3])]),
    "a view of a dictionary": {1: Counter()}.values,
    "a read-only dictionary": lambda: MappingProxyType({1: Counter()}),
    "a chain": lambda: ChainMap({1: Counter()}),
    "an exception": lambda: ValueError(Counter()),
    "a thread's own": threading.local,
    "a dictionary that adds": lambda: defaultdict[int, int](int),
    "a generator": lambda: (n for n in range(3)),
}


@pytest.mark.parametrize("make", HIDING.values(), ids=HIDING)
def test_what_is_not_known_to_be_harmless_hinders(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[], object]
) -> None:
    accelerator = of(monkeypatch, Simulated(GPU, "run"), Simulated(CPU))
    with pytest.raises(DeviceError) as caught:
        accelerator.compute(uses, numbers(), [make()])
    assert "`uses` is given an" in caught.value.advice


HARMLESS: dict[str, object] = {
    "numbers": [1, 2.0, 3j, True, None, np.float32(4), Fraction(1, 3)],
    "records": [SimpleNamespace(x=[1]), {"k": {1, 2}}, World(numbers(), [])],
    "others": [Path("file"), np.arange(3), range(3), slice(3), add_one, math],
}


@pytest.mark.parametrize("things", HARMLESS.values(), ids=HARMLESS)
def test_what_only_computes_hinders_nothing(
    monkeypatch: pytest.MonkeyPatch, things: object
) -> None:
    accelerator = of(monkeypatch, Simulated(GPU, "run", 1), Simulated(CPU))
    a = numbers()
    accelerator.compute(uses, a, things)
    assert content(a) == (START + 1).tolist()


OUTER = [3]
LENT = np.zeros(8, np.int32)


@tb.compute
def pads(cc: ComputeContext, a: S32Array) -> None:
    np.pad(cast("Any", a.array), 1, cast("Any", print))
    cc.dispatch(a.length, add_one, a)


@tb.compute
def takes_one_of_outer(cc: ComputeContext, a: S32Array) -> None:
    one = max([OUTER], default=[0])
    one.append(1)
    cc.dispatch(a.length, add_one, a)


@tb.compute
def writes_to_wrapped(cc: ComputeContext, a: S32Array) -> None:
    lent = S32Array.bind(LENT, length=4)
    lent.array[0] += 1
    cc.dispatch(a.length, add_one, a)


@pytest.mark.parametrize("entry", [pads, takes_one_of_outer, writes_to_wrapped])
def test_what_is_not_the_functions_own_is_not_changed_twice(
    monkeypatch: pytest.MonkeyPatch, entry: Any
) -> None:
    accelerator = of(monkeypatch, Simulated(GPU, "run"), Simulated(CPU))
    with pytest.raises(DeviceError, match="which cannot be undone"):
        accelerator.compute(entry, numbers())


def test_plain_objects_hinder_nothing(monkeypatch: pytest.MonkeyPatch, first: Any) -> None:
    accelerator = of(monkeypatch, Simulated(first, "run", 1), Simulated(CPU))
    world = World(numbers(), [numbers()])
    accelerator.compute(steps, world)
    assert [content(one) for one in (world.grid, *world.spare)] == [(START + 1).tolist()] * 2


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (walks_all, "`walks_all` is given an iterator, which may have moved on"),
        (compares, "`compares` is given an object of the class `Counter`"),
        (compares_a_global, "`compares_a_global` uses an object of the class `Counter`"),
        (adds_by_position, "writes to a buffer (`np.add(a.array, 10, a.array)`)"),
        (adds_by_a_dictionary, "calls code that is not known"),
        (puts_along_an_axis, "writes to a buffer"),
    ],
)
def test_what_cannot_be_done_twice_is_not(
    monkeypatch: pytest.MonkeyPatch, entry: Any, reason: str
) -> None:
    accelerator = of(monkeypatch, Simulated(GPU, "run"), Simulated(CPU))
    a = numbers()
    given: dict[object, list[Any]] = {
        walks_all: [[iter([a])]],
        compares: [a, [Counter()]],
        compares_a_global: [a],
        adds_by_position: [a],
        adds_by_a_dictionary: [a],
        puts_along_an_axis: [a],
    }
    with pytest.raises(DeviceError) as caught:
        accelerator.compute(entry, *given.get(entry, []))
    assert reason in caught.value.advice
    assert accelerator.fallbacks == ()


def test_what_only_a_lost_device_had_is_not_replaced_by_anything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gpu = Simulated(GPU)
    accelerator = of(monkeypatch, gpu, Simulated(CPU))
    a = numbers()
    accelerator.compute(add_two, a)
    gpu.is_lost = True
    with pytest.raises(DeviceError, match="the device is lost") as caught:
        accelerator.compute(add_two, a)
    assert "something that only the device had is lost with it" in caught.value.advice
    with pytest.raises(DeviceError, match="the device is lost"):
        content(a)


def test_if_no_device_is_left_the_host_has_what_it_had(
    monkeypatch: pytest.MonkeyPatch, first: Any
) -> None:
    made = machine(monkeypatch, Simulated(first, "run", 1), Simulated(CPU))
    made.asleep = {1}
    accelerator = Accelerator("sim:0", fallback=["cpu"], poison=True)
    a = numbers()
    with pytest.raises(DeviceError, match="run 2 failed") as caught:
        accelerator.compute(add_two, a)
    (note,) = (note for note in caught.value.__notes__ if "left" in note)
    assert note == (
        "nothing is left to fall back on: no device fits `cpu`\n"
        "  sim:0 (Speedster 9000): it has failed before\n"
        "  sim:1 (Steady CPU): device 1 is asleep\n"
        "  interpreter:0 (Python interpreter): its kind is software, not cpu"
    )
    assert content(a) == START.tolist()
    assert accelerator.device == first


@pytest.mark.parametrize(
    ("fails", "error"),
    [("compile", BuildError), ("allocate", OutOfDeviceMemoryError), ("run", DeviceError)],
)
def test_nothing_happens_unless_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, fails: str, error: type[DeviceError]
) -> None:
    gpu = Simulated(GPU, fails)
    machine(monkeypatch, gpu, Simulated(CPU))
    accelerator = Accelerator(prefer=["gpu", "cpu"])
    with pytest.raises(error):
        accelerator.compute(add_two, numbers())
    assert accelerator.device == GPU
    assert accelerator.fallbacks == ()


def test_without_f64_and_without_a_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, Simulated(GPU), Simulated(CPU))
    with pytest.raises(MissingFeatureError):
        Accelerator(prefer=["gpu"]).compute(halve_all, F64Array.create(length=1))


def test_faults_of_the_program_are_not_the_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    accelerator = of(monkeypatch, Simulated(GPU), Simulated(CPU))
    with pytest.raises(IndexError):
        accelerator.compute(add_both, numbers(), S32Array.create(length=1))
    assert accelerator.fallbacks == ()


def test_a_closed_accelerator_does_not_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    accelerator = of(monkeypatch, Simulated(GPU), Simulated(CPU))
    accelerator.close()
    with pytest.raises(DeviceError, match="was closed"):
        accelerator.compute(add_two, numbers())
    assert accelerator.fallbacks == ()


def test_inside_of_a_guard_nothing_moves_to_another_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    accelerator = of(monkeypatch, Simulated(GPU, "run", 2), Simulated(CPU))
    a = numbers()
    accelerator.compute(add_two, a)
    content(a)
    with accelerator.guard(), pytest.raises(DeviceError) as caught:
        accelerator.compute(add_two, a)
    assert "inside of `accelerator.guard()` nothing may move" in caught.value.advice


# -------------------------------------------------------------------------------- what is told


def test_every_fallback_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    accelerator = of(monkeypatch, Simulated(GPU, "run"), Simulated(CPU))
    with caplog.at_level(logging.WARNING, "trilby"):
        accelerator.compute(add_two, numbers())
    (told,) = (record for record in caplog.records if record.levelno == logging.WARNING)
    line = add_two.function.__code__.co_firstlineno + 2
    assert told.getMessage() == (
        f"sim:0 could not run add_two (test_fallback.py:{line}), and sim:1 (Steady CPU) is used "
        "from now on: run 1 failed"
    )


def test_a_fallback_that_does_not_suit_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sharing = replace(GPU, features=GPU.features | {"shared_memory"})
    cpu = Simulated(DISCRETE_CPU)
    machine(monkeypatch, Simulated(sharing, "run"), cpu, Simulated(replace(CPU, index=2)))
    accelerator = Accelerator("sim:0", fallback=["cpu"], memory="shared")
    a = numbers()
    accelerator.compute(add_two, a)
    assert accelerator.device.spec == "sim:2"
    assert "sim:1 was passed over" in caplog.text
    assert cpu.is_closed


def test_a_ledger_goes_on_over_a_change_of_device(monkeypatch: pytest.MonkeyPatch) -> None:
    accelerator = of(monkeypatch, Simulated(GPU, "run", 1), Simulated(DISCRETE_CPU))
    a = numbers()
    with accelerator.record() as ledger:
        accelerator.compute(add_two, a)
        content(a)
    assert ledger.bytes_up == 2 * START.nbytes
    assert ledger.bytes_down == START.nbytes
    assert str(ledger)


# ------------------------------------------------------------------------------- what it costs


def test_only_with_another_device_is_anything_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def copies(**wishes: Any) -> int:
        gpu = Simulated(GPU)
        made: Machine = machine(monkeypatch, gpu, Simulated(CPU))
        accelerator = Accelerator("sim:0", **wishes)
        a = numbers()
        for _ in range(3):
            accelerator.compute(add_two, a)
        assert made.devices_[0].runs == 6
        return gpu.downloads

    assert copies() == 0
    assert copies(fallback=["accelerator"]) == 0
    assert copies(fallback=["cpu"]) == 2


def test_the_last_device_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = Simulated(DISCRETE_CPU)
    machine(monkeypatch, Simulated(GPU, "compile"), cpu)
    accelerator = Accelerator("sim:0", fallback=["cpu"])
    a = numbers()
    for _ in range(3):
        accelerator.compute(add_two, a)
    assert cpu.downloads == 0
    assert content(a) == (START + 6).tolist()

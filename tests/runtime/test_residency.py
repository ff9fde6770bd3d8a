"""What is on the device and when: nothing is lost, nothing stays, nothing stale is believed."""

import gc
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.runtime.conftest import Nulls, with_backend
from tests.runtime.programs import (
    Table,
    add,
    add_to,
    collect,
    copy,
    dispatch,
    fail_in_the_middle,
    number,
    one_if,
    plus_one,
    square_all,
    square_kernel,
)

import trilby as tb
from trilby import Accelerator, KernelContext, NDArray, S32Array, f32
from trilby.backend.base import Argument, Event, Executable, Memory, Prepared
from trilby.backend.done import DoneEvent
from trilby.backend.interpreter import InterpreterFamily
from trilby.backend.interpreter.device import InterpreterBackend, InterpreterPrepared
from trilby.backend.interpreter.memory import InterpreterMemory
from trilby.data.ndrange import NDRange
from trilby.errors import ArgumentValueError, DeviceError, KernelIndexError


class Watched(InterpreterBackend):
    """An interpreter that keeps what it allocated, and fails when it is told to."""

    def __init__(self) -> None:
        super().__init__(InterpreterFamily().devices()[0])
        self.memories: list[InterpreterMemory] = []
        self.launched: list[tuple[Argument, ...]] = []
        self.done: list[str] = []
        self.fail_at = ""

    def allocate(self, nbytes: int) -> InterpreterMemory:
        self._note("allocate")
        self.memories.append(super().allocate(nbytes))
        return self.memories[-1]

    def upload(
        self, memory: Memory, offset: int, source: memoryview, after: Sequence[Event] = ()
    ) -> DoneEvent:
        self._note("upload")
        return super().upload(memory, offset, source, after)

    def download(
        self, memory: Memory, offset: int, target: memoryview, after: Sequence[Event] = ()
    ) -> DoneEvent:
        self._note("download")
        return super().download(memory, offset, target, after)

    def prepare(
        self, executable: Executable, size: NDRange, arguments: Sequence[Argument]
    ) -> InterpreterPrepared:
        self.launched.append(tuple(arguments))
        return super().prepare(executable, size, arguments)

    def run(self, prepared: Prepared, after: Sequence[Event] = ()) -> DoneEvent:
        self._note("launch")
        return super().run(prepared, after)

    def _note(self, what: str) -> None:
        self.done.append(what)
        if what == self.fail_at:
            raise DeviceError(f"{what} failed")

    def content(self, number: int) -> bytes | None:
        held = self.memories[number].content
        return None if held is None else bytes(held)


def test_what_a_kernel_does_not_write_keeps_what_the_host_wrote(accelerator: Accelerator) -> None:
    a = S32Array.of(range(8))
    accelerator.compute(dispatch, 4, number, a)
    assert a.array.tolist() == [100, 101, 102, 103, 4, 5, 6, 7]
    a.array[0] = -1
    accelerator.compute(dispatch, 8, one_if, a, False)  # noqa: FBT003 -- the kernel's argument
    assert a.array.tolist() == [-1, 101, 102, 103, 4, 5, 6, 7]


def test_what_the_host_writes_between_two_launches_counts(accelerator: Accelerator) -> None:
    a, b = S32Array.of(range(4)), S32Array.create(length=4)
    for turn in range(3):
        a.array[turn] += 100
        accelerator.compute(dispatch, 4, copy, a, b)
        assert b.array.tolist() == a.array.tolist()


def test_a_stale_copy_is_poisoned_but_for_its_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Watched()
    accelerator = with_backend(monkeypatch, backend, poison=True)
    a = S32Array.of([1, 2])
    accelerator.compute(square_all, a)
    assert a.array.tolist() == [1, 4]
    assert backend.content(0) == b"\2\0\0\0" + b"\xa5" * 8


def test_what_stands_beside_a_length_is_poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Watched()
    accelerator = with_backend(monkeypatch, backend, poison=True)
    table = Table.create(length=1)
    accelerator.compute(dispatch, 1, collect, S32Array.of([2]), table)
    assert (table.count, table.row[0].key) == (1, 2)
    assert backend.content(1) == b"\xa5" * 4 + b"\1\0\0\0" + b"\xa5" * 8


def test_without_poison_a_copy_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Watched()
    accelerator = with_backend(monkeypatch, backend)
    a = S32Array.of([1, 2])
    accelerator.compute(square_all, a)
    assert backend.content(0) == b"\2\0\0\0" + b"\1\0\0\0" + b"\4\0\0\0"


def test_memory_is_allocated_once(null: Nulls) -> None:
    a = S32Array.of(range(8))
    for _ in range(3):
        null.accelerator.compute(square_all, a)
    counts = null.backend.counts
    assert (counts.allocations, counts.allocated_bytes) == (1, 36)
    assert (counts.launches, counts.work_items) == (3, 24)
    assert counts.frees == 0


def test_a_buffer_that_is_dropped_frees_its_memory(null: Nulls) -> None:
    a, b = S32Array.create(length=8), S32Array.create(length=1)
    null.accelerator.compute(square_all, a)
    null.accelerator.compute(square_all, b)
    del a
    gc.collect()
    assert (null.backend.counts.frees, null.backend.counts.freed_bytes) == (1, 36)
    null.accelerator.compute(square_all, b)
    assert null.backend.counts.allocations == 2


def test_closing_frees_what_is_left_and_the_host_keeps_it(
    monkeypatch: pytest.MonkeyPatch, interpreter: Accelerator
) -> None:
    backend = Watched()
    a = S32Array.of(range(4))
    with with_backend(monkeypatch, backend) as accelerator:
        accelerator.compute(square_all, a)
    assert backend.content(0) is None
    assert a.array.tolist() == [0, 1, 4, 9]
    interpreter.compute(square_all, a)
    assert a.array.tolist() == [0, 1, 16, 81]
    accelerator.close()  # once more is nothing
    del a
    gc.collect()  # and nothing is freed twice


def test_an_accelerator_that_is_dropped_frees_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Watched()
    a = S32Array.of(range(4))
    accelerator = with_backend(monkeypatch, backend)
    accelerator.compute(square_all, a)
    del accelerator
    gc.collect()
    assert backend.content(0) is None
    assert a.array.tolist() == [0, 1, 4, 9]


def test_a_range_of_zero_does_nothing(null: Nulls) -> None:
    a = S32Array.of(range(8))
    with null.accelerator.record() as ledger:
        for size in (0, (0, 3), (3, 0, 2), NDRange(0), NDRange((4, 0), local=(2, 2))):
            null.accelerator.compute(dispatch, size, add, a, 1)
    counts = null.backend.counts
    assert (counts.launches, counts.uploads, counts.allocations) == (0, 0, 0)
    assert ledger.copies == ()


def test_one_buffer_is_one_memory_however_often_it_is_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = Watched()
    accelerator = with_backend(monkeypatch, backend, poison=True)
    a = S32Array.of([1, 2, 3])
    accelerator.compute(dispatch, 3, add_to, a, a)
    ((left, right),) = backend.launched
    assert left is right
    assert a.array.tolist() == [2, 4, 6]


def test_buffers_that_come_and_go_leave_nothing_behind(null: Nulls) -> None:
    for length in range(1, 51):
        null.accelerator.compute(square_all, S32Array.create(length=length))
    gc.collect()
    counts = null.backend.counts
    assert (counts.allocations, counts.frees) == (50, 50)
    assert counts.allocated_bytes == counts.freed_bytes


Step: TypeAlias = tuple[str, int, int, int]

STEPS = st.tuples(
    st.sampled_from(["square", "add", "copy", "add_to", "number", "host"]),
    st.integers(0, 2),
    st.integers(0, 2),
    st.integers(0, 5),
)


def step_on_device(accelerator: Accelerator, step: Step, buffers: list[S32Array]) -> None:
    what, one, other, n = step
    a, b = buffers[one], buffers[other]
    match what:
        case "square":
            accelerator.compute(dispatch, n, square_kernel, a)
        case "add":
            accelerator.compute(dispatch, n, add, a, n)
        case "copy":
            accelerator.compute(dispatch, n, copy, a, b)
        case "add_to":
            accelerator.compute(dispatch, n, add_to, a, b)
        case "number":
            accelerator.compute(dispatch, n, number, a)
        case _:
            a.array[:n] = b.array[0]


def step_in_numpy(step: Step, buffers: list[npt.NDArray[np.int32]]) -> None:
    what, one, other, n = step
    a, b = buffers[one], buffers[other]
    match what:
        case "square":
            a[:n] *= a[:n]
        case "add":
            a[:n] += np.int32(n)
        case "copy":
            b[:n] = a[:n]
        case "add_to":
            a[:n] += b[:n]
        case "number":
            a[:n] = np.arange(100, 100 + n)
        case _:
            a[:n] = int(b[0])


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, max_size=12))
def test_any_sequence_of_steps_gives_what_numpy_gives(
    steps: list[Step], accelerator: Accelerator
) -> None:
    buffers = [S32Array.of(range(k, k + 5)) for k in range(3)]
    arrays = [np.arange(k, k + 5, dtype=np.int32) for k in range(3)]
    for step in steps:
        step_on_device(accelerator, step, buffers)
        with np.errstate(over="ignore"):
            step_in_numpy(step, arrays)
    assert [one.array.tolist() for one in buffers] == [one.tolist() for one in arrays]


@tb.kernel
def write_even_and_odd(kc: KernelContext, even: NDArray[f32], odd: NDArray[f32]) -> None:
    if kc.x % 2 == 0:
        even[kc.x] = 10.0
    else:
        odd[kc.x] = 20.0


def test_two_arrays_on_the_same_memory_are_one(accelerator: Accelerator) -> None:
    numbers = np.zeros(4, np.float32)
    left, right = accelerator.array(numbers), accelerator.array(numbers)
    accelerator.compute(dispatch, 4, write_even_and_odd, left, right)
    assert numbers.tolist() == [10.0, 20.0, 10.0, 20.0]


def test_memory_that_is_shared_in_part_is_refused_where_it_is_written(
    accelerator: Accelerator,
) -> None:
    numbers = np.arange(6, dtype=np.float32)
    left, right = accelerator.array(numbers[:4]), accelerator.array(numbers[2:])
    with pytest.raises(ArgumentValueError, match="`a` and `b` share a part of their memory"):
        accelerator.compute(dispatch, 4, plus_one, left, right)
    assert numbers.tolist() == [0, 1, 2, 3, 4, 5]
    out = accelerator.array(np.zeros(4, np.float32))
    accelerator.compute(dispatch, 4, add_both, left, right, out)
    assert out.tolist() == [2, 4, 6, 8]  # reading both is no problem
    behind = accelerator.array(numbers[4:])
    accelerator.compute(dispatch, 2, plus_one, left, behind)  # one begins where the other ends
    assert numbers.tolist() == [0, 1, 2, 3, 1, 2]


@tb.kernel
def add_both(kc: KernelContext, a: NDArray[f32], b: NDArray[f32], out: NDArray[f32]) -> None:
    out[kc.x] = a[kc.x] + b[kc.x]


@pytest.mark.parametrize("what", ["allocate", "upload", "launch", "download"])
def test_a_device_that_fails_leaves_the_host_as_it_was(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = Watched()
    accelerator = with_backend(monkeypatch, backend, poison=True)
    a, b = S32Array.of(range(4)), S32Array.of(range(4))
    backend.fail_at = what
    with pytest.raises(DeviceError, match=f"{what} failed") as caught:
        accelerator.compute(dispatch, 4, add_to, a, b)
    assert caught.value.location is not None
    assert caught.value.location.short.startswith("programs.py:")
    assert (a.array.tolist(), b.array.tolist()) == ([0, 1, 2, 3], [0, 1, 2, 3])
    backend.fail_at = ""
    accelerator.compute(dispatch, 4, add_to, a, b)
    assert a.array.tolist() == [0, 2, 4, 6]


def test_a_kernel_that_fails_midway_changes_nothing_on_the_host(interpreter: Accelerator) -> None:
    a = S32Array.of(range(8))
    with (
        interpreter.record() as ledger,
        pytest.raises(KernelIndexError, match=r"work item \(5, 0, 0\)"),
    ):
        interpreter.compute(dispatch, 8, fail_in_the_middle, a, 5)
    assert a.array.tolist() == list(range(8))
    assert ledger.downloads == ()
    interpreter.compute(dispatch, 8, fail_in_the_middle, a, 99)
    assert a.array.tolist() == [-1] * 8


def test_accelerators_share_a_buffer(interpreter: Accelerator) -> None:
    a = S32Array.of(range(4))
    with Accelerator("opencl", poison=True) as other:
        for one in (interpreter, other, interpreter, other):
            one.compute(dispatch, 4, add, a, 1)
    assert a.array.tolist() == [4, 5, 6, 7]


def test_a_buffer_on_the_users_own_memory(accelerator: Accelerator) -> None:
    memory = np.array([3, 1, 2, 3], np.int32)  # a length and three numbers
    accelerator.compute(square_all, S32Array.bind(memory))
    assert memory.tolist() == [3, 1, 4, 9]
    memory[1:] = [5, 6, 7]
    again = S32Array.bind(memory)
    accelerator.compute(square_all, again)
    assert memory.tolist() == [3, 25, 36, 49]

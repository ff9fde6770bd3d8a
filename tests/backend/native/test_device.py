"""The processor as a device: hand-written LLVM IR, real launches."""

import gc
import sys
import threading
import weakref
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from tests.backend.native.running import (
    REFUSE,
    SCALE,
    SPEND,
    Gate,
    download,
    row_kernel,
    scale,
    scaling,
    shared,
    talk,
    upload,
)
from tests.runtime.interrupting import Signal

from trilby.backend.base import Argument, Scalar, StructArgument, Ticket
from trilby.backend.immediate import ImmediateQueue
from trilby.backend.native import NativeBackend, NativeFamily, llvm
from trilby.backend.native.queue_code import COST
from trilby.backend.native.toolchain import Processor
from trilby.backend.null import NullHandle
from trilby.codegen.llvm.target import LlvmModule
from trilby.data.dtypes import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Number,
    ScalarType,
)
from trilby.data.ndrange import NDRange
from trilby.data.ranges import Rows
from trilby.data.schema import StructType
from trilby.errors import (
    ArgumentTypeError,
    BuildError,
    DeviceError,
    DeviceUnavailableError,
    KernelAssertionError,
    OutOfDeviceMemoryError,
    RangeError,
)

GRID = LlvmModule(
    """
define void @grid(ptr %args, ptr %launch, i64 %first, i64 %count) {
entry:
  %a = load ptr, ptr %args
  %stop = add i64 %first, %count
  br label %group
group:
  %g = phi i64 [ %first, %entry ], [ %next, %group ]
  %place = getelementptr [12 x i64], ptr %a, i64 %g
  call void @llvm.memcpy.p0.p0.i64(ptr %place, ptr %launch, i64 96, i1 false)
  %next = add i64 %g, 1
  %more = icmp ult i64 %next, %stop
  br i1 %more, label %group, label %out
out:
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
""",
    "grid",
    1,
)
"""Every group leaves what it is told about the launch."""

KEEP = LlvmModule(
    """
define void @keep(ptr %args, ptr %launch, i64 %first, i64 %count) {
  %a = load ptr, ptr %args
  %value_at = getelementptr i64, ptr %args, i64 1
  call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr %value_at, i64 8, i1 false)
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
""",
    "keep",
    1,
)
"""Leaves the slot of its second argument."""


# ------------------------------------------------------------------------------- launches


@pytest.mark.parametrize("items", [1, 31, 128, 129, 1000, 100_000, 3_000_000])
def test_every_work_item_of_a_range_runs_once(native: NativeBackend, items: int) -> None:
    numbers = np.arange(items + 5, dtype=np.int32)
    memory = upload(native, numbers)
    prepared = native.prepare(
        native.begin_build(SCALE, 2)(), NDRange(items), [memory, Scalar(I32, 3)]
    )
    expected = numbers
    for _ in range(4):  # the first is spread blindly, the others by what it took
        prepared.submit().wait()
        expected = np.where(numbers < items, expected * np.int32(3), expected)
        assert np.array_equal(download(native, memory, numbers), expected)


@pytest.mark.parametrize(
    ("size", "local", "groups"),
    [
        ((40, 30), (4, 5), (10, 6, 1)),
        ((33, 9), (8, 8), (5, 2, 1)),
        ((17, 9, 4), (4, 2, 2), (5, 5, 2)),
        ((100,), (64,), (2, 1, 1)),
    ],
)
def test_a_launch_is_told_its_range_and_its_groups(
    native: NativeBackend,
    size: tuple[int, ...],
    local: tuple[int, ...],
    groups: tuple[int, int, int],
) -> None:
    told = np.zeros((int(np.prod(groups)), 12), np.int64)
    memory = upload(native, told)
    native.prepare(native.begin_build(GRID, 1)(), NDRange(size, local), [memory]).submit().wait()
    expected = [*(*size, 1, 1)[:3], *(*local, 1, 1)[:3], *groups, 0, 0, 0]
    assert download(native, memory, told).tolist() == [expected] * len(told)


def test_uneven_work_is_done_by_all_and_done_once(native: NativeBackend) -> None:
    turns = np.where(np.arange(4000) % 100, 3, 20_000).astype(np.int32)
    expected = [_spent(int(n)) for n in (3, 20_000)]
    sums = np.zeros(4000, np.int32)
    arguments: list[Argument] = [upload(native, turns), upload(native, sums)]
    prepared = native.prepare(native.begin_build(SPEND, 2)(), NDRange(4000, 16), arguments)
    for _ in range(3):
        prepared.submit().wait()
    got = download(native, prepared.memories[1], sums)
    assert np.array_equal(got, np.where(turns == 3, expected[0], expected[1]))


def _spent(turns: int) -> int:
    total = 0
    for _ in range(turns):
        total = (total * 1103515245 + 12345) % 2**32
    return total - 2**32 if total >= 2**31 else total


@pytest.mark.parametrize(
    ("kind", "value", "dtype"),
    [
        (I8, -7, np.int8),
        (U8, 250, np.uint8),
        (I16, -30_000, np.int16),
        (U16, 65_000, np.uint16),
        (I32, -(2**31), np.int32),
        (U32, 2**32 - 1, np.uint32),
        (I64, -(2**63), np.int64),
        (U64, 2**64 - 1, np.uint64),
        (F32, 0.1, np.float32),
        (F64, 0.1, np.float64),
        (F16, 1.5, np.float16),
        (BF16, 1.5, BF16.numpy),
        (BOOL, True, np.bool_),
    ],
)
def test_a_number_arrives_as_it_was_given(
    native: NativeBackend, kind: ScalarType, value: Number, dtype: Any
) -> None:
    memory = native.allocate(8)
    arguments: list[Argument] = [memory, Scalar(kind, value)]
    native.prepare(native.begin_build(KEEP, 2)(), NDRange(1), arguments).submit().wait()
    slot = download(native, memory, np.zeros(8, np.uint8)).tobytes()
    expected = np.array(value, dtype).tobytes()
    assert slot == expected.ljust(8, b"\0")


def test_a_struct_arrives_as_the_address_of_its_bytes(native: NativeBackend) -> None:
    content = bytes(range(13))
    follow = LlvmModule(KEEP.text.replace("ptr %value_at,", "ptr %struct,").replace(
        "  call void", "  %struct = load ptr, ptr %value_at\n  call void"
    ), "keep", 1)  # fmt: skip
    memory = native.allocate(8)
    struct = StructArgument(StructType("S", ()), content)
    prepared = native.prepare(native.begin_build(follow, 2)(), NDRange(1), [memory, struct])
    prepared.submit().wait()
    assert download(native, memory, np.zeros(8, np.uint8)).tobytes() == content[:8]
    prepared.replace(1, StructArgument(StructType("S", ()), content[::-1]))
    prepared.submit().wait()
    assert download(native, memory, np.zeros(8, np.uint8)).tobytes() == content[::-1][:8]


def test_runs_under_way_keep_their_arguments(native: NativeBackend, gate: Gate) -> None:
    memory = upload_later(native, np.ones(1000, np.int32))
    prepared = scaling(native, memory, 2)
    prepared.submit()
    prepared.replace(1, Scalar(I32, 5))
    prepared.submit()
    prepared.replace(1, Scalar(I32, 7))
    prepared.submit()
    assert not gate.ticket.done
    gate.open()
    assert set(download(native, memory, np.zeros(1000, np.int32)).tolist()) == {70}


def upload_later(backend: NativeBackend, values: Any) -> Any:
    """Begin to upload, behind what waits for a gate."""
    memory = backend.allocate(values.nbytes)
    backend.upload(memory, 0, values.data.cast("B"))
    return memory


def test_arguments_that_are_missing_are_refused(native: NativeBackend) -> None:
    with pytest.raises(DeviceError, match="`scale` takes 2 arguments, and 1 are given"):
        native.prepare(native.begin_build(SCALE, 2)(), NDRange(1), [native.allocate(4)])


def test_many_threads_may_launch(native: NativeBackend) -> None:
    kernel = native.begin_build(SCALE, 2)()
    memories = [upload(native, np.full(5000, n, np.int32)) for n in range(8)]

    def work(number: int) -> None:
        for _ in range(20):
            scaling(native, memories[number], -1, kernel).submit().wait()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, memory in enumerate(memories):
        assert np.all(download(native, memory, np.zeros(5000, np.int32)) == number)


def test_launches_go_on_while_the_host_does_something_else(
    native: NativeBackend, gate: Gate
) -> None:
    memory = upload_later(native, np.full(4, 3, np.int32))
    first = scale(native, memory, 5)
    result = np.zeros(4, np.int32)
    last = native.download(memory, 0, result.data.cast("B"), [first])
    assert (first.done, last.done) == (False, False)
    gate.open()
    last.wait()
    assert (first.done, last.done) == (True, True)
    assert result.tolist() == [15] * 4
    times = native.compute.times(first.number)
    assert times is not None
    assert times.seconds > 0


def test_what_waits_for_another_device_waits_on_the_host(native: NativeBackend) -> None:
    waited: list[int] = []

    class Foreign(ImmediateQueue):
        def wait(self, number: int) -> None:
            waited.append(number)

    ticket = Ticket(Foreign(), 7)
    memory = upload(native, np.ones(4, np.int32))
    scale(native, memory, 2, [ticket])
    native.upload(memory, 0, np.ones(4, np.int32).data, [ticket])
    native.download(memory, 0, np.ones(4, np.int32).data, [ticket])
    native.fill(memory, 0, 4, 0, [ticket])
    assert waited == [7] * 4


def test_more_launches_than_the_queue_holds(native: NativeBackend) -> None:
    memory = upload(native, np.ones(3, np.int32))
    kernel = native.begin_build(SCALE, 2)()
    gate = Gate.on(native)
    prepared = scaling(native, memory, -1, kernel)
    opening = threading.Timer(0.2, gate.open)
    opening.start()
    for _ in range(10_001):
        prepared.submit()
    assert download(native, memory, np.zeros(3, np.int32)).tolist() == [-1] * 3
    opening.join()


def test_a_group_that_is_too_large_is_refused(native: NativeBackend) -> None:
    size = NDRange(8192, local=8192)
    with pytest.raises(RangeError, match="a group of 8192 work items is too large"):
        native.prepare(native.begin_build(SCALE, 2)(), size, [native.allocate(4), Scalar(I32, 1)])


def test_code_that_llvm_does_not_take_is_a_build_error(native: NativeBackend) -> None:
    with pytest.raises(BuildError, match="refused `broken`"):
        native.begin_build(LlvmModule("define void @broken() { ret i32 1 }", "broken", 1), 0)()
    unknown = row_kernel(
        "far", "", "call void @no_such_function()", "declare void @no_such_function()"
    )
    with pytest.raises(DeviceError, match="cannot be loaded"):
        native.begin_build(unknown, 0)()


def test_llvm_compiles_beside_what_python_does(
    native: NativeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled_by: list[str] = []
    make = llvm.object_code

    def compile_text(text: str, processor: Processor, *, as_written: bool) -> bytes:
        compiled_by.append(threading.current_thread().name)
        return make(text, processor, as_written=as_written)

    monkeypatch.setattr(llvm, "object_code", compile_text)
    native_anew = NativeBackend(native.engine, None, None)
    finish = native_anew.begin_build(SCALE, 2)
    memory = upload(native_anew, np.array([1, 2, 3], np.int32))
    prepared = native_anew.prepare(finish(), NDRange(3), [memory, Scalar(I32, 5)])
    prepared.submit().wait()
    assert download(native_anew, memory, np.zeros(3, np.int32)).tolist() == [5, 10, 15]
    assert compiled_by == ["trilby-compiler"]
    refused = native_anew.begin_build(LlvmModule("define void @no() { ret i32 1 }", "no", 1), 0)
    with pytest.raises(BuildError, match="refused `no`"):
        refused()


def test_ctrl_c_while_a_launch_is_dropped_leaves_what_the_queue_needs(
    native: NativeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = upload(native, np.ones(8, np.int32))
    prepared = scaling(native, memory, 3)
    record = weakref.ref(prepared.record)
    gate = Gate.on(native)
    ticket = prepared.submit()

    def press(_sequence: int, _thing: object) -> None:
        raise KeyboardInterrupt

    raised: list[type[BaseException]] = []

    def hear(what: "sys.UnraisableHookArgs") -> None:
        raised.append(what.exc_type)

    with monkeypatch.context() as patched:
        patched.setattr(native.engine, "keep", press)
        patched.setattr(sys, "unraisablehook", hear)
        del prepared
    assert raised == [KeyboardInterrupt]
    assert record() is not None
    gate.open()
    ticket.wait()
    assert download(native, memory, np.zeros(8, np.int32)).tolist() == [3] * 8


def test_a_launch_that_is_dropped_goes_when_it_is_over(native: NativeBackend) -> None:
    memory = upload(native, np.ones(8, np.int32))
    prepared = scaling(native, memory, 3)
    record = weakref.ref(prepared.record)
    gate = Gate.on(native)
    ticket = prepared.submit()
    del prepared
    assert record() is not None
    gate.open()
    ticket.wait()
    assert record() is None


def test_a_prepared_launch_runs_each_time(native: NativeBackend) -> None:
    memory = upload(native, np.ones(100, np.int32))
    other = upload(native, np.ones(100, np.int32))
    prepared = scaling(native, memory, 3)
    tickets = [prepared.submit() for _ in range(5)]
    assert [ticket.number - tickets[0].number for ticket in tickets] == [0, 1, 2, 3, 4]
    prepared.replace(0, other)
    prepared.submit(after=tickets)
    assert prepared.begun == 6
    assert set(download(native, memory, np.zeros(100, np.int32)).tolist()) == {3**5}
    assert set(download(native, other, np.zeros(100, np.int32)).tolist()) == {3}


def test_a_number_that_grows_much_may_make_a_launch_long(native: NativeBackend) -> None:
    prepared = scaling(native, upload(native, np.ones(4, np.int32)), 1)
    prepared.record[COST] = 100
    prepared.replace(1, Scalar(I32, 2))
    prepared.replace(1, Scalar(I32, 1000))
    assert prepared.record[COST] == 100
    prepared.replace(1, Scalar(I32, 10_000))
    assert prepared.record[COST] == 0


def test_a_prepared_launch_notices_that_its_memory_was_freed(native: NativeBackend) -> None:
    memory = upload(native, np.ones(4, np.int32))
    prepared = scaling(native, memory, 3)
    native.free(memory, [prepared.submit()])
    with pytest.raises(DeviceError, match="were freed"):
        prepared.submit()
    assert prepared.begun == 1


def test_a_prepared_launch_may_end_while_it_runs(native: NativeBackend, gate: Gate) -> None:
    memory = upload_later(native, np.ones(1000, np.int32))
    scaling(native, memory, 4).submit()
    scale(native, memory, 3)
    gc.collect()
    gate.open()
    assert set(download(native, memory, np.zeros(1000, np.int32)).tolist()) == {12}


# --------------------------------------------------------------------------------- memory


def test_an_interrupt_while_memory_is_taken_or_freed_leaves_no_lock(native: NativeBackend) -> None:
    native.free(native.allocate(100))
    for moment in range(200):
        signal = Signal(moment)
        with suppress(KeyboardInterrupt), signal:
            native.free(native.allocate(100))
        lock = native.arena._lock  # pyright: ignore[reportPrivateUsage]
        was_left = lock.locked()
        if was_left:
            lock.release()  # the device is closed afterwards
        assert not was_left, signal.where
        if signal.where is None:
            assert moment > 10
            return
    raise AssertionError


def test_copies_and_fills_take_parts(native: NativeBackend) -> None:
    numbers = np.arange(64, dtype=np.uint8)
    memory = upload(native, numbers)
    native.upload(memory, 10, np.full(5, 200, np.uint8).data)
    native.fill(memory, 60, 4, 7)
    part = np.zeros(10, np.uint8)
    native.download(memory, 8, part.data).wait()
    assert part.tolist() == [8, 9, 200, 200, 200, 200, 200, 15, 16, 17]
    assert download(native, memory, numbers)[58:].tolist() == [58, 59, 7, 7, 7, 7]


@pytest.mark.parametrize("megabytes", [1, 3, 20])
def test_large_copies_and_fills_are_whole(native: NativeBackend, megabytes: int) -> None:
    count = megabytes * 2**20 // 4 + 3
    numbers = np.random.default_rng(1).integers(-(2**31), 2**31 - 1, count, np.int32)
    memory = upload(native, numbers)
    assert np.array_equal(download(native, memory, numbers), numbers)
    native.fill(memory, 4, memory.nbytes - 8, 0xAB)
    got = download(native, memory, numbers).view(np.uint8)
    assert np.all(got[4:-4] == 0xAB)
    assert np.array_equal(got[:4], numbers.view(np.uint8)[:4])
    assert np.array_equal(got[-4:], numbers.view(np.uint8)[-4:])


def test_rows_are_copied_and_what_is_between_them_is_not(native: NativeBackend) -> None:
    numbers = np.arange(1000, dtype=np.uint8)
    memory = upload(native, np.zeros(1000, np.uint8))
    native.upload(memory, 0, numbers[:990].data, rows=Rows(3, 10))
    inside = np.arange(1000) % 10 < 3
    inside[990:] = False
    assert np.array_equal(download(native, memory, numbers), np.where(inside, numbers, 0))
    target = np.full(990, 99, np.uint8)
    native.download(memory, 0, target.data, rows=Rows(2, 10)).wait()
    assert np.array_equal(target, np.where(np.arange(990) % 10 < 2, numbers[:990], 99))


def test_no_bytes_are_no_error(native: NativeBackend) -> None:
    memory = native.allocate(0)
    empty = np.zeros(0, np.uint8)
    native.upload(memory, 0, empty.data).wait()
    native.download(memory, 0, empty.data).wait()
    native.fill(memory, 0, 0, 0).wait()
    native.free(memory)


def test_an_upload_keeps_the_bytes_alive_until_it_is_done(
    native: NativeBackend, gate: Gate
) -> None:
    memory = native.allocate(4_000_000)
    native.upload(memory, 0, np.full(1_000_000, 7, np.int32).data.cast("B"))
    gc.collect()
    others = [np.full(1_000_000, 9, np.int32) for _ in range(3)]
    gate.open()
    assert np.all(download(native, memory, others[0]) == 7)


@pytest.mark.parametrize("offset", [-1, 5])
def test_a_copy_beyond_the_end_is_an_error(native: NativeBackend, offset: int) -> None:
    memory = native.allocate(8)
    four = np.zeros(4, np.uint8)
    for call in (native.upload, native.download):
        with pytest.raises(DeviceError, match="in 8 bytes of native:0"):
            call(memory, offset, four.data)
    with pytest.raises(DeviceError, match="in 8 bytes of native:0"):
        native.fill(memory, offset, 4, 0)


def test_the_hosts_memory_is_used_in_place(native: NativeBackend) -> None:
    numbers = np.arange(1000, dtype=np.int32)
    memory = shared(native, numbers)
    scale(native, memory, 3).wait()
    assert np.array_equal(numbers, np.arange(1000) * 3)
    numbers[:] = 1
    scale(native, memory, 3).wait()
    assert np.all(numbers == 3)


def test_shared_memory_lives_until_the_work_on_it_is_done(
    native: NativeBackend, gate: Gate
) -> None:
    def begin() -> "weakref.ref[Any]":
        numbers = np.ones(1_000_000, np.int32)
        memory = shared(native, numbers)
        ticket = scale(native, memory, 3)
        native.free(memory, [ticket])
        return weakref.ref(numbers)

    numbers = begin()
    gc.collect()
    assert numbers() is not None
    gate.open()
    native.engine.wait(native.engine.submitted)
    gc.collect()
    assert numbers() is None


def test_what_cannot_be_shared_is_refused(native: NativeBackend) -> None:
    numbers = np.zeros(65, np.uint8)
    start = -numbers.ctypes.data % 8
    assert native.share(numbers[start : start + 56].data) is not None
    for source in (numbers[start + 1 :].data, memoryview(b"read-only"), memoryview(bytearray())):
        assert native.share(source) is None


def test_freed_memory_cannot_be_used(native: NativeBackend) -> None:
    memory = native.allocate(8)
    native.free(memory)
    for use in (
        lambda: native.free(memory),
        lambda: native.fill(memory, 0, 1, 0),
        lambda: scale(native, memory, 1),
    ):
        with pytest.raises(DeviceError, match="8 bytes of native:0 were freed"):
            use()


def test_freed_memory_is_handed_out_again(native: NativeBackend, gate: Gate) -> None:
    memory = upload_later(native, np.ones(1000, np.int32))
    assert memory.block is not None
    address = memory.block.address
    result = np.zeros(1000, np.int32)
    native.download(memory, 0, result.data.cast("B"))
    native.free(memory)
    again = native.allocate(3999)
    assert again.block is not None
    assert (again.block.address, address % 64) == (address, 0)
    native.fill(again, 0, 3999, 0xFF)
    gate.open()
    native.engine.wait(native.engine.submitted)
    assert np.all(result == 1)
    native.free(again)
    held = native.arena.held
    native.arena.trim()
    assert (held, native.arena.held, native.arena.kept) == (4032, 0, 0)


def test_too_much_memory_is_refused_with_figures(native: NativeBackend) -> None:
    total = native.device.memory_bytes
    kept = native.allocate(1000)
    with pytest.raises(OutOfDeviceMemoryError, match=f"no room for {2 * total:,} bytes"):
        native.allocate(2 * total)
    with pytest.raises(OutOfDeviceMemoryError, match=f"memory is {total:,} bytes in all, 1,024 of"):
        native.allocate(total)
    native.free(kept)


def test_what_other_backends_made_is_refused(native: NativeBackend) -> None:
    memory = NullHandle(4)
    other = NativeFamily().open(0)
    elsewhere = other.allocate(4)
    for use in (
        lambda: native.free(memory),
        lambda: native.fill(memory, 0, 1, 0),
        lambda: native.fill(elsewhere, 0, 1, 0),
        lambda: native.free(elsewhere),
        lambda: native.prepare(NullHandle(), NDRange(1), []),
        lambda: scaling(native, elsewhere, 2),
    ):
        with pytest.raises(ArgumentTypeError, match="which another accelerator made"):
            use()
    other.close()


def test_a_closed_device_says_so() -> None:
    native = NativeFamily().open(0)
    memory = upload(native, np.ones(4, np.int32))
    prepared = scaling(native, memory, 2)
    native.close()
    native.close()
    for use in (
        lambda: native.allocate(1),
        lambda: native.begin_build(SCALE, 2),
        lambda: native.fill(memory, 0, 1, 0),
        lambda: native.share(memoryview(bytearray(8))),
        prepared.submit,
        lambda: native.prepare(prepared.executable, NDRange(1), []),
    ):
        with pytest.raises(DeviceError, match="was closed"):
            use()
    native.free(memory)
    assert native.arena.held == 0


def test_there_is_one_device() -> None:
    family = NativeFamily()
    (device,) = family.devices()
    assert (device.spec, device.kind) == ("native:0", "cpu")
    assert "shared_memory" in device.features
    with pytest.raises(DeviceUnavailableError, match="no `native:1`"):
        family.open(1)


# ------------------------------------------------------------------------------ debugging


def test_an_assertion_that_fails_is_raised_where_it_is_waited_for(native: NativeBackend) -> None:
    numbers = np.ones(1000, np.int32)
    numbers[437] = -1
    memory = upload(native, numbers)
    kernel = native.begin_build(REFUSE, 1)()
    assert (kernel.asserts, kernel.prints) == (True, False)
    prepared = native.prepare(kernel, NDRange(1000), [memory])
    ticket = prepared.submit()
    with pytest.raises(KernelAssertionError):
        ticket.wait()
    with pytest.raises(KernelAssertionError) as caught:
        ticket.wait()
    assert caught.value.problem == "`assert v >= 0` does not hold, in work item (437, 0, 0)"
    assert caught.value.location is not None
    assert caught.value.location.line == 7
    native.fill(memory, 0, 4000, 0)
    prepared.submit().wait()
    prepared.submit(3).wait()


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        (I32, -3, "-3"),
        (F32, 0.1, "0.1"),
        (BOOL, True, "True"),
        (U64, 2**63, str(2**63)),
        (F16, 2, "2"),
    ],
)
def test_a_kernel_prints(
    native: NativeBackend,
    capsys: pytest.CaptureFixture[str],
    kind: ScalarType,
    value: Number,
    shown: str,
) -> None:
    kernel = native.begin_build(talk(kind), 1)()
    assert (kernel.asserts, kernel.prints) == (False, True)
    prepared = native.prepare(kernel, NDRange(40, 1), [Scalar(kind, value)])
    for _ in range(2):
        prepared.submit().wait()
    assert capsys.readouterr().out == f"says {shown}\n" * 80

"""Profiles: figures of a device that says what the test told it, and of those that compute."""

import gc
import json
import threading
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.runtime.conftest import Nulls, with_backend
from tests.runtime.devices import Clocked, ClockedQueue, Watched
from tests.runtime.programs import Table, add, add_to, collect, copy, dispatch, number, square_all
from tests.runtime.simulated import CPU, GPU, Simulated, machine

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, S32Array, Transfers
from trilby.errors import DeviceError, KernelAssertionError
from trilby.runtime import profile as profile_module
from trilby.runtime import watch
from trilby.runtime.profile import Copies, Profile, time_text
from trilby.runtime.profiles import PROFILES

EIGHT = 8 * 4
NONE = Copies(0, 0, 0.0)


@tb.compute
def from_two_lines(cc: ComputeContext, a: S32Array, times: int) -> None:
    for _ in range(times):
        cc.dispatch(a.length, add, a, 1)
        cc.dispatch(a.length, add, a, 1)


@tb.compute
def often(cc: ComputeContext, a: S32Array, times: int) -> None:
    for _ in range(times):
        cc.dispatch(a.length, add, a, 1)


@tb.compute
def by_turns(cc: ComputeContext, a: S32Array, b: S32Array, times: int) -> None:
    for _ in range(times):
        cc.dispatch(a.length, add, a, 1)
        cc.dispatch(b.length, add, b, 2)


@tb.kernel
def positive(kc: KernelContext, a: S32Array) -> None:
    assert a.array[kc.x] > 0


@pytest.fixture
def clocked(monkeypatch: pytest.MonkeyPatch) -> tuple[Accelerator, Clocked]:
    backend = Clocked()
    return with_backend(monkeypatch, backend), backend


def book_of(profile: Profile) -> Any:
    """What is behind a profile, with the names of its own."""
    return profile.book


def lines(profile: Profile) -> list[tuple[str, int, int]]:
    """Kernel, count and how many failed of every row."""
    return [(row.kernel, row.count, row.failed) for row in profile.dispatches]


# ------------------------------------------------------------------------------ what is added up


def test_times_of_launches(clocked: tuple[Accelerator, Clocked]) -> None:
    accelerator, backend = clocked
    backend.runs = [(0.5, 8.0), (0.25, 2.0), (0.0, 4.0)]
    a = S32Array.create(length=8)
    with accelerator.profile() as profile:
        accelerator.compute(often, a, 3)
    (row,) = profile.dispatches
    assert (row.kernel, row.location.file, row.count, row.failed) == ("add", __file__, 3, 0)
    assert row.location.line == often.function.__code__.co_firstlineno + 3
    assert (row.execute_seconds, row.least_seconds, row.most_seconds) == (14.0, 2.0, 8.0)
    assert row.mean_seconds == 14.0 / 3
    assert (row.delay_seconds, row.mean_delay_seconds) == (0.75, 0.25)
    assert profile.total.execute_seconds == 14.0
    assert profile.total.dispatches == 3


def test_a_line_has_the_launches_that_it_dispatched(clocked: tuple[Accelerator, Clocked]) -> None:
    accelerator, backend = clocked
    backend.runs = [(0.0, float(1 << turn)) for turn in range(8)]
    with accelerator.profile() as profile:
        accelerator.compute(from_two_lines, S32Array.create(length=8), 4)
    first, second = profile.dispatches
    assert (first.count, first.execute_seconds) == (4, 1.0 + 4 + 16 + 64)
    assert (second.count, second.execute_seconds) == (4, 2.0 + 8 + 32 + 128)
    assert second.location.line == first.location.line + 1


def test_a_line_has_its_launches_also_where_they_are_held_back(discrete: Accelerator) -> None:
    a = S32Array.create(length=8)
    discrete.compute(often, a, 200)
    with discrete.profile() as profile:
        discrete.compute(from_two_lines, a, 150)
        discrete.compute(often, a, 70)
        discrete.compute(from_two_lines, a, 10)
    assert [row.count for row in profile.dispatches] == [160, 160, 70]
    assert a.array.tolist() == [200 + 2 * 160 + 70] * 8


def test_copies_of_buffers_and_for_launches(clocked: tuple[Accelerator, Clocked]) -> None:
    accelerator, backend = clocked
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    backend.copies = [(0.0, 3.0), (0.0, 5.0), (0.0, 7.0)]
    with accelerator.profile() as profile:
        accelerator.compute(dispatch, 8, add_to, a, b)
        assert a.array.tolist() == [2 * i for i in range(8)]
    assert [(row.buffer, row.field) for row in profile.buffers] == [("a", "array"), ("b", "array")]
    of_a, of_b = profile.buffers
    assert (of_a.copy_in, of_a.copy_out) == (Copies(1, EIGHT, 3.0), Copies(1, EIGHT, 7.0))
    assert (of_b.copy_in, of_b.copy_out) == (Copies(1, EIGHT, 5.0), NONE)
    (row,) = profile.dispatches
    assert (row.copy_in, row.copy_out) == (Copies(2, 2 * EIGHT, 8.0), Copies(1, EIGHT, 7.0))
    assert (profile.total.copy_in, profile.total.copy_out) == (row.copy_in, row.copy_out)


def test_what_was_put_went_for_the_launch_that_uses_it(
    clocked: tuple[Accelerator, Clocked], monkeypatch: pytest.MonkeyPatch
) -> None:
    accelerator, backend = clocked
    monkeypatch.setattr(profile_module, "MOST_UNREAD", 0)  # what a copy took is read at once
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    backend.copies = [(0.0, 3.0), (0.0, 5.0)]
    with accelerator.profile() as profile:
        accelerator.put(a, b)
        accelerator.compute(dispatch, 8, number, S32Array.create(length=8))
        accelerator.compute(dispatch, 8, add, b, 1)
    rows = {row.kernel: row.copy_in for row in profile.dispatches}
    assert rows == {"number": NONE, "add": Copies(1, EIGHT, 5.0)}
    assert profile.total.copy_in == Copies(2, 2 * EIGHT, 8.0)


def test_several_fields_at_once_have_no_name(interpreter: Accelerator) -> None:
    table = Table.create(length=4)
    table.row.key[:] = 1
    table.count = 0
    with interpreter.profile() as profile, interpreter.strategy(Transfers.ALWAYS):
        interpreter.compute(dispatch, 4, collect, S32Array.of([1, 2, 3, 4]), table)
    assert {(row.buffer, row.field) for row in profile.buffers} == {("a", ""), ("table", "")}


@pytest.mark.parametrize("transfers", Transfers)
def test_bytes_are_those_of_the_ledger(discrete: Accelerator, transfers: Transfers) -> None:
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    c = discrete.array(np.arange(6, dtype=np.int32))
    with (
        discrete.strategy(transfers),
        discrete.record() as ledger,
        discrete.profile() as profile,
    ):
        for turn in range(3):
            discrete.compute(dispatch, 8, copy, a, b)
            discrete.compute(square_all, b)
            a.array[turn] = b.array[turn + 1]
            discrete.compute(dispatch, 6, tb_negate, c)
        assert c[:].tolist() == [0, -1, -2, -3, -4, -5]
    total = profile.total
    assert (total.copy_in.nbytes, total.copy_out.nbytes) == (ledger.bytes_up, ledger.bytes_down)
    assert (total.copy_in.count, total.copy_out.count) == (
        len(ledger.uploads),
        len(ledger.downloads),
    )
    seconds = sum(one.seconds for one in ledger.copies)
    assert total.copy_in.seconds + total.copy_out.seconds == pytest.approx(seconds)
    by_buffer: dict[str, int] = {}
    for one in ledger.copies:
        by_buffer[one.buffer] = by_buffer.get(one.buffer, 0) + one.nbytes
    found: dict[str, int] = {}
    for row in profile.buffers:
        found[row.buffer] = found.get(row.buffer, 0) + row.copy_in.nbytes + row.copy_out.nbytes
    assert found == by_buffer


@tb.kernel
def tb_negate(kc: KernelContext, a: NDArray[tb.i32]) -> None:
    a[kc.x] = -a[kc.x]


def test_what_moves_the_least_moves_for_its_dispatches(discrete: Accelerator) -> None:
    """With the default strategy every copy has a dispatch that it is for or of."""
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    with discrete.profile() as profile:
        discrete.compute(dispatch, 8, copy, a, b)
        discrete.compute(dispatch, 8, add, b, 1)
        assert b.array.tolist() == list(range(1, 9))
    rows = profile.dispatches
    assert [row.copy_in.nbytes for row in rows] == [EIGHT, 0]
    assert [row.copy_out.nbytes for row in rows] == [0, EIGHT]


def test_nothing_is_copied_where_the_memory_is_the_hosts(shared: Accelerator) -> None:
    a = S32Array.of(range(8))
    with shared.profile() as profile:
        shared.compute(often, a, 40)
        assert a.array[0] == 40
    assert profile.buffers == ()
    assert profile.total.dispatches == 40
    assert profile.total.execute_seconds > 0


def test_the_null_device_measures_nothing(null: Nulls) -> None:
    a = S32Array.of(range(8))
    with null.accelerator.profile() as profile:
        null.accelerator.compute(often, a, 5)
        _ = a.array[0]
    total = profile.total
    assert (total.dispatches, total.execute_seconds, total.wait_seconds) == (5, 0.0, 0.0)
    assert total.copy_in == Copies(1, EIGHT, 0.0)
    assert profile.devices == ("null:0 (Null device): it measures nothing",)


def test_who_measures_is_said(accelerator: Accelerator) -> None:
    with accelerator.profile() as profile:
        pass
    by_host = accelerator.device.backend == "interpreter"
    (text,) = profile.devices
    assert text.endswith("measured by the host's clock" if by_host else "measured by the device")
    assert text.startswith(f"{accelerator.device.spec} ({accelerator.device.name}): ")
    assert str(profile).startswith(f"{text}\n\ntotal: 0 dispatches")


# ------------------------------------------------------------------------------------ when


def test_what_is_outside_of_the_block_does_not_count(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    discrete.compute(often, a, 70)
    with discrete.profile() as profile:
        discrete.compute(often, a, 50)
    discrete.compute(often, a, 60)
    assert lines(profile) == [("add", 50, 0)]
    assert a.array.tolist() == [i + 180 for i in range(8)]
    assert profile.buffers == ()


def test_profiles_inside_of_each_other(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    with discrete.profile() as outer:
        discrete.compute(often, a, 40)
        with discrete.profile() as inner:
            discrete.compute(often, a, 45)
            with discrete.profile() as innermost:
                discrete.compute(often, a, 35)
        discrete.compute(often, a, 41)
    counts = [one.total.dispatches for one in (outer, inner, innermost)]
    assert counts == [40 + 45 + 35 + 41, 45 + 35, 35]
    assert PROFILES == []


def test_one_looks_while_it_goes_on(discrete: Accelerator) -> None:
    a = S32Array.create(length=8)
    with discrete.profile() as profile:
        discrete.compute(often, a, 40)
        assert lines(profile) == [("add", 40, 0)]
        before = profile.total.execute_seconds
        discrete.compute(often, a, 5)
        assert lines(profile) == [("add", 45, 0)]
    assert profile.total.execute_seconds > before > 0


def test_what_another_accelerator_does_does_not_count() -> None:
    a = S32Array.of(range(8))
    one, other = Accelerator("interpreter"), Accelerator("null")
    with one.profile() as profile:
        other.compute(often, a, 5)
        one.compute(often, a, 3)
    assert lines(profile) == [("add", 3, 0)]


def test_all_threads_count(discrete: Accelerator) -> None:
    buffers = [S32Array.create(length=8) for _ in range(4)]
    with discrete.profile() as profile:
        threads = [
            threading.Thread(target=discrete.compute, args=(often, one, 100)) for one in buffers
        ]
        for thread in threads:
            thread.start()
        for _ in range(20):
            assert profile.total.dispatches <= 400
        for thread in threads:
            thread.join()
    assert lines(profile) == [("add", 400, 0)]
    assert all(one.array.tolist() == [100] * 8 for one in buffers)


def test_many_launches_and_copies_are_read_on_the_way(
    discrete: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile_module, "MOST_UNREAD", 5)
    with discrete.profile() as profile:
        book = book_of(profile)
        for turn in range(8):
            a = S32Array.of([turn] * 8)
            discrete.compute(often, a, 9)
            assert a.array[0] == turn + 9
            assert len(book._unread) <= 12
    assert lines(profile) == [("add", 72, 0)]
    assert profile.total.copy_in == Copies(8, 8 * EIGHT, profile.total.copy_in.seconds)
    assert profile.total.copy_out.count == 8


@pytest.mark.parametrize("name", ["opencl", "native"])
def test_a_profile_is_complete_when_all_that_it_is_about_is_gone(name: str) -> None:
    with Accelerator(name, memory="discrete") as accelerator:
        a = S32Array.of(range(8))
        with accelerator.profile() as profile:
            accelerator.compute(often, a, 200)
            assert a.array.tolist() == [i + 200 for i in range(8)]
            a.array[0] = 5
            accelerator.compute(often, a, 3)
        accelerator.compute(often, a, 10)
        del a
        gc.collect()
    del accelerator
    gc.collect()
    (row,) = profile.dispatches
    assert (row.kernel, row.count, row.failed) == ("add", 203, 0)
    assert row.execute_seconds >= row.most_seconds >= row.mean_seconds >= row.least_seconds > 0
    assert (row.copy_in.count, row.copy_in.nbytes) == (2, EIGHT + 4)
    assert (row.copy_out.count, row.copy_out.nbytes) == (1, EIGHT)
    assert [(one.buffer, one.field) for one in profile.buffers] == [("a", "array")]
    assert row.copy_in.seconds > 0
    assert row.copy_out.seconds > 0


def test_buffers_that_come_and_go_do_not_pile_up(discrete: Accelerator) -> None:
    memories: list[weakref.ref[Any]] = []
    with discrete.profile() as profile:
        for turn in range(12):
            a, unused = S32Array.of([turn] * 8), S32Array.of(range(8))
            memories += [weakref.ref(one.segment.memory) for one in (a, unused)]
            discrete.put(unused)
            discrete.compute(often, a, 3)
            assert a.array[0] == turn + 3
            discrete.wait()
            gc.collect()
            assert sum(memory() is not None for memory in memories) <= 8
    assert lines(profile) == [("add", 36, 0)]
    (row,) = profile.dispatches
    assert (row.copy_in.count, row.copy_out.count) == (12, 12)
    assert profile.total.copy_in.nbytes == 24 * EIGHT


def test_what_was_put_and_not_used_is_forgotten_in_time(
    discrete: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile_module, "_MOST_UNUSED", 3)
    buffers = [S32Array.of(range(8)) for _ in range(6)]
    with discrete.profile() as profile:
        discrete.put(*buffers)
        assert profile.total.copy_in.count == 6
        assert len(book_of(profile)._unused) == 3
        discrete.compute(dispatch, 8, add, buffers[0], 1)  # forgotten: its copy came for nobody
        discrete.compute(dispatch, 8, add, buffers[5], 1)
    assert [row.copy_in.count for row in profile.dispatches] == [1]
    assert profile.total.copy_in.count == 6


# --------------------------------------------------------------------------------- failures


def test_runs_that_fail_are_counted_and_took_no_time(clocked: tuple[Accelerator, Clocked]) -> None:
    accelerator, backend = clocked
    backend.runs = [(1.0, 4.0), (0.0, 2.0), None]
    backend.is_late = True
    a = S32Array.create(length=8)
    with accelerator.profile() as profile:
        accelerator.compute(often, a, 3)
        with pytest.raises(DeviceError):
            _ = a.array[0]
    (row,) = profile.dispatches
    assert (row.count, row.failed) == (3, 1)
    assert (row.execute_seconds, row.mean_seconds, row.least_seconds) == (6.0, 3.0, 2.0)
    assert "3 (1 failed)" in str(profile)


def test_launches_that_a_device_refuses_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Watched()
    accelerator = with_backend(monkeypatch, backend)
    a = S32Array.create(length=8)
    with accelerator.profile() as profile:
        accelerator.compute(often, a, 2)
        backend.fail_at = "run"
        for _ in range(3):
            with pytest.raises(DeviceError, match="run failed"):
                accelerator.compute(often, a, 2)
        backend.fail_at = ""
    assert lines(profile) == [("add", 5, 3)]


def compute_and_wait(accelerator: Accelerator, *given: Any) -> None:
    """Run a compute function, and wait for its launches."""
    accelerator.compute(*given)
    accelerator.wait()


def test_an_assertion_that_fails(accelerator: Accelerator) -> None:
    a = S32Array.of([1, 2, 0])
    with accelerator.profile() as profile:
        accelerator.compute(dispatch, 2, positive, a)
        with pytest.raises(KernelAssertionError):
            compute_and_wait(accelerator, dispatch, 3, positive, a)
    assert lines(profile) == [("positive", 2, 1)]
    assert profile.total.execute_seconds > 0


def test_a_block_that_is_left_by_an_error_is_closed(interpreter: Accelerator) -> None:
    def fail() -> None:
        with interpreter.profile():
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert PROFILES == []


def test_what_came_before_an_error_is_in_the_profile(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    seen: list[Profile] = []

    def fail() -> None:
        with discrete.profile() as profile:
            seen.append(profile)
            discrete.compute(often, a, 40)
            assert a.array[0] == 40
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    discrete.compute(often, a, 5)
    assert lines(seen[0]) == [("add", 40, 0)]
    total = seen[0].total
    assert (total.copy_in.nbytes, total.copy_out.nbytes) == (EIGHT, 4)


def test_threads_with_profiles_of_their_own(discrete: Accelerator) -> None:
    """Each sees what it did itself, and what the other did meanwhile."""
    buffers = [S32Array.create(length=8) for _ in range(2)]
    found: list[list[int]] = [[], []]

    def act(number: int) -> None:
        for _ in range(10):
            with discrete.profile() as profile:
                discrete.compute(often, buffers[number], 50)
            found[number].append(profile.total.dispatches)

    with discrete.profile() as outer:
        threads = [threading.Thread(target=act, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert PROFILES == []
    assert outer.total.dispatches == 1000
    assert all(50 <= count <= 1000 for counts in found for count in counts)
    assert all(one.array.tolist() == [500] * 8 for one in buffers)


def test_a_device_that_takes_over_is_profiled_too(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, Simulated(GPU, "run", good_runs=1), Simulated(CPU))
    accelerator = Accelerator("sim:0", fallback="cpu")
    a = S32Array.of(range(8))
    with accelerator.profile() as profile:
        accelerator.compute(often, a, 3)
    assert a.array.tolist() == [i + 3 for i in range(8)]
    assert lines(profile) == [("add", 2 + 3, 1)]
    assert [text.partition(" (")[0] for text in profile.devices] == ["sim:0", "sim:1"]


def test_a_profile_is_read_after_the_accelerator_is_closed() -> None:
    accelerator = Accelerator("opencl", memory="discrete")
    with accelerator.profile() as profile:
        accelerator.compute(often, S32Array.of(range(8)), 40)
    accelerator.close()
    assert lines(profile) == [("add", 40, 0)]
    assert profile.total.execute_seconds > 0


# ------------------------------------------------------------------------------------ waits


def test_waits_are_those_of_the_access(
    clocked: tuple[Accelerator, Clocked], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1.0]
    monkeypatch.setattr(watch, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    accelerator, backend = clocked
    wait = ClockedQueue.wait

    def slow(queue: ClockedQueue, number: int) -> None:
        now[0] += 0.0 if queue.completed >= number else 2.0
        wait(queue, number)

    monkeypatch.setattr(ClockedQueue, "wait", slow)
    backend.is_late = True
    a = S32Array.of(range(8))
    with accelerator.profile() as profile:
        accelerator.compute(dispatch, 8, add, a, 1)
        assert a.array[0] == 1
        accelerator.compute(dispatch, 8, add, a, 1)
        accelerator.wait()
    read, all_work = profile.waits
    assert (read.why, read.buffer, read.count) == ("the host reads it", "a", 1)
    assert (read.seconds, read.most_seconds) == (2.0, 2.0)
    assert read.location.file == __file__
    assert all_work.why == "all work is waited for"
    assert all_work.location.line == read.location.line + 2
    assert profile.total.wait_seconds == read.seconds + all_work.seconds
    (row,) = profile.dispatches
    assert row.wait_seconds >= 2.0


def test_what_is_over_is_not_waited_for(interpreter: Accelerator) -> None:
    a = S32Array.of(range(8))
    with interpreter.profile() as profile:
        interpreter.compute(often, a, 3)
        _ = a.array[0]
        interpreter.wait()
    assert profile.waits == ()


ASYNCHRONOUS = ["opencl", "opencl, shared", "native", "native, shared"]


@pytest.mark.parametrize("accelerator", ASYNCHRONOUS, indirect=True)
def test_the_host_waits_for_a_kernel(accelerator: Accelerator) -> None:
    a = S32Array.create(length=1 << 16)
    with accelerator.profile() as profile:
        accelerator.compute(dispatch, 1 << 16, count_up, a, 2000)
        assert a.array[7] == 2000
    assert {row.why for row in profile.waits} <= {"the host reads it"}
    assert profile.total.execute_seconds > 0


@tb.kernel
def count_up(kc: KernelContext, a: S32Array, times: tb.i32) -> None:
    for _ in range(times):
        a.array[kc.x] += 1


# -------------------------------------------------------------------------------- compilation


def test_compilations_by_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(10_000))
    clock = SimpleNamespace(perf_counter=lambda: float(next(ticks)))
    monkeypatch.setattr("trilby.stages.time", clock)
    with Accelerator("interpreter") as accelerator:
        with accelerator.profile() as profile:
            accelerator.compute(often, S32Array.of(range(8)), 2)
        with accelerator.profile() as again:
            accelerator.compute(often, S32Array.of(range(8)), 2)
    rows = {row.function: row for row in profile.compiles}
    assert set(rows) == {"often", "add"}
    # each stage is entered and left with one look at the clock, and another one between
    one = rows["add"]
    assert (one.reflect_seconds, one.analyse_seconds, one.generate_seconds) == (1.0, 1.0, 1.0)
    assert one.build_seconds == 3.0  # begun, and finished around what is generated
    assert one.seconds == 6.0
    assert rows["often"].build_seconds == 0.0
    (row,) = profile.dispatches
    assert row.compile_seconds == 6.0
    assert profile.total.compile_seconds == 6.0 + rows["often"].seconds
    assert again.compiles == ()


def test_a_kernel_has_its_compilation_in_one_row() -> None:
    with Accelerator("interpreter") as accelerator, accelerator.profile() as profile:
        accelerator.compute(from_two_lines, S32Array.of(range(8)), 2)
    first, second = profile.dispatches
    assert first.compile_seconds > 0
    assert second.compile_seconds == 0


# ------------------------------------------------------------------------------------ showing


def test_the_table(clocked: tuple[Accelerator, Clocked]) -> None:
    accelerator, backend = clocked
    a = S32Array.of(range(8))
    accelerator.compute(often, a, 1)  # compiled
    a.array[:] = 1
    backend.runs = [(0.0, 0.0015), (0.0, 0.0005)]
    backend.copies = [(0.0, 2e-6), (0.0, 3.5e-9)]
    with accelerator.profile() as profile:
        accelerator.compute(often, a, 2)
        _ = a.array[0]
    line = often.function.__code__.co_firstlineno + 3
    assert str(profile) == TABLE.format(device=accelerator.device.name, line=line)


TABLE = """\
interpreter:0 ({device}): measured by the host's clock

kernel  line                count  execute     mean   least     most  queued  copy in  copy out  \
compile  wait
add     test_profile.py:{line}      2  2.00 ms  1.00 ms  500 µs  1.50 ms       0  2.00 µs  \
    4 ns        0     0

buffer   copies in  bytes in  time in  out  bytes out  time out
a.array          1        32  2.00 µs    1          4      4 ns

total: 2 dispatches, execute 2.00 ms, copy in 32 bytes 2.00 µs, copy out 4 bytes 4 ns, \
compile 0, wait 0"""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0"),
        (3.5e-9, "4 ns"),
        (999e-9, "999 ns"),
        (1e-6, "1.00 µs"),
        (12.34e-6, "12.3 µs"),
        (99.96e-6, "100 µs"),
        (999.4e-6, "999 µs"),
        (999.6e-6, "1.00 ms"),
        (1.0, "1.00 s"),
        (1234.5, "1,234 s"),
    ],
)
def test_times_have_three_digits(seconds: float, text: str) -> None:
    assert time_text(seconds) == text


def test_as_json(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    with discrete.profile() as profile:
        discrete.compute(often, a, 3)
        _ = a.array[0]
        discrete.wait()
    found = json.loads(json.dumps(profile.as_dict()))
    (row,) = found["dispatches"]
    (seen,) = profile.dispatches
    assert row["kernel"] == "add"
    assert row["location"] == f"{__file__}:{seen.location.line}"
    assert row["count"] == 3
    assert row["mean_seconds"] == seen.mean_seconds
    assert row["mean_delay_seconds"] == seen.mean_delay_seconds
    assert [one["function"] for one in found["compiles"]] == [
        one.function for one in profile.compiles
    ]
    assert row["copy_in"] == {"count": 1, "nbytes": EIGHT, "seconds": seen.copy_in.seconds}
    assert [one["buffer"] for one in found["buffers"]] == ["a"]
    assert found["total"]["dispatches"] == 3
    assert found["devices"] == list(profile.devices)

"""What is on the device and when: nothing is lost, nothing stale is believed, little moves."""

import gc
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.runtime.conftest import Nulls, with_backend
from tests.runtime.devices import Watched
from tests.runtime.programs import (
    Table,
    add,
    add_to,
    copy,
    dispatch,
    number,
    one_if,
    square_kernel,
    take,
    write_evens,
    write_some,
)

import trilby as tb
from trilby import Accelerator, Ledger, NDArray, S32Array
from trilby.data.ndrange import NDRange

EIGHT = 8 * 4


def moved(ledger: Ledger) -> list[tuple[str, int]]:
    return [(one.direction, one.nbytes) for one in ledger.copies]


# ----------------------------------------------------------------------------------- results


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


def test_what_lies_between_the_elements_that_a_kernel_writes_stays(
    accelerator: Accelerator,
) -> None:
    a = S32Array.of(range(8))
    accelerator.compute(dispatch, 4, write_evens, a)
    a.array[1] = 100
    accelerator.compute(dispatch, 8, add, a, 1)
    assert a.array.tolist() == [0, 101, 0, 4, 0, 6, 0, 8]
    accelerator.compute(dispatch, 4, write_evens, a)
    a.array[3] = 200
    assert a.array.tolist() == [-1, 101, -1, 200, -1, 6, -1, 8]


def test_numbers_that_were_given_as_a_list_are_no_zeros(accelerator: Accelerator) -> None:
    a = NDArray[float]([np.float32(1), np.float32(2)])
    b = NDArray[float](np.zeros(2, np.float32))
    accelerator.compute(dispatch, 2, add_one, a, b)
    assert b.tolist() == [2.0, 3.0]


@tb.kernel
def add_one(kc: tb.KernelContext, a: NDArray[tb.f32], b: NDArray[tb.f32]) -> None:
    b[kc.x] = a[kc.x] + 1.0


# ---------------------------------------------------------------------- the rules, in copies


def test_a_read_makes_nothing_stale(discrete: Accelerator) -> None:
    a, b = S32Array.of(range(8)), S32Array.create(length=8)
    with discrete.record() as ledger:
        for _ in range(3):
            discrete.compute(dispatch, 8, copy, a, b)
            assert a.array.tolist() == b.array.tolist() == list(range(8))
    assert moved(ledger) == [("up", EIGHT)] + [("down", EIGHT)] * 3


def test_what_was_fetched_once_is_not_fetched_again(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    discrete.compute(dispatch, 8, add, a, 1)
    with discrete.record() as ledger:
        assert a.array.sum() == a.array.sum() == 36
    assert moved(ledger) == [("down", EIGHT)]
    with discrete.record() as ledger:
        discrete.compute(dispatch, 8, add, a, 1)
    assert moved(ledger) == []  # the device still has it


def test_what_the_host_wrote_goes_up_and_nothing_else(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    discrete.compute(dispatch, 8, add, a, 1)
    with discrete.record() as ledger:
        a.array[2:4] = 0
        discrete.compute(dispatch, 8, add, a, 1)
        assert moved(ledger) == [("up", 8)]
        assert a.array[2:4].tolist() == [1, 1]
        assert moved(ledger)[1:] == [("down", 8)]
    assert a.array.tolist() == [2, 3, 1, 1, 6, 7, 8, 9]


def test_what_may_be_written_must_be_there_before(discrete: Accelerator) -> None:
    """Nobody knows which elements such a kernel leaves as they are."""
    a = S32Array.of(range(8))
    with discrete.record() as ledger:
        discrete.compute(dispatch, 8, write_some, a, 4)
        assert a.array.tolist() == [-4, -4, -4, -4, 4, 5, 6, 7]
    assert moved(ledger) == [("up", EIGHT), ("down", EIGHT)]


def test_a_write_of_everything_needs_nothing(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    with discrete.record() as ledger:
        discrete.compute(dispatch, 8, number, a)
        a.array[:] = 5  # the host overwrites it all as well
        discrete.compute(dispatch, 8, number, a)
        assert a.array.tolist() == list(range(100, 108))
    assert moved(ledger) == [("down", EIGHT)]


def test_names_are_not_buffers(discrete: Accelerator) -> None:
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    with discrete.record() as ledger:
        for turn in range(6):
            discrete.compute(dispatch, 8, add, a if turn % 2 else b, 1)
            a, b = b, a
    # the last of each pair of swaps: the same buffer every time
    assert moved(ledger) == [("up", EIGHT)]


def test_rows_at_equal_distances_are_one_copy(discrete: Accelerator) -> None:
    a = S32Array.of(range(64))
    with discrete.record() as ledger:
        discrete.compute(dispatch, 32, write_evens, a)
        assert a.array.tolist() == [-1 if i % 2 == 0 else i for i in range(64)]
    assert moved(ledger) == [("down", 128)]


# --------------------------------------------------------------------- parts that are needed


def test_a_part_that_is_read_moves_alone_and_the_next_takes_the_rest(
    discrete: Accelerator,
) -> None:
    a, out = S32Array.of(range(64)), S32Array.create(length=4)
    with discrete.record() as ledger:
        discrete.compute(dispatch, 4, take, a, 8, out)
        assert moved(ledger) == [("up", 16)]
        discrete.compute(dispatch, 4, take, a, 8, out)
        assert moved(ledger) == [("up", 16)]
        discrete.compute(dispatch, 4, take, a, 40, out)
        assert sum(nbytes for _, nbytes in moved(ledger)) == 256
        for start in range(0, 64, 4):
            discrete.compute(dispatch, 4, take, a, start, out)
        assert ledger.bytes_up == 256
    assert out.array.tolist() == [60, 61, 62, 63]


def test_the_rest_is_no_more_than_what_the_host_has_newer(discrete: Accelerator) -> None:
    a, out = S32Array.create(length=64), S32Array.create(length=4)
    a.array[:32] = range(32)  # the other half is zeros that nobody wrote
    with discrete.record() as ledger:
        for start in (0, 8, 16, 40):
            discrete.compute(dispatch, 4, take, a, start, out)
        assert ledger.bytes_up == 128
    assert out.array.tolist() == [0, 0, 0, 0]


def test_a_part_that_is_needed_again_and_again_stays_a_part(discrete: Accelerator) -> None:
    a, out = S32Array.of(range(64)), S32Array.create(length=4)
    with discrete.record() as ledger:
        for turn in range(5):
            a.array[8:12] = turn
            discrete.compute(dispatch, 4, take, a, 8, out)
    assert moved(ledger) == [("up", 16)] * 5


def test_fields_that_no_kernel_touches_stay_where_they_are(discrete: Accelerator) -> None:
    a, table = S32Array.of([1, 3, 5]), Table.create(length=4)
    table.row.key[:] = [1, 2, 3, 4]
    table.row.value[:] = 0.5
    table.count = 2
    with discrete.record() as ledger:
        discrete.compute(dispatch, 3, count_odd, a, table)
        assert ledger.bytes_up == 12 + 4
        assert table.count == 5
    assert ledger.bytes_down == 4


@tb.kernel
def count_odd(kc: tb.KernelContext, a: S32Array, table: Table) -> None:
    if a.array[kc.x] % 2 == 1:
        tb.atomic_add(table.count, 1)


# ------------------------------------------------------------------------------------ memory


def test_memory_is_allocated_once(null: Nulls) -> None:
    a = S32Array.of(range(8))
    for turn in range(3):
        null.accelerator.compute(dispatch, 8, add, a, turn)
    counts = null.backend.counts
    assert (counts["allocations"], counts["allocated_bytes"]) == (1, 36)
    assert (counts["launches"], counts["work_items"]) == (3, 24)
    assert (counts["frees"], counts["preparations"]) == (0, 1)


def test_a_buffer_that_is_dropped_frees_its_memory(null: Nulls) -> None:
    a, b = S32Array.create(length=8), S32Array.create(length=1)
    null.accelerator.compute(dispatch, 8, square_kernel, a)
    null.accelerator.compute(dispatch, 1, square_kernel, b)
    del a
    gc.collect()
    assert (null.backend.counts["frees"], null.backend.counts["freed_bytes"]) == (1, 36)
    null.accelerator.compute(dispatch, 1, square_kernel, b)
    assert null.backend.counts["allocations"] == 2


def test_a_buffer_that_is_released_frees_its_memory(null: Nulls) -> None:
    a = S32Array.create(length=8)
    null.accelerator.compute(dispatch, 8, square_kernel, a)
    a.release()
    assert (null.backend.counts["frees"], null.backend.counts["freed_bytes"]) == (1, 36)
    del a
    gc.collect()
    assert null.backend.counts["frees"] == 1


def test_buffers_that_come_and_go_leave_nothing_behind(null: Nulls) -> None:
    for length in range(1, 51):
        null.accelerator.compute(dispatch, length, square_kernel, S32Array.create(length=length))
    gc.collect()
    counts = null.backend.counts
    assert (counts["allocations"], counts["frees"]) == (50, 50)
    assert counts["allocated_bytes"] == counts["freed_bytes"]


def test_closing_brings_home_what_only_the_device_has(
    monkeypatch: pytest.MonkeyPatch, interpreter: Accelerator
) -> None:
    backend = Watched()
    a = S32Array.of(range(4))
    with with_backend(monkeypatch, backend, poison=True) as accelerator:
        accelerator.compute(dispatch, 4, square_kernel, a)
    assert backend.content(0) is None
    assert a.array.tolist() == [0, 1, 4, 9]
    interpreter.compute(dispatch, 4, square_kernel, a)
    assert a.array.tolist() == [0, 1, 16, 81]
    accelerator.close()  # once more is nothing
    del a
    gc.collect()  # and nothing is freed twice


def test_closing_moves_nothing_that_the_host_has(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Watched()
    a, b = S32Array.of(range(4)), S32Array.of(range(4))
    with with_backend(monkeypatch, backend) as accelerator:
        accelerator.compute(dispatch, 4, add_to, a, b)
        assert a.array.tolist() == [0, 2, 4, 6]
        before = backend.done.count("download")
    assert backend.done.count("download") == before


def test_an_accelerator_that_is_dropped_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Watched()
    a = S32Array.of(range(4))
    accelerator = with_backend(monkeypatch, backend, poison=True)
    accelerator.compute(dispatch, 4, square_kernel, a)
    del accelerator
    gc.collect()
    assert a.array.tolist() == [0, 1, 4, 9]
    del a
    gc.collect()
    assert backend.content(0) is None


def test_a_range_of_zero_does_nothing(null: Nulls) -> None:
    a = S32Array.of(range(8))
    with null.accelerator.record() as ledger:
        for size in (0, (0, 3), (3, 0, 2), NDRange(0), NDRange((4, 0), local=(2, 2))):
            null.accelerator.compute(dispatch, size, add, a, 1)
    counts = null.backend.counts
    assert (counts["launches"], counts["uploads"], counts["allocations"]) == (0, 0, 0)
    assert ledger.copies == ()


# --------------------------------------------------------------------------- random programs


Step: TypeAlias = tuple[str, int, int, int]

STEPS = st.tuples(
    st.sampled_from(["square", "add", "copy", "add_to", "number", "look", "host"]),
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
        case "look":
            a.array[:n].tolist()
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
        case "look":
            pass
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

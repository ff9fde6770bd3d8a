"""Work that is put off for as long as possible: everything waits for what it needs."""

import gc
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from tests.runtime.conftest import with_backend
from tests.runtime.devices import Deferred, Later
from tests.runtime.programs import add, add_to, copy, dispatch, number, plus_one

import trilby as tb
from trilby import ComputeContext, KernelContext, NDArray, S32Array, f32, i32
from trilby.errors import DeviceError, KernelAssertionError


@tb.kernel
def add_both(kc: KernelContext, a: NDArray[f32], b: NDArray[f32], out: NDArray[f32]) -> None:
    out[kc.x] = a[kc.x] + b[kc.x]


@tb.kernel
def double_below(kc: KernelContext, a: S32Array, limit: i32) -> None:
    assert a.array[kc.x] < limit, "too large"
    a.array[kc.x] *= 2


@tb.kernel
def copy_below(kc: KernelContext, a: S32Array, b: S32Array, limit: i32) -> None:
    assert a.array[kc.x] < limit, "too large"
    b.array[kc.x] = a.array[kc.x]


@tb.kernel
def check_below(kc: KernelContext, number: i32, limit: i32) -> None:
    assert number + kc.x < limit, "too large"


@tb.compute
def fetch_it(cc: ComputeContext, a: S32Array) -> None:
    cc.to_host(a)


@tb.compute
def fetch_then_write(cc: ComputeContext, a: S32Array) -> None:
    cc.to_host(a)
    a.array[0] = -1


@tb.compute
def fetch_then_number(cc: ComputeContext, a: S32Array) -> None:
    cc.to_host(a)
    cc.dispatch(4, number, a)


class Lazy:
    """An accelerator that does nothing before somebody waits, and what it was asked to do."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, shares: bool) -> None:
        self.backend = Deferred(shares=shares)
        self.accelerator = with_backend(monkeypatch, self.backend)

    def under_way(self, what: str) -> int:
        return sum(not event.done for event in self.backend.started(what))

    def last(self, what: str) -> Later:
        return self.backend.started(what)[-1]

    def finish_runs(self) -> None:
        """Let the device do all launches, and what they need."""
        self.backend.compute.wait(self.backend.compute.submitted)


@pytest.fixture(params=["discrete", "shared"])
def lazy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Lazy:
    return Lazy(monkeypatch, shares=request.param == "shared")


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lazy]:
    lazy = Lazy(monkeypatch, shares=False)
    yield lazy
    lazy.accelerator.close()


@pytest.fixture
def sharing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lazy]:
    lazy = Lazy(monkeypatch, shares=True)
    yield lazy
    lazy.accelerator.close()


def test_a_dispatch_waits_for_nothing(lazy: Lazy) -> None:
    a = S32Array.of(range(4))
    for turn in range(3):
        lazy.accelerator.compute(dispatch, 4, add, a, turn)
    assert lazy.under_way("run") == 3
    assert a.array.tolist() == [3, 4, 5, 6]
    assert lazy.under_way("run") == 0


def test_a_read_does_not_wait_for_launches_after_the_one_that_it_needs(lazy: Lazy) -> None:
    a, b = S32Array.of(range(4)), S32Array.of(range(4))
    lazy.accelerator.compute(dispatch, 4, add, a, 1)
    lazy.accelerator.compute(dispatch, 4, add, b, 1)
    assert a.array.tolist() == [1, 2, 3, 4]
    assert [event.done for event in lazy.backend.started("run")] == [True, False]


def test_a_read_of_what_the_host_has_waits_for_nothing(apart: Lazy) -> None:
    a, b = S32Array.of(range(4)), S32Array.create(length=4)
    apart.accelerator.compute(dispatch, 4, copy, a, b)
    assert a.array.tolist() == [0, 1, 2, 3]
    assert (apart.under_way("upload"), apart.under_way("run")) == (3, 1)  # two lengths, and data


def test_a_kernel_that_overwrites_a_buffer_waits_for_those_that_read_it(lazy: Lazy) -> None:
    a, b = S32Array.of(range(4)), S32Array.create(length=4)
    lazy.accelerator.compute(dispatch, 4, copy, a, b)
    lazy.accelerator.compute(dispatch, 4, number, a)
    assert a.array.tolist() == [100, 101, 102, 103]
    assert b.array.tolist() == [0, 1, 2, 3]


def test_a_host_write_waits_for_copies_that_leave(apart: Lazy) -> None:
    a, b = S32Array.of(range(4)), S32Array.create(length=4)
    apart.accelerator.compute(dispatch, 4, copy, a, b)
    a.array[:] = -1
    assert b.array.tolist() == [0, 1, 2, 3]
    assert apart.under_way("run") == 0


def test_new_data_waits_for_kernels_that_read_the_old(apart: Lazy) -> None:
    a, b, c = S32Array.of(range(4)), S32Array.create(length=4), S32Array.create(length=4)
    apart.accelerator.compute(dispatch, 4, copy, a, b)
    a.array[:] = -1
    apart.accelerator.compute(dispatch, 4, copy, a, c)
    assert c.array.tolist() == [-1] * 4
    assert b.array.tolist() == [0, 1, 2, 3]


def test_a_host_write_waits_for_kernels_that_read_the_hosts_memory(sharing: Lazy) -> None:
    a, b = S32Array.of(range(4)), S32Array.create(length=4)
    for _ in range(2):
        sharing.accelerator.compute(dispatch, 4, copy, a, b)
        a.array[1] = 7
    assert b.array.tolist() == [0, 7, 2, 3]
    assert a.array.tolist() == [0, 7, 2, 3]


def test_a_host_write_waits_for_copies_that_come(apart: Lazy) -> None:
    a = S32Array.of(range(4))
    apart.accelerator.compute(dispatch, 4, add, a, 1)
    apart.accelerator.compute(fetch_then_write, a)
    assert a.array.tolist() == [-1, 2, 3, 4]


def test_a_kernel_waits_for_a_copy_of_what_it_overwrites(apart: Lazy) -> None:
    a = S32Array.of(range(4))
    apart.accelerator.compute(dispatch, 4, add, a, 1)
    apart.accelerator.compute(fetch_then_number, a)
    early = apart.last("download")
    apart.finish_runs()
    assert early.done
    assert a.array.tolist() == [100, 101, 102, 103]


@pytest.mark.parametrize("transfers", [tb.Transfers.AUTO, tb.Transfers.BY_ACCESS])
def test_nothing_uses_memory_that_a_raw_view_shows(lazy: Lazy, transfers: tb.Transfers) -> None:
    a, b = S32Array.of(range(4)), S32Array.create(length=4)
    raw = a.array.raw()
    with lazy.accelerator.strategy(transfers):
        for turn in range(3):
            lazy.accelerator.compute(dispatch, 4, copy, a, b)
            raw[:] = turn
            assert b.array.tolist() == ([turn - 1] * 4 if turn else [0, 1, 2, 3])


def test_a_raw_view_of_memory_that_a_known_launch_uses_is_current(lazy: Lazy) -> None:
    a = S32Array.of(range(4))
    for _ in range(3):
        lazy.accelerator.compute(dispatch, 4, number, a)
    raw = a.array.raw()
    raw[:] = -1
    lazy.accelerator.compute(dispatch, 4, number, a)
    assert raw.tolist() == [100, 101, 102, 103]


def test_the_host_has_everything_at_the_end_of_a_tracked_call(apart: Lazy) -> None:
    """Also what can be seen without anybody knowing: nothing is under way then."""
    lent = np.zeros(4, np.float32)
    array = apart.accelerator.array(lent)
    with apart.accelerator.strategy(tb.Transfers.TRACKED):
        apart.accelerator.compute(dispatch, 4, plus_one, array, array)
    assert apart.under_way("download") == 0
    assert lent.tolist() == [1] * 4


@tb.compute
def make_and_drop(cc: ComputeContext, a: S32Array) -> None:
    made = S32Array.create(length=4)
    cc.dispatch(4, number, made)
    del made
    cc.dispatch(4, add, a, 1)


def test_a_tracked_call_leaves_what_ended_inside_of_it(apart: Lazy) -> None:
    a = S32Array.of(range(4))
    with apart.accelerator.strategy(tb.Transfers.TRACKED):
        apart.accelerator.compute(make_and_drop, a)
    assert len(apart.backend.started("download")) == 1
    assert a.array.tolist() == [1, 2, 3, 4]


def test_many_buffers_in_a_chain(lazy: Lazy) -> None:
    buffers = [S32Array.of([k] * 4) for k in range(5)]
    for _ in range(3):
        for left, right in pairwise(buffers):
            lazy.accelerator.compute(dispatch, 4, add_to, right, left)
    expected = [0, 1, 2, 3, 4]
    for _ in range(3):
        for k in range(1, 5):
            expected[k] += expected[k - 1]
    assert [one.array[0] for one in buffers] == expected


def test_overlapping_arrays_that_are_read_together(lazy: Lazy) -> None:
    x = np.arange(8, dtype=np.float32)
    left, right = lazy.accelerator.array(x[:6]), lazy.accelerator.array(x[2:])
    out = lazy.accelerator.array(np.zeros(6, np.float32))
    lazy.accelerator.compute(dispatch, 6, add_both, left, right, out)
    left[:] = 100  # the copy to the device is still under way
    right[:] = 100
    assert out.tolist() == [2, 4, 6, 8, 10, 12]


def test_overlapping_arrays_in_turn(lazy: Lazy) -> None:
    x = np.zeros(8, np.float32)
    left, right = lazy.accelerator.array(x[:6]), lazy.accelerator.array(x[2:])
    for _ in range(3):
        lazy.accelerator.compute(dispatch, 6, plus_one, left, left)
        lazy.accelerator.compute(dispatch, 6, plus_one, right, right)
    assert right.tolist() == [6, 6, 6, 6, 3, 3]
    assert left.tolist() == [3, 3, 6, 6, 6, 6]


@pytest.mark.parametrize("shares", [(True, True), (True, False), (False, True), (False, False)])
def test_two_accelerators_in_turn(
    monkeypatch: pytest.MonkeyPatch, shares: tuple[bool, bool]
) -> None:
    one, other = (Lazy(monkeypatch, shares=share) for share in shares)
    a, b = S32Array.of(range(4)), S32Array.of([1] * 4)
    for _ in range(4):
        one.accelerator.compute(dispatch, 4, add_to, a, b)
        other.accelerator.compute(dispatch, 4, add_to, b, a)
    left, right = 2, 1
    for _ in range(4):
        left += right
        right += left
    assert (a.array[2], b.array[2]) == (left, right)


def test_two_accelerators_on_the_hosts_memory_one_reads_one_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, other = (Lazy(monkeypatch, shares=True) for _ in range(2))
    a, b = S32Array.create(length=4), S32Array.create(length=4)
    for _ in range(3):
        one.accelerator.compute(dispatch, 4, copy, a, b)
        other.accelerator.compute(dispatch, 4, add, a, 1)
    assert b.array.tolist() == [2] * 4
    assert a.array.tolist() == [3] * 4


def test_what_comes_home_waits_for_copies_of_what_was_there_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, other = (Lazy(monkeypatch, shares=False) for _ in range(2))
    a, b = S32Array.of(range(4)), S32Array.create(length=4)
    other.accelerator.compute(dispatch, 4, copy, a, b)
    one.accelerator.compute(dispatch, 4, add, a, 1)
    assert a.array.tolist() == [1, 2, 3, 4]
    assert b.array.tolist() == [0, 1, 2, 3]


def test_a_kernel_on_the_hosts_memory_waits_for_copies_to_other_devices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, other = Lazy(monkeypatch, shares=True), Lazy(monkeypatch, shares=False)
    a, b = S32Array.of(range(4)), S32Array.create(length=4)
    other.accelerator.compute(dispatch, 4, copy, a, b)
    one.accelerator.compute(dispatch, 4, number, a)
    assert a.array.tolist() == [100, 101, 102, 103]
    assert b.array.tolist() == [0, 1, 2, 3]


@tb.kernel
def take_the_right(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = a.array[kc.x + 4]


def test_a_kernel_on_the_hosts_memory_waits_for_copies_from_other_devices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, other = Lazy(monkeypatch, shares=True), Lazy(monkeypatch, shares=False)
    a = S32Array.of(range(8))
    other.accelerator.compute(dispatch, 8, number, a)
    one.accelerator.compute(dispatch, 4, take_the_right, a)
    one.finish_runs()
    assert a.array.tolist() == [104, 105, 106, 107, 104, 105, 106, 107]


def test_a_kernel_on_memory_of_its_own_waits_for_no_other_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, other = (Lazy(monkeypatch, shares=False) for _ in range(2))
    a, b = S32Array.of(range(4)), S32Array.create(length=4)
    other.accelerator.compute(dispatch, 4, copy, a, b)
    one.accelerator.compute(dispatch, 4, number, a)
    before = other.under_way("upload")
    one.finish_runs()
    assert other.under_way("upload") == before > 0


def test_a_buffer_that_is_dropped_in_flight(lazy: Lazy) -> None:
    a, b = S32Array.of(range(4)), S32Array.create(length=4)
    lazy.accelerator.compute(dispatch, 4, copy, a, b)
    del a
    gc.collect()
    assert b.array.tolist() == [0, 1, 2, 3]


def test_a_buffer_that_is_released_in_flight(lazy: Lazy) -> None:
    a, b = S32Array.of(range(4)), S32Array.create(length=4)
    lazy.accelerator.compute(dispatch, 4, copy, a, b)
    a.release()
    assert b.array.tolist() == [0, 1, 2, 3]


def test_memory_that_was_lent_is_whole_again_when_its_array_is_gone(lazy: Lazy) -> None:
    x = np.arange(4, dtype=np.float32)
    a = lazy.accelerator.array(x)
    lazy.accelerator.compute(dispatch, 4, plus_one, a, a)
    del a
    gc.collect()
    assert x.tolist() == [1, 2, 3, 4]


def test_memory_that_was_lent_and_only_read_is_free_when_its_array_is_gone(lazy: Lazy) -> None:
    """The user may overwrite it then: nothing must be reading it."""
    x, out = np.arange(4, dtype=np.float32), lazy.accelerator.array(np.zeros(4, np.float32))
    a = lazy.accelerator.array(x)
    lazy.accelerator.compute(dispatch, 4, plus_one, a, out)
    del a
    gc.collect()
    x[:] = -5
    assert out.tolist() == [1, 2, 3, 4]


def test_closing_waits_for_everything(lazy: Lazy) -> None:
    a, b = S32Array.of(range(4)), S32Array.create(length=4)
    lazy.accelerator.compute(dispatch, 4, copy, a, b)
    lazy.accelerator.close()
    assert all(event.done for event in lazy.backend.events)
    assert b.array.tolist() == [0, 1, 2, 3]


def test_waiting_for_an_accelerator_waits_for_all_its_work(lazy: Lazy) -> None:
    a, b = S32Array.of(range(4)), S32Array.create(length=4)
    lazy.accelerator.compute(dispatch, 4, copy, a, b)
    lazy.accelerator.compute(dispatch, 4, add, a, 1)
    lazy.accelerator.wait()
    assert lazy.under_way("run") == 0


def test_waiting_for_an_accelerator_waits_for_its_copies(apart: Lazy) -> None:
    a = S32Array.of(range(4))
    apart.accelerator.compute(dispatch, 4, add, a, 1)
    apart.accelerator.compute(fetch_it, a)
    assert apart.under_way("download") == 1
    apart.accelerator.wait()
    assert apart.under_way("download") == 0


def test_a_ledger_of_work_under_way_waits_for_it(apart: Lazy) -> None:
    a = S32Array.of(range(4))
    with apart.accelerator.record() as ledger:
        apart.accelerator.compute(dispatch, 4, add, a, 1)
        assert ledger.bytes_up == 16
        assert apart.under_way("upload") == 2
        (up,) = ledger.copies
        assert apart.under_way("upload") == 0
        assert up.nbytes == 16
        assert "a" in str(ledger)
    assert a.array.tolist() == [1, 2, 3, 4]


# ------------------------------------------------------------------------ work that fails


def test_a_kernel_that_failed_is_told_at_the_next_read(lazy: Lazy) -> None:
    a = S32Array.of(range(4))
    lazy.accelerator.compute(dispatch, 4, add, a, 1)
    lazy.last("run").fail()
    for _ in range(1 if lazy.backend.shares else 3):
        with pytest.raises(DeviceError, match="run failed") as caught:
            a.array.tolist()
        assert caught.value.location is not None
        assert caught.value.location.short == f"programs.py:{dispatch.location.line + 3}"


def test_a_kernel_that_fails_later_is_told_at_the_next_read(lazy: Lazy) -> None:
    a, b = S32Array.of(range(4)), S32Array.create(length=4)
    lazy.accelerator.compute(dispatch, 4, add, a, 1)
    run = lazy.last("run")
    lazy.accelerator.compute(dispatch, 4, copy, a, b)
    run.fail()
    with pytest.raises(DeviceError, match="run failed") as caught:
        b.array.tolist()
    assert caught.value.location is not None


def test_a_copy_that_fails_is_tried_again(apart: Lazy) -> None:
    a = S32Array.of(range(4))
    apart.accelerator.compute(dispatch, 4, add, a, 1)
    apart.accelerator.compute(fetch_it, a)
    apart.last("download").fail()
    with pytest.raises(DeviceError, match="download failed"):
        a.array.tolist()
    assert a.array.tolist() == [1, 2, 3, 4]
    apart.accelerator.compute(dispatch, 2, add, a, 1)  # and does not stand in the way
    assert a.array.tolist() == [2, 3, 3, 4]


def test_what_a_kernel_overwrites_after_a_failure_is_sound(lazy: Lazy) -> None:
    a = S32Array.of(range(4))
    lazy.accelerator.compute(dispatch, 4, add, a, 1)
    lazy.last("run").fail()
    lazy.accelerator.compute(dispatch, 4, number, a)
    assert a.array.tolist() == [100, 101, 102, 103]


def test_what_the_host_overwrites_after_a_failure_is_sound(lazy: Lazy) -> None:
    a = S32Array.of(range(4))
    lazy.accelerator.compute(dispatch, 4, add, a, 1)
    lazy.last("run").fail()
    with pytest.raises(DeviceError, match="run failed"):
        a.array.tolist()
    a.array[:] = 5
    assert a.array.tolist() == [5] * 4
    lazy.accelerator.compute(dispatch, 4, add, a, 1)
    assert a.array.tolist() == [6] * 4


def test_a_failure_elsewhere_does_not_matter(lazy: Lazy) -> None:
    a, b = S32Array.of(range(4)), S32Array.of(range(4))
    lazy.accelerator.compute(dispatch, 4, add, a, 1)
    lazy.last("run").fail()
    lazy.accelerator.compute(dispatch, 4, add, b, 1)
    assert b.array.tolist() == [1, 2, 3, 4]


def test_closing_tells_what_failed_and_closes(apart: Lazy) -> None:
    a = S32Array.of(range(4))
    apart.accelerator.compute(dispatch, 4, add, a, 1)
    apart.last("run").fail()
    with pytest.raises(DeviceError, match="run failed"):
        apart.accelerator.close()
    with pytest.raises(DeviceError, match="closed"):
        apart.accelerator.compute(dispatch, 4, add, S32Array.of([1]), 1)


def test_an_assertion_that_failed_is_told_once_by_whoever_waits(lazy: Lazy) -> None:
    a = S32Array.of(range(8))
    lazy.accelerator.compute(dispatch, 8, add, a, 1)
    lazy.accelerator.compute(dispatch, 8, double_below, a, 100)
    lazy.accelerator.compute(dispatch, 8, double_below, a, 10)
    lazy.accelerator.compute(dispatch, 8, add, a, 1)
    assert lazy.under_way("run") == 4
    with pytest.raises(KernelAssertionError, match="too large") as caught:
        a.array.tolist()
    assert caught.value.location is not None
    assert a.array.tolist() == list(range(3, 19, 2))  # this device undoes the one that failed
    lazy.accelerator.wait()


def test_an_assertion_is_told_for_one_of_the_buffers(lazy: Lazy) -> None:
    a, b = S32Array.of(range(4)), S32Array.create(length=4)
    for _ in range(3):
        lazy.accelerator.compute(dispatch, 4, copy_below, a, b, 9)
    lazy.accelerator.compute(dispatch, 4, copy_below, a, b, 3)
    with pytest.raises(KernelAssertionError, match="too large"):
        a.array[0] = 1
    assert b.array.tolist() == [0, 1, 2, 3]
    a.array[0] = 1
    lazy.accelerator.wait()


def test_an_assertion_is_told_also_when_its_buffers_are_gone(lazy: Lazy) -> None:
    a, b = S32Array.of(range(4)), S32Array.create(length=4)
    lazy.accelerator.compute(dispatch, 4, copy_below, a, b, 3)
    del a, b
    gc.collect()
    with pytest.raises(KernelAssertionError, match="too large"):
        lazy.accelerator.wait()
    lazy.accelerator.wait()


def test_each_assertion_of_launches_without_buffers_is_told(lazy: Lazy) -> None:
    for limit in (1, 9, 2, 9):
        lazy.accelerator.compute(dispatch, 4, check_below, 5, limit)
    for _ in range(2):
        with pytest.raises(KernelAssertionError, match="too large"):
            lazy.accelerator.wait()
    lazy.accelerator.wait()
    lazy.accelerator.compute(dispatch, 4, check_below, 5, 3)
    with pytest.raises(KernelAssertionError, match="too large"):
        lazy.accelerator.close()


def test_waiting_tells_what_failed(lazy: Lazy) -> None:
    a = S32Array.of(range(4))
    lazy.accelerator.compute(dispatch, 4, number, a)
    lazy.last("run").fail()
    with pytest.raises(DeviceError, match="run failed") as caught:
        lazy.accelerator.wait()
    assert caught.value.location is not None

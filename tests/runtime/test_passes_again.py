"""The short way for passes that were run before, and all that must not take it."""

import gc
import logging
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from tests.runtime.conftest import Nulls, opened_as, with_backend
from tests.runtime.devices import Watched
from tests.runtime.pass_programs import (
    count_until,
    flip,
    flipped,
    run,
    run_counting,
    run_flip,
    run_step,
    run_until,
    step,
    stepped,
)
from tests.runtime.simulated import CPU, GPU, Simulated, machine

import trilby as tb
from trilby import (
    Accelerator,
    ComputeContext,
    F32Array,
    KernelContext,
    NDArray,
    S32Array,
    f32,
    i32,
)
from trilby.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DeviceError,
    PassesCancelledError,
    StaleReadError,
    TrilbyError,
)
from trilby.options import Transfers
from trilby.runtime import passes

LENGTH = 8
START = np.arange(LENGTH, dtype=np.int32)


def preparations(null: Nulls) -> int:
    """How many dispatches did not take the short way."""
    return null.backend.counts["preparations"]


def two() -> tuple[S32Array, S32Array]:
    return S32Array.of(START), S32Array.create(length=LENGTH)


@tb.kernel
def shift(kc: KernelContext, a: S32Array, amount: i32) -> None:
    a.array[kc.x] = a.array[kc.x] * 3 + amount + kc.pass_id


@tb.compute
def run_shift(cc: ComputeContext, a: S32Array, amount: Any, times: int) -> int:
    cc.dispatch(a.length, shift, a, amount, passes=times)
    return cc.passes_done


def shifted(numbers: "np.ndarray[Any, np.dtype[np.int32]]", amount: int, times: int) -> Any:
    for number in range(times):
        numbers = (numbers * np.int32(3) + np.int32(amount + number)).astype(np.int32)
    return numbers


# ------------------------------------------------------------------------- the short way


def test_passes_are_prepared_once(null: Nulls) -> None:
    a, b = two()
    for _ in range(5):
        null.accelerator.compute(run_step, a, 6)
        null.accelerator.compute(run_flip, a, b, 4)
        a.array[:] = 3
    counts = null.backend.counts
    assert (counts["preparations"], counts["launches"]) == (2, 50)


def test_another_count_is_the_same_where_all_passes_touch_the_same(null: Nulls) -> None:
    a, b = two()
    for times in (5, 3, 7, 5):
        null.accelerator.compute(run_step, a, times)
    assert preparations(null) == 1
    for times in (5, 5, 3):
        null.accelerator.compute(run_flip, a, b, times)
    assert preparations(null) == 3


def test_what_comes_out_is_the_same_every_time(accelerator: Accelerator) -> None:
    a, b = two()
    for times in (4, 4, 4, 7, 1, 4):
        a.array[:] = START
        assert accelerator.compute(run_flip, a, b, times) == times
        last = b if times % 2 else a
        assert last.array.tolist() == flipped(START, times).tolist()
    expected = START
    a.array[:] = START
    for times in (3, 3, 5, 1, 3):
        assert accelerator.compute(run_step, a, times) == times
        expected = stepped(expected, times)
    assert a.array.tolist() == expected.tolist()


def test_data_moves_once_each_way_every_time(discrete: Accelerator) -> None:
    a = S32Array.of(START)
    for _ in range(3):
        discrete.compute(run_step, a, 20)
        discrete.compute(run_step, a, 20)
        with discrete.record() as ledger:
            a.array[:] = START
            discrete.compute(run_step, a, 20)
            discrete.compute(run_step, a, 20)
            assert a.array.tolist() == stepped(stepped(START, 20), 20).tolist()
        assert (len(ledger.uploads), len(ledger.downloads)) == (1, 1)
        assert ledger.ratio == 1.0


def test_a_record_that_begins_later_knows_of_them(discrete: Accelerator) -> None:
    a = S32Array.of(START)
    for _ in range(2):
        discrete.compute(run_step, a, 20)
    a.array[:] = START
    with discrete.record() as ledger:
        discrete.compute(run_step, a, 20)
    assert (len(ledger.uploads), len(ledger.downloads), ledger.ratio) == (1, 0, 1.0)


def test_what_the_host_writes_in_between_counts(accelerator: Accelerator) -> None:
    a, expected = S32Array.of(START), START.copy()
    for turn in range(5):
        accelerator.compute(run_step, a, 3)
        expected = stepped(expected, 3)
        if turn % 2:
            a.array[turn] = expected[turn] = 100
    assert a.array.tolist() == expected.tolist()


def test_launches_without_passes_in_between(accelerator: Accelerator) -> None:
    @tb.compute
    def mixed(cc: ComputeContext, a: S32Array) -> None:
        for _ in range(12):
            cc.dispatch(a.length, shift, a, 5)
            cc.dispatch(a.length, step, a, passes=2)
            cc.dispatch(a.length, shift, a, 5)

    a, expected = S32Array.of(START), START
    accelerator.compute(mixed, a)
    for _ in range(12):
        expected = shifted(stepped(shifted(expected, 5, 1), 2), 5, 1)
    assert a.array.tolist() == expected.tolist()


# ---------------------------------------------------------------------------- numbers


def test_numbers_may_change(null: Nulls, accelerator: Accelerator) -> None:
    a, expected = S32Array.of(START), START
    for amount in (1, 1, 10, 1000, np.int32(10), 1):
        accelerator.compute(run_shift, a, amount, 4)
        null.accelerator.compute(run_shift, a, amount, 4)
        expected = shifted(expected, int(amount), 4)
        assert np.asarray(a).tolist() == expected.tolist()
    assert preparations(null) == 1


def test_numbers_that_change_are_checked(accelerator: Accelerator) -> None:
    a = S32Array.of(START)
    accelerator.compute(run_shift, a, 1, 2)
    accelerator.compute(run_shift, a, 1, 2)
    for wrong, error in ((2**40, ArgumentValueError), (1.5, ArgumentTypeError)):
        with pytest.raises(error) as caught:
            accelerator.compute(run_shift, a, wrong, 2)
        assert isinstance(caught.value, TrilbyError)
        assert caught.value.location is not None
    accelerator.compute(run_shift, a, 1, 2)
    assert a.array.tolist() == shifted(shifted(shifted(START, 1, 2), 1, 2), 1, 2).tolist()


@tb.kernel
def fill(kc: KernelContext, a: F32Array, value: f32) -> None:
    a.array[kc.x] = value


def test_numbers_that_are_equal_may_be_others(accelerator: Accelerator) -> None:
    a = F32Array.create(length=LENGTH)
    for value in (0.0, 0.0, -0.0, 0, -0.0):
        accelerator.compute(run, fill, (a, value), {"passes": 2})
        assert np.signbit(np.asarray(a)).tolist() == [bool(np.signbit(value))] * LENGTH


@pytest.mark.usefixtures("talkative")
def test_numbers_that_changed_stay_when_all_is_prepared_anew(accelerator: Accelerator) -> None:
    """Passes whose buffers are seen through a raw view get the numbers of their dispatch."""
    a = S32Array.create(length=LENGTH)
    views: list[object] = []

    def tell(_done: int, _of: int) -> None:
        if amount > 1:
            views.append(a.array.raw())

    for amount in (1, 1, 5):
        a.array[:] = START
        options = {"passes": 40, "progress": tell}
        assert accelerator.compute(run, shift, (a, amount), options) == 40
        assert a.array.tolist() == shifted(START, amount, 40).tolist()
    assert views


@tb.kernel
def take(kc: KernelContext, a: S32Array, start: i32, out: S32Array) -> None:
    out.array[kc.x] += a.array[start + kc.x]


def test_a_number_that_decides_what_is_touched_is_no_short_way(discrete: Accelerator) -> None:
    a, out = S32Array.of(range(64)), S32Array.create(length=4)
    for start in (0, 0, 8, 60, 8):
        out.array[:] = 0
        discrete.compute(_run_take, a, start, out)
        assert out.array.tolist() == [3 * n for n in range(start, start + 4)]
    a.array[20:24] = -1
    out.array[:] = 0
    discrete.compute(_run_take, a, 20, out)
    assert out.array.tolist() == [-3] * 4


@tb.compute
def _run_take(cc: ComputeContext, a: S32Array, start: int, out: S32Array) -> None:
    cc.dispatch(4, take, a, start, out, passes=3)


# ------------------------------------------------------------- what is not the same any more


def test_other_buffers_and_ranges_are_others(null: Nulls) -> None:
    a, b = two()
    null.accelerator.compute(run_step, a, 2)
    null.accelerator.compute(run_step, b, 2)
    null.accelerator.compute(run_step, S32Array.create(length=5), 2)
    assert preparations(null) == 3


@pytest.mark.parametrize("size", [8.0, True, "8", (8.0,), None, -8])
def test_a_range_that_only_equals_a_good_one_is_refused(
    accelerator: Accelerator, size: object
) -> None:
    @tb.compute
    def over(cc: ComputeContext, size: Any, a: S32Array) -> None:
        cc.dispatch(size, step, a, passes=3)

    a = S32Array.of(START)
    for good in (8, 1, (8,), 8, 1, (8,)):
        accelerator.compute(over, good, a)
    before = a.array.tolist()
    with pytest.raises(TrilbyError):
        accelerator.compute(over, size, a)
    assert a.array.tolist() == before


FACTOR = 3


@tb.kernel
def scale(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] *= FACTOR


def test_a_constant_that_changes_is_seen(
    accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = S32Array.of([1] * LENGTH)
    for _ in range(2):
        accelerator.compute(run, scale, (a,), {"passes": 2})
    monkeypatch.setitem(globals(), "FACTOR", 5)
    accelerator.compute(run, scale, (a,), {"passes": 2})
    assert a.array.tolist() == [3**4 * 5**2] * LENGTH


class Pair(tb.Struct):
    left: i32
    right: i32


@tb.kernel
def add_pair(kc: KernelContext, a: S32Array, pair: Pair) -> None:
    a.array[kc.x] += pair.left + pair.right


def test_a_struct_that_changes_is_seen(accelerator: Accelerator) -> None:
    a, pair = S32Array.create(length=LENGTH), Pair(left=1, right=2)
    for number in (2, 2, 20, 200):
        pair.right = number
        accelerator.compute(run, add_pair, (a, pair), {"passes": 2})
    assert a.array.tolist() == [2 * (3 + 3 + 21 + 201)] * LENGTH


def test_another_strategy_is_another_dispatch(discrete: Accelerator) -> None:
    a, expected = S32Array.of(START), START
    try:
        for transfers in (*Transfers, *Transfers):
            discrete.transfers = transfers
            for _ in range(2):
                discrete.compute(run_step, a, 3)
                expected = stepped(expected, 3)
    finally:
        discrete.transfers = Transfers.AUTO
    assert a.array.tolist() == expected.tolist()


def test_a_raw_view_is_seen(accelerator: Accelerator) -> None:
    a = S32Array.of(START)
    for _ in range(2):
        accelerator.compute(run_step, a, 3)
    raw = a.array.raw()
    raw[:] = START
    accelerator.compute(run_step, a, 3)
    assert raw.tolist() == stepped(START, 3).tolist()
    raw[:] = 2 * START
    del raw
    accelerator.compute(run_step, a, 3)
    assert a.array.tolist() == stepped(2 * START, 3).tolist()


def test_a_buffer_that_was_released_is_refused(accelerator: Accelerator) -> None:
    a = S32Array.of(START)
    for _ in range(2):
        accelerator.compute(run_step, a, 3)
    a.release()
    with pytest.raises(TrilbyError, match="released"):
        accelerator.compute(run_step, a, 3)


@tb.kernel
def add_one(kc: KernelContext, a: NDArray[i32]) -> None:
    a[kc.x] += 1


@tb.compute
def run_add_one(cc: ComputeContext, a: NDArray[i32]) -> None:
    cc.dispatch(a.shape[0], add_one, a, passes=3)


def test_an_array_that_was_released_is_refused_while_another_has_its_memory(
    accelerator: Accelerator,
) -> None:
    memory = np.zeros(8, np.int32)
    a, b = accelerator.array(memory), accelerator.array(memory)
    for _ in range(2):
        accelerator.compute(run_add_one, a)
        accelerator.compute(run_add_one, b)
    a.release()
    with pytest.raises(TrilbyError, match="released"):
        accelerator.compute(run_add_one, a)
    accelerator.compute(run_add_one, b)
    assert np.asarray(b).tolist() == [15] * 8


def test_a_new_buffer_with_the_identity_of_an_old_one_is_another(accelerator: Accelerator) -> None:
    """Python may give a new object the identity of one that is gone, before that is forgotten."""
    a, b = S32Array.of(START), S32Array.of(-START)
    accelerator.compute(run_step, a, 2)
    kept: dict[tuple[object, ...], object] = vars(accelerator.launches)["_kept"]
    (key,) = [one for one in kept if one[-1] == id(a)]
    kept[*key[:-1], id(b)] = kept.pop(key)
    accelerator.compute(run_step, b, 2)
    assert a.array.tolist() == stepped(START, 2).tolist()
    assert b.array.tolist() == stepped(-START, 2).tolist()


def test_arrays_on_one_memory(accelerator: Accelerator) -> None:
    @tb.kernel
    def add_pass(kc: KernelContext, a: NDArray[i32]) -> None:
        a[kc.x] += kc.pass_id

    @tb.compute
    def run_both(cc: ComputeContext, a: NDArray[i32], b: NDArray[i32]) -> None:
        cc.dispatch(a.shape[0], add_pass, a, passes=3)
        cc.dispatch(b.shape[0], add_pass, b, passes=4)

    memory = np.zeros(10, np.int32)
    a, b = accelerator.array(memory[:6]), accelerator.array(memory[4:])
    for _ in range(3):
        accelerator.compute(run_both, a, b)
    assert np.asarray(a).tolist() == [9] * 4 + [27] * 2
    assert np.asarray(b).tolist() == [27] * 2 + [18] * 4


def test_explicit_blocks_still_refuse_what_is_stale(discrete: Accelerator) -> None:
    @tb.compute
    def explicitly(cc: ComputeContext, a: S32Array) -> None:
        with cc.explicit():
            cc.dispatch(a.length, step, a, passes=3)

    a = S32Array.of(START)
    for _ in range(2):
        discrete.compute(run_step, a, 3)
    a.array[:] = START
    with pytest.raises(StaleReadError, match=r"cc\.put\(a\)"):
        discrete.compute(explicitly, a)
    discrete.compute(run_step, a, 3)
    assert a.array.tolist() == stepped(START, 3).tolist()


def test_the_log_says_what_is_there_every_time(
    discrete: Accelerator, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("trilby"), "propagate", True)
    a = S32Array.of(START)
    for _ in range(2):
        discrete.compute(run_step, a, 3)
    with caplog.at_level(logging.DEBUG, "trilby"):
        for _ in range(2):
            discrete.compute(run_step, a, 3)
    assert [one.message for one in caplog.records].count("step: a is present") == 2


def test_a_buffer_that_had_to_leave_the_device_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = Watched()
    a, b = two()
    limit = 3 * a.segment.nbytes // 2
    accelerator = with_backend(monkeypatch, backend, memory_limit=limit, poison=True)
    first, second = START, np.zeros_like(START)
    for _ in range(4):
        accelerator.compute(run_step, a, 3)
        accelerator.compute(run_step, b, 2)
        first, second = stepped(first, 3), stepped(second, 2)
    assert a.array.tolist() == first.tolist()
    assert b.array.tolist() == second.tolist()


def test_a_flag_that_nobody_raises_is_refused_every_time(accelerator: Accelerator) -> None:
    a, done = two()
    other = S32Array.create(length=1)
    given: tuple[Any, ...] = (a, done, 3)
    for _ in range(2):
        a.array[:] = done.array[:] = 0
        options = {"passes": 9, "until": done}
        assert accelerator.compute(run, count_until, given, options) == 3
    with pytest.raises(ArgumentValueError, match="is not given"):
        accelerator.compute(run, count_until, given, {"passes": 9, "until": other})
    a.array[:] = done.array[:] = 0
    assert accelerator.compute(run, count_until, given, {"passes": 9, "until": done}) == 3


def test_no_pass_at_all(accelerator: Accelerator) -> None:
    a = S32Array.of(START)
    accelerator.compute(run_step, a, 2)
    assert accelerator.compute(run_step, a, 0) == 0
    assert accelerator.compute(run_step, a, 2) == 2
    assert a.array.tolist() == stepped(stepped(START, 2), 2).tolist()


def test_many_are_not_kept_for_ever_and_none_keeps_its_buffers(null: Nulls) -> None:
    buffers = [S32Array.create(length=4) for _ in range(300)]
    for number in range(300):
        null.accelerator.compute(run_step, buffers[number], 2)
    kept: dict[object, object] = vars(null.accelerator.launches)["_kept"]
    assert 0 < len(kept) <= 256
    segments = [weakref.ref(one.segment) for one in buffers]
    buffers.clear()
    gc.collect()
    assert not kept
    assert not any(segment() for segment in segments)


# ------------------------------------------------------------------------ errors, others


def test_passes_that_were_stopped_run_again(accelerator: Accelerator) -> None:
    a, b = S32Array.create(length=LENGTH), S32Array.create(length=LENGTH)
    for _ in range(2):
        accelerator.compute(run_counting, a, b, 5)
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(PassesCancelledError):
        accelerator.compute(run_counting, a, b, 5, cancel=cancel)
    assert accelerator.compute(run_counting, a, b, 5) == 5
    assert a.array.tolist() == [15] * LENGTH
    assert b.array.tolist() == [5] * LENGTH


def test_a_device_that_fails_the_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, Simulated(GPU, "run", good_runs=16))
    accelerator = Accelerator("sim:0", memory="discrete", poison=True)
    a = S32Array.of(START)
    accelerator.compute(run_step, a, 6)
    accelerator.compute(run_step, a, 6)
    with pytest.raises(DeviceError, match="run 17 failed") as caught:
        accelerator.compute(run_step, a, 6)
    assert caught.value.location is not None
    expected = stepped(stepped(stepped(START, 6), 6), 4)
    assert a.array.tolist() == expected.tolist()


@pytest.mark.parametrize("good_runs", [6, 8, 12, 14])
@pytest.mark.parametrize("fails", ["run", "later", "lost"])
def test_a_call_of_several_starts_again_on_another_device(
    monkeypatch: pytest.MonkeyPatch, fails: str, good_runs: int
) -> None:
    @tb.compute
    def three_times(cc: ComputeContext, a: S32Array) -> None:
        for _ in range(3):
            cc.dispatch(a.length, step, a, passes=6)

    machine(monkeypatch, Simulated(GPU, fails, good_runs), Simulated(CPU))
    accelerator = Accelerator("sim:0", fallback=["cpu"], memory="discrete", poison=True)
    a = S32Array.of(START)
    accelerator.compute(three_times, a)
    assert len(accelerator.fallbacks) == 1
    assert a.array.tolist() == stepped(stepped(stepped(START, 6), 6), 6).tolist()


def test_an_error_names_the_line_that_dispatched(discrete: Accelerator) -> None:
    @tb.compute
    def from_two_lines(cc: ComputeContext, a: S32Array, cancel: Any, second: Any) -> None:
        cc.dispatch(a.length, step, a, passes=3, cancel=cancel)
        cc.dispatch(a.length, step, a, passes=3, cancel=second)

    a, never, now = S32Array.of(START), threading.Event(), threading.Event()
    now.set()
    discrete.compute(from_two_lines, a, never, never)
    lines: list[int] = []
    for events in ((now, never), (never, now)):
        with pytest.raises(PassesCancelledError) as caught:
            discrete.compute(from_two_lines, a, *events)
        assert caught.value.location is not None
        lines.append(caught.value.location.line)
    assert lines[1] == lines[0] + 1


def test_a_copy_names_the_line_that_dispatched_last(discrete: Accelerator) -> None:
    @tb.compute
    def from_two_lines(cc: ComputeContext, a: S32Array) -> None:
        cc.dispatch(a.length, step, a, passes=3)
        cc.dispatch(a.length, step, a, passes=3)

    a = S32Array.of(START)
    discrete.compute(from_two_lines, a)
    start = from_two_lines.function.__code__.co_firstlineno
    discrete.compute(from_two_lines, a)
    with discrete.record() as ledger:
        assert a.array.tolist() == stepped(stepped(stepped(stepped(START, 3), 3), 3), 3).tolist()
    (copy,) = ledger.downloads
    assert f"step wrote it at test_passes_again.py:{start + 3}" in copy.cause


@pytest.fixture
def talkative(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is told after every portion, and portions are small."""
    monkeypatch.setattr(passes, "PROGRESS_SECONDS", 0.0)
    monkeypatch.setattr(passes, "MOST_AT_ONCE", 10)


@pytest.mark.usefixtures("talkative")
def test_progress_may_dispatch_the_very_same(accelerator: Accelerator) -> None:
    a, b = S32Array.create(length=LENGTH), S32Array.create(length=LENGTH)
    for _ in range(2):
        accelerator.compute(run_counting, a, b, 20)
    inner: list[int] = []

    def tell(_done: int, _of: int) -> None:
        if len(inner) < 3:
            inner.append(accelerator.compute(run_counting, a, b, 20))

    a.array[:] = 0
    assert accelerator.compute(run_counting, a, b, 20, tell) == 20
    assert inner
    assert a.array.tolist() == [20 * (len(inner) + 1)] * LENGTH


def test_for_a_profile_the_second_time_is_timed_as_well(discrete: Accelerator) -> None:
    a = S32Array.create(length=1 << 14)
    for _ in range(2):
        discrete.compute(run_step, a, 20)
    with discrete.profile() as profile:
        for _ in range(3):
            discrete.compute(run_step, a, 20)
    (row,) = profile.dispatches
    assert (row.kernel, row.count) == ("step", 3)
    assert row.execute_seconds > 0
    discrete.compute(run_step, a, 20)


@pytest.mark.parametrize("kind", ["opencl", "native", "native, shared"])
def test_threads_with_other_numbers_do_not_disturb_each_other(kind: str) -> None:
    """All run the same passes on one buffer: each adds its own number, whatever the others do."""

    @tb.kernel
    def add(kc: KernelContext, a: S32Array, amount: i32) -> None:
        a.array[kc.x] += amount

    @tb.compute
    def run_add(cc: ComputeContext, a: S32Array, amount: int, times: int) -> None:
        cc.dispatch(a.length, add, a, amount, passes=times)

    with opened_as(kind) as accelerator:
        a = S32Array.create(length=LENGTH)
        failed: list[BaseException] = []

        def work(amount: int) -> None:
            try:
                for turn in range(25):
                    accelerator.compute(run_add, a, amount, 1 + turn)
            except BaseException as error:  # noqa: BLE001 -- it is told below
                failed.append(error)

        threads = [threading.Thread(target=work, args=(amount,)) for amount in (1, 1000, 10**6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
        assert a.array.tolist() == [1_001_001 * sum(range(1, 26))] * LENGTH


@pytest.mark.parametrize("kernel", [step, flip])
def test_a_kernel_is_known_by_itself(accelerator: Accelerator, kernel: Any) -> None:
    a, b = two()
    given = (a, b) if kernel is flip else (a,)
    for _ in range(3):
        a.array[:] = START
        accelerator.compute(run, kernel, given, {"passes": 2})
    expected = flipped(START, 2) if kernel is flip else stepped(START, 2)
    assert a.array.tolist() == expected.tolist()


def test_until_the_same_flag_again(accelerator: Accelerator) -> None:
    a, done = S32Array.create(length=LENGTH), S32Array.create(length=1)
    for limit in (25, 25, 7, 40):
        a.array[:] = 0
        done.array[0] = 0
        assert accelerator.compute(run_until, a, done, limit, 100, 1) == limit
        assert a.array.tolist() == [limit] * LENGTH

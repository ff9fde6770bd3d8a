"""Many passes of one dispatch: what they come to, what moves, and what ends them."""

import re
import threading
from typing import Any

import numpy as np
import pytest
from tests.runtime.pass_programs import (
    count,
    count_below,
    count_until,
    double,
    flipped,
    leave,
    run,
    run_counting,
    run_flip,
    run_step,
    run_until,
    step,
    stepped,
)

import trilby as tb
from trilby import Accelerator, ComputeContext, F32Array, KernelContext, NDArray, S32Array, f32, i32
from trilby.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    KernelAssertionError,
    KernelIndexError,
    PassesCancelledError,
    PassesStoppedError,
    PassesTimeoutError,
    StaleReadError,
    TrilbyError,
)

START = np.arange(1, 40, dtype=np.int32)


def fresh() -> S32Array:
    return S32Array.of(START)


# ------------------------------------------------------------------- what they come to


@pytest.mark.parametrize("passes", [0, 1, 2, 3, 7, 40])
def test_each_pass_sees_what_the_one_before_it_left(accelerator: Accelerator, passes: int) -> None:
    a = fresh()
    assert accelerator.compute(run_step, a, passes) == passes
    np.testing.assert_array_equal(np.asarray(a), stepped(START, passes))


def test_a_thousand_passes(accelerator: Accelerator) -> None:
    a, b = S32Array.create(length=4), S32Array.create(length=4)
    assert accelerator.compute(run_counting, a, b, 1000) == 1000
    assert np.asarray(a).tolist() == np.asarray(b).tolist() == [1000] * 4


@pytest.mark.parametrize("passes", [1, 2, 3, 8, 41])
def test_two_buffers_flip_by_the_number_of_the_pass(accelerator: Accelerator, passes: int) -> None:
    a, b = fresh(), S32Array.of(-START)
    accelerator.compute(run_flip, a, b, passes)
    last = b if passes % 2 else a
    np.testing.assert_array_equal(np.asarray(last), flipped(START, passes))


def test_a_plain_dispatch_is_pass_0_also_after_others(accelerator: Accelerator) -> None:
    a = fresh()
    accelerator.compute(run_step, a, 5)
    accelerator.compute(run, step, (a,), {})
    accelerator.compute(run, step, (a,), {})
    expected = stepped(START, 5) * 9
    np.testing.assert_array_equal(np.asarray(a), expected.astype(np.int32))


@pytest.mark.parametrize("transfers", tb.Transfers)
def test_every_strategy_comes_to_the_same(
    accelerator: Accelerator, transfers: tb.Transfers
) -> None:
    a, b, c, done = fresh(), S32Array.create(length=39), fresh(), S32Array.create(length=2)
    with accelerator.strategy(transfers):
        accelerator.compute(run_flip, a, b, 6)
        assert accelerator.compute(run_until, c, done, 7, 50, 3) == 6
    np.testing.assert_array_equal(np.asarray(a), flipped(START, 6))
    np.testing.assert_array_equal(np.asarray(c), START + 6)
    assert done.array.tolist() == [7, 0]


@tb.kernel
def smooth(kc: KernelContext, a: NDArray[i32], b: NDArray[i32]) -> None:
    here = a if kc.pass_id % 2 == 0 else b
    there = b if kc.pass_id % 2 == 0 else a
    there[kc.x] = here[kc.x] + (here[kc.x - 1] if kc.x > 0 else 0)


@tb.compute
def run_smooth(cc: ComputeContext, a: NDArray[i32], b: NDArray[i32], passes: int) -> None:
    cc.dispatch(a.shape[0], smooth, a, b, passes=passes)


@pytest.mark.parametrize("passes", [4, 5])
def test_names_flip_by_the_number_of_the_pass(discrete: Accelerator, passes: int) -> None:
    a, b = discrete.array(START.copy()), discrete.array(-START)
    with discrete.record() as ledger:
        discrete.compute(run_smooth, a, b, passes)
        found = np.asarray(b if passes % 2 else a)
    expected = START
    for _ in range(passes):
        expected = expected + np.concatenate([[0], expected[:-1]])
    np.testing.assert_array_equal(found, expected)
    assert (len(ledger.uploads), len(ledger.downloads), ledger.ratio) == (1, 1, 1.0)


# ------------------------------------------------------------------------- what moves


@pytest.mark.parametrize("transfers", tb.Transfers)
def test_data_moves_at_most_once_each_way(discrete: Accelerator, transfers: tb.Transfers) -> None:
    a = fresh()
    with discrete.strategy(transfers), discrete.record() as ledger:
        discrete.compute(run_step, a, 300)
        np.asarray(a)
    assert (len(ledger.uploads), len(ledger.downloads)) == (1, 1)
    assert max(ledger.bytes_up, ledger.bytes_down) <= a.nbytes


@pytest.mark.parametrize("passes", [1, 2, 7, 300, 301])
def test_of_two_buffers_that_flip_one_goes_up_and_one_comes_back(
    discrete: Accelerator, passes: int
) -> None:
    a, b = fresh(), S32Array.of(-START)
    with discrete.record() as ledger:
        discrete.compute(run_flip, a, b, passes)
        np.asarray(b if passes % 2 else a)
    assert [copy.buffer for copy in ledger.uploads] == ["a"]
    assert [copy.buffer for copy in ledger.downloads] == ["b" if passes % 2 else "a"]
    assert ledger.ratio == 1.0


def test_no_pass_moves_nothing(discrete: Accelerator) -> None:
    a = fresh()
    with discrete.record() as ledger:
        assert discrete.compute(run_step, a, 0) == 0
    assert not ledger.uploads


def test_passes_over_an_empty_range_are_all_done(discrete: Accelerator) -> None:
    assert discrete.compute(run_step, S32Array.create(length=0), 9) == 9


def test_passes_on_data_that_is_there_move_nothing(discrete: Accelerator) -> None:
    a = fresh()
    discrete.compute(run_step, a, 2)
    with discrete.guard():
        discrete.compute(run_step, a, 50)
        discrete.compute(run_step, a, 50)


# ----------------------------------------------------------------------------- until


@pytest.mark.parametrize(("every", "done"), [(1, 10), (3, 12), (10, 10), (11, 11), (500, 100)])
def test_a_flag_ends_them(discrete: Accelerator, every: int, done: int) -> None:
    a, flag = S32Array.create(length=39), S32Array.create(length=50)
    with discrete.record() as ledger:
        assert discrete.compute(run_until, a, flag, 10, 100, every) == done
    looks = [copy for copy in ledger.downloads if copy.buffer == "done"]
    assert [copy.nbytes for copy in looks] == [4] * (done // every)
    assert ledger.bytes_down == 4 * (done // every)
    assert np.asarray(a).tolist() == [done] * 39


def test_the_ledger_says_why_a_flag_moves(discrete: Accelerator) -> None:
    a, flag = S32Array.create(length=4), S32Array.create(length=1)
    with discrete.record() as ledger:
        discrete.compute(run_until, a, flag, 2, 10, 2)
    assert "it says whether the passes are done; count_until wrote it" in str(ledger)


def test_a_flag_is_not_looked_at_after_the_last_pass(discrete: Accelerator) -> None:
    a, flag = S32Array.create(length=4), S32Array.create(length=1)
    with discrete.record() as ledger:
        assert discrete.compute(run_until, a, flag, 99, 6, 3) == 6
    assert len(ledger.downloads) == 1


class Counted(tb.Buffer):
    class Row(tb.Struct):
        key: i32
        near: f32

    length: i32
    first: f32
    hits: tb.Atomic[i32]
    row: tb.Array[Row] = tb.array("length")


@tb.kernel
def mark(kc: KernelContext, to: Counted, n: i32) -> None:
    if kc.pass_id == n:
        to.row[2].near = -0.5
        to.hits = 3
        to.first = 1.0
    else:
        to.row[2].near = -0.0


@tb.compute
def mark_by_element(cc: ComputeContext, to: Counted, n: int) -> int:
    cc.dispatch(1, lambda kc: mark(kc, to, n), passes=20, until=to.row[2].near)
    return cc.passes_done


@tb.compute
def mark_by_field(cc: ComputeContext, to: Counted, n: int) -> int:
    return cc.dispatch(1, mark, to, n, until=to.hits, passes=20).passes_done


@tb.compute
def mark_by_buffer(cc: ComputeContext, to: Counted, n: int) -> int:
    cc.dispatch(1, mark, to, n, passes=20, until=to)
    return cc.passes_done


@tb.compute
def mark_by_column(cc: ComputeContext, to: Counted, n: int) -> int:
    cc.dispatch(1, mark, to, n, passes=20, until=to.row.near[2:])
    return cc.passes_done


@pytest.mark.parametrize("way", [mark_by_element, mark_by_field, mark_by_buffer, mark_by_column])
def test_what_a_flag_can_be(accelerator: Accelerator, way: Any) -> None:
    """Minus zero is zero; a buffer stands for its first element, and so does a view."""
    to = Counted.create(length=4)
    assert accelerator.compute(way, to, 4) == 5
    assert (to.first, to.hits, to.row[2].near) == (1.0, 3, -0.5)


@tb.kernel
def fill_up(kc: KernelContext, a: NDArray[f32]) -> None:
    a[kc.x, 1] = a[kc.x, 1] + 0.25
    if kc.pass_id > 4:
        a[0, 0] = 1.0


@tb.compute
def fill_array(cc: ComputeContext, a: NDArray[f32]) -> int:
    cc.dispatch(3, fill_up, a, passes=20, until=a[0, 0])
    return cc.passes_done


def test_an_element_of_an_array_can_be_a_flag(discrete: Accelerator) -> None:
    mine = np.zeros((3, 2), np.float32)
    a = discrete.array(mine)
    with discrete.record() as ledger:
        assert discrete.compute(fill_array, a) == 6
    assert ledger.bytes_down == 4  # the passes before do not write it, which is known
    a.release()
    assert mine.tolist() == [[1, 1.5], [0, 1.5], [0, 1.5]]


# --------------------------------------------------------------------- explicit or not


@tb.compute(explicit=True)
def explicit_until(cc: ComputeContext, a: S32Array, done: S32Array) -> int:
    cc.put(a, done)
    cc.dispatch(a.length, count_until, a, done, 10, passes=100, until=done.array[0])
    cc.get(a)
    return cc.passes_done + int(a.array[0])


@tb.compute
def automatic_until(cc: ComputeContext, a: S32Array, done: S32Array) -> int:
    cc.dispatch(a.length, count_until, a, done, 10, passes=100, until=done.array[0])
    return cc.passes_done + int(a.array[0])


def test_a_flag_is_looked_at_also_where_nothing_moves_by_itself(discrete: Accelerator) -> None:
    figures: list[tuple[int, ...]] = []
    for function in (explicit_until, automatic_until):
        a, done = S32Array.of([0]), S32Array.of([0, 0, 0])
        with discrete.record() as ledger:
            assert discrete.compute(function, a, done) == 20
        figures.append((len(ledger.uploads), len(ledger.downloads), ledger.bytes_down))
    assert figures == [(2, 11, 44)] * 2


@tb.compute(explicit=True)
def forgetful(cc: ComputeContext, a: S32Array) -> int:
    cc.dispatch(a.length, step, a, passes=10)
    return cc.passes_done


def test_a_put_that_is_missing_is_found_before_the_first_pass(discrete: Accelerator) -> None:
    a = fresh()
    with pytest.raises(StaleReadError, match="`a` is stale on the device"):
        discrete.compute(forgetful, a)
    np.testing.assert_array_equal(np.asarray(a), START)


# -------------------------------------------------------------------------- the ends


def test_they_are_cancelled_from_another_thread(accelerator: Accelerator) -> None:
    a, b = S32Array.create(length=8), S32Array.create(length=8)
    stop = threading.Event()
    timer = threading.Timer(0.05, stop.set)
    timer.start()
    with pytest.raises(PassesCancelledError, match="was cancelled after") as caught:
        accelerator.compute(run_counting, a, b, 10**9, cancel=stop)
    done = caught.value.done
    assert done < 10**9
    assert np.asarray(a).tolist() == np.asarray(b).tolist() == [done] * 8
    assert f"{done} of 1000000000 passes" in str(caught.value)


def test_what_is_cancelled_before_it_begins_moves_nothing(discrete: Accelerator) -> None:
    a, b, stop = fresh(), fresh(), threading.Event()
    stop.set()
    with discrete.record() as ledger, pytest.raises(PassesStoppedError) as caught:
        discrete.compute(run_counting, a, b, 10, cancel=stop)
    assert (caught.value.done, len(ledger.uploads)) == (0, 0)


def test_they_end_when_their_time_is_up(accelerator: Accelerator) -> None:
    a, b = S32Array.create(length=8), S32Array.create(length=8)
    with pytest.raises(PassesTimeoutError, match=r"took longer than 0\.05 seconds") as caught:
        accelerator.compute(run_counting, a, b, 10**9, timeout=0.05)
    done = caught.value.done
    assert isinstance(caught.value, TimeoutError)
    assert np.asarray(a).tolist() == np.asarray(b).tolist() == [done] * 8


def test_who_catches_the_end_knows_how_far_they_came(accelerator: Accelerator) -> None:
    @tb.compute
    def run_caught(cc: ComputeContext, a: S32Array, b: S32Array) -> int:
        try:
            cc.dispatch(a.length, count, a, b, passes=10**9, timeout=0.02)
        except PassesTimeoutError as error:
            return error.done - cc.passes_done
        return -1

    assert accelerator.compute(run_caught, fresh(), fresh()) == 0


def test_a_pass_that_fails_is_the_last_and_is_told_once(accelerator: Accelerator) -> None:
    a, b = S32Array.of([0] * 9), S32Array.of([0] * 9)
    with pytest.raises(KernelAssertionError, match="too far"):
        accelerator.compute(run, count_below, (a, b, 5), {"passes": 20})
    assert a.array[3] == b.array[3] == 5
    assert {*a.array.tolist(), *b.array.tolist()} <= {5, 6}  # others may have done their work
    a.array[:] = 5
    assert accelerator.compute(run, count_below, (a, b, 8), {"passes": 3}) == 3
    assert np.asarray(a).tolist() == np.asarray(b).tolist() == [8] * 9


def test_the_interpreter_undoes_a_pass_that_fails(interpreter: Accelerator) -> None:
    a, b = S32Array.of([9] * 9), S32Array.of([4] * 9)
    with pytest.raises(KernelAssertionError):
        interpreter.compute(run, count_below, (a, b, 5), {"passes": 20})
    assert (np.asarray(a).tolist(), np.asarray(b).tolist()) == ([9] * 9, [4] * 9)
    a.array[:] = 3
    with pytest.raises(KernelAssertionError):
        interpreter.compute(run, count_below, (a, b, 5), {"passes": 20})
    assert np.asarray(a).tolist() == np.asarray(b).tolist() == [5] * 9


def test_an_index_that_leaves_its_array_leaves_the_passes_before(interpreter: Accelerator) -> None:
    a = S32Array.of([0, 0, 0, 0])

    @tb.compute
    def walk(cc: ComputeContext, a: S32Array) -> None:
        cc.dispatch(2, leave, a, passes=10)

    with pytest.raises(KernelIndexError, match="work item"):
        interpreter.compute(walk, a)
    assert a.array.tolist() == [1, 2, 2, 1]


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("options", "kind", "problem", "advice"),
    [
        ({"passes": 2.0}, TypeError, "`passes` is a whole number, and this is float", "int(…)"),
        ({"passes": True}, TypeError, "and this is bool", "passes=10"),
        ({"passes": "3"}, TypeError, "and this is str", "passes=10"),
        ({"passes": -1}, ValueError, "`passes` is -1, and can be 0 to 2147483647", "0 for no pass"),
        ({"passes": 2**31}, ValueError, "can be 0 to 2147483647", ""),
        ({"passes": 3, "check_every": 0}, ValueError, "can be 1 to", ""),
        ({"passes": 3, "until": 1}, TypeError, "no element of a buffer", "done.array[:1]"),
        ({"passes": 3, "until": "done"}, TypeError, "is given str", "until=done.array[0]"),
        ({"passes": 3, "until": S32Array.create(length=0)}, TypeError, "no element", ""),
        ({"passes": 3, "until": S32Array.of([1])}, ValueError, "`double` is not given", "raise"),
        ({"passes": 3, "progress": 3}, TypeError, "is called with two numbers", "progress=True"),
        ({"passes": 3, "cancel": 3}, TypeError, "asked whether it is set", "threading.Event()"),
        ({"passes": 3, "timeout": "1s"}, TypeError, "a number of seconds", "timeout=60"),
        ({"passes": 3, "timeout": -1}, ValueError, "time goes forward", "timeout=60"),
        ({"passes": 3, "timeout": float("nan")}, ValueError, "time goes forward", ""),
        ({"timeout": 3}, TypeError, "it is not said how many", "passes=1000, timeout=…"),
        ({"passes": 3, "pases": 3}, TypeError, "'pases'", "parameters after the context are a"),
    ],
)
def test_options_that_mean_nothing(
    interpreter: Accelerator,
    options: dict[str, Any],
    kind: type[Exception],
    problem: str,
    advice: str,
) -> None:
    a = fresh()
    with pytest.raises(TrilbyError, match=re.escape(problem)) as caught:
        interpreter.compute(run, double, (a,), options)
    assert isinstance(caught.value, kind)
    assert advice in caught.value.advice
    assert caught.value.location is not None
    np.testing.assert_array_equal(np.asarray(a), START)


def test_numbers_of_numpy_are_numbers(interpreter: Accelerator) -> None:
    a = S32Array.of([1])
    options = {"passes": np.int64(3), "check_every": np.uint8(2), "timeout": np.float64(60)}
    assert interpreter.compute(run, double, (a,), options) == 3
    assert a.array[0] == 8


@tb.kernel
def scaled(kc: KernelContext, a: F32Array, passes: i32, timeout: f32) -> None:
    a.array[kc.x] = a.array[kc.x] * f32(passes) + timeout


def test_parameters_with_the_name_of_an_option_are_given_by_position(
    interpreter: Accelerator,
) -> None:
    a = F32Array.of([1, 2])
    assert interpreter.compute(run, scaled, (a, 2, 0.5), {"passes": 2}) == 2
    assert a.array.tolist() == [1 * 4 + 1.5, 2 * 4 + 1.5]
    with pytest.raises(ArgumentTypeError, match="an option of every dispatch, and a parameter"):
        interpreter.compute(run, scaled, (a,), {"passes": 2, "timeout": 0.5})


def test_a_name_that_could_mean_both_is_refused_when_the_text_is_read(
    interpreter: Accelerator,
) -> None:
    @tb.compute
    def named(cc: ComputeContext, a: F32Array) -> None:
        cc.dispatch(a.length, scaled, a, passes=2, timeout=0.5)

    with pytest.raises(ArgumentTypeError, match="`passes` is an option") as caught:
        interpreter.compute(named, F32Array.of([1]))
    assert "by its position" in caught.value.advice


def test_an_option_inside_of_a_lambda_belongs_to_the_kernel(interpreter: Accelerator) -> None:
    @tb.compute
    def named(cc: ComputeContext, a: F32Array) -> int:
        cc.dispatch(a.length, lambda kc: scaled(kc, a, 2, timeout=0.5), passes=3)
        return cc.passes_done

    a = F32Array.of([1])
    with pytest.raises(ArgumentTypeError, match="`timeout` is an option"):
        interpreter.compute(named, a)


def test_an_element_that_python_has_read_is_refused(interpreter: Accelerator) -> None:
    a, done = S32Array.of([0]), S32Array.of([0])
    options: dict[str, Any] = {"passes": 3, "until": done.array[0]}
    with pytest.raises(ArgumentTypeError, match="`until` is given int") as caught:
        interpreter.compute(run, count_until, (a, done, 2), options)
    assert "until=done.array[:1]" in caught.value.advice
    options["until"] = done.array[:1]
    assert interpreter.compute(run, count_until, (a, done, 2), options) == 2


def test_an_argument_that_is_missing_is_an_error_as_ever(interpreter: Accelerator) -> None:
    with pytest.raises(ArgumentTypeError, match="missing a required argument"):
        interpreter.compute(run, count_until, (fresh(),), {"passes": 3})
    with pytest.raises(ArgumentValueError, match="does not fit"):
        interpreter.compute(run, count_until, (fresh(), fresh(), 2**40), {"passes": 3})

"""Order of evaluation, control flow and loops: generated C against the interpreter and Python.

Each kernel here is made to break the way in which expressions are put into one another. It
is run on a device and on the interpreter, and as the plain Python function that it is.
"""

# ruff: noqa: ARG001 -- a kernel takes its context, used or not

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.codegen.random_kernels import program
from tests.codegen.running import Array, copy_of, run_both, text_of

import trilby as tb
from trilby import KernelContext, NDArray, S32Array, f32, i8, i16, i32, i64, u8, u32
from trilby.reflect.functions import Kernel


def as_python(kernel: Kernel[...], count: int, *args: Any) -> list[Any]:
    """Call the function itself for each work item, on copies."""
    copies = [copy_of(arg) for arg in args]
    for x in range(count):
        context: Any = SimpleNamespace(x=x, y=0, z=0, max_x=count, max_y=1, max_z=1)
        kernel.function(context, *copies)
    return copies


def numbers(*values: int) -> S32Array:
    return S32Array.of(np.array(values, np.int32))


def content(arg: Any) -> list[int]:
    numbers: Array = np.asarray(arg)
    return numbers.ravel().tolist()


def check(kernel: Kernel[...], count: int, *args: Any) -> list[list[int]]:
    """Run in all three ways, compare, and give what the buffers hold afterwards."""
    outcome = run_both(kernel, count, *args)
    plain = as_python(kernel, count, *args)
    results = [
        [content(arg) for arg in side if isinstance(arg, tb.Buffer | np.ndarray)]
        for side in (plain, outcome.interpreter, outcome.opencl)
    ]
    assert results[1] == results[0]
    assert results[2] == results[0]
    return results[2]


# -- loads and stores ---------------------------------------------------------------------


@tb.kernel
def load_before_store(kc: KernelContext, a: S32Array) -> None:
    old = a.array[0]
    a.array[0] = old + 1
    a.array[1] = old
    a.array[2] = a.array[0]


def test_a_load_happens_before_a_later_store_to_its_place() -> None:
    assert check(load_before_store, 1, numbers(5, 0, 0)) == [[6, 5, 6]]


@tb.kernel
def swap(kc: KernelContext, a: S32Array) -> None:
    i = kc.x
    j = 4 - kc.x
    a.array[i], a.array[j] = a.array[j], a.array[i]


def test_elements_are_swapped() -> None:
    assert check(swap, 2, numbers(1, 2, 3, 4, 5)) == [[5, 4, 3, 2, 1]]


@tb.kernel
def rotate_three(kc: KernelContext, a: S32Array) -> None:
    a.array[0], a.array[1], a.array[2] = a.array[1], a.array[2], a.array[0]
    x = 1
    y = 2
    z = 3
    x, y, z = y + z, z + x, x + y
    a.array[3] = x * 100 + y * 10 + z


def test_tuples_are_evaluated_before_anything_is_assigned() -> None:
    assert check(rotate_three, 1, numbers(7, 8, 9, 0)) == [[8, 9, 7, 543]]


@tb.kernel
def index_from_memory(kc: KernelContext, a: S32Array) -> None:
    a.array[a.array[0]] = a.array[a.array[1]] + a.array[0]
    a.array[0] = a.array[a.array[0]]


def test_an_index_is_read_before_its_place_is_written() -> None:
    assert check(index_from_memory, 1, numbers(2, 3, 0, 40)) == [[42, 3, 42, 40]]
    assert check(index_from_memory, 1, numbers(0, 3, 0, 3)) == [[3, 3, 0, 3]]


@tb.kernel
def through_two_names(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    first = a.array[0]
    b.array[0] = first + 1
    a.array[1] = a.array[0] + first
    b.array[2] = a.array[1] + b.array[0]


def test_two_parameters_may_be_one_buffer() -> None:
    both = numbers(10, 0, 0)
    for side in (run_both(through_two_names, 1, both, both),):
        assert content(side.interpreter[0]) == [11, 21, 32]
        assert content(side.opencl[0]) == [11, 21, 32]


# -- variables ----------------------------------------------------------------------------


@tb.kernel
def read_then_changed(kc: KernelContext, a: S32Array) -> None:
    i = 0
    before = i
    i += 1
    a.array[before] = i * 10 + before
    a.array[i] = before - i
    k = i
    i = i + k * (i + 1)
    a.array[2] = i + k


def test_a_variable_is_read_before_it_changes() -> None:
    assert check(read_then_changed, 1, numbers(0, 0, 0)) == [[10, -1, 4]]


@tb.kernel
def used_in_nested_blocks(kc: KernelContext, a: S32Array) -> None:
    v = a.array[0]
    total = v * 2
    if v > 3:
        a.array[0] = 100
        if total > 8:
            a.array[1] = v + total
    while v > 0:
        a.array[2] += v
        v -= 1
    a.array[3] = total


def test_values_are_kept_for_the_blocks_that_use_them() -> None:
    assert check(used_in_nested_blocks, 1, numbers(5, 0, 0, 0)) == [[100, 15, 15, 10]]


# -- helpers ------------------------------------------------------------------------------


@tb.func
def take(a: S32Array, place: i32) -> i32:
    """Changes memory, and gives what was there."""
    old = a.array[place]
    a.array[place] = old + 1
    return old


@tb.func
def twice(v: i32) -> i32:
    return v * 2


@tb.kernel
def calls_with_effects(kc: KernelContext, a: S32Array) -> None:
    a.array[1] = a.array[0] + take(a, 0) * 10 + a.array[0] * 100 + take(a, 0) * 1000
    a.array[2] = take(a, 0) - take(a, 0)
    a.array[take(a, 3)] = take(a, 3)


def test_calls_that_write_memory_run_in_pythons_order() -> None:
    found = check(calls_with_effects, 1, numbers(1, 0, 0, 4, 0, 0))
    assert found == [[5, 2211, -1, 6, 0, 4]]


@tb.kernel
def pure_calls_across_stores(kc: KernelContext, a: S32Array) -> None:
    a.array[0], a.array[1] = twice(a.array[1]), twice(a.array[0])


def test_a_call_of_a_pure_helper_keeps_the_content_it_was_given() -> None:
    assert check(pure_calls_across_stores, 1, numbers(1, 2)) == [[4, 2]]


@tb.kernel
def calls_in_conditions(kc: KernelContext, a: S32Array) -> None:
    if take(a, 0) > 0 and take(a, 0) > 1:
        a.array[1] = 1
    if take(a, 0) < 0 or take(a, 0) > 0:
        a.array[2] = a.array[0]
    a.array[3] = take(a, 0) if a.array[0] > 2 else take(a, 4)
    a.array[5] = a.array[0] + (take(a, 0) if a.array[0] == 0 else take(a, 4)) + a.array[4]


def test_calls_in_conditions_run_only_where_python_runs_them() -> None:
    check(calls_in_conditions, 1, numbers(0, 0, 0, 0, 7, 0))
    check(calls_in_conditions, 1, numbers(1, 0, 0, 0, 7, 0))
    check(calls_in_conditions, 1, numbers(-9, 0, 0, 0, 7, 0))


@tb.kernel
def chained_with_effects(kc: KernelContext, a: S32Array) -> None:
    inside = 0 <= take(a, 0) < take(a, 1) < 100
    a.array[2] = 1 if inside else 0
    a.array[3] = 1 if 5 < take(a, 0) <= take(a, 1) else 2


@pytest.mark.parametrize("start", [(0, 3), (-1, 3), (5, 3), (50, 200), (6, 6)])
def test_comparisons_in_a_chain_evaluate_each_operand_once(start: tuple[int, int]) -> None:
    check(chained_with_effects, 1, numbers(*start, 0, 0))


@tb.kernel
def while_with_effects(kc: KernelContext, a: S32Array) -> None:
    while take(a, 0) < 5:
        if a.array[0] == 3:
            continue
        a.array[1] += a.array[0]
        if a.array[1] > 1000:
            break
    else:
        a.array[2] = a.array[0]


def test_the_condition_of_a_while_is_evaluated_at_every_turn() -> None:
    assert check(while_with_effects, 1, numbers(0, 0, 0)) == [[6, 12, 6]]
    assert check(while_with_effects, 1, numbers(0, 999, 0)) == [[2, 1002, 0]]


# -- atomics ------------------------------------------------------------------------------


@tb.kernel
def atomics_in_expressions(kc: KernelContext, a: S32Array) -> None:
    a.array[1] = a.array[0] + tb.atomic_add(a.array, 0, 5) * 10 + a.array[0] * 100
    if tb.atomic_add(a.array, 0, 1) > 6 and tb.atomic_add(a.array, 0, 1) == 7:
        a.array[2] = a.array[0]
    a.array[3] = tb.atomic_add(a.array, 0, 1) if a.array[0] > 100 else a.array[0]
    a.array[4] = a.array[0] - (tb.atomic_add(a.array, 0, 3) if a.array[0] < 100 else 0) + a.array[0]
    tb.atomic_add(a.array, 0, tb.atomic_add(a.array, 5, 1))
    old = tb.atomic_add(a.array, 5, 2)
    a.array[6] = old + a.array[5]


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (1, [1 + 5 + 1 + 3 + 2, 1 + 10 + 600, 0, 7, 7 - 7 + 10, 5, 3 + 5]),
        (2, [2 + 5 + 1 + 1 + 3 + 2, 2 + 20 + 700, 0, 9, 9 - 9 + 12, 5, 3 + 5]),
    ],
)
def test_atomics_inside_expressions(start: int, end: list[int]) -> None:
    outcome = run_both(atomics_in_expressions, 1, numbers(start, 0, 0, 0, 0, 2, 0))
    assert content(outcome.interpreter[0]) == end
    assert content(outcome.opencl[0]) == end


# -- names of buffers and arrays ----------------------------------------------------------


@tb.kernel
def chosen_buffers(kc: KernelContext, a: S32Array, b: S32Array, flag: i32) -> None:
    source = a if flag > 0 else b
    target = b if flag > 0 else a
    for turn in range(3):
        target.array[turn] = source.array[turn] * 10 + source.length
        source, target = target, source
    (a if flag > 1 else b).array[3] = 99


@pytest.mark.parametrize("flag", [0, 1, 2])
def test_buffers_can_be_chosen_and_swapped(flag: int) -> None:
    check(chosen_buffers, 1, numbers(1, 2, 3, 0), numbers(4, 5, 6, 0, 0), flag)


@tb.kernel
def chosen_arrays(kc: KernelContext, a: NDArray[i32], b: NDArray[i32], flag: i32) -> None:
    source = a if flag > 0 else b
    rows = source.shape[0]
    other = b if flag > 0 else a
    source, other = other, source
    source[0, 0] = rows * 100 + source.shape[0] * 10 + source.shape[1]
    for turn in range(4):
        width = source.shape[1]
        source, other = other, source
        source[1, width - 2] += source.shape[1] * 10 + width + turn
    last = source
    source = other
    last[0, 1] = source.shape[1] * 10 + last.shape[1]


def one(shape: tuple[int, int]) -> Array:
    return np.zeros(shape, np.int32)


@pytest.mark.parametrize("flag", [0, 1])
def test_arrays_keep_their_own_shape_under_any_name(flag: int) -> None:
    check(chosen_arrays, 1, one((2, 3)), one((3, 4)), flag)


@tb.func
def cell(a: NDArray[i32], y: i32, x: i32) -> i32:
    return a[y, x] + a.shape[0] * 10 + a.shape[1]


@tb.kernel
def arrays_through_helpers(
    kc: KernelContext, a: NDArray[i32], b: NDArray[i32], out: NDArray[i32]
) -> None:
    current = a
    current[0, 0] = 5
    for turn in range(2):
        out[turn] = cell(current, 0, 0) + cell(b if turn == 0 else a, 0, 0) * 1000
        current = b


def test_arrays_are_given_to_helpers_with_their_shape() -> None:
    arrays = (one((2, 3)), one((3, 4)), np.zeros(2, np.int32))
    found = check(arrays_through_helpers, 1, *arrays)
    assert found[2] == [28 + 34 * 1000, 34 + 28 * 1000]


# -- loops --------------------------------------------------------------------------------


@tb.kernel
def bounds_that_change(kc: KernelContext, a: S32Array) -> None:
    n = 3
    for i in range(n):
        n += 5
        a.array[0] += i
    for i in range(a.array[1], a.array[2], a.array[3]):
        a.array[1] = 100
        a.array[2] = 0
        a.array[3] = 1
        a.array[4] = a.array[4] * 10 + i
    a.array[5] = n


def test_a_range_is_fixed_when_the_loop_begins() -> None:
    assert check(bounds_that_change, 1, numbers(0, 1, 9, 3, 0, 0)) == [[3, 100, 0, 1, 147, 18]]


@tb.kernel
def target_that_changes(kc: KernelContext, a: S32Array) -> None:
    i = 50
    for i in range(4):
        if i == 2:
            continue
        a.array[0] = a.array[0] * 10 + i
        i += 100  # noqa: PLW2901 -- the point of the test
    a.array[1] = i
    for i in range(0):  # noqa: B007 -- the point of the test
        a.array[0] = 0
    a.array[2] = i


def test_changing_a_loops_target_does_not_change_the_loop() -> None:
    assert check(target_that_changes, 1, numbers(0, 0, 0)) == [[13, 103, 103]]


@tb.kernel
def run_range_i8(kc: KernelContext, out: NDArray[i64], a: i8, b: i8, c: i8) -> None:
    for i in range(a, b, c):
        out[0] += 1
        out[1] += i
        out[2] = i


@tb.kernel
def run_range_i16(kc: KernelContext, out: NDArray[i64], a: i16, b: i16, c: i16) -> None:
    for i in range(a, b, c):
        out[0] += 1
        out[1] += i
        out[2] = i


@tb.kernel
def run_range_i32(kc: KernelContext, out: NDArray[i64], a: i32, b: i32, c: i32) -> None:
    for i in range(a, b, c):
        out[0] += 1
        out[1] += i
        out[2] = i


@tb.kernel
def run_range_i64(kc: KernelContext, out: NDArray[i64], a: i64, b: i64, c: i64) -> None:
    for i in range(a, b, c):
        out[0] += 1
        out[1] += i
        out[2] = i


@tb.kernel
def run_range_u8(kc: KernelContext, out: NDArray[i64], a: u8, b: u8, c: u8) -> None:
    for i in range(a, b, c):
        out[0] += 1
        out[1] += i
        out[2] = i


@tb.kernel
def run_range_u32(kc: KernelContext, out: NDArray[i64], a: u32, b: u32, c: u32) -> None:
    for i in range(a, b, c):
        out[0] += 1
        out[1] += i
        out[2] = i


RANGES = {8: run_range_i8, 16: run_range_i16, 32: run_range_i32, 64: run_range_i64}


def check_range(kernel: Kernel[...], start: int, stop: int, step: int) -> None:
    turns = range(start, stop, step)
    total = (sum(turns) + 2**63) % 2**64 - 2**63
    expected = [len(turns), total, turns[-1] if turns else 0]
    outcome = run_both(kernel, 1, np.zeros(3, np.int64), start, stop, step)
    for side in (outcome.interpreter, outcome.opencl):
        assert side[0].tolist() == expected


@pytest.mark.parametrize("bits", RANGES)
@pytest.mark.parametrize("step", [1, -1, 3, -3, 50, -50])
def test_loops_end_at_the_ends_of_their_type(bits: int, step: int) -> None:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    kernel = RANGES[bits]
    if step > 0:
        check_range(kernel, high - 110, high, step)
        check_range(kernel, low, low + 111, step)
        check_range(kernel, high, low, step)
    else:
        check_range(kernel, low + 110, low, step)
        check_range(kernel, high, high - 111, step)
        check_range(kernel, low, high, step)
    check_range(kernel, 5, 5, step)


@pytest.mark.parametrize("bits", RANGES)
def test_the_longest_steps_neither_wrap_nor_hang(bits: int) -> None:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    for start, stop, step in (
        (low, high, high),
        (high, low, low),
        (high, low, -high),
        (high - 1, high, high),
        (low + 1, low, low),
        (0, high, high),
    ):
        check_range(RANGES[bits], start, stop, step)


def test_all_of_a_small_type_is_counted() -> None:
    check_range(run_range_i8, -128, 127, 1)
    check_range(run_range_i8, 127, -128, -1)
    check_range(run_range_i8, 100, -100, -7)
    check_range(run_range_u8, 0, 255, 1)
    check_range(run_range_u8, 3, 250, 100)


def test_unsigned_counters() -> None:
    check_range(run_range_u32, 2**32 - 100, 2**32 - 1, 1)
    check_range(run_range_u32, 2**32 - 100, 2**32 - 1, 7)
    check_range(run_range_u32, 5, 3, 1)
    check_range(run_range_u32, 0, 2**32 - 1, 2**31)


@tb.kernel
def constant_steps(kc: KernelContext, a: NDArray[i32], start: i32, stop: i32) -> None:
    for i in range(start, stop):
        a[0] = a[0] * 3 + i
    for i in range(start, stop, -1):
        a[1] = a[1] * 3 + i
    for i in range(start, stop, 4):
        a[2] = a[2] * 3 + i
    for i in range(start, stop, -4):
        a[3] = a[3] * 3 + i
    for i in range(stop):
        if i % 2 == 0:
            continue
        if i > 6:
            break
        a[4] = a[4] * 3 + i


@pytest.mark.parametrize(("start", "stop"), [(0, 9), (9, 0), (-5, 5), (5, -5), (3, 3), (8, 12)])
def test_constant_steps(start: int, stop: int) -> None:
    check(constant_steps, 1, np.zeros(5, np.int32), start, stop)


@tb.kernel
def nested_loops(kc: KernelContext, a: S32Array) -> None:
    for i in range(4):
        for k in range(i, 4):
            if k == 2:
                continue
            j = 0
            while True:
                j += 1
                if j > k:
                    break
                if j == i:
                    continue
                a.array[0] += j
            a.array[1] += i * k + j


def test_breaks_and_continues_belong_to_the_innermost_loop() -> None:
    check(nested_loops, 1, numbers(0, 0))


@tb.kernel
def early_returns(kc: KernelContext, a: S32Array) -> None:
    if kc.x == 1:
        return
    for i in range(10):
        if i == kc.x:
            a.array[kc.x] = i * 10
            return
    a.array[kc.x] = 7


def test_a_work_item_may_return_early() -> None:
    assert check(early_returns, 12, numbers(*[1] * 12)) == [[0, 1, *range(20, 100, 10), 7, 7]]


@tb.func
def sign_of(v: i32) -> i32:
    if v > 0:
        return 1
    elif v < 0:  # noqa: RET505 -- an `elif` is what is tested
        return -1
    return 0


@tb.kernel
def branches(kc: KernelContext, a: S32Array) -> None:
    v = a.array[kc.x]
    if v == 0:
        a.array[kc.x] = 10
    elif take(a, kc.x) == 1:
        a.array[kc.x] += 20
    elif v == 2:
        a.array[kc.x] = 30 + sign_of(-v)
    elif sign_of(v) < 0:
        pass
    else:
        a.array[kc.x] = 40


def test_branches_are_tested_in_order() -> None:
    assert check(branches, 5, numbers(0, 1, 2, 3, -4)) == [[10, 22, 29, 40, -3]]


def test_an_elif_is_an_else_if_unless_its_condition_acts() -> None:
    text = text_of(branches)
    assert "} else if (tb_sign_of(v) < 0) {\n" in text
    assert "    } else if (v < 0) {\n        return -1;\n" in text
    assert "} else {\n        int t = tb_take(a, a_length, kc->x);\n        if (t == 1) {\n" in text


@tb.kernel
def ternaries(kc: KernelContext, a: S32Array, b: NDArray[f32]) -> None:
    v = a.array[kc.x]
    a.array[kc.x] = (1 if v > 2 else 2 if v > 1 else 3) + (v if v % 2 else -v) * 10
    b[kc.x] = 0.5 if v > 1 and not (v == 3 or v < 0) else f32(v)


def test_nested_ternaries_and_conditions() -> None:
    check(ternaries, 6, numbers(0, 1, 2, 3, 4, 5), np.zeros(6, np.float32))


# -- programs that nobody would write -------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_random_kernels_agree_with_the_interpreter(seed: int, tmp_path: Path) -> None:
    kernel: Kernel[...] = program(seed, tmp_path).program
    first = numbers(5, -3, 7, 2**31 - 1, 0, 1, 2, 3)
    second = numbers(1, 2, 3, -4, 5, 6, -(2**31), 8)
    outcome = run_both(kernel, 1, first, second, np.arange(8, dtype=np.int32).reshape(2, 4))
    assert [content(arg) for arg in outcome.opencl] == [content(arg) for arg in outcome.interpreter]

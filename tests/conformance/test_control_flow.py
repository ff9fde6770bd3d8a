"""Branches, loops, short circuit, names and calls, against the same Python run on the host."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.conformance.running import filled, launch
from tests.reflect.kernel_cases import indented, kernel, load

import trilby as tb
from trilby import Accelerator, KernelContext, NDArray, S32Array, i32

ITEMS = 24
CASES = {
    "if_elif_else": """
        if n % 4 == 0:
            r = n * 10
        elif n % 4 == 1:
            r = -n
        elif n > 12:
            r = 7
        else:
            r = 1
        """,
    "nested_if": """
        r = 0
        if n > 3:
            if n > 9:
                r = 2
                if n > 15:
                    r = 3
            else:
                r = 1
        """,
    "while_with_everything": """
        r = 0
        i = 0
        while i < n:
            i += 1
            if i % 3 == 0:
                continue
            if i > 17:
                break
            r += i
        else:
            r += 1000
        """,
    "for_else": """
        r = 0
        for i in range(2, 30):
            if n % i == 1:
                r = i
                break
        else:
            r = -1
        """,
    "for_continue_in_nested_loops": """
        r = 0
        for i in range(n):
            for j in range(i, n):
                if (i + j) % 2:
                    continue
                if j > 9:
                    break
                r += i * j + 1
        """,
    "range_steps": """
        r = 0
        for i in range(n, -3, -2):
            r = (r * 3 + i) % 100003
        for i in range(-5, n, 4):
            r = (r * 3 - i) % 100003
        for i in range(n, 0):
            r = 99
        """,
    "loop_variable_afterwards": """
        i = -7
        for i in range(n):
            if i == 5:
                break
        r = i
        """,
    "loop_bounds_are_read_once": """
        end = n
        r = 0
        for i in range(end):
            end = 3
            r += i + end
        """,
    "changed_loop_variable": """
        r = 0
        for i in range(n):
            i *= 2
            r += i
        """,
    "chained_comparison": """
        r = i32(2 < n <= 9) + 2 * i32(0 <= n < 20 != 7) + 4 * i32(n == n == 5)
        """,
    "ternary_chain": """
        r = 1 if n < 4 else 2 if n < 8 else n if n % 2 else -n
        """,
    "short_circuit": """
        r = 0
        if n > 5 and 100 // (n - 5) > 9:
            r += 1
        if n <= 5 or 60 // (n - 5) < 9:
            r += 2
        if not (n > 3 and n < 9 or n == 20):
            r += 4
        """,
    "truth_of_numbers": """
        r = 0
        if n:
            r += 1
        if not n % 3:
            r += 2
        while r < n and r:
            r += 3
        """,
    "tuples": """
        a, b = n, 2 * n
        a, b = b, a + b
        (c, d), e = (a, b), 5
        c, d = d, c
        f = g = c + 1
        r = a + 3 * b + 5 * c + 7 * d + 11 * e + f - 2 * g
        """,
    "early_return_in_helper": """
        r = collatz(n) + first_divisor(n)
        """,
    "many_augmented": """
        r = n
        r += 3
        r *= 5
        r -= 7
        r //= 2
        r %= 19
        r <<= 3
        r |= 5
        r ^= n
        r &= 127
        r >>= 1
        r **= 2
        """,
    "annotations_and_docstring": """
        '''This text means nothing.'''
        r: i32
        x: i32 = n
        ...
        pass
        r = x + 1
        """,
    "constant_conditions": """
        r = 0
        if True:
            r = 1
        if False:
            r = 2
        while True:
            r += n
            if r > 40 or n == 0:
                break
        while False:
            r = 0
        """,
}
HELPERS = """
@tb.func
def collatz(n: i32) -> i32:
    steps = 0
    while True:
        if n <= 1:
            return steps
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1

@tb.func
def first_divisor(n: i32) -> i32:
    for d in range(2, n):
        if n % d == 0:
            return d
    return n

@tb.func
def case(n: i32) -> i32:
{body}
    return r
"""
LAUNCH = """
@tb.kernel
def k(kc: KernelContext, out: NDArray[i32]) -> None:
    {lines}
"""


@pytest.fixture(scope="module")
def all_cases() -> dict[str, Callable[[int], int]]:
    """Every case as a function that kernels and the host can call."""
    return {
        name: load(HELPERS.format(body=indented(text)), file=f"{name}.py")["case"]
        for name, text in CASES.items()
    }


def test_control_flow_is_pythons(
    accelerator: Accelerator, all_cases: dict[str, Callable[[int], int]]
) -> None:
    names = list(all_cases)
    lines = "\n    ".join(f"out[{i}, kc.x] = {name}(kc.x)" for i, name in enumerate(names))
    made = kernel(LAUNCH.format(lines=lines), **all_cases)
    found = filled(accelerator, ITEMS, made, np.zeros((len(names), ITEMS), np.int32))
    for name, row in zip(names, found, strict=True):
        assert row.tolist() == [all_cases[name](n) for n in range(ITEMS)], name


@tb.kernel
def leave_early(kc: KernelContext, a: NDArray[i32]) -> None:
    """A kernel may end in the middle of a loop."""
    for i in range(a.shape[1]):
        if i > kc.x:
            return
        a[kc.x, i] = i + 1
    a[kc.x, 0] = -1


def test_a_kernel_returns_early(accelerator: Accelerator) -> None:
    found = filled(accelerator, 3, leave_early, np.zeros((3, 3), np.int32))
    assert found.tolist() == [[1, 0, 0], [1, 2, 0], [-1, 2, 3]]


@tb.func
def bump(a: S32Array, at: i32) -> i32:
    a.array[at] += 1
    return a.array[at]


@tb.kernel
def order_of_evaluation(kc: KernelContext, a: S32Array, out: NDArray[i32]) -> None:
    """What stands left is evaluated first; what decides, alone."""
    out[0] = a.array[0] + bump(a, 0) * 10 + a.array[0] * 100
    seen = bump(a, 1) > 5 and bump(a, 2) > 0
    out[1] = a.array[1] * 10 + a.array[2]
    if seen or bump(a, 3) == 1 or bump(a, 4) == 1:
        out[2] = a.array[3] * 10 + a.array[4]
    out[3] = bump(a, 5) if bump(a, 6) > 1 else bump(a, 7)
    a.array[bump(a, 8)] += 40
    a.array[9], a.array[10] = a.array[10], a.array[9]
    i = 11
    i, a.array[i] = 12, 5
    a.array[bump(a, 13)], a.array[13] = a.array[13], bump(a, 14)


def test_the_order_of_evaluation_is_pythons(accelerator: Accelerator) -> None:
    start = [0, 0, 0, 0, 0, 0, 0, 0, 2, 8, 9, 0, 0, 0, 0]
    found = S32Array.of(start)
    out = accelerator.array(np.zeros(4, np.int32))
    launch(accelerator, 1, order_of_evaluation, found, out)

    expected = S32Array.of(start)
    plain: Any = order_of_evaluation.function
    there: NDArray[i32] = NDArray(np.zeros(4, np.int32))
    plain(None, expected, there)
    assert out.tolist() == there.tolist() == [110, 10, 10, 1]
    assert found.array.tolist() == expected.array.tolist()


@tb.func
def scaled(n: i32, factor: i32) -> i32:
    return n * factor


@tb.func
def twice_scaled(n: i32, factor: i32) -> i32:
    def_ault = scaled(factor=factor, n=n)
    return scaled(def_ault, factor) + scaled(1, factor=2)


@tb.func
def write_and_count(a: NDArray[i32], row: NDArray[i32], at: i32) -> None:
    if at % 2:
        return
    a[0, at] = row[at]


@tb.kernel
def nested_calls(
    kc: KernelContext, a: NDArray[i32], row: NDArray[i32], spare: NDArray[i32]
) -> None:
    a[1, kc.x] = twice_scaled(kc.x, 3)
    write_and_count(a, row, kc.x)
    other = a if kc.x < 2 else spare
    same = row
    other[2, kc.x] = same[kc.x]


def test_helpers_take_arrays_and_names(accelerator: Accelerator) -> None:
    row = accelerator.array(np.arange(5, 9, dtype=np.int32))
    a, spare = (accelerator.array(np.zeros((3, 4), np.int32)) for _ in range(2))
    launch(accelerator, 4, nested_calls, a, row, spare)
    assert a.tolist() == [[5, 0, 7, 0], [2, 11, 20, 29], [5, 6, 0, 0]]
    assert spare.tolist()[2] == [0, 0, 7, 8]

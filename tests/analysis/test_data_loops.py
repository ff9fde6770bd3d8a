"""Which kernels run for a time that data decides."""

import pytest

import trilby as tb
from trilby import KernelContext, S32Array, i32
from trilby.analysis.data_loops import data_decides_loops
from trilby.reflect.functions import Kernel
from trilby.runtime.compile import analyse_kernel


@tb.func
def total(a: S32Array, n: i32) -> i32:
    s = 0
    for i in range(n):
        s += a.array[i]
    return s


@tb.kernel
def no_loop(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] += a.array[a.array[kc.x]]


@tb.kernel
def over_a_length(kc: KernelContext, a: S32Array) -> None:
    for i in range(a.length):
        a.array[kc.x] += a.array[i]


@tb.kernel
def over_numbers(kc: KernelContext, a: S32Array, n: i32) -> None:
    m = n * 2
    for i in range(kc.x, m):
        for j in range(i):
            a.array[kc.x] += a.array[j]


@tb.kernel
def for_some_items(kc: KernelContext, a: S32Array) -> None:
    if kc.x >= 3:
        return
    for i in range(3):
        a.array[kc.x] += i


@tb.kernel
def in_a_helper(kc: KernelContext, a: S32Array, n: i32) -> None:
    a.array[kc.x] = total(a, n)


@tb.kernel
def over_data(kc: KernelContext, a: S32Array) -> None:
    for i in range(a.array[0]):
        a.array[kc.x] += i


@tb.kernel
def where_data_says(kc: KernelContext, a: S32Array) -> None:
    if a.array[kc.x] > 0:
        for i in range(1000):
            a.array[kc.x] += i


@tb.kernel
def after_a_return(kc: KernelContext, a: S32Array) -> None:
    if a.array[kc.x] == 0:
        return
    for i in range(1000):
        a.array[kc.x] += i


@tb.kernel
def over_a_variable(kc: KernelContext, a: S32Array, n: i32) -> None:
    m = n
    if a.array[0] > 3:
        m = 1_000_000
    for i in range(m):
        a.array[kc.x] += i


@tb.kernel
def over_a_variable_of_the_turn_before(kc: KernelContext, a: S32Array) -> None:
    n = 4
    for _ in range(3):
        for j in range(n):
            a.array[kc.x] += j
        n = a.array[kc.x]


@tb.kernel
def while_it_lasts(kc: KernelContext, a: S32Array) -> None:
    i = 0
    while i < 3:
        i += 1
    a.array[kc.x] = i


@tb.kernel
def in_a_helper_with_data(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = total(a, a.array[0])


@tb.kernel
def in_a_helper_where_data_says(kc: KernelContext, a: S32Array) -> None:
    if a.array[0] > 0:
        a.array[kc.x] = total(a, 3)


@pytest.mark.parametrize(
    "kernel", [no_loop, over_a_length, over_numbers, for_some_items, in_a_helper], ids=str
)
def test_the_launch_decides(kernel: Kernel[...]) -> None:
    assert not data_decides_loops(analyse_kernel(kernel).graph)


@pytest.mark.parametrize(
    "kernel",
    [
        over_data,
        where_data_says,
        after_a_return,
        over_a_variable,
        over_a_variable_of_the_turn_before,
        while_it_lasts,
        in_a_helper_with_data,
        in_a_helper_where_data_says,
    ],
    ids=str,
)
def test_data_decides(kernel: Kernel[...]) -> None:
    assert data_decides_loops(analyse_kernel(kernel).graph)

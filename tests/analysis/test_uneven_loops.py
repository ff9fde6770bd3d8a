"""Which loops with others in them work items may leave at different times."""

import pytest
from tests.reflect.kernel_cases import analysed, indented, kernel

from trilby.analysis.data_loops import uneven_loops_around_others

HELPERS = """
@tb.func
def loops(n: i32) -> i32:
    while n > 3:
        n -= 1
    return n

@tb.func
def nests(n: i32) -> i32:
    for i in range(n):
        for j in range(3):
            n += j
    return n

@tb.func
def waits(kc: KernelContext) -> None:
    kc.barrier()

@tb.kernel
def k(kc: KernelContext, a: NDArray[i32], count: i32, grid: S32Array2D):
"""
FIRST = HELPERS.count("\n")
INNER = "    for j in range(3):\n        a[j] = i\n"


def lines_of(body: str) -> list[int]:
    """The lines of the body, from 1 on, where such loops begin; below 1 in a helper."""
    graph = analysed(kernel(f"{HELPERS}{indented(body)}\n")).graph
    return sorted(op.location.line - FIRST + 1 for op in uneven_loops_around_others(graph))


@pytest.mark.parametrize(
    "head",
    [
        "i in range(3)",
        "i in range(count)",
        "i in range(count * 2 - 1, min(a.shape[0], kc.max_x), kc.local_max_x)",
        "i in range(grid.width)",
        "i in range(kc.group_x)",
    ],
)
def test_a_range_that_is_the_same_for_all_is_even(head: str) -> None:
    assert lines_of(f"for {head}:\n{INNER}") == []


@pytest.mark.parametrize("head", ["range(kc.x)", "range(a[0])", "range(loops(count))"])
def test_any_other_range_is_not(head: str) -> None:
    assert lines_of(f"for i in {head}:\n{INNER}") == [1]


def test_the_counter_of_an_even_loop_is_the_same_for_all() -> None:
    assert lines_of("for n in range(count):\n" + indented(f"for i in range(n):\n{INNER}")) == []


def test_an_early_end_makes_a_loop_uneven() -> None:
    test = "    if a[i] > 3:\n        {}\n"
    assert lines_of(f"for i in range(3):\n{INNER}{test.format('break')}") == [1]
    assert lines_of(f"for i in range(3):\n{INNER}{test.format('return')}") == [1]
    assert lines_of(f"for i in range(3):\n{INNER}{test.format('continue')}") == []


def test_a_break_of_the_inner_loop_does_not() -> None:
    assert lines_of(f"for i in range(3):\n{INNER}        break\n") == []


def test_while_is_uneven() -> None:
    assert lines_of("i = 0\nwhile i < count:\n" + INNER + "    i += 1\n") == [2]


def test_only_loops_around_others_count() -> None:
    assert lines_of("for i in range(kc.x):\n    a[i] = i\n") == []
    assert lines_of("for i in range(kc.x):\n    a[i] = loops(i)\n") == [1]
    assert lines_of("for i in range(kc.x):\n    a[i] = i ** count\n") == [1]
    assert lines_of("i = 0\nwhile loops(i) < 2:\n    i += 1\n") == [2]


def test_loops_of_helpers_count_too() -> None:
    found = lines_of("a[0] = nests(count)\n")
    assert len(found) == 1
    assert found[0] < 1


def test_a_loop_with_a_barrier_is_even() -> None:
    assert lines_of(f"for i in range(a[0]):\n{INNER}    kc.barrier()\n") == []
    assert lines_of(f"for i in range(a[0]):\n{INNER}    waits(kc)\n") == []

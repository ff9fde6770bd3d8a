"""Which reads of a kernel come in every launch, whatever the numbers are."""

import pytest
from tests.reflect.kernel_cases import analysed, indented, kernel

from trilby.analysis.transfers.kernel_reads import sure_reads

HELPERS = """
class Two(tb.Buffer):
    some: i32
    others: i32
    first: tb.Array[i32] = tb.array("some")
    second: tb.Array[i32] = tb.array("others")

@tb.func
def at(a: S32Array, i: i32) -> i32:
    return a.array[i]

@tb.func
def one_of(a: S32Array, i: i32, yes: bool) -> i32:
    return a.array[i] if yes else 0
"""
PARAMS = "a: S32Array, b: S32Array, grid: NDArray[i32], two: Two, n: i32, yes: bool"


def always_read(lines: str) -> set[str]:
    """The parameters that every launch reads."""
    source = f"{HELPERS}\n@tb.kernel\ndef k(kc: KernelContext, {PARAMS}):\n{indented(lines)}"
    footprint = analysed(kernel(source), (2,)).footprint
    names = [param.partition(":")[0] for param in ("kc", *PARAMS.split(", "))]
    return {names[number] for number in sure_reads(footprint.parameters, footprint.touches)}


@pytest.mark.parametrize(
    "lines",
    [
        "b.array[kc.x] = a.array[kc.x]",
        "b.array[kc.x] = at(a, kc.x)",
        "if kc.x < a.length:\n    b.array[kc.x] = a.array[kc.x]",
        "if kc.x < kc.max_x:\n    b.array[kc.x] = a.array[kc.x]",
        "if kc.local_x == 0:\n    b.array[kc.group_x] = a.array[kc.x]",
        "for i in range(3):\n    b.array[i] = a.array[i]",
        "for i in range(a.length):\n    b.array[i] = a.array[i]",
        "for i in range(2, -1, -1):\n    b.array[i] = a.array[i]",
        "for i in range(3):\n    if 1 <= i - kc.x + 1 <= 3:\n        b.array[i] = a.array[i]",
        "if b.array[kc.x] > 3:\n    b.array[0] = a.array[kc.x]",
        "if b.array[0] > 3 or yes:\n    b.array[1] = 2\nb.array[0] = a.array[0]",
        "for i in range(b.array[0]):\n    b.array[i] = a.array[i]",
        "tb.atomic_add(a.array, 0, n)",
    ],
)
def test_every_launch_reads(lines: str) -> None:
    assert "a" in always_read(lines)


@pytest.mark.parametrize(
    "lines",
    [
        "b.array[kc.x] = 1",
        "if yes:\n    b.array[kc.x] = a.array[kc.x]",
        "if n > 2:\n    b.array[kc.x] = a.array[kc.x]",
        "if kc.x < n:\n    b.array[kc.x] = a.array[kc.x]",
        "if yes:\n    return\nb.array[kc.x] = a.array[kc.x]",
        "b.array[kc.x] = 0 if yes else a.array[kc.x]",
        "b.array[kc.x] = one_of(a, kc.x, yes)",
        "if yes and b.array[kc.x] > 3:\n    b.array[0] = a.array[kc.x]",
        "if b.array[kc.x] > n:\n    b.array[0] = a.array[kc.x]",
        "for i in range(n):\n    b.array[i] = a.array[i]",
        "for i in range(n, 3):\n    b.array[i] = a.array[i]",
        "for i in range(0, 3, n):\n    b.array[i] = a.array[i]",
        "for i in range(b.length):\n    b.array[i] = a.array[i]",
        "for i in range(0):\n    b.array[i] = a.array[i]",
        "i = 0\nwhile i < n:\n    b.array[i] = a.array[i]\n    i += 1",
        "if kc.x > 0:\n    b.array[kc.x] = a.array[kc.x]",
        "if kc.x < kc.max_x - 1:\n    b.array[kc.x] = a.array[kc.x]",
        "if kc.max_x > 7:\n    b.array[kc.x] = a.array[kc.x]",
        "if kc.x < b.length:\n    b.array[kc.x] = a.array[kc.x]",
        "a.array[kc.x] = 1\nb.array[kc.x] = a.array[kc.x]",
    ],
)
def test_some_launch_does_not_read(lines: str) -> None:
    assert "a" not in always_read(lines)


def test_a_length_is_not_0_where_its_own_array_is_read() -> None:
    inside = "if kc.y < grid.shape[0] and kc.x < grid.shape[1]:\n    b.array[0] = grid[kc.y, kc.x]"
    assert "grid" in always_read(inside)
    assert "two" in always_read("if kc.x < two.some:\n    b.array[0] = two.first[kc.x]")
    assert "two" not in always_read("if kc.x < two.others:\n    b.array[0] = two.first[kc.x]")

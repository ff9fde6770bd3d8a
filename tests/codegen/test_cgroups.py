"""C for arrays of the group, barriers, structs as values, `assert` and `print`."""

# ruff: noqa: ARG001, T201 -- a kernel takes its context, used or not, and may print

import re

import pytest
from tests.codegen.running import build_log, text_of

import trilby as tb
from trilby import KernelContext, NDArray, S32Array, f16, f32, i8, i32, i64, u64
from trilby.reflect.functions import Kernel


def body_of(kernel: Kernel[...]) -> list[str]:
    """The lines of the kernel itself, which the device's compiler takes without a word."""
    text = text_of(kernel)
    assert build_log(text) == ""
    lines = text[text.index("__kernel void") :].splitlines()
    return [line.strip() for line in lines]


def found(lines: list[str], start: str) -> str:
    return next(line for line in lines if line.startswith(start))


class Leaf(tb.Struct):
    half: f16
    on: bool
    grid: tb.Array[i8] = tb.array(2, 2)


@tb.kernel
def arrays(kc: KernelContext, a: S32Array) -> None:
    tile = tb.local(f16, 4, 8)
    own = tb.private(Leaf, 3)
    tile[kc.local_x, 0] = 1.0
    own[1].on = True
    kc.barrier("local")
    kc.barrier("global")
    kc.barrier()
    a.array[0] = i32(tile[0, 0]) + i32(own[1].on)


def test_arrays_and_barriers() -> None:
    lines = body_of(arrays)
    assert found(lines, "__local") == "__local ushort tile[4][8];"
    assert found(lines, "Leaf_t") == "Leaf_t own[3];"
    assert [line for line in lines if line.startswith("barrier")] == [
        "barrier(CLK_LOCAL_MEM_FENCE);",
        "barrier(CLK_GLOBAL_MEM_FENCE);",
        "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    ]
    # a guard that ends some work items early would keep the others waiting
    assert not any("is_beyond_range" in line for line in lines)


@tb.func
def halved(n: i32) -> i32:
    while n > 9:
        n >>= 1
    return n


@tb.kernel
def uneven(kc: KernelContext, a: NDArray[i32]) -> None:
    for i in range(a[kc.x]):
        a[kc.x] += halved(i)
    while a[kc.x] > 3:
        a[kc.x] = halved(a[kc.x]) - 1
    for i in range(4):
        a[kc.x] += halved(i)


@tb.kernel
def uneven_and_waiting(kc: KernelContext, a: NDArray[i32]) -> None:
    kc.barrier()
    for i in range(a[kc.x]):
        a[kc.x] += halved(i)
    while a[kc.x] > 3:
        a[kc.x] = halved(a[kc.x]) - 1
    for i in range(4):
        a[kc.x] += halved(i)


def test_uneven_loops_around_others_are_guarded_in_kernels_that_wait() -> None:
    """So that PoCL does not take all items out of them together."""
    guard = "if (get_local_id(0) < get_local_size(0)) "

    def loops(kernel: Kernel[...]) -> list[str]:
        return [line for line in body_of(kernel) if re.search(r"\b(for|while) \(", line)]

    bare, guarded = loops(uneven), loops(uneven_and_waiting)
    assert not any("get_local_id" in line for line in bare)
    assert guarded == [f"{guard}{bare[0]}", f"{guard}{bare[1]}", bare[2]]


@tb.kernel
def reads_before(kc: KernelContext, a: S32Array) -> None:
    tile = tb.local(i32, 4)
    tile[kc.local_x] = kc.x
    kc.barrier()
    seen = tile[0]
    kc.barrier()
    tile[0] = 7
    a.array[kc.x] = seen


def test_what_is_read_before_a_barrier_stays_before_it() -> None:
    lines = body_of(reads_before)
    barriers = [n for n, line in enumerate(lines) if line.startswith("barrier")]
    read = next(n for n, line in enumerate(lines) if "= tile[0]" in line)
    assert barriers[0] < read < barriers[1]


@tb.func
def same(leaf: Leaf) -> Leaf:
    return leaf


@tb.kernel
def values(kc: KernelContext, given: Leaf, out: NDArray[f32]) -> None:
    mine = same(Leaf(half=0.5, on=kc.x > 1))
    out[0] = mine.half if given.on else f32(given.grid[1, 0])


def test_structs_are_packed_and_unpacked() -> None:
    lines = " ".join(body_of(values))
    packed = re.search(r"\(Leaf_t\)\{(.*?)\}", lines)
    assert packed is not None
    assert packed[1].split(", ")[0] == ".half_2 = pack_f16(0.5f)"  # a keyword of C
    assert packed[1].split(", ")[1].startswith(".on = ")
    assert [part.partition(" ")[0] for part in packed[1].split(", ")[2:]] == [
        ".grid[0][0]",
        ".grid[0][1]",
        ".grid[1][0]",
        ".grid[1][1]",
    ]
    assert "unpack_f16(" in lines
    assert "given.on != 0" in lines
    assert "given.grid[1][0]" in lines


@tb.func
def checked(n: i32) -> i32:
    assert n > 0
    return n


@tb.func
def checked_leaf(n: i32) -> Leaf:
    assert n > 1
    return Leaf(half=f32(checked(n)), on=True)


@tb.kernel
def asserting(kc: KernelContext, a: S32Array) -> None:
    assert a.length > 0
    a.array[0] = checked(1) + i32(checked_leaf(2).on)


@tb.kernel
def asserting_in_groups(kc: KernelContext, a: S32Array) -> None:
    assert a.length > 0
    kc.barrier()
    a.array[0] = checked(1)


def test_a_failed_assert_leaves_all_functions() -> None:
    lines = text_of(asserting).splitlines()
    leaves = [line.strip() for line in lines if "return" in line and "fail" in line]
    assert leaves == [
        "if (!(n > 0)) { report_failure(context, 1); return 0; }",
        "if (!(n > 1)) { report_failure(context, 2); return (Leaf_t){0}; }",
        "if (context->failed) return (Leaf_t){0};",
        "if (!(a_length > 0)) { report_failure(kc, 3); return; }",
        "if (kc->failed) return;",
        "if (kc->failed) return;",
    ]
    assert "__global int *failure\n) {" in text_of(asserting)
    assert build_log(text_of(asserting)) == ""


def test_who_waits_for_others_does_not_leave() -> None:
    text = text_of(asserting_in_groups)
    assert "if (!(a_length > 0)) { report_failure(kc, 2); }" in text
    assert "->failed)" not in text
    assert build_log(text) == ""


@tb.kernel
def talking(kc: KernelContext, h: f16, small: i8, wide: i64, word: u64, x: f32) -> None:
    print("all", h, small, wide, word, x, small > 1)
    print('100% "sure" \\ {}', f"{small}\ttab")


def test_print_is_printf() -> None:
    lines = body_of(talking)
    assert found(lines, 'printf("all') == (
        'printf("all %g %d %ld %lu %g %s\\012", h, (int)small, wide, word, x, '
        'small > 1 ? "True" : "False");'
    )
    assert found(lines, 'printf("100') == (
        'printf("100%% \\042sure\\042 \\134 {} %d\\011tab\\012", (int)small);'
    )


@pytest.mark.parametrize("kernel", [arrays, reads_before, values])
def test_without_asserts_there_is_no_report(kernel: Kernel[...]) -> None:
    assert "fail" not in text_of(kernel)

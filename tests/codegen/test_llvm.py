"""LLVM IR of kernels, run: the results are NumPy's, for vectors of any size."""

import math
from typing import Any

import numpy as np
import pytest
from tests.codegen.llvm_run import call, compiled, host_target, run_llvm
from tests.codegen.running import graph_of

import trilby as tb
from trilby import F32Array, KernelContext, NDArray, NDRange, S32Array, f32, i32
from trilby.backend.native.modules import generated as generate
from trilby.codegen.llvm.emitters import OP_RULES
from trilby.codegen.llvm.target import LlvmTarget
from trilby.model.ops import OPS
from trilby.model.ops.core import Yield
from trilby.model.ops.grid import Barrier
from trilby.model.ops.host import HOST_OPS
from trilby.model.ops.transfer import TRANSFER_OPS


@pytest.fixture(params=[128, 256, 512])
def target(request: pytest.FixtureRequest) -> LlvmTarget:
    """Vectors of several sizes; LLVM cuts what the processor does not have into pieces."""
    return host_target(request.param)


def test_every_op_is_written() -> None:
    elsewhere = {*HOST_OPS, *TRANSFER_OPS, Yield, Barrier}
    assert {kind for kind in OPS.values() if kind not in OP_RULES} == elsewhere


@tb.kernel
def smooth(kc: KernelContext, out: NDArray[f32], a: NDArray[f32]) -> None:
    if 0 < kc.x < kc.max_x - 1:
        out[kc.y, kc.x] = a[kc.y, kc.x - 1] + a[kc.y, kc.x] + a[kc.y, kc.x + 1]


def test_neighbours_are_loaded_as_vectors(target: LlvmTarget) -> None:
    a = np.random.default_rng(1).random((5, 37), np.float32)
    (out, _) = run_llvm(smooth, (37, 5), np.zeros_like(a), a, target=target)
    expected = np.zeros_like(a)
    expected[:, 1:-1] = a[:, :-2] + a[:, 1:-1] + a[:, 2:]
    assert np.array_equal(out, expected)
    text = generate(graph_of(smooth, (2, 2)), target).text
    assert "masked.load" in text
    assert "gather" not in text
    assert "scatter" not in text


@tb.kernel
def shuffled(kc: KernelContext, out: NDArray[i32], at: NDArray[i32]) -> None:
    out[at[kc.x]] = kc.x * 3


def test_places_anywhere(target: LlvmTarget) -> None:
    at = np.random.default_rng(2).permutation(101).astype(np.int32)
    out, _ = run_llvm(shuffled, 101, np.zeros(101, np.int32), at, target=target)
    assert np.array_equal(out[at], np.arange(101) * 3)


@tb.kernel
def in_step(kc: KernelContext, out: NDArray[i32]) -> None:
    """What two even steps leave is the same for all lanes."""
    for i in range((kc.x - kc.local_x) // 4 + 2):
        out[kc.x] += i


def test_even_steps_cancel(target: LlvmTarget) -> None:
    (out,) = run_llvm(in_step, NDRange(24, 8), np.zeros(24, np.int32), target=target)
    assert out.tolist() == [sum(range(x // 8 * 8 // 4 + 2)) for x in range(24)]


@tb.func
def steps(n: i32) -> i32:
    count = 0
    while True:
        if n <= 1:
            return count
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1


@tb.kernel
def collatz(kc: KernelContext, out: NDArray[i32], n: i32) -> None:
    if kc.x >= n:
        return
    out[kc.x] = steps(kc.x)


def plain_steps(n: int) -> int:
    count = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


def test_lanes_leave_one_by_one(target: LlvmTarget) -> None:
    out, _ = run_llvm(collatz, 90, np.full(90, -1, np.int32), 77, target=target)
    assert out.tolist() == [*map(plain_steps, range(77)), *[-1] * 13]


@tb.kernel
def first_multiple(kc: KernelContext, out: NDArray[i32], a: NDArray[i32]) -> None:
    """`break`, `continue`, and what a loop leaves in its variables."""
    found = -1
    seen = 0
    for i in range(a.shape[0]):
        if a[i] % 2 == 0:
            continue
        seen += 1
        if a[i] % (kc.x + 1) == 0:
            found = i
            break
    out[0, kc.x] = found
    out[1, kc.x] = seen


def test_break_and_continue(target: LlvmTarget) -> None:
    a = np.random.default_rng(3).integers(1, 500, 60).astype(np.int32)
    out, _ = run_llvm(first_multiple, 45, np.zeros((2, 45), np.int32), a, target=target)
    for x in range(45):
        odd = [n for n in range(60) if a[n] % 2]
        hits = [n for n in odd if a[n] % (x + 1) == 0]
        assert out[0, x] == (hits[0] if hits else -1)
        assert out[1, x] == (odd.index(hits[0]) + 1 if hits else len(odd))


@tb.kernel
def divisions(kc: KernelContext, out: NDArray[i32], a: NDArray[i32], b: NDArray[i32]) -> None:
    out[0, kc.x] = a[kc.x] // b[kc.x]
    out[1, kc.x] = a[kc.x] % b[kc.x]


def test_division_rounds_down_and_never_traps(target: LlvmTarget) -> None:
    edges = np.array([0, 1, -1, 2, -2, 7, -7, 2**31 - 1, -(2**31), 12345], np.int32)
    a, b = (side.ravel() for side in np.meshgrid(edges, edges))
    out, *_ = run_llvm(divisions, a.size, np.zeros((2, a.size), np.int32), a, b, target=target)
    with np.errstate(all="ignore"):
        assert np.array_equal(out[0], np.where(b == 0, 0, a // np.where(b == 0, 1, b)))
        assert np.array_equal(out[1], np.where(b == 0, 0, a % np.where(b == 0, 1, b)))


@tb.kernel
def flag(kc: KernelContext, a: S32Array, done: S32Array) -> None:
    if kc.x == a.length - 1 and a.array[kc.x] < 2:
        done.array[0] = kc.x


@pytest.mark.parametrize("last", [1, 5])
def test_one_place_is_written_only_if_a_lane_is_on(target: LlvmTarget, last: int) -> None:
    a = S32Array.of([*range(20), last])
    _, done = run_llvm(flag, 21, a, S32Array.of([-1]), target=target)
    assert done.array.tolist() == [20 if last < 2 else -1]


@tb.kernel
def sums(kc: KernelContext, a: F32Array, out: F32Array) -> None:
    tile = tb.local(f32, 24)
    tile[kc.local_x] = a.array[kc.x]
    step = kc.local_max_x // 2
    while step > 0:
        kc.barrier()
        if kc.local_x < step:
            tile[kc.local_x] += tile[kc.local_x + step]
        step //= 2
    if kc.local_x == 0:
        out.array[kc.group_x] = tile[0]


@pytest.mark.parametrize("local", [4, 16])
def test_groups_wait(target: LlvmTarget, local: int) -> None:
    a = F32Array.of(np.arange(64))
    _, out = run_llvm(sums, NDRange(64, local), a, F32Array.create(length=16), target=target)
    expected = np.arange(64).reshape(-1, local).sum(axis=1)
    assert out.array[: expected.size].tolist() == expected.tolist()


@tb.kernel
def digits(kc: KernelContext, out: NDArray[i32]) -> None:
    """A private array, reached at places that differ from lane to lane."""
    counts = tb.private(i32, 10)
    for i in range(10):
        counts[i] = 0
    n = kc.x * kc.x
    while n > 0:
        counts[n % 10] += 1
        n //= 10
    best = 0
    for i in range(1, 10):
        if counts[i] > counts[best]:
            best = i
    out[kc.x] = best


def test_private_arrays(target: LlvmTarget) -> None:
    (out,) = run_llvm(digits, 200, np.zeros(200, np.int32), target=target)
    for x in range(200):
        counts = [str(x * x).count(str(d)) if x else 0 for d in range(10)]
        assert out[x] == counts.index(max(counts))


@tb.kernel
def waves(kc: KernelContext, out: NDArray[f32], a: NDArray[f32]) -> None:
    x = a[kc.x]
    out[0, kc.x] = math.exp(x)
    out[1, kc.x] = math.log(abs(x))
    out[2, kc.x] = math.sin(x)
    out[3, kc.x] = math.cos(x)
    out[4, kc.x] = math.pow(abs(x), x)


def test_math_is_within_its_ulps(target: LlvmTarget) -> None:
    a = np.random.default_rng(4).uniform(-20, 20, 999).astype(np.float32)
    out, _ = run_llvm(waves, a.size, np.zeros((5, a.size), np.float32), a, target=target)
    wide = a.astype(np.float64)
    size = np.abs(wide)
    meant = [np.exp(wide), np.log(size), np.sin(wide), np.cos(wide), np.power(size, wide)]
    for found, expected, ulps in zip(out, meant, (3, 3, 4, 4, 16), strict=True):
        near = np.spacing(np.abs(expected).astype(np.float32)).astype(np.float64)
        assert (np.abs(found - expected) <= (ulps + 0.5) * near).all()


@tb.kernel
def careful(kc: KernelContext, a: S32Array) -> None:
    assert a.array[kc.x] != 7, "seven"
    print("saw", a.array[kc.x])  # noqa: T201 -- a kernel may print


def outcome_of(numbers: list[int]) -> tuple[list[int], list[str]]:
    """The report, and what was printed."""
    graph = graph_of(careful, ())
    found: Any = call(compiled(graph, host_target()), graph, len(numbers), [S32Array.of(numbers)])
    return found.report, found.said


def test_reports_and_prints() -> None:
    assert outcome_of([4, 5]) == ([0, 0, 0, 0], ["saw 4", "saw 5"])
    report, _ = outcome_of([1, 2, 7])
    assert report == [1, 2, 0, 0]


def test_the_same_kernel_gives_the_same_text() -> None:
    graph = graph_of(sums, ())
    assert generate(graph, host_target()).text == generate(graph, host_target()).text


@tb.kernel
def row_times_column(kc: KernelContext, a: NDArray[f32], b: NDArray[f32], c: NDArray[f32]) -> None:
    total: f32 = 0.0
    for k in range(a.shape[1]):
        total += a[kc.y, k] * b[k, kc.x]
    c[kc.y, kc.x] = total


@pytest.mark.parametrize("width", [5, 33, 70])
def test_sums_run_in_four_vectors_at_once(width: int) -> None:
    target = host_target(256)
    random = np.random.default_rng(3)
    a, b = random.random((6, 9), np.float32), random.random((9, width), np.float32)
    c = np.zeros((6, width), np.float32)
    (_, _, found) = run_llvm(row_times_column, (width, 6), a, b, c, target=target)
    for k in range(9):
        c += a[:, k : k + 1] * b[k]
    assert np.array_equal(found, c)
    assert generate(graph_of(row_times_column, (2, 2, 2)), target).lanes == 4 * 8
    assert generate(graph_of(smooth, (2, 2)), target).lanes == 2 * 8


@tb.kernel
def which_group(kc: KernelContext, out: NDArray[i32]) -> None:
    out[kc.x] = kc.group_x


def test_what_sees_its_group_says_so(target: LlvmTarget) -> None:
    assert not generate(graph_of(which_group, (1,)), target).any_group
    assert generate(graph_of(in_step, (1,)), target).any_group is False
    assert generate(graph_of(smooth, (2, 2)), target).any_group

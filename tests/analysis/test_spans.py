"""Bounds of integers: never narrower than what can happen, and narrow where it pays."""

import pytest

import trilby as tb
from trilby import KernelContext, NDArray, S32Array, i8, i32, i64, u8, u32
from trilby.analysis.spans import Span, Spans
from trilby.data.dtypes import I8, I32, U8, U32
from trilby.model.op import Func, walk
from trilby.model.ops.memory import Store
from trilby.reflect.functions import Kernel
from trilby.runtime.compile import analyse_kernel


def spans_of(kernel: Kernel[...]) -> list[Span]:
    """The bounds of every number that the kernel stores, in order."""
    function: Func = analyse_kernel(kernel).graph.entry
    spans = Spans(function)
    stores = [op for op in walk(function.body) if isinstance(op, Store)]
    return [spans.of(op.stored) for op in stores]


TOP = I32.highest
WHOLE = Span(I32.lowest, TOP)


@tb.kernel
def ids_and_sizes(kc: KernelContext, out: NDArray[i32], a: S32Array) -> None:
    out[0] = kc.x
    out[1] = kc.max_x
    out[2] = kc.local_max_y
    out[3] = a.length
    out[4] = out.shape[0]
    out[5] = a.array[0]


def test_ids_sizes_and_lengths_are_not_negative() -> None:
    assert spans_of(ids_and_sizes) == [
        Span(0, TOP - 1),
        Span(1, TOP),
        Span(1, TOP),
        Span(0, TOP),
        Span(0, TOP),
        WHOLE,
    ]


@tb.kernel
def sums(kc: KernelContext, out: NDArray[i32], a: S32Array, n: i32) -> None:
    out[0] = kc.x + 1
    out[1] = kc.x + 2
    out[2] = a.length - 1
    out[3] = (kc.x & 255) * 4 - 7
    out[4] = -(kc.x + 1)
    out[5] = n - 1
    out[6] = kc.x * kc.y
    out[7] = -n


def test_sums_that_may_leave_the_type_have_its_bounds() -> None:
    assert spans_of(sums) == [
        Span(1, TOP),
        WHOLE,
        Span(-1, TOP - 1),
        Span(-7, 255 * 4 - 7),
        Span(-TOP, -1),
        WHOLE,
        WHOLE,
        WHOLE,
    ]


@tb.kernel
def divisions(kc: KernelContext, out: NDArray[i32], a: S32Array, n: i32) -> None:
    out[0] = n % 10
    out[1] = n % a.length
    out[2] = n % -10
    out[3] = n // 4
    out[4] = kc.x // 4
    out[5] = n & 15
    out[6] = n & -16
    out[7] = min(n, 5)
    out[8] = max(n, 5)
    out[9] = 3 if n > 4 else 9
    out[10] = min(max(n, -7), 9) // min(max(n, 2), 5)


def test_remainders_masks_and_choices() -> None:
    assert spans_of(divisions) == [
        Span(0, 9),
        Span(0, TOP - 1),
        WHOLE,
        Span(I32.lowest // 4, TOP // 4),
        Span(0, (TOP - 1) // 4),
        Span(0, 15),
        WHOLE,
        Span(I32.lowest, 5),
        Span(5, TOP),
        Span(3, 9),
        Span(-4, 4),
    ]


@tb.kernel
def loops(kc: KernelContext, out: NDArray[i32], a: S32Array, n: i32) -> None:
    for i in range(10):
        out[0] = i
    for j in range(n):
        out[1] = j
    for k in range(a.length - 1, -1, -1):
        out[2] = k
    for m in range(5, n, kc.x):
        out[3] = m
    for q in range(10, 5):
        out[4] = q
    for dy in range(-1, 2):
        out[5] = kc.y + dy


def test_counters_lie_between_their_bounds() -> None:
    first, second, third, _, fifth, sixth = spans_of(loops)
    assert first == Span(0, 9)
    assert second == Span(0, TOP - 1)
    assert third == Span(0, TOP - 1)
    assert fifth == Span(10, 10)  # no turn at all; any bounds would be true
    assert sixth == Span(-1, TOP)


@tb.kernel
def variables(kc: KernelContext, out: NDArray[i32], n: i32) -> None:
    once = kc.x & 7
    out[0] = once
    twice = 1
    if n > 3:
        twice = n
    out[1] = twice
    count = 0
    while count < n:
        count += 1
    out[2] = count


def test_a_variable_that_is_set_once_has_the_bounds_of_its_value() -> None:
    assert spans_of(variables) == [Span(0, 7), WHOLE, WHOLE]


@tb.kernel
def casts(kc: KernelContext, wide: NDArray[i64], a: u8, b: i8, c: u32) -> None:
    wide[0] = i64(kc.x) * 4
    wide[1] = i64(a)
    wide[2] = i64(b) + i64(a)
    wide[3] = i64(i32(c))
    wide[4] = i64(u8(kc.x))


def test_casts_keep_bounds_that_fit_and_lose_those_that_do_not() -> None:
    assert spans_of(casts) == [
        Span(0, (TOP - 1) * 4),
        Span(0, U8.highest),
        Span(I8.lowest, I8.highest + U8.highest),
        WHOLE,
        Span(0, U8.highest),
    ]


@pytest.mark.parametrize(("span", "fits"), [(Span(0, 5), True), (Span(-1, 5), False)])
def test_a_span_fits_a_type_that_holds_both_ends(span: Span, fits: bool) -> None:  # noqa: FBT001 -- a parameter
    assert span.fits(U32) is fits

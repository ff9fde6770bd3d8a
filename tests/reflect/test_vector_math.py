"""Arithmetic of vectors and matrices: lane by lane, in the order of the host, and its limits."""

import numpy as np
import pytest
from tests.reflect.kernel_cases import kernel, lined, run
from tests.reflect.struct_cases import accepted, check_refusal, model_of, refusals

import trilby as tb

MAKE = "make one of the other: a vector is made of numbers and of vectors"
OPERATORS = "matrices have `+` and `-` with each other, `*` with a number, and `@`"


def test_an_operator_is_one_op_for_each_lane() -> None:
    assert model_of("w = v * 2.0 + v", "v: tb.f32x2") == lined("""
        %2 : f32 = unpack %1 @"x"
        %3 : f32 = unpack %1 @"y"
        %4 : f32 = constant @2.0
        %5 : f32 = mul %2 %4
        %6 : f32 = mul %3 %4
        %7 : f32 = unpack %1 @"x"
        %8 : f32 = unpack %1 @"y"
        %9 : f32 = add %5 %7
        %10 : f32 = add %6 %8
        %11 : Var<f32> = var %9 @"w.x"
        %12 : Var<f32> = var %10 @"w.y"
    """)


def test_a_number_is_converted_once() -> None:
    text = model_of("w = v * n", "v: tb.f32x4, n: i32")
    assert text.count(" = cast ") == 1
    assert text.count(" = mul ") == 4


def test_dot_sums_from_left_to_right() -> None:
    """In 32 bits the order shows: the large numbers go first, or the small one is lost."""
    source = """
        @tb.kernel
        def k(kc: KernelContext, r: NDArray[f32]):
            v = tb.f32x4(1e8, -1e8, 1.0, 0.5)
            r[0] = tb.dot(v, tb.f32x4(1.0, 1.0, 1.0, 1.0))
            r[1] = tb.dot(v.zxyw, tb.f32x4(1.0, 1.0, 1.0, 1.0))
    """
    r = np.zeros(2, np.float32)
    run(kernel(source), 1, r)
    ones = tb.f32x4(1.0, 1.0, 1.0, 1.0)
    v = tb.f32x4(1e8, -1e8, 1.0, 0.5)
    assert r.tolist() == [1.5, 0.5] == [tb.dot(v, ones), tb.dot(v.zxyw, ones)]


def test_functions_take_any_number_of_lanes() -> None:
    accepted("w = math.sqrt(v)\nw = min(v, 1.0, w)\nw = tb.fma(v, w, v)\ns = v.xy + v.zz")
    accepted("w = tb.mix(v, 1, 0.5)\nw = tb.mix(v, v, v)\nw = tb.clamp(v, 0, 1)\nw = abs(-v)")
    accepted("k = tb.popcount(tb.i32x2(1, 2)) + tb.clz(tb.i32x2(3, 4))\nk **= 2\nk <<= 1")


@refusals(
    (
        "w = tb.i32x2(1, 2) / 2",
        "tb.i32x2(1, 2) / 2",
        "`/` of `i32x2` would leave its integer lanes",
        "use `//`, or a vector of floats",
    ),
    ("w = v + v.xy", "v + v.xy", "`f32x3` and `f32x2` do not compute with each other", MAKE),
    (
        "w = v * tb.i32x3(1, 2, 3)",
        "v * tb.i32x3(1, 2, 3)",
        "`f32x3` and `i32x3` do not compute with each other",
        MAKE,
    ),
    (
        "w = tb.i32x2(1, 2) * 1.5",
        "tb.i32x2(1, 2) * 1.5",
        "a lane of `i32x2` is `i32`, and this is the literal `1.5`",
        "write a whole number, or `i32(…)` to cut it",
    ),
    (
        "w = tb.u8x2(1, 2) + 300",
        "tb.u8x2(1, 2) + 300",
        "the literal `300` does not fit `u8`",
        "use a number within the type's range, or convert the other operand to a wider type",
    ),
    (
        "w = v & v",
        "v & v",
        "`f32` is a float, which has no bits to work on",
        "convert it to an integer: `i32(…)`",
    ),
    ("w = ~v", "~v", "`~` of `f32` has no meaning", "convert to an integer"),
    ("w = v\nw += m", "w += m", "`f32x3` and `f32x2x2` do not compute with each other", MAKE),
    (
        "a.array[0] += v",
        "a.array[0] += v",
        "`a.array[0]` is `i32`, and this is `f32x3`",
        "use one of its fields or elements",
    ),
)
def test_operators_of_vectors(lines: str, part: str, problem: str, advice: str) -> None:
    check_refusal(lines, part, problem, advice)


@refusals(
    ("w = m * m", "m * m", "`f32x2x2` and `f32x2x2` have no such operator", OPERATORS),
    ("w = m + 1.0", "m + 1.0", "`f32x2x2` and the literal `1.0` have no such operator", OPERATORS),
    ("w = m / 2.0", "m / 2.0", "`f32x2x2` and the literal `2.0` have no such operator", OPERATORS),
    ("w = m ** 2", "m ** 2", "`f32x2x2` and the literal `2` have no such operator", OPERATORS),
    (
        "w = m @ v",
        "m @ v",
        "`@` takes a matrix and a matrix or vector of its size, and gets `f32x2x2` and `f32x3`",
    ),
    (
        "w = v @ m",
        "v @ m",
        "`@` takes a matrix and a matrix or vector of its size, and gets `f32x3` and `f32x2x2`",
    ),
)
def test_operators_of_matrices(lines: str, part: str, problem: str, advice: str) -> None:
    check_refusal(lines, part, problem, advice)


@pytest.mark.parametrize(
    ("call", "problem", "advice"),
    [
        (
            "tb.dot(v, 1.0)",
            "`dot` takes vectors of one type, and gets `f32x3` and the literal `1.0`",
            "",
        ),
        ("tb.dot(v, v.xy)", "`dot` takes vectors of one type, and gets `f32x3` and `f32x2`", ""),
        ("tb.dot(v)", "`tb.dot` takes 2 arguments, and here it has 1", ""),
        ("tb.cross(v.xy, v.xy)", "`cross` takes two `f32x3`, and gets `f32x2`", ""),
        ("tb.length(tb.i32x2(1, 2))", "`i32x2` has no length in whole numbers", "use floats"),
        ("tb.length(1.0)", "`length` takes vectors of one type, and gets the literal `1.0`", ""),
        ("tb.normalize(m)", "`normalize` takes vectors of one type, and gets `f32x2x2`", ""),
        (
            "tb.normalize(1.0)",
            "`normalize` takes vectors of one type, and gets the literal `1.0`",
            "",
        ),
        ("tb.transpose(v)", "`transpose` takes a matrix, and gets `f32x3`", ""),
        ("tb.transpose(n)", "`transpose` takes a matrix, and gets `i32`", ""),
        (
            "math.sqrt(tb.i32x2(1, 2))",
            "`sqrt` takes floats, and this is `i32x2`",
            "use a vector of floats",
        ),
        ("math.isnan(v)", "`isnan` takes numbers, and this is `f32x3`", "use its lanes: `v.x`"),
        ("tb.popcount(v)", "`popcount` takes integers, and this is `f32x3`", ""),
        ("abs(m)", "`abs` takes numbers, and this is `f32x2x2`", "use its numbers: `m[0, 1]`"),
        ("min(v, m)", "`f32x3` and `f32x2x2` do not compute with each other", MAKE),
        ("max(v)", "`max` takes 2 arguments or more, and here it has 1", ""),
    ],
)
def test_functions_that_do_not_fit(call: str, problem: str, advice: str) -> None:
    check_refusal(f"x = {call}", call, problem, advice)


@pytest.mark.parametrize("order", ["v.x + tb.dot(f2(a), v)", "tb.dot(v, f2(a)) + v.x"])
def test_arguments_are_loaded_in_their_order(order: str) -> None:
    """A helper that writes what an argument before it has read changes nothing for that one."""
    source = f"""
        @tb.func
        def f2(a: F32Array) -> tb.f32x2:
            a.array[1] += 10.0
            return tb.f32x2(1.0, 1.0)

        @tb.kernel
        def k(kc: KernelContext, a: F32Array):
            v = tb.f32x2(a.array[0], a.array[1])
            a.array[2] = {order}
            a.array[3] = tb.mix(a.array[1], f2(a).x, 0.5)
    """
    a = tb.F32Array.of([2.0, 3.0, 0.0, 0.0])
    run(kernel(source), 1, a)
    assert a.array.tolist() == [2.0, 23.0, 2.0 + 5.0, 13.0 + (1.0 - 13.0) * 0.5]

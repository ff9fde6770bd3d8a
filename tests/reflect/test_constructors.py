"""Structs, vectors and matrices made in kernels."""

import numpy as np
from tests.reflect.kernel_cases import kernel, lined, run
from tests.reflect.struct_cases import accepted, check_refusal, model_of, names, refusals

import trilby as tb
from trilby.errors import FieldError, UnsupportedSyntaxError
from trilby.reflect.kernel_calls import is_record


def test_members_in_any_order_are_leaves_in_the_order_of_memory() -> None:
    assert model_of("q = Point(n=n, x=1.0)", "n: i32") == lined("""
        %2 : f32 = constant @1.0
        %3 : f32 = constant @0.0
        %4 : f32 = constant @0.0
        %5 : f32 = constant @0.0
        %6 : Var<f32> = var %2 @"q.x"
        %7 : Var<i32> = var %1 @"q.n"
        %8 : Var<f32> = var %3 @"q.w[0]"
        %9 : Var<f32> = var %4 @"q.w[1]"
        %10 : Var<f32> = var %5 @"q.w[2]"
    """)


def test_members_are_evaluated_as_they_are_written() -> None:
    source = """
        @tb.func
        def step(a: S32Array) -> i32:
            a.array[0] += 1
            return a.array[0]

        @tb.kernel
        def k(kc: KernelContext, a: S32Array, r: NDArray[f32]):
            q = Point(n=step(a), x=f32(a.array[0]) + f32(step(a)))
            r[0], r[1] = f32(q.n), q.x
    """
    made = names()
    a, r = made["S32Array"].of([0]), np.zeros(2, np.float32)
    run(kernel(source, **made), 1, a, r)
    assert r.tolist() == [1.0, 1.0 + 2.0]


def test_arrays_that_are_left_out_are_zeros() -> None:
    accepted("c = Cell(bits=t.cell[0].bits)\nx = c.on[1]\nc.on[0] = True")


def test_vectors_are_made_of_numbers_and_vectors() -> None:
    accepted("w = tb.f32x4(v, 1)\nw = tb.f32x4(n, v)\nw = tb.f32x4(v.xy, t.v[0].zz)")
    accepted("w = tb.f32x3(v)\nw.x = 0\nq = tb.f32x2x2(v.xy, 1.0, w.z)\nu = tb.u8x2(True, 255)")


def test_what_is_a_record() -> None:
    made = names()
    assert all(map(is_record, (made["Point"], made["Bits"], tb.f32x2, tb.f32x2x2)))
    assert not any(map(is_record, (tb.i32, 3, tb.Struct, int)))


NUMBERS = "write a whole number, or `i32(…)` to cut it"


@refusals(
    ("w = tb.f32x2(1.0)", "tb.f32x2(1.0)", "`f32x2` has 2 numbers, and 1 is given"),
    ("w = tb.f32x2(v)", "tb.f32x2(v)", "`f32x2` has 2 numbers, and 3 are given"),
    ("w = tb.f32x4(v)", "tb.f32x4(v)", "`f32x4` has 4 numbers, and 3 are given"),
    ("w = tb.f32x2x2(v)", "tb.f32x2x2(v)", "`f32x2x2` has 4 numbers, and 3 are given"),
    (
        "w = tb.f32x2(x=1.0, y=2.0)",
        "tb.f32x2(x=1.0, y=2.0)",
        "`f32x2` takes its numbers in order",
        "leave out the names",
    ),
    (
        "w = tb.f32x2(1.0, p)",
        "p",
        "a lane of `f32x2` is `f32`, and this is `Point`",
        "use one of its fields or elements",
    ),
    (
        "w = tb.i32x2(2, 1.5)",
        "1.5",
        "a lane of `i32x2` is `i32`, and this is the literal `1.5`",
        NUMBERS,
    ),
    (
        "w = tb.i32x4(1, v)",
        "v",
        "a lane of `i32x4` is `i32`, and this is `f32x3`",
        "use one of its fields or elements",
    ),
    ("q = Pair(p=p)", "Pair(p=p)", "`Pair` lacks a value for `v`", "write `v=…`"),
    ("q = Pair(p, v)", "Pair(p, v)", "`Pair` takes its members by name", "write `Pair(p=…)`"),
    ("q = Pair(v=v, p=m)", "m", "`p` is `Point`, and this is `f32x2x2`"),
    ("q = Point(x=1.0, n=1.5)", "1.5", "`n` is `i32`, and this is the literal `1.5`", NUMBERS),
    (
        "q = Point(x=1.0, n=1, w=0.0)",
        "0.0",
        "the array `w` cannot be given here",
        "leave it out: it begins with zeros",
    ),
    (
        "q = Bits(number=1.0)",
        "Bits(number=1.0)",
        "`Bits` is a union, which has no value of its own",
        "write one of its members in a buffer",
    ),
)
def test_arguments_that_do_not_fit(lines: str, part: str, problem: str, advice: str) -> None:
    check_refusal(lines, part, problem, advice)


def test_a_member_that_does_not_exist() -> None:
    problem, advice = "`Pair` has no field `z`", "it has `p`, `v`"
    check_refusal("q = Pair(p=p, v=v, z=1)", "z=1", problem, advice, FieldError)


def test_members_are_named_one_by_one() -> None:
    problem = "`**` in a call has no meaning in a kernel"
    check_refusal("q = Pair(**p)", "**p", problem, "name each member", UnsupportedSyntaxError)

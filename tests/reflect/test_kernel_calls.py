"""Calls: casts, math, helpers, and what cannot be called."""

import math
import types
from typing import Any

import numpy as np
import pytest
from tests.reflect.kernel_cases import (
    analysed,
    body,
    indented,
    kernel,
    lined,
    load,
    model,
    run,
    said,
)

from trilby.data.dtypes import SCALARS, ScalarType, convert
from trilby.errors import KernelTypeError, TrilbyError, UnsupportedSyntaxError
from trilby.model.intrinsics import INTRINSICS

HELPERS = """
@tb.func
def scale(value: f32, by: f32) -> f32:
    return value * by

@tb.func
def plain_sum(a: S32Array, first: i32, last: i32) -> i32:
    total = 0
    for i in range(first, last):
        total += a.array[i]
    return total

@tb.func
def clear(a: S32Array) -> None:
    a.array[0] = 0

def undecorated(v: i32) -> i32:
    return v

class Thing:
    pass

@tb.compute
def host(cc):
    pass

@tb.kernel
def k(kc: KernelContext, a: S32Array, m: NDArray[f32], n: i32, f: f32, d: f64):
{}
"""
FIRST = HELPERS[: HELPERS.index("{}")].count("\n")
"""The number of the line that comes first in the kernel's body (the text's own first is empty)."""


def text_of(lines: str, kind: type[TrilbyError] = KernelTypeError) -> str:
    text = said(kind, HELPERS.format(indented(lines)))
    return text.replace(f"app.py:{FIRST}:", "app.py:N:").replace(f"  {FIRST} |", "  N |")


def lines_of(lines: str) -> list[str]:
    """The model of the kernel around some lines, without the return."""
    return model(HELPERS.format(indented(lines))).splitlines()[1:-2]


# ------------------------------------------------------------------------------------ casts


def test_casts() -> None:
    text = body("r = f32(n) + f32(0.5)\ns = n + i32(n)", "n: i32")
    assert text == lined("""
        %2 : f32 = cast %1
        %3 : f32 = constant @0.5
        %4 : f32 = add %2 %3
        %5 : Var<f32> = var %4 @"r"
        %6 : i32 = add %1 %1
        %7 : Var<i32> = var %6 @"s"
    """)


@pytest.mark.parametrize("target", SCALARS.values(), ids=str)
def test_a_cast_of_a_literal_is_exact(target: ScalarType) -> None:
    """`i32(16777217.0)` must not be rounded to `f32` on its way, `f64(0.1)` neither."""
    literals = [0, -1, 300, 3_000_000_000, 2**53 + 1, 0.1, -2.7, 16777217.0, 1e300, True]
    found = np.zeros(len(literals), target.numpy)
    lines = [f"    r[{i}] = {target}({literal})" for i, literal in enumerate(literals)]
    head = f"@tb.kernel\ndef k(kc: KernelContext, r: NDArray[{target}]):\n"
    run(kernel(head + "\n".join(lines)), 1, found)
    assert found.tolist() == [convert(literal, target) for literal in literals]


def test_bool_takes_the_truth() -> None:
    found = np.zeros(4, bool)
    source = """
        @tb.kernel
        def k(kc: KernelContext, n: i32, f: f32, r: NDArray[bool]):
            r[0] = bool(n)
            r[1] = bool(f)
            r[2] = bool(n - n)
            r[3] = bool(3)
    """
    run(kernel(source), 1, 5, 0.25, found)
    assert found.tolist() == [True, True, False, True]


# ------------------------------------------------------------------------------------- math


@pytest.mark.parametrize(
    "name", [n for n in INTRINSICS if hasattr(math, n) and INTRINSICS[n].takes == "float"]
)
def test_functions_of_math(name: str) -> None:
    row = INTRINSICS[name]
    function: Any = getattr(math, name)
    inputs = np.array([[0.5, 0.75, 0.125], [0.25, 0.5, 0.75], [0.25, 1.5, 0.5]][: row.arity])
    inputs += 1.0 if name == "acosh" else 0.0
    names = "abc"[: row.arity]
    params = "".join(f", {letter}: NDArray[f64]" for letter in names)
    arguments = ", ".join(f"{letter}[kc.x]" for letter in names)
    result = "bool" if row.tests else "f64"
    head = f"@tb.kernel\ndef k(kc: KernelContext{params}, r: NDArray[{result}]):\n"
    found = np.zeros(3, result.replace("f64", "float64"))
    run(kernel(f"{head}    r[kc.x] = math.{name}({arguments})\n"), 3, *inputs, found)
    wanted = [function(*column) for column in inputs.T]
    np.testing.assert_allclose(found, wanted, rtol=1e-15)


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("math.sqrt(f)", "f32"),
        ("math.sqrt(d)", "f64"),
        ("math.sqrt(n)", "f64"),
        ("math.atan2(f, 1)", "f32"),
        ("math.atan2(f, d)", "f64"),
        ("math.floor(f)", "f32"),
        ("min(n, 3)", "i32"),
        ("min(f, 3)", "f32"),
        ("max(n, f)", "f64"),
        ("max(n, 0.5)", "f64"),
        ("abs(n)", "i32"),
        ("abs(f)", "f32"),
        ("abs(n > 0)", "i32"),
        ("min(n, n, n, 0)", "i32"),
    ],
)
def test_types_of_math(expression: str, wanted: str) -> None:
    assert f"Var<{wanted}> = var" in lines_of(f"r = {expression}")[-1]


def test_functions_of_constants_are_computed_beforehand() -> None:
    assert body("r = f * math.sqrt(2) + max(1, 2.5, 2) + abs(-3)", "f: f64") == lined("""
        %2 : f64 = constant @1.4142135623730951
        %3 : f64 = mul %1 %2
        %4 : f64 = constant @2.5
        %5 : f64 = add %3 %4
        %6 : f64 = constant @3.0
        %7 : f64 = add %5 %6
        %8 : Var<f64> = var %7 @"r"
    """)


def test_names_that_the_user_gave_to_functions() -> None:
    source = """
        from math import sqrt as root
        smaller = min
        @tb.func
        def max(a: i32, b: i32) -> i32:
            return a * 100 + b

        @tb.kernel
        def k(kc: KernelContext, r: NDArray[f32]):
            r[0] = root(r[0])
            r[1] = smaller(7, 3)
            r[2] = max(2, 5)
    """
    found = np.array([9, 0, 0], np.float32)
    run(kernel(source), 1, found)
    assert found.tolist() == [3, 3, 205]


# ---------------------------------------------------------------------------------- helpers


def test_arguments_are_brought_to_the_types_of_the_parameters() -> None:
    assert lines_of("m[0] = scale(d, 2)") == [
        "  %6 : f32 = cast %5",
        "  %7 : f32 = constant @2.0",
        '  %8 : f32 = call %6 %7 @"app.scale"',
        "  %9 : i32 = constant @0",
        '! store %2 %9 %8 @"[]"',
    ]


@pytest.mark.parametrize(
    "call",
    [
        "plain_sum(a, 1, 3)",
        "plain_sum(a, first=1, last=3)",
        "plain_sum(last=3, first=1, a=a)",
        "plain_sum(a, last=3, first=1)",
    ],
)
def test_arguments_by_position_and_by_name(call: str) -> None:
    a = load("pass")["S32Array"].create(length=4)
    a.array[:] = [1, 10, 100, 1000]
    m = np.zeros(1, np.float32)
    run(kernel(HELPERS.format(f"    a.array[0] = {call}")), 1, a, m, 0, 0.0, 0.0)
    assert a.array[0] == 110


def test_helpers_of_other_modules_and_with_equal_names() -> None:
    one = types.SimpleNamespace(
        **load("SCALE = 2\n@tb.func\ndef f(v: i32) -> i32:\n    return v * SCALE\n", "one.py")
    )
    two = load("SCALE = 3\n@tb.func\ndef f(v: i32) -> i32:\n    return v * SCALE\n", "two.py")
    source = """
        SCALE = 100
        @tb.kernel
        def k(kc: KernelContext, a: NDArray[i32]):
            a[0] = one.f(1) + f(10) + one.SCALE * 1000
    """
    made = kernel(source, one=one, f=two["f"])
    assert [f.name for f in analysed(made).graph.functions] == ["one.f", "two.f", "app.k"]
    found = np.zeros(1, np.int32)
    run(made, 1, found)
    assert found[0] == 2 + 30 + 2000


def test_two_helpers_with_the_same_symbol() -> None:
    source = """
        def make(factor):
            @tb.func
            def times(v: i32) -> i32:
                return v * factor
            return times
        twice, thrice = make(2), make(3)

        @tb.kernel
        def k(kc: KernelContext, a: NDArray[i32]):
            a[0] = twice(1) + thrice(10)
    """
    made = kernel(source)
    found = np.zeros(1, np.int32)
    run(made, 1, found)
    assert found[0] == 32
    names = [f.name for f in analysed(made).graph.functions]
    assert len(set(names)) == 3


def test_a_helper_is_made_for_each_rank_that_it_gets() -> None:
    source = """
        @tb.func
        def size(m: NDArray[f32]) -> i32:
            return m.size * 10 + m.ndim

        @tb.kernel
        def k(kc: KernelContext, m: NDArray[f32], q: NDArray[f32], r: NDArray[i32]):
            r[0] = size(m)
            r[1] = size(q)
            r[2] = size(m)
    """
    made = kernel(source)
    names = [f.name for f in analysed(made, (1, 2, 1)).graph.functions]
    assert names == ["app.size[1]", "app.size[2]", "app.k"]
    found = np.zeros(3, np.int32)
    run(made, 1, np.zeros(5, np.float32), np.zeros((2, 3), np.float32), found)
    assert found.tolist() == [51, 62, 51]


def test_a_helper_is_plain_python_on_the_host() -> None:
    assert load(HELPERS.format("    pass"))["scale"](3.0, by=2.0) == 6.0


# ----------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        ("int(n)", "say the width: `i32(…)`, `i64(…)`"),
        ("float(n)", "say the width: `f32(…)`, `f64(…)`"),
        ("range(n)", "`range` stands in `for … in range(…)` only"),
        ("len(a)", "use the buffer's length field, or `a.shape[0]` of an n-d array"),
        ("pow(n, 2)", "write `a ** b`"),
        ("np.sin(f)", "use `math.sin` or Python's operators on single numbers"),
        ("np.float32(n)", "write `f32(…)`"),
        ("undecorated(n)", "decorate `undecorated` with @tb.func"),
        ("math.isqrt(n)", "this function of `math` is not part of the kernel language"),
        (
            "host(n)",
            "only @tb.func functions can be called; dispatch kernels from a compute function",
        ),
        (
            "k(kc, a)",
            "only @tb.func functions can be called; dispatch kernels from a compute function",
        ),
        ("Thing()", "kernels call @tb.func functions, scalar types, and functions of `math`"),
        ("S32Array(n)", "kernels call @tb.func functions, scalar types, and functions of `math`"),
        ("sorted(n)", "kernels call @tb.func functions, scalar types, and functions of `math`"),
    ],
)
def test_what_cannot_be_called(call: str, advice: str) -> None:
    name = call.partition("(")[0]
    assert text_of(f"x = {call}", UnsupportedSyntaxError) == (
        f"app.py:N: `{name}` cannot be called in a kernel\n"
        f"  N | x = {call}\n"
        f"     |     {'^' * len(call)}\n"
        f"  help: {advice}"
    )


@pytest.mark.parametrize(
    ("line", "part", "problem"),
    [
        ("x = n(3)", "n", "`i32` cannot be called"),
        ("x = a.array[0](3)", "a.array[0]", "`i32` cannot be called"),
        ("x = a(3)", "a", "`S32Array` cannot be called"),
    ],
)
def test_values_cannot_be_called(line: str, part: str, problem: str) -> None:
    assert text_of(line) == (f"app.py:N: {problem}\n  N | {line}\n     |     {'^' * len(part)}")


DEFINED = "it is defined at app.py:1 as `scale(value: f32, by: f32) -> f32`"


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("scale(f)", "`scale`: missing a required argument: 'by'"),
        ("scale()", "`scale`: missing a required argument: 'value'"),
        ("scale(f, f, f)", "`scale`: too many positional arguments"),
        ("scale(f, with_=2)", "`scale`: missing a required argument: 'by'"),
        ("scale(f, f, by=f)", "`scale`: multiple values for argument 'by'"),
    ],
)
def test_the_number_of_arguments(call: str, problem: str) -> None:
    assert text_of(f"x = {call}") == (
        f"app.py:N: {problem}\n  N | x = {call}\n     |     {'^' * len(call)}\n  help: {DEFINED}"
    )


@pytest.mark.parametrize(
    ("call", "part", "problem", "advice"),
    [
        (
            "plain_sum(a, f, 3)",
            "f,",
            "parameter `first` is `i32`, and this is `f32`",
            "write `i32(…)`",
        ),
        (
            "plain_sum(a, 0.5, 3)",
            "0.5",
            "parameter `first` is `i32`, and this is the literal `0.5`",
            "write a whole number, or `i32(…)` to cut it",
        ),
        (
            "plain_sum(m, 1, 3)",
            "m,",
            "parameter `a` is `S32Array`, and this is `NDArray<f32, 1>`",
            "",
        ),
        (
            "plain_sum(3, 1, 3)",
            "3,",
            "parameter `a` is `S32Array`, and this is the literal `3`",
            "",
        ),
        (
            "scale(a, 1.0)",
            "a,",
            "parameter `value` is `f32`, and this is `S32Array`",
            "use one of its fields or elements",
        ),
    ],
)
def test_types_of_arguments(call: str, part: str, problem: str, advice: str) -> None:
    line = f"x = {call}"
    part_at = line.index(f"({part}") + 1 if f"({part}" in line else line.index(part)
    wanted = f"app.py:N: {problem}\n  N | {line}\n     | {' ' * part_at}"
    wanted += "^" * len(part.rstrip(","))
    assert text_of(line) == wanted + (f"\n  help: {advice}" if advice else "")


@pytest.mark.parametrize("call", ["scale(*args)", "scale(**args)"])
def test_unpacked_arguments(call: str) -> None:
    assert text_of(f"x = {call}", UnsupportedSyntaxError) == (
        "app.py:N: `*` and `**` in a call have no meaning in a kernel\n"
        f"  N | x = {call}\n"
        f"     |     {'^' * len(call)}\n"
        "  help: name each argument"
    )


def test_nothing_is_not_a_value() -> None:
    assert text_of("x = clear(a)").splitlines()[0] == "app.py:N: `None` is not a number"


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("min(n)", "`min` takes 2 arguments or more, and here it has 1"),
        ("math.sqrt(f, f)", "`math.sqrt` takes 1 argument, and here it has 2"),
        ("math.sqrt()", "`math.sqrt` takes 1 argument, and here it has 0"),
        ("abs(n, n)", "`abs` takes 1 argument, and here it has 2"),
        ("min(n, 1, key=abs)", "`min` takes no keyword arguments in a kernel"),
        ("f32()", "`f32` takes one argument"),
        ("f32(1, 2)", "`f32` takes one argument"),
        ("bool(n, n)", "`bool` takes one argument"),
    ],
)
def test_arguments_of_math_and_casts(call: str, problem: str) -> None:
    assert text_of(f"x = {call}") == (
        f"app.py:N: {problem}\n  N | x = {call}\n     |     {'^' * len(call)}"
    )


def test_a_bad_signature_is_shown_with_the_call_that_needs_it() -> None:
    source = """
        @tb.func
        def bad(v) -> i32:
            return 1

        @tb.func
        def outer() -> i32:
            return bad(3)

        @tb.kernel
        def k(kc: KernelContext, a: S32Array):
            a.array[0] = outer()
    """
    assert said(KernelTypeError, source) == (
        "app.py:2: parameter `v` of `bad` has no type\n"
        "  2 | def bad(v) -> i32:\n"
        "    |         ^\n"
        "  in `bad`, called at app.py:7\n"
        "  in `outer`, called at app.py:11\n"
        "  help: annotate it: `v: i32`, `v: S32Array`"
    )

"""Numbers without a declared type: what they become, beside what they meet.

A *weak* number was only ever made of Python numbers. Expected types follow NumPy 2, where a
Python number beside an array takes the array's type, and Python, where nothing is rounded to
`f32` on the way to an `f64`.
"""

import numpy as np
import pytest
from tests.reflect.kernel_cases import body, kernel, run, said

from trilby.errors import KernelTypeError

PARAMS = (
    "n: i32, s8: i8, b8: u8, n64: i64, u: u32, u64_: u64, f: f32, d: f64, h: f16, "
    "out: NDArray[f32], out64: NDArray[f64], hash: NDArray[u32]"
)


def type_of(name: str, lines: str) -> str:
    """The type of a local variable in the model of a kernel."""
    for line in body(lines, PARAMS).splitlines():
        if line.endswith(f'@"{name}"') and "Var<" in line:
            return line.partition("Var<")[2].partition(">")[0]
    raise AssertionError(lines)


# ------------------------------------------------------------------------- literals alone


@pytest.mark.parametrize(
    ("literal", "wanted"),
    [
        ("0", "i32"),
        ("-1", "i32"),
        ("2147483647", "i32"),
        ("-2147483648", "i32"),
        ("2147483648", "i64"),
        ("-2147483649", "i64"),
        ("9223372036854775808", "u64"),
        ("0.5", "f32"),
        ("1e10", "f32"),
        ("True", "bool"),
        ("1 if n > 0 else 2", "i32"),
        ("1 if n > 0 else 3000000000", "i64"),
        ("1 if n > 0 else 0.5", "f32"),
        ("True if n > 0 else False", "bool"),
        ("True if n > 0 else 2", "i32"),
        ("max(1, 2)", "i32"),
        ("math.sqrt(2)", "f32"),
        ("math.pi", "f32"),
    ],
)
def test_a_variable_that_holds_a_literal(literal: str, wanted: str) -> None:
    assert type_of("x", f"x = {literal}") == wanted


# ------------------------------------------------------ variables that began as a literal


@pytest.mark.parametrize(
    ("first", "then", "wanted"),
    [
        ("0", "f", "f32"),
        ("0", "d", "f64"),
        ("0", "h", "f16"),
        ("0", "s8", "i32"),
        ("0", "b8", "i32"),
        ("0", "n64", "i64"),
        ("0", "u", "u32"),
        ("0", "u64_", "u64"),
        ("-1", "u", "i64"),
        ("0", "0.5", "f32"),
        ("0", "3000000000", "i64"),
        ("0", "n > 0", "i32"),
        ("0.0", "f", "f32"),
        ("0.0", "d", "f64"),
        ("0.0", "h", "f32"),
        ("0.0", "1", "f32"),
        ("0.0", "n", "f64"),
        ("0.0", "s8", "f32"),
        ("3000000000", "u", "i64"),
    ],
)
def test_a_variable_widens_to_hold_all_its_values(first: str, then: str, wanted: str) -> None:
    lines = f"x = {first}\nif n > 3:\n    x = {then}"
    assert type_of("x", lines) == wanted


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("s += f", "f32"),
        ("s += d", "f64"),
        ("s += u", "u32"),
        ("s ^= u64_", "u64"),
        ("s += b8", "i32"),
        ("s += n64", "i64"),
        ("s += 1", "i32"),
        ("s /= 2", "f32"),
        ("s += 0.5", "f32"),
        ("s = max(s, f)", "f32"),
        ("s = s + i", "i32"),
        ("s = s + i * f", "f32"),
    ],
)
def test_a_sum_that_starts_at_zero(statement: str, wanted: str) -> None:
    assert type_of("s", f"s = 0\nfor i in range(n):\n    {statement}") == wanted


def test_a_variable_widens_also_where_it_was_used_before() -> None:
    lines = "x = 0\nwhile n > x:\n    y = x * 2\n    out[0] = y\n    x = x + f"
    assert type_of("x", lines) == "f32"
    assert type_of("y", lines) == "f32"


def test_several_variables_that_feed_each_other_widen_together() -> None:
    lines = "a = 0\nb = 0\nc = 0\nfor i in range(n):\n    a = b\n    b = c\n    c += d"
    assert [type_of(name, lines) for name in "abc"] == ["f64", "f64", "f64"]


def test_a_declared_type_stays() -> None:
    assert type_of("x", "x: f64 = 0\nx = f") == "f64"
    assert type_of("x", "x: u8 = 0\nx = 255") == "u8"
    assert type_of("x", "x: i64\nx = 3") == "i64"


def test_a_type_may_be_declared_in_a_later_branch() -> None:
    lines = "if n > 0:\n    x = 1\nelse:\n    x: f64 = 2.0\nout64[0] = x"
    assert type_of("x", lines) == "f64"


def test_a_variable_with_a_type_of_its_own_does_not_widen() -> None:
    source = f"@tb.kernel\ndef k(kc: KernelContext, {PARAMS}):\n    x = n\n    x = f\n"
    assert said(KernelTypeError, source) == (
        "app.py:4: `x` is `i32` since line 3, and this is `f32`\n"
        "  4 | x = f\n"
        "    |     ^\n"
        "  help: convert it: `i32(…)`, or declare `x: f32 = …` where it is first set"
    )


# ----------------------------------------------------------------- weak beside something


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("i * f", "f32"),
        ("f * i", "f32"),
        ("i * d", "f64"),
        ("i * h", "f16"),
        ("i + s8", "i32"),
        ("i + n", "i32"),
        ("i + n64", "i64"),
        ("i + u", "u32"),
        ("i ^ u64_", "u64"),
        ("i * 0.5", "f32"),
        ("i / 2", "f32"),
        ("i / i", "f32"),
        ("i // 2", "i32"),
        ("(i + 1) * 2 * f", "f32"),
        ("-i * f", "f32"),
        ("~i & u", "u32"),
        ("(1 if n > 0 else 2) * f", "f32"),
        ("(i if n > 0 else 2) * f", "f32"),
        ("(0.5 if n > 0 else 0.25) * h", "f16"),
        ("max(i, 3) * f", "f32"),
        ("abs(i - 5) * f", "f32"),
        ("math.sqrt(i) * f", "f32"),
        ("math.sqrt(i)", "f32"),
        ("math.sqrt(i) * d", "f64"),
        ("i * 0.5 * d", "f64"),
        ("i32(i) * f", "f64"),
        ("n * f", "f64"),
        ("n * 0.5", "f64"),
        ("n / 2", "f64"),
        ("kc.x * 0.5", "f64"),
        ("i + 3000000000", "i64"),
        ("i + 2 ** 63", "u64"),
    ],
)
def test_a_counter_is_a_python_number(expression: str, wanted: str) -> None:
    assert type_of("r", f"for i in range(n):\n    r = {expression}") == wanted


def test_a_counter_stays_weak_when_it_is_copied() -> None:
    lines = "for i in range(n):\n    j = i + 1\n    k = j\n    r = k * f"
    assert type_of("r", lines) == "f32"


def test_counters_of_different_types_stay_integers() -> None:
    lines = "for i in range(n):\n    for j in range(u64_):\n        r = i + j"
    assert type_of("r", lines) == "u64"
    lines = "i = 5\nfor i in range(u64_):\n    pass"
    assert type_of("i", lines) == "u64"
    lines = "for i in range(n):\n    for j in range(u):\n        r = i + j"
    assert type_of("r", lines) == "i64"


def test_a_variable_that_also_holds_typed_numbers_is_not_weak() -> None:
    assert type_of("r", "c = 0\nif n > 2:\n    c = 7\nr = c * f") == "f32"
    assert type_of("r", "c = 0\nif n > 2:\n    c = n\nr = c * f") == "f64"
    assert type_of("r", "c = 0\nr = c * f\nfor i in range(n):\n    c += n") == "f64"


def test_a_counter_is_compared_as_it_is() -> None:
    """As `u32`, -1 would be more than 5."""
    found = np.zeros(3, np.uint32)
    source = """
        @tb.kernel
        def k(kc: KernelContext, u: u32, r: NDArray[u32]):
            for i in range(-1, 2):
                if i < u:
                    r[i + 1] = 1
    """
    run(kernel(source), 1, 5, found)
    assert found.tolist() == [1, 1, 1]


# ------------------------------------------------------------------- nothing is lost to f32


@pytest.mark.parametrize(
    "lines",
    [
        "x = 0.1\nr[0] = x",
        "x = 0.1\ny = x\nr[0] = y",
        "x = 0.1\ny = x * 1\nz = y + 0\nr[0] = z",
        "x = 1.0\nx = 0.1\nr[0] = x",
        "x = 0.1\nr[0] = one * x",
        "x = 0.1\nr[0] = f64(x)",
        "x = 0.1\nr[0] = give(x)",
        "x = 0.1 if one > 0 else 0.2\nr[0] = x",
        "r[0] = (0.1 if one > 0 else 0.2) * one",
        "x = 0.1\nr[0] = x if one > 0 else one",
        "for i in range(1, 2):\n    r[0] = i * 0.1",
        "for i in range(1, 2):\n    x = i / 10\n    r[0] = x",
        "x = 0.1\nr[0] = max(x, one - 1)",
        "x = 0.1\nr[0] = min(one, x)",
        "r[0] = f64(0.1)",
        "r[0] = TENTH",
        "x = 0\nx = TENTH\nr[0] = x",
        "x = one - one\nx = 0.1\nr[0] = x",
        "x = 0.1\nr[0] += x",
        "r[0] = math.sqrt(0.1) * math.sqrt(0.1)",
    ],
)
def test_a_python_float_that_ends_as_f64_was_never_f32(lines: str) -> None:
    found = np.zeros(1)
    indented_lines = "\n".join(f"    {line}" for line in lines.splitlines())
    source = (
        "@tb.func\ndef give(v: f64) -> f64:\n    return v\n"
        "@tb.kernel\ndef k(kc: KernelContext, one: f64, r: NDArray[f64]):\n" + indented_lines
    )
    run(kernel(source, TENTH=0.1), 1, 1.0, found)
    wanted = np.sqrt(0.1) * np.sqrt(0.1) if "sqrt" in lines else 0.1
    assert found[0] == wanted


def test_f32_stays_f32() -> None:
    text = body("x = 0.1\nfor i in range(n):\n    out[i] = f * x + i / 3 - 2.0", PARAMS)
    assert "f64" not in text


def test_integers_beside_each_other_wrap_in_their_own_type() -> None:
    found = np.zeros(2, np.uint32)
    source = """
        @tb.kernel
        def k(kc: KernelContext, a: NDArray[u32]):
            h = 2166136261
            for i in range(3):
                h = (h ^ i) * a[0]
            a[1] = h
    """
    found[0] = 16777619
    with pytest.raises(KernelTypeError, match="is `u32`, and this is `i64`"):
        run(kernel(source), 1, found)
    run(kernel(source.replace("h = 2166136261", "h: u32 = 2166136261")), 1, found)
    h = 2166136261
    for i in range(3):
        h = (h ^ i) * 16777619 % 2**32
    assert found[1] == h

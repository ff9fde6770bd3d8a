"""Expressions: the model of each form, and what it computes."""

import math

import numpy as np
import pytest
from tests.reflect.kernel_cases import analysed, body, indented, kernel, lined, run, said

from trilby.errors import KernelNameError, KernelTypeError, UnsupportedSyntaxError
from trilby.model.op import walk
from trilby.model.ops.core import Call

# ---------------------------------------------------------------------------- the models


def test_names_constants_and_operators() -> None:
    text = body("r = -n * 3 + m // 2", "n: i32, m: i32")
    assert text == lined("""
        %3 : i32 = neg %1
        %4 : i32 = constant @3
        %5 : i32 = mul %3 %4
        %6 : i32 = constant @2
        %7 : i32 = floordiv %2 %6
        %8 : i32 = add %5 %7
        %9 : Var<i32> = var %8 @"r"
    """)


def test_an_element_is_loaded_before_what_stands_to_its_right() -> None:
    text = body("r = a.array[kc.x] - a.length", "a: S32Array")
    assert text == lined("""
        %2 : i32 = grid %0 @"x"
        %3 : i32 = load %1 %2 @"array[]"
        %4 : i32 = load %1 @"length"
        %5 : i32 = sub %3 %4
        %6 : Var<i32> = var %5 @"r"
    """)


def test_mixed_types_are_cast_before_the_operation() -> None:
    text = body("r = n < f", "n: i32, f: f32")
    assert text == lined("""
        %3 : f64 = cast %1
        %4 : f64 = cast %2
        %5 : bool = lt %3 %4
        %6 : Var<bool> = var %5 @"r"
    """)


def test_and_runs_its_right_side_only_if_the_left_is_true() -> None:
    text = body("r = n > 0 and m > 0", "n: i32, m: i32")
    assert text == lined("""
        %3 : i32 = constant @0
        %4 : bool = gt %1 %3
        %5 : bool = and_then %4 {
          %6 : i32 = constant @0
          %7 : bool = gt %2 %6
          yield %7
        }
        %8 : Var<bool> = var %5 @"r"
    """)


def test_a_chain_of_or_leans_to_the_left() -> None:
    text = body("r = p or q or not p", "p: bool, q: bool")
    assert text == lined("""
        %3 : bool = or_else %1 {
          yield %2
        }
        %4 : bool = or_else %3 {
          %5 : bool = not %1
          yield %5
        }
        %6 : Var<bool> = var %4 @"r"
    """)


def test_a_condition_takes_the_truth_of_numbers() -> None:
    text = body("if n and not f:\n    return", "n: i32, f: f32")
    assert text == lined("""
        %3 : i32 = constant @0
        %4 : bool = ne %1 %3
        %5 : bool = and_then %4 {
          %6 : f32 = constant @0.0
          %7 : bool = ne %2 %6
          %8 : bool = not %7
          yield %8
        }
        if %5 {
          return
        } {}
    """)


def test_a_chained_comparison_has_its_middle_once() -> None:
    text = body("r = 0 <= a.array[n] < m", "a: S32Array, n: i32, m: i32")
    assert text == lined("""
        %4 : i32 = load %1 %2 @"array[]"
        %5 : i32 = constant @0
        %6 : bool = le %5 %4
        %7 : bool = and_then %6 {
          %8 : bool = lt %4 %3
          yield %8
        }
        %9 : Var<bool> = var %7 @"r"
    """)


def test_a_ternary_runs_one_arm_and_joins_the_types() -> None:
    text = body("r = f if n > 0 else d", "n: i32, f: f32, d: f64")
    assert text == lined("""
        %4 : i32 = constant @0
        %5 : bool = gt %1 %4
        %6 : f64 = ternary %5 {
          %7 : f64 = cast %2
          yield %7
        } {
          yield %3
        }
        %8 : Var<f64> = var %6 @"r"
    """)


def test_a_ternary_of_buffers_is_a_buffer() -> None:
    text = body("b = a if n > 0 else c\nb.array[0] = 1", "n: i32, a: S32Array, c: S32Array")
    assert text == lined("""
        %4 : i32 = constant @0
        %5 : bool = gt %1 %4
        %6 : S32Array = ternary %5 {
          yield %2
        } {
          yield %3
        }
        %7 : Var<S32Array> = var %6 @"b"
        %8 : S32Array = var.load %7
        %9 : i32 = constant @0
        %10 : i32 = constant @1
        store %8 %9 %10 @"array[]"
    """)


def test_constants_of_the_module_are_folded_in() -> None:
    text = body("r = n * (SIZE - 1) + TYPED", "n: i32", SIZE=10, TYPED=np.int64(5))
    assert text == lined("""
        %2 : i32 = constant @9
        %3 : i32 = mul %1 %2
        %4 : i64 = constant @5
        %5 : i64 = cast %3
        %6 : i64 = add %5 %4
        %7 : Var<i64> = var %6 @"r"
    """)


def test_a_constant_condition_leaves_the_other_arm_out() -> None:
    text = body("r = n if DEBUG else a.array[0]", "a: S32Array, n: i32", DEBUG=True)
    assert text == '%3 : Var<i32> = var %2 @"r"'
    text = body("r = DEBUG and n > 0\ns = DEBUG or n > 0", "n: i32", DEBUG=False)
    assert text == lined("""
        %2 : bool = constant @False
        %3 : Var<bool> = var %2 @"r"
        %4 : i32 = constant @0
        %5 : bool = gt %1 %4
        %6 : Var<bool> = var %5 @"s"
    """)


# ------------------------------------------------------------------------- what they mean

EXPRESSIONS = [
    "x + y * 2 - -x",
    "(x + y) * 2 // 3 % 5",
    "x ** 2 - y",
    "x << 2 | y & 7 ^ 3",
    "x if x > y else y",
    "x if x > y else y if y > 3 else 3",
    "(x if x > 0 else 0) + (y if y > 0 else 0)",
    "1 if x < y < 5 else 0",
    "1 if 0 <= x <= y != 4 else 0",
    "1 if x == y or x > 3 and y > 1 else 2",
    "1 if (x == y or x > 3) and y > 1 else 2",
    "1 if not x else 2",
    "1 if not (x and y) else 2",
    "1 if x and y or not x and not y else 2",
    "1 if not not x else 0",
    "1 if (x > 0) == (y > 0) else 0",
    "(x > y) + (x > 1) * 2",
    "min(x, y, 3) + max(x, y) - abs(x)",
    "- - -x",
    "~x + ~~y",
    "x // y if y else -1",
    "x % y if y != 0 else -1",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions_mean_what_python_means(expression: str) -> None:
    numbers = np.arange(-6, 7, dtype=np.int32)
    x, y = (grid.ravel() for grid in np.meshgrid(numbers, numbers))
    found = np.zeros_like(x)
    source = (
        "@tb.kernel\n"
        "def k(kc: KernelContext, a: NDArray[i32], b: NDArray[i32], r: NDArray[i32]):\n"
        f"    x = a[kc.x]; y = b[kc.x]\n    r[kc.x] = {expression}\n"
    )
    run(kernel(source), x.size, x, y, found)
    meaning = eval(f"lambda x, y: {expression}")  # noqa: S307 -- the line above, as Python
    wanted = [int(meaning(int(p), int(q))) for p, q in zip(x, y, strict=True)]
    assert found.tolist() == wanted


SIDE_EFFECTS = """
    @tb.func
    def tick(log: S32Array, value: i32) -> i32:
        log.array[log.array[0] + 1] = value
        log.array[0] += 1
        return value

    @tb.kernel
    def k(kc: KernelContext, log: S32Array, r: NDArray[i32]):
        {}
"""


@pytest.mark.parametrize(
    "line",
    [
        "r[0] = tick(log, 1) + tick(log, 2) * tick(log, 3)",
        "r[0] = 1 if tick(log, 1) < tick(log, 0) < tick(log, 3) else 0",
        "r[0] = 1 if tick(log, 1) < tick(log, 2) < tick(log, 3) else 0",
        "r[0] = 1 if tick(log, 0) and tick(log, 2) else 0",
        "r[0] = 1 if tick(log, 1) or tick(log, 2) else 0",
        "r[0] = tick(log, 1) if tick(log, 0) else tick(log, 2)",
        "r[tick(log, 0)] = tick(log, 1)",
        "r[tick(log, 0)] += tick(log, 1)",
        "r[0], r[tick(log, 1)] = tick(log, 2), tick(log, 3)",
        "r[0] = max(tick(log, 3), tick(log, 1), tick(log, 2))",
        "x, y = log.array[0], tick(log, 5)\n        r[0] = x",
        "r[0] = log.array[0] + tick(log, 5)",
        "r[0] = min(log.array[0], tick(log, 5))",
        "r[0] = tick(value=tick(log, 1), log=log)",
        "for i in range(tick(log, 0), tick(log, 3), tick(log, 1)):\n            tick(log, i)",
        "r[0] = r[1] = tick(log, 4)",
    ],
)
def test_everything_is_evaluated_once_and_in_pythons_order(line: str) -> None:
    """The helper is also plain Python, so Python itself says what the log must hold."""
    log, r = np.zeros(21, np.int32), np.zeros(2, np.int32)
    log[0] = 20
    run(kernel(SIDE_EFFECTS.format(line)), 1, log, r)

    class Log:
        array = np.zeros(20, np.int32)

    python_r = np.zeros(2, np.int32)
    names: dict[str, object] = {"log": Log(), "r": python_r}
    text = lined(SIDE_EFFECTS.format(line)).replace("@tb.func\n", "").replace("@tb.kernel\n", "")
    text = text.replace(": S32Array", "").replace(": i32", "").replace("-> i32", "")
    text = text.replace("kc: KernelContext, ", "").replace(": NDArray[i32]", "")
    exec(f"{text}\nk(log, r)", names)  # noqa: S102 -- the text above, as plain Python
    assert log[1:].tolist() == Log.array.tolist()
    assert r.tolist() == python_r.tolist()


def test_a_long_sum_is_not_nested() -> None:
    found = np.zeros(1, np.int32)
    terms = " + ".join(["n"] * 300)
    source = f"@tb.kernel\ndef k(kc: KernelContext, n: i32, r: NDArray[i32]):\n    r[0] = {terms}\n"
    run(kernel(source), 1, 2, found)
    assert found[0] == 600


@pytest.mark.parametrize(("word", "wanted"), [("and", 0), ("or", 1)])
def test_a_long_condition_is_not_nested(word: str, wanted: int) -> None:
    found = np.zeros(1, np.int32)
    terms = f" {word} ".join(f"n != {number}" for number in range(300))
    source = (
        "@tb.kernel\ndef k(kc: KernelContext, n: i32, r: NDArray[i32]):\n"
        f"    r[0] = 1 if {terms} else 0\n"
    )
    run(kernel(source), 1, 299, found)
    assert found[0] == wanted


def test_nested_ternaries_grow_with_their_text_and_no_faster() -> None:
    def ops(depth: int) -> int:
        nested = "0"
        for level in range(depth):
            nested = f"({nested} if n > {level} else {level} + n)"
        source = f"@tb.kernel\ndef k(kc: KernelContext, n: i32):\n    r = {nested}\n"
        return sum(1 for _ in walk(analysed(kernel(source)).graph.entry.body))

    assert ops(40) - ops(30) == ops(30) - ops(20)


def test_nested_calls_are_lowered_once() -> None:
    nested = "n"
    for _ in range(20):
        nested = f"twice({nested})"
    source = (
        "@tb.func\ndef twice(v: i32) -> i32:\n    return v + v\n"
        f"@tb.kernel\ndef k(kc: KernelContext, n: i32):\n    r = {nested}\n"
    )
    entry = analysed(kernel(source)).graph.entry
    assert sum(isinstance(op, Call) for op in walk(entry.body)) == 20


def test_unicode_names_and_continued_lines() -> None:
    found = np.zeros(1, np.float32)
    source = """
        @tb.kernel
        def k(kc: KernelContext, größe: f32, r: NDArray[f32]):
            π = math.pi; zwei_π = \\
                2 * π
            r[0] = (größe
                    * zwei_π)
    """
    run(kernel(source), 1, 1.5, found)
    assert found[0] == np.float32(1.5) * np.float32(2 * math.pi)


# --------------------------------------------------------------------------------- errors


def text_of(line: str, kind: type[KernelTypeError] = KernelTypeError) -> str:
    params = "a: S32Array, c: F32Array, n: i32, p: bool, f: f32"
    return said(kind, f"@tb.kernel\ndef k(kc: KernelContext, {params}):\n{indented(line)}\n")


def test_an_unknown_name() -> None:
    source = "@tb.kernel\ndef k(kc: KernelContext):\n    x = 1 + lenght\n"
    assert said(KernelNameError, source) == (
        "app.py:3: `lenght` is not defined\n"
        "  3 | x = 1 + lenght\n"
        "    |         ^^^^^^\n"
        "  help: define it before it is used, or import it at the top of the module"
    )


def test_and_as_a_value_takes_bools() -> None:
    assert text_of("x = p and n") == (
        "app.py:3: `and`/`or` as a value takes bools, and this is `i32`\n"
        "  3 | x = p and n\n"
        "    |           ^\n"
        "  help: write `a if a != 0 else b`, or compare with 0"
    )
    assert text_of("x = p or 3").startswith(
        "app.py:3: `and`/`or` as a value takes bools, and this is the literal `3`\n"
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("x = n if p else a", "the arms of this expression are `i32` and `S32Array`"),
        ("x = a if p else c", "the arms of this expression are `S32Array` and `F32Array`"),
        ("x = a if p else 1", "the arms of this expression are `S32Array` and the literal `1`"),
        ("x = a if True else 1", "the arms of this expression are `S32Array` and the literal `1`"),
    ],
)
def test_arms_of_different_kinds(line: str, problem: str) -> None:
    assert text_of(line) == (
        f"app.py:3: {problem}\n  3 | {line}\n    |     {'^' * (len(line) - 4)}\n"
        "  help: both arms need one type"
    )


def test_a_buffer_has_no_truth() -> None:
    assert text_of("if a:\n    pass") == (
        "app.py:3: `S32Array` is not a number\n"
        "  3 | if a:\n"
        "    |    ^\n"
        "  help: use one of its fields or elements"
    )


def test_an_expression_that_does_nothing_is_refused() -> None:
    source = "@tb.kernel\ndef k(kc: KernelContext, n: i32):\n    n + 1\n"
    assert said(UnsupportedSyntaxError, source) == (
        "app.py:3: this expression does nothing\n"
        "  3 | n + 1\n"
        "    | ^^^^^\n"
        "  help: assign its value, or take it out"
    )
    with_print = "@tb.kernel\ndef k(kc: KernelContext):\n    print\n"
    assert "this expression does nothing" in said(UnsupportedSyntaxError, with_print)

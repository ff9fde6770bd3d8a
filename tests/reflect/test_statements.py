"""Statements: the model of each form, what it does, and variables that may be unset."""

import numpy as np
import pytest
from tests.reflect.kernel_cases import body, indented, kernel, lined, model, run, said

from trilby.errors import (
    FieldError,
    KernelNameError,
    KernelTypeError,
    TrilbyError,
    UnsupportedSyntaxError,
)

# ---------------------------------------------------------------------------- the models


@pytest.mark.parametrize("lines", ["pass", '"""Only words."""', "...", '"""Words."""\npass'])
def test_a_kernel_that_does_nothing(lines: str) -> None:
    assert model(f"@tb.kernel\ndef k(kc: KernelContext):\n{indented(lines)}\n") == lined("""
        kernel @"app.k" (%0 : KernelContext) -> None {
          return
        }
    """)


def test_return() -> None:
    source = "@tb.kernel\ndef k(kc: KernelContext):\n    return None\n"
    assert model(source).splitlines()[1:-1] == ["  return"]


def test_if_elif_else() -> None:
    lines = """
        if n > 2:
            a.array[0] = 1
        elif n > 1:
            pass
        else:
            a.array[0] = 2
    """
    assert body(lines, "a: S32Array, n: i32") == lined("""
        %3 : i32 = constant @2
        %4 : bool = gt %2 %3
        if %4 {
          %5 : i32 = constant @0
          %6 : i32 = constant @1
          store %1 %5 %6 @"array[]"
        } {
          %7 : i32 = constant @1
          %8 : bool = gt %2 %7
          if %8 {} {
            %9 : i32 = constant @0
            %10 : i32 = constant @2
            store %1 %9 %10 @"array[]"
          }
        }
    """)


def test_for_over_a_range() -> None:
    lines = "for i in range(1, n, 2):\n    a.array[i] = i"
    assert body(lines, "a: S32Array, n: i32") == lined("""
        %3 : i32 = constant @1
        %4 : i32 = constant @2
        for %3 %2 %4 (%5 : i32) {
          store %1 %5 %5 @"array[]"
        }
    """)


def test_a_counter_that_the_body_changes_is_a_variable() -> None:
    lines = "for i in range(n):\n    i += 1\n    a.array[i] = 0"
    assert body(lines, "a: S32Array, n: i32") == lined("""
        %3 : i32 = constant @0
        %4 : i32 = constant @1
        for %3 %2 %4 (%5 : i32) {
          %6 : Var<i32> = var %5 @"i"
          %7 : i32 = var.load %6
          %8 : i32 = constant @1
          %9 : i32 = add %7 %8
          var.store %6 %9
          %10 : i32 = var.load %6
          %11 : i32 = constant @0
          store %1 %10 %11 @"array[]"
        }
    """)


def test_while_with_break_and_continue() -> None:
    lines = """
        i = 0
        while i < n:
            i += 1
            if i == 3:
                continue
            if i > 5:
                break
    """
    assert body(lines, "n: i32") == lined("""
        %2 : i32 = constant @0
        %3 : Var<i32> = var %2 @"i"
        while {
          %4 : i32 = var.load %3
          %5 : bool = lt %4 %1
          yield %5
        } {
          %6 : i32 = var.load %3
          %7 : i32 = constant @1
          %8 : i32 = add %6 %7
          var.store %3 %8
          %9 : i32 = var.load %3
          %10 : i32 = constant @3
          %11 : bool = eq %9 %10
          if %11 {
            continue
          } {}
          %12 : i32 = var.load %3
          %13 : i32 = constant @5
          %14 : bool = gt %12 %13
          if %14 {
            break
          } {}
        }
    """)


def test_else_of_a_loop_runs_unless_it_was_left() -> None:
    lines = """
        for i in range(n):
            if i == 3:
                break
        else:
            a.array[0] = 1
    """
    assert body(lines, "a: S32Array, n: i32") == lined("""
        %3 : i32 = constant @0
        %4 : i32 = constant @1
        %5 : bool = constant @False
        %6 : Var<bool> = var %5 @"broke"
        for %3 %2 %4 (%7 : i32) {
          %8 : i32 = constant @3
          %9 : bool = eq %7 %8
          if %9 {
            %10 : bool = constant @True
            var.store %6 %10
            break
          } {}
        }
        %11 : bool = var.load %6
        %12 : bool = not %11
        if %12 {
          %13 : i32 = constant @0
          %14 : i32 = constant @1
          store %1 %13 %14 @"array[]"
        } {}
    """)


def test_a_variable_that_is_first_set_in_branches_is_declared_before_them() -> None:
    lines = "if n > 0:\n    x = 1\nelse:\n    x = 2\na.array[0] = x"
    assert body(lines, "a: S32Array, n: i32") == lined("""
        %3 : Var<i32> = var @"x"
        %4 : i32 = constant @0
        %5 : bool = gt %2 %4
        if %5 {
          %6 : i32 = constant @1
          var.store %3 %6
        } {
          %7 : i32 = constant @2
          var.store %3 %7
        }
        %8 : i32 = var.load %3
        %9 : i32 = constant @0
        store %1 %9 %8 @"array[]"
    """)


def test_a_call_whose_result_nobody_wants() -> None:
    source = """
        @tb.func
        def clear(a: S32Array, i: i32) -> None:
            a.array[i] = 0

        @tb.kernel
        def k(kc: KernelContext, a: S32Array):
            clear(a, kc.x)
    """
    assert model(source).splitlines()[1:-2] == [
        '  %2 : i32 = grid %0 @"x"',
        '  call %1 %2 @"app.clear"',
    ]


# ------------------------------------------------------------ constants as conditions


def test_a_branch_that_cannot_be_taken_is_left_out() -> None:
    lines = "if DEBUG:\n    a.array[0] = 1\nelse:\n    x = 2"
    wanted = {
        True: """
            %2 : bool = constant @True
            if %2 {
              %3 : i32 = constant @0
              %4 : i32 = constant @1
              store %1 %3 %4 @"array[]"
            } {}
        """,
        False: """
            %2 : bool = constant @False
            if %2 {} {
              %3 : i32 = constant @2
              %4 : Var<i32> = var %3 @"x"
            }
        """,
    }
    for debug, text in wanted.items():
        assert body(lines, "a: S32Array", DEBUG=debug) == lined(text)


def test_a_branch_that_cannot_be_taken_is_checked_all_the_same() -> None:
    source = "@tb.kernel\ndef k(kc: KernelContext):\n    if False:\n        x = [1]\n"
    assert "a list has no meaning in a kernel" in said(UnsupportedSyntaxError, source)


def test_a_loop_that_never_runs_is_left_out() -> None:
    assert body("while False:\n    a.array[0] = 1", "a: S32Array") == lined("""
        while {
          %2 : bool = constant @False
          yield %2
        } {}
    """)


@pytest.mark.parametrize(
    "lines",
    [
        "return\nx = 77\na.array[0] = x",
        "if n > 0:\n    return\n    x = 77\na.array[0] = 5",
        "while True:\n    return\n    break\na.array[0] = 77",
        "for i in range(3):\n    break\n    x = 77\n    a.array[x] = 77",
        "for i in range(3):\n    continue\n    for j in range(77):\n        break\n    x = i",
        "if True:\n    return\nelse:\n    pass\na.array[0] = 77",
        "while True:\n    if n > 0:\n        return\n    else:\n        return\n    x = 77",
        "return\nif n > 0:\n    y = 1\nelse:\n    y = 2\na.array[y] = 77",
        "while True:\n    pass\na.array[0] = 77",
        "while True:\n    pass\nelse:\n    a.array[0] = 77",
    ],
)
def test_code_that_is_never_reached_is_left_out(lines: str) -> None:
    text = body(lines, "a: S32Array, n: i32")
    assert "77" not in text
    assert '@"x"' not in text


def test_code_that_is_never_reached_is_checked_all_the_same() -> None:
    source = "@tb.kernel\ndef k(kc: KernelContext):\n    return\n    x = kc.q\n"
    assert said(FieldError, source).startswith("app.py:4: the kernel context has no field `q`\n")


# ------------------------------------------------------------------------- what they do

PROGRAMS = {
    "nested loops": """
        s = 0
        for i in range(n):
            for j in range(i, n):
                s += i * j
        r[0] = s
    """,
    "break leaves the inner loop": """
        s = 0
        for i in range(n):
            for j in range(n):
                if j > i:
                    break
                s += 1
            s += 100
        r[0] = s
    """,
    "continue": """
        s = 0
        for i in range(n):
            if i % 2:
                continue
            s += i
        r[0] = s
    """,
    "else after a loop that ended": """
        r[0] = 1
        for i in range(n):
            if i == 100:
                break
        else:
            r[0] = 2
    """,
    "else after a loop that was left": """
        r[0] = 1
        for i in range(n):
            if i == 2:
                r[1] = 5
                break
        else:
            r[0] = 2
    """,
    "else of while": """
        i = 0
        while i < n:
            i += 1
            if i == 3:
                break
        else:
            r[0] = 7
        r[1] = i
    """,
    "else of nested loops": """
        s = 0
        for i in range(n):
            for j in range(i):
                if j == 1:
                    break
            else:
                s += 10
                continue
            s += 1
        else:
            s += 1000
        r[0] = s
    """,
    "a break of the outer loop inside of else": """
        s = 0
        for i in range(n):
            for j in range(2):
                s += 1
            else:
                if i == 2:
                    break
        r[0] = s
    """,
    "empty ranges": """
        for i in range(0):
            r[0] = 1
        for i in range(5, 2):
            r[0] = 2
        for i in range(2, 5, -1):
            r[0] = 3
        for i in range(-3):
            r[0] = 4
    """,
    "steps": """
        s = 0
        for i in range(10, -10, -3):
            s = s * 2 + i
        for i in range(-5, 6, 4):
            s = s * 2 + i
        r[0] = s
    """,
    "the bounds are taken once": """
        m = n
        s = 0
        for i in range(m):
            m = 1
            s += 1
        r[0] = s
    """,
    "changing the counter changes nothing": """
        s = 0
        for i in range(n):
            s += i
            i = 100
        r[0] = s
    """,
    "a counter that is used afterwards": """
        i = -1
        for i in range(n):
            if i == 3:
                break
        r[0] = i
    """,
    "one name for two loops": """
        s = 0
        for i in range(n):
            s += i
        for i in range(3):
            s += i * 10
        r[0] = s
    """,
    "while with a changing condition": """
        a = n
        b = 18
        while b:
            a, b = b, a % b
        r[0] = a
    """,
    "while True": """
        i = 0
        while True:
            i += 7
            if i % 5 == 0:
                x = i
                break
        r[0] = x
    """,
    "return out of loops": """
        for i in range(n):
            for j in range(n):
                if i * j == 6:
                    r[0] = i * 10 + j
                    return
        r[0] = 1
    """,
    "set in all branches": """
        if n > 10:
            x = 1
        elif n > 5:
            x = 2
        else:
            x = 3
        r[0] = x
    """,
    "one branch returns": """
        if n > 10:
            return
        else:
            x = 3
        r[0] = x
    """,
    "set before and in a branch": """
        x = 1
        if n > 3:
            x = 2
        r[0] = x
    """,
    "set in else and where it was left": """
        for i in range(n):
            if i == 2:
                x = 1
                break
        else:
            x = 2
        r[0] = x
    """,
    "carried around a loop": """
        a = 0
        b = 1
        for i in range(n):
            c = a + b
            a = b
            b = c
        r[0] = a
    """,
    "other types in branches that do not meet": """
        if n > 2:
            t = n * 2
            r[0] = t
        else:
            t = 5
            r[0] = t + 1
    """,
    "shadowed builtins": """
        min = 3
        range_ = 4
        max = min + range_
        abs = max
        r[0] = abs
    """,
    "words of other languages": """
        int = 1; float4 = 2; kernel = 3; global_ = 4; uint = 5; struct = 6; void = 7; x = 8
        double = 9; half = 10; get_global_id = 11; main = 12; restrict = 13; NULL = 14; true = 15
        r[0] = (int + float4 + kernel + global_ + uint + struct + void + x + double + half
                + get_global_id + main + restrict + NULL + true)
    """,
}


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_do_what_python_does(name: str) -> None:
    source = "def k(n, r):\n" + indented(PROGRAMS[name])
    made = kernel(
        source.replace(
            "def k(n, r)", "@tb.kernel\ndef k(kc: KernelContext, n: i32, r: NDArray[i32])"
        )
    )
    names: dict[str, object] = {}
    exec(source, names)  # noqa: S102 -- the text above, as plain Python
    for n in (0, 1, 5, 8):
        found, wanted = np.zeros(2, np.int32), [0, 0]
        run(made, 1, n, found)
        names.update(n=n, r=wanted)
        exec("k(n, r)", names)  # noqa: S102 -- the text above, as plain Python
        assert found.tolist() == wanted, n


def test_a_helper_returns_from_anywhere() -> None:
    source = """
        @tb.func
        def sign(v: i32) -> i32:
            if v > 0:
                return 1
            while v < 0:
                if v < -100:
                    return -2
                return -1
            return 0

        @tb.kernel
        def k(kc: KernelContext, a: NDArray[i32]):
            a[kc.x] = sign(a[kc.x])
    """
    numbers = np.array([5, 0, -5, -500], np.int32)
    run(kernel(source), 4, numbers)
    assert numbers.tolist() == [1, 0, -1, -2]


def test_a_counter_of_a_small_type_reaches_past_its_end() -> None:
    found = np.zeros(2, np.int32)
    source = """
        @tb.kernel
        def k(kc: KernelContext, last: u8, top: u32, r: NDArray[i32]):
            for i in range(0, last, 100):
                r[0] += i
            for j in range(top, -1, -1):
                r[1] += i32(j)
    """
    run(kernel(source), 1, 255, 3, found)
    assert found.tolist() == [sum(range(0, 255, 100)), sum(range(3, -1, -1))]


# ----------------------------------------------------------------- names that may be unset


@pytest.mark.parametrize(
    ("lines", "line", "column"),
    [
        ("r[0] = x\nx = 1", 3, 7),
        ("if n > 0:\n    x = 1\nr[0] = x", 5, 7),
        ("if n > 0:\n    x = 1\nelse:\n    y = 2\nr[0] = x", 7, 7),
        ("for i in range(n):\n    x = i\nr[0] = x", 5, 7),
        ("for i in range(n):\n    pass\nr[0] = i", 5, 7),
        ("for i in range(n):\n    r[0] = x\n    x = i", 4, 11),
        ("while n > 0:\n    x = 1\n    break\nr[0] = x", 6, 7),
        ("while True:\n    if n > 0:\n        break\n    x = 1\nr[0] = x", 7, 7),
        ("while True:\n    x = 1\n    if n > 0:\n        break\nr[0] = y\ny = 1", 7, 7),
        ("for i in range(n):\n    if i > 2:\n        break\nelse:\n    x = 2\nr[0] = x", 8, 7),
        ("for i in range(n):\n    x = 2\n    break\nelse:\n    pass\nr[0] = x", 8, 7),
        ("x += 1", 3, 0),
        ("if n > 0 and n < x:\n    x = 1", 3, 17),
        ("x: i32\nr[0] = x", 4, 7),
        ("while x < 3:\n    x = 1", 3, 6),
        ("x = x", 3, 4),
        ("if n > 0:\n    if n > 1:\n        x = 1\n    else:\n        return\nr[0] = x", 8, 7),
    ],
)
def test_a_name_that_may_be_unset_is_shown(lines: str, line: int, column: int) -> None:
    source = f"@tb.kernel\ndef k(kc: KernelContext, n: i32, r: NDArray[i32]):\n{indented(lines)}\n"
    text = source.splitlines()[line - 1].strip()
    offset = column - (len(source.splitlines()[line - 1]) - len(text) - 4)
    name = text[offset]
    assert said(KernelNameError, source) == (
        f"app.py:{line}: `{name}` may be used before it is set\n"
        f"  {line} | {text}\n"
        f"    | {' ' * offset}^\n"
        f"  help: set `{name}` on every path that leads here, for example before the `if` or loop"
    )


ALWAYS_SET = {
    "before the only break": """
        while True:
            x = 1
            if n > 0:
                break
    """,
    "before each break": """
        while True:
            if n > 0:
                x = 1
                break
            if n > 1:
                x = 2
                break
    """,
    "in else, and the loop returns": """
        for i in range(n):
            if i > 2:
                return
        else:
            x = 2
    """,
    "before break, and else returns": """
        for i in range(n):
            if i > 2:
                x = 1
                break
        else:
            return
    """,
    "under a condition that is true": """
        if True:
            x = 1
    """,
    "or never coming back": """
        if n > 0:
            x = 1
        else:
            while True:
                pass
    """,
}


@pytest.mark.parametrize("name", ALWAYS_SET)
def test_a_name_that_is_always_set_is_fine(name: str) -> None:
    text = body(lined(ALWAYS_SET[name]) + "\nr[0] = x", "n: i32, r: NDArray[i32]")
    assert "store %2" in text.splitlines()[-1]


# ---------------------------------------------------------------------------------- errors


def text_of(lines: str, kind: type[TrilbyError]) -> str:
    params = "a: S32Array, n: i32, f: f32"
    return said(kind, f"@tb.kernel\ndef k(kc: KernelContext, {params}):\n{indented(lines)}\n")


@pytest.mark.parametrize("iterable", ["a.array", "n", "[1, 2]", "zip(a, a)", "THINGS(3)", "(1, 2)"])
def test_loops_run_over_ranges_only(iterable: str) -> None:
    line = f"for i in {iterable}:"
    source = (
        f"@tb.kernel\ndef k(kc: KernelContext, a: S32Array, n: i32):\n    {line}\n        pass\n"
    )
    assert said(UnsupportedSyntaxError, source, THINGS=np.arange(3)) == (
        "app.py:3: a kernel's `for` loops over `range(…)` only\n"
        f"  3 | {line}\n"
        f"    |          {'^' * len(iterable)}\n"
        "  help: write `for i in range(n):` and index with `i`"
    )


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("range()", "`range` takes one to three integers"),
        ("range(1, 2, 3, 4)", "`range` takes one to three integers"),
        ("range(stop=3)", "`range` takes one to three integers"),
        ("range(*a)", "`range` takes one to three integers"),
        ("range(0, n, 0)", "the step of a range cannot be 0"),
        ("range(f)", "`range` takes integers, and this is `f32`"),
        ("range(0, 2.5)", "`range` takes integers, and this is the literal `2.5`"),
        ("range(n > 2)", "`range` takes integers, and this is `bool`"),
        ("range(u, -1, -1)", "the bounds of this range share no integer type"),
    ],
)
def test_bounds_of_a_range(call: str, problem: str) -> None:
    source = (
        "@tb.kernel\ndef k(kc: KernelContext, a: S32Array, n: i32, f: f32, u: u64):\n"
        f"    for i in {call}:\n        pass\n"
    )
    assert said(KernelTypeError, source).startswith(
        f"app.py:3: {problem}\n  3 | for i in {call}:\n    |          {'^' * len(call)}"
    )


def test_a_loop_has_one_counter() -> None:
    assert text_of("for i, j in range(n):\n    pass", KernelTypeError) == (
        "app.py:3: a loop over `range` has one name as its target\n"
        "  3 | for i, j in range(n):\n"
        "    |     ^^^^"
    )


def test_a_kernel_returns_nothing() -> None:
    assert text_of("return n", KernelTypeError) == (
        "app.py:3: this function returns nothing\n"
        "  3 | return n\n"
        "    | ^^^^^^^^\n"
        "  help: declare the result, or use plain `return`"
    )


HELPER = """
@tb.func
def helper(v: i32) -> i32:
{}

@tb.kernel
def k(kc: KernelContext, a: S32Array):
    a.array[0] = helper(1)
"""


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (
            "return",
            (
                "app.py:3: this function returns `i32`\n"
                "  3 | return\n"
                "    | ^^^^^^\n"
                "  in `helper`, called at app.py:7\n"
                "  help: return a value"
            ),
        ),
        (
            "return 0.5",
            (
                "app.py:3: the result is `i32`, and this is the literal `0.5`\n"
                "  3 | return 0.5\n"
                "    |        ^^^\n"
                "  in `helper`, called at app.py:7\n"
                "  help: write a whole number, or `i32(…)` to cut it"
            ),
        ),
        (
            "return v / 2",
            (
                "app.py:3: the result is `i32`, and this is `f64`\n"
                "  3 | return v / 2\n"
                "    |        ^^^^^\n"
                "  in `helper`, called at app.py:7\n"
                "  help: write `i32(…)`"
            ),
        ),
        (
            "if v > 0:\n    return 1",
            (
                "app.py:3: `helper` returns `i32`, and some path ends without a value\n"
                "  3 | if v > 0:\n"
                "    | ^^^^^^^^^\n"
                "  in `helper`, called at app.py:7\n"
                "  help: end every path with `return …`"
            ),
        ),
        (
            "while v > 0:\n    return 1",
            (
                "app.py:3: `helper` returns `i32`, and some path ends without a value\n"
                "  3 | while v > 0:\n"
                "    | ^^^^^^^^^^^^\n"
                "  in `helper`, called at app.py:7\n"
                "  help: end every path with `return …`"
            ),
        ),
    ],
)
def test_a_helper_keeps_its_promise(lines: str, text: str) -> None:
    line_of_call = 5 + len(lines.splitlines()) + 2 - 1
    wanted = text.replace("app.py:7", f"app.py:{line_of_call}")
    assert said(KernelTypeError, HELPER.format(indented(lines))) == wanted


@pytest.mark.parametrize(
    "lines",
    [
        "while True:\n    if v > 3:\n        return v\n    v += 1",
        "if v > 0:\n    return 1\nelse:\n    return 2",
        "if True:\n    return 1",
        "while True:\n    return 1\n    break",
        "for i in range(v):\n    return i\nreturn 0",
        "for i in range(v):\n    pass\nelse:\n    return 1",
    ],
)
def test_every_path_of_a_helper_ends_with_a_value(lines: str) -> None:
    assert model(HELPER.format(indented(lines)))

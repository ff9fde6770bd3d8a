"""Every kind of Python syntax is either lowered by a rule or refused with advice."""

import ast
from typing import TypeVar

import pytest
from tests.reflect.kernel_cases import error_of, indented, said

from trilby.errors import KernelTypeError, TrilbyError, UnsupportedSyntaxError
from trilby.reflect import expressions, kernel_arithmetic, statements
from trilby.reflect.subset import REFUSED, refuse
from trilby.source import Location

T = TypeVar("T")

ELSEWHERE = {ast.And, ast.Or, ast.Not, ast.Invert, ast.UAdd, ast.USub}
"""Syntax that is understood, but not through a table."""
SUPPORTED = {
    *statements.RULES,
    *expressions.RULES,
    *kernel_arithmetic.BINARY,
    *kernel_arithmetic.COMPARE,
    *ELSEWHERE,
}


def kinds(base: type[ast.AST]) -> list[type[ast.AST]]:
    """The node classes of Python itself, without those that only old Python made."""
    old = {"Num", "Str", "Bytes", "NameConstant", "Ellipsis", "Suite", "AugLoad", "AugStore"}
    own = [kind for kind in base.__subclasses__() if kind.__module__ in {"ast", "_ast"}]
    return [kind for kind in own if kind.__name__ not in old]


def all_syntax() -> list[type[ast.AST]]:
    bases = (ast.stmt, ast.expr, ast.operator, ast.cmpop, ast.unaryop, ast.boolop)
    return [kind for base in bases for kind in kinds(base)]


@pytest.mark.parametrize("kind", all_syntax(), ids=lambda kind: kind.__name__)
def test_every_kind_of_syntax_is_either_lowered_or_refused(kind: type[ast.AST]) -> None:
    assert (kind in SUPPORTED) != (kind in REFUSED)


def test_each_refusal_names_the_syntax_and_says_what_to_write() -> None:
    for what, advice in REFUSED.values():
        assert what
        assert advice
        assert not advice.endswith(".")


def test_syntax_that_is_not_in_the_table_is_refused_by_its_name() -> None:
    error = refuse(ast.Interactive(body=[]), Location("no_such_file.py", 3))
    assert str(error) == (
        "no_such_file.py:3: `Interactive` syntax has no meaning in a kernel\n"
        "  help: write it with simpler statements"
    )


def newer(**by_name: T) -> dict[type[ast.AST], T]:
    """What is said of syntax that only newer Pythons have, as far as this one has it."""
    return {getattr(ast, name): said for name, said in by_name.items() if hasattr(ast, name)}


# A sample of each: the lines of the kernel, the line of the error (the first line of the
# kernel's body is 3), and the part of that line below which the carets stand.
SAMPLES: dict[type[ast.AST], tuple[str, int, str]] = {
    ast.FunctionDef: ("x = 1\ndef inner():\n    pass", 4, "def inner():"),
    ast.AsyncFunctionDef: ("async def inner():\n    pass", 3, "async def inner():"),
    ast.ClassDef: ("class C:\n    pass", 3, "class C:"),
    ast.Delete: ("x = 1\ndel x", 4, "del x"),
    ast.With: ("with n:\n    pass", 3, "with n:"),
    ast.Match: ("match n:\n    case 1:\n        pass", 3, "match n:"),
    ast.Raise: ("if n > 0:\n    raise ValueError", 4, "raise ValueError"),
    ast.Try: ("try:\n    x = 1\nexcept ValueError:\n    pass", 3, "try:"),
    ast.TryStar: ("try:\n    x = 1\nexcept* ValueError:\n    pass", 3, "try:"),
    ast.Assert: ("assert n > 0", 3, "assert n > 0"),
    ast.Import: ("import os", 3, "import os"),
    ast.ImportFrom: ("from os import path", 3, "from os import path"),
    ast.Global: ("global G", 3, "global G"),
    ast.NamedExpr: ("if (x := n) > 0:\n    pass", 3, "x := n"),
    ast.Lambda: ("x = lambda: 1", 3, "lambda: 1"),
    ast.Dict: ("x = {1: 2}", 3, "{1: 2}"),
    ast.Set: ("x = {1, 2}", 3, "{1, 2}"),
    ast.List: ("x = [1, n]", 3, "[1, n]"),
    ast.ListComp: ("x = [i for i in range(n)]", 3, "[i for i in range(n)]"),
    ast.SetComp: ("x = {i for i in range(n)}", 3, "{i for i in range(n)}"),
    ast.DictComp: ("x = {i: i for i in range(n)}", 3, "{i: i for i in range(n)}"),
    ast.GeneratorExp: ("x = max(i for i in range(n))", 3, "(i for i in range(n))"),
    ast.Yield: ("yield", 3, "yield"),
    ast.YieldFrom: ("yield from a", 3, "yield from a"),
    ast.JoinedStr: ('x = f"{n}"', 3, 'f"{n}"'),
    ast.Starred: ("x, *y = 1, 2, 3", 3, "*y"),
    ast.Slice: ("x = a.array[1:n]", 3, "1:n"),
    ast.MatMult: ("x = n @ n", 3, "n @ n"),
    ast.Is: ("if n is 1000:\n    pass", 3, "n is 1000"),
    ast.IsNot: ("if n is not 1000:\n    pass", 3, "n is not 1000"),
    ast.In: ("if n in (1, 2):\n    pass", 3, "n in (1, 2)"),
    ast.NotIn: ("if n not in (1, 2):\n    pass", 3, "n not in (1, 2)"),
    **newer(TypeAlias=("type T = int", 3, "type T = int"), TemplateStr=('x = t"{n}"', 3, 't"{n}"')),
}
ONLY_ELSEWHERE = {
    ast.AsyncWith: "stands in `async def` only",
    ast.AsyncFor: "stands in `async def` only",
    ast.Await: "stands in `async def` only",
    ast.FormattedValue: "is a part of an f-string, which is refused as a whole",
    ast.Nonlocal: "needs a kernel inside a function: see below",
    **newer(Interpolation="is a part of a template string, which is refused as a whole"),
}


def test_there_is_a_sample_of_everything_that_is_refused() -> None:
    assert set(REFUSED) <= set(SAMPLES) | set(ONLY_ELSEWHERE)


@pytest.mark.filterwarnings("ignore:.is:SyntaxWarning")
@pytest.mark.filterwarnings("ignore:.is not:SyntaxWarning")
@pytest.mark.parametrize(
    "kind", [k for k in SAMPLES if k in REFUSED], ids=lambda kind: kind.__name__
)
def test_refused_syntax_is_shown_with_line_carets_and_advice(kind: type[ast.AST]) -> None:
    lines, line, part = SAMPLES[kind]
    source = f"@tb.kernel\ndef k(kc: KernelContext, a: S32Array, n: i32):\n{indented(lines)}\n"
    shown = source.splitlines()[line - 1].strip()
    what, advice = REFUSED[kind]
    assert said(UnsupportedSyntaxError, source, G=1) == (
        f"app.py:{line}: {what} has no meaning in a kernel\n"
        f"  {line} | {shown}\n"
        f"    | {' ' * shown.index(part)}{'^' * len(part)}\n"
        f"  help: {advice}"
    )


def test_nonlocal_is_refused() -> None:
    source = """
        def make():
            count = 0
            @tb.kernel
            def k(kc: KernelContext):
                nonlocal count
                count = 1
            return k
        k = make()
    """
    assert said(UnsupportedSyntaxError, source) == (
        "app.py:5: `nonlocal` has no meaning in a kernel\n"
        "  5 | nonlocal count\n"
        "    | ^^^^^^^^^^^^^^\n"
        "  help: kernels cannot change Python variables: pass a buffer and write to it"
    )


def test_an_async_function_is_no_kernel() -> None:
    source = "@tb.kernel\nasync def k(kc: KernelContext):\n    await kc\n"
    assert said(UnsupportedSyntaxError, source) == (
        "app.py:2: @tb.kernel takes a plain `def`\n"
        "  2 | async def k(kc: KernelContext):\n"
        "    | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  help: write a function with `def`"
    )


def test_a_lambda_is_no_kernel() -> None:
    source = "k = tb.kernel(lambda kc: None)\n"
    assert said(UnsupportedSyntaxError, source) == (
        "app.py:1: @tb.kernel takes a plain `def`\n"
        "  1 | k = tb.kernel(lambda kc: None)\n"
        "    |               ^^^^^^^^^^^^^^^\n"
        "  help: write a function with `def`"
    )


@pytest.mark.parametrize(
    ("constant", "type_name"),
    [("'text'", "str"), ("b'x'", "bytes"), ("2j", "complex"), ("None", "NoneType")],
)
def test_constants_that_are_no_numbers_are_refused(constant: str, type_name: str) -> None:
    source = f"@tb.kernel\ndef k(kc: KernelContext):\n    x = {constant}\n"
    assert said(UnsupportedSyntaxError, source) == (
        f"app.py:3: a constant of type `{type_name}` has no meaning in a kernel\n"
        f"  3 | x = {constant}\n"
        f"    |     {'^' * len(constant)}\n"
        "  help: kernels compute with numbers"
    )


def test_a_column_counts_characters_and_not_bytes() -> None:
    source = "@tb.kernel\ndef k(kc: KernelContext, größe: i32):\n    größe = größe + [1]\n"
    assert said(UnsupportedSyntaxError, source).splitlines()[1:3] == [
        "  3 | größe = größe + [1]",
        "    |                 ^^^",
    ]


def test_only_the_first_line_of_a_long_expression_is_shown() -> None:
    source = """
        @tb.kernel
        def k(kc: KernelContext):
            x = [1,
                 2]
    """
    assert said(UnsupportedSyntaxError, source).splitlines()[1:3] == [
        "  3 | x = [1,",
        "    |     ^^^",
    ]


def test_syntax_in_a_helper_is_refused_with_the_way_that_led_there() -> None:
    source = """
        @tb.func
        def inner(v: i32) -> i32:
            return [v]

        @tb.func
        def outer(v: i32) -> i32:
            return inner(v) + 1

        @tb.kernel
        def k(kc: KernelContext, a: S32Array):
            a.array[kc.x] = outer(kc.x)
    """
    assert said(UnsupportedSyntaxError, source) == (
        "app.py:3: a list has no meaning in a kernel\n"
        "  3 | return [v]\n"
        "    |        ^^^\n"
        "  in `inner`, called at app.py:7\n"
        "  in `outer`, called at app.py:11\n"
        "  help: pass a buffer"
    )


@pytest.mark.parametrize("kind", [UnsupportedSyntaxError, KernelTypeError])
def test_errors_are_also_the_builtins_that_they_resemble(kind: type[TrilbyError]) -> None:
    builtin = SyntaxError if kind is UnsupportedSyntaxError else TypeError
    bad = "x = [1]" if kind is UnsupportedSyntaxError else "x = kc + 1"
    error = error_of(kind, f"@tb.kernel\ndef k(kc: KernelContext):\n    {bad}\n")
    assert isinstance(error, builtin)

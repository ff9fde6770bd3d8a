"""Reading the call in a lambda that is never executed."""

# ruff: noqa: PLW0108 -- a lambda around one call is what is read here

import ast
import importlib
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from trilby.errors import ArgumentTypeError, KernelNameError, TrilbyError, UnsupportedSyntaxError
from trilby.reflect.capture import capture
from trilby.reflect.quote import quote, quoted_call, resolve


def entry(*_args: object, **_kwargs: object) -> None:
    pytest.fail("a quoted lambda is never executed")


def other(*_args: object, **_kwargs: object) -> None:
    pytest.fail("a quoted lambda is never executed")


class Holder:
    def __init__(self, value: object) -> None:
        self.value = value
        self.__hidden = value

    def quoted(self) -> object:
        return quote(lambda cc: entry(cc, self.__hidden, [__class__ for _ in range(1)])).args

    def method(self, *_args: object) -> None:
        pytest.fail("a quoted lambda is never executed")

    def __target(self, *_args: object) -> None:
        pytest.fail("a quoted lambda is never executed")

    def hidden_target(self) -> object:
        return quote(lambda cc: self.__target(cc)).target


Lambda: TypeAlias = Callable[[Any], object]

NUMBERS = [1, 2, 3]
NAMESPACE = types.SimpleNamespace(inner=types.SimpleNamespace(entry=entry))


# ---------------------------------------------------------------------------- what it gives


def test_target_and_arguments() -> None:
    numbers = [4]
    quoted = quote(lambda cc: entry(cc, numbers, NUMBERS, scale=2))
    assert quoted.target is entry
    assert quoted.args == (numbers, NUMBERS)
    assert quoted.args[0] is numbers
    assert quoted.kwargs == {"scale": 2}


def test_no_arguments() -> None:
    quoted = quote(lambda cc: entry(cc))
    assert (quoted.args, quoted.kwargs) == ((), {})


def test_location_is_that_of_the_call() -> None:
    quoted = quote(lambda cc: entry(cc, NUMBERS))
    line = Path(quoted.location.file).read_text().splitlines()[quoted.location.line - 1]
    assert line[quoted.location.column : quoted.location.end_column] == "entry(cc, NUMBERS)"
    assert quoted.location.file == __file__


def test_two_on_one_line() -> None:
    lambdas: list[Lambda] = [lambda cc: entry(cc, 1), lambda cc: other(cc, 2)]
    first, second = (quote(one) for one in lambdas)
    assert (first.target, first.args) == (entry, (1,))
    assert (second.target, second.args) == (other, (2,))


def test_dotted_targets() -> None:
    assert quote(lambda cc: NAMESPACE.inner.entry(cc)).target is entry
    assert quote(lambda cc: types.new_class(cc)).target is types.new_class


def test_method_of_an_object() -> None:
    holder = Holder(1)
    assert quote(lambda cc: holder.method(cc)).target == holder.method


def test_target_from_an_enclosing_function() -> None:
    def local(*_args: object) -> None:
        pytest.fail("a quoted lambda is never executed")

    assert quote(lambda cc: local(cc, 1)).target is local


def test_arguments_are_any_expression() -> None:
    table, n = {"a": [5, 6]}, 3
    quoted = quote(
        lambda cc: entry(
            cc,
            table["a"][1],
            n * 2 + 1,
            Holder(n).value,
            [k * n for k in range(n)],
            -n if n > 2 else n,
            sorted(NUMBERS, key=lambda x: -x * n),
            f"{n}",
            (m := n + 1) * m,
        )
    )
    assert quoted.args == (6, 7, 3, [0, 3, 6], -3, [3, 2, 1], "3", 16)


def test_stars() -> None:
    rest, options = (2, 3), {"b": 5}
    quoted = quote(lambda cc: entry(cc, 1, *rest, a=4, **options))
    assert (quoted.args, quoted.kwargs) == ((1, 2, 3), {"a": 4, "b": 5})


def test_values_are_those_of_the_moment() -> None:
    n = 1

    functions: list[Lambda] = [lambda cc: entry(cc, n)]
    n = 2
    assert quote(functions[0]).args == (2,)


def test_values_in_a_loop() -> None:
    assert [quote(lambda cc: entry(cc, n)).args for n in range(3)] == [(0,), (1,), (2,)]  # noqa: B023 -- used at once


def test_private_names_in_a_class() -> None:
    assert Holder(7).quoted() == (7, [Holder])
    assert callable(Holder(7).hidden_target())


def test_order_of_evaluation() -> None:
    seen: list[int] = []

    def note(value: int) -> int:
        seen.append(value)
        return value

    quote(lambda cc: entry(cc, note(1), *[note(2)], a=note(3)))
    assert seen == [1, 2, 3]


def test_lambda_inside_a_captured_function() -> None:
    def compute(cc: Any, n: int) -> None:
        passed: Lambda = lambda kc: entry(kc, n)  # noqa: E731 -- as in `cc.dispatch(n, lambda …)`
        cc.dispatch(n, passed)

    captured = capture(compute)
    node = next(part for part in ast.walk(captured.node) if isinstance(part, ast.Lambda))
    call = quoted_call(captured, node)
    assert resolve(captured, call.func) is entry


# --------------------------------------------------------------------------------- errors


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Lambda]]:
    """Makes a lambda of its text, in a module with a few names."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def make(text: str) -> Lambda:
        source = f"def entry(*_): ...\nn = 3\nimport types\nquoted = [\n    {text},\n]\n"
        (tmp_path / "given_lambda.py").write_text(source, encoding="utf-8")
        importlib.invalidate_caches()
        return importlib.import_module("given_lambda").quoted[0]

    yield make
    sys.modules.pop("given_lambda", None)


@pytest.mark.parametrize(
    ("text", "kind", "problem", "advice", "marked"),
    [
        ("lambda: entry()", UnsupportedSyntaxError, "this one has none", "directly",
         "lambda: entry()"),
        ("lambda cc, n=n: entry(cc, n)", UnsupportedSyntaxError, "this one has 2", "directly", "n"),
        ("lambda *cc: entry(*cc)", UnsupportedSyntaxError, "has one parameter", "directly", "cc"),
        ("lambda cc, *, k: entry(cc)", UnsupportedSyntaxError, "this one has 2", "directly", "k"),
        ("lambda cc, **k: entry(cc)", UnsupportedSyntaxError, "this one has 2", "directly", "k"),
        ("lambda cc: cc", UnsupportedSyntaxError, "one call", "function(cc, …)", "cc"),
        ("lambda cc: [entry(cc)]", UnsupportedSyntaxError, "one call", "function(cc, …)",
         "[entry(cc)]"),
        ("lambda cc: entry(n, cc)", UnsupportedSyntaxError, "first argument", "entry(cc, …)", "n"),
        ("lambda cc: entry()", UnsupportedSyntaxError, "first argument", "entry(cc, …)", "entry()"),
        ("lambda cc: entry(*cc)", UnsupportedSyntaxError, "first argument", "entry(cc, …)", "*cc"),
        ("lambda cc: entry(cc=cc)", UnsupportedSyntaxError, "first argument", "entry(cc, …)",
         "entry(cc=cc)"),
        ("lambda cc: entry(cc, [cc])", UnsupportedSyntaxError, "only as first", "move", "cc"),
        ("lambda cc: entry(cc, k=cc)", UnsupportedSyntaxError, "only as first", "move", "cc"),
        ("lambda cc: cc.run(cc, n)", UnsupportedSyntaxError, "only as first", "move", "cc"),
        ("lambda cc: entry(cc, (yield))", UnsupportedSyntaxError, "wait", "before", "yield"),
        ("lambda cc: [entry][0](cc)", UnsupportedSyntaxError, "does not name", "a name",
         "[entry][0]"),
        ("lambda cc: entry(1)(cc)", UnsupportedSyntaxError, "does not name", "a name", "entry(1)"),
        ("lambda cc: entri(cc)", KernelNameError, "`entri` is not defined", "spelling", "entri"),
        ("lambda cc: types.no.such(cc)", KernelNameError, "`types` has no attribute `no`",
         "spelling", "types.no"),
        ("lambda cc: n(cc)", ArgumentTypeError, "`n` is an int and not a function", "kernel", "n"),
    ],
)  # fmt: skip
def test_refused(
    given: Callable[[str], Lambda],
    text: str,
    kind: type[TrilbyError],
    problem: str,
    advice: str,
    marked: str,
) -> None:
    function = given(text)
    with pytest.raises(kind) as caught:
        quote(function)
    assert problem in caught.value.problem
    assert advice in caught.value.advice
    place = caught.value.location
    assert place is not None
    line = f"    {text},"
    assert line[place.column : place.end_column] == marked
    assert "^" * len(marked) in str(caught.value)


def test_target_without_a_value_yet() -> None:
    functions: list[Lambda] = [lambda cc: soon(cc)]
    with pytest.raises(KernelNameError, match="`soon` has no value yet"):
        quote(functions[0])
    soon = entry
    assert quote(functions[0]).target is soon


def test_def_is_not_a_lambda() -> None:
    def run(cc: object) -> None:
        entry(cc)

    with pytest.raises(ArgumentTypeError, match="`run` is a function of its own") as caught:
        quote(run)
    assert "accelerator.compute(run, args…)" in caught.value.advice


def test_exception_in_an_argument_shows_the_line() -> None:
    zero = 0
    with pytest.raises(ZeroDivisionError) as caught:
        quote(lambda cc: entry(cc, NUMBERS, 1 / zero))
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.name) == (__file__, "<lambda>")
    assert last.line == "quote(lambda cc: entry(cc, NUMBERS, 1 / zero))"
    assert caught.traceback[-1].frame.code.firstlineno + 1 == last.lineno  # counted from 0


def test_unknown_name_in_an_argument(given: Callable[[str], Lambda]) -> None:
    with pytest.raises(NameError, match="name 'unknown' is not defined") as caught:
        quote(given("lambda cc: entry(cc, unknown)"))
    assert traceback.extract_tb(caught.value.__traceback__)[-1].lineno == 5


def test_argument_given_twice(given: Callable[[str], Lambda]) -> None:
    with pytest.raises(TypeError, match="multiple values for keyword argument 'a'"):
        quote(given("lambda cc: entry(cc, a=1, **{'a': 2})"))


def test_tree_is_left_as_it_was() -> None:
    function: list[Lambda] = [lambda cc: entry(cc, NUMBERS)]
    assert quote(function[0]).args == quote(function[0]).args == (NUMBERS,)

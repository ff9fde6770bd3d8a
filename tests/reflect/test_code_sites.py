"""Finding the tree of a function: the table of hard cases, and what happens to code."""

import ast
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from tests.reflect.capture_cases import CASES, load, run, text_of

from trilby.errors import SourceError
from trilby.reflect.capture import capture


def text(function: object) -> str:
    return ast.unparse(capture(function).node)


# ------------------------------------------------------------------------------ the table


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    found, line = run(case, tmp_path)
    assert found == case.text
    assert case.line in {0, line}


@pytest.mark.parametrize("flags", [["-O"], ["-OO"], ["-X", "no_debug_ranges"]], ids=" ".join)
def test_cases_under_other_flags(flags: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, *flags, str(Path(__file__).with_name("capture_cases.py"))],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    report = json.loads(done.stdout)
    assert report == {"cases": len(CASES), "wrong": {}}


# ------------------------------------------------------------ modules rewritten by pytest


def checked(x: int) -> int:
    assert x > 0, "positive"
    return x + 1


class Checker:
    def method(self, values: list[int]) -> Callable[[], int]:
        assert all(value > 0 for value in values)

        def inner() -> int:
            assert values
            return len(values)

        return inner


def counting(limit: int) -> Iterator[int]:
    assert limit
    yield from range(limit)


def test_this_module_is_rewritten() -> None:
    assert "@pytest_ar" in globals()
    assert "AssertionError" in checked.__code__.co_names


def test_function_with_assert() -> None:
    captured = capture(checked)
    assert text_of(captured, captured.node).startswith("def checked(x: int) -> int:\n    assert x")


def test_method_and_inner_function_with_assert() -> None:
    assert text(Checker.method).startswith("def method(self, values")
    assert text(Checker().method([1])).endswith("assert values\n    return len(values)")


def test_generator_with_assert() -> None:
    assert text(counting).endswith("yield from range(limit)")


def test_lambdas_beside_assert() -> None:
    pair: list[Callable[[int], int]] = [lambda v: v + 1, lambda v: v + 2]
    assert pair[0](1) == 2
    assert text(pair[1]) == "lambda v: v + 2"


def test_edited_function_without_assert_in_a_rewritten_module(tmp_path: Path) -> None:
    module = load(tmp_path, "def f(x):\n    return x\n", "edited_rewritten")
    file = tmp_path / "edited_rewritten.py"
    vars(module)["@pytest_ar"] = None
    file.write_text("def f(x):\n    return x + 1\n", encoding="utf-8")
    with pytest.raises(SourceError, match="changed since"):
        capture(module.f)


def test_edited_names_beside_assert_in_a_rewritten_module(tmp_path: Path) -> None:
    module = load(tmp_path, "def f(x):\n    assert x\n    return one(x)\n", "edited_assert")
    file = tmp_path / "edited_assert.py"
    vars(module)["@pytest_ar"] = None
    file.write_text("def f(x):\n    assert x\n    return other(x)\n", encoding="utf-8")
    with pytest.raises(SourceError, match="changed since"):
        capture(module.f)


# ------------------------------------------------------------- what running does to code


def test_code_that_ran_often() -> None:
    def add(a: float, b: float) -> float:
        total = a + b
        for index in range(3):
            total += index
        return total

    for _ in range(1000):
        add(1, 2)
        add(1.0, 2.0)
    assert text(add).startswith("def add(a: float, b: float)")


def test_under_a_tracer() -> None:
    seen: list[str] = []

    def tracer(_frame: object, event: str, _arg: object) -> object:
        seen.append(event)
        return tracer

    functions: list[Callable[[int], int]] = [lambda v: v - 7]
    before = sys.gettrace()
    sys.settrace(cast("Any", tracer))
    try:
        functions[0](1)
        found = text(functions[0])
    finally:
        sys.settrace(before)
    assert found == "lambda v: v - 7"
    assert "line" in seen


def test_warnings_of_the_compiler_are_not_repeated(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = load(tmp_path, "f = lambda x: x is 1, '\\d'\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert text(module.f[0]) == "lambda x: x is 1"


# ------------------------------------------------------------------- equal on one line


def test_equal_lambdas_are_interchangeable(tmp_path: Path) -> None:
    module = load(tmp_path, "f, g = lambda v: v + 1, lambda v: v + 1\n", "twins")
    assert text(module.f) == text(module.g) == "lambda v: v + 1"


def test_equal_lambdas_in_different_functions_of_a_line(tmp_path: Path) -> None:
    source = "def f(g=lambda: k): return lambda: k\nk = 1\n"
    module = load(tmp_path, source, "twins_apart")
    default, made = (capture(one) for one in (module.f.__defaults__[0], module.f()))
    assert default.location(default.node).column == source.index("lambda")
    assert made.location(made.node).column == source.rindex("lambda")


def test_closures_of_one_lambda_keep_their_own_values() -> None:
    def scaled(scale: int) -> Callable[[], int]:
        return lambda: scale

    first, second = capture(scaled(3)), capture(scaled(4))
    assert (first.lookup("scale"), second.lookup("scale")) == (3, 4)
    assert first.node is second.node

"""Finding the tree of a function: the table of hard cases, and what needs a world around it."""

import __future__

import ast
import doctest
import functools
import importlib
import json
import linecache
import operator
import os
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, cast

import pytest
from tests.reflect.capture_cases import CASES, run, text_of

from trilby.errors import ArgumentTypeError, SourceError
from trilby.reflect.capture import MISSING, capture
from trilby.source import Location, excerpt

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def text(function: object) -> str:
    return ast.unparse(capture(function).node)


def importable(folder: Path, name: str, source: str) -> Path:
    file = folder / f"{name}.py"
    file.write_text(source, encoding="utf-8")
    return file


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An importable folder whose modules are forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    importlib.invalidate_caches()
    yield tmp_path
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) is not None:
            del sys.modules[name]


def program(*arguments: str, stdin: str = "") -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        input=stdin,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# ------------------------------------------------------------------------------ the table


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    found, line = run(case, tmp_path)
    assert found == case.text
    assert case.line in {0, line}


@pytest.mark.parametrize("flags", [["-O"], ["-OO"], ["-X", "no_debug_ranges"]], ids=" ".join)
def test_cases_under_other_flags(flags: list[str]) -> None:
    report = json.loads(program(*flags, str(Path(__file__).with_name("capture_cases.py"))))
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


def test_edited_function_without_assert_in_a_rewritten_module(folder: Path) -> None:
    file = importable(folder, "edited_rewritten", "def f(x):\n    return x\n")
    module = importlib.import_module("edited_rewritten")
    vars(module)["@pytest_ar"] = None
    file.write_text("def f(x):\n    return x + 1\n", encoding="utf-8")
    with pytest.raises(SourceError, match="changed since"):
        capture(module.f)


def test_edited_names_beside_assert_in_a_rewritten_module(folder: Path) -> None:
    file = importable(folder, "edited_assert", "def f(x):\n    assert x\n    return one(x)\n")
    module = importlib.import_module("edited_assert")
    vars(module)["@pytest_ar"] = None
    file.write_text("def f(x):\n    assert x\n    return other(x)\n", encoding="utf-8")
    with pytest.raises(SourceError, match="changed since"):
        capture(module.f)


# --------------------------------------------------------------------- where source lives


def test_source_registered_with_linecache() -> None:
    source = "fs = [lambda: 1, lambda: 2]\n"
    namespace: dict[str, Any] = {}
    linecache.cache["<made up>"] = (len(source), None, [source], "<made up>")
    exec(compile(source, "<made up>", "exec"), namespace)  # noqa: S102 -- what is tested
    assert text(namespace["fs"][1]) == "lambda: 2"


def test_cell_of_a_notebook() -> None:
    lines = ["import asyncio\n", "await asyncio.sleep(0)\n", "f, g = lambda: 1, lambda: 2\n"]
    name = "/tmp/ipykernel_1/123.py"  # noqa: S108 -- a name, no file
    linecache.cache[name] = (len("".join(lines)), None, lines, name)
    # a notebook compiles one statement after another
    last = ast.Interactive(ast.parse("".join(lines)).body[2:])
    namespace: dict[str, Any] = {}
    exec(compile(last, name, "single"), namespace)  # noqa: S102 -- what is tested
    captured = capture(namespace["g"])
    assert ast.unparse(captured.node) == "lambda: 2"
    assert captured.location(captured.node) == Location(name, 3, 18, 3, 27)


def test_future_of_the_code_that_called_compile() -> None:
    source = "def f():\n    def g(x: unknown): return x\n    return g\n"
    namespace: dict[str, Any] = {}
    lines = [f"{line}\n" for line in source.splitlines()]
    linecache.cache["<future>"] = (len(source), None, lines, "<future>")
    code = compile(source, "<future>", "exec", __future__.annotations.compiler_flag)
    exec(code, namespace)  # noqa: S102 -- what is tested
    assert text(namespace["f"]()) == "def g(x: unknown):\n    return x"
    assert text(namespace["f"]).startswith("def f():")


def test_module_in_a_zip_file(folder: Path) -> None:
    with zipfile.ZipFile(folder / "packed.zip", "w") as packed:
        packed.writestr("zipped.py", "f, g = lambda: 1, lambda: 2\n")
    sys.path.insert(0, str(folder / "packed.zip"))
    try:
        assert text(importlib.import_module("zipped").g) == "lambda: 2"
    finally:
        sys.path.remove(str(folder / "packed.zip"))


def test_doctest_of_capture() -> None:
    globs = {"capture": capture, "ast": ast}
    (test,) = doctest.DocTestFinder(recurse=False).find(capture, "capture", globs=globs)
    result = doctest.DocTestRunner().run(test)
    assert (result.attempted, result.failed) == (2, 0)


def test_script_that_changes_its_folder(tmp_path: Path) -> None:
    source = (
        "import ast, os\nfrom trilby.reflect.capture import capture\n"
        "os.chdir('/')\nprint(ast.unparse(capture(lambda: 5).node))\n"
    )
    (tmp_path / "script.py").write_text(source, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "lambda: 5\n"


PROGRAM = """
from trilby.reflect.capture import capture
try:
    capture({0})
except OSError as error:
    print(error)
"""


def test_no_source_on_the_command_line() -> None:
    said = program("-c", PROGRAM.format("lambda: 5"))
    # from 3.13 on Python itself remembers what it was given
    assert "accelerator.compute(function, args…)" in said or sys.version_info >= (3, 13)


def test_no_source_of_a_function_from_exec() -> None:
    namespace: dict[str, Any] = {}
    exec("def f(): return 1", namespace)  # noqa: S102 -- what is tested
    with pytest.raises(SourceError, match="`f` has no source") as caught:
        capture(namespace["f"])
    assert "file or in a notebook" in caught.value.advice


def test_no_source_where_only_bytecode_is_left(folder: Path) -> None:
    file = importable(folder, "bytecode_only", "f = lambda: 1\n")
    module = importlib.import_module("bytecode_only")
    file.unlink()
    with pytest.raises(SourceError, match="the lambda has no source"):
        capture(module.f)


# ------------------------------------------------------------------------------- changes


BEFORE = "def f(x):\n    return x + 1\n\ng = lambda x: x * 2\n"


@pytest.mark.parametrize(
    "after",
    [
        BEFORE.replace("x + 1", "x + 2"),
        BEFORE.replace("x + 1", "x + 1.0"),
        BEFORE.replace("f(x)", "f(x, y)"),
        BEFORE.replace("f(x)", "f(x, /)"),
        BEFORE.replace("def f", "def h"),
        "# a new line\n" + BEFORE,
        "def f(x:\n",
        "def f(x):\n\0",
        "x = 1\n",
    ],
    ids=["constant", "type", "argument", "slash", "name", "line", "syntax", "null", "gone"],
)
def test_function_edited_since_import(folder: Path, after: str) -> None:
    file = importable(folder, "edited", BEFORE)
    module = importlib.import_module("edited")
    file.write_text(after, encoding="utf-8")
    with pytest.raises(SourceError) as caught:
        capture(module.f)
    assert "`f` is not what stands here: the file changed since it was imported" in str(
        caught.value
    )
    assert caught.value.location == Location(str(file), 1)
    assert "reload" in caught.value.advice


def test_unedited_function_in_an_edited_file(folder: Path) -> None:
    file = importable(folder, "edited_elsewhere", BEFORE)
    module = importlib.import_module("edited_elsewhere")
    file.write_text(BEFORE.replace("x + 1", "x + 2"), encoding="utf-8")
    assert text(module.g) == "lambda x: x * 2"


def test_text_read_before_the_edit_still_serves(folder: Path) -> None:
    file = importable(folder, "edited_later", BEFORE)
    module = importlib.import_module("edited_later")
    capture(module.g)
    file.write_text("x = 1\n", encoding="utf-8")
    assert text(module.f) == "def f(x):\n    return x + 1"


def test_module_edited_and_reloaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = importable(folder, "reloaded", BEFORE)
    module = importlib.import_module("reloaded")
    assert text(module.f).endswith("x + 1")
    file.write_text(BEFORE.replace("x + 1", "x + 1000"), encoding="utf-8")
    importlib.invalidate_caches()
    assert text(importlib.reload(module).f).endswith("x + 1000")


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


def test_warnings_of_the_compiler_are_not_repeated(folder: Path) -> None:
    importable(folder, "warned", "f = lambda x: x is 1, '\\d'\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = importlib.import_module("warned")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert text(module.f[0]) == "lambda x: x is 1"


# ------------------------------------------------------------------- equal on one line


def test_equal_lambdas_are_interchangeable(folder: Path) -> None:
    importable(folder, "twins", "f, g = lambda v: v + 1, lambda v: v + 1\n")
    module = importlib.import_module("twins")
    assert text(module.f) == text(module.g) == "lambda v: v + 1"


def test_equal_lambdas_in_different_functions_of_a_line(folder: Path) -> None:
    source = "def f(g=lambda: k): return lambda: k\nk = 1\n"
    importable(folder, "twins_apart", source)
    module = importlib.import_module("twins_apart")
    default, made = (capture(one) for one in (module.f.__defaults__[0], module.f()))
    assert default.location(default.node).column == source.index("lambda")
    assert made.location(made.node).column == source.rindex("lambda")


def test_closures_of_one_lambda_keep_their_own_values() -> None:
    def scaled(scale: int) -> Callable[[], int]:
        return lambda: scale

    first, second = capture(scaled(3)), capture(scaled(4))
    assert (first.lookup("scale"), second.lookup("scale")) == (3, 4)
    assert first.node is second.node


# --------------------------------------------------------------------------------- names


NAMES = """
shadowed = "module"
abs = "module's own"
_C__secret = "mangled"

def make(shadowed):
    def inner():
        return shadowed, later, abs, len, nothing
    captured = inner
    if False:
        later = 1
    return captured

class C:
    def method(self):
        return __secret, self.__other
class __:
    def method(self):
        return __secret
"""


@pytest.fixture
def names(folder: Path) -> ModuleType:
    importable(folder, "names_of", NAMES)
    return importlib.import_module("names_of")


def test_lookup_in_python_order(names: ModuleType) -> None:
    captured = capture(names.make("closure"))
    assert captured.lookup("shadowed") == "closure"
    assert captured.lookup("abs") == "module's own"
    assert captured.lookup("len") is len
    assert captured.lookup("nothing") is MISSING
    assert captured.is_closure("shadowed")
    assert not captured.is_closure("abs")


def test_lookup_of_a_variable_without_value(names: ModuleType) -> None:
    captured = capture(names.make(1))
    assert captured.lookup("later") is MISSING
    assert captured.is_closure("later")


def test_lookup_follows_a_closure(names: ModuleType) -> None:
    function = cast("FunctionType", names.make("before"))
    captured = capture(function)
    cells = function.__closure__ or ()
    cells[function.__code__.co_freevars.index("shadowed")].cell_contents = "after"
    assert captured.lookup("shadowed") == "after"


def test_private_names(names: ModuleType) -> None:
    captured = capture(names.C.method)
    assert captured.class_name == "C"
    assert captured.lookup("__secret") == "mangled"
    assert captured.mangled("__other") == "_C__other"
    assert captured.mangled("__init__") == "__init__"
    assert capture(names.__.method).mangled("__secret") == "__secret"


# ------------------------------------------------------------------------------ locations


def test_columns_count_characters(folder: Path) -> None:
    source = "größe = 'äöü😀'; f = lambda x, *, y: 'ß' + x + y if x else y\n"
    importable(folder, "letters", source)
    captured = capture(importlib.import_module("letters").f)
    assert isinstance(captured.node, ast.Lambda)
    body = captured.node.body
    assert text_of(captured, body) == "'ß' + x + y if x else y"
    assert captured.location(captured.node.args.kwonlyargs[0]).column == source.index("y:")
    caret = excerpt(captured.location(captured.node)).splitlines()
    assert caret[1].index("^") - caret[0].index("lambda") == 0


def test_place_of_a_node_that_has_none() -> None:
    captured = capture(checked)
    assert isinstance(captured.node, ast.FunctionDef)
    assert captured.location(captured.node.args).line == captured.node.lineno
    plus = next(node for node in ast.walk(captured.node) if isinstance(node, ast.Add))
    assert captured.location(plus) == captured.location(captured.node)


def test_repr_names_the_place() -> None:
    assert repr(capture(checked)) == (
        f"<captured checked at {__file__}:{checked.__code__.co_firstlineno}>"
    )


# ------------------------------------------------------------------------------- refusals


class Callee:
    def __call__(self) -> int:
        return 1

    def method(self) -> int:
        return 2


@pytest.mark.parametrize(
    ("thing", "what", "advice"),
    [
        (len, "`len`, which is not written in Python", "write a function in Python"),
        (operator.add, "`add`, which is not written in Python", "write a function in Python"),
        (functools.partial(checked, 1), "a functools.partial", "accelerator.compute(f, args…)"),
        (Callee, "the class `Callee`", "give a function"),
        (Callee(), "an object of the class `Callee`", "`def` or `lambda`"),
        (Callee().method, "`method`, a method bound to an object", "as arguments"),
        (staticmethod(checked), "a staticmethod", "below `@staticmethod`"),
        (functools.lru_cache(checked), "behind a decorator", "remove the decorator"),
        (3, "an object of the class `int`", "`def` or `lambda`"),
    ],
)
def test_refused(thing: object, what: str, advice: str) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        capture(thing)
    assert what in caught.value.problem
    assert advice in caught.value.advice


def test_tree_is_made_once() -> None:
    assert capture(checked).node is capture(checked).node

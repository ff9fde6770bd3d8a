"""Where source is found and what happens when it is not; names, places and refusals."""

import __future__

import ast
import doctest
import functools
import importlib
import inspect
import linecache
import operator
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, cast

import pytest
from tests.reflect.capture_cases import load, text_of

from trilby.errors import ArgumentTypeError, SourceError
from trilby.reflect.capture import MISSING, capture
from trilby.source import Location, excerpt

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def plain(x: int) -> int:
    return x + 1


def text(function: object) -> str:
    return ast.unparse(capture(function).node)


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


@pytest.mark.parametrize("mode", ["exec", "single"])
def test_cell_whose_statements_are_compiled_one_by_one(mode: str) -> None:
    source = (
        "import math; f = lambda x: math.sqrt(x)\n"
        "def g(x):\n    return math.sqrt(x) + [math.floor(v) for v in x][0]\n"
        "class C:\n    h = (lambda x: math.sin(x), lambda x: math.cos(x))\n"
        "from __future__ import annotations\n"
        "x = 1\nglobal x\n"  # not allowed in one module, and fine in two statements
    )
    name = f"<cell to {mode}>"
    lines: list[str] = [f"{line}\n" for line in source.splitlines()]
    linecache.cache[name] = (len(source), None, lines, name)
    namespace: dict[str, Any] = {}
    for statement in ast.parse(source).body:
        tree = ast.Module([statement], []) if mode == "exec" else ast.Interactive([statement])
        exec(compile(tree, name, mode), namespace)  # noqa: S102 -- what is tested
    assert text(namespace["f"]) == "lambda x: math.sqrt(x)"
    assert text(namespace["g"]).startswith("def g(x):")
    assert text(namespace["C"].h[1]) == "lambda x: math.cos(x)"


def test_future_of_the_code_that_called_compile() -> None:
    source = "def f():\n    def g(x: unknown): return x\n    return g\n"
    namespace: dict[str, Any] = {}
    lines = [f"{line}\n" for line in source.splitlines()]
    linecache.cache["<future>"] = (len(source), None, lines, "<future>")
    code = compile(source, "<future>", "exec", __future__.annotations.compiler_flag)
    exec(code, namespace)  # noqa: S102 -- what is tested
    assert text(namespace["f"]()) == "def g(x: unknown):\n    return x"
    assert text(namespace["f"]).startswith("def f():")


def test_module_in_a_zip_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
        packed.writestr("zipped.py", "f, g = lambda: 1, lambda: 2\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "packed.zip"), *sys.path])
    module = importlib.import_module("zipped")
    del sys.modules["zipped"]
    assert text(module.g) == "lambda: 2"


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


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="Python itself may remember it")
def test_no_source_on_the_command_line() -> None:
    source = PROGRAM.format("lambda: 5")
    for said in (program("-c", source), program("-", stdin=source)):
        assert "the lambda has no source that can be read" in said
        assert "help: name the function" in said
        assert "accelerator.compute(function, args…)" in said


def test_no_source_of_exec_on_the_command_line() -> None:
    made = "exec('made = lambda: 5')\n" + PROGRAM.format("made")
    assert "the lambda has no source that can be read" in program("-c", made)


@pytest.mark.skipif(sys.version_info < (3, 13), reason="Python does not remember it")
@pytest.mark.parametrize("flags", [["-c"], ["-X", "no_debug_ranges", "-c"]], ids=" ".join)
def test_source_on_the_command_line(flags: list[str]) -> None:
    source = "import ast, math\nfrom trilby.reflect.capture import capture\n"
    shown = "print(ast.unparse(capture([lambda x: x, lambda x: math.sqrt(x)][1]).node))"
    assert program(*flags, source + shown).strip() == "lambda x: math.sqrt(x)"


def test_doctest_with_an_import() -> None:
    text = ">>> import math\n>>> f = lambda x: math.sqrt(x)\n>>> ast.unparse(capture(f).node)\n"
    names = {"capture": capture, "ast": ast}
    test = doctest.DocTestParser().get_doctest(
        text + "'lambda x: math.sqrt(x)'\n", names, "sample", None, 0
    )
    result = doctest.DocTestRunner().run(test)
    assert (result.attempted, result.failed) == (3, 0)


def test_source_that_only_inspect_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "f, g = lambda: 1, lambda: 2\n"
    namespace: dict[str, Any] = {}
    exec(compile(source, "<elsewhere>", "exec"), namespace)  # noqa: S102 -- what is tested

    def findsource(_thing: object) -> tuple[list[str], int]:
        return [source], 0

    monkeypatch.setattr(inspect, "findsource", findsource)
    assert text(namespace["g"]) == "lambda: 2"


def test_no_source_of_a_function_from_exec() -> None:
    namespace: dict[str, Any] = {}
    exec("def f(): return 1", namespace)  # noqa: S102 -- what is tested
    with pytest.raises(SourceError, match="`f` has no source") as caught:
        capture(namespace["f"])
    assert "file, or in a notebook's cell" in caught.value.advice


def test_no_source_where_only_bytecode_is_left(tmp_path: Path) -> None:
    module = load(tmp_path, "f = lambda: 1\n", "bytecode_only")
    file = tmp_path / "bytecode_only.py"
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
def test_function_edited_since_import(tmp_path: Path, after: str) -> None:
    module = load(tmp_path, BEFORE, "edited")
    file = tmp_path / "edited.py"
    file.write_text(after, encoding="utf-8")
    with pytest.raises(SourceError) as caught:
        capture(module.f)
    assert "`f` is not what stands here: the file changed since it was imported" in str(
        caught.value
    )
    assert caught.value.location == Location(str(file), 1)
    assert "reload" in caught.value.advice


def test_unedited_function_in_an_edited_file(tmp_path: Path) -> None:
    module = load(tmp_path, BEFORE, "edited_elsewhere")
    file = tmp_path / "edited_elsewhere.py"
    file.write_text(BEFORE.replace("x + 1", "x + 2"), encoding="utf-8")
    assert text(module.g) == "lambda x: x * 2"


def test_text_read_before_the_edit_still_serves(tmp_path: Path) -> None:
    module = load(tmp_path, BEFORE, "edited_later")
    file = tmp_path / "edited_later.py"
    capture(module.g)
    file.write_text("x = 1\n", encoding="utf-8")
    assert text(module.f) == "def f(x):\n    return x + 1"


def test_module_edited_and_loaded_again(tmp_path: Path) -> None:
    assert text(load(tmp_path, BEFORE).f).endswith("x + 1")
    after = load(tmp_path, BEFORE.replace("x + 1", "x + 1000"))
    assert text(after.f).endswith("x + 1000")


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
def names(tmp_path: Path) -> ModuleType:
    return load(tmp_path, NAMES)


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


def test_columns_count_characters(tmp_path: Path) -> None:
    source = "größe = 'äöü😀'; f = lambda x, *, y: 'ß' + x + y if x else y\n"
    captured = capture(load(tmp_path, source).f)
    assert isinstance(captured.node, ast.Lambda)
    body = captured.node.body
    assert text_of(captured, body) == "'ß' + x + y if x else y"
    assert captured.location(captured.node.args.kwonlyargs[0]).column == source.index("y:")
    caret = excerpt(captured.location(captured.node)).splitlines()
    assert caret[1].index("^") - caret[0].index("lambda") == 0


def test_place_of_a_node_that_has_none() -> None:
    captured = capture(plain)
    assert isinstance(captured.node, ast.FunctionDef)
    assert captured.location(captured.node.args).line == captured.node.lineno
    plus = next(node for node in ast.walk(captured.node) if isinstance(node, ast.Add))
    assert captured.location(plus) == captured.location(captured.node)


def test_repr_names_the_place() -> None:
    assert repr(capture(plain)) == (
        f"<captured plain at {__file__}:{plain.__code__.co_firstlineno}>"
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
        (functools.partial(plain, 1), "a functools.partial", "accelerator.compute(f, args…)"),
        (Callee, "the class `Callee`", "give a function"),
        (Callee(), "an object of the class `Callee`", "`def` or `lambda`"),
        (Callee().method, "`method`, a method bound to an object", "as arguments"),
        (staticmethod(plain), "a staticmethod", "below `@staticmethod`"),
        (functools.lru_cache(plain), "behind a decorator", "remove the decorator"),
        (3, "an object of the class `int`", "`def` or `lambda`"),
    ],
)
def test_refused(thing: object, what: str, advice: str) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        capture(thing)
    assert what in caught.value.problem
    assert advice in caught.value.advice


def test_tree_is_made_once() -> None:
    assert capture(plain).node is capture(plain).node

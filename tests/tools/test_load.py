"""Functions that are named as `FILE:FUNCTION`."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from trilby.errors import ArgumentValueError, SourceError
from trilby.reflect.functions import Compute, Helper, Kernel
from trilby.tools.load import load_function, load_module, load_transform

MODULE = """
import trilby as tb
from beside import STEP
from trilby import KernelContext, S32Array, i32

@tb.func
def helper(v: i32) -> i32:
    return v + STEP

@tb.kernel
def kernel(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = helper(a.array[kc.x])

@tb.compute
def compute(cc, a):
    cc.dispatch(a.length, kernel, a)

class Place:
    @staticmethod
    @tb.kernel
    def inner(kc: KernelContext, a: S32Array) -> None:
        a.array[kc.x] = 1

def plain():
    pass
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A program with a module beside it; what it does to Python is undone."""
    path = tmp_path / "app.py"
    path.write_text(MODULE, "utf-8")
    (tmp_path / "beside.py").write_text("STEP = 3\n", "utf-8")
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield path
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("helper", Helper), ("kernel", Kernel), ("compute", Compute), ("Place.inner", Kernel)],
)
def test_functions_of_every_kind(name: str, kind: type, file: Path) -> None:
    found = load_function(f"{file}:{name}")
    assert isinstance(found, kind)
    assert found.symbol == f"app.{name}"


@pytest.mark.parametrize("name", ["plain", "tb", "STEP", "nothing", "Place", "Place.nothing", "."])
def test_what_is_no_function(name: str, file: Path) -> None:
    with pytest.raises(ArgumentValueError) as caught:
        load_function(f"{file}:{name}")
    assert caught.value.problem == (
        f"`{file}` has no kernel, func or compute function called `{name}`"
    )
    assert "it has helper, kernel, compute, Place.inner; write FILE:FUNCTION" in caught.value.advice


def test_a_close_name_is_offered(file: Path) -> None:
    with pytest.raises(ArgumentValueError) as caught:
        load_function(f"{file}:Place.iner")
    assert caught.value.advice.startswith("did you mean `Place.inner`? ")


def test_a_file_without_functions(tmp_path: Path) -> None:
    empty = tmp_path / "empty_program.py"
    empty.write_text("", "utf-8")
    with pytest.raises(ArgumentValueError) as caught:
        load_function(f"{empty}:k")
    assert caught.value.advice == "it has none; write FILE:FUNCTION"


def test_what_is_no_file(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("hello", "utf-8")
    with pytest.raises(ArgumentValueError, match="is not a Python file"):
        load_function(f"{text}:k")
    with pytest.raises(ArgumentValueError, match="there is no file"):
        load_function(f"{tmp_path}:k")
    with pytest.raises(ArgumentValueError, match="there is no file"):
        load_function("")


def test_the_name_of_another_module_is_not_taken(file: Path) -> None:
    import json  # noqa: PLC0415 -- the module that must stay what it is

    program = file.with_name("json.py")
    program.write_text(MODULE, "utf-8")
    found = load_function(f"{program}:kernel")
    assert found.symbol == "json_.kernel"
    assert sys.modules["json"] is json


def test_a_file_can_be_loaded_again(file: Path) -> None:
    first = load_module(file)
    file.write_text(MODULE.replace("STEP\n\n", "STEP + 1\n\n"), "utf-8")
    second = load_module(file)
    assert first.__name__ == second.__name__ == "app"
    assert (first.helper(1), second.helper(1)) == (4, 5)
    assert sys.modules["app"] is second


def test_a_file_that_fails_leaves_no_module(file: Path) -> None:
    program = file.with_name("fails_at_once.py")
    program.write_text("import beside\nbeside.nothing\n", "utf-8")
    with pytest.raises(SourceError, match="AttributeError: module 'beside' has no") as caught:
        load_module(program)
    assert caught.value.location is not None
    assert (caught.value.location.file, caught.value.location.line) == (str(program), 2)
    assert "fails_at_once" not in sys.modules


def test_an_error_deeper_down_is_shown_where_the_file_leads_to_it(file: Path) -> None:
    program = file.with_name("calls_json.py")
    program.write_text("import json\n\njson.loads('{')\n", "utf-8")
    with pytest.raises(SourceError, match="JSONDecodeError") as caught:
        load_module(program)
    assert caught.value.location is not None
    assert caught.value.location.line == 3


def test_a_transform_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "changes.py"
    path.write_text(
        "from trilby.model.rewrite import transform\n\n\n"
        '@transform("kernel")\ndef same(func):\n    return func\n',
        "utf-8",
    )
    assert load_transform(f"{path}:same").name == "same"
    with pytest.raises(ArgumentValueError, match="has no transform called `other`"):
        load_transform(f"{path}:other")

"""Compute models compiled back to Python do what the original functions do."""

import contextlib
import importlib.util
import io
import re
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings

from tests.codegen.compute_programs import PREAMBLE, PROGRAMS
from tests.codegen.compute_recorder import Recorder
from tests.codegen.random_programs import programs
from trilby.codegen.python import compile_compute
from trilby.errors import UnsupportedSyntaxError
from trilby.model.op import Func, Op
from trilby.model.ops.host import HostRun
from trilby.model.parse import named_types, parse
from trilby.model.rewrite import Rewriter, rewrite
from trilby.model.text import to_text
from trilby.model.verify import verify
from trilby.reflect.functions import Compute
from trilby.reflect.host import reflect_compute


def load(folder: Path, text: str) -> ModuleType:
    """A module of its own for each run: programs change their globals."""
    file = folder / "program.py"
    file.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("program", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def original(function: Compute[..., Any]) -> FunctionType:
    return function.function


def compiled(
    function: Compute[..., Any], change: Callable[[Func], Func] = lambda func: func
) -> FunctionType:
    reflected = reflect_compute(function)
    func = change(reflected.func)
    verify(func)
    objects = {**reflected.kernels, **reflected.callees}
    return compile_compute(func, function.function, objects, reflected.captured.class_name)


def interrupted(func: Func) -> Func:
    """The model with something between all ops, so that no value is used at once."""

    def visit(op: Op, out: Rewriter) -> None:
        out.run(HostRun, "pass", (), ())
        out.emit(op)

    return rewrite(func, visit)


def read_back(func: Func) -> Func:
    return parse(to_text(func, locations=True), named_types(func))


WAYS: dict[str, Callable[[Compute[..., Any]], FunctionType]] = {
    "as reflected": compiled,
    "interrupted": lambda function: compiled(function, interrupted),
    "from its text": lambda function: compiled(function, read_back),
}


def outcome(module: ModuleType, way: Callable[[Compute[..., Any]], FunctionType]) -> list[str]:
    """Everything that can be seen of a run, as text without addresses."""
    found = module.f
    compute: Compute[..., Any] = found if isinstance(found, Compute) else Compute(found, {})
    run = way(compute)
    context: Any = getattr(module, "context", Recorder)()
    args: tuple[Any, ...] = module.args()
    kwargs: dict[str, Any] = getattr(module, "kwargs", dict)()
    module.seen.clear()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            result: object = ("returned", run(context, *args, **kwargs))
        except Exception as error:  # noqa: BLE001 -- whatever a program raises is compared
            result = ("raised", *described(error, module))
    after = getattr(module, "after", lambda: None)()
    state = [_content(argument) for argument in args]
    seen = [result, context.calls, module.seen, state, printed.getvalue(), after, module.counter]
    return [re.sub(r"0x[0-9a-f]+", "0x", repr(one)) for one in seen]


def described(error: BaseException, module: ModuleType) -> tuple[object, ...]:
    """An error and the lines of the program that it passed.

    Trilby takes the lambdas of launches away, so their frames are not compared, nor whether a
    variable without a value is one of the function itself or of the one around.
    """
    steps = traceback.extract_tb(error.__traceback__)
    own = [step for step in steps if step.filename == module.__file__]
    lines = [step.lineno for step in own]
    if not any(step.name == "<lambda>" for step in own):
        return type(error), str(error), lines
    name = getattr(error, "name", None) or re.findall(r"variable '(\w+)'", str(error))
    return (NameError, name, lines[-1]) if isinstance(error, NameError) else (str(error), lines[-1])


def _content(argument: object) -> object:
    return getattr(argument, "tolist", lambda: getattr(argument, "array", argument))()


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("way", WAYS)
def test_a_program_runs_as_it_is_written(way: str, name: str, tmp_path: Path) -> None:
    text = PREAMBLE + PROGRAMS[name]
    wanted = outcome(load(tmp_path, text), original)
    assert outcome(load(tmp_path, text), WAYS[way]) == wanted


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(text=programs())
def test_a_random_program_runs_as_it_is_written(text: str) -> None:
    whole = PREAMBLE + text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(whole, "program", "exec")
    except SyntaxError:
        reject()
    with tempfile.TemporaryDirectory() as folder:
        wanted = outcome(load(Path(folder), whole), original)
        for way in WAYS.values():
            try:
                assert outcome(load(Path(folder), whole), way) == wanted
            except UnsupportedSyntaxError:  # `:=` in a lambda that is never executed
                reject()

"""Running a compute function as it is written, and in all the ways that Trilby makes of it."""

import contextlib
import importlib.util
import io
import re
import traceback
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, cast

from tests.codegen.compute_recorder import Recorder
from tests.codegen.compute_recorder import compute as as_compute

from trilby.codegen.python import compile_compute
from trilby.model.host_code import HostCode
from trilby.model.op import Func, Op
from trilby.model.ops.host import HostRun
from trilby.model.parse import named_types, parse
from trilby.model.rewrite import Rewriter, rewrite
from trilby.model.text import to_text
from trilby.model.verify import verify
from trilby.reflect.functions import Compute
from trilby.reflect.host_functions import reflect_compute


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
        out.run(HostRun, HostCode("pass"), (), ())
        out.emit(op)

    return rewrite(func, visit)


def interrupted_at_times(func: Func) -> Func:
    """The model with something before every third op."""
    number = 0

    def visit(op: Op, out: Rewriter) -> None:
        nonlocal number
        number += 1
        if number % 3 == 0:
            out.run(HostRun, HostCode("pass"), (), ())
        out.emit(op)

    return rewrite(func, visit)


def read_back(func: Func) -> Func:
    return parse(to_text(func, locations=True), named_types(func))


WAYS: dict[str, Callable[[Compute[..., Any]], FunctionType]] = {
    "as reflected": compiled,
    "interrupted": lambda function: compiled(function, interrupted),
    "interrupted at times": lambda function: compiled(function, interrupted_at_times),
    "from its text": lambda function: compiled(function, read_back),
}


def outcome(module: ModuleType, way: Callable[[Compute[..., Any]], FunctionType]) -> list[str]:
    """Everything that can be seen of a run, as text without addresses."""
    found = module.f
    compute = cast("Compute[..., Any]", found if isinstance(found, Compute) else as_compute(found))
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

    Trilby takes the lambdas of launches away: what fails in one fails in the line of the same
    expression, and a variable without a value is the function's own, not one around.
    """
    steps = traceback.extract_tb(error.__traceback__)
    own = [step for step in steps if step.filename == module.__file__]
    inner = [step.name == "<lambda>" for step in own[1:]]
    lines = [step.lineno for step, enters in zip_longest(own, inner) if not enters]
    if not isinstance(error, NameError):
        return type(error), str(error), lines
    return NameError, re.findall(r"'(\w+)'", str(error)), lines


def _content(argument: object) -> object:
    return getattr(argument, "tolist", lambda: getattr(argument, "array", argument))()

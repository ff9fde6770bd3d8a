"""Compute models compiled back to Python do what the original functions do."""

import ast
import dis
import re
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from types import FunctionType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from tests.codegen.compute_programs import PREAMBLE, PROGRAMS
from tests.codegen.compute_recorder import Recorder
from tests.codegen.compute_recorder import compute as as_compute
from tests.codegen.compute_running import WAYS, compiled, load, original, outcome, read_back
from tests.codegen.random_programs import programs
from tests.reflect import host_samples as samples

from trilby.codegen.python import compile_compute, to_python
from trilby.codegen.python_blocks import EMITTED
from trilby.data.dtypes import I32
from trilby.data.library import S32Array
from trilby.data.library_2d import S32Array2D
from trilby.errors import ModelError, UnsupportedSyntaxError
from trilby.model.host_code import HostCode
from trilby.model.op import Block, Func, Op, roles
from trilby.model.ops import OPS
from trilby.model.ops.core import Var, VarStore, Yield
from trilby.model.ops.host import HostValue
from trilby.model.ops.memory import Load, Store
from trilby.model.parse import parse
from trilby.model.rewrite import Rewriter, rewrite
from trilby.model.value import NONE, Value
from trilby.model.verify import verify
from trilby.reflect.functions import Compute
from trilby.reflect.host_functions import reflect_compute


def function_of(folder: Path, program: str) -> FunctionType:
    return load(folder, PREAMBLE + program).f


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("way", WAYS)
def test_a_program_runs_as_it_is_written(way: str, name: str, tmp_path: Path) -> None:
    text = PREAMBLE + PROGRAMS[name]
    wanted = outcome(load(tmp_path, text), original)
    assert outcome(load(tmp_path, text), WAYS[way]) == wanted


@settings(
    max_examples=20, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
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
            except UnsupportedSyntaxError:  # odd things in a lambda that is never executed
                reject()


def test_the_lines_of_errors_are_shown_from_the_file(tmp_path: Path) -> None:
    module = load(tmp_path, PREAMBLE + PROGRAMS["an error in the middle of a long expression"])
    with pytest.raises(ZeroDivisionError) as caught:
        compiled(as_compute(module.f))(Recorder(), *module.args())
    text = "".join(traceback.format_exception(caught.value))
    assert f'File "{module.__file__}"' in text
    assert "    a.array[1]\n" in text


def test_a_name_without_a_value_is_an_unbound_local(tmp_path: Path) -> None:
    module = load(tmp_path, PREAMBLE + PROGRAMS["a bare unbound name"])
    with pytest.raises(UnboundLocalError, match="'x'"):
        compiled(as_compute(module.f))(Recorder(), *module.args())


# ---------------------------------------------------------------------------------- the text

TEXTS: dict[str, tuple[Compute[..., Any], str]] = {
    "squares": (
        samples.square_all,
        """
        def square_all(cc, s32):
            cc.dispatch(s32.length, square_kernel, s32)
        """,
    ),
    "flipping": (
        samples.life_by_flipping,
        """
        def life_by_flipping(cc, s1, generations, display):
            s2 = S32Array.create(length=s1.length)
            for generation in range(generations):
                source = s1 if generation % 2 == 0 else s2
                to = s2 if generation % 2 == 0 else s1
                cc.dispatch(s1.length, life_kernel, source, to)
                display(to)
        """,
    ),
    "swapping": (
        samples.life_by_swapping,
        """
        def life_by_swapping(cc, s1, s2):
            cc.dispatch(s1.length, life_kernel, s1, s2)
            s1, s2 = (s2, s1)
            cc.dispatch(s1.length, life_kernel, s1, s2)
        """,
    ),
    "text among ops": (
        samples.outer,
        """
        def outer(cc, s32, f, x):
            square_all(cc, s32)
            try:
                cc.dispatch(x.shape, Kernels.inner, s32)
            finally:
                f.array[:] = 0.0
            return x[0, 1] + x.shape[0]
        """,
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_for_people(name: str) -> None:
    function, text = TEXTS[name]
    func = reflect_compute(function).func
    assert to_python(func) == dedent(text).strip()
    assert to_python(read_back(func)) == dedent(text).strip()


@pytest.mark.parametrize(
    "name", ["if, elif and else", "for with all its parts", "exceptions", "match", "walrus"]
)
def test_a_program_gives_its_own_text_back(name: str, tmp_path: Path) -> None:
    module = load(tmp_path, PREAMBLE + PROGRAMS[name])
    (written,) = (n for n in ast.parse(PROGRAMS[name]).body if isinstance(n, ast.FunctionDef))
    for argument in written.args.args:
        argument.annotation = None
    func = reflect_compute(as_compute(module.f)).func
    assert to_python(func) == ast.unparse(written)


# ---------------------------------------------------------------------------- changed models


class Tracking(Recorder):
    """A context that is told of accesses, as `inject_tracking` would have it."""

    def __getattr__(self, name: str) -> Callable[[object], None]:
        return lambda buffer: self.calls.append((name, type(buffer).__name__))


def tracked(func: Func) -> Func:
    """Calls before and after each access of the host to a buffer, as in HAT's documents."""
    context = func.params[0]

    def visit(op: Op, out: Rewriter) -> None:
        if not isinstance(op, Load | Store):
            out.emit(op)
            return
        what = "access" if isinstance(op, Load) else "mutate"
        out.run(HostValue, (context, op.base), HostCode(f"{{0}}.pre_{what}({{1}})", 2), ())
        out.emit(op)
        out.run(HostValue, (context, op.base), HostCode(f"{{0}}.post_{what}({{1}})", 2), ())

    return rewrite(func, visit)


TRACKED_MANDEL = """
def mandel(cc, image, x, y, scale):
    scale = scale * 2
    cc.pre_access(image)
    _v0 = image.array[10, 10]
    cc.post_access(image)
    i = _v0
    cc.pre_mutate(image)
    image.array[10, 10] = i
    cc.post_mutate(image)
    cc.pre_access(image)
    _v1 = image.width
    cc.post_access(image)
    cc.pre_access(image)
    _v2 = image.height
    cc.post_access(image)
    cc.dispatch((_v1, _v2), mandel_kernel, image, x, y, scale)
"""


def test_a_rewritten_model_runs_rewritten() -> None:
    reflected = reflect_compute(samples.mandel)
    func = tracked(reflected.func)
    verify(func)
    assert to_python(func) == TRACKED_MANDEL.strip()
    context, image = Tracking(), S32Array2D.create(width=20, height=20)
    run = compile_compute(func, samples.mandel.function, reflected.kernels)
    run(context, image, 1.0, 2.0, 3.0)
    told = ["access", "mutate", "access", "access"]
    names = [f"{when}_{what}" for what in told for when in ("pre", "post")]
    assert context.calls[:-1] == [(name, "S32Array2D") for name in names]
    assert context.calls[-1][:2] == ((20, 20), "mandel_kernel")


def test_a_parameter_is_kept_where_its_variable_changes(tmp_path: Path) -> None:
    text = "def f(cc, a: S32Array):\n    cc = note(cc)\n    return a.array[1]\n"
    module = load(tmp_path, PREAMBLE + text)
    func = tracked(reflect_compute(as_compute(module.f)).func)
    lines = to_python(func).splitlines()
    assert lines[:4] == [
        "def f(cc, a):",
        "    _v0 = cc",
        "    cc = note(cc)",
        "    _v0.pre_access(a)",
    ]


# --------------------------------------------------------------------------------- functions

CLOSURE = """
def make(total):
    def f(cc, a: S32Array, n=3, *, k=4):
        'what it does'
        nonlocal total
        total += n + k
        cc.dispatch(total, lambda kc: square(kc, a))
    return f
f = make(1)
"""


def test_the_function_is_the_original_but_for_its_code(tmp_path: Path) -> None:
    function = function_of(tmp_path, CLOSURE)
    made = compiled(as_compute(function))
    for name in ("__defaults__", "__kwdefaults__", "__doc__", "__module__", "__qualname__"):
        assert getattr(made, name) == getattr(function, name)
    assert made.__globals__ is function.__globals__
    assert made.__code__.co_filename == function.__code__.co_filename
    assert (made.__code__.co_name, made.__code__.co_qualname) == ("f", "make.<locals>.f")


def test_the_closure_is_shared_with_the_original(tmp_path: Path) -> None:
    function = function_of(tmp_path, CLOSURE)
    made = compiled(as_compute(function))
    recorder, numbers = Recorder(), S32Array.of([1, 2])
    made(recorder, numbers)
    made(recorder, numbers, n=10, k=20)
    function(recorder, numbers)
    assert [call[0] for call in recorder.calls] == [8, 38, 45]


@pytest.mark.parametrize("name", ["direct", "names swap", "a ternary flip", "n-d arrays"])
def test_no_instruction_is_added(name: str, tmp_path: Path) -> None:
    function = function_of(tmp_path, PROGRAMS[name])
    made = compiled(as_compute(function))
    # a function with variables from outside begins with one instruction more
    before, after = (len(list(dis.get_instructions(f))) for f in (function, made))
    assert after <= before + 1


def test_an_unknown_symbol_is_refused() -> None:
    reflected = reflect_compute(samples.square_all)
    with pytest.raises(ModelError, match=r"square_kernel`, and nothing is known"):
        compile_compute(reflected.func, samples.square_all.function, {})


def test_text_that_is_not_python_is_refused() -> None:
    func = parse('compute @"f" () -> None {\n  host.run @"if x" @() @()\n}', {})
    with pytest.raises(ModelError, match="the text of a host op is not Python"):
        to_python(func)


WRITTEN = {*EMITTED, Var, VarStore, Yield}


@pytest.mark.parametrize("mnemonic", [name for name, kind in OPS.items() if kind not in WRITTEN])
def test_an_op_of_kernels_is_refused(mnemonic: str) -> None:
    kind = OPS[mnemonic]
    made: dict[str, object] = {"operand": Value(I32), "operands": (), "block": Block()}
    fields: dict[str, Any] = {name: made.get(role, "") for name, role in roles(kind)}
    func = Func("f", (), NONE, Block((kind(**fields, result=Value(I32)),)), "compute")
    with pytest.raises(ModelError, match=f"`{re.escape(mnemonic)}` in `f` cannot be written"):
        to_python(func)

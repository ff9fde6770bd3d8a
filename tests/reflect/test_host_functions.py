"""Compute functions as models: what is understood, what is kept as text, what is refused."""

import importlib.util
import re
from pathlib import Path
from textwrap import dedent
from types import FunctionType, ModuleType
from typing import Any, cast

import pytest
from tests.reflect import host_samples as samples

from trilby.data.library import S32Array
from trilby.errors import ArgumentTypeError, TrilbyError, UnsupportedSyntaxError
from trilby.model.op import Func, Op, walk
from trilby.model.ops.core import Var
from trilby.model.ops.host import Dispatch, DispatchPasses, HostRun, HostValue
from trilby.model.parse import named_types, parse
from trilby.model.text import to_text
from trilby.model.value import VarType
from trilby.model.verify import verify
from trilby.reflect.functions import Compute
from trilby.reflect.host_functions import ReflectedCompute, reflect_compute
from trilby.source import Location

MODULE = samples.__name__

SQUARE_ALL = f"""\
compute @"{MODULE}.square_all" (%0 : ComputeContext, %1 : S32Array) -> None {{
  %2 : Var<ComputeContext> = var %0 @"cc"
  %3 : Var<S32Array> = var %1 @"s32"
  %4 : ComputeContext = var.load %2
  %5 : S32Array = var.load %3
! %6 : i32 = load %5 @"length"
  %7 : S32Array = var.load %3
  dispatch %4 %6 %7 @"{MODULE}.square_kernel"
}}"""

DOUBLE_AND_SHOW = f"""\
compute @"{MODULE}.double_and_show" (%0 : ComputeContext, %1 : S32Array, %2 : object) -> None {{
  %3 : Var<ComputeContext> = var %0 @"cc"
  %4 : Var<S32Array> = var %1 @"s32"
  %5 : Var<object> = var %2 @"count"
  %6 : Var<object> = var @"_i"
  %7 : Var<i32> = var @"slot0"
  %8 : object = host.value @"range(count)" @("count")
  host.for %8 @"_i" @("_i") {{
    %9 : ComputeContext = var.load %3
    %10 : S32Array = var.load %4
!   %11 : i32 = load %10 @"length"
    %12 : S32Array = var.load %4
    %13 : i64 = constant @2
    dispatch %9 %11 %12 %13 @"{MODULE}.scale_kernel"
    %14 : S32Array = var.load %4
    %15 : i64 = constant @0
!   %16 : i32 = load %14 %15 @"array[]"
    var.store %7 %16
    host.value @"print(\\"slot0\\", slot0)" @("slot0")
  }} {{}}
}}"""

LIFE_BY_FLIPPING = f"""\
compute @"{MODULE}.life_by_flipping" \
(%0 : ComputeContext, %1 : S32Array, %2 : object, %3 : object) -> None {{
  %4 : Var<ComputeContext> = var %0 @"cc"
  %5 : Var<S32Array> = var %1 @"s1"
  %6 : Var<object> = var %2 @"generations"
  %7 : Var<object> = var %3 @"display"
  %8 : S32Array = var.load %5
! %9 : i32 = load %8 @"length"
  %10 : S32Array = host.value %9 @"S32Array.create(length={{0}})" @()
  %11 : Var<S32Array> = var %10 @"s2"
  %12 : Var<object> = var @"generation"
  %13 : Var<S32Array> = var @"source"
  %14 : Var<S32Array> = var @"to"
  %15 : object = host.value @"range(generations)" @("generations")
  host.for %15 @"generation" @("generation") {{
    %16 : S32Array = host.value @"s1 if generation % 2 == 0 else s2" @("generation", "s1", "s2")
    var.store %13 %16
    %17 : S32Array = host.value @"s2 if generation % 2 == 0 else s1" @("generation", "s2", "s1")
    var.store %14 %17
    %18 : ComputeContext = var.load %4
    %19 : S32Array = var.load %5
!   %20 : i32 = load %19 @"length"
    %21 : S32Array = var.load %13
    %22 : S32Array = var.load %14
    dispatch %18 %20 %21 %22 @"{MODULE}.life_kernel"
    host.value @"display(to)" @("display", "to")
  }} {{}}
}}"""

LIFE_BY_SWAPPING = f"""\
compute @"{MODULE}.life_by_swapping" \
(%0 : ComputeContext, %1 : S32Array, %2 : S32Array) -> None {{
  %3 : Var<ComputeContext> = var %0 @"cc"
  %4 : Var<S32Array> = var %1 @"s1"
  %5 : Var<S32Array> = var %2 @"s2"
  %6 : ComputeContext = var.load %3
  %7 : S32Array = var.load %4
! %8 : i32 = load %7 @"length"
  %9 : S32Array = var.load %4
  %10 : S32Array = var.load %5
  dispatch %6 %8 %9 %10 @"{MODULE}.life_kernel"
  %11 : S32Array = var.load %5
  %12 : S32Array = var.load %4
  var.store %4 %11
  var.store %5 %12
  %13 : ComputeContext = var.load %3
  %14 : S32Array = var.load %4
! %15 : i32 = load %14 @"length"
  %16 : S32Array = var.load %5
  %17 : S32Array = var.load %4
  dispatch %13 %15 %17 %16 @"{MODULE}.life_kernel"
}}"""

MANDEL = f"""\
compute @"{MODULE}.mandel" \
(%0 : ComputeContext, %1 : S32Array2D, %2 : object, %3 : object, %4 : object) -> None {{
  %5 : Var<ComputeContext> = var %0 @"cc"
  %6 : Var<S32Array2D> = var %1 @"image"
  %7 : Var<object> = var %2 @"x"
  %8 : Var<object> = var %3 @"y"
  %9 : Var<object> = var %4 @"scale"
  %10 : object = host.value @"scale * 2" @("scale")
  var.store %9 %10
  %11 : S32Array2D = var.load %6
  %12 : i64 = constant @10
  %13 : i64 = constant @10
! %14 : i32 = load %11 %12 %13 @"array[]"
  %15 : Var<i32> = var %14 @"i"
  %16 : i32 = var.load %15
  %17 : S32Array2D = var.load %6
  %18 : i64 = constant @10
  %19 : i64 = constant @10
! store %17 %18 %19 %16 @"array[]"
  %20 : ComputeContext = var.load %5
  %21 : S32Array2D = var.load %6
! %22 : i32 = load %21 @"width"
  %23 : S32Array2D = var.load %6
! %24 : i32 = load %23 @"height"
  %25 : object = host.value %22 %24 @"({{0}}, {{1}})" @()
  %26 : S32Array2D = var.load %6
  %27 : object = var.load %7
  %28 : object = var.load %8
  %29 : object = var.load %9
  dispatch %20 %25 %26 %27 %28 %29 @"{MODULE}.mandel_kernel"
}}"""

GOLDEN: list[tuple[Compute[..., Any], str]] = [
    (samples.square_all, SQUARE_ALL),
    (samples.double_and_show, DOUBLE_AND_SHOW),
    (samples.life_by_flipping, LIFE_BY_FLIPPING),
    (samples.life_by_swapping, LIFE_BY_SWAPPING),
    (samples.mandel, MANDEL),
]


def name_of(given: object) -> str:
    return given.name if isinstance(given, Compute) else ""


@pytest.mark.parametrize(("function", "text"), GOLDEN, ids=name_of)
def test_the_model_of(function: Compute[..., Any], text: str) -> None:
    func = reflect_compute(function).func
    verify(func)
    assert to_text(func) == text


@pytest.mark.parametrize(("function", "text"), GOLDEN, ids=name_of)
def test_the_text_reads_back(function: Compute[..., Any], text: str) -> None:
    func = reflect_compute(function).func
    assert to_text(parse(text, named_types(func))) == text


def test_reflecting_twice_gives_the_same_text() -> None:
    first, second = (reflect_compute(samples.outer).func for _ in range(2))
    assert to_text(first, locations=True) == to_text(second, locations=True)


def test_kernels_and_callees_are_found_in_text_too() -> None:
    reflected = reflect_compute(samples.outer)
    assert reflected.kernels == {f"{MODULE}.square_kernel": samples.square_kernel}
    assert reflected.callees == {f"{MODULE}.square_all": samples.square_all}


def test_the_symbols_can_be_chosen() -> None:
    reflected = reflect_compute(samples.square_all, lambda function: f"my {function.name}")
    assert reflected.func.name == "my square_all"
    assert list(reflected.kernels) == ["my square_kernel"]
    assert [op.kernel for op in found(reflected.func, Dispatch)] == ["my square_kernel"]


def test_a_dispatch_with_many_passes() -> None:
    """Options are no arguments of the kernel, and a flag is a place, which nobody reads."""
    func = reflect_compute(samples.in_passes).func
    verify(func)
    (launch,) = found(func, DispatchPasses)
    assert launch.options == ("passes", "until", "check_every")
    assert list(launch.given) == ["passes", "until", "check_every"]
    assert [value.hint for value in launch.args[:2]] == ["s32", ""]
    text = to_text(func)
    assert '@"{0}.field({1}, {2})"' in text
    assert '@"tests.reflect.host_samples.scale_kernel" @("passes", "until", "check_every")' in text
    assert to_text(parse(text, named_types(func))) == text


def text_at(where: Location) -> str:
    line = Path(where.file).read_text(encoding="utf-8").splitlines()[where.line - 1]
    return line[where.column : where.end_column]


def test_ops_know_their_lines() -> None:
    func = reflect_compute(samples.double_and_show).func
    (launch,) = found(func, Dispatch)
    assert (
        text_at(launch.location) == "cc.dispatch(s32.length, lambda kc: scale_kernel(kc, s32, 2))"
    )


def found(func: Func, kind: type[Any]) -> list[Any]:
    return [op for op in walk(func.body) if isinstance(op, kind)]


# ------------------------------------------------------------------ small pieces of programs

ABOVE = """\
import numpy as np
from trilby.data.buffer import Buffer
from trilby.data.library import F32Array, S32Array
from trilby.data.library_2d import S32Array2D
from trilby.data.markers import Atomic, array
from trilby.data.names import f32, i32
from trilby.data.ndarray import NDArray
from trilby.data.struct import Struct
from trilby.data.views import Array
from trilby.reflect import functions as tb
from tests.reflect import host_samples
from tests.reflect.host_samples import *

class Table(Buffer):
    class Result(Struct):
        x: f32
        y: f32
    count: Atomic[i32]
    length: i32
    result: Array[Result] = array("length")

palette = S32Array.of([1, 2, 3])
"""


def load(folder: Path, text: str) -> ModuleType:
    file = folder / "piece.py"
    file.write_text(ABOVE + dedent(text), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("piece", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def reflected(folder: Path, text: str) -> ReflectedCompute:
    result = reflect_compute(Compute(load(folder, text).f, {}))
    verify(result.func)
    return result


def ops(func: Func) -> list[str]:
    """The ops by mnemonic and attributes, without the loads of variables and the constants."""
    lines = [line.removeprefix("!").strip() for line in to_text(func).splitlines()[1:-1]]
    plain = [re.sub(r"^%\d+ : [^@=]+ = ", "", line) for line in lines]
    words = [" ".join(w for w in line.split(" ") if not w.startswith("%")) for line in plain]
    return [w for w in words if not w.startswith(("var", "constant"))]


PIECES = {
    "a[0] of an array": ("return a.array[0] + 1", ['load @"array[]"', "host.value"]),
    "a field": ("return t.count", ['load @"count"']),
    "a length": ("x = a.length", ['load @"length"']),
    "an element of a struct": ("t.result[n].y = 1.5", ['store @"result[].y"']),
    "a struct by reference": ("r = t.result[n]\nr.x = 1", ['place @"result[]"', 'store @"x"']),
    "a slice": ("x = a.array[1:n]", ['host.value @"1:n" @("n")', 'host.view @"array[]"']),
    "a row": ("row = g.array[n]", ['host.view @"array[]"']),
    "a whole array": ("x = sum(a.array)", ['host.view @"array"', "host.value"]),
    "a column": ("x = t.result.x", ['host.view @"result[].x"']),
    "a column is written": (
        "t.result.x[:] = 0",
        ['host.view @"result[].x"', 'host.run @"{1}[:] = {0}" @() @()'],
    ),
    "a slice is written": ("a.array[:] = 0", ['host.value @":" @()', 'store @"array[]"']),
    "an element changes": (
        "a.array[n] += 1",
        ['load @"array[]"', 'host.value @"{0} += {1}" @()', 'store @"array[]"'],
    ),
    "a variable changes": ("n += a.length", ['load @"length"', "host.value"]),
    "an n-d array is read": ("return x[0, n] > 1", ['load @"[]"', "host.value"]),
    "an n-d array may give a row": ("row = x[0]", ['host.view @"[]"']),
    "an n-d array is written": ("x[0, 1] = x[1, 0]", ['load @"[]"', 'store @"[]"']),
    "the size of an axis": ("return x.shape[1]", ["extent @1"]),
    "a shape": ("return x.shape", ['host.value @"{0}.shape" @()']),
    "a buffer from outside": (
        "return palette.array[n] * 2",
        ['host.value @"palette" @()', 'load @"array[]"', "host.value"],
    ),
    "what comes later stays whole": (
        "return n and a.array[0]",
        ['host.value @"n and a.array[0]" @("n", "a")'],
    ),
    "what comes first is cut out": ("return a.array[0] and n", ['load @"array[]"', "host.value"]),
    "a comprehension stays whole": ("x = [a.array[i] for i in range(n)]", ["host.value"]),
    "order is kept by values": (
        "return note(n), a.array[0]",
        ['host.value @"note(n)" @("n")', 'load @"array[]"', 'host.value @"{0}, {1}" @()'],
    ),
    "braces are doubled": (
        'return {"{0}": a.array[0]}',
        ['load @"array[]"', 'host.value @"{{\\"{{0}}\\": {0}}}" @()'],
    ),
    "unpacking": (
        "q, r = divmod(a.array[0], n)",
        ['load @"array[]"', "host.value", 'host.run @"q, r = {0}" @() @("q", "r")'],
    ),
    "an attribute of something": (
        "note.last = a.array[0]",
        ['load @"array[]"', 'host.run @"note.last = {0}" @() @()'],
    ),
    "a length is not written": ("a.length = n", ['host.run @"a.length = n" @("a", "n") @()']),
    "if": ("if a.array[0]: pass\nelse: return", ['load @"array[]"', "host.if {} {", "return", "}"]),
    "while": (
        "while a.array[0]: break",
        ["host.while {", 'load @"array[]"', "yield", "} {", "break", "} {}"],
    ),
    "with": (
        'with open("x") as f: f.read()',
        ["host.value", 'host.with @"f" @("f") {', "host", "}"],
    ),
    "try": ("try: n = 1\nfinally: pass", ['host.run @"try: n = 1\\nfinally: pass" @() @("n")']),
    "code that never runs": ("return n; n = 1", ['host.run @"return n; n = 1" @("n") @("n")']),
    "a kernel in a class": (
        "cc.dispatch(n, Kernels.inner, a)",
        [f'dispatch @"{MODULE}.square_kernel"'],
    ),
    "a kernel in a module": (
        "cc.dispatch(n, lambda kc: host_samples.scale_kernel(kc, a, n))",
        [f'dispatch @"{MODULE}.scale_kernel"'],
    ),
    "an unknown kernel": (
        "k = square_kernel\ncc.dispatch(n, lambda kc: k(kc, a))",
        [
            'host.value @"square_kernel" @()',
            'host.value @"cc.dispatch(n, k, a)" @("cc", "n", "k", "a")',
        ],
    ),
    "a launch in an f-string": (
        'note(f"{cc.dispatch(n, lambda kc: square_kernel(kc, a))!r}")',
        [
            'host.value @"note" @()',
            f'dispatch @"{MODULE}.square_kernel"',
            "host.value @\"{0}(f'{{{1}!r}}')\" @()",
        ],
    ),
    "launches on many lines, in text": (
        "try:\n    k = [cc.dispatch(n,\n lambda kc: square_kernel(\n kc, a)), 1]\nfinally: n",
        ['host.run @"try:\\n    k = [cc.dispatch(n, square_kernel, a\\n\\n), 1]\\nfinally: n"'],
    ),
    "an option of a dispatch": (
        "cc.dispatch(n, square_kernel, a, passes=4)",
        [f'dispatch.passes @"{MODULE}.square_kernel" @("passes")'],
    ),
    "a call of a compute function": ("square_all(cc, a)", [f'host.call @"{MODULE}.square_all"']),
    "a function that looks at itself": (
        "x = a.array[0]\nreturn locals()",
        ['host.run @"x = a.array[0]" @("a") @("x")', 'host.run @"return locals()" @() @()'],
    ),
    "a name that another function sets": (
        "def set():\n    nonlocal n\n    n = 1\nn = 2\nreturn n",
        ["host.run", 'host.run @"n = 2" @() @("n")', 'host.value @"n" @("n")', "return"],
    ),
}


@pytest.mark.parametrize("name", PIECES)
def test_how_it_is_modelled(name: str, tmp_path: Path) -> None:
    body, expected = PIECES[name]
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    head = "def f(cc, a: S32Array, g: S32Array2D, t: Table, x: NDArray[f32], n):\n"
    given = [op for op in ops(reflected(tmp_path, head + lines).func) if op != "return"]
    wanted = [op for op in expected if op != "return"]
    assert len(given) == len(wanted), given
    assert all(map(str.startswith, given, wanted)), given


def variable_types(func: Func) -> dict[str, str]:
    declared: list[Var] = found(func, Var)
    return {op.name: str(op.value.type.of) for op in declared if isinstance(op.value.type, VarType)}


def test_types_of_variables(tmp_path: Path) -> None:
    func = reflected(
        tmp_path,
        """
        def f(cc, a: "S32Array", b: host_samples.S32Array, x: "NDArray[f32]", n: i32, *c: S32Array):
            d = a
            d = b
            e = a if n else d
            g = a if n else x
            h = S32Array.create(length=3)
            i = F32Array.of([1])
            i = h
            j, k = a, 1
            l: S32Array = c[0]
            m = True
            o = 1.5
            p = a.array[0]
            q = x[0]
            for r in c:
                s = r
            t = u = a
            u += 1
            v = w = a
            v, w = w, v
        """,
    ).func
    assert variable_types(func) == {
        "cc": "ComputeContext",
        "a": "S32Array",
        "b": "S32Array",
        "x": "NDArray<f32, 0>",
        "n": "object",
        "c": "object",
        "d": "S32Array",
        "e": "S32Array",
        "g": "object",
        "h": "S32Array",
        "i": "object",
        "j": "S32Array",
        "k": "i64",
        "l": "S32Array",
        "m": "bool",
        "o": "f64",
        "p": "i32",
        "q": "object",
        "r": "object",
        "s": "object",
        "t": "S32Array",
        "u": "object",
        "v": "S32Array",
        "w": "S32Array",
    }


def test_annotations_of_an_enclosing_function_are_seen() -> None:
    local = S32Array

    def f(_cc: object, _a: "local") -> None:  # pyright: ignore[reportInvalidTypeForm, reportUnknownParameterType] -- what is tested
        pass

    function = cast("FunctionType", f)
    func = reflect_compute(Compute(function, {"local": local})).func
    assert [str(param.type) for param in func.params] == ["ComputeContext", "S32Array"]


def test_a_kernel_that_was_replaced_is_noticed(tmp_path: Path) -> None:
    module = load(tmp_path, "def f(cc, a: S32Array): cc.dispatch(1, square_kernel, a)\n")
    reflected = reflect_compute(Compute(module.f, {}))
    assert reflected.is_current()
    vars(module)["square_kernel"] = samples.life_kernel
    assert not reflected.is_current()


def test_text_lists_the_names_it_touches(tmp_path: Path) -> None:
    func = reflected(
        tmp_path,
        """
        def f(cc, a: S32Array, n):
            x = y = z = 0
            try:
                import os.path, sys as system
                x, [y, *z] = n, [1]
                def inner(p=n): return x
                class Inner(a): y = 1
                del z
            except ValueError as error:
                [q for q in (n, a)]
            match n:
                case [first, *rest] | {"k": first, **rest}: pass
        """,
    ).func
    runs: list[HostRun] = found(func, HostRun)
    assert [(set(op.uses), op.sets) for op in runs] == [
        (
            {"n", "x", "a"},
            ("os", "system", "x", "y", "z", "inner", "Inner", "error"),
        ),
        ({"n"}, ("first", "rest")),
    ]


def test_values_set_inside_expressions_are_no_variables(tmp_path: Path) -> None:
    func = reflected(tmp_path, "def f(cc, n):\n    if (m := n): return m\n").func
    assert set(variable_types(func)) == {"cc", "n"}
    values: list[HostValue] = found(func, HostValue)
    assert [(op.code.text, op.uses) for op in values] == [("m := n", ("m", "n")), ("m", ("m",))]


# ------------------------------------------------------------------------------------ errors

REFUSED = {
    "no call": (
        "cc.dispatch(3, lambda kc: «a»)",
        UnsupportedSyntaxError,
        "a quoted lambda consists of one call, and this is none",
        "write `lambda kc: function(kc, …)`",
    ),
    "context not first": (
        "cc.dispatch(3, lambda kc: square_kernel(«a», kc))",
        UnsupportedSyntaxError,
        "the first argument of the call has to be the lambda's parameter `kc`",
        "write `square_kernel(kc, …)`",
    ),
    "context used elsewhere": (
        "cc.dispatch(3, lambda kc: scale_kernel(kc, a, «kc».x))",
        UnsupportedSyntaxError,
        "`kc` exists only while the call runs, so only as first argument",
        "move what needs it into the function that is called",
    ),
    "a second parameter": (
        "cc.dispatch(3, lambda kc, «a»=a: square_kernel(kc, a))",
        UnsupportedSyntaxError,
        "a quoted lambda has one parameter, the context, and this one has 2",
        "use other values directly in the call",
    ),
    "an assignment in the lambda": (
        "cc.dispatch(3, lambda kc: scale_kernel(kc, a, («m := 3»)))",
        UnsupportedSyntaxError,
        "a lambda that is never executed cannot set a variable",
        "write `m = …` on a line before the dispatch",
    ),
    "arguments outside": (
        "cc.dispatch(3, lambda kc: square_kernel(kc), «a»)",
        UnsupportedSyntaxError,
        "the arguments of a kernel stand inside the lambda, and this one is outside",
        "write `lambda kc: square_kernel(kc, …)` with all arguments",
    ),
    "lambda by keyword": (
        "cc.dispatch(range=3, kernel=«lambda kc: square_kernel(kc, a)»)",
        ArgumentTypeError,
        "the lambda of a dispatch is its second argument",
        "write `cc.dispatch(range, lambda kc: kernel(kc, …))`",
    ),
    "a plain function": (
        "cc.dispatch(3, «plain_function», a)",
        ArgumentTypeError,
        "`plain_function` is a plain function, and only kernels can be dispatched",
        "decorate it with `@tb.kernel`",
    ),
    "a plain function in a lambda, in text": (
        "try: cc.dispatch(3, lambda kc: «plain_function»(kc, a))\nfinally: pass",
        ArgumentTypeError,
        "`plain_function` is a plain function, and only kernels can be dispatched",
        "decorate it with `@tb.kernel`",
    ),
    "a helper": (
        "cc.dispatch(3, «host_samples.helper», 1)",
        ArgumentTypeError,
        "`host_samples.helper` is a helper of kernels (@tb.func), and only kernels can be",
        "write a `@tb.kernel` that calls `host_samples.helper` for its work item",
    ),
    "a raw helper": (
        "cc.dispatch(3, «raw_helper», 1)",
        ArgumentTypeError,
        "`raw_helper` is a helper of kernels (@tb.raw), and only kernels can be dispatched",
        "write a `@tb.kernel` that calls `raw_helper` for its work item, and dispatch that",
    ),
    "a compute function": (
        "cc.dispatch(3, «square_all», a)",
        ArgumentTypeError,
        "`square_all` is a compute function, and only kernels can be dispatched",
        "call it: `square_all(cc, …)`",
    ),
    "a class": (
        "cc.dispatch(3, «Kernels», a)",
        ArgumentTypeError,
        "`Kernels` is a class, and only kernels can be dispatched",
        "dispatch a function that is decorated with `@tb.kernel`",
    ),
    "too few arguments": (
        "«cc.dispatch(3, scale_kernel, a)»",
        ArgumentTypeError,
        "`scale_kernel`: missing a required argument: 'by'",
        "its parameters after the kernel context are: s32, by",
    ),
    "too many arguments": (
        "«cc.dispatch(3, square_kernel, a, 1)»",
        ArgumentTypeError,
        "`square_kernel`: too many positional arguments",
        "its parameters after the kernel context are: s32",
    ),
    "an argument twice": (
        "«cc.dispatch(3, lambda kc: square_kernel(kc, a, s32=a))»",
        ArgumentTypeError,
        "`square_kernel`: multiple values for argument 's32'",
        "its parameters after the kernel context are: s32",
    ),
    "a generator": (
        "«yield a»",
        UnsupportedSyntaxError,
        "a compute function cannot be a generator",
        "pass a function and call it with each result, or return a list",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str, tmp_path: Path) -> None:
    marked, kind, problem, advice = REFUSED[name]
    body = marked.replace("«", "").replace("»", "")
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    with pytest.raises(kind) as caught:
        reflected(tmp_path, f"def f(cc, a: S32Array):\n    note = print\n{lines}")
    error: TrilbyError = caught.value
    assert error.problem.startswith(problem)
    assert error.advice.startswith(advice)
    assert error.location is not None
    start = marked.splitlines()[0].index("«")
    assert (error.location.column - 4, error.location.end_column - 4) == (
        start,
        marked.index("»") - 1,
    )
    assert "^" * (marked.index("»") - start - 1) in str(error)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("async def f(cc): pass", "a compute function cannot be an `async def`"),
        ("f = lambda cc: 3", "a compute function cannot be a lambda"),
        ("def f(): pass", "the compute function `f` takes no compute context"),
        ("def f(*args): pass", "the compute function `f` takes no compute context"),
    ],
)
def test_what_is_no_compute_function(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(TrilbyError, match=problem) as caught:
        reflected(tmp_path, text)
    assert caught.value.advice


def test_every_op_has_a_place() -> None:
    for function, _ in GOLDEN:
        placed: list[Op] = [*walk(reflect_compute(function).func.body)]
        assert all(op.location.file == samples.__file__ and op.location.line for op in placed)

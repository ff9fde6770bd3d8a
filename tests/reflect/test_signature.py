"""Annotations of kernels and helpers: what they mean, and what is refused."""

import linecache
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from tests.reflect.kernel_cases import analysed, kernel, load, run, said

from trilby.data.dtypes import F32, I32
from trilby.data.schema import NDArrayType
from trilby.errors import KernelNameError, KernelTypeError, UnsupportedSyntaxError
from trilby.model.value import KERNEL_CONTEXT, NONE
from trilby.reflect.signature import helper_signature, kernel_signature, ranks_from_use

KERNELS_TAKE = "kernels take numbers (`i32`, `f32`, …), buffers (`S32Array`, …) and `NDArray[f32]`"

IMPORT = "import the name at the top of the module"


# ------------------------------------------------------------------------------ what is read


def test_the_types_of_a_kernel() -> None:
    made = kernel(
        "@tb.kernel\ndef k(kc: KernelContext, n: i32, b: bool, a: S32Array, m: NDArray[f32]):\n"
        "    pass\n"
    )
    signature = kernel_signature(made, (3,))
    assert [p.name for p in signature.params] == ["kc", "n", "b", "a", "m"]
    assert [str(p.type) for p in signature.params] == [
        "KernelContext",
        "i32",
        "bool",
        "S32Array",
        "NDArray<f32, 3>",
    ]
    assert signature.params[0].type == KERNEL_CONTEXT
    assert signature.result == NONE
    place = signature.params[1].location
    assert (place.line, place.column, place.end_column) == (2, 25, 31)


def test_ranks_are_given_in_order_and_are_one_otherwise() -> None:
    made = load("""
        @tb.func
        def f(a: NDArray[f32], n: i32, b: NDArray[i32], c: NDArray[i32]) -> f32:
            return 1
    """)["f"]
    assert [p.type for p in helper_signature(made, (3, 2)).params] == [
        NDArrayType(F32, 3),
        I32,
        NDArrayType(I32, 2),
        NDArrayType(I32, 1),
    ]
    assert helper_signature(made).result is F32


def test_text_annotations() -> None:
    source = """
        from __future__ import annotations

        @tb.func
        def twice(v: tb.i32) -> i32:
            return v * 2

        @tb.kernel
        def k(kc: KernelContext, a: tb.NDArray[i32]) -> None:
            a[kc.x] = twice(a[kc.x])
    """
    found = np.array([3, 4], np.int32)
    run(kernel(source), 2, found)
    assert found.tolist() == [6, 8]


@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
def test_types_that_are_local_to_a_function(future: str) -> None:
    source = f"""{future}
def make():
    from trilby import i32 as number
    class Pair(tb.Buffer):
        left: number
        right: number

    @tb.func
    def total(p: Pair) -> number:
        return p.left + p.right

    @tb.kernel
    def k(kc: KernelContext, p: Pair) -> None:
        p.left = total(p)
    return k, Pair
k, Pair = make()
"""
    names = load(source)
    pair = names["Pair"].create()
    pair.left, pair.right = 3, 4
    run(names["k"], 1, pair)
    assert pair.left == 7


def test_kernels_in_a_class_with_names_of_the_class() -> None:
    source = """
        from __future__ import annotations
        class Steps:
            Number = i32
            @staticmethod
            @tb.func
            def twice(v: Number) -> Number:
                return v * 2

            @staticmethod
            @tb.kernel
            def k(kc: KernelContext, a: NDArray[i32]) -> None:
                a[0] = Steps.twice(a[0])
        k = Steps.k
    """
    found = np.array([21], np.int32)
    run(kernel(source), 1, found)
    assert found[0] == 42


def test_positional_parameters() -> None:
    source = """
        @tb.func
        def sub(a: i32, /, b: i32) -> i32:
            return a - b
        @tb.kernel
        def k(kc: KernelContext, r: NDArray[i32], /):
            r[0] = sub(5, b=3)
    """
    found = np.zeros(1, np.int32)
    run(kernel(source), 1, found)
    assert found[0] == 2


# ------------------------------------------------------------------------------------- ranks


def ranks(lines: str, params: str = "m: NDArray[f32], q: NDArray[f32]", more: str = "") -> object:
    return ranks_from_use(
        kernel(f"{more}\n@tb.kernel\ndef k(kc: KernelContext, {params}):\n    {lines}\n")
    )


def test_ranks_are_guessed_from_subscripts() -> None:
    assert ranks("m[0, 1] = q[2]") == (2, 1)
    assert ranks("pass") == (1, 1)
    assert ranks("pass", "n: i32") == ()
    assert ranks("x = q[0, 0, 0]") == (1, 3)


HELPERS = """
@tb.func
def get(a: NDArray[f32], b: NDArray[f32]) -> f32:
    return a[0, 1] + b[0, 0, 0]

@tb.func
def through(p: NDArray[f32], q: NDArray[f32]) -> f32:
    return get(b=p, a=q)
"""


def test_ranks_are_guessed_through_helpers() -> None:
    assert ranks("x = get(m, q)", more=HELPERS) == (2, 3)
    assert ranks("x = get(q, b=m)", more=HELPERS) == (3, 2)
    assert ranks("x = through(m, q)", more=HELPERS) == (3, 2)
    assert ranks("x = through(m, q) + m[1]", more=HELPERS) == (1, 2)


def test_ranks_of_helpers_are_looked_for_once() -> None:
    """Each helper calls the next one twice: as paths there are 2**40."""
    steps = "\n".join(
        f"@tb.func\ndef g{i}(m: NDArray[f32]) -> f32:\n    return g{i + 1}(m) + g{i + 1}(m)"
        for i in range(40)
    )
    last = "@tb.func\ndef g40(m: NDArray[f32]) -> f32:\n    return m[0, 0]\n"
    assert ranks("x = g0(m)", "m: NDArray[f32]", f"{steps}\n{last}") == (2,)


def test_a_helper_with_an_error_is_told_about_where_it_is_called() -> None:
    source = """
        @tb.func
        def bad(m: NDArray[f32], n) -> f32:
            return m[0, 0]
        @tb.kernel
        def k(kc: KernelContext, m: NDArray[f32]):
            x = bad(m, 1)
    """
    assert said(KernelTypeError, source).splitlines()[3] == "  in `bad`, called at app.py:6"


# ------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("annotation", "shown", "advice"),
    [
        ("int", "int", "say the width: `i32`, `i64`, `u8`, …"),
        ("float", "float", "say the width: `f32`, `f64` or `f16`"),
        ("list", "list", "take a buffer (`S32Array`, …) or `NDArray[i32]`"),
        ("list[int]", "list[int]", "take a buffer (`S32Array`, …) or `NDArray[i32]`"),
        ("tuple[int, int]", "tuple[int, int]", "take its items as parameters of their own"),
        ("str", "str", KERNELS_TAKE),
        ("dict[str, int]", "dict[str, int]", KERNELS_TAKE),
        ("object", "object", KERNELS_TAKE),
        ("None", "None", KERNELS_TAKE),
        ("complex", "complex", KERNELS_TAKE),
        ("Plain", "Plain", KERNELS_TAKE),
        ("3", "3", KERNELS_TAKE),
        ("np.ndarray", "ndarray", "take `NDArray[f32]` and pass `accelerator.array(x)`"),
        ("np.float32", "float32", "write `f32`"),
        ("np.int64", "int64", "write `i64`"),
        ("NDArray", "NDArray", "say what it holds: `NDArray[f32]`"),
        ("tb.Buffer", "Buffer", None),
        ("Either", "Either", None),
    ],
)
def test_types_that_a_kernel_cannot_take(annotation: str, shown: str, advice: str | None) -> None:
    source = (
        "class Plain: pass\n"
        "class Either(tb.Union):\n    a: i32\n    b: f32\n"
        "@tb.kernel\n"
        f"def k(kc: KernelContext, x: 'i32', y: '{annotation}'):\n    pass\n"
    )
    text = said(KernelTypeError, source)
    line = f"def k(kc: KernelContext, x: 'i32', y: '{annotation}'):"
    assert text.splitlines()[:3] == [
        f"app.py:6: parameter `y` of `k` is `{shown}`, which a kernel cannot take",
        f"  6 | {line}",
        f"    | {' ' * line.index('y:')}{'^' * (len(annotation) + 5)}",
    ]
    assert advice is None or text.splitlines()[3] == f"  help: {advice}"


def test_a_parameter_without_a_type() -> None:
    source = "@tb.kernel\ndef k(kc: KernelContext, n: i32, scale):\n    pass\n"
    assert said(KernelTypeError, source) == (
        "app.py:2: parameter `scale` of `k` has no type\n"
        "  2 | def k(kc: KernelContext, n: i32, scale):\n"
        "    |                                  ^^^^^\n"
        "  help: annotate it: `scale: i32`, `scale: S32Array`"
    )


def test_a_method_is_no_kernel() -> None:
    source = """
        class Solver:
            @tb.kernel
            def step(self, kc: KernelContext):
                pass
        k = Solver.step
    """
    assert said(KernelTypeError, source) == (
        "app.py:3: parameter `self` of `step` has no type\n"
        "  3 | def step(self, kc: KernelContext):\n"
        "    |          ^^^^\n"
        "  help: kernels and their functions are no methods: use @staticmethod, or module level"
    )


@pytest.mark.parametrize(
    "head", ["def k():", "def k(n: i32):", "def k(n: i32, kc: KernelContext):"]
)
def test_the_kernel_context_comes_first(head: str) -> None:
    assert said(KernelTypeError, f"@tb.kernel\n{head}\n    pass\n") == (
        "app.py:2: the first parameter of the kernel `k` is the kernel context\n"
        f"  2 | {head}\n"
        f"    | {'^' * len(head)}\n"
        "  help: write `def k(kc: KernelContext, …) -> None:`"
    )


def test_there_is_one_kernel_context() -> None:
    source = "@tb.kernel\ndef k(kc: KernelContext, again: KernelContext):\n    pass\n"
    assert said(KernelTypeError, source) == (
        "app.py:2: `again` is a second kernel context\n"
        "  2 | def k(kc: KernelContext, again: KernelContext):\n"
        "    |                          ^^^^^^^^^^^^^^^^^^^^\n"
        "  help: a launch gives one: take the others out"
    )


def test_a_kernel_returns_nothing() -> None:
    source = "@tb.kernel\ndef k(kc: KernelContext) -> i32:\n    return 1\n"
    assert said(KernelTypeError, source) == (
        "app.py:2: the kernel `k` returns nothing, and is declared to return `i32`\n"
        "  2 | def k(kc: KernelContext) -> i32:\n"
        "    | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  help: write `-> None` and put results into a buffer"
    )


def with_helper(head: str) -> str:
    return f"@tb.func\n{head}\n    return 1\n@tb.kernel\ndef k(kc: KernelContext):\n    x = f(1)\n"


def test_a_helper_says_what_it_returns() -> None:
    assert said(KernelTypeError, with_helper("def f(v: i32):")) == (
        "app.py:2: `f` does not say what it returns\n"
        "  2 | def f(v: i32):\n"
        "    | ^^^^^^^^^^^^^^\n"
        "  in `f`, called at app.py:6\n"
        "  help: annotate the result: `-> i32`, or `-> None`"
    )


@pytest.mark.parametrize("result", ["int", "S32Array", "NDArray[f32]", "str", "tuple[int, int]"])
def test_what_a_helper_cannot_return(result: str) -> None:
    head = f"def f(v: i32) -> {result}:"
    text = said(KernelTypeError, with_helper(head)).splitlines()
    name = "trilby.data.ndarray.NDArray[f32]" if "NDArray" in result else result
    assert text[:3] == [
        f"app.py:2: `f` returns `{name}`, which a kernel's function cannot",
        f"  2 | {head}",
        f"    |                  {'^' * len(result)}",
    ]
    assert text[3] == "  in `f`, called at app.py:6"


@pytest.mark.parametrize(
    ("params", "part"),
    [
        ("n: i32 = 3", "3"),
        ("*rest: i32", "rest: i32"),
        ("**rest: i32", "rest: i32"),
        ("*, n: i32", "n: i32"),
        ("*, n: i32 = 4", "n: i32"),
    ],
)
def test_plain_parameters_only(params: str, part: str) -> None:
    head = f"def k(kc: KernelContext, {params}):"
    assert said(UnsupportedSyntaxError, f"@tb.kernel\n{head}\n    pass\n") == (
        "app.py:2: kernels and their functions take plain parameters only\n"
        f"  2 | {head}\n"
        f"    | {' ' * head.rindex(part)}{'^' * len(part)}\n"
        "  help: leave out `*`, `**`, keyword-only parameters and default values"
    )


@pytest.mark.parametrize(
    ("annotation", "reason", "advice"),
    [
        ("S32Aray", "name 'S32Aray' is not defined", IMPORT),
        ("tb.S32Aray", "module 'trilby' has no attribute 'S32Aray'", IMPORT),
        ("i32 i32", "invalid syntax", KERNELS_TAKE),
        ("i32 | None", "unsupported operand type(s) for |", KERNELS_TAKE),
    ],
)
def test_an_annotation_that_cannot_be_resolved(annotation: str, reason: str, advice: str) -> None:
    head = f"def k(kc: KernelContext, a: '{annotation}'):"
    text = said(KernelNameError, f"@tb.kernel\n{head}\n    pass\n").splitlines()
    assert text[0].startswith(
        f"app.py:2: the annotation `{annotation}` of `a` cannot be resolved: {reason}"
    )
    assert text[1:] == [
        f"  2 | {head}",
        f"    | {'^' * len(head)}",
        f"  help: {advice}",
    ]


def test_a_wrapped_function_is_what_its_wrapper_is() -> None:
    source = """
        import functools
        def logged(function):
            @functools.wraps(function)
            def wrapper(*args):
                return function(*args)
            return wrapper

        @tb.kernel
        @logged
        def k(kc: KernelContext):
            pass
    """
    assert said(UnsupportedSyntaxError, source) == (
        "app.py:4: kernels and their functions take plain parameters only\n"
        "  4 | def wrapper(*args):\n"
        "    |              ^^^^\n"
        "  help: leave out `*`, `**`, keyword-only parameters and default values"
    )


def test_a_kernel_in_a_real_file(tmp_path: Path) -> None:
    file = tmp_path / "real.py"
    file.write_text(
        "import trilby as tb\n"
        "from trilby import KernelContext, NDArray, i32\n\n\n"
        "@tb.kernel\n"
        "def k(kc: KernelContext, a: NDArray[i32]) -> None:\n"
        "    a[kc.x] = kc.x\n",
        encoding="utf-8",
    )
    module = types.ModuleType("real")
    sys.modules["real"] = module
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), vars(module))  # noqa: S102 -- ours
    linecache.checkcache(str(file))
    made = analysed(vars(module)["k"])
    assert made.graph.entry.location.file == str(file)
    assert made.graph.entry.location.line == 6

"""From a decorated function to its model: constants, closures, odd Python, and what it costs."""

import enum
import math
import sys
import types
from types import FrameType
from typing import Any

import numpy as np
import pytest
from tests.backend.interpreter.kernels import launch
from tests.reflect.kernel_cases import (
    analysed,
    body,
    kernel,
    lined,
    load,
    run,
    said,
)
from tests.reflect.random_kernels import program

import trilby as tb
from trilby import F32Array, KernelContext, NDArray, S32Array, f32, i32
from trilby.codegen.opencl_c import generate
from trilby.errors import KernelNameError, KernelTypeError, UnsupportedSyntaxError
from trilby.model.op import walk
from trilby.model.text import to_text
from trilby.model.verify import verify
from trilby.reflect.kernels import Reflected, reflect_kernel
from trilby.runtime.compile import analyse_kernel

# ------------------------------------------------------- kernels as users write and check them


@tb.func
def square(v: i32) -> i32:
    return v * v


@tb.kernel
def square_kernel(kc: KernelContext, s32: S32Array) -> None:
    s32.array[kc.x] = square(s32.array[kc.x])


@tb.kernel
def blend(
    kc: KernelContext, left: NDArray[f32], right: NDArray[f32], out: NDArray[f32], k: f32
) -> None:
    """Mix two images, row by row."""
    y = kc.x
    for x in range(left.shape[1]):
        low, high = min(left[y, x], right[y, x]), max(left[y, x], right[y, x])
        if high - low < 0.5:
            out[y, x] = left[y, x] * k + right[y, x] * (1.0 - k)
        else:
            out[y, x] = math.sqrt(low * high) if low >= 0.0 else 0.0


def test_the_model_of_the_first_example() -> None:
    assert [to_text(function) for function in analysed(square_kernel).graph.functions] == [
        lined(f"""
            func @"{__name__}.square" (%0 : i32) -> i32 {{
              %1 : i32 = mul %0 %0
              return %1
            }}
        """),
        lined(f"""
            kernel @"{__name__}.square_kernel" (%0 : KernelContext, %1 : S32Array) -> None {{
              %2 : i32 = grid %0 @"x"
            ! %3 : i32 = load %1 %2 @"array[]"
              %4 : i32 = call %3 @"{__name__}.square"
              %5 : i32 = grid %0 @"x"
            ! store %1 %5 %4 @"array[]"
              return
            }}
        """),
    ]


def test_the_first_example_runs() -> None:
    numbers = S32Array.create(length=5)
    numbers.array[:] = range(5)
    run(square_kernel, 5, numbers)
    assert numbers.array[:].tolist() == [0, 1, 4, 9, 16]


def test_a_kernel_in_f32_is_numpys_f32() -> None:
    rng = np.random.default_rng(3)
    left, right = (rng.normal(size=(4, 6)).astype(np.float32) for _ in range(2))
    found = np.zeros_like(left)
    run(blend, 4, left, right, found, 0.25)
    low, high = np.minimum(left, right), np.maximum(left, right)
    k = np.float32(0.25)
    mixed = left * k + right * (np.float32(1) - k)
    with np.errstate(invalid="ignore"):
        root = np.where(low >= 0, np.sqrt(low * high), np.float32(0))
    np.testing.assert_array_equal(found, np.where(high - low < 0.5, mixed, root))


def test_ops_know_where_they_come_from() -> None:
    entry = analysed(
        kernel(
            "@tb.kernel\ndef k(kc: KernelContext, a: S32Array):\n"
            "    x = kc.x\n    a.array[x] = x + 1\n"
        )
    ).graph.entry
    assert str(entry.location) == "app.py:2"
    assert {op.mnemonic: (op.location.line, op.location.column) for op in walk(entry.body)} == {
        "grid": (3, 8),
        "var": (3, 8),
        "var.load": (4, 12),
        "constant": (4, 17),
        "add": (4, 17),
        "store": (4, 4),
        "return": (4, 4),
    }


def test_the_same_function_gives_the_same_text() -> None:
    assert to_text(analysed(blend).graph.entry) == to_text(analysed(blend).graph.entry)


# --------------------------------------------------------------------- constants and closures


def reflected(made: Any) -> Reflected:
    return reflect_kernel(made, (1,), lambda callee: callee.helper.symbol)


def test_a_constant_of_the_module_that_changes_makes_the_model_stale() -> None:
    names = load("""
        SIZE = 10
        OTHER = 1
        @tb.kernel
        def k(kc: KernelContext, a: NDArray[i32]):
            a[0] = SIZE
    """)
    made = reflected(names["k"])
    assert made.is_current()
    names["OTHER"] = 2
    assert made.is_current()
    names["SIZE"] = 11
    assert not made.is_current()
    found = np.zeros(1, np.int32)
    run(names["k"], 1, found)
    assert found[0] == 11


@pytest.mark.parametrize(
    ("before", "after", "current"),
    [
        (1, 1, True),
        (1, 2, False),
        (1, 1.0, False),
        (1, True, False),
        (0.0, -0.0, False),
        (0.5, 0.5, True),
        (float("nan"), float("nan"), True),
        (np.float32(1), np.float32(1), True),
        (np.float32(1), np.float32(2), False),
        (np.float32(1), np.float64(1), False),
        (np.int32(1), 1, False),
    ],
)
def test_what_counts_as_a_change(before: object, after: object, *, current: bool) -> None:
    source = "@tb.kernel\ndef k(kc: KernelContext, a: NDArray[f32]):\n    a[0] = SIZE\n"
    names = load(source, SIZE=before)
    made = reflected(names["k"])
    names["SIZE"] = after
    assert made.is_current() is current


def test_a_constant_in_another_module() -> None:
    settings = types.SimpleNamespace(SIZE=3, inner=types.SimpleNamespace(DEPTH=4))
    source = """
        @tb.kernel
        def k(kc: KernelContext, a: NDArray[i32]):
            a[0] = settings.SIZE + settings.inner.DEPTH
    """
    made = reflected(kernel(source, settings=settings))
    assert made.is_current()
    settings.inner.DEPTH = 5
    assert not made.is_current()
    settings.inner.DEPTH = 4
    assert made.is_current()
    del settings.SIZE
    assert not made.is_current()


def test_a_closure_that_changes() -> None:
    names = load("""
        def make():
            size = 3
            @tb.kernel
            def k(kc: KernelContext, a: NDArray[i32]):
                a[0] = size
            def set_size(value):
                nonlocal size
                size = value
            return k, set_size
        k, set_size = make()
    """)
    made = reflected(names["k"])
    assert made.is_current()
    names["set_size"](4)
    assert not made.is_current()
    found = np.zeros(1, np.int32)
    run(names["k"], 1, found)
    assert found[0] == 4


def test_a_helper_that_is_defined_anew() -> None:
    names = load("""
        @tb.func
        def f() -> i32:
            return 1
        @tb.kernel
        def k(kc: KernelContext, a: NDArray[i32]):
            a[0] = f()
    """)
    made = reflected(names["k"])
    assert made.callees["app.f"].helper is names["f"]
    names["f"] = load("@tb.func\ndef f() -> i32:\n    return 2\n", "other.py")["f"]
    assert not made.is_current()


def test_kernels_of_one_text_with_different_closures() -> None:
    names = load("""
        def make(factor):
            @tb.kernel
            def k(kc: KernelContext, a: NDArray[i32]):
                a[0] = factor
            return k
        two, three = make(2), make(3)
    """)
    found = np.zeros(1, np.int32)
    for name, wanted in (("two", 2), ("three", 3)):
        run(names[name], 1, found)
        assert found[0] == wanted


def test_a_global_that_is_defined_later() -> None:
    source = """
        @tb.kernel
        def k(kc: KernelContext, a: NDArray[i32]):
            a[0] = later() + LATER
        LATER = 3
        @tb.func
        def later() -> i32:
            return 4
    """
    found = np.zeros(1, np.int32)
    run(kernel(source), 1, found)
    assert found[0] == 7


def test_a_closure_without_a_value_yet() -> None:
    source = """
        def make():
            @tb.kernel
            def k(kc: KernelContext, a: NDArray[i32]):
                a[0] = later
            if False:
                later = 1
            return k
        k = make()
    """
    assert "`later` is not defined" in said(KernelNameError, source)


class Colour(enum.IntEnum):
    RED = 3
    BLUE = 7


@pytest.mark.parametrize(
    ("value", "type_", "number"),
    [
        (True, "bool", "True"),
        (5, "i32", "5"),
        (Colour.BLUE, "i32", "7"),
        (0.5, "f32", "0.5"),
        (np.int8(5), "i8", "5"),
        (np.uint64(2**63), "u64", str(2**63)),
        (np.float16(0.5), "f16", "0.5"),
        (np.float64(0.1), "f64", "0.1"),
        (np.bool_(1), "bool", "True"),
    ],
)
def test_constants_of_python_and_numpy(value: object, type_: str, number: str) -> None:
    text = body("x = VALUE", VALUE=value)
    assert text == f'%1 : {type_} = constant @{number}\n%2 : Var<{type_}> = var %1 @"x"'


@pytest.mark.parametrize("value", [np.longdouble(1), np.complex64(1), np.str_("x")])
def test_numpy_scalars_that_kernels_do_not_have(value: Any) -> None:
    source = "@tb.kernel\ndef k(kc: KernelContext):\n    x = VALUE\n"
    assert said(KernelTypeError, source, VALUE=value) == (
        f"app.py:3: `VALUE` is `{value.dtype}`, which kernels do not have\n"
        "  3 | x = VALUE\n"
        "    |     ^^^^^"
    )


def test_a_local_name_hides_a_global_one() -> None:
    source = (
        "@tb.kernel\ndef k(kc: KernelContext, a: NDArray[i32]):\n    SIZE = 5\n    a[0] = SIZE\n"
    )
    names = load(source, SIZE=10)
    found = np.zeros(1, np.int32)
    run(names["k"], 1, found)
    assert found[0] == 5
    assert "SIZE" not in reflected(names["k"]).constants


def test_a_parameter_hides_a_global_one() -> None:
    found = np.zeros(1, np.int32)
    source = "@tb.kernel\ndef k(kc: KernelContext, a: NDArray[i32], n: i32):\n    a[0] = n\n"
    run(kernel(source, n=99), 1, found, 4)
    assert found[0] == 4


def test_private_names_in_a_class() -> None:
    source = """
        class Solver:
            @staticmethod
            @tb.kernel
            def k(kc: KernelContext, a: NDArray[i32]):
                a[0] = __SIZE
        k = Solver.k
        _Solver__SIZE = 6
    """
    found = np.zeros(1, np.int32)
    run(kernel(source), 1, found)
    assert found[0] == 6


# ------------------------------------------------------------------------------- odd Python


def test_everything_on_one_line() -> None:
    found = np.zeros(2, np.int32)
    source = """
        @tb.kernel
        def k(kc: KernelContext, a: NDArray[i32]): x = 1; y = 2; a[0] = x; a[1] = y
    """
    run(kernel(source), 1, found)
    assert found.tolist() == [1, 2]


def test_blocks_on_one_line() -> None:
    found = np.zeros(2, np.int32)
    source = """
        @tb.kernel
        def k(kc: KernelContext, a: NDArray[i32]):
            for i in range(3): a[0] += i; a[1] += 1
            if a[0] > 2: x = 1; a[1] += x
            else: x = 2
            while a[0] > 0: a[0] -= 1
    """
    run(kernel(source), 1, found)
    assert found.tolist() == [0, 4]


def test_words_of_the_device_language_as_names() -> None:
    """They must come out of the generator as something else; the drivers see that they do."""
    words = ["int", "float4", "kernel", "global_", "__kernel", "half", "sampler_t", "barrier"]
    words += ["get_global_id", "sqrt", "min", "NULL", "true", "main", "struct", "kc_", "INFINITY"]
    lines = "\n".join(f"    {word} = {number}" for number, word in enumerate(words))
    source = f"@tb.kernel\ndef k(kc: KernelContext, a: NDArray[i32]):\n{lines}\n"
    source += f"    a[0] = {' + '.join(words)}\n"
    found = np.zeros(1, np.int32)
    run(kernel(source), 1, found)
    assert found[0] == sum(range(len(words)))
    assert generate(analysed(kernel(source)).graph)


def test_parameters_with_odd_names() -> None:
    source = """
        @tb.kernel
        def kernel(float: KernelContext, int: NDArray[i32], x: i32, get_global_id: f32):
            int[float.x] = x + i32(get_global_id)
    """
    found = np.zeros(2, np.int32)
    run(kernel(source), 2, found, 3, 4.0)
    assert found.tolist() == [7, 7]


def test_a_kernel_that_is_nested_very_deeply_is_refused_and_not_a_crash() -> None:
    deep = " ".join(f"{number} if n > {number} else" for number in range(400))
    source = f"@tb.kernel\ndef k(kc: KernelContext, n: i32):\n    x = {deep} 0\n"
    assert said(UnsupportedSyntaxError, source) == (
        "app.py:2: `k` is nested too deeply to be read\n"
        "  2 | def k(kc: KernelContext, n: i32):\n"
        "    | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  help: split its longest expression, or move inner blocks to a @tb.func"
    )


# -------------------------------------------------------------------------- random programs


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_random_programs_do_what_python_does(first: int) -> None:
    """What is accepted agrees with Python, and never reads a name that Python finds unset."""
    accepted = 0
    for seed in range(first, first + 20):
        text = "".join(f"    {line}\n" for line in program(seed))
        made = kernel(f"@tb.kernel\ndef k(kc: KernelContext, n: i32, r: NDArray[i32]):\n{text}")
        try:
            graph = analyse_kernel(made, (1,)).graph
        except KernelNameError:
            continue
        accepted += 1
        verify(graph.entry)
        names: dict[str, Any] = {}
        exec(f"def k(n, r):\n{text}", names)  # noqa: S102 -- the same text, as plain Python
        for n in (0, 1, 4):
            found, wanted = np.array([2, -1], np.int32), [2, -1]
            names["k"](n, wanted)
            launch(graph, 1, n, found)
            assert found.tolist() == wanted, f"seed {seed}, n = {n}"
    assert accepted > 5


# -------------------------------------------------------------------------------- the cost

STEP = """
    acc{n} = 0.0
    cnt{n} = 0
    for i{n} in range(n):
        v{n} = a.array[i{n}] * 2.0 + b.array[i{n}]
        if v{n} > 0.5 and cnt{n} < 10 or n == 3:
            acc{n} += math.sqrt(v{n})
            cnt{n} += 1
        elif v{n} < -0.5:
            acc{n} -= half(v{n})
        else:
            continue
        w{n} = acc{n} if cnt{n} > 2 else v{n}
        a.array[i{n}] = w{n} / (1.0 + i{n})
"""


def long_program(steps: int, salt: int) -> str:
    """A kernel of 14 lines for each step; the salt makes every text a new one."""
    head = f"""
@tb.func
def half(v: f32) -> f32:
    return v * 0.5 + {salt}
@tb.kernel
def k(kc: KernelContext, a: F32Array, b: F32Array, n: i32):
"""
    return head + "".join(STEP.format(n=n) for n in range(steps))


def calls_for(steps: int, salt: int) -> int:
    """How many Python functions are called on the way from a kernel to its C: no clock."""
    made = kernel(long_program(steps, salt))
    count = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        generate(analyse_kernel(made).graph)
    finally:
        sys.setprofile(before)
    return count


def test_the_cost_grows_with_the_text_and_not_with_its_square() -> None:
    calls_for(1, 0)
    small, large = calls_for(4, 10), calls_for(32, 20)
    assert large < small * 8 * 1.5


def test_a_buffer_that_is_not_used_has_no_cost() -> None:
    unused = analysed(kernel("@tb.kernel\ndef k(kc: KernelContext, a: F32Array):\n    pass\n"))
    assert unused.signature.params[1].type == F32Array.__schema__

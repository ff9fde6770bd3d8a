"""What kernels ask of a device, and why. The types are NumPy's: see `test_promotion`."""

import math

import pytest
from tests.reflect.kernel_cases import kernel

import trilby as tb
from trilby import F32Array, F64Array, KernelContext, NDArray, S64Array, f32, f64, i32, u64
from trilby.analysis.needs import FeatureNeed, needs
from trilby.reflect.functions import Kernel
from trilby.runtime.compile import analyse_kernel


def needed(function: Kernel[...]) -> list[FeatureNeed]:
    return needs(analyse_kernel(function).graph)


def first(body: str) -> FeatureNeed:
    """The first need of a kernel with an array `a`, an integer `n` and a float `x`."""
    head = "def k(kc: KernelContext, a: F32Array, n: i32, x: f32) -> None:"
    return needed(kernel(f"@tb.kernel\n{head}\n    {body}"))[0]


@tb.kernel
def modest(kc: KernelContext, a: F32Array, n: i32) -> None:
    for i in range(n):
        a.array[kc.x] += f32(i) * 0.5 + math.sqrt(a.array[i])
    tb.atomic_add(a.array, 0, 1.0)


def test_most_kernels_need_nothing() -> None:
    assert needed(modest) == []


@pytest.mark.parametrize(
    ("body", "why", "advice"),
    [
        ("a.array[0] = n + x", "`i32 + f32` is `f64`, as in NumPy", "around the integer"),
        ("a.array[0] = x ** n", "`f32 ** i32` is `f64`, as in NumPy", "around the integer"),
        ("a.array[0] = n * 0.5", "`i32 * 0.5` is `f64`, as in NumPy", "around the integer"),
        ("a.array[0] = 0.5 - n", "`0.5 - i32` is `f64`, as in NumPy", "around the integer"),
        ("a.array[0] = n / n", "`i32 / i32` is `f64`, as in NumPy", "around both, or divide"),
        ("a.array[0] = n / 2", "`i32 / 2` is `f64`, as in NumPy", "around the integer, or"),
        ("a.array[0] = 1.0 if x < n else 2.0", "`f32 < i32` is compared as `f64`", "the integer"),
        ("a.array[0] = math.sqrt(n)", "`sqrt` of `i32` is `f64`", "around what `sqrt` is given"),
        ("a.array[0] = math.hypot(n, x)", "`hypot` of `i32`, `f32` is `f64`", "`hypot` is given"),
        ("a.array[0] = f32(f64(n))", "this is `f64`", "`f32(…)` converts"),
    ],
)
def test_why_a_number_is_f64(body: str, why: str, advice: str) -> None:
    need = first(body)
    assert need.feature == "f64"
    assert need.why.startswith(why)
    assert advice in need.advice


def test_the_place_is_the_first_expression_that_is_f64() -> None:
    need = first("y = x + 1.0\n    a.array[0] = y * (n - x)")
    location = need.location
    assert (location.line, location.column, location.end_column) == (4, 22, 27)
    assert need.text.endswith(": f64 = cast %2")


@tb.kernel
def declared(kc: KernelContext, a: F64Array, b: NDArray[f64], c: f64) -> None:
    pass


def test_parameters_need_it_whether_they_are_used_or_not() -> None:
    assert [(need.why, need.op) for need in needed(declared)] == [
        ("the parameter `a` is `F64Array`, which holds `f64`", None),
        ("the parameter `b` is `NDArray<f64, 1>`, which holds `f64`", None),
        ("the parameter `c` is `f64`", None),
    ]


class Wide(tb.Struct):
    size: i32
    content: f64


@tb.func
def made(n: i32) -> Wide:
    return Wide(size=n, content=0.0)


@tb.func
def half(n: i32) -> f32:
    return f32(n * 0.5)


@tb.func
def quarter(n: i32) -> f32:
    return half(n) * 0.5


@tb.kernel
def through_helpers(kc: KernelContext, a: F32Array) -> None:
    a.array[kc.x] = quarter(kc.x)


@tb.kernel
def with_struct(kc: KernelContext, a: F32Array) -> None:
    a.array[kc.x] = f32(made(kc.x).content)


def test_helpers_are_looked_into_and_the_calls_are_told() -> None:
    need = needed(through_helpers)[0]
    assert need.function.name.endswith(".half")
    assert [name for name, _ in need.calls] == ["half", "quarter"]
    assert [place.line for _, place in need.calls] == [
        quarter.location.line + 2,
        through_helpers.location.line + 2,
    ]


def test_structs_hold_it() -> None:
    found = needed(with_struct)
    assert found[0].text.endswith('made"')
    assert found[0].location.line == with_struct.location.line + 2
    assert "`made` returns `Wide`" in [need.why for need in found]


@tb.raw(opencl="return (float)n / 2;")
def raw_half(n: i32) -> f32:
    return f32(n / 2) + half(n)


@tb.kernel
def with_raw(kc: KernelContext, a: F32Array) -> None:
    a.array[kc.x] = raw_half(kc.x)


@tb.raw(opencl="return n;")
def raw_wide(n: i32) -> f64:
    return f64(n)


@tb.kernel
def with_wide_raw(kc: KernelContext, a: F32Array) -> None:
    a.array[kc.x] = f32(raw_wide(kc.x))


def test_of_raw_device_code_only_the_head_counts() -> None:
    assert needed(with_raw) == []
    assert "`raw_wide` returns `f64`" in [need.why for need in needed(with_wide_raw)]


@tb.kernel
def counts(kc: KernelContext, a: S64Array, b: NDArray[u64]) -> None:
    a.array[1] = a.array[0] + 1
    tb.atomic_add(a.array, kc.x, 1)
    tb.atomic_compare_exchange(b, 0, 0, 1)


def test_atomics_on_64_bits() -> None:
    found = needed(counts)
    assert [(need.feature, need.why) for need in found] == [
        ("i64_atomics", "an `i64` is changed in one step"),
        ("i64_atomics", "an `u64` is changed in one step"),
    ]
    assert [need.location.line for need in found] == [counts.location.line + n for n in (3, 4)]

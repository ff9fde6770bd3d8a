"""Identifiers: what a user may call things, whatever C and OpenCL have to say about it."""

# ruff: noqa: ARG001 -- a kernel takes its context, used or not

import re

import numpy as np
import pytest
from tests.codegen import other_helpers
from tests.codegen.running import build_log, run_both, text_of

import trilby as tb
from trilby import KernelContext, NDArray, S32Array, f32, i32
from trilby.codegen.identifiers import Identifiers, own_name
from trilby.codegen.opencl_c import is_keyword, is_reserved, is_used
from trilby.reflect.functions import Kernel


def nothing(_: str) -> bool:
    return False


def test_a_taken_name_gets_a_number() -> None:
    names = Identifiers(nothing)
    assert [names.fresh("x") for _ in range(3)] == ["x", "x_2", "x_3"]


def test_names_are_made_fit_for_c() -> None:
    names = Identifiers(nothing)
    wanted = ["größe", "π", "_x", "__y__", "2d", "<lambda>", "a__b"]
    assert [names.fresh(name) for name in wanted] == [
        "gr__e", "value", "x", "y", "v2d", "lambda", "a__b",
    ]  # fmt: skip


def test_reserved_words_get_a_number_too() -> None:
    names = Identifiers(is_used)
    assert names.fresh("int") == "int_2"
    assert names.fresh("sqrt") == "sqrt_2"
    assert names.fresh("length") == "length"


def test_a_family_of_words_that_has_every_ending_gets_another_beginning() -> None:
    assert Identifiers(is_used).fresh("get_global_id") == "v_get_global_id"


def test_a_stem_is_free_with_all_of_its_endings() -> None:
    names = Identifiers(nothing, frozenset({"Result_t"}))
    assert names.stem("Result", ("_s", "_t")) == "Result_2"
    assert names.fresh("Result_2_s") == "Result_2_s_2"
    assert names.fresh("Result") == "Result"


def test_an_inner_scope_does_not_hide_names_of_the_outer_one() -> None:
    outer = Identifiers(is_used)
    outer.fresh("square")
    inner = outer.inner_scope()
    assert inner.fresh("square") == "square_2"
    assert inner.fresh("length") == "length"
    assert outer.fresh("length") == "length"


def test_a_function_begins_as_none_of_a_library_does() -> None:
    wanted = ["square", "fmodf", "größe", "π", "__x__", "<lambda>", "2d"]
    assert [own_name(name) for name in wanted] == [
        "tb_square", "tb_fmodf", "tb_gr__e", "tb_value", "tb_x", "tb_lambda", "tb_2d",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name", ["half", "kernel", "global", "image2d_t", "INT_MAX", "M_PI", "atom_add"]
)
def test_keywords_and_macros_are_nobodys_names(name: str) -> None:
    assert is_keyword(name)
    assert is_used(name)


@pytest.mark.parametrize("name", ["ALIGN8", "MAX_WORK_DIM", "INTTYPE", "POCL_H"])
def test_what_looks_like_a_macro_is_no_name_either_but_in_raw_code(name: str) -> None:
    assert not is_keyword(name)
    assert is_reserved(name)
    assert is_used(name)


@pytest.mark.parametrize("name", ["length", "step", "cross", "any", "x", "value", "width"])
def test_what_is_only_in_the_library_may_be_a_local_name(name: str) -> None:
    assert not is_used(name)


# -- whole programs -----------------------------------------------------------------------


def check(kernel: Kernel[...], expected: list[int], *args: object) -> str:
    """The kernel writes to an array; its text builds without a word of the compiler."""
    out = np.zeros(len(expected), np.int32)
    outcome = run_both(kernel, 1, out, *args)  # pyright: ignore[reportArgumentType] -- numbers
    assert outcome.interpreter[0].tolist() == expected
    assert outcome.opencl[0].tolist() == expected
    text = text_of(kernel)
    assert build_log(text) == ""
    return text


@tb.kernel
def words_of_c(kc: KernelContext, out: NDArray[i32], int: i32, float4: i32, half: i32) -> None:  # noqa: A002 -- the point of the test
    char = int + float4
    volatile = char * half
    NULL = 1  # noqa: N806 -- the point of the test
    true = 2
    switch = NULL + true
    unsigned = 0
    for register in range(3):
        unsigned += register
    out[0] = volatile + switch + unsigned
    uint = 5
    size_t = uint + 1
    bool = size_t * 2  # noqa: A001 -- the point of the test
    out[1] = bool


def test_words_of_the_language_as_names_of_variables() -> None:
    check(words_of_c, [(2 + 3) * 4 + 3 + 3, 12], 2, 3, 4)


@tb.kernel
def main(kc: KernelContext, out: NDArray[i32], max_x: i32, kernel_context: i32, s: i32) -> None:
    global_ = max_x + kernel_context + s
    kernel = kc.max_x
    local = global_ + kernel
    tail_padding = local * 2
    out[0] = tail_padding
    KernelContext_t = 3  # noqa: N806 -- the point of the test
    out[1] = KernelContext_t


def test_names_that_generated_code_uses_itself() -> None:
    text = check(main, [(1 + 2 + 3 + 1) * 2, 3], 1, 2, 3)
    assert "__kernel void main(" not in text


@tb.kernel
def functions_of_the_library(kc: KernelContext, out: NDArray[i32]) -> None:
    sqrt = 1
    get_global_id = 2
    convert_int_sat = 3
    atomic_add = 4
    floordiv_i32 = 5
    trips_i32 = 6
    dot = sqrt + get_global_id + convert_int_sat + atomic_add
    out[0] = dot - 30 // floordiv_i32
    for i in range(0, 10, trips_i32):
        out[1] += i
    out[2] = i32(f32(dot) / 4.0)
    out[3] = tb.atomic_add(out, 0, 1) % -3


def test_functions_of_the_library_as_names_of_variables() -> None:
    check(functions_of_the_library, [10 - 6 + 1, 6, 2, 4 % -3])


@tb.kernel
def other_letters(kc: KernelContext, out: NDArray[i32], größe: i32, _x: i32, y_: i32) -> None:  # noqa: PLC2401 -- the point of the test
    π = größe * 2  # noqa: PLC2401 -- the point of the test
    δ = π + _x  # noqa: PLC2401 -- the point of the test
    __y = y_
    x = δ + __y
    _ = x + 1
    out[0] = x + _


def test_letters_that_c_does_not_have() -> None:
    check(other_letters, [27], 3, 4, 3)


# -- functions ----------------------------------------------------------------------------


@tb.func
def smoothstep(v: i32) -> i32:
    return v + 1


@tb.func
def get_group_id(v: i32) -> i32:
    return smoothstep(v) * 2


@tb.func
def min_i32(v: i32) -> i32:
    return min(v, 5) * 10


@tb.func
def S32Array_array(v: i32) -> i32:  # noqa: N802 -- the point of the test
    return v


@tb.kernel
def functions_with_taken_names(kc: KernelContext, out: NDArray[i32], a: S32Array) -> None:
    out[0] = get_group_id(3) + min_i32(7)
    out[1] = S32Array_array(a.array[0])


def test_helpers_with_names_of_the_library_and_of_generated_code() -> None:
    check(functions_with_taken_names, [8 + 50, 9], S32Array.of(np.array([9], np.int32)))


@tb.func
def scale(v: i32) -> i32:
    return v * 2


@tb.kernel
def two_of_one_name(kc: KernelContext, out: NDArray[i32]) -> None:
    out[0] = scale(3) + other_helpers.scale(3) * 10 + other_helpers.clashing(3) * 1000


def test_two_helpers_of_one_name() -> None:
    text = check(two_of_one_name, [6 + 210 + 22000])
    assert len(re.findall(r"static inline int tb_scale\w*\(", text)) == 2


@tb.func
def same_name(v: i32) -> i32:  # pyright: ignore[reportRedeclaration] -- the point of the test
    same_name = v + 1
    return same_name * 2


helper_of_that_name = same_name


@tb.kernel
def same_name(kc: KernelContext, out: NDArray[i32]) -> None:
    out[0] = helper_of_that_name(4)


def test_a_helper_a_kernel_and_a_variable_of_one_name() -> None:
    text = check(same_name, [10])
    assert "__kernel void tb_same_name(" in text


@tb.func
def named_x(value: i32, kc: KernelContext) -> i32:
    return value * 10 + kc.max_x


@tb.kernel
def contexts(context: KernelContext, out: NDArray[i32]) -> None:
    out[0] = named_x(3, context)


def test_a_context_goes_by_the_name_it_is_given() -> None:
    text = check(contexts, [31])
    assert "KernelContext_t *context = &kernel_context;" in text
    assert "tb_named_x(int value, KernelContext_t *kc)" in text


# -- structs ------------------------------------------------------------------------------


class First(tb.Buffer):
    class Result(tb.Struct):
        half: i32
        x: i32

    float: i32
    result: tb.Array[Result] = tb.array("float")


class Second(tb.Buffer):
    class Result(tb.Struct):
        union: f32
        struct: i32

    global_: i32
    kernel: i32
    result: tb.Array[Result] = tb.array("kernel")


@tb.func
def Result_t(v: i32) -> i32:  # noqa: N802 -- the point of the test
    return v + 1


@tb.func
def First_result(v: i32) -> i32:  # noqa: N802 -- the point of the test
    return v + 2


@tb.kernel
def colliding_structs(kc: KernelContext, out: NDArray[i32], a: First, b: Second) -> None:
    a.result[1].half = Result_t(1)
    a.result[1].x = First_result(2)
    b.result[0].union = 2.0
    b.result[0].struct = a.result[1].half + a.result[1].x
    b.global_ = b.kernel
    out[0] = b.result[0].struct + a.float + b.global_
    Result = 4  # noqa: N806 -- the point of the test
    out[1] = Result


def test_structs_of_one_name_and_fields_that_are_keywords() -> None:
    buffers = First.create(float=2), Second.create(kernel=3)
    text = check(colliding_structs, [6 + 2 + 3, 4], *buffers)
    assert "Result_2_t" in text
    outcome = run_both(colliding_structs, 1, np.zeros(2, np.int32), *buffers)
    for side in (outcome.interpreter, outcome.opencl):
        assert side[1].result[1].half == 2
        assert side[2].result[0].union == 2.0

"""Functions that generated C brings along: their text, and counting the turns of a range."""

from itertools import product

import numpy as np
import pytest
from tests.codegen.running import run_text

from trilby.codegen.opencl_c import OPENCL
from trilby.codegen.support import SUPPORT_NAMES, support_text
from trilby.data.dtypes import F32, I32, SCALARS, U32

SIZES = "int max_x, int max_y, int max_z"


def test_a_function_is_made_for_one_type() -> None:
    assert support_text("max", F32, OPENCL) == (
        "static inline float max_f32(float a, float b) {\n    return b > a ? b : a;\n}"
    )


def test_unsigned_division_asks_for_zero_only() -> None:
    assert support_text("floordiv", U32, OPENCL) == (
        "static inline uint floordiv_u32(uint a, uint b) {\n    return b == 0 ? 0 : a / b;\n}"
    )


def test_a_divisor_that_is_a_size_needs_fewer_questions() -> None:
    assert support_text("mod_size", I32, OPENCL) == (
        "static inline int mod_size_i32(int a, int b) {\n"
        "    int d = b == 0 ? 1 : b;\n"
        "    int m = a % d;\n"
        "    return m < 0 ? m + d : m;\n"
        "}"
    )


def test_names_of_all_functions_are_known_beforehand() -> None:
    assert {"floordiv_i32", "mod_f64", "round_f16", "i8_from_f32", "trips_u64"} <= SUPPORT_NAMES


@pytest.mark.parametrize("name", ["i8", "i32", "i64", "u8", "u32", "u64"])
def test_turns_are_counted_as_python_counts_them(name: str) -> None:
    type_ = SCALARS[name]
    ends = [type_.lowest, type_.lowest + 1, 0, 1, 7, type_.highest - 1, type_.highest]
    steps = [1, 2, 3, type_.highest]
    if type_.kind == "int":
        ends += [-1, -7]
        steps += [-1, -2, -3, type_.lowest]
    cases = np.array(list(product(ends, ends, steps)), type_.numpy)
    t, u = OPENCL.scalars[type_], OPENCL.unsigned[type_]
    kernel = (
        f"__kernel void count(__global {t} *cases, __global {u} *out, {SIZES}) {{\n"
        f"    for (int i = 0; i < {len(cases)}; ++i)\n"
        f"        out[i] = trips_{name}(cases[3 * i], cases[3 * i + 1], cases[3 * i + 2]);\n}}\n"
    )
    text = f"{support_text('trips', type_, OPENCL)}\n\n{kernel}"
    found = run_text(text, "count", [cases, np.zeros(len(cases), f"u{type_.size}")])[1]
    assert found.tolist() == [turns(*case) for case in cases.tolist()]


def turns(start: int, stop: int, step: int) -> int:
    """`len(range(...))`, which refuses what does not fit a C `ssize_t`."""
    distance = stop - start if step > 0 else start - stop
    return max(0, -(-distance // abs(step)))


def test_a_step_of_zero_has_no_turns() -> None:
    kernel = f"__kernel void count(__global int *out, {SIZES}) {{ out[0] = trips_i32(0, 9, 0); }}\n"
    text = f"{support_text('trips', I32, OPENCL)}\n\n{kernel}"
    assert run_text(text, "count", [np.ones(1, np.int32)])[0].tolist() == [0]

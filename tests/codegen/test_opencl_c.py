"""The words of OpenCL C."""

import math

import numpy as np
import pytest
from tests.codegen.edge_values import ALL
from tests.codegen.golden_kernels import squares
from tests.codegen.running import build_log, graph_of

from trilby.codegen.opencl_c import OPENCL, generate, is_keyword, is_used
from trilby.data.dtypes import F16, F32, F64
from trilby.data.kernel_context import GRID_FIELDS
from trilby.model.intrinsics import INTRINSICS


def test_every_scalar_type_has_a_word_of_its_size() -> None:
    lines = [
        f"int size_of_{name}[sizeof({OPENCL.stored.get(type_, OPENCL.scalars[type_])}) "
        f"== {type_.size} ? 1 : -1];"
        for name, type_ in ALL.items()
    ]
    body = "\n".join(f"    {line}" for line in lines)
    assert build_log(f"__kernel void sizes(__global int *a) {{\n{body}\n    a[0] = 1;\n}}\n") == ""


def test_every_field_of_the_context_is_filled_from_a_call_or_an_argument() -> None:
    arguments = {"max_x", "max_y", "max_z", "pass_id"}
    assert set(GRID_FIELDS) - arguments == set(OPENCL.grid)
    assert OPENCL.grid["x"] == "get_global_id(0)"
    assert OPENCL.grid["group_max_z"] == "get_num_groups(2)"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0f"),
        (-0.0, "-0.0f"),
        (0.1, "0.1f"),
        (16777216.0, "1.6777216e+07f"),
        (1e-45, "1e-45f"),
        (3.4028235e38, "3.4028235e+38f"),
        (math.inf, "INFINITY"),
        (-math.inf, "(-INFINITY)"),
    ],
)
def test_single_literals_are_the_shortest_that_come_back(number: float, text: str) -> None:
    assert OPENCL.float_literal(number, F32) == text
    if math.isfinite(number):
        assert np.float32(text.removesuffix("f")) == np.float32(number)


def test_double_and_half_literals() -> None:
    assert OPENCL.float_literal(0.1, F64) == "0.1"
    assert OPENCL.float_literal(1e300, F64) == "1e+300"
    assert OPENCL.float_literal(math.nan, F64) == "(double)NAN"
    assert OPENCL.float_literal(0.5, F16) == "0.5f"


def test_contraction_is_off() -> None:
    """A product and a sum are two roundings, here as in NumPy."""
    assert generate(graph_of(squares)).text.startswith("#pragma OPENCL FP_CONTRACT OFF\n")


def test_the_entry_is_named() -> None:
    generated = generate(graph_of(squares))
    assert generated.entry == "tb_squares"
    assert "__kernel void tb_squares(" in generated.text


def test_functions_that_are_called_cannot_be_hidden_by_names() -> None:
    for name in INTRINSICS:
        spelt = OPENCL.math.get(name, name)
        assert is_used(spelt), spelt


@pytest.mark.parametrize("name", ["x", "square", "weight", "intensity", "floats", "logarithm"])
def test_other_names_are_free(name: str) -> None:
    assert not is_keyword(name)
    assert not is_used(name)

"""Every math function is declared once: its row, its Python function and its lowering agree."""

import inspect
import math
from collections.abc import Callable
from typing import Any

import pytest

import trilby
from trilby.data import matrices, vectors
from trilby.model import lane_math, math_functions
from trilby.model.composed import COMPOSED, Composed
from trilby.model.intrinsics import INTRINSICS
from trilby.reflect.kernel_calls import MATH_FUNCTIONS, is_composed
from trilby.reflect.vector_math import COMPOSED_LOWERINGS

ROWS = {**INTRINSICS, **COMPOSED}
HOMES = (math_functions, lane_math, vectors, matrices)
"""The modules that have math functions for users."""
HIDDEN = {"max", "min", "pow"}
"""Names of `trilby` that `import *` leaves to Python."""


def public_functions() -> dict[str, Callable[..., Any]]:
    """The functions that users find in `trilby`, of the modules that have math."""
    homes = {module.__name__ for module in HOMES}
    found = {name: getattr(trilby, name) for name in HIDDEN.union(trilby.__all__)}
    return {
        name: thing
        for name, thing in found.items()
        if inspect.isfunction(thing) and thing.__module__ in homes
    }


def test_no_function_has_two_rows() -> None:
    assert INTRINSICS.keys().isdisjoint(COMPOSED)


def test_every_public_function_has_a_row_and_is_named_after_it() -> None:
    public = public_functions()
    assert {"rsqrt", "sqrt", "min", "dot", "transpose", "mix"} <= public.keys()
    assert public.keys() <= ROWS.keys()
    assert {name: thing.__name__ for name, thing in public.items()} == {n: n for n in public}
    assert all(thing.__doc__ for thing in public.values())


def test_every_row_is_found_by_users() -> None:
    builtin = {"abs", "max", "min"}
    homeless = ROWS.keys() - public_functions().keys() - builtin
    assert homeless == {"isfinite", "isinf", "isnan"}
    assert all(hasattr(math, name) for name in homeless)


@pytest.mark.parametrize("name", sorted(ROWS.keys() & (vars(math_functions) | COMPOSED).keys()))
def test_the_parameters_are_those_of_the_python_function(name: str) -> None:
    declared = tuple(inspect.signature(getattr(trilby, name)).parameters)
    knows_width = name in INTRINSICS and INTRINSICS[name].knows_width
    assert declared == ROWS[name].params + (("bits",) if knows_width else ())


def test_what_takes_vectors_has_a_spelling_that_checkers_accept() -> None:
    of_vectors = {name for name, row in INTRINSICS.items() if row.takes_vectors}
    assert of_vectors - public_functions().keys() == {"abs"}  # which vectors have themselves


def test_kernels_know_every_spelling() -> None:
    for name, thing in public_functions().items():
        if name in COMPOSED:
            assert is_composed(thing)
        else:
            assert MATH_FUNCTIONS[thing] is ROWS[name]
    for name in INTRINSICS:
        if hasattr(math, name):
            assert MATH_FUNCTIONS[getattr(math, name)] is INTRINSICS[name]


def test_every_composed_row_has_a_lowering_and_each_lowering_a_row() -> None:
    assert COMPOSED_LOWERINGS.keys() == COMPOSED.keys()


@pytest.mark.parametrize("row", COMPOSED.values(), ids=lambda row: row.name)
def test_a_composed_row_is_whole(row: Composed) -> None:
    assert COMPOSED[row.name] is row
    assert row.function is getattr(trilby, row.name)
    assert row.ulps >= 0
    assert row.takes
    assert row.gives
    assert row.doc
    assert not row.doc.endswith(".")

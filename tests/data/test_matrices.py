"""Matrices on the host: layout, arithmetic against NumPy, and what they refuse."""

from typing import Any

import numpy as np
import pytest
from tests.messages import message

import trilby as tb
from trilby.data.vector_types import matrix_of
from trilby.errors import ArgumentTypeError

CLASSES: list[Any] = [tb.f32x2x2, tb.f32x3x3, tb.f32x4x4]
VECTORS: list[Any] = [tb.f32x2, tb.f32x3, tb.f32x4]


def random(rows: int, seed: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Small whole numbers, so that every order of summing gives the same."""
    return np.random.default_rng(seed).integers(-9, 9, (rows, rows)).astype(np.float32)


@pytest.mark.parametrize("rows", [2, 3, 4])
def test_matrices_compute_as_in_numpy(rows: int) -> None:
    cls, vector = CLASSES[rows - 2], VECTORS[rows - 2]
    a, b = random(rows, 1), random(rows, 2)
    m, n = cls(*a.ravel().tolist()), cls(*b.ravel().tolist())
    v = vector(*a[0].tolist())
    assert (m @ n).m.tolist() == (a @ b).tolist()
    assert (m + n).m.tolist() == (a + b).tolist()
    assert (m - n).m.tolist() == (a - b).tolist()
    assert (m * 2.5).m.tolist() == (2.5 * m).m.tolist() == (a * np.float32(2.5)).tolist()
    assert (-m).m.tolist() == (-a).tolist()
    assert tb.transpose(m).m.tolist() == a.T.tolist()
    assert [getattr(m @ v, lane) for lane in "xyzw"[:rows]] == (a @ a[0]).tolist()
    assert type(m @ n) is cls
    assert type(m @ v) is vector


@pytest.mark.parametrize(("rows", "cls"), list(enumerate(CLASSES, start=2)))
def test_a_matrix_is_its_numbers_row_by_row(rows: int, cls: Any) -> None:
    m = cls(*range(rows * rows))
    assert np.asarray(m).tobytes() == np.arange(rows * rows, dtype=np.float32).tobytes()
    assert m[1, 0] == rows
    m[1, 0] = -1.0
    assert m.m[1, 0] == -1.0
    assert matrix_of(cls.__schema__) == rows
    assert matrix_of(tb.f32x2.__schema__) is None


def test_rows_may_be_vectors() -> None:
    rows = tb.f32x2x2(tb.f32x2(1.0, 2.0), tb.f32x2(3.0, 4.0))
    assert rows == tb.f32x2x2(1.0, 2.0, 3.0, 4.0)
    assert tb.f32x3x3(tb.f32x4(1.0, 2.0, 3.0, 4.0), 5.0, tb.f32x4(6.0, 7.0, 8.0, 9.0))[1, 1] == 5.0


def test_sums_are_rounded_from_left_to_right() -> None:
    m = tb.f32x4x4(1e8, -1e8, 1.0, 0.5, *([0.0] * 12))
    assert (m @ tb.f32x4(1.0, 1.0, 1.0, 1.0)).x == 1.5


def test_what_matrices_refuse() -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        tb.f32x2x2(1.0, 2.0)
    assert caught.value.problem == "`f32x2x2` has 4 numbers, and 2 are given"
    m: Any = tb.f32x2x2(1.0, 2.0, 3.0, 4.0)
    with pytest.raises(ArgumentTypeError) as caught:
        _ = m @ tb.f32x3(1.0, 2.0, 3.0)
    assert message(caught.value) == (
        "`@` takes a matrix and a matrix or vector of its size, and gets `f32x2x2` and `f32x3`\n"
        "  help: use as many rows and columns on both sides"
    )
    for wrong, other in ((lambda: m * m, "f32x2x2"), (lambda: m + 1.0, "float")):
        with pytest.raises(ArgumentTypeError) as caught:
            wrong()
        assert message(caught.value) == (
            f"`f32x2x2` and `{other}` have no such operator\n  help: matrices have `+` and `-` "
            "with each other, `*` with a number, and `@`"
        )

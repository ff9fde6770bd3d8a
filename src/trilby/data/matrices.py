"""Matrices: small square structs of `f32` that multiply with each other and with vectors.

In memory a matrix is a struct with one array in row-major order.
"""

from typing import Any, Self, TypeVar

import numpy as np

from trilby.data.markers import array
from trilby.data.names import f32
from trilby.data.schema import StructType
from trilby.data.struct import Struct
from trilby.data.vectors import lane_numbers
from trilby.data.views import Array
from trilby.errors import ArgumentTypeError


class MatrixMath:
    """Sums, products with a number, and products of matrices and vectors by `@`."""

    __slots__ = ()
    m: Array[f32]

    def __getitem__(self, place: tuple[int, int]) -> f32:
        return self.m[place]

    def __setitem__(self, place: tuple[int, int], value: f32) -> None:
        self.m[place] = value

    def __add__(self, other: Self) -> Self:
        return type(self)(*(_cells(self) + _cells(other)).ravel().tolist())

    def __sub__(self, other: Self) -> Self:
        return type(self)(*(_cells(self) - _cells(other)).ravel().tolist())

    def __mul__(self, factor: f32) -> Self:
        return type(self)(*(_cells(self) * np.float32(factor)).ravel().tolist())

    def __rmul__(self, factor: f32) -> Self:
        return self * factor

    def __matmul__(self, other: Any) -> Any:
        """`m @ m` is a matrix, `m @ v` a vector; each number is a sum from left to right."""
        left = _cells(self)
        right = _cells(other) if isinstance(other, MatrixMath) else lane_numbers(other, other)
        total = left[:, 0:1] * np.atleast_2d(right)[0] if right.ndim > 1 else left[:, 0] * right[0]
        for k in range(1, len(left)):
            step = np.outer(left[:, k], right[k]) if right.ndim > 1 else left[:, k] * right[k]
            total = total + step
        return type(other)(*total.ravel().tolist())


def _cells(matrix: MatrixMath) -> "np.ndarray[Any, Any]":
    return np.asarray(matrix.m)


class f32x2x2(MatrixMath, Struct):
    """A matrix of 2 rows and 2 columns; made from its numbers, row by row."""

    m: Array[f32] = array(2, 2)

    def __init__(self, *numbers: f32) -> None:
        super().__init__(m=square(numbers, 2))


class f32x3x3(MatrixMath, Struct):
    """A matrix of 3 rows and 3 columns; made from its numbers, row by row."""

    m: Array[f32] = array(3, 3)

    def __init__(self, *numbers: f32) -> None:
        super().__init__(m=square(numbers, 3))


class f32x4x4(MatrixMath, Struct):
    """A matrix of 4 rows and 4 columns; made from its numbers, row by row."""

    m: Array[f32] = array(4, 4)

    def __init__(self, *numbers: f32) -> None:
        super().__init__(m=square(numbers, 4))


def square(numbers: tuple[float, ...], rows: int) -> "np.ndarray[Any, Any]":
    """The numbers of a square matrix as rows, or an error that counts them."""
    if len(numbers) != rows * rows:
        raise ArgumentTypeError(
            f"a {rows} by {rows} matrix has {rows * rows} numbers, and {len(numbers)} are given",
            advice="give them row by row",
        )
    return np.reshape(np.array(numbers, np.float32), (rows, rows))


MatrixT = TypeVar("MatrixT", bound=MatrixMath)


def transpose(matrix: MatrixT) -> MatrixT:
    """Rows become columns."""
    return type(matrix)(*_cells(matrix).T.ravel().tolist())


_SCHEMAS: dict[StructType, int] = {
    f32x2x2.__schema__: 2,
    f32x3x3.__schema__: 3,
    f32x4x4.__schema__: 4,
}


def matrix_of(struct: StructType) -> int | None:
    """The number of rows of a matrix type; None for other structs."""
    return _SCHEMAS.get(struct)

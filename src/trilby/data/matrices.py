"""Matrices: small square structs of `f32` that multiply with each other and with vectors.

In memory a matrix is a struct with one array in row-major order.
"""

from typing import Any, ClassVar, Generic, Self, TypeGuard, TypeVar, cast, overload

import numpy as np

from trilby.arguments import brief
from trilby.data.dtypes import F32
from trilby.data.lanes import FloatVector, VectorMath, flat_numbers, lane_numbers
from trilby.data.layout import Layout
from trilby.data.markers import array
from trilby.data.names import f32
from trilby.data.record import Record
from trilby.data.vectors import NumberedStruct, f32x2, f32x3, f32x4
from trilby.data.views import Array
from trilby.data.window import number
from trilby.errors import ArgumentTypeError

V = TypeVar("V", bound=FloatVector)


class MatrixMath(Generic[V]):
    """Sums, products with a number, and products of matrices and vectors by `@`."""

    __slots__ = ()
    m: Array[f32]
    __layout__: ClassVar[Layout]

    def __init__(self, *numbers: f32 | VectorMath[float]) -> None:
        rows, _ = self.__layout__.slots["m"].shape
        cells = [number(cell, F32) for cell in flat_numbers(self, numbers, rows * rows)]
        square = np.array(cells, np.float32).reshape(rows, rows)
        Record.__init__(cast("Record", self), m=square)

    def __getitem__(self, place: tuple[int, int]) -> f32:
        return self.m[place]

    def __setitem__(self, place: tuple[int, int], value: f32) -> None:
        self.m[place] = value

    def __add__(self, other: Self) -> Self:
        return _made(self, _cells(self) + _partner_cells(self, other))

    def __sub__(self, other: Self) -> Self:
        return _made(self, _cells(self) - _partner_cells(self, other))

    def __mul__(self, factor: f32) -> Self:
        return _made(self, _cells(self) * _factor(self, factor))

    def __rmul__(self, factor: f32) -> Self:
        return self * factor

    def __neg__(self) -> Self:
        return _made(self, -_cells(self))

    @overload
    def __matmul__(self, other: Self) -> Self: ...
    @overload
    def __matmul__(self, other: V) -> V: ...
    def __matmul__(self, other: Any) -> Any:
        """`m @ m` is a matrix, `m @ v` a vector; each number is a sum from left to right."""
        left = _cells(self)
        right = _cells(other) if _is_matrix(other) else lane_numbers(other, other)
        if len(right) != len(left):
            raise ArgumentTypeError(
                f"`@` takes a matrix and a matrix or vector of its size, and gets "
                f"`{type(self).__name__}` and `{type(other).__name__}`",
                advice="use as many rows and columns on both sides",
            )
        columns = right.reshape(len(left), -1)
        total = np.outer(left[:, 0], columns[0])
        for k in range(1, len(left)):
            total = total + np.outer(left[:, k], columns[k])
        return type(other)(*total.ravel().tolist())


MatrixT = TypeVar("MatrixT", bound=MatrixMath[Any])


def _is_matrix(value: object) -> TypeGuard[MatrixMath[Any]]:
    return isinstance(value, MatrixMath)


def _partner_cells(matrix: object, other: MatrixMath[Any]) -> "np.ndarray[Any, Any]":
    if type(other) is not type(matrix):
        raise _no_operator(matrix, other)
    return _cells(other)


def _factor(matrix: object, factor: object) -> np.float32:
    if not isinstance(factor, int | float | np.number):
        raise _no_operator(matrix, factor)
    return np.float32(cast("float", factor))


def _no_operator(matrix: object, other: object) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"`{type(matrix).__name__}` and `{type(other).__name__}` have no such operator",
        advice="matrices have `+` and `-` with each other, `*` with a number, and `@`",
    )


def _cells(matrix: MatrixMath[Any]) -> "np.ndarray[Any, Any]":
    return np.asarray(matrix.m)


def _made(like: MatrixT, cells: "np.ndarray[Any, Any]") -> MatrixT:
    return type(like)(*cells.ravel().tolist())


class f32x2x2(MatrixMath[f32x2], NumberedStruct):
    """A matrix of 2 rows and 2 columns; made from its numbers, row by row."""

    m: Array[f32] = array(2, 2)


class f32x3x3(MatrixMath[f32x3], NumberedStruct):
    """A matrix of 3 rows and 3 columns; made from its numbers, row by row."""

    m: Array[f32] = array(3, 3)


class f32x4x4(MatrixMath[f32x4], NumberedStruct):
    """A matrix of 4 rows and 4 columns; made from its numbers, row by row."""

    m: Array[f32] = array(4, 4)


def transpose(matrix: MatrixT) -> MatrixT:
    """Rows become columns."""
    if not _is_matrix(matrix):
        raise ArgumentTypeError(
            f"`transpose` takes a matrix, and {brief(matrix)} is {type(matrix).__name__}",
            advice="make one: `f32x2x2(a, b, c, d)`",
        )
    return _made(matrix, _cells(matrix).T)

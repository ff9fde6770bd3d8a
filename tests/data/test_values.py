from typing import Any

import numpy as np
import pytest

from trilby.data.dtypes import BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U64, ScalarType
from trilby.data.window import check_shape, number, numbers
from trilby.errors import ArgumentTypeError, ArgumentValueError

FITTING: list[tuple[Any, ScalarType, Any]] = [
    (3, I32, 3),
    (-128, I8, -128),
    (2**64 - 1, U64, 2**64 - 1),
    (True, I32, 1),
    (1, BOOL, 1),
    (np.int64(7), U8, 7),
    (np.bool(True), BOOL, True),
    (3, F32, 3.0),
    (0.5, F16, 0.5),
    (np.float32(0.5), F64, 0.5),
    (np.array(4), I16, 4),
]


@pytest.mark.parametrize(("value", "target", "expected"), FITTING, ids=str)
def test_a_number_that_fits(value: Any, target: ScalarType, expected: Any) -> None:
    assert number(value, target) == expected
    assert numbers(value, target).astype(target.numpy) == expected


OUT_OF_BOUNDS: list[tuple[Any, ScalarType]] = [
    (128, I8),
    (-1, U8),
    (2**31, I32),
    (2**64, U64),
    (2, BOOL),
    (10**400, F64),
    (np.int64(300), U8),
]


@pytest.mark.parametrize(("value", "target"), OUT_OF_BOUNDS, ids=str)
def test_a_number_out_of_bounds(value: Any, target: ScalarType) -> None:
    with pytest.raises(OverflowError):
        number(value, target)
    with pytest.raises(OverflowError):
        numbers([0, value], target)
    with pytest.raises(OverflowError):
        numbers(value, target)


@pytest.mark.parametrize("value", [1.5, 3.0, np.float32(1), 1j, "1", None, [1, 2], object()])
def test_what_is_no_integer(value: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="cannot be stored as i32") as caught:
        number(value, I32)
    assert caught.value.advice


@pytest.mark.parametrize(
    "values", [[1.5], [1, 2.0], np.zeros(3), ["a"], [None], [1j], {1, 2}, {"a": 1}, "abc", object()]
)
def test_what_are_no_integers(values: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="cannot be stored as i64"):
        numbers(values, I64)


def test_an_array_that_fits_is_not_copied() -> None:
    values = np.arange(5, dtype=np.int64)
    assert numbers(values, I32) is values
    assert numbers(values, F32) is values


def test_ranges_iterators_and_nothing() -> None:
    assert numbers(range(2, 11, 3), I32).tolist() == [2, 5, 8]
    assert numbers(iter([1, 2]), I32).tolist() == [1, 2]
    assert numbers([], I32).size == 0


def test_integers_beyond_64_bits_name_the_offender() -> None:
    with pytest.raises(OverflowError, match=f"{2**70} is out of bounds for i64"):
        numbers([1, 2**70], I64)
    assert numbers([[1], [2**70]], F64).tolist() == [[1.0], [2.0**70]]


def test_shapes_stretch_only_to_what_is_there() -> None:
    for shape in ((), (4,), (3, 4), (1, 4), (3, 1)):
        check_shape(shape, (3, 4))
    for shape in ((3,), (2, 4), (5, 3, 4)):
        with pytest.raises(ArgumentValueError, match="do not fit into shape"):
            check_shape(shape, (3, 4))

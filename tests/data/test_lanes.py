"""What all vectors share."""

import numpy as np
import pytest

import trilby as tb
from trilby.data.dtypes import F16, U8
from trilby.data.lanes import (
    flat_numbers,
    is_vector,
    lane_by_lane,
    lane_names,
    lane_numbers,
    lane_type,
)


def test_lanes_have_names_and_a_type() -> None:
    assert lane_names(tb.u8x3(1, 2, 3)) == ("x", "y", "z")
    assert lane_type(tb.u8x3(1, 2, 3)) is U8
    assert lane_type(tb.f16x2(1.0, 2.0)) is F16
    assert is_vector(tb.f16x2(1.0, 2.0))
    assert not is_vector(tb.f32x2x2(1.0, 2.0, 3.0, 4.0))


def test_numbers_are_brought_to_the_type_of_the_lanes() -> None:
    v = tb.u8x2(1, 255)
    assert lane_numbers(v, v).dtype == np.uint8
    assert lane_numbers(v, 3).shape == ()
    with pytest.raises(OverflowError):
        lane_numbers(v, 256)


def test_a_vector_is_made_by_an_operation_on_lanes() -> None:
    v = tb.u8x2(1, 255)
    assert v + 1 == tb.u8x2(2, 0)
    assert lane_by_lane(max, v, v, 7) == tb.u8x2(7, 255)


def test_vectors_among_numbers_give_their_lanes() -> None:
    v = tb.f32x2(2.0, 3.0)
    assert flat_numbers(v, (1.0, v, 4.0), 4) == [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(TypeError, match="`f32x2` has 2 numbers, and 0 are given"):
        flat_numbers(v, (), 2)

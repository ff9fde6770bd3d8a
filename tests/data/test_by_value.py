import struct

import numpy as np
import pytest

from trilby.data.dtypes import BF16, BOOL, F16, F32, I64, SCALARS, U8, type_by_value, value_by_value


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, 0.1, 65504.0, -2.5, float("inf")])
def test_halves_travel_as_their_bits(value: float) -> None:
    (bits,) = struct.unpack("<H", struct.pack("<e", value))
    assert value_by_value(F16, value) == bits


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, 0.5, -2.5, 2.0**127, float("inf")])
def test_a_bf16_travels_as_the_upper_half_of_an_f32(value: float) -> None:
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    assert value_by_value(BF16, value) == bits >> 16


def test_bools_travel_as_bytes() -> None:
    travelled = [value_by_value(BOOL, value) for value in (True, False)]
    assert travelled == [1, 0]
    assert not any(isinstance(value, bool) for value in travelled)


def test_other_numbers_travel_as_they_are() -> None:
    assert value_by_value(I64, -(2**63)) == -(2**63)
    assert value_by_value(U8, 255) == 255
    assert value_by_value(F32, 0.1) == 0.1


def test_types() -> None:
    assert type_by_value(BOOL) == np.uint8
    assert type_by_value(F16) == type_by_value(BF16) == np.uint16
    for kind in set(SCALARS.values()) - {BOOL, F16, BF16}:
        assert type_by_value(kind) == kind.numpy

"""Scalar types against NumPy, and `bf16` against ml_dtypes, which is where its dtype is from."""

import math
from itertools import product

import ml_dtypes
import numpy as np
import pytest

from trilby.data.dtypes import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    SCALARS,
    U8,
    U16,
    U32,
    U64,
    ScalarType,
    assignable,
    convert,
    promote,
    round_to,
    scalar_of,
    true_division_type,
)

NUMPYS_OWN = [t for t in SCALARS.values() if t is not BF16]
PAIRS = list(product(NUMPYS_OWN, repeat=2))


def named(pair: tuple[ScalarType, ScalarType]) -> str:
    return "-".join(map(str, pair))


@pytest.mark.parametrize("pair", PAIRS, ids=named)
def test_types_promote_as_in_numpy(pair: tuple[ScalarType, ScalarType]) -> None:
    left, right = pair
    both = (np.ones(1, left.numpy) * np.ones(1, right.numpy)).dtype
    expected = np.dtype(np.int32) if left is right is BOOL else both
    assert promote(left, right).numpy == expected


@pytest.mark.parametrize("pair", PAIRS, ids=named)
def test_what_is_stored_without_a_cast_is_what_numpy_stores(
    pair: tuple[ScalarType, ScalarType],
) -> None:
    source, target = pair
    try:
        np.copyto(np.zeros(1, target.numpy), np.zeros(1, source.numpy), casting="same_kind")
        stored = True
    except TypeError:
        stored = False
    assert assignable(source, target) == stored


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (BOOL, BF16),
        (I8, BF16),
        (U8, BF16),
        (I16, F32),
        (U16, F32),
        (I32, F64),
        (U32, F64),
        (I64, F64),
        (U64, F64),
        (F16, F32),
        (BF16, BF16),
        (F32, F32),
        (F64, F64),
    ],
)
def test_bf16_promotes_as_f16_does_and_beside_f16_to_f32(
    other: ScalarType, expected: ScalarType
) -> None:
    assert promote(BF16, other) is expected
    assert promote(other, BF16) is expected


@pytest.mark.parametrize("other", [BOOL, I8, U8, F32, F64])
def test_where_ml_dtypes_promotes_bf16_we_do_the_same(other: ScalarType) -> None:
    assert promote(BF16, other).numpy == np.result_type(ml_dtypes.bfloat16, other.numpy)


@pytest.mark.parametrize("other", SCALARS.values(), ids=str)
def test_bf16_is_stored_without_a_cast_in_floats_only(other: ScalarType) -> None:
    assert assignable(BF16, other) == other.is_float
    assert assignable(other, BF16)


def test_bf16_is_the_dtype_of_ml_dtypes() -> None:
    assert BF16.numpy == np.dtype(ml_dtypes.bfloat16)
    assert scalar_of(np.dtype(ml_dtypes.bfloat16)) is BF16
    assert (BF16.size, BF16.bits, BF16.is_half, BF16.numpy_name) == (
        2,
        16,
        True,
        "ml_dtypes.bfloat16",
    )
    assert true_division_type(BF16) is BF16
    assert [t for t in SCALARS.values() if t.is_half] == [F16, BF16]


def test_bf16_rounds_to_the_nearest_and_ties_to_even() -> None:
    step = 2.0**-7  # the distance of two numbers above 1
    assert round_to(1 + step / 2, BF16) == 1.0
    assert round_to(1 + 3 * step / 2, BF16) == 1 + 2 * step
    assert round_to(1 + step / 2 + 2.0**-20, BF16) == 1 + step
    assert round_to(3.3895313892515355e38, BF16) == 3.3895313892515355e38  # the largest
    assert round_to(3.4e38, BF16) == math.inf
    assert round_to(-1e300, BF16) == -math.inf
    assert math.isnan(round_to(math.nan, BF16))
    assert round_to(2.0**-133, BF16) == 2.0**-133  # the smallest above zero
    assert round_to(2.0**-134, BF16) == 0.0


def test_every_bf16_is_kept() -> None:
    every = np.arange(2**16, dtype=np.uint16).view(ml_dtypes.bfloat16)
    with np.errstate(invalid="ignore"):  # some are NaN of the kind that complains
        numbers = every[np.isfinite(every)].tolist()
    assert [round_to(number, BF16) for number in numbers] == numbers


@pytest.mark.parametrize(
    "value", [2**30 + 2**22 + 1, 2**62 + 2**54 + 1, 2**53 + 1, 2**64 - 1, -(2**63), 257, -1]
)
def test_an_integer_becomes_bf16_by_way_of_f32(value: int) -> None:
    dtype = np.int64 if value < 2**63 else np.uint64
    expected = np.array(value, dtype).astype(np.float32).astype(ml_dtypes.bfloat16)
    assert convert(value, BF16) == float(expected)
    assert convert(value, F32) == float(np.array(value, dtype).astype(np.float32))

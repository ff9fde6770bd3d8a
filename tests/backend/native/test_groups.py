"""How work items are put into groups for a processor."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trilby.backend.native.host_processor import MAX_GROUP_ITEMS, native_group
from trilby.data.ndrange import NDRange
from trilby.errors import RangeError


@pytest.mark.parametrize(
    ("size", "threads", "expected"),
    [
        (1, 2, (1, 1, 1)),
        (40, 2, (16, 1, 1)),
        (1024, 2, (128, 1, 1)),
        (1_000_000, 2, (4096, 1, 1)),
        (10_000, 2, (1280, 1, 1)),
        ((1920, 1080), 2, (1920, 1, 1)),
        ((16, 100_000), 2, (16, 32, 1)),
        ((16, 4), 2, (16, 1, 1)),
        ((64, 64, 64), 4, (64, 8, 1)),
    ],
)
def test_what_suits(
    size: int | tuple[int, ...], threads: int, expected: tuple[int, int, int]
) -> None:
    assert native_group(NDRange(size), threads) == expected


def test_what_is_asked_for_is_given() -> None:
    assert native_group(NDRange((64, 64), (8, 4)), 2) == (8, 4, 1)
    with pytest.raises(RangeError, match="too large"):
        native_group(NDRange((128, 128), (128, 128)), 2)


@given(
    st.lists(st.integers(1, 3000), min_size=1, max_size=3).map(tuple),
    st.integers(1, 64),
)
def test_groups_are_never_too_large(size: tuple[int, ...], threads: int) -> None:
    x, y, z = native_group(NDRange(size), threads)
    assert 1 <= x * y * z <= MAX_GROUP_ITEMS
    row, rows, layers = NDRange(size).padded
    assert (x <= row, y <= rows, z <= layers) == (True, True, True)

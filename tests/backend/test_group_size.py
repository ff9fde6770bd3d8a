import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.messages import message

from trilby.backend.group_size import GroupLimits, fitting, group_size, rounded_up
from trilby.data.ndrange import NDRange
from trilby.errors import RangeError

ROOMY = GroupLimits(4096, (4096, 4096, 4096))


@pytest.mark.parametrize(
    ("dimensions", "limits", "expected"),
    [
        (1, ROOMY, (128,)),
        (2, ROOMY, (16, 8)),
        (3, ROOMY, (16, 8, 1)),
        (1, GroupLimits(64, (1024, 1024, 64)), (64,)),
        (2, GroupLimits(64, (1024, 1024, 64)), (8, 8)),
        (3, GroupLimits(32, (1024, 1024, 64)), (4, 8, 1)),
        (2, GroupLimits(1024, (1024, 1, 1)), (16, 1)),
        (1, GroupLimits(1, (1, 1, 1)), (1,)),
        (2, GroupLimits(100, (1024, 1024, 64)), (8, 8)),
    ],
)
def test_the_usual_group_shrinks_to_what_the_device_takes(
    dimensions: int, limits: GroupLimits, expected: tuple[int, ...]
) -> None:
    assert group_size(NDRange((100,) * dimensions), limits) == expected


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (1, (128,)),
        (1000, (128,)),
        ((1000, 2), (128, 1)),
        ((127, 500), (16, 8)),
        (2**16 - 1, (128,)),
        (2**16, (512,)),
        ((2**16, 3), (512, 1)),
        ((500, 2**16), (128, 1)),
    ],
)
def test_wide_ranges_have_wide_groups(
    size: int | tuple[int, ...], expected: tuple[int, ...]
) -> None:
    assert group_size(NDRange(size), ROOMY) == expected


@given(
    st.integers(1, 3),
    st.integers(1, 5000),
    st.tuples(st.integers(1, 200), st.integers(1, 200), st.integers(1, 200)),
)
def test_a_chosen_group_is_always_within_the_limits(
    dimensions: int, items: int, axes: tuple[int, int, int]
) -> None:
    size = NDRange((200 if items % 2 else 100,) * dimensions)
    local = group_size(size, GroupLimits(items, axes))
    assert len(local) == dimensions
    assert 1 <= math.prod(local) <= items
    assert all(1 <= n <= limit for n, limit in zip(local, axes, strict=False))


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=3))
def test_whole_groups_cover_the_range_and_not_one_group_more(size: list[int]) -> None:
    asked = NDRange(tuple(size))
    local = group_size(asked, ROOMY)
    for n, group, whole in zip(size, local, rounded_up(asked, local), strict=True):
        assert whole % group == 0
        assert n <= whole < n + group


def test_a_group_that_was_asked_for_is_taken_as_it_is() -> None:
    assert group_size(NDRange((100, 100), local=(7, 3)), ROOMY) == (7, 3)


def test_a_group_that_is_too_long_along_one_axis() -> None:
    limits = GroupLimits(1024, (1024, 1024, 64))
    with pytest.raises(RangeError) as caught:
        group_size(NDRange((2, 2, 200), local=(1, 1, 100)), limits)
    assert message(caught.value) == (
        "a group of 1 × 1 × 100 is too long: the device takes 64 work items along z\n"
        "  help: `local=(1, 1, 50)` fits; without a local size one that suits the device is chosen"
    )


def test_a_group_of_too_many() -> None:
    limits = GroupLimits(256, (1024, 1024, 64))
    with pytest.raises(RangeError) as caught:
        group_size(NDRange((64, 64), local=(32, 16)), limits)
    assert message(caught.value) == (
        "a group of 32 × 16 = 512 work items is too large: the device takes 256 for this kernel\n"
        "  help: `local=(16, 16)` fits; without a local size one that suits the device is chosen"
    )


@pytest.mark.parametrize(
    ("size", "asked", "expected"),
    [
        ((4096,), (1024,), (256,)),
        ((3000,), (1000,), (250,)),  # 250 divides the range as 1000 did
        ((3001,), (1000,), (250,)),
        ((64, 64), (64, 64), (16, 16)),
        ((63, 63), (21, 21), (9, 21)),
        ((8, 8, 8), (8, 8, 8), (4, 8, 8)),
        ((2, 2, 200), (1, 1, 100), (1, 1, 50)),
    ],
)
def test_the_advice_is_a_group_that_fits(
    size: tuple[int, ...], asked: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    limits = GroupLimits(256, (1024, 1024, 64))
    assert fitting(NDRange(size), asked, limits) == expected
    assert group_size(NDRange(size, expected), limits) == expected


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=3),
    st.lists(st.integers(1, 40), min_size=3, max_size=3),
    st.integers(1, 300),
)
def test_the_advice_fits_always_and_fills_the_range_where_the_wish_did(
    local: list[int], groups: list[int], items: int
) -> None:
    limits = GroupLimits(items, (32, 16, 8))
    asked = tuple(local)
    size = tuple(n * count for n, count in zip(local, groups, strict=False))
    found = fitting(NDRange(size), asked, limits)
    assert group_size(NDRange(size, found), limits) == found
    assert all(n % group == 0 for n, group in zip(size, found, strict=True))

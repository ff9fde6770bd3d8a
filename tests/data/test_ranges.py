"""Sets of bytes, against Python's own sets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trilby.data.ranges import Range, Ranges

PARTS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=8)


def members(ranges: Ranges) -> set[int]:
    return {byte for start, stop in ranges for byte in range(start, stop)}


def plain(parts: list[Range]) -> set[int]:
    return {byte for start, stop in parts for byte in range(start, stop)}


@given(PARTS, PARTS)
def test_operations_are_those_of_sets(left: list[Range], right: list[Range]) -> None:
    a, b = Ranges.of(*left), Ranges.of(*right)
    assert members(a | b) == plain(left) | plain(right)
    assert members(a & b) == plain(left) & plain(right)
    assert members(a - b) == plain(left) - plain(right)
    assert a.covers(b) == (plain(left) >= plain(right))
    assert a.meets(b) == bool(plain(left) & plain(right))
    assert a.total == len(plain(left))


@given(PARTS, PARTS)
def test_parts_are_sorted_and_apart(left: list[Range], right: list[Range]) -> None:
    a, b = Ranges.of(*left), Ranges.of(*right)
    for made in (a, a | b, a & b, a - b):
        flat = [end for part in made for end in part]
        assert flat == sorted(set(flat))


@given(PARTS, st.integers(-5, 5))
def test_a_set_can_be_shifted(parts: list[Range], distance: int) -> None:
    shifted = Ranges.of(*parts).shifted(distance)
    assert members(shifted) == {byte + distance for byte in plain(parts)}


@pytest.mark.parametrize(
    ("ranges", "hull"),
    [(Ranges.EMPTY, (0, 0)), (Ranges.of((3, 5), (9, 12)), (3, 12)), (Ranges.span(4, 4), (0, 0))],
)
def test_the_hull_is_around_all(ranges: Ranges, hull: Range) -> None:
    assert ranges.hull == hull


def test_equal_sets_are_equal() -> None:
    assert Ranges.of((0, 4), (4, 8)) == Ranges.span(0, 8)
    assert hash(Ranges.of((0, 4), (4, 8))) == hash(Ranges.span(0, 8))
    assert repr(Ranges.of((0, 4), (6, 8))) == "Ranges(0…4, 6…8)"

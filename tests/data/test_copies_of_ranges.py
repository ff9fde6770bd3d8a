"""How sets of bytes are cut into copies."""

from hypothesis import given
from hypothesis import strategies as st

from trilby.data.ranges import MOST_COPIES, SMALL_GAP, Ranges, copies

ALL = Ranges.span(0, 100_000)


def piece(start: int, size: int, rows: int = 1, pitch: int = 0) -> Ranges:
    return Ranges.span(start, start + size).repeated(pitch, rows)


def test_one_range_is_one_copy() -> None:
    assert copies(Ranges.span(3, 10), ALL) == [piece(3, 7)]
    assert copies(Ranges.EMPTY, ALL) == []


def test_a_small_gap_goes_along_where_it_may() -> None:
    wanted = Ranges.of((0, 4), (4 + SMALL_GAP, 100))
    assert copies(wanted, ALL) == [piece(0, 100)]
    assert copies(wanted, wanted) == [piece(0, 4), piece(4 + SMALL_GAP, 96 - SMALL_GAP)]
    assert copies(wanted, wanted | Ranges.span(4, 10)) == copies(wanted, wanted)


def test_a_gap_that_is_not_small_is_left_out() -> None:
    wanted = Ranges.of((0, 4), (4 + SMALL_GAP + 1, 100))
    assert copies(wanted, ALL) == [piece(0, 4), piece(4 + SMALL_GAP + 1, 95 - SMALL_GAP)]


def test_rows_of_one_size_at_equal_distances_are_one_copy() -> None:
    wanted = Ranges.of(*((at, at + 8) for at in range(40, 1000, 64)))
    assert copies(wanted, ALL) == [piece(40, 8, 15, 64)]
    assert copies(wanted, ALL)[0].nbytes == 15 * 8 == wanted.nbytes


def test_rows_that_lie_near_each_other_are_copied_without_what_is_between() -> None:
    wanted = Ranges.of(*((at, at + 4) for at in range(0, 400, 8)))
    assert copies(wanted, ALL) == [piece(0, 4, 50, 8)]


def test_rows_that_differ_are_copied_one_by_one() -> None:
    longer = Ranges.of((0, 8), (64, 72), (128, 137))
    assert copies(longer, ALL) == [piece(0, 8), piece(64, 8), piece(128, 9)]
    farther = Ranges.of((0, 8), (64, 72), (129, 137))
    assert copies(farther, ALL) == [piece(0, 8), piece(64, 8), piece(129, 8)]


def ragged(count: int) -> Ranges:
    """Ranges that are no rows."""
    return Ranges.of(*((at * 100, at * 100 + 10 + at) for at in range(count)))


def test_too_many_copies_become_fewer_by_moving_what_lies_between() -> None:
    assert len(copies(ragged(MOST_COPIES), ALL)) == MOST_COPIES
    many = ragged(MOST_COPIES + 1)
    assert copies(many, ALL) == [piece(0, many.hull[1])]
    assert len(copies(many, many)) == MOST_COPIES + 1  # where nothing between them may move


PARTS = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), max_size=40).map(
    lambda parts: Ranges.of(*parts)
)


@given(wanted=PARTS, more=PARTS)
def test_all_that_is_wanted_is_moved_once_and_nothing_that_must_not(
    wanted: Ranges, more: Ranges
) -> None:
    movable = wanted | more
    found = copies(wanted, movable)
    moved = Ranges.of(*(pair for one in found for pair in one))
    assert moved.nbytes == sum(one.nbytes for one in found)
    assert all(one.rows or len(one) == 1 for one in found)
    assert moved.covers(wanted)
    assert movable.covers(moved)

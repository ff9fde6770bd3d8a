"""How sets of bytes are cut into copies."""

from hypothesis import given
from hypothesis import strategies as st

from trilby.data.ranges import Ranges
from trilby.runtime.replicas import MOST_COPIES, SMALL_GAP, Piece, cut

ALL = Ranges.span(0, 100_000)


def test_one_range_is_one_copy() -> None:
    assert cut(Ranges.span(3, 10), ALL) == [Piece(3, 7)]
    assert cut(Ranges.EMPTY, ALL) == []


def test_a_small_gap_goes_along_where_it_may() -> None:
    wanted = Ranges.of((0, 4), (4 + SMALL_GAP, 100))
    assert cut(wanted, ALL) == [Piece(0, 100)]
    assert cut(wanted, wanted) == [Piece(0, 4), Piece(4 + SMALL_GAP, 96 - SMALL_GAP)]
    assert cut(wanted, wanted | Ranges.span(4, 10)) == cut(wanted, wanted)


def test_a_gap_that_is_not_small_is_left_out() -> None:
    wanted = Ranges.of((0, 4), (4 + SMALL_GAP + 1, 100))
    assert cut(wanted, ALL) == [Piece(0, 4), Piece(4 + SMALL_GAP + 1, 95 - SMALL_GAP)]


def test_rows_of_one_size_at_equal_distances_are_one_copy() -> None:
    wanted = Ranges.of(*((at, at + 8) for at in range(40, 1000, 64)))
    assert cut(wanted, ALL) == [Piece(40, 8, 15, 64)]
    assert cut(wanted, ALL)[0].nbytes == 15 * 8 == wanted.total


def test_rows_that_lie_near_each_other_are_copied_without_what_is_between() -> None:
    wanted = Ranges.of(*((at, at + 4) for at in range(0, 400, 8)))
    assert cut(wanted, ALL) == [Piece(0, 4, 50, 8)]


def test_rows_that_differ_are_copied_one_by_one() -> None:
    longer = Ranges.of((0, 8), (64, 72), (128, 137))
    assert cut(longer, ALL) == [Piece(0, 8), Piece(64, 8), Piece(128, 9)]
    farther = Ranges.of((0, 8), (64, 72), (129, 137))
    assert cut(farther, ALL) == [Piece(0, 8), Piece(64, 8), Piece(129, 8)]


def ragged(count: int) -> Ranges:
    """Ranges that are no rows."""
    return Ranges.of(*((at * 100, at * 100 + 10 + at) for at in range(count)))


def test_too_many_copies_become_fewer_by_moving_what_lies_between() -> None:
    assert len(cut(ragged(MOST_COPIES), ALL)) == MOST_COPIES
    many = ragged(MOST_COPIES + 1)
    assert cut(many, ALL) == [Piece(0, many.hull[1])]
    assert len(cut(many, many)) == MOST_COPIES + 1  # where nothing between them may move


PARTS = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), max_size=40).map(
    lambda parts: Ranges.of(*parts)
)


@given(wanted=PARTS, more=PARTS)
def test_all_that_is_wanted_is_moved_once_and_nothing_that_must_not(
    wanted: Ranges, more: Ranges
) -> None:
    movable = wanted | more
    rows = [
        (piece.start + row * piece.pitch, piece.start + row * piece.pitch + piece.size)
        for piece in cut(wanted, movable)
        for row in range(piece.rows)
    ]
    moved = Ranges.of(*rows)
    assert moved.total == sum(stop - start for start, stop in rows)
    assert moved.covers(wanted)
    assert movable.covers(moved)

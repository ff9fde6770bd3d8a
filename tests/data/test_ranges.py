"""Sets of bytes, against Python's own sets."""

from collections.abc import Callable, Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trilby.data.ranges import Range, Ranges, StridedRange

PARTS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=8)


def members(parts: Iterable[Range]) -> set[int]:
    return {byte for start, stop in parts for byte in range(start, stop)}


@st.composite
def strided(draw: st.DrawFn) -> Ranges:
    """Runs that are repeated at one or two distances."""
    start = draw(st.integers(0, 60))
    ranges = Ranges.span(start, start + draw(st.integers(1, 9)))
    for _ in range(draw(st.integers(0, 2))):
        pitch = draw(st.sampled_from([1, 2, 3, 4, 5, 7, 8, 10, 12, 16, 20, 40]))
        ranges = ranges.repeated(pitch, draw(st.integers(1, 9)))
    return ranges


@st.composite
def combined(draw: st.DrawFn) -> Ranges:
    """What an operation makes of two of them."""
    left, right = draw(strided()), draw(strided())
    return draw(st.sampled_from([left | right, left & right, left - right]))


SETS = st.one_of(PARTS.map(lambda parts: Ranges.of(*parts)), strided(), combined())


@given(PARTS)
def test_a_union_has_the_bytes_of_all_its_ranges(parts: list[Range]) -> None:
    assert members(Ranges.of(*parts)) == members(parts)


@given(SETS, SETS)
def test_operations_are_those_of_sets(a: Ranges, b: Ranges) -> None:
    left, right = members(a), members(b)
    assert members(a | b) == left | right
    assert members(a & b) == left & right
    assert members(a - b) == left - right
    assert a.covers(b) == (left >= right)
    assert a.meets(b) == bool(left & right)
    assert (a == b) == (left == right)


@given(SETS, SETS)
def test_ranges_are_sorted_and_apart(a: Ranges, b: Ranges) -> None:
    for made in (a, a | b, a & b, a - b):
        flat = [end for pair in made for end in pair]
        assert flat == sorted(set(flat))
        assert (len(made), made.nbytes) == (len(flat) // 2, len(members(made)))
        assert made.hull == ((flat[0], flat[-1]) if flat else (0, 0))
        assert not made or made.ends == ((flat[0], flat[1]), (flat[-2], flat[-1]))


@given(SETS)
def test_sets_with_the_same_bytes_are_equal(ranges: Ranges) -> None:
    again = Ranges.of(*ranges)
    assert ranges == again
    assert hash(ranges) == hash(again)
    one_by_one = Ranges.EMPTY
    for start, stop in reversed(list(ranges)):
        one_by_one |= Ranges.span(start, stop)
    assert ranges == one_by_one


@given(SETS, st.integers(-5, 5))
def test_a_set_can_be_shifted(ranges: Ranges, distance: int) -> None:
    assert members(ranges.shifted(distance)) == {byte + distance for byte in members(ranges)}


@given(SETS, st.integers(0, 50), st.integers(1, 6))
def test_a_set_can_be_repeated(ranges: Ranges, pitch: int, count: int) -> None:
    repeated = ranges.repeated(pitch, count)
    places = (step * pitch for step in range(count))
    assert members(repeated) == {byte + place for place in places for byte in members(ranges)}


@given(SETS)
def test_rows_have_one_size_and_one_distance(ranges: Ranges) -> None:
    pairs = list(ranges)
    sizes = {stop - start for start, stop in pairs}
    pitches = {after[0] - before[0] for before, after in pairwise(pairs)}
    if len(sizes) == len(pitches) == 1:
        assert ranges.rows == (*sizes, *pitches)
    else:
        assert ranges.rows is None


@pytest.mark.parametrize(
    ("ranges", "hull"),
    [(Ranges.EMPTY, (0, 0)), (Ranges.of((3, 5), (9, 12)), (3, 12)), (Ranges.span(4, 4), (0, 0))],
)
def test_the_hull_is_around_all(ranges: Ranges, hull: Range) -> None:
    assert ranges.hull == hull


def test_equal_sets_are_equal() -> None:
    assert Ranges.of((0, 4), (4, 8)) == Ranges.span(0, 8)
    assert hash(Ranges.of((0, 4), (4, 8))) == hash(Ranges.span(0, 8))
    assert Ranges.of((0, 4), (6, 8)) != Ranges.of((0, 3), (5, 8))
    assert repr(Ranges.of((0, 4), (6, 8))) == "Ranges(0…4, 6…8)"
    assert repr(column(0) | column(12)) == "Ranges(5000 × 0…4 12…16 by 400)"


# ------------------------------------------------------------------- a matrix of 5,000 rows

ROWS, PITCH = 5_000, 400
WHOLE = Ranges.span(0, ROWS * PITCH)


def column(start: int, size: int = 4) -> Ranges:
    return Ranges.span(start, start + size).repeated(PITCH, ROWS)


def row(number: int) -> Ranges:
    return Ranges.span(number * PITCH, (number + 1) * PITCH)


FEW: dict[str, tuple[Callable[[], Ranges], int, int]] = {
    "a column": (lambda: column(0), 1, ROWS * 4),
    "two columns": (lambda: column(0) | column(12), 1, ROWS * 8),
    "columns side by side": (lambda: column(4) | column(0), 1, ROWS * 8),
    "three columns": (lambda: column(0) | column(24) | column(12), 1, ROWS * 12),
    "one of two columns": (lambda: (column(0) | column(12)) - column(12), 1, ROWS * 4),
    "all but a column": (lambda: WHOLE - column(0), 1, ROWS * 396),
    "all but an inner column": (lambda: WHOLE - column(8), 3, ROWS * 396),
    "all but two columns": (lambda: WHOLE - column(0) - column(12), 1, ROWS * 392),
    "all again": (lambda: (WHOLE - column(8)) | column(8), 0, ROWS * PITCH),
    "a column of all": (lambda: column(8) & WHOLE, 1, ROWS * 4),
    "a column and a row": (lambda: column(8) | row(7), 3, ROWS * 4 + 396),
    "where they meet": (lambda: column(8) & row(7), 0, 4),
    "a column without a row": (lambda: column(8) - row(7), 2, (ROWS - 1) * 4),
    "a column with it again": (lambda: (column(8) - row(7)) | column(8) & row(7), 1, ROWS * 4),
    "a part of a column": (lambda: column(0, 40) & column(20, 40), 1, ROWS * 20),
    "every second row of it": (
        lambda: column(8) & row(0).repeated(2 * PITCH, ROWS // 2),
        1,
        ROWS * 2,
    ),
    "what another pitch leaves": (
        lambda: column(0) - Ranges.span(0, 4).repeated(3 * PITCH, ROWS),
        2,
        (ROWS - (ROWS + 2) // 3) * 4,
    ),
    "the inside of a cube": (
        lambda: Ranges.span(4, 248).repeated(256, 62).repeated(256 * 64, 62),
        1,
        62 * 62 * 244,
    ),
}


@pytest.mark.parametrize("what", FEW)
def test_parts_of_a_matrix_are_few_pieces(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    within = StridedRange.within

    def counted(piece: StridedRange, low: int, high: int) -> list[Range]:
        found = within(piece, low, high)
        assert len(found) < 100, "it was expanded"
        return found

    monkeypatch.setattr(StridedRange, "within", counted)
    made, most, nbytes = FEW[what]
    ranges = made()
    assert len(ranges.pieces) <= most
    assert ranges.nbytes == nbytes

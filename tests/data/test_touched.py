"""What is read, written and certainly overwritten."""

import pytest

from trilby.data.ranges import Ranges
from trilby.data.touched import Touched

COLUMN = Ranges.span(0, 4).repeated(16, 8)


@pytest.mark.parametrize(
    ("touched", "needs"),
    [
        (Touched(), Ranges.EMPTY),
        (Touched(reads=COLUMN), COLUMN),
        (Touched(writes=COLUMN, covers=COLUMN), Ranges.EMPTY),
        (Touched(writes=COLUMN), COLUMN),
        (Touched(writes=Ranges.span(0, 8), covers=Ranges.span(0, 2)), Ranges.span(2, 8)),
        (
            Touched(Ranges.span(0, 2), Ranges.span(4, 12), Ranges.span(4, 8)),
            Ranges.of((0, 2), (8, 12)),
        ),
    ],
)
def test_what_is_read_or_may_be_left_is_needed(touched: Touched, needs: Ranges) -> None:
    assert touched.needs == needs
    assert touched.shifted(100).needs == needs.shifted(100)


def test_two_arguments_that_are_one_buffer() -> None:
    reading, writing = Touched(reads=COLUMN), Touched(writes=COLUMN, covers=COLUMN)
    assert reading | writing == Touched(COLUMN, COLUMN, COLUMN)
    assert reading | Touched.NOTHING == reading


@pytest.mark.parametrize("part", ["reads", "writes", "covers"])
def test_nothing_is_touched_without_bytes(part: str) -> None:
    assert not Touched.NOTHING
    assert not Touched(**{part: Ranges.EMPTY})
    assert Touched(**{part: COLUMN})

"""What is known of memory, by its address."""

import pytest
from tests.runtime.contents import pending, replica, span

from trilby.data.ranges import Ranges
from trilby.runtime.content import Contents


def test_the_same_memory_has_one_content() -> None:
    contents = Contents()
    content = contents.around(100, 200)
    assert content.host == content.whole == Ranges.span(100, 200)
    assert content.fresh == Ranges.EMPTY
    assert contents.around(100, 200) is content
    assert contents.around(120, 130) is content


def test_memory_side_by_side_is_not_the_same() -> None:
    contents = Contents()
    middle = contents.around(100, 200)
    left, right = contents.around(50, 100), contents.around(200, 250)
    assert len({id(one) for one in (left, middle, right)}) == 3
    found = [contents.around(start, start + 1) for start in (50, 99, 100, 199, 200, 249)]
    assert found == [left, left, middle, middle, right, right]


@pytest.mark.parametrize("place", [(150, 250), (50, 150), (50, 250), (199, 201)])
def test_memory_that_overlaps_becomes_one(place: tuple[int, int]) -> None:
    contents = Contents()
    old = contents.around(100, 200)
    copy = replica(old)
    new = contents.around(*place)
    assert new.whole == Ranges.span(min(100, place[0]), max(200, place[1]))
    assert (copy.content, new.replicas, old.replicas) == (new, [copy], [])
    assert contents.around(100, 200) is new


def test_one_that_overlaps_several_joins_them() -> None:
    contents = Contents()
    first, second = contents.around(100, 200), contents.around(300, 400)
    third = contents.around(500, 600)
    versions = first.version, second.version
    joined = contents.around(150, 350)
    assert (first.version > versions[0], second.version > versions[1]) == (True, True)
    assert contents.around(100, 400) is joined
    assert contents.around(500, 600) is third


def test_what_was_known_of_the_parts_is_known_of_the_whole() -> None:
    contents = Contents()
    left, right = contents.around(1000, 1008), contents.around(1012, 1016)
    copy = replica(left)
    left.touch(span(0, 4), copy, "k")
    right.fresh = span(12, 16)
    coming, going = (span(0, 2), pending()), (span(2, 4), pending())
    left.arriving.append(coming)
    right.leaving.append(going)
    joined = contents.around(1004, 1014)
    assert joined.host == span(4, 16)  # also what lay between, and nobody knew
    assert joined.fresh == span(12, 16)
    assert joined.replicas == [copy]
    assert (joined.arriving, joined.leaving) == ([coming], [going])
    assert joined.version not in {left.version, right.version}


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ((0, 100), False),
        ((0, 101), True),
        ((120, 130), True),
        ((199, 300), True),
        ((200, 300), False),
        ((200, 301), True),
        ((0, 1000), True),
        ((400, 1000), False),
    ],
)
def test_whether_anything_is_known_of_some_memory(
    place: tuple[int, int], *, expected: bool
) -> None:
    contents = Contents()
    contents.around(100, 200)
    contents.around(300, 400)
    assert contents.knows(*place) is expected
    assert not Contents().knows(*place)


def test_who_wrote_the_parts_is_known_of_the_whole() -> None:
    contents = Contents()
    left, right = contents.around(1000, 1008), contents.around(1012, 1016)
    left.touch(span(0, 4), replica(left), "a kernel")
    right.touch(span(12, 16), None, "me")
    joined = contents.around(1004, 1014)
    assert joined.writer_of(span(0, 4)) == "a kernel"
    assert joined.writer_of(span(12, 16)) == "me"
    larger = contents.around(990, 1010)
    assert larger.writer_of(span(0, 4)) == "a kernel"


def test_memory_that_nobody_has_any_more_is_forgotten() -> None:
    contents = Contents()
    old = contents.around(100, 200)
    beside = contents.around(200, 300)
    contents.forget(old)
    contents.forget(old)  # once more is nothing
    assert contents.around(100, 200) is not old
    assert contents.around(200, 300) is beside


def test_forgetting_what_is_not_known_is_nothing() -> None:
    contents = Contents()
    old = contents.around(100, 200)
    joined = contents.around(150, 250)
    contents.forget(old)  # it is a part of the other
    assert contents.around(100, 200) is joined
    Contents().forget(old)

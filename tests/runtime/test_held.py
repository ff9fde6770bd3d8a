"""What a launch does with a buffer on its device: rule by rule."""

from collections.abc import Callable

import numpy as np
import pytest
from tests.runtime.contents import START, on_host, pending, replica, span
from trilby.runtime.held import HeldBuffer

from trilby.data.ranges import Ranges
from trilby.data.segment import RawViews
from trilby.runtime.content import Content, Replica

NOTHING = Ranges.EMPTY


def reading(content: Content, replica: Replica) -> HeldBuffer:
    """A launch that needs the first half of a buffer."""
    return HeldBuffer(content, replica, span(0, 8), NOTHING, NOTHING, NOTHING, NOTHING)


def test_what_is_needed_is_what_is_read_and_what_is_written_in_part() -> None:
    content = on_host()
    held = HeldBuffer(
        content, replica(content), span(0, 2), span(4, 12), span(4, 8), NOTHING, NOTHING
    )
    assert held.needs == span(0, 2) | span(8, 12)


@pytest.mark.parametrize("shared", [False, True])
def test_it_is_in_place_where_the_device_has_what_is_needed(shared: bool) -> None:  # noqa: FBT001 -- pytest gives it
    content = on_host()
    there = replica(content, NOTHING if shared else span(0, 8), shared=shared)
    assert reading(content, there).is_in_place
    content.host = there.valid = span(4, 16)
    assert not reading(content, there).is_in_place


def test_it_is_not_where_its_memory_belongs_to_another_content() -> None:
    content = on_host()
    there = replica(content, span(0, 16))
    assert reading(content, there).is_in_place
    content.replicas.clear()
    assert not reading(content, there).is_in_place


def test_it_is_not_where_there_is_a_raw_view() -> None:
    content = on_host()
    there = replica(content, span(0, 16))
    views = RawViews(START)
    content.raw_views.append(views)
    assert reading(content, there).is_in_place
    view = views.add(Ranges.span(0, 16), np.zeros(16, np.uint8))
    assert not reading(content, there).is_in_place
    del view
    assert not reading(content, there).is_in_place, "it may have been written before it ended"
    views.ended(content.whole)
    assert reading(content, there).is_in_place


UNDER_WAY: dict[str, Callable[[Content], object]] = {
    "a copy to the host": lambda content: content.arriving.append((span(0, 1), pending())),
    "a copy from the host": lambda content: content.leaving.append((span(0, 1), pending())),
    "another device": replica,
}


@pytest.mark.parametrize("what", UNDER_WAY)
def test_shared_memory_is_not_where_others_use_it(what: str) -> None:
    content = on_host()
    there = replica(content, shared=True)
    UNDER_WAY[what](content)
    assert not reading(content, there).is_in_place

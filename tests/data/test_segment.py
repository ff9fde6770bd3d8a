import array
import gc
import weakref

import numpy as np
import pytest
from tests.data.watching import recorded

from trilby.data.ranges import Ranges
from trilby.data.segment import PAGE, Segment, address_of, borrowed_bytes
from trilby.errors import BindingError, ReleasedError


@pytest.mark.parametrize("nbytes", [1, 100, PAGE, PAGE + 1, 1_000_000])
def test_new_memory_is_zero_and_begins_on_a_page(nbytes: int) -> None:
    segment = Segment.allocate(nbytes, "T")
    assert segment.nbytes == nbytes
    assert segment.address == address_of(segment.memory)
    assert segment.address % PAGE == 0
    assert not segment.memory.any()
    assert not segment.borrowed


def test_no_address_reaches_that_far() -> None:
    with pytest.raises(BindingError, match="more than an address can reach"):
        Segment.allocate(1 << 63, "T")


def test_released_memory_cannot_be_used() -> None:
    segment = Segment.allocate(8, "T")
    assert not segment.released
    segment.release()
    segment.release()
    assert segment.released
    for use in (
        lambda: segment.memory,
        lambda: segment.nbytes,
        lambda: segment.reading(Ranges.span(0, 1)),
        lambda: segment.writing(Ranges.span(0, 1)),
        lambda: segment.escape(Ranges.span(0, 1)),
    ):
        with pytest.raises(ReleasedError, match="this T was released"):
            use()


def test_the_watcher_hears_every_range_that_is_not_empty() -> None:
    segment = Segment.allocate(8, "T")
    recorder = recorded(segment)
    segment.reading(Ranges.span(0, 8))
    segment.writing(Ranges.span(2, 6))
    segment.written(Ranges.span(2, 6))
    for announce in (segment.reading, segment.writing, segment.written):
        announce(Ranges.EMPTY)
    assert recorder.events == [("read", 0, 8), ("write", 2, 4), ("wrote", 2, 4)]


def test_a_segment_can_be_referred_to_weakly() -> None:
    segment = Segment.allocate(8, "T")
    reference = weakref.ref(segment)
    assert reference() is segment
    del segment
    assert reference() is None


def test_an_escape_is_remembered_while_any_view_of_it_lives() -> None:
    segment = Segment.allocate(64, "T")
    recorder = recorded(segment)
    raw = segment.escape(Ranges.span(16, 24))
    assert recorder.take() == [("read", 16, 8), ("write", 16, 8), ("wrote", 16, 8)]
    assert recorder.escapes == 1
    views, whole = segment.raw_views, Ranges.span(0, 64).shifted(segment.address)
    assert views.ended(whole) == Ranges.EMPTY
    assert views.shown == Ranges.span(16, 24).shifted(segment.address)
    part = raw[2:4].reshape(2, 1).T
    del raw
    gc.collect()
    assert views.shown == Ranges.span(16, 24).shifted(segment.address)
    part[...] = 7
    assert segment.memory[18:20].tolist() == [7, 7]
    del part
    gc.collect()
    assert not views.shown
    assert views
    assert views.ended(whole) == Ranges.span(16, 24).shifted(segment.address)
    assert views.ended(whole) == Ranges.EMPTY
    assert not views


def test_borrowed_bytes_are_shared() -> None:
    numbers = np.arange(6, dtype=np.int32).reshape(2, 3)
    content = borrowed_bytes(numbers, "T")
    content[:4] = 1
    assert numbers[0, 0] == 0x01010101
    for memory in (bytearray(8), memoryview(bytearray(8)), array.array("i", [1, 2])):
        shared = borrowed_bytes(memory, "T")
        shared[0] = 9
        assert bytes(memory)[0] == 9


def test_borrowed_memory_is_kept_alive() -> None:
    numbers = np.arange(1000)
    content = borrowed_bytes(numbers, "T")
    del numbers
    gc.collect()
    assert content.view(np.int64)[999] == 999


@pytest.mark.parametrize(
    ("memory", "problem"),
    [
        (b"12345678", "a bytes, which is read-only"),
        (np.zeros(8)[::2], "row-major order"),
        (np.zeros((2, 3)).T, "row-major order"),
        (memoryview(bytearray(8))[::2], "a memoryview"),
        (3, "a int"),
        ([1, 2], "a list"),
        (np.array([None]), "ndarray of object"),
    ],
)
def test_memory_that_cannot_be_shared_is_refused(memory: object, problem: str) -> None:
    with pytest.raises(BindingError, match="T cannot be bound to") as caught:
        borrowed_bytes(memory, "T")
    assert problem in caught.value.problem
    assert caught.value.advice

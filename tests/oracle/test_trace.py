"""What a trace keeps, and what it refuses."""

import pytest

from trilby.oracle import Access, Trace, minimum
from trilby.source import Location

WHOLE = ((0, 8),)
READ = Access(reads=WHOLE)


def test_touches_are_kept_in_order_with_where_they_came_from() -> None:
    trace = Trace()
    a = trace.buffer("a", 8)
    trace.touch("gpu", {a: READ}, "double", Location("app.py", 3))
    trace.touch("host", {a: READ}, "print")
    assert [(touch.place, touch.label) for touch in trace.touches] == [
        ("gpu", "double"),
        ("host", "print"),
    ]
    assert str(trace.touches[0].location) == "app.py:3"


def test_buffers_are_numbered_and_begin_on_the_host() -> None:
    trace = Trace()
    assert [trace.buffer("a", 8), trace.buffer("b", 4, fresh=True)] == [0, 1]
    assert trace.buffers[0].valid == {"host": WHOLE}
    assert (trace.buffers[1].valid, trace.buffers[1].fresh) == ({}, ((0, 4),))


def test_content_that_is_nowhere_is_refused() -> None:
    trace = Trace()
    trace.buffer("a", 8, valid={"gpu": [(0, 4)]})
    with pytest.raises(ValueError, match=r"bytes 4…8 of `a` are neither fresh nor valid"):
        minimum(trace)


def test_content_at_two_devices_is_on_the_host_too() -> None:
    trace = Trace()
    trace.buffer("a", 8, valid={"gpu": WHOLE, "fpga": WHOLE})
    with pytest.raises(ValueError, match=r"bytes 0…8 of `a` are valid at two devices but not"):
        minimum(trace)


@pytest.mark.parametrize("wrong", [(-1, 4), (0, 9), (5, 3)])
def test_ranges_lie_in_their_buffer(wrong: tuple[int, int]) -> None:
    trace = Trace()
    a = trace.buffer("a", 8)
    trace.touch("host", {a: Access(reads=[wrong])})
    with pytest.raises(ValueError, match=r"is no range of `a`, which has 8 bytes"):
        minimum(trace)

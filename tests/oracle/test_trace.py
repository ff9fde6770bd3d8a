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


# ------------------------------------------------------------------ buffers that share bytes


def test_buffers_that_overlap_become_one() -> None:
    trace = Trace()
    low, apart, high = (trace.buffer(name, 8) for name in ("low", "apart", "high"))
    trace.touch("gpu", {low: READ, high: READ})
    trace.touch("host", {apart: READ})
    assert trace.join({low: 4, high: 0}) == [0, 1, 0]
    assert [(buffer.name, buffer.nbytes) for buffer in trace.buffers] == [
        ("low, high", 12),
        ("apart", 8),
    ]
    assert trace.touches[0].accesses == {0: Access(reads=((4, 12), (0, 8)))}
    assert trace.touches[1].accesses == {1: READ}
    assert minimum(trace, "range").bytes_up == 12


def test_what_was_known_first_of_shared_bytes_is_right() -> None:
    trace = Trace()
    a = trace.buffer("a", 8, valid={"gpu": WHOLE})
    b = trace.buffer("b", 8, fresh=[(4, 8)], valid={"host": [(0, 4)]})
    trace.join({a: 0, b: 4})
    (joined,) = trace.buffers
    assert joined.valid == {"gpu": [(0, 8)], "host": []}
    assert joined.fresh == [(8, 12)]
    assert joined.data == [(0, 8), (4, 12)]


def test_the_number_of_a_buffer_after_others_were_joined() -> None:
    trace = Trace()
    a, b, c, d = (trace.buffer(name, 8) for name in "abcd")
    trace.touch("gpu", {d: READ})
    assert trace.join({b: 0, c: 2}) == [0, 1, 1, 2]
    assert [buffer.number for buffer in trace.buffers] == [0, 1, 2]
    assert (trace.buffers[a].name, trace.touches[0].accesses) == ("a", {2: READ})

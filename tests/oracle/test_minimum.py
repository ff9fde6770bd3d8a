"""The minimum of traces that show one rule each."""

import pytest
from tests.oracle.runs import counts, nbytes

from trilby.oracle import Access, Trace, minimum
from trilby.oracle.minimum import Granularity

WHOLE = ((0, 8),)
READ = Access(reads=WHOLE)
WRITE = Access(writes=WHOLE, covers=WHOLE)
both = pytest.mark.parametrize("granularity", ["buffer", "range"])


@both
def test_an_empty_trace_moves_nothing(granularity: Granularity) -> None:
    trace = Trace()
    empty = trace.buffer("empty", 0)
    trace.touch("gpu", {empty: Access(reads=[(0, 0)], writes=[(0, 0)])})
    assert minimum(Trace(), granularity).nbytes == minimum(trace, granularity).nbytes == 0


@both
def test_a_device_that_shares_memory_needs_no_copies(granularity: Granularity) -> None:
    trace = Trace()
    trace.place("cpu", shares_memory_with_host=True)
    a = trace.buffer("a", 8, valid={"cpu": WHOLE, "gpu": WHOLE})
    trace.touch("cpu", {a: WRITE})
    trace.touch("host", {a: READ})
    trace.touch("cpu", {a: READ})
    assert counts(minimum(trace, granularity)) == (0, 0)


@both
def test_content_of_a_device_that_shares_memory_is_the_hosts(granularity: Granularity) -> None:
    trace = Trace()
    trace.place("cpu", shares_memory_with_host=True)
    a = trace.buffer("a", 8, valid={"cpu": WHOLE})
    trace.touch("gpu", {a: READ})
    assert counts(minimum(trace, granularity)) == (1, 0)


@both
def test_from_device_to_device_is_down_and_up(granularity: Granularity) -> None:
    trace = Trace()
    a = trace.buffer("a", 8)
    trace.touch("gpu", {a: WRITE})
    trace.touch("fpga", {a: READ})
    trace.touch("host", {a: READ})
    assert counts(minimum(trace, granularity)) == (1, 1)
    assert nbytes(minimum(trace, granularity)) == (8, 8)


@both
def test_what_is_newer_on_a_device_may_stay_there(granularity: Granularity) -> None:
    trace = Trace()
    a = trace.buffer("a", 8, valid={"gpu": WHOLE})
    trace.touch("gpu", {a: READ})
    assert minimum(trace, granularity).nbytes == 0


def test_bytes_outside_of_fields_are_not_data() -> None:
    trace = Trace()
    a = trace.buffer("a", 12, fields=[("x", 0, 4), ("y", 8, 12)])
    every = Access(writes=[(0, 4), (8, 12)], covers=[(0, 4), (8, 12)])
    trace.touch("gpu", {a: every})
    trace.touch("host", {a: Access(reads=[(4, 8)])}, "a length, which never changes")
    assert minimum(trace).nbytes == 0
    trace.touch("host", {a: Access(reads=[(0, 12)])})
    assert nbytes(minimum(trace)) == nbytes(minimum(trace, "range")) == (0, 8)


def test_half_a_fresh_buffer() -> None:
    trace = Trace()
    a = trace.buffer("a", 8, fresh=[(0, 4)])
    trace.touch("gpu", {a: READ})
    assert nbytes(minimum(trace)) == (8, 0)
    assert nbytes(minimum(trace, "range")) == (4, 0)


def test_content_in_two_places_comes_together() -> None:
    trace = Trace()
    a = trace.buffer("a", 8, valid={"host": [(0, 4)], "gpu": [(4, 8)]})
    trace.touch("host", {a: READ})
    trace.touch("gpu", {a: READ})
    assert counts(minimum(trace)) == counts(minimum(trace, "range")) == (1, 1)
    assert nbytes(minimum(trace, "range")) == (4, 4)


def test_one_copy_serves_touches_that_look_at_different_bytes() -> None:
    trace = Trace()
    a = trace.buffer("a", 8)
    trace.touch("gpu", {a: WRITE})
    for at in range(8):
        trace.touch("host", {a: Access(reads=[(at, at + 1)])})
    assert (minimum(trace, "range").downloads, minimum(trace, "range").bytes_down) == (1, 8)


def test_one_copy_does_not_serve_what_is_written_later() -> None:
    trace = Trace()
    a = trace.buffer("a", 8)
    for at in range(8):
        byte = [(at, at + 1)]
        trace.touch("gpu", {a: Access(writes=byte, covers=byte)})
        trace.touch("host", {a: Access(reads=byte)})
    assert (minimum(trace, "range").downloads, minimum(trace, "range").bytes_down) == (8, 8)


def test_a_copy_counts_where_only_a_part_could_have_come_earlier() -> None:
    trace = Trace()
    a = trace.buffer("a", 8)
    first = [(0, 1)]
    trace.touch("gpu", {a: WRITE})
    trace.touch("host", {a: Access(reads=first)}, "all but this byte could come along, too")
    trace.touch("gpu", {a: Access(writes=first, covers=first)})
    trace.touch("host", {a: READ})
    assert (minimum(trace, "range").downloads, minimum(trace, "range").bytes_down) == (2, 9)


def test_ranges_may_overlap() -> None:
    trace = Trace()
    a = trace.buffer("a", 100)
    trace.touch("gpu", {a: Access(reads=[(at, at + 20) for at in range(0, 50, 5)])})
    assert nbytes(minimum(trace, "range")) == (65, 0)


def test_many_pieces_and_many_touches_at_once() -> None:
    """Nothing is timed here; what grows with pieces × touches in Python would not end."""
    n, times = 2_000, 5_000
    trace = Trace()
    a = trace.buffer("a", 8 * n)
    odd = Access(writes=tuple((8 * i, 8 * i + 4) for i in range(n)))
    for _ in range(times):
        trace.touch("gpu", {a: odd})
        trace.touch("host", {a: Access(reads=[(0, 1)])})
    assert nbytes(minimum(trace, "range")) == (4 * n, times)


def test_the_table() -> None:
    trace = Trace()
    big, small = trace.buffer("a_very_long_name", 12_000), trace.buffer("b", 4, fresh=True)
    trace.touch("gpu", {big: Access(reads=[(0, 12_000)]), small: Access(writes=[(0, 4)])})
    trace.touch("host", {small: Access(reads=[(0, 4)])})
    assert str(minimum(trace, "range")).splitlines() == [
        "the least possible in byte ranges",
        "buffer             uploads        bytes  downloads        bytes",
        "a_very_long_name         1       12,000          0            0",
        "b                        0            0          1            4",
        "all                      1       12,000          1            4",
    ]

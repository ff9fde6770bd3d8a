"""Which write a copy carries, and who needed it, on traces written by hand."""

from trilby.oracle.excess import CopyMade
from trilby.oracle.trace import Access, Trace
from trilby.tools.timeline import ways_of

WHOLE = [(0, 8)]
FIRST, SECOND = [(0, 4)], [(4, 8)]


def test_from_the_last_write_to_the_first_read() -> None:
    trace = Trace()
    a = trace.buffer("a", 8)
    trace.touch("host", {a: Access(writes=WHOLE, covers=WHOLE)})
    trace.touch("host", {a: Access(writes=WHOLE, covers=WHOLE)})
    trace.touch("gpu", {a: Access(writes=WHOLE, covers=WHOLE)})
    trace.touch("gpu", {a: Access(reads=WHOLE)})
    made = [CopyMade(2, a, "host", "gpu", 0, 8)]
    assert ways_of(trace, made, [range(1)]) == [(1, 3)]


def test_only_bytes_of_the_copy_count() -> None:
    trace = Trace()
    a, b = trace.buffer("a", 8), trace.buffer("b", 8)
    trace.touch("gpu", {a: Access(writes=FIRST, covers=FIRST)})
    trace.touch("gpu", {a: Access(writes=SECOND, covers=SECOND)})
    trace.touch("gpu", {b: Access(writes=WHOLE, covers=WHOLE)})
    trace.touch("host", {a: Access(reads=SECOND)})
    trace.touch("host", {a: Access(reads=FIRST)})
    made = [CopyMade(3, a, "gpu", "host", 0, 4), CopyMade(3, a, "gpu", "host", 4, 4)]
    assert ways_of(trace, made, [range(1), range(1, 2)]) == [(0, 4), (1, 3)]
    assert ways_of(trace, made, [range(2)]) == [(1, 3)]


def test_what_may_be_left_as_it_is_was_needed() -> None:
    trace = Trace()
    a = trace.buffer("a", 8)
    trace.touch("gpu", {a: Access(writes=WHOLE)})
    assert ways_of(trace, [CopyMade(0, a, "host", "gpu", 0, 8)], [range(1)]) == [(None, 0)]


def test_a_copy_that_nobody_needed_or_recorded() -> None:
    trace = Trace()
    a = trace.buffer("a", 8)
    trace.touch("host", {a: Access(reads=WHOLE)})
    made = [CopyMade(1, a, "host", "gpu", 0, 8)]
    assert ways_of(trace, made, [range(1), range(0)]) == [(None, None)] * 2

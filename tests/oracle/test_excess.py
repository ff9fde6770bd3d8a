"""Every needless byte has one reason, and the reasons add up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracle.small_traces import small_traces
from tests.oracle.wasteful_copies import wasteful_copies

from trilby.oracle import Access, CopyMade, Excess, Kind, Trace, excess, minimum

WHOLE = ((0, 8),)
LEFT, RIGHT = ((0, 4),), ((4, 8),)
READ = Access(reads=WHOLE)
WRITE = Access(writes=WHOLE, covers=WHOLE)
CHANGE = Access(reads=WHOLE, writes=WHOLE, covers=WHOLE)


def up(position: int, start: int = 0, nbytes: int = 8) -> CopyMade:
    return CopyMade(position, 0, "host", "gpu", start, nbytes)


def down(position: int, start: int = 0, nbytes: int = 8) -> CopyMade:
    return CopyMade(position, 0, "gpu", "host", start, nbytes)


def trace_of(*touches: tuple[str, Access], fresh: bool = False) -> Trace:
    trace = Trace()
    trace.buffer("a", 8, fresh=fresh)
    for place, access in touches:
        trace.touch(place, {0: access})
    return trace


def reasons(trace: Trace, *copies: CopyMade) -> list[tuple[int, int, Kind]]:
    found = excess(trace, copies)
    beyond = sum(one.nbytes for one in found if one.kind.beyond_minimum)
    assert beyond == sum(c.nbytes for c in copies) - minimum(trace, "range").nbytes
    return [(one.copy, one.nbytes, one.kind) for one in found]


def test_what_is_needed_is_no_excess() -> None:
    trace = trace_of(("gpu", CHANGE), ("host", READ), ("gpu", READ))
    assert reasons(trace, up(0), down(1)) == []


def test_lost_validity() -> None:
    trace = trace_of(("gpu", READ), ("host", READ), ("gpu", READ))
    assert reasons(trace, up(0), down(1), up(2)) == [
        (1, 8, Kind.LOST_VALIDITY),
        (2, 8, Kind.LOST_VALIDITY),
    ]


def test_fresh_content_is_had_already() -> None:
    trace = trace_of(("gpu", CHANGE), fresh=True)
    assert reasons(trace, up(0)) == [(0, 8, Kind.LOST_VALIDITY)]


def test_a_device_that_shares_memory_has_everything_already() -> None:
    trace = trace_of(("gpu", CHANGE), ("host", READ))
    trace.place("gpu", shares_memory_with_host=True)
    assert reasons(trace, up(0)) == [(0, 8, Kind.LOST_VALIDITY)]


def test_too_coarse() -> None:
    trace = trace_of(("gpu", Access(reads=LEFT)))
    assert reasons(trace, up(0)) == [(0, 4, Kind.TOO_COARSE)]


def test_bytes_that_are_no_data_are_too_coarse() -> None:
    trace = Trace()
    trace.buffer("a", 8, fields=[("x", 4, 8)])
    trace.touch("gpu", {0: READ})
    assert reasons(trace, up(0)) == [(0, 4, Kind.TOO_COARSE)]


def test_what_another_touch_needs_later_is_not_too_coarse() -> None:
    trace = trace_of(("gpu", Access(reads=LEFT)), ("gpu", Access(reads=RIGHT)))
    assert reasons(trace, up(0)) == []


def test_eager() -> None:
    trace = trace_of(("host", WRITE), ("host", CHANGE), ("gpu", READ))
    assert reasons(trace, up(1), up(2)) == [(0, 8, Kind.EAGER)]


def test_dead_because_overwritten() -> None:
    trace = trace_of(("host", WRITE), ("gpu", WRITE), ("gpu", READ))
    assert reasons(trace, up(1)) == [(0, 8, Kind.DEAD)]
    trace = trace_of(("gpu", WRITE), ("host", WRITE), ("gpu", READ))
    assert reasons(trace, down(1), up(2)) == [(0, 8, Kind.DEAD)]


def test_dead_because_the_end_came() -> None:
    trace = trace_of(("gpu", WRITE))
    assert reasons(trace, down(1)) == [(0, 8, Kind.DEAD)]


def test_dead_at_a_place_that_touches_nothing() -> None:
    trace = trace_of(("gpu", READ))
    stray = CopyMade(0, 0, "host", "fpga", 0, 8)
    assert reasons(trace, up(0), stray) == [(1, 8, Kind.DEAD)]


def test_imprecise_sets() -> None:
    trace = trace_of(("gpu", Access(writes=WHOLE)))
    assert reasons(trace, up(0)) == [(0, 8, Kind.IMPRECISE_SET)]
    trace = trace_of(("gpu", Access(reads=WHOLE, imprecise=RIGHT)))
    assert reasons(trace, up(0)) == [(0, 4, Kind.IMPRECISE_SET)]
    trace.touch("gpu", {0: READ})
    assert reasons(trace, up(0)) == []


def test_invisible_accesses() -> None:
    trace = trace_of(("gpu", READ))
    trace.touch("host", {0: Access(reads=WHOLE, writes=WHOLE)}, "a raw view", invisible=True)
    trace.touch("gpu", {0: CHANGE})
    trace.touch("host", {0: READ}, "a raw view", invisible=True)
    assert reasons(trace, up(0), up(2), down(3)) == [
        (1, 8, Kind.INVISIBLE_ACCESS),
        (2, 8, Kind.INVISIBLE_ACCESS),
    ]


def test_on_the_way_to_another_device() -> None:
    trace = trace_of(("gpu", WRITE), ("fpga", Access(reads=LEFT)))
    onward = CopyMade(1, 0, "host", "fpga", 0, 4)
    assert reasons(trace, down(1), onward) == [(0, 4, Kind.TOO_COARSE)]


def test_the_text() -> None:
    found = excess(trace_of(("gpu", Access(reads=LEFT))), [up(0)])
    assert str(found[0]) == (
        "copy 0, `a` from host to gpu: 4 bytes, too coarse: only bytes beside it were needed"
    )


def test_a_copy_that_is_missing_is_said() -> None:
    with pytest.raises(ValueError, match=r"touch 0 needs bytes 0…8 of `a` at gpu, where they"):
        excess(trace_of(("gpu", READ)), [])


def test_a_copy_that_destroys_is_said() -> None:
    trace = trace_of(("host", WRITE))
    with pytest.raises(ValueError, match=r"copy 0 replaces bytes 0…8 of `a` at host by what gpu"):
        excess(trace, [down(1)])


def test_copies_between_devices_are_refused() -> None:
    with pytest.raises(ValueError, match="passes the host, as two copies"):
        excess(trace_of(("gpu", READ)), [CopyMade(0, 0, "gpu", "fpga", 0, 8)])


@pytest.mark.parametrize("places", [["host", "gpu"], ["host", "gpu", "fpga"]], ids=len)
@given(data=st.data())
def test_the_reasons_add_up(places: list[str], data: st.DataObject) -> None:
    trace = data.draw(small_traces(places[1:], [4, 2]))
    copies = data.draw(wasteful_copies(trace, places))
    found: list[Excess] = excess(trace, copies)
    beyond = sum(one.nbytes for one in found if one.kind.beyond_minimum)
    assert beyond == sum(made.nbytes for made in copies) - minimum(trace, "range").nbytes
    assert all(one.nbytes > 0 for one in found)
    for number, made in enumerate(copies):
        assert sum(one.nbytes for one in found if one.copy == number) <= made.nbytes

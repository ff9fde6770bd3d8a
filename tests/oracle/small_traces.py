"""Random traces that are small enough to try every schedule of them."""

from collections.abc import Sequence

from hypothesis import strategies as st

from trilby.oracle import Access, Trace

Ranges = tuple[tuple[int, int], ...]


@st.composite
def some_bytes(draw: st.DrawFn, nbytes: int) -> Ranges:
    """Any bytes, as ranges that may overlap."""
    starts = st.integers(0, nbytes - 1)
    return tuple(
        (start, draw(st.integers(start + 1, nbytes)))
        for start in draw(st.lists(starts, min_size=1, max_size=2))
    )


def common_bytes(ranges: Ranges, others: Ranges) -> Ranges:
    return tuple(
        (max(a, c), min(b, d)) for a, b in ranges for c, d in others if max(a, c) < min(b, d)
    )


@st.composite
def accesses(draw: st.DrawFn, nbytes: int) -> Access:
    whole: Ranges = ((0, nbytes),)
    sets = st.one_of(st.just(()), st.just(whole), some_bytes(nbytes))
    reads, writes = draw(sets), draw(sets)
    covers = common_bytes(writes, draw(st.one_of(st.just(writes), sets)))
    return Access(reads, writes, covers, common_bytes(reads, draw(sets)))


@st.composite
def small_traces(draw: st.DrawFn, devices: Sequence[str], sizes: Sequence[int]) -> Trace:
    """Traces of a few touches, on buffers of a few bytes that begin in any state."""
    trace = Trace()
    for number, nbytes in enumerate(sizes):
        zeros = draw(st.one_of(st.booleans(), some_bytes(nbytes)))
        homes = st.sampled_from([("host",), *((d,) for d in devices), ("host", devices[0])])
        valid: dict[str, list[tuple[int, int]]] = {}
        for at, places in enumerate(draw(st.lists(homes, min_size=nbytes, max_size=nbytes))):
            for place in places:
                valid.setdefault(place, []).append((at, at + 1))
        given = valid if zeros is not True and draw(st.booleans()) else None
        fields = [("data", 1, nbytes)] if draw(st.integers(0, 5)) == 0 else []
        trace.buffer(f"b{number}", nbytes, fresh=zeros, valid=given, fields=fields)
    for _ in range(draw(st.integers(3, 7))):
        place = draw(st.sampled_from(["host", *devices]))
        touched = draw(st.sets(st.integers(0, len(sizes) - 1), min_size=1))
        trace.touch(
            place,
            {number: draw(accesses(sizes[number])) for number in sorted(touched)},
            invisible=draw(st.integers(0, 4)) == 0,
        )
    return trace

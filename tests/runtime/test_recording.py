"""What is written down for the oracle while somebody records."""

import gc
from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from tests.runtime.conftest import opened_as
from tests.runtime.contents import START, on_host, pending, replica, span
from tests.runtime.programs import add, add_to, copy, dispatch, number, plus_one, take

import trilby as tb
from trilby import Accelerator, KernelContext, Ledger, NDArray, S32Array, f32
from trilby.data.ranges import Ranges
from trilby.data.touched import Touched
from trilby.oracle.excess import Kind
from trilby.oracle.trace import HOST, Touch
from trilby.runtime.content import Replica
from trilby.runtime.launch_buffers import LaunchBuffer
from trilby.runtime.recording import Recording
from trilby.runtime.replicas import Moved, Reason

if TYPE_CHECKING:
    from trilby.runtime.replicas import Replicas
    from trilby.runtime.watch import Watch

WHOLE = span(0, 16)
ARRAY = ((4, 36),)
"""The bytes of the elements of an S32Array of eight."""


def touches(ledger: Ledger) -> list[Touch]:
    return ledger.recording.trace.touches


def summary(touch: Touch) -> tuple[bool, str, Sequence[tuple[object, object, object]]]:
    """Whether it was on the host, its name, and what it did to each buffer."""
    accesses = [(a.reads, a.writes, a.covers) for a in touch.accesses.values()]
    return touch.place == HOST, touch.label, accesses


def test_kernels_and_the_host_in_the_order_of_the_program(discrete: Accelerator) -> None:
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    with discrete.record() as ledger:
        discrete.compute(dispatch, 8, copy, a, b)
        b.array[0] = 1
        b.array[2:4].tolist()
    assert [summary(touch) for touch in touches(ledger)] == [
        (False, "copy", [(ARRAY, (), ()), ((), ARRAY, ARRAY)]),
        (True, "", [((), ((4, 8),), ((4, 8),))]),
        (True, "", [(((12, 20),), (), ())]),
    ]
    launch, write, read = (touch.location.short for touch in touches(ledger))
    assert launch == f"programs.py:{dispatch.location.line + 3}"
    assert write.startswith("test_recording.py")
    assert read.startswith("test_recording.py")


def test_launches_that_are_known_are_written_down_too(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    for _ in range(3):
        discrete.compute(dispatch, 8, add, a, 1)
    with discrete.record() as ledger:
        for _ in range(3):
            discrete.compute(dispatch, 8, add, a, 1)
    assert [touch.label for touch in touches(ledger)] == ["add"] * 3


def test_what_is_current_where_when_the_record_begins(discrete: Accelerator) -> None:
    a, b = S32Array.create(length=8), S32Array.create(length=8)
    a.array[:4] = 1
    discrete.compute(dispatch, 2, number, a)
    with discrete.record() as ledger:
        discrete.compute(dispatch, 8, copy, a, b)
    first, second = ledger.recording.trace.buffers
    place = discrete.residency.replicas.place
    assert (first.name, second.name) == ("a", "to")  # as the first kernel calls them
    assert first.fields == (("array", 4, 36),)
    assert dict(first.valid)[place] == ((4, 12),)
    assert dict(first.valid)[HOST][-1] == (12, 20)
    # the length is no data, whatever is said of it
    assert Ranges.of(*first.fresh) & Ranges.span(4, 36) == Ranges.span(20, 36)
    assert Ranges.of(*second.fresh) & Ranges.span(4, 36) == Ranges.span(4, 36)


def test_buffers_that_the_device_never_sees_are_not_written_down(discrete: Accelerator) -> None:
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    with discrete.record() as ledger:
        b.array[0] = a.array[1]
    assert touches(ledger) == []


def test_a_buffer_that_the_device_has_is_known_when_the_host_looks(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    discrete.compute(dispatch, 8, add, a, 1)
    with discrete.record() as ledger:
        a.array.tolist()
    assert ledger.optimal.buffer.nbytes == ledger.bytes_down == 32
    assert ledger.ratio == 1.0


def test_what_is_read_without_a_copy_is_written_down_too(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    discrete.compute(dispatch, 8, add, a, 1)
    a.array.tolist()
    a.array.tolist()  # by now nothing is under way
    with discrete.record() as ledger:
        a.array[:2].tolist()
    assert [summary(touch) for touch in touches(ledger)] == [(True, "", [(((4, 12),), (), ())])]


def test_copies_stand_before_the_touch_that_needed_them(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    with discrete.record() as ledger:
        discrete.compute(dispatch, 8, add, a, 1)
        discrete.compute(dispatch, 8, add, a, 1)
        a.array[2:4].tolist()
    place = discrete.residency.replicas.place
    assert [tuple(one) for one in ledger.recording.copies] == [
        (0, 0, HOST, place, 4, 32),
        (2, 0, place, HOST, 12, 8),
    ]


def test_every_row_of_a_copy_is_written_down(discrete: Accelerator) -> None:
    a = S32Array.of(range(64))
    with discrete.record() as ledger:
        discrete.compute(dispatch, 4, write_every_16th, a)
        a.array.tolist()
    assert [(one.start, one.nbytes) for one in ledger.recording.copies] == [
        (4 + 64 * row, 4) for row in range(4)
    ]
    assert len(set(ledger.recording.callers)) == 1
    assert len(ledger.recording.callers) == 4
    assert ledger.ratio <= 1.0
    assert not ledger.excess


@pytest.mark.parametrize("used_before", [False, True])
def test_copies_of_another_accelerator_are_known_and_not_judged(
    discrete: Accelerator, *, used_before: bool
) -> None:
    a = S32Array.of(range(8))
    with Accelerator(discrete.device.spec, memory="discrete") as other:
        if used_before:
            discrete.compute(dispatch, 8, add, a, 1)
            other.compute(dispatch, 8, add, a, 1)
        with discrete.record() as ledger:
            for one in (discrete, other, discrete, other):
                one.compute(dispatch, 8, add, a, 1)
            assert a.array[0] == (6 if used_before else 4)
        mine = discrete.residency.replicas.place
    recording = ledger.recording
    assert len(ledger.copies) == len(recording.copies) == len(recording.callers)
    assert {mine} == {one.source for one in recording.copies} ^ {HOST}
    assert recording.copies == [recording.all_copies[place] for place in recording.own]
    assert len(recording.all_copies) > len(recording.copies)
    assert not ledger.excess
    assert not tb.lint(ledger).findings


def test_a_raw_view_is_an_access_that_nobody_saw(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    discrete.compute(dispatch, 8, add, a, 1)
    raw: npt.NDArray[Any] = a.array[:2].raw()
    with discrete.record() as ledger:
        discrete.compute(dispatch, 8, add, a, 1)
    seen = ((4, 12),)
    assert [(touch.invisible, *summary(touch)) for touch in touches(ledger)] == [
        (True, True, "raw view", [((), seen, seen)]),
        (False, False, "add", [(ARRAY, ARRAY, ARRAY)]),
        (True, True, "raw view", [(seen, (), ())]),
    ]
    assert ledger.bytes_up == ledger.bytes_down == 8
    assert ledger.ratio <= 1.0
    assert {one.kind for one in ledger.excess} == {Kind.INVISIBLE_ACCESS}
    assert raw.tolist() == [2, 3]


def test_a_buffer_that_ends_is_not_the_next_one_at_its_place(discrete: Accelerator) -> None:
    x = np.zeros(9, np.int32)
    with discrete.record() as ledger:
        for turn in range(4):
            x[:] = [8, *range(turn, turn + 8)]
            a = S32Array.bind(x)
            discrete.compute(dispatch, 8, add, a, 1)
            assert a.array[0] == turn + 1
            del a
            gc.collect()
    assert x.tolist() == [8, *range(4, 12)]
    assert len(ledger.recording.trace.buffers) == 4
    assert ledger.bytes_up == 4 * 32
    assert ledger.optimal.range.bytes_up == 4 * 32


def test_two_devices_in_one_record() -> None:
    a, b = S32Array.of(range(8)), S32Array.create(length=8)
    with opened_as("interpreter") as one, opened_as("opencl") as other, one.record() as ledger:
        one.compute(dispatch, 8, add, a, 1)
        other.compute(dispatch, 8, add, a, 1)
        one.compute(dispatch, 8, copy, a, b)
        places = {touch.place for touch in touches(ledger)}
        assert places == {one.residency.replicas.place, other.residency.replicas.place}
        assert b.array.tolist() == [i + 2 for i in range(8)]
    assert len(touches(ledger)) == 4
    assert ledger.bytes_up + ledger.bytes_down == 4 * 32  # a: up, down for the other, up; b: down
    assert ledger.optimal.buffer.nbytes == 6 * 32  # and the other's up and down
    assert ledger.ratio == 1.0


def test_what_another_device_copies_in_vain_is_no_credit() -> None:
    a = S32Array.of(range(8))
    with opened_as("interpreter") as one, opened_as("opencl") as other, one.record() as ledger:
        one.compute(dispatch, 8, add, a, 1)
        with other.strategy(tb.Transfers.ALWAYS):
            other.compute(dispatch, 8, add, a, 1)
        other.compute(dispatch, 8, number, a)
    # the last launch overwrites all: what the first of the other brought home was in vain
    assert ledger.optimal.buffer.nbytes == 3 * 32
    always = 36  # takes the length along
    assert ledger.ratio == (2 * 32 + 2 * always) / (3 * 32)


def test_another_device_on_the_hosts_memory_needs_no_copies() -> None:
    a = S32Array.of(range(8))
    with (
        opened_as("interpreter") as one,
        opened_as("native, shared") as other,
        one.record() as ledger,
    ):
        for _ in range(2):
            one.compute(dispatch, 8, add, a, 1)
            other.compute(dispatch, 8, add, a, 1)
    assert ledger.bytes_up + ledger.bytes_down == 4 * 32
    assert ledger.optimal.buffer.nbytes == 4 * 32
    assert ledger.ratio == 1.0


def test_the_hosts_own_memory_moves_nothing_and_needs_nothing(shared: Accelerator) -> None:
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    with shared.record() as ledger:
        for _ in range(3):
            shared.compute(dispatch, 8, add_to, a, b)
            assert a.array[0] == 0
    assert len(touches(ledger)) == 6
    assert ledger.optimal.buffer.nbytes == ledger.optimal.range.nbytes == 0


@pytest.mark.parametrize("turns", [1, 5])
def test_the_least_that_a_loop_could_have_moved(discrete: Accelerator, turns: int) -> None:
    """By hand: `a` goes up once in whole buffers, and `out` comes back in every turn."""
    a, out = S32Array.of(range(64)), S32Array.create(length=4)
    with discrete.record() as ledger:
        for turn in range(turns):
            discrete.compute(dispatch, 4, take, a, 4 * turn, out)
            assert out.array[0] == 4 * turn
    least = ledger.optimal.buffer
    assert (least.bytes_up, least.bytes_down) == (256, 16 * turns)
    least = ledger.optimal.range
    assert (least.bytes_up, least.bytes_down) == (16 * turns, 4 * turns)
    assert ledger.ratio <= 1.0


def test_an_array_of_numbers_is_one_field(discrete: Accelerator) -> None:
    x, out = NDArray[float](np.ones(4, np.float32)), NDArray[float](np.ones(4, np.float32))
    with discrete.record() as ledger:
        discrete.compute(dispatch, 4, negative, x, out)
        assert out.tolist() == [-1.0] * 4
    assert [one.fields for one in ledger.recording.trace.buffers] == [(("", 0, 16),)] * 2
    assert [one.field for one in ledger.copies] == ["", ""]


# ------------------------------------------------------------------------- by hand


class Owner:
    """A device as a recording sees it."""

    def __init__(self, place: str) -> None:
        self.shares = False
        self.place = place


@pytest.fixture
def recording() -> Recording:
    return Recording(cast("Replicas", Owner("here")))


def test_what_lies_beyond_a_buffer_is_not_its_own(recording: Recording) -> None:
    """Its content is larger, where others overlap it; the host's own memory is no second place."""
    content = on_host()
    content.host = span(0, 8) | span(10, 16)
    content.fresh = span(2, 6) | span(10, 14)
    mine = replica(content, span(5, 7), place=(4, 12), owner=recording.owner)
    replica(content, span(0, 10), owner=Owner("there"))
    replica(content, span(0, 16), owner=Owner("the host's"), shared=True)
    recording.begin(mine)
    (buffer,) = recording.trace.buffers
    assert buffer.valid == {"here": ((1, 3),), "there": ((0, 6),), HOST: ((2, 4),)}
    assert buffer.fresh == ((0, 2), (6, 8))


def test_a_buffer_is_called_as_the_first_kernel_calls_it(recording: Recording) -> None:
    content = on_host()
    mine = replica(content, owner=recording.owner)
    for name in ("what a plan brought", "numbers"):
        mine.label = name
        recording.begin(mine)
    assert [buffer.name for buffer in recording.trace.buffers] == ["numbers"]


def test_what_belongs_to_other_devices_alone_is_not_written_down(recording: Recording) -> None:
    content = on_host()
    other = replica(content, place=(0, 8), owner=Owner("there"))
    replica(content, place=(8, 16), owner=recording.owner)
    left = SimpleNamespace(content=content, address=other.address, nbytes=8, whole=span(0, 8))
    watch = cast("Watch", left)
    recording.begin(other)
    recording.host_reads(watch, Ranges.span(0, 4))
    recording.host_writes(watch, Ranges.span(0, 4))
    recording.raw_writes(held(other))
    recording.raw_reads(held(other))
    recording.moved(Moved("up", other, Ranges.span(START, START + 4), Reason("", None), pending()))
    assert recording.trace.touches == []
    assert recording.copies == []


def test_a_raw_view_may_read_what_the_kernel_wrote_of_it(recording: Recording) -> None:
    content = on_host()
    mine = replica(content, owner=recording.owner)
    recording.begin(mine)
    recording.raw_reads(held(mine, seen=span(0, 8), writes=span(12, 16)))
    assert recording.trace.touches == []
    recording.raw_reads(held(mine, seen=span(0, 8), writes=span(4, 12)))
    (touch,) = recording.trace.touches
    assert summary(touch) == (True, "raw view", [(((4, 8),), (), ())])


def held(mine: Replica, seen: Ranges = WHOLE, writes: Ranges = WHOLE) -> LaunchBuffer:
    return LaunchBuffer(mine, Touched(writes=writes), seen, seen)


@tb.kernel
def write_every_16th(kc: KernelContext, a: S32Array) -> None:
    a.array[16 * kc.x] = -1


@tb.kernel
def negative(kc: KernelContext, a: NDArray[f32], b: NDArray[f32]) -> None:
    b[kc.x] = -a[kc.x]


# ----------------------------------------------------------------------- arrays that overlap


def test_arrays_that_overlap_are_one_buffer_of_the_trace(discrete: Accelerator) -> None:
    memory = np.zeros(12, np.float32)
    low, high = discrete.array(memory[:8]), discrete.array(memory[4:])
    with discrete.record() as ledger:
        discrete.compute(dispatch, 8, plus_one, low, low)
        discrete.compute(dispatch, 8, plus_one, high, high)
        assert (low.tolist(), high.tolist()) == ([1] * 4 + [2] * 4, [2] * 4 + [1] * 4)
        low[4] = 7
        discrete.compute(dispatch, 8, plus_one, high, high)
        assert high.tolist() == [8, 3, 3, 3, 2, 2, 2, 2]
    assert [buffer.nbytes for buffer in ledger.recording.trace.buffers] == [48]
    assert ledger.optimal.range.bytes_up == 48 + 4
    assert ledger.optimal.range.bytes_down == 48 + 32
    assert 0 < ledger.ratio < 2
    beyond = sum(one.nbytes for one in ledger.excess if one.kind.beyond_minimum)
    assert ledger.bytes_up + ledger.bytes_down == ledger.optimal.range.nbytes + beyond


def test_the_host_writes_through_an_array_that_the_device_never_sees(
    discrete: Accelerator,
) -> None:
    memory = np.zeros(12, np.float32)
    low, high = discrete.array(memory[:8]), discrete.array(memory[4:])
    with discrete.record() as ledger:
        discrete.compute(dispatch, 8, plus_one, low, low)
        high[0] = 5
        discrete.compute(dispatch, 8, plus_one, low, low)
        assert low.tolist() == [2, 2, 2, 2, 6, 2, 2, 2]
    assert ledger.optimal.range.nbytes == 32 + 4 + 32
    assert ledger.excess == []


def test_an_array_that_joins_two_others(discrete: Accelerator) -> None:
    memory = np.zeros(12, np.float32)
    first, last, all_of_it = memory[:4], memory[8:], memory
    a, b, c = (discrete.array(one) for one in (first, last, all_of_it))
    with discrete.record() as ledger:
        discrete.compute(dispatch, 4, plus_one, a, a)
        discrete.compute(dispatch, 4, plus_one, b, b)
        discrete.compute(dispatch, 12, plus_one, c, c)
        assert c.tolist() == [2] * 4 + [1] * 4 + [2] * 4
    assert len(ledger.recording.trace.buffers) == 1
    assert ledger.optimal.range.bytes_down == 48
    assert ledger.ratio > 0

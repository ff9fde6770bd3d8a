"""What happens when the host looks at or touches what a device has."""

import gc
import threading
import weakref
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from tests.runtime.conftest import Nulls, with_backend
from tests.runtime.contents import failure, pending
from tests.runtime.devices import Watched
from tests.runtime.programs import add, dispatch, number, plus_one, write_some

import trilby as tb
from trilby import Accelerator, KernelContext, Ledger, NDArray, S32Array, f64
from trilby.data.ranges import Ranges
from trilby.data.segment import Segment
from trilby.errors import DeviceError, ReentryError
from trilby.runtime.callers import Caller
from trilby.runtime.content import CONTENTS, LOCK
from trilby.runtime.launch_buffers import Writer
from trilby.runtime.watch import Watch, bury_when_idle, wait_for, watched


def downloads(ledger: Ledger) -> list[tuple[int, int]]:
    return [(one.start, one.nbytes) for one in ledger.downloads]


def on_device(accelerator: Accelerator, length: int) -> S32Array:
    """An array whose content, 100 + i, only the device has."""
    a = S32Array.create(length=length)
    accelerator.compute(dispatch, length, number, a)
    return a


@tb.kernel
def double_all(kc: KernelContext, a: NDArray[f64]) -> None:
    a[kc.x] *= 2.0


# ----------------------------------------------------------------------------- how much


def test_one_element_is_four_bytes(discrete: Accelerator) -> None:
    a = on_device(discrete, 1000)
    with discrete.record() as ledger:
        assert a.array[500] == 600
        assert a.array[500] == 600
    assert downloads(ledger) == [(4 + 2000, 4)]


def test_a_slice_is_its_bytes(discrete: Accelerator) -> None:
    a = on_device(discrete, 1000)
    with discrete.record() as ledger:
        part = a.array[10:20]
        assert downloads(ledger) == []  # nobody has looked
        assert part.tolist() == list(range(110, 120))
        assert a.array[5:15].tolist() == list(range(105, 115))  # half of it is here
    assert downloads(ledger) == [(44, 40), (24, 20)]


@pytest.mark.parametrize("step", [1, 3])
def test_a_walk_costs_few_copies_and_less_than_twice_the_bytes(
    discrete: Accelerator, step: int
) -> None:
    a = on_device(discrete, 3000)
    for stop in (1, 2, 7, 100, 1000):
        with discrete.record() as ledger:
            values = [a.array[i : i + step].tolist() for i in range(0, stop * step, step)]
        assert [one for part in values for one in part] == list(range(100, 100 + stop * step))
        assert ledger.bytes_down < 2 * 4 * step * stop
        assert len(ledger.downloads) <= stop.bit_length()
        discrete.compute(dispatch, 3000, number, a)


def test_a_walk_to_the_end_brings_everything_once(discrete: Accelerator) -> None:
    a = on_device(discrete, 1000)
    with discrete.record() as ledger:
        assert [a.array[i] for i in range(1000)] == list(range(100, 1100))
    assert ledger.bytes_down == 4000
    assert len(ledger.downloads) <= 10


def test_a_walk_that_meets_what_is_there_stops_before_it(discrete: Accelerator) -> None:
    a = on_device(discrete, 16)
    with discrete.record() as ledger:
        a.array[3] = -1
        assert [a.array[i] for i in range(5)] == [100, 101, 102, -1, 104]
    assert downloads(ledger)[:2] == [(4, 4), (8, 8)]
    assert a.array.tolist() == [100, 101, 102, -1, *range(104, 116)]


def test_a_jump_to_where_a_walk_would_have_come_is_no_walk(discrete: Accelerator) -> None:
    a = on_device(discrete, 64)
    with discrete.record() as ledger:
        a.array[5] = -1
        assert [a.array[i] for i in range(4)] == [100, 101, 102, 103]
        assert a.array[7] == 107
    assert downloads(ledger) == [(4, 4), (8, 8), (16, 8), (32, 4)]


def test_pieces_are_no_walk(discrete: Accelerator) -> None:
    a = on_device(discrete, 64)
    with discrete.record() as ledger:
        assert a.array[0] == 100
        assert a.array[1:64:8].tolist() == list(range(101, 164, 8))
    assert ledger.bytes_down == 4 + 8 * 4


def test_jumps_are_no_walk(discrete: Accelerator) -> None:
    a = on_device(discrete, 1000)
    with discrete.record() as ledger:
        for place in (0, 10, 5, 900, 20):
            assert a.array[place] == 100 + place
    assert [nbytes for _, nbytes in downloads(ledger)] == [4] * 5


def test_a_walk_begins_anew_after_a_kernel_wrote(discrete: Accelerator) -> None:
    a = on_device(discrete, 1000)
    assert [a.array[i] for i in range(7)] == list(range(100, 107))
    discrete.compute(dispatch, 1000, number, a)
    with discrete.record() as ledger:
        assert a.array[7] == 107
    assert downloads(ledger) == [(32, 4)]


# ------------------------------------------------------------------------------- writes


def test_a_write_fetches_nothing(discrete: Accelerator) -> None:
    a = on_device(discrete, 8)
    with discrete.record() as ledger:
        a.array[2] = -1
        a.array[4:6] = [-2, -3]
        a.array[:] = 7
        assert a.array.tolist() == [7] * 8
    assert ledger.copies == ()


def test_a_write_to_chosen_elements_fetches_those_around_them(discrete: Accelerator) -> None:
    a = on_device(discrete, 8)
    a.array[np.array([1, 6])] = 0
    assert a.array.tolist() == [100, 0, 102, 103, 104, 105, 0, 107]


def test_a_write_in_place_reads_first(discrete: Accelerator) -> None:
    a = on_device(discrete, 8)
    with discrete.record() as ledger:
        a.array[2] += 1
        assert downloads(ledger) == [(12, 4)]
        a.array[4:8] *= 2
    discrete.compute(dispatch, 8, add, a, 1)
    assert a.array.tolist() == [101, 102, 104, 104, 209, 211, 213, 215]


def test_a_write_that_fails_changes_nothing(discrete: Accelerator) -> None:
    a = on_device(discrete, 8)
    with pytest.raises((ValueError, TypeError)):
        a.array[2:4] = [1, 2, 3]
    with pytest.raises((ValueError, TypeError, OverflowError)):
        a.array[2] = 2**40
    assert a.array.tolist() == list(range(100, 108))


# ------------------------------------------------------------ raw views, which escape


def test_a_raw_view_is_current_while_it_lives(accelerator: Accelerator) -> None:
    a = S32Array.of(range(8))
    accelerator.compute(dispatch, 8, add, a, 1)
    raw: npt.NDArray[Any] = a.array.raw()
    assert raw.tolist() == list(range(1, 9))
    accelerator.compute(dispatch, 8, add, a, 1)
    assert raw.tolist() == list(range(2, 10))
    raw[0] = -5
    accelerator.compute(dispatch, 8, add, a, 1)
    assert raw.tolist() == [-4, *range(4, 11)]
    part = raw[2:4]
    del raw
    part[:] = 0  # a view of a view is one too
    accelerator.compute(dispatch, 8, add, a, 1)
    assert a.array.tolist() == [-3, 5, 1, 1, *range(8, 12)]


def test_a_raw_view_costs_copies_only_while_it_lives(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    discrete.compute(dispatch, 8, add, a, 1)
    raw: npt.NDArray[Any] = a.array.raw()
    with discrete.record() as ledger:
        for _ in range(3):
            discrete.compute(dispatch, 8, add, a, 1)
    assert (len(ledger.uploads), len(ledger.downloads)) == (3, 3)
    assert {one.cause for one in ledger.downloads} == {"a raw view of it is alive"}
    del raw
    with discrete.record() as ledger:
        for _ in range(3):
            discrete.compute(dispatch, 8, add, a, 1)
    assert (len(ledger.uploads), len(ledger.downloads)) == (1, 0)  # it may have been written
    assert a.array.tolist() == list(range(7, 15))


def test_a_raw_view_of_a_part_is_about_that_part(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    discrete.compute(dispatch, 8, add, a, 1)
    raw: npt.NDArray[Any] = a.array[2:4].raw()
    with discrete.record() as ledger:
        discrete.compute(dispatch, 8, add, a, 1)
        assert raw.tolist() == [4, 5]
    assert [one.nbytes for one in ledger.copies] == [8, 8]


def test_a_raw_view_that_kernels_only_read(discrete: Accelerator) -> None:
    x = NDArray[float](np.ones(4, np.float32))
    out = NDArray[float](np.zeros(4, np.float32))
    raw = x.raw()
    for turn in range(3):
        raw[:] = turn
        with discrete.record() as ledger:
            discrete.compute(dispatch, 4, plus_one, x, out)
        assert [one.direction for one in ledger.copies] == ["up"]
        assert out.tolist() == [turn + 1.0] * 4


# ------------------------------------------------------------ memory that the user lent


def test_an_array_that_is_dropped_gives_its_content_back(accelerator: Accelerator) -> None:
    x = np.arange(4, dtype=np.float32)
    a = accelerator.array(x)
    accelerator.compute(dispatch, 4, plus_one, a, a)
    del a
    gc.collect()
    assert x.tolist() == [1, 2, 3, 4]


def test_an_array_that_is_released_gives_its_content_back(accelerator: Accelerator) -> None:
    x = np.arange(4, dtype=np.float32)
    with accelerator.array(x) as a:
        accelerator.compute(dispatch, 4, plus_one, a, a)
    assert x.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_any_memory_that_was_lent_gets_its_content_back(
    discrete: Accelerator, kind: type[Any]
) -> None:
    block = bytearray(np.array([3, 1, 2, 3], np.int32).tobytes())  # a length and three numbers
    a = S32Array.bind(block if kind is bytearray else memoryview(block))
    discrete.compute(dispatch, 3, add, a, 10)
    del a
    gc.collect()
    assert np.frombuffer(block, np.int32).tolist() == [3, 11, 12, 13]


def test_a_view_of_what_was_lent_keeps_it_wanted(discrete: Accelerator) -> None:
    x = np.arange(4, dtype=np.float32)
    part = x[2:]
    a = discrete.array(x)
    del x
    discrete.compute(dispatch, 4, plus_one, a, a)
    del a
    gc.collect()
    assert part.tolist() == [3, 4]


def test_what_was_never_lent_is_not_fetched(discrete: Accelerator) -> None:
    a, b = discrete.array([0.0] * 4), S32Array.of(range(4))
    discrete.compute(dispatch, 4, double_all, a)
    discrete.compute(dispatch, 4, add, b, 1)
    with discrete.record() as ledger:
        del a, b
        gc.collect()
    assert ledger.copies == ()


def test_what_was_lent_is_fetched_whoever_else_has_it(discrete: Accelerator) -> None:
    """How many have an object is no business of the program: Python counts as it likes."""
    a = discrete.array(np.zeros(4, np.float32))
    discrete.compute(dispatch, 4, plus_one, a, a)
    with discrete.record() as ledger:
        del a
        gc.collect()
    assert [(copy.direction, copy.nbytes) for copy in ledger.copies] == [("down", 16)]


def test_an_array_of_lent_memory_with_nothing_newer_moves_nothing(discrete: Accelerator) -> None:
    x = np.ones(4, np.float32)
    a, b = discrete.array(x), discrete.array(np.zeros(4, np.float32))
    discrete.compute(dispatch, 4, plus_one, a, b)
    with discrete.record() as ledger:
        del a
        gc.collect()
    assert ledger.copies == ()


def test_one_of_two_arrays_on_the_same_memory_may_go(discrete: Accelerator) -> None:
    x = np.arange(4, dtype=np.float32)
    one, other = discrete.array(x), discrete.array(x)
    discrete.compute(dispatch, 4, plus_one, one, one)
    del one
    gc.collect()
    assert other.tolist() == x.tolist() == [1, 2, 3, 4]
    discrete.compute(dispatch, 4, plus_one, other, other)
    assert other.tolist() == [2, 3, 4, 5]


def test_a_buffer_that_goes_takes_its_content_along() -> None:
    """Memory at the same place later is other memory."""
    with Accelerator("interpreter") as accelerator:
        a = S32Array.of(range(8))
        start, nbytes = a.segment.address, a.segment.nbytes
        accelerator.compute(dispatch, 8, add, a, 1)
        content = watched(a.segment).content
        beside = CONTENTS.around(start, start + nbytes)
        assert beside is content
        del a
        gc.collect()
        new = CONTENTS.around(start, start + nbytes)
        CONTENTS.forget(new)
        assert new is not content
        assert content.replicas == []


def test_a_watch_does_not_keep_a_buffer_alive(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    discrete.compute(dispatch, 8, add, a, 1)
    segment = weakref.ref(a.segment)
    del a
    gc.collect()
    assert segment() is None


# ------------------------------------------------------------------------------- watches


def test_a_segment_has_one_watch() -> None:
    a = S32Array.of(range(8))
    watch = watched(a.segment)
    assert watched(a.segment) is watch
    assert watch.content.host == watch.content.whole
    assert watch.content.whole == Ranges.span(a.segment.address, a.segment.address + 36)


def test_what_was_not_written_before_anybody_watched_is_fresh() -> None:
    a = S32Array.create(length=8)
    a.array[2] = 5
    start = a.segment.address
    # the length was set when it was made, and it is no data
    assert watched(a.segment).content.fresh & Ranges.span(start + 4, start + 36) == Ranges.of(
        (start + 4, start + 12), (start + 16, start + 36)
    )


def test_what_the_user_lent_is_not_fresh() -> None:
    a = NDArray[float](np.zeros(8, np.float32))
    assert watched(a.segment).content.fresh == Ranges.EMPTY


def test_an_array_of_nothing_has_a_content_of_its_own() -> None:
    a, b = (NDArray[float](np.zeros(0, np.float32)) for _ in range(2))
    assert watched(a.segment).content is not watched(b.segment).content
    assert isinstance(a.segment.watcher, Watch)


def test_arrays_that_share_memory_share_what_is_known() -> None:
    x = np.zeros(8, np.float32)
    left, right, other = (NDArray[float](part) for part in (x[:5], x[3:], np.zeros(2)))
    one = watched(left.segment)
    version = one.content.version
    before = one.content
    two = watched(right.segment)
    assert one.content is two.content
    assert one.content is not before
    assert before.version != version  # whoever believes in the old one sees that it is over
    assert watched(other.segment).content is not one.content


def test_memory_that_no_device_knows_is_not_watched() -> None:
    a = NDArray[float](np.zeros(8, np.float32))
    a[2] = 1
    assert a.sum() == 1
    assert a.segment.watcher is None


def test_a_segment_that_is_collected_in_the_middle_of_things_goes_when_they_are_done(
    null: Nulls,
) -> None:
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    null.accelerator.compute(dispatch, 8, add, a, 1)
    content = watched(a.segment).content
    with LOCK:
        del a
        gc.collect()
        assert len(content.replicas) == 1
    null.accelerator.compute(dispatch, 8, add, b, 1)
    assert content.replicas == []
    assert null.backend.counts["frees"] == 1


def test_a_segment_in_the_place_of_one_that_is_gone_has_nothing_of_it() -> None:
    memory = np.zeros(64, np.uint8)
    with LOCK:
        old = Segment(memory, "old", borrowed=False)
        whole = watched(old).content.whole
        watched(old).content.host = Ranges.EMPTY  # as if a device had it newer
        del old
        gc.collect()
        new = Segment(memory, "new", borrowed=False)
        assert watched(new).content.host == whole


def test_an_array_whose_content_became_another_takes_leave_of_it(null: Nulls) -> None:
    x = np.zeros(8, np.float32)
    left, right = NDArray[float](x[:6]), NDArray[float](x[2:])
    null.accelerator.compute(dispatch, 6, plus_one, left, left)
    null.accelerator.compute(dispatch, 6, plus_one, right, right)
    content = watched(right.segment).content
    del left
    gc.collect()
    assert null.backend.counts["frees"] == 1
    del right
    gc.collect()
    assert null.backend.counts["frees"] == 2
    assert content.watches == []


# ------------------------------------------------------------------------------- waiting


def test_waiting_raises_what_failed_and_says_where_it_was_dispatched() -> None:
    caller = Caller.now()
    event = failure(origin=Writer("k", caller))
    with pytest.raises(DeviceError, match="lost") as caught:
        wait_for([pending(), event])
    assert caught.value.location is not None
    assert caught.value.location.line == caller.number


def test_a_copy_that_failed_raises_why_the_kernel_before_it_failed() -> None:
    caller = Caller.now()
    kernel = failure(DeviceError("the kernel is lost"), Writer("k", caller))
    with pytest.raises(DeviceError, match="the kernel is lost") as caught:
        wait_for([failure(origin=(kernel,))])
    assert caught.value.location is not None
    assert caught.value.location.line == caller.number
    with pytest.raises(DeviceError, match="lost"):
        wait_for([failure(origin=(pending(),))])


def test_a_place_that_an_error_has_is_kept() -> None:
    here = Caller.now().location
    event = failure(DeviceError("lost", location=here), Writer("k", Caller.now()))
    with pytest.raises(DeviceError) as caught:
        wait_for([event])
    assert caught.value.location is here


def test_a_plan_fetches_before_anybody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Watched()
    accelerator = with_backend(monkeypatch, backend, poison=True)
    a = S32Array.of(range(8))
    accelerator.compute(dispatch, 8, write_some, a, 4)
    watch = watched(a.segment)
    watch.fetch(Ranges.span(4, 12), "because")
    assert backend.done.count("download") == 1
    watch.fetch(Ranges.span(4, 12), "because")
    assert backend.done.count("download") == 1
    assert a.array.tolist() == [-4, -4, -4, -4, 4, 5, 6, 7]
    assert backend.done.count("download") == 2


def test_what_a_call_wrote_before_it_failed_reaches_the_device(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    discrete.compute(dispatch, 8, add, a, 1)
    a.array.tolist()  # from here on both have it
    with pytest.raises(IndexError):
        np.put(cast("Any", a.array), [0, 99], 70)
    discrete.compute(dispatch, 8, add, a, 1)
    assert a.array.tolist() == [71, 3, 4, 5, 6, 7, 8, 9]


def test_what_a_call_did_not_write_before_it_failed_is_what_the_device_has(
    discrete: Accelerator,
) -> None:
    a = S32Array.of(range(8))
    discrete.compute(dispatch, 8, add, a, 1)
    with pytest.raises(ValueError, match="broadcast"):
        np.add(cast("Any", a.array), [1, 2, 3], cast("Any", a.array))
    assert a.array.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


def test_memory_that_another_thread_takes_leave_of_is_known_no_more(
    interpreter: Accelerator,
) -> None:
    """Its place may be another array's before that thread gets the lock."""
    a = on_device(interpreter, 8)
    with LOCK:
        content = watched(a.segment).content
        ended = weakref.ref(a.segment)
        del a
        assert ended() is None
        other = threading.Thread(target=bury_when_idle)
        other.start()
        other.join(0.1)
        assert other.is_alive()
        assert content in CONTENTS.all
        watched(S32Array.of([5] * 8).segment)
        assert content not in CONTENTS.all
    other.join()


@pytest.mark.parametrize("error", [ReentryError("amid things", advice="wait"), KeyboardInterrupt()])
def test_memory_that_ended_is_left_again_where_a_signal_handler_raises(
    interpreter: Accelerator, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    memory = np.ones(8)
    a = interpreter.array(memory)
    interpreter.compute(dispatch, 8, double_all, a)
    content = watched(a.segment).content
    replicas = interpreter.residency.replicas

    def interrupted(*_: object) -> None:
        monkeypatch.undo()
        raise error

    with LOCK:
        del a
    monkeypatch.setattr(type(replicas), "drop", interrupted)
    with pytest.raises(type(error)):
        bury_when_idle()
    assert content in CONTENTS.all
    bury_when_idle()
    assert content not in CONTENTS.all
    assert memory.tolist() == [2.0] * 8


def test_memory_that_ended_is_left_also_where_its_device_fails(
    interpreter: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = on_device(interpreter, 8)
    content = watched(a.segment).content

    def fails(*_: object) -> None:
        raise DeviceError("lost")

    with LOCK:
        del a
    monkeypatch.setattr(type(interpreter.residency.replicas), "drop", fails)
    with pytest.raises(DeviceError):
        bury_when_idle()
    assert content not in CONTENTS.all
    bury_when_idle()


def test_every_thread_waits_for_the_content_of_memory_that_is_given_back(
    interpreter: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where another thread has taken leave of it, and waits itself."""
    a = interpreter.array(np.ones(8))
    interpreter.compute(dispatch, 8, double_all, a)
    waiting, may_end = list[str](), threading.Event()

    def wait(_: object, why: str, __: object) -> None:
        waiting.append(why)
        if len(waiting) == 1:
            other_waits.set()
            may_end.wait(60)

    other, other_waits = threading.Thread(target=bury_when_idle), threading.Event()
    with LOCK:
        del a
    monkeypatch.setattr("trilby.runtime.watch.wait_for", wait)
    other.start()
    assert other_waits.wait(60)
    bury_when_idle()
    assert waiting == ["its memory is yours, and the array on it is gone"] * 2
    may_end.set()
    other.join()
    bury_when_idle()
    assert len(waiting) == 2


def test_a_device_that_fails_to_give_memory_back_overwrites_it_no_more(
    interpreter: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = np.ones(8)
    a = interpreter.array(memory)
    interpreter.compute(dispatch, 8, double_all, a)
    place = watched(a.segment).place

    def fails(*_: object, **__: object) -> None:
        raise DeviceError("lost")

    with LOCK:
        del a
    with monkeypatch.context() as patch:
        patch.setattr(type(interpreter.residency.backend), "download", fails)
        with pytest.raises(DeviceError):
            bury_when_idle()
    assert not any(r.has_place_of(*place) for r in interpreter.residency.replicas.all)

"""What a launch that is repeated waits for, and what it leaves under way: rule by rule."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.runtime.contents import Pending, on_host, replica
from tests.runtime.programs import add, add_to

import trilby as tb
from trilby import Accelerator, ComputeContext, S32Array
from trilby.backend.base import Argument, Event, Repeated
from trilby.backend.kept import KeptRuns
from trilby.errors import DeviceError
from trilby.runtime.content import CLOCK, Replica
from trilby.runtime.known import CachedLaunch, LaunchOrder


class Noted(Repeated):
    """A launch that only writes down what it was run after."""

    def __init__(self) -> None:
        super().__init__([], 1)
        self.runs: list[Sequence[Event | Repeated]] = []
        self.failure: BaseException | None = None
        self._latest = Pending()

    @property
    def latest(self) -> Event:
        return self._latest

    def run(self, after: Sequence[Event | Repeated]) -> None:
        if self.failure is not None:
            raise self.failure
        self.runs.append(after)

    def submit(self) -> None:
        if self.failure is not None:
            raise self.failure

    def replace(self, position: int, argument: Argument) -> None:
        raise AssertionError

    def keep(self, full: Callable[[], None]) -> KeptRuns:
        raise AssertionError


def place() -> Replica:
    return replica(on_host())


def order(
    read: Sequence[Replica] = (), written: Sequence[Replica] = ()
) -> tuple[LaunchOrder, Noted]:
    launch = Noted()
    return LaunchOrder(launch, read, written), launch


def test_it_waits_for_writers_of_what_it_reads_and_for_all_users_of_what_it_writes() -> None:
    x, y = place(), place()
    one, two, three, four = (Pending() for _ in range(4))
    x.writing, x.reading = (one,), (two,)
    y.writing, y.reading = (three, one), (four,)
    it, launch = order([x], [y])
    it.run_anew(None)
    assert [tuple(run) for run in launch.runs] == [(one, three, four)]
    assert (x.writing, x.reading) == ((one,), (two, launch))
    assert (y.writing, y.reading) == ((launch,), ())


def test_the_launch_before_stands_for_all_that_it_waited_for() -> None:
    x, y = place(), place()
    old = Pending()
    x.writing = y.reading = (old,)
    first, a = order([], [x, y])
    first.run_anew(None)
    y.reading = (old,)
    second, b = order([x], [y])
    second.run_anew(first)
    assert [tuple(run) for run in b.runs] == [(a,)]


def test_the_launch_before_does_not_stand_for_others() -> None:
    x, y = place(), place()
    first, a = order([], [x])
    first.run_anew(None)
    other = Pending()
    y.reading = (other,)
    second, b = order([x], [y])
    second.run_anew(first)
    assert [set(run) for run in b.runs] == [{a, other}]


def test_a_launch_that_need_not_be_waited_for_is_not() -> None:
    x, y = place(), place()
    old = Pending()
    x.writing = y.writing = (old,)
    first, _ = order([], [x])
    first.run_anew(None)
    second, b = order([], [y])
    second.run_anew(first)
    assert [tuple(run) for run in b.runs] == [(old,)]


def settled_pair() -> tuple[Replica, Replica, LaunchOrder, Noted, LaunchOrder, Noted]:
    """Two launches that change one thing each, and have taken turns until that is known."""
    x, y = place(), place()
    first, a = order([x], [y])
    second, b = order([y], [x])
    first.run_anew(None)
    for _ in range(2):
        second.run_anew(first)
        first.run_anew(second)
    return x, y, first, a, second, b


def test_a_launch_in_its_old_place_is_run_as_before() -> None:
    x, y, first, a, second, b = settled_pair()
    count = len(b.runs)
    assert second.run_again(first)
    assert b.runs[count:] == [second.after]
    assert (x.writing, x.reading) == ((b,), ())
    assert (y.writing, y.reading) == ((a,), (b,))
    assert first.run_again(second)
    assert (x.writing, x.reading) == ((b,), (a,))
    assert (y.writing, y.reading) == ((a,), ())


def test_it_is_not_after_another_launch_or_none() -> None:
    _, _, first, _, second, b = settled_pair()
    other, _ = order()
    count = len(b.runs)
    assert not second.run_again(other)
    assert not second.run_again(None)
    second.run_anew(None)
    assert not second.run_again(None), "what came before is not known"
    assert len(b.runs) == count + 1
    assert first.before() is second


@pytest.mark.parametrize("what", ["writing", "reading"])
def test_it_is_not_where_others_came_between(what: str) -> None:
    _, y, first, _, second, b = settled_pair()
    count = len(b.runs)
    setattr(y, what, (*getattr(y, what), Pending()))
    assert not second.run_again(first)
    assert len(b.runs) == count


def test_what_a_run_does_not_change_is_not_noted() -> None:
    x, y, z = place(), place(), place()
    it, launch = order([x], [y, z])
    other, _ = order()
    it.run_anew(other)
    assert [one for one, _, _ in it.left] == [x, y, z]
    it.run_anew(other)
    assert it.left == ()
    z.writing = (Pending(),)
    it.run_anew(other)
    assert [(one, writing) for one, writing, _ in it.left] == [(z, (launch,))]


def test_readers_that_others_added_stay() -> None:
    x, y = place(), place()
    it, launch = order([x], [y])
    other, _ = order()
    it.run_anew(other)
    another = Pending()
    x.reading = (another,)
    it.run_anew(other)
    assert x.reading == (another, launch)
    x.reading = ()
    it.run_anew(other)
    first = x.reading
    x.reading = ()
    it.run_anew(other)
    assert x.reading is first, "the same readers are the same tuple, so that nothing has changed"


@pytest.mark.parametrize("anew", [True, False])
def test_where_an_interrupt_falls_others_wait_for_everything(anew: bool) -> None:  # noqa: FBT001 -- pytest gives it
    x, y, first, a, second, b = settled_pair()
    b.failure = KeyboardInterrupt()
    run = second.run_anew if anew else second.run_again
    with pytest.raises(KeyboardInterrupt):
        run(first)
    assert set(x.writing) == {a, b}
    assert set(y.writing) == {a, b}


def test_a_launch_that_is_refused_leaves_all_as_it_was() -> None:
    x, y, first, a, second, b = settled_pair()
    before = x.writing, x.reading, y.writing, y.reading
    b.failure = DeviceError("refused")
    with pytest.raises(DeviceError):
        second.run_anew(first)
    assert (x.writing, x.reading, y.writing, y.reading) == before
    assert a.runs
    b.failure = None
    assert not second.run_again(first), "what it would leave is not known"
    assert not second.run_again(None), "and it has no place any more"


# ---------------------------------------------------------------------- launches that are known


@tb.compute
def one_by_one(cc: ComputeContext, a: S32Array, b: S32Array, times: int) -> None:
    for n in range(times):
        cc.dispatch(a.length, add, a, n // times)
        cc.dispatch(b.length, add, b, n // times)


@tb.compute
def one_from_the_other(cc: ComputeContext, a: S32Array, b: S32Array, times: int) -> None:
    for n in range(times):
        cc.dispatch(a.length, add, a, n // times)
        cc.dispatch(b.length, add_to, b, a)


def steady_launch(
    accelerator: Accelerator, *buffers: S32Array, loop: Any = one_by_one
) -> CachedLaunch:
    """The last launch of a loop of two that has become steady."""
    a, b = buffers
    accelerator.compute(loop, a, b, 20)
    known = vars(accelerator.launches)["_last"]
    assert isinstance(known, CachedLaunch)
    assert known.is_steady()
    return known


def test_a_steady_launch_is_so_until_something_changes() -> None:
    buffers = S32Array.of(range(4)), S32Array.of(range(4))
    with Accelerator("native", memory="discrete") as accelerator:
        known = steady_launch(accelerator, *buffers)
        same, known.launch.same = known.launch.same, None
        assert not known.is_steady()
        known.launch.same = same
        assert known.is_steady()
        CLOCK.now += 1
        assert not known.is_steady()


def test_all_of_a_round_is_noted() -> None:
    buffers = S32Array.of(range(4)), S32Array.of(range(4))
    with Accelerator("native", memory="discrete") as accelerator:
        known = steady_launch(accelerator, *buffers)
        other = known.follower
        assert other is not None
        assert other is not known
        for one in (known, other):
            for place, _, _ in one.order.found:
                place.noted_writing = place.noted_reading = ()
        known.order.left = known.order.found
        other.order.left = other.order.found
        known.note_round()
        for one in (known, other):
            for place, writing, reading in one.order.found:
                assert (place.noted_writing, place.noted_reading) == (writing, reading)


def test_an_interrupt_while_launches_are_given_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    buffers = S32Array.of(range(4)), S32Array.of(range(4))
    with Accelerator("native", memory="discrete") as accelerator:
        known = steady_launch(accelerator, *buffers, loop=one_from_the_other)

        def interrupted(_: Repeated) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(type(known.launch), "submit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            known.submit()
        monkeypatch.undo()
        for place, _, _ in known.order.found:
            assert known.launch in place.writing

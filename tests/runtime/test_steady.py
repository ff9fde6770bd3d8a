"""Hot loops: launches that come round again and again, and all that may come between them."""

import signal
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.conftest import with_backend
from tests.runtime.devices import Deferred
from tests.runtime.test_schedules import LENGTH, STEPS, Step, World, add, copy, sum_up

import trilby as tb
from trilby import Accelerator, ComputeContext, NDArray
from trilby.backend.run_again import RunAgain
from trilby.runtime.content import CLOCK

Launch: TypeAlias = tuple[Any, tuple[Any, ...]]
"""A kernel and its arguments."""


@tb.compute
def run_loop(
    cc: ComputeContext, launches: list[Launch], turns: int, between: Callable[[int], None]
) -> None:
    for turn in range(turns):
        for kernel, args in launches:
            cc.dispatch(LENGTH, kernel, *args)
        between(turn)


def nothing(_: int) -> None:
    """What comes between turns where nothing does."""


def numbers(first: int) -> NDArray[int]:
    return NDArray[int](np.arange(first, first + LENGTH, dtype=np.int32))


def on_deferred(count: int = 1) -> list[Accelerator]:
    """Accelerators with a device that does nothing before somebody waits, all with the same."""
    backend = Deferred()
    with pytest.MonkeyPatch.context() as patch:
        return [with_backend(patch, backend, poison=True) for _ in range(count)]


PLACES = st.integers(0, 3)
IN_LOOP = st.tuples(st.sampled_from(["add", "copy", "sum"]), PLACES, PLACES)
LOOPS = st.tuples(
    PLACES,
    st.lists(IN_LOOP, min_size=1, max_size=3),
    st.integers(1, 6),
    st.dictionaries(st.integers(0, 5), STEPS, max_size=2),
)


def loop_in(
    world: World,
    device: int,
    what: Sequence[tuple[str, int, int]],
    turns: int,
    acts: dict[int, Step],
) -> None:
    """Run a loop on a device, and the same in NumPy, with acts of others between some turns."""
    launches: list[Launch] = []
    apart = [one for one in what if one[0] == "add" or {one[1], one[2]} != {0, 1}]
    for name, one, other in apart:
        a, b = world.arrays[one], world.arrays[other]
        launches.append((add, (a, 3)) if name == "add" else (KERNELS[name], (a, b)))

    def between(turn: int) -> None:
        for name, one, other in apart:
            x, y = world.expected[one], world.expected[other]
            if name == "add":
                x += np.int32(3)
            else:
                y[:] = x if name == "copy" else x + y
        if turn in acts:
            world.step(*acts[turn])

    compute = cast("Callable[..., object]", world.devices[device].compute)
    compute(run_loop, launches, turns, between)


KERNELS: dict[str, object] = {"copy": copy, "sum": sum_up}


@given(loops=st.lists(LOOPS, min_size=1, max_size=4))
def test_loops_with_anything_between_their_turns(loops: list[Any]) -> None:
    world = World.make()
    with np.errstate(over="ignore"):
        for device, what, turns, acts in loops:
            loop_in(world, device, what, turns, acts)
    for one, raw in world.raw.items():
        assert raw.tolist() == world.expected[one][: len(raw)].tolist()
    world.raw.clear()
    assert [one.tolist() for one in world.arrays] == [one.tolist() for one in world.expected]
    for device in world.devices:
        device.close()


def test_a_loop_that_is_steady_notes_nothing_until_somebody_looks() -> None:
    (device,) = on_deferred()
    a, b = numbers(0), numbers(10)
    ahead: list[bool] = []
    device.compute(
        run_loop, [(copy, (a, b)), (sum_up, (b, a))], 8, lambda _: ahead.append(bool(CLOCK.ahead))
    )
    assert (ahead[0], ahead[-1]) == (False, True)
    assert CLOCK.ahead is None, "the end of the compute function did not note it"
    assert a.tolist() == [i * 2**8 for i in range(LENGTH)]


def test_two_accelerators_take_turns_on_the_same_memory() -> None:
    first, second = on_deferred(2)
    a, b = numbers(0), numbers(0)
    expected = a.tolist(), b.tolist()

    def other(turn: int) -> None:
        if turn >= 4:
            second.compute(run_loop, [(sum_up, (b, a)), (add, (b, 1))], 1 + turn % 4, nothing)

    x, y = (np.array(one, np.int32) for one in expected)
    for turn in range(12):
        x += np.int32(1)
        y += x
        for _ in range(1 + turn % 4 if turn >= 4 else 0):
            x += y
            y += np.int32(1)
    first.compute(run_loop, [(add, (a, 1)), (sum_up, (a, b))], 12, other)
    assert (a.tolist(), b.tolist()) == (x.tolist(), y.tolist())


def test_a_loop_that_goes_another_way_for_once() -> None:
    (device,) = on_deferred()
    a, b, c = numbers(0), numbers(5), numbers(7)
    x, y, z = (np.array(one.tolist(), np.int32) for one in (a, b, c))
    one: Launch = (copy, (a, b))
    two: Launch = (add, (a, 1))
    three: Launch = (sum_up, (c, a))
    order = [one, two] * 5 + [one, three, two] + [one, two] * 4 + [two, two, one]

    @tb.compute
    def follow(cc: ComputeContext) -> None:
        for kernel, args in order:
            cc.dispatch(LENGTH, kernel, *args)

    for launch in order:
        if launch is one:
            y[:] = x
        elif launch is two:
            x += 1
        else:
            x += z
    device.compute(follow)
    assert [n.tolist() for n in (a, b, c)] == [n.tolist() for n in (x, y, z)]


def _none(_: RunAgain) -> None: ...
def _forget(_: RunAgain, __: object) -> None: ...


NEVER_THE_SAME = property(_none, _forget)


@pytest.mark.parametrize("stop", range(1, 14))
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupt_in_a_loop_loses_no_order(
    stop: int, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (device,) = on_deferred()
    a, b = numbers(0), numbers(10)
    runs: list[RunAgain] = []
    run = RunAgain.run

    def interrupted(self: RunAgain, after: Any) -> None:
        runs.append(self)
        if len(runs) == stop and when == "before":
            signal.raise_signal(signal.SIGINT)
        run(self, after)
        if len(runs) == stop and when == "after":
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(RunAgain, "run", interrupted)
    monkeypatch.setattr(RunAgain, "same", NEVER_THE_SAME, raising=False)
    with pytest.raises(KeyboardInterrupt):
        device.compute(run_loop, [(copy, (a, b)), (add, (a, 1))], 20, nothing)
    # whatever was run, `b` is a copy of `a` from the last turn but one, or the last
    steps = a[0]
    assert a.tolist() == [i + steps for i in range(LENGTH)]
    assert b.tolist() in [[i + steps - late for i in range(LENGTH)] for late in (0, 1)]

"""What becomes of launches that are known when one of their buffers is gone."""

import gc

import pytest
from tests.runtime.conftest import Nulls
from tests.runtime.programs import add, dispatch
from tests.runtime.test_steady import Launch, numbers, on_deferred, run_loop
from tests.runtime.test_steady import add as add_in_loop

from trilby import S32Array
from trilby.runtime.content import CLOCK
from trilby.runtime.known import CachedLaunch
from trilby.runtime.launches import Launches


def kept(launches: Launches) -> list[CachedLaunch]:
    """The launches that are known."""
    found: dict[object, CachedLaunch] = vars(launches)["_known"]
    return [*found.values()]


def ring_of_three(null: Nulls) -> tuple[list[S32Array], list[CachedLaunch]]:
    """Three launches that have come round, each on a buffer of its own."""
    buffers = [S32Array.create(length=4) for _ in range(3)]
    for _ in range(4):
        for one in buffers:
            null.accelerator.compute(dispatch, 4, add, one, 1)
    a, b, c = kept(null.accelerator.launches)
    assert (a.follower, b.follower, c.follower) == (b, c, a)
    return buffers, [a, b, c]


@pytest.mark.parametrize("lost", [0, 1])
def test_it_is_forgotten_and_the_others_are_not(null: Nulls, lost: int) -> None:
    buffers, ring = ring_of_three(null)
    del buffers[lost]
    gc.collect()
    before, gone, after = ring[lost - 1], ring[lost], ring[lost + 1]
    assert kept(null.accelerator.launches) == [one for one in ring if one is not gone]
    assert before.follower is None, "nothing leads to it"
    assert gone.follower is None, "and it leads to nothing"
    assert after.follower is before
    assert vars(null.accelerator.launches)["_last"] is ring[2]


def test_the_last_one_is_not_the_last_any_more(null: Nulls) -> None:
    buffers, ring = ring_of_three(null)
    buffers.pop()
    gc.collect()
    assert kept(null.accelerator.launches) == ring[:2]
    assert vars(null.accelerator.launches)["_last"] is None
    buffers.pop()
    gc.collect()
    assert kept(null.accelerator.launches) == ring[:1]


def test_what_a_loop_has_not_noted_is_noted_before() -> None:
    (device,) = on_deferred()
    a = numbers(0)
    launches: list[Launch] = [(add_in_loop, (numbers(5), 1)), (add_in_loop, (a, 1))]

    def between(turn: int) -> None:
        if turn == 5:
            assert CLOCK.ahead is not None
            launches.clear()
            gc.collect()
            assert CLOCK.ahead is None

    device.compute(run_loop, launches, 8, between)
    assert a.tolist() == numbers(6).tolist()

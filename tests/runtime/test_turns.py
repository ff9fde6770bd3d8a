"""Turns of a loop that are repeated without running their Python: nobody sees a difference."""

import threading
from typing import Any

import numpy as np
import pytest
from tests.transform.loops import LOOPS, same, swapped

import trilby as tb
from trilby import Accelerator, ComputeContext, NDArray, S32Array
from trilby.errors import KernelIndexError
from trilby.runtime.known import CachedLaunch
from trilby.runtime.launches import Launches

LENGTH = 4
COUNTS = [0, 1, 7, 8, 9, 15, 16, 17, 18, 33, 100, 301]

Lines = list["np.ndarray[Any, Any]"]


def plain(name: str, lines: Lines, n: int) -> None:
    """What a loop of `tests.transform.loops` does, with NumPy."""
    a, b, c = lines
    to = a
    for g in range(n):
        match name:
            case "same":
                a += 3
            case "swapped" | "by_the_way_of_a_third" | "reversed_shape":
                b[:] = a + 1
                a, b = b, a
            case "three_in_a_ring":
                b[:] = a + 1
                a, b, c = b, c, a
            case "by_remainder":
                x, y = (a, b) if g % 2 == 0 else (b, a)
                y[:] = x + 1
            case "by_two_remainders":
                x = a if g % 2 == 0 else b
                x += 1 + g % 3
            case "several":
                a += 1
                b[:] = a + 1
            case "set_in_the_first_turn":
                to += 2
                to = b
            case _:
                raise AssertionError(name)


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rounds were repeated."""
    counts: list[int] = []
    replay = Launches.replay

    def counted(
        self: Launches, last: CachedLaunch, dispatches: int, launches: int, rounds: int
    ) -> int:
        counts.append(replay(self, last, dispatches, launches, rounds))
        return counts[-1]

    monkeypatch.setattr(Launches, "replay", counted)
    return counts


STEADY = [
    "same",
    "swapped",
    "three_in_a_ring",
    "by_the_way_of_a_third",
    "by_remainder",
    "by_two_remainders",
    "several",
    "reversed_shape",
    "set_in_the_first_turn",
]


def given_to(name: str) -> tuple[Lines, list[Any]]:
    """Three lines of numbers, and as many buffers as a loop takes."""
    shape = (2, LENGTH // 2) if name == "reversed_shape" else (LENGTH,)
    lines = [np.arange(k, k + LENGTH, dtype=np.int32).reshape(shape) for k in (0, 10, 20)]
    made = NDArray[int] if name == "reversed_shape" else S32Array.of
    taken = {"same": 1, "three_in_a_ring": 3}.get(name, 2)
    return lines, [made(line.copy()) for line in lines[:taken]]


def seen(buffer: Any) -> Any:
    return buffer.tolist() if isinstance(buffer, NDArray) else buffer.array.tolist()


@pytest.mark.parametrize("name", STEADY)
def test_the_same_as_in_plain_python(
    name: str, accelerator: Accelerator, replayed: list[int]
) -> None:
    for n in COUNTS:
        lines, buffers = given_to(name)
        for twice in (1, 2):
            accelerator.compute(LOOPS[name], *buffers, n)
            plain(name, lines, n)
            found = [seen(one) for one in buffers]
            assert found == [one.tolist() for one in lines[: len(buffers)]], (n, twice)
    several = name not in {"same", "set_in_the_first_turn"}
    apart = accelerator.device.backend == "interpreter" and several
    if apart or name == "by_two_remainders":
        assert not sum(replayed), "launches are not held back together, or have other numbers"
    else:
        assert sum(replayed)


def test_most_of_a_long_loop_is_repeated(replayed: list[int]) -> None:
    a, b = S32Array.of(range(LENGTH)), S32Array.of(range(LENGTH))
    with Accelerator("native") as accelerator:
        accelerator.compute(swapped, a, b, 10_001)
    assert sum(replayed) > 4_900
    assert b.array.tolist() == [i + 10_001 for i in range(LENGTH)]


def test_the_name_of_the_turn_has_its_last_value(replayed: list[int]) -> None:
    a = S32Array.of(range(LENGTH))
    with Accelerator("native") as accelerator:
        for n in COUNTS:
            assert accelerator.compute(counted_turns, a, n) == 4 + n
    assert sum(replayed) > 0


def test_a_recorded_loop_is_run_as_it_is_written(replayed: list[int]) -> None:
    a = S32Array.of(range(LENGTH))
    with Accelerator("native", memory="discrete") as accelerator:
        with accelerator.record() as ledger:
            accelerator.compute(same, a, 100)
            assert a.array[0] == 300
        assert len(ledger.uploads) == 1
    assert sum(replayed) == 0


def test_a_loop_that_swaps_a_buffer_with_itself_is_repeated(replayed: list[int]) -> None:
    a = S32Array.of(range(LENGTH))
    with Accelerator("native") as accelerator:
        accelerator.compute(swapped, a, a, 1_001)
    assert sum(replayed) > 0
    assert a.array.tolist() == [i + 1_001 for i in range(LENGTH)]


def steady_launch(accelerator: Accelerator, a: S32Array) -> CachedLaunch:
    """The launch of a loop that has become steady."""
    accelerator.compute(same, a, 100)
    known = vars(accelerator.launches)["_last"]
    assert isinstance(known, CachedLaunch)
    assert known.is_steady()
    return known


def test_nothing_is_repeated_while_somebody_wants_to_know(monkeypatch: pytest.MonkeyPatch) -> None:
    a = S32Array.of(range(LENGTH))
    with Accelerator("native", memory="discrete") as accelerator:
        launches = accelerator.launches
        known = steady_launch(accelerator, a)
        with monkeypatch.context() as patch:
            patch.setattr("trilby.runtime.launches.RECORDINGS", [object()])
            assert launches.replay(known, 1, 1, 5) == 0
        with monkeypatch.context() as patch:  # the room must hear of every use
            patch.setattr(accelerator.residency.replicas.room, "is_tight", True)
            assert launches.replay(known, 1, 1, 5) == 0
        with monkeypatch.context() as patch:
            patch.setattr("trilby.runtime.launches.is_told", bool)
            assert launches.replay(known, 1, 1, 5) == 0
        assert launches.replay(known, 1, 1, 5) == 5
        assert a.array.tolist() == [i + 3 * 105 for i in range(LENGTH)]


def test_a_profile_counts_what_is_repeated(replayed: list[int]) -> None:
    a = S32Array.of(range(LENGTH))
    with Accelerator("opencl", memory="discrete") as accelerator:
        with accelerator.profile() as profile:
            accelerator.compute(same, a, 1_000)
        assert profile.total.dispatches == 1_000
    assert sum(replayed) > 0


@pytest.mark.usefixtures("replayed")
def test_threads_with_loops_of_their_own() -> None:
    with Accelerator("opencl") as accelerator:
        pairs = [[S32Array.of(range(k, k + LENGTH)) for k in (start, 0)] for start in (0, 50, 100)]

        def work(a: S32Array, b: S32Array) -> None:
            for _ in range(20):
                accelerator.compute(swapped, a, b, 151)

        threads = [threading.Thread(target=work, args=pair) for pair in pairs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for start, (a, b) in zip((0, 50, 100), pairs, strict=True):
        x, y = np.arange(start, start + LENGTH), np.arange(LENGTH)
        for _ in range(20):
            lines = [x, y, y]
            plain("swapped", lines, 151)
        assert (a.array.tolist(), b.array.tolist()) == (x.tolist(), y.tolist())


def test_a_constant_that_changes_between_two_calls_counts(replayed: list[int]) -> None:
    a = S32Array.of([0] * LENGTH)
    with Accelerator("native") as accelerator:
        for step in (1, 5):
            globals()["STEP"] = step
            accelerator.compute(by_constant, a, 100)
    assert a.array.tolist() == [600] * LENGTH
    assert sum(replayed) > 0


STEP = 1


@tb.kernel
def add_step(kc: tb.KernelContext, a: S32Array) -> None:
    a.array[kc.x] += STEP


@tb.compute
def by_constant(cc: ComputeContext, a: S32Array, n: int) -> None:
    for _ in range(n):
        cc.dispatch(a.length, add_step, a)


@tb.compute
def counted_turns(cc: ComputeContext, a: S32Array, n: int) -> int:
    g = 4
    for g in range(5, 5 + n):  # noqa: B007 -- it is looked at behind the loop
        cc.dispatch(a.length, add_step, a)
    return g


def test_a_range_that_has_no_length_is_walked_through_as_it_is(interpreter: Accelerator) -> None:
    endless = range(10**30)
    found: list[object] = []

    @tb.compute
    def ask(cc: ComputeContext) -> None:
        found.extend([cc.turns(endless, 1, 1), cc.turns([1, 2], 1, 1)])

    interpreter.compute(ask)
    assert found[0] is endless
    assert found[1] == [1, 2]


@tb.compute
def twice_a_turn(cc: ComputeContext, a: S32Array, n: int) -> None:
    for _ in range(n):
        cc.dispatch(a.length, add_step, a)
        cc.dispatch(a.length, add_step, a)


def test_launches_of_another_thread_are_no_part_of_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    globals()["STEP"] = 1
    again = Launches.again
    may_go = {name: threading.Semaphore(name == "one") for name in ("one", "two")}

    def one_by_one(self: Launches, *args: Any) -> CachedLaunch | None:
        name = threading.current_thread().name
        may_go[name].acquire(timeout=0.2)  # the other thread may be at its end
        try:
            return again(self, *args)
        finally:
            may_go["two" if name == "one" else "one"].release()

    with Accelerator("native") as accelerator:
        buffers = {name: S32Array.of([0] * LENGTH) for name in may_go}
        for buffer in buffers.values():
            accelerator.compute(twice_a_turn, buffer, 1)
        monkeypatch.setattr(Launches, "again", one_by_one)
        threads = [
            threading.Thread(target=accelerator.compute, args=(twice_a_turn, buffer, n), name=name)
            for (name, buffer), n in zip(buffers.items(), (20, 23), strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [b.array.tolist() for b in buffers.values()] == [[42] * LENGTH, [48] * LENGTH]


@tb.kernel
def walk(kc: tb.KernelContext, a: S32Array, place: S32Array) -> None:
    a.array[place.array[kc.x]] += 1
    place.array[kc.x] += 1


@tb.kernel
def go_back(kc: tb.KernelContext, place: S32Array) -> None:
    place.array[kc.x] = 0


@tb.compute
def walk_on(cc: ComputeContext, a: S32Array, place: S32Array, other: S32Array, n: int) -> None:
    for _ in range(n):
        cc.dispatch(1, walk, a, place)
        place, other = other, place


@tb.compute
def walk_from_the_begin(cc: ComputeContext, a: S32Array, place: S32Array) -> None:
    cc.dispatch(1, go_back, place)
    cc.dispatch(1, walk, a, place)


@pytest.mark.parametrize("length", [23, 24])
def test_after_a_run_that_fails_the_rest_of_its_round_is_not_run(length: int) -> None:
    a, place = S32Array.create(length=length), S32Array.of([0])
    with Accelerator("interpreter", poison=True) as accelerator:
        with pytest.raises(KernelIndexError):
            accelerator.compute(walk_on, a, place, place, 100)
        accelerator.compute(walk_from_the_begin, a, place)
        assert place.array[0] == 1

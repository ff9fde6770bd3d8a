"""The runs of a launch are added up by the queue."""

import gc
import threading
import weakref
from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest
from tests.backend.native.running import Gate, scaling, upload

from trilby.backend.base import Scalar
from trilby.backend.kept import KeptRuns, Sum
from trilby.backend.native import NativeBackend
from trilby.backend.native.engine import RING
from trilby.backend.native.queue_code import TALLY
from trilby.backend.native.repeated import NativeRepeated
from trilby.data.dtypes import I32

TINY = 1e-11
"""What sums may lose in the last bits: less than a nanosecond."""


def nothing() -> None:
    """Nobody reads when there are many."""


def repeated(backend: NativeBackend) -> NativeRepeated:
    launch = backend.repeated(scaling(backend, upload(backend, np.ones(64, np.int32)), 1))
    assert isinstance(launch, NativeRepeated)
    return launch


def run(launch: NativeRepeated, times: int) -> None:
    for _ in range(times):
        launch.run(())


def sums_of(kept: KeptRuns) -> list[Sum]:
    """All runs, when they are over."""
    kept.wait()
    assert kept.is_empty
    taken = kept.take()
    assert not len(taken.numbers)
    for one in taken.sums:
        assert one.runs > 0
        assert 0 < one.least <= one.most
        assert one.runs * one.least - TINY < one.seconds < one.runs * one.most + TINY
    return list(taken.sums)


def counts(kept: KeptRuns) -> dict[Hashable, int]:
    return {one.kind: one.runs for one in sums_of(kept)}


def test_all_runs_are_counted_however_many(native: NativeBackend) -> None:
    first, second = repeated(native), repeated(native)
    run(first, 1)
    kept = [one.keep(nothing) for one in (first, second)]
    for turn in range(3 * RING):
        run(first, 1)
        if turn % 3 == 0:
            run(second, 1)
    assert [counts(one) for one in kept] == [{None: 3 * RING}, {None: RING}]


def test_what_they_took_is_what_their_events_say(native: NativeBackend) -> None:
    launch = repeated(native)
    kept = launch.keep(nothing)
    seconds: list[float] = []
    for _ in range(100):
        run(launch, 1)
        event = launch.latest
        event.wait()
        seconds.append(event.seconds)
    (one,) = sums_of(kept)
    assert one.seconds == pytest.approx(sum(seconds))
    assert (one.least, one.most) == pytest.approx((min(seconds), max(seconds)))


def test_all_of_them_are_taken_each_time(native: NativeBackend) -> None:
    launch = repeated(native)
    kept = launch.keep(nothing)
    run(launch, 7)
    assert counts(kept) == {None: 7}
    assert counts(kept) == {None: 7}
    run(launch, 5)
    assert counts(kept) == {None: 12}


def test_runs_are_added_up_by_their_kinds(native: NativeBackend) -> None:
    launch = repeated(native)
    kept = launch.keep(nothing)
    run(launch, 7)
    for _ in range(50):
        launch.keep_next("one")
        run(launch, 3)
        launch.keep_next(("another",))
        run(launch, 2)
    assert launch.runs_begun() is None
    assert counts(kept) == {None: 7, "one": 150, ("another",): 100}


def test_runs_under_way_are_counted_where_they_belong(native: NativeBackend) -> None:
    launch = repeated(native)
    gate = Gate.on(native)
    kept = launch.keep(nothing)
    for times in range(1, 9):
        run(launch, times)
        launch.keep_next(times % 3)
    native.flush()
    found = kept.is_empty, kept.take().sums
    gate.open()
    assert found == (False, [])
    assert counts(kept) == {None: 1, 1: 2 + 5 + 8, 2: 3 + 6, 0: 4 + 7}


def test_runs_before_and_after_do_not_count(native: NativeBackend) -> None:
    launch = repeated(native)
    run(launch, 5)
    kept = launch.keep(nothing)
    run(launch, 7)
    launch.keep_no_more()
    run(launch, 9)
    assert counts(kept) == {None: 7}


def test_runs_under_way_before_and_after_do_not_count(native: NativeBackend) -> None:
    launch = repeated(native)
    gate = Gate.on(native)
    run(launch, 5)
    kept = launch.keep(nothing)
    run(launch, 7)
    launch.keep_no_more()
    run(launch, 9)
    native.flush()
    gate.open()
    assert counts(kept) == {None: 7}


def test_runs_are_for_those_who_want_to_know_at_the_time(native: NativeBackend) -> None:
    launch = repeated(native)
    gate = Gate.on(native)  # none is over before all were begun
    kept: list[KeptRuns] = []
    for times in (1, 2, 3):
        kept.append(launch.keep(nothing))
        run(launch, times)
    native.flush()
    gate.open()
    assert [counts(one) for one in kept] == [{None: 1}, {None: 2}, {None: 3}]


@pytest.mark.parametrize("is_late", [False, True])
def test_runs_with_changing_numbers_are_counted(native: NativeBackend, *, is_late: bool) -> None:
    launch, other = repeated(native), repeated(native)
    gate = Gate.on(native) if is_late else None
    kept, kept_too = launch.keep(nothing), other.keep(nothing)
    for turn in range(100):
        launch.replace(1, Scalar(I32, turn))
        run(launch, 1)
        if turn % 2:
            other.replace(1, Scalar(I32, turn))
            run(other, 1)
        if turn == 60:
            launch.keep_next("last")
    native.flush()
    if gate is not None:
        gate.open()
    assert counts(kept) == {None: 61, "last": 39}
    assert counts(kept_too) == {None: 50}


def test_runs_are_counted_though_the_launch_is_gone(native: NativeBackend) -> None:
    launch = repeated(native)
    gate = Gate.on(native)
    kept = launch.keep(nothing)
    run(launch, 3)
    launch.keep_next("last")
    run(launch, 4)
    native.flush()
    del launch
    gc.collect()
    gate.open()
    assert counts(kept) == {None: 3, "last": 4}


def test_runs_may_end_when_nobody_reads_them(native: NativeBackend) -> None:
    """What the queue counts in is there until the last run that it counts is over."""
    launch = repeated(native)
    for turn in range(20):
        gate = Gate.on(native)
        kept = launch.keep(nothing)
        run(launch, 3)
        if turn % 2:
            launch.keep_no_more()
        native.flush()
        del kept
        gc.collect()
        gate.open()
    kept = launch.keep(nothing)
    run(launch, 3)
    assert counts(kept) == {None: 3}


def test_nothing_is_counted_when_nobody_wants_to_know(native: NativeBackend) -> None:
    prepared = scaling(native, upload(native, np.ones(64, np.int32)), 1)
    launch = native.repeated(prepared)
    kept = launch.keep(nothing)
    launch.run(())
    assert prepared.record[TALLY]
    kept.wait()
    launch.keep_no_more()
    assert not prepared.record[TALLY]


@pytest.mark.parametrize("ends", ["nobody reads", "nobody wants to know", "others want to know"])
def test_what_is_counted_in_lasts_as_long_as_its_runs(native: NativeBackend, ends: str) -> None:
    launch: NativeRepeated | None = repeated(native)
    gate = Gate.on(native)
    kept: Any = launch.keep(nothing)
    run(launch, 3)
    launch.keep_next("last")
    run(launch, 1)
    launch.replace(1, Scalar(I32, 1))  # those under way keep their record
    tallies = [weakref.ref(one) for one in kept.tallies.values()]
    del kept
    if ends == "others want to know":
        launch.keep(nothing)
    elif ends == "nobody wants to know":
        launch.keep_no_more()
    else:
        launch = None
    gc.collect()
    under_way = [one() is not None for one in tallies]
    gate.open()
    native.engine.wait(native.engine.submitted)
    assert under_way == [True, True]
    assert [one() for one in tallies] == [None, None]


def test_they_are_read_while_others_end(native: NativeBackend) -> None:
    launch = repeated(native)
    kept = launch.keep(nothing)
    found: list[dict[Hashable, int]] = []
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            found.append({one.kind: one.runs for one in kept.take().sums})

    reader = threading.Thread(target=read)
    reader.start()
    for turn in range(2000):
        launch.keep_next(turn % 2)
        run(launch, 3)
    native.flush()
    is_over.set()
    reader.join()
    assert counts(kept) == {0: 3000, 1: 3000}
    for kind in (0, 1):
        seen = [one.get(kind, 0) for one in found]
        assert seen == sorted(seen)

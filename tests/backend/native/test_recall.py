"""Times that somebody asks for later than the queue remembers them."""

import threading
from contextlib import suppress
from math import inf
from typing import Any

import numpy as np
import pytest
from tests.backend.native.running import REFUSE, Gate, scale, scaling, upload
from tests.runtime.interrupting import interrupt

from trilby.backend.native import NativeBackend
from trilby.backend.native.engine import RING, Engine
from trilby.backend.native.events import NativeEvent
from trilby.data.ndrange import NDRange


def test_events_keep_their_times_if_somebody_wants_them(native: NativeBackend) -> None:
    memory = upload(native, np.ones(64, np.int32))
    wanted, other = (scale(native, memory, 1) for _ in range(2))
    wanted.keep_times()
    for _ in range(RING + 10):
        scale(native, memory, 1)
    wanted.wait()
    assert wanted.seconds > 0
    assert wanted.times == (0.0, wanted.seconds)
    assert other.seconds == 0.0


def test_all_of_many_have_theirs(native: NativeBackend) -> None:
    memory = upload(native, np.ones(64, np.int32))
    events: list[NativeEvent] = []
    for _ in range(3 * RING):
        events.append(scale(native, memory, 1))
        events[-1].keep_times()
    events[-1].wait()
    assert all(event.seconds > 0 for event in events)


def test_none_is_forgotten_before_it_is_over(native: NativeBackend) -> None:
    """The next ones have to wait."""
    memory = upload(native, np.ones(64, np.int32))
    gate = Gate.on(native)
    opens = threading.Timer(0.2, gate.open)
    opens.start()
    events: list[NativeEvent] = []
    for _ in range(2 * RING):
        events.append(scale(native, memory, 1))
        events[-1].keep_times()
    opens.join()
    events[-1].wait()
    assert all(event.seconds > 0 for event in events)


def test_ctrl_c_while_they_are_told_loses_none(
    native: NativeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = upload(native, np.ones(64, np.int32))
    wanted = [scale(native, memory, 1) for _ in range(20)]
    for event in wanted:
        event.keep_times()
    presses: list[int] = []
    as_ever: Any = NativeEvent.take_times

    def press(event: NativeEvent) -> None:
        presses.append(event.sequence)
        if len(presses) in {1, 5}:
            raise KeyboardInterrupt
        as_ever(event)
        if len(presses) in {8, 15}:
            raise KeyboardInterrupt

    monkeypatch.setattr(NativeEvent, "take_times", press)
    interrupted = 0
    for _ in range(RING + 100):
        try:
            scale(native, memory, 1)
        except KeyboardInterrupt:
            interrupted += 1
    assert interrupted == 4
    assert all(event.seconds > 0 for event in wanted)


def test_ctrl_c_while_one_is_added_is_nothing_to_the_next(native: NativeBackend) -> None:
    prepared = scaling(native, upload(native, np.ones(64, np.int32)), 1)
    for moment in range(4):
        with suppress(KeyboardInterrupt), interrupt(Engine.remember.__code__, moment):
            native.run(prepared).keep_times()
        wanted = native.run(prepared)
        wanted.keep_times()
        for _ in range(RING + 100):
            native.run(prepared)
        assert wanted.seconds > 0, moment


def test_nothing_is_remembered_when_nobody_asks_any_more(native: NativeBackend) -> None:
    memory = upload(native, np.ones(64, np.int32))
    scale(native, memory, 1).keep_times()
    engine: Any = native.engine
    assert engine._room < RING
    for _ in range(RING + 100):
        scale(native, memory, 1)
    assert engine._room == inf


def test_an_assertion_that_failed_has_no_times(native: NativeBackend) -> None:
    kernel = native.build(REFUSE, 1)
    memories = [upload(native, np.array([number], np.int32)) for number in (-1, 1)]
    bad, good = (native.run(native.prepare(kernel, NDRange(1), [one])) for one in memories)
    good.wait()
    assert bad.times is None
    assert good.times is not None

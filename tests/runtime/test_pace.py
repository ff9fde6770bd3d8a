"""How many passes are begun at once, by a clock that the test has in its hands."""

import pytest
from tests.runtime.contents import done

from trilby.runtime import passes
from trilby.runtime.passes import MOST_AT_ONCE, MOST_UNDER_WAY, PORTION_SECONDS, Pace


class Clock:
    """Stands still between two steps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(passes.time, "perf_counter", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def portions(measured: Pace, clock: Clock, seconds: float, count: int) -> list[int]:
    """The sizes of some portions, on a device that takes so long for a pass."""
    found: list[int] = []
    for _ in range(count):
        found.append(measured.next_size(10**9))
        measured.begun(done(), found[-1], clock.now)
        clock.now += seconds * found[-1]
        measured.ended()
    return found


def test_brief_passes_are_begun_in_larger_and_larger_portions(clock: Clock) -> None:
    assert portions(Pace(), clock, 1e-6, 7) == [1, 4, 16, 64, 256, 1024, 1024]
    assert MOST_AT_ONCE == 1024


def test_a_portion_takes_no_longer_than_a_moment(clock: Clock) -> None:
    sizes = portions(Pace(), clock, PORTION_SECONDS / 50, 9)
    assert sizes[:3] == [1, 4, 16]
    assert all(49 <= size <= 50 for size in sizes[3:])


def test_long_passes_are_begun_one_at_a_time(clock: Clock) -> None:
    assert portions(Pace(), clock, 1.0, 3) == [1, 1, 1]


def test_a_device_that_gets_slower_gets_less(clock: Clock) -> None:
    measured = Pace(1000)
    assert portions(measured, clock, 1e-6, 1) == [1000]
    assert portions(measured, clock, PORTION_SECONDS, 3) == [1024, 1, 1]


def test_no_more_passes_than_are_left() -> None:
    assert Pace(500).next_size(3) == 3


def test_the_device_has_one_portion_in_advance() -> None:
    measured = Pace()
    assert measured.oldest is None
    events = [done() for _ in range(MOST_UNDER_WAY)]
    for event in events:
        assert not measured.too_many
        measured.begun(event, 1, 0.0)
    assert measured.too_many
    assert measured.oldest is events[0]
    measured.ended()
    assert measured.oldest is events[1]


def test_waiting_for_the_portion_before_does_not_count(clock: Clock) -> None:
    measured = Pace(8)
    for _ in range(2):
        measured.begun(done(), 8, clock.now)
    clock.now += PORTION_SECONDS
    measured.ended()
    clock.now += PORTION_SECONDS
    measured.ended()
    assert 7 <= measured.size <= 8

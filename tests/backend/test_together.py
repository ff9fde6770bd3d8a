"""Several steps of work as one event."""

import pytest

from trilby.backend.base import Times
from trilby.backend.done import DoneEvent, FadingEvent, Together
from trilby.errors import DeviceError


class Step(FadingEvent):
    """A step whose end the test decides on."""

    def __init__(self, times: Times = (1.0, 2.0)) -> None:
        self.origin: object = None
        self.done = False
        self.times = times
        self.seconds = times[1] if times else 0.0
        self.is_kept = False

    def keep_times(self) -> None:
        self.is_kept = True

    def wait(self) -> None:
        self.done = True
        if self.times is None:
            raise DeviceError("it failed")


def test_it_is_done_when_all_steps_are() -> None:
    first, second = Step((1.0, 2.0)), Step((9.0, 3.0))
    both = Together(first, second)
    assert first.is_kept
    first.done = True
    assert (both.done, both.seconds) == (False, 2.0)
    both.wait()
    assert (both.done, both.times) == (True, (1.0, 5.0))


def test_steps_may_come_later() -> None:
    work = Together()
    assert (work.done, work.times) == (True, (0.0, 0.0))
    work.add(DoneEvent(0.5))
    work.add(Step())
    assert not work.done
    work.wait()
    assert work.seconds == 2.5


def test_what_failed_is_raised_at_every_call() -> None:
    work = Together(Step(), Step(None), Step())
    for _ in range(2):
        with pytest.raises(DeviceError, match="it failed"):
            work.wait()
    for step in (work, work):
        assert step.times is None
        assert step.seconds == 0.0

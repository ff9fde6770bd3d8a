"""What an interrupt left half done is mended, also where more of them come."""

import pytest

from trilby.errors import DeviceError, ReentryError
from trilby.mending import mend


class Steps:
    """Something that is interrupted some times."""

    def __init__(self, *errors: BaseException) -> None:
        self._errors = list(errors)
        self.ended = list[str]()

    def act(self, name: str) -> None:
        if self._errors:
            raise self._errors.pop(0)
        self.ended.append(name)


def test_it_is_done_once_where_nothing_interrupts() -> None:
    steps = Steps()
    mend(steps.act, "a")
    assert steps.ended == ["a"]


def test_it_is_begun_anew_after_every_interrupt_and_the_last_one_is_raised() -> None:
    steps = Steps(KeyboardInterrupt(), ReentryError("amid things", advice="wait"), SystemExit(3))
    with pytest.raises(SystemExit):
        mend(steps.act, "a")
    assert steps.ended == ["a"]


def test_an_error_that_would_come_again_is_raised_at_once() -> None:
    steps = Steps(DeviceError("lost"), KeyboardInterrupt())
    with pytest.raises(DeviceError):
        mend(steps.act, "a")
    assert steps.ended == []


def test_it_is_not_tried_for_ever() -> None:
    steps = Steps(*(KeyboardInterrupt() for _ in range(1000)))
    with pytest.raises(KeyboardInterrupt):
        mend(steps.act, "a")
    assert steps.ended == []

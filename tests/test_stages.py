"""The time of stages, by a clock that the test has in its hands."""

from types import SimpleNamespace

import pytest

from trilby import stages
from trilby.stages import measured_stages, stage


class Clock:
    """Stands still unless it is told to go on."""

    def __init__(self) -> None:
        self.now = 100.0

    def pass_(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(stages, "time", SimpleNamespace(perf_counter=lambda: made.now))
    return made


def test_at_every_moment_one_stage_runs(clock: Clock) -> None:
    with measured_stages() as spent:
        clock.pass_(1)  # nobody's
        with stage("reflect", "all"):
            clock.pass_(2)
            with stage("reflect", "one"):
                clock.pass_(4)
            with stage("build", "one"):
                clock.pass_(8)
                with stage("generate"):
                    clock.pass_(16)
                clock.pass_(32)
            clock.pass_(64)
        clock.pass_(128)
        with stage("reflect", "all"):
            clock.pass_(256)
    assert spent == {
        ("all", "reflect"): 2 + 64 + 256,
        ("one", "reflect"): 4,
        ("one", "build"): 8 + 32,
        ("one", "generate"): 16,
    }


def test_what_a_stage_took_that_failed_is_counted(clock: Clock) -> None:
    def fail() -> None:
        with stage("build", "one"):
            clock.pass_(3)
            raise ValueError("no")

    with measured_stages() as spent:
        with pytest.raises(ValueError, match="no"):
            fail()
        clock.pass_(5)
    assert spent == {("one", "build"): 3}


def test_nothing_is_measured_where_nobody_asks(clock: Clock) -> None:
    with stage("build", "one"):
        clock.pass_(3)
    with measured_stages() as spent:
        pass
    with stage("build", "one"):
        clock.pass_(3)
    assert spent == {}


def test_a_stage_of_no_function_has_no_name(clock: Clock) -> None:
    with measured_stages() as spent, stage("build"):
        clock.pass_(3)
    assert spent == {("", "build"): 3}

"""Random programs give what NumPy says, whatever the strategy, and move as little as promised.

Some of them, always the same ones, are part of every test run; `make fuzz` runs many more,
each time others, in two processes.
"""

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from tests.property.program_reduction import reduced
from tests.property.program_running import (
    Bench,
    Problem,
    Way,
    loaded,
    open_benches,
    problem_in,
    ways,
)
from tests.property.program_texts import HEAD, Program, program, programs

from trilby import Transfers
from trilby.runtime.launches import Launches

IS_SEARCH = not settings().derandomize
PARTS = ("one half", "the other half") if IS_SEARCH else ("a", "b", "c", "d", "e", "f")
PROGRAMS = settings().max_examples // len(PARTS) if IS_SEARCH else 4
"""For each part; a search has as many of them as it has kernels."""
PATIENCE = 300.0
"""For how many seconds a search makes a failing program smaller."""


class Benches:
    """All devices; opened anew at times, since they keep what they have compiled."""

    def __init__(self) -> None:
        self.runs = 0
        self.smaller: dict[str, str] = {}
        self._open: list[Bench] = []

    def ways(self) -> list[Way]:
        """All ways to run a program."""
        if self.runs % 100 == 0:
            self.close()
            self._open = open_benches()
        self.runs += 1
        return ways(self._open)

    def problem(self, text: str) -> tuple[Way, Problem] | None:
        """The first thing that is wrong with a program."""
        with loaded(text) as program:
            found = ((way, way.problem(program)) for way in self.ways())
            return next(((way, problem) for way, problem in found if problem), None)

    def reduced(self, text: str, way: Way, problem: Problem) -> str:
        """The smallest program that is wrong in the same way; looked for once only."""

        def fails(candidate: str) -> bool:
            found = problem_in(candidate, way)
            return found is not None and found.kind == problem.kind

        if text not in self.smaller:
            say(f"a program fails; it is made smaller, for {PATIENCE:.0f} seconds at most")
            self.smaller[text] = reduced(text, fails, PATIENCE)
        return self.smaller[text]

    def close(self) -> None:
        """Give the devices back."""
        for bench in self._open:
            bench.close()


def say(text: str) -> None:
    """Show how far a search has come; processes of pytest have no other way than this."""
    if IS_SEARCH:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


@pytest.fixture
def benches() -> Iterator[Benches]:
    made = Benches()
    yield made
    made.close()


@pytest.mark.parametrize("part", PARTS)
def test_strategies_agree(benches: Benches, part: str) -> None:
    @settings(
        max_examples=PROGRAMS,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(program=programs(part))
    def check(program: Program) -> None:
        found = benches.problem(program.text)
        if benches.runs % 25 == 0:
            say(f"{part}: {benches.runs} of {PROGRAMS} programs")
        if found is None:
            return
        text, (way, problem) = program.text, found
        if IS_SEARCH:
            say(f"{part}: {program.seed}: {way.name}: {problem.told}")
            if problem.kind == "too many":  # right, and told: a plan may lose a bet
                return
            text = benches.reduced(text, way, problem)
        pytest.fail(f"{way.name}: {problem.told}\n\n{HEAD}{text}\n\n{program}")

    check()


def test_many_launches_take_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that repeat themselves find out whether that way is right; recorded ones do not."""
    taken: list[bool] = []
    again = Launches.again

    def counted(launches: Launches, *given: Any) -> bool:
        taken.append(again(launches, *given))
        return taken[-1]

    monkeypatch.setattr(Launches, "again", counted)
    bench, *others = open_benches()
    for number in range(20):
        with loaded(program(f"short {number}").text) as one:
            assert Way(bench, Transfers.AUTO, is_recorded=False).problem(one) is None
    for opened in (bench, *others):
        opened.close()
    assert sum(taken) > len(taken) / 10


def test_failing_programs_are_made_smaller() -> None:
    """Until nothing can be left out: here, until one word is all that counts."""
    text = """
def other(a):
    pass

def drive(a):
    for i in range(3):
        if a > i:
            other(marked(a + 1) * 2)
    return a
"""
    smaller = reduced(text, lambda candidate: "marked" in candidate, 60.0)
    assert smaller == "def drive(a):\n    marked"

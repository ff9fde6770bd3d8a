"""Random kernels mean the same on every backend, and, where NumPy can say, what NumPy says.

A few of them, always the same ones, are part of every test run; `make fuzz` runs many more,
each time others.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from tests.property.kernel_programs import Program, programs
from tests.property.kernel_running import differences, forget, load, meaning, outcome

from trilby import Accelerator, TrilbyError

IS_SEARCH = not settings().derandomize
PROGRAMS = settings().max_examples if IS_SEARCH else 40
REPEATED = [Phase.explicit, Phase.generate]
"""Making a program smaller takes minutes, so only a search does it."""

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
"""A program is a large example, and drivers take their time to compile it."""


class Bench:
    """Two devices; opened anew at times, since they keep what they have compiled."""

    def __init__(self) -> None:
        self.runs = 0
        self._open = ExitStack()

    def devices(self) -> tuple[Accelerator, Accelerator]:
        """The interpreter, and what is compared with it."""
        if self.runs % 100 == 0:
            self.close()
            self.interpreter = self._open.enter_context(Accelerator("interpreter", poison=True))
            self.device = self._open.enter_context(Accelerator("opencl", poison=True))
            if IS_SEARCH and self.runs:
                sys.stdout.write(f"{self.runs} programs\n")
        self.runs += 1
        return self.interpreter, self.device

    def close(self) -> None:
        """Give the devices back."""
        self._open.close()


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.close()


@settings(
    max_examples=PROGRAMS,
    phases=list(Phase) if IS_SEARCH else REPEATED,
    suppress_health_check=SLOW,
)
@given(program=programs())
def test_backends_agree(bench: Bench, program: Program) -> None:
    interpreter, device = bench.devices()
    module = load(program.text)
    try:
        expected = outcome(program, interpreter, module)
        found = outcome(program, device, module)
    except TrilbyError as error:
        pytest.fail(f"{error}\n{program.text}\n{program}")
    finally:
        forget(module)
    told = differences(expected, found)
    assert not told, f"{told}\n{program.text}\n{program}"
    if program.judged:
        told = differences(meaning(program), expected, skip_near=True)
        assert not told, f"NumPy has {told}\n{program.text}\n{program}"

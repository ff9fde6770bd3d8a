"""Random kernels mean the same on every backend, and, where NumPy can say, what NumPy says.

A few of them, always the same ones, are part of every test run; `make fuzz` runs many more,
each time others, in two processes.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from tests.property.kernel_programs import Program, program, programs
from tests.property.kernel_reduction import reduced
from tests.property.kernel_running import differences, forget, load, meaning, outcome

from trilby import Accelerator, TrilbyError
from trilby.transform import inline_calls

IS_SEARCH = not settings().derandomize
PARTS = ("one half", "the other half") if IS_SEARCH else ("a few",)
PROGRAMS = settings().max_examples // len(PARTS) if IS_SEARCH else 12
PATIENCE = 300.0
"""For how many seconds a search makes a failing program smaller."""


DRIVER_FAULTS = frozenset({("opencl", 24564556)})
"""Programs that PoCL 3.0 gets wrong. In this one a branch between two barriers, with a loop in it,
is run also by a work item whose condition is false. All other backends agree on it."""


class Bench:
    """Two devices; opened anew at times, since they keep what they have compiled."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.runs = 0
        self.judged = 0
        self.smaller: dict[Program, Program] = {}
        self._open = ExitStack()

    def devices(self) -> tuple[Accelerator, Accelerator]:
        """The interpreter, and what is compared with it."""
        if self.runs % 100 == 0:
            self.close()
            self.interpreter = self._open.enter_context(Accelerator("interpreter", poison=True))
            self.device = self._open.enter_context(Accelerator(self.backend, poison=True))
        self.runs += 1
        return self.interpreter, self.device

    def problem(self, program: Program) -> tuple[str, str] | None:
        """What is wrong with a program: in one word, and at length."""
        interpreter, device = self.devices()
        module = load(program.text)
        try:
            expected = outcome(program, interpreter, module)
            found = outcome(program, device, module)
        except TrilbyError as error:
            return type(error).__name__, str(error)
        finally:
            forget(module)
        if told := differences(expected, found):
            return "devices", f"the interpreter and the device differ: {told}"
        if program.judged and (told := differences(meaning(program), expected, skip_near=True)):
            return "meaning", f"NumPy and the interpreter differ: {told}"
        return None

    def fails_like(self, kind: str, program: Program) -> bool:
        """Whether a smaller program is wrong in the same way; most make no sense at all."""
        try:
            found = self.problem(program)
        except Exception:  # noqa: BLE001 -- text with pieces cut out may raise anything
            return False
        return found is not None and found[0] == kind

    def reduced(self, program: Program, kind: str) -> Program:
        """The smallest program that is wrong in the same way; looked for once only."""
        if program not in self.smaller:
            say(f"a program fails; it is made smaller, for {PATIENCE:.0f} seconds at most")
            found = reduced(program, lambda text: self.fails_like(kind, text), PATIENCE)
            self.smaller[program] = found
        return self.smaller[program]

    def close(self) -> None:
        """Give the devices back."""
        self._open.close()


def say(text: str) -> None:
    """Show how far a search has come; processes of pytest have no other way than this."""
    if IS_SEARCH:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


@pytest.fixture(params=["opencl", "native"])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    made = Bench(request.param)
    yield made
    made.close()


@pytest.mark.parametrize("part", PARTS)
@settings(
    max_examples=PROGRAMS,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(program=programs())
def test_backends_agree(bench: Bench, part: str, program: Program) -> None:
    assume((bench.backend, program.seed) not in DRIVER_FAULTS)
    problem = bench.problem(program)
    bench.judged += 1
    if bench.judged % 50 == 0:
        say(f"{part}: {bench.judged} of {PROGRAMS} programs")
    if problem is None:
        return
    kind, told = problem
    if IS_SEARCH:
        say(f"{part}: program({program.seed}): {told}")
        program = bench.reduced(program, kind)
    pytest.fail(f"{told}\n\n{program.text}\n\n{program}")


@pytest.mark.parametrize("seed", range(10))
def test_functions_that_are_not_copied(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The native device copies a function to its calls; here each one stays a function."""
    monkeypatch.setattr(inline_calls, "DEEPEST", 0)
    bench = Bench("native")
    try:
        assert bench.problem(program(seed)) is None, program(seed).text
    finally:
        bench.close()


@pytest.mark.xfail(strict=True, reason="the driver takes a branch for an item that does not")
@pytest.mark.parametrize(("backend", "seed"), sorted(DRIVER_FAULTS))
def test_faults_of_drivers_are_still_there(backend: str, seed: int) -> None:
    bench = Bench(backend)
    try:
        assert bench.problem(program(seed)) is None
    finally:
        bench.close()


@pytest.mark.parametrize("seed", sorted({seed for _, seed in DRIVER_FAULTS}))
def test_what_a_driver_gets_wrong_is_right_on_the_native_device(seed: int) -> None:
    bench = Bench("native")
    try:
        assert bench.problem(program(seed)) is None
    finally:
        bench.close()


def test_failing_programs_are_made_smaller() -> None:
    """Until nothing can be left out: here, until one word is all that counts."""
    text = program(1).text.replace("row = ", "marked = 1\n    row = ", 1)
    smaller = reduced(replace(program(1), text=text), lambda tried: "marked" in tried.text, 60.0)
    kernel = smaller.text[smaller.text.index("def kernel") : smaller.text.index("@tb.compute")]
    lines = {line.strip() for line in kernel.splitlines()[1:]}
    assert {line for line in lines if not line.startswith("i = ")} <= {"marked = 1", "pass", ""}

"""Plans at work, with nothing behind them that would mend what they miss."""

from typing import Any

import numpy as np
import pytest
from tests.apps.catalogue import PROGRAMS as APPS
from tests.apps.program import Program
from tests.transform import planned_programs as programs
from tests.transform.planned_context import PlannedAccelerator, PlannedContext, StaleError

import trilby as tb
from trilby import Accelerator, ComputeContext, S32Array
from trilby.model.text import to_text
from trilby.reflect.functions import Compute
from trilby.runtime.compile import analyse_compute
from trilby.transform.place_transfers import place_transfers

BEYOND_A_PLAN = {
    "srad_v2": "a dispatch with starred arguments is text, and brings what it needs itself",
    "xsbench": "a dispatch with starred arguments is text, and brings what it needs itself",
    "life by the number of the pass": "what passes need of what others wrote is left to the launch",
    "backprop": "a plain function reaches buffers through an object that it is handed",
    "reading and writing through aliases": "a method of an object reaches its buffers",
}
"""Programs whose accesses no plan can see: the run time sees them."""

planned_apps = pytest.mark.parametrize(
    "program",
    [app for app in APPS if app.name not in BEYOND_A_PLAN],
    ids=lambda program: program.name,
)


def planned() -> PlannedAccelerator:
    return PlannedAccelerator(Accelerator("interpreter"))


@planned_apps
def test_a_plan_alone_is_right_and_moves_the_least(program: Program[Any]) -> None:
    accelerator: Any = planned()
    outcome = program.run(accelerator, program.make(accelerator))
    for found, expected in zip(outcome, program.reference(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=max(program.tolerance, 1e-6))
    assert accelerator.counts() == program.minimal
    assert accelerator.in_vain() == []


@pytest.mark.parametrize("name", BEYOND_A_PLAN)
def test_what_is_beyond_a_plan_is_seen_by_the_run_time_only(name: str) -> None:
    """When this fails, plans have become better: take the program off the list."""
    program = next(app for app in APPS if app.name == name)
    accelerator: Any = planned()
    with pytest.raises(StaleError):
        program.run(accelerator, program.make(accelerator))


def result(accelerator: Any, function: Compute[..., Any], n: int, *, same: bool) -> list[Any]:
    a = S32Array.of([1, 2, 3, 4, 5])
    b = a if same else S32Array.of([10, 20, 30, 40, 50])
    returned = accelerator.compute(function, a, b, n)
    return [returned, a.array[:].tolist(), b.array[:].tolist()]


@pytest.mark.parametrize("same", [False, True], ids=["two buffers", "the same twice"])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7])
@pytest.mark.parametrize("function", programs.PROGRAMS, ids=lambda function: function.name)
def test_planned_programs_do_what_they_did(
    function: Compute[..., Any], n: int, *, same: bool
) -> None:
    accelerator = planned()
    expected = result(Accelerator("interpreter"), function, n, same=same)
    assert result(accelerator, function, n, same=same) == expected
    assert [copy for copy in accelerator.in_vain() if copy.to == "device"] == []


@pytest.mark.parametrize("function", programs.PROGRAMS, ids=lambda function: function.name)
def test_the_original_stays_as_it_is(function: Compute[..., Any]) -> None:
    closure = analyse_compute(function).closure
    functions = closure.graph.functions
    before = [to_text(func) for func in functions]
    placed = place_transfers(closure)
    assert [to_text(func) for func in functions] == before
    assert [func.name for func in placed] == [func.name for func in functions]


@tb.compute
def nothing_to_do(cc: ComputeContext, a: S32Array) -> object:
    return cc, a.length


def test_a_function_without_copies_is_the_same_object() -> None:
    closure = analyse_compute(nothing_to_do).closure
    assert place_transfers(closure)[-1] is closure.entry


def test_the_context_finds_what_a_plan_forgets() -> None:
    """The tests above mean something: without its copies a program is refused."""
    functions = analyse_compute(programs.elements).graph.functions
    accelerator = planned()
    a, b = S32Array.of([1, 2, 3]), S32Array.of([4, 5, 6])
    with pytest.raises(StaleError), accelerator.running():
        PlannedContext(accelerator, functions).run_compute(programs.elements, (a, b, 2), {})

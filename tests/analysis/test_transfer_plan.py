"""Where copies are placed, and why there: small functions, and the plan that is made for them."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from tests.transform import planned_programs as programs
from tests.transform.planned_programs import double, fill, half, step

import trilby as tb
from trilby import ComputeContext, KernelContext, S32Array
from trilby.analysis.alias import Literally, PlainExpression, Reload
from trilby.analysis.transfers.transfer_plan import (
    Action,
    PlannedCopy,
    TransferPlan,
    When,
    plan_transfers,
)
from trilby.codegen.python import to_python
from trilby.reflect.functions import Compute
from trilby.runtime.compile import analyse_compute
from trilby.transform.place_transfers import carry_out


def plan_of(function: Compute[..., Any]) -> TransferPlan:
    closure = analyse_compute(function).closure
    return plan_transfers(closure)[closure.graph.entry.name]


def text_of(function: Compute[..., Any]) -> str:
    return to_python(carry_out(plan_of(function)))


def copies(plan: TransferPlan) -> list[PlannedCopy]:
    return [copy for actions in plan.before.values() for copy in _copies(actions)]


def _copies(actions: Iterable[Action]) -> Iterator[PlannedCopy]:
    for action in actions:
        if isinstance(action, PlannedCopy):
            yield action
        else:
            yield from _copies((*action.then, *action.otherwise))


def guards(plan: TransferPlan) -> list[PlainExpression]:
    actions = [action for some in plan.before.values() for action in some]
    return [action.condition for action in actions if isinstance(action, When)]


# -------------------------------------------------------------------------- before the loop


@tb.compute
def in_a_loop(cc: ComputeContext, a: S32Array, n: int) -> None:
    for _ in range(n):
        cc.dispatch(a.length, double, a)


@tb.compute
def in_a_loop_that_runs(cc: ComputeContext, a: S32Array) -> None:
    for _ in range(3):
        cc.dispatch(a.length, double, a)


@tb.compute
def in_loops(cc: ComputeContext, a: S32Array, n: int) -> None:
    for _ in range(n):
        for _ in range(1, a.length):
            cc.dispatch(a.length, double, a)


@tb.compute
def in_some_turns(cc: ComputeContext, a: S32Array, n: int) -> None:
    for i in range(n):
        if i > 3:
            cc.dispatch(a.length, double, a)


def test_a_copy_leaves_a_loop_and_is_guarded_by_its_turns() -> None:
    plan = plan_of(in_a_loop)
    assert guards(plan) == [PlainExpression("type(n) is int and n > 0", ("n",))]
    assert [copy.certain for copy in copies(plan)] == [True]


def test_a_loop_that_surely_runs_needs_no_guard() -> None:
    assert guards(plan_of(in_a_loop_that_runs)) == []
    assert "cc.to_device(a)\n    for" in text_of(in_a_loop_that_runs)


def test_a_copy_leaves_several_loops_with_all_their_guards() -> None:
    (outer,) = plan_of(in_loops).before.values()
    (when,) = outer
    assert isinstance(when, When)
    assert when.condition == PlainExpression("type(n) is int and n > 0", ("n",))
    (inner,) = when.then
    assert isinstance(inner, When)
    assert inner.condition == PlainExpression("a.length > 1", ("a",))


def test_a_copy_that_may_be_redundant_stays_in_the_loop() -> None:
    plan = plan_of(in_some_turns)
    assert guards(plan) == []
    assert [copy.sometimes for copy in copies(plan)] == [True]
    assert "if i > 3:\n            cc.to_device(a)" in text_of(in_some_turns)


# ------------------------------------------------------------------------------ not at all


@tb.compute
def only_written(cc: ComputeContext, a: S32Array, n: int) -> None:
    for i in range(n):
        cc.dispatch(a.length, fill, a, i)


@tb.compute
def fresh(cc: ComputeContext, n: int) -> int:
    a = S32Array.create(length=n)
    cc.dispatch(n, double, a)
    return a.length


@tb.compute
def written_in_part(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    cc.dispatch(a.length, half, a)
    cc.dispatch(a.length, step, a, b)


@tb.kernel
def set_and_add(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = 3
    a.array[kc.x] += kc.x


@tb.compute
def read_after_it_was_written(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, set_and_add, a)


@pytest.mark.parametrize(
    "function", [only_written, fresh, written_in_part, read_after_it_was_written]
)
def test_what_only_a_launch_can_tell_is_left_to_the_launch(function: Compute[..., Any]) -> None:
    assert [copy for copy in copies(plan_of(function)) if copy.to == "device"] == []


# ------------------------------------------------------------------------------ to the host


@tb.compute
def element_by_element(cc: ComputeContext, a: S32Array, n: int) -> int:
    cc.dispatch(a.length, double, a)
    total = 0
    for i in range(n):
        total += a.array[i]
    return total


@tb.compute
def one_element_again(cc: ComputeContext, a: S32Array, n: int) -> int:
    cc.dispatch(a.length, double, a)
    total = 0
    for _ in range(n):
        total += a.array[2]
    return total + a.array[2]


@tb.compute
def shown_and_overwritten(cc: ComputeContext, a: S32Array, n: int) -> None:
    for _ in range(n):
        cc.dispatch(a.length, double, a)
        print(a.array[0])  # noqa: T201 -- a look
    a.array[:] = 0


@tb.compute
def shown_and_read(cc: ComputeContext, a: S32Array, n: int) -> list[int]:
    b = S32Array.create(length=a.length)
    for _ in range(n):
        cc.dispatch(a.length, step, a, b)
        print(b.array[0])  # noqa: T201 -- a look
    return b.array.tolist()


def test_a_walk_over_an_array_fetches_what_it_walks_over_once() -> None:
    (copy,) = [copy for copy in copies(plan_of(element_by_element)) if copy.to == "host"]
    assert (copy.path, copy.indices) == ("array[]", (PlainExpression("0:n", ("n",)),))


def test_an_element_that_is_there_is_not_fetched_again() -> None:
    text = text_of(one_element_again)
    assert text.index("cc.to_host(a.array, 2)") < text.index("for _ in")


def test_the_last_turn_fetches_everything_only_if_that_is_wanted() -> None:
    assert "_ + 1 == n" not in text_of(shown_and_overwritten)
    assert "_ + 1 == n" in text_of(shown_and_read)


def test_what_is_read_as_an_element_is_copied_as_one() -> None:
    plan = plan_of(shown_and_overwritten)
    (copy,) = [copy for copy in copies(plan) if copy.to == "host"]
    (index,) = copy.indices
    assert isinstance(copy.what, Reload)
    assert isinstance(index, Literally)
    assert (copy.path, index.number) == ("array[]", 0)


# ------------------------------------------------------------------------- handed to others


@tb.compute
def handed(cc: ComputeContext, a: S32Array, show: Any) -> None:
    cc.dispatch(a.length, double, a)
    show(a)
    cc.dispatch(a.length, double, a)


def test_code_that_is_not_known_counts_as_reading_and_writing_but_not_as_certain() -> None:
    found = [(copy.to, copy.certain) for copy in copies(plan_of(handed))]
    assert found == [("device", True), ("host", False), ("device", True)]


@tb.compute
def launched_in_text(cc: ComputeContext, a: S32Array) -> int:
    cc.dispatch(a.length, double, a)
    try:
        cc.dispatch(a.length, double, a)
    finally:
        pass
    return a.array[0]


def test_a_launch_in_a_text_is_no_look_of_the_host() -> None:
    assert text_of(launched_in_text).count("to_host") == 1


def test_plans_do_not_depend_on_where_objects_lie() -> None:
    for function in programs.PROGRAMS:
        assert len({text_of(function) for _ in range(5)}) == 1

"""Where copies start that gain time: small functions, and the Python that is made of them."""

from types import SimpleNamespace
from typing import Any

import pytest
from tests.transform.planned_programs import PROGRAMS, double, fill, step

import trilby as tb
from trilby import ComputeContext, F32Array, KernelContext, NDRange, S32Array, Transfers
from trilby.analysis.transfers.overlap import can_overlap
from trilby.analysis.transfers.transfer_plan import plan_transfers
from trilby.codegen.python import to_python
from trilby.reflect.functions import Compute
from trilby.runtime.compile import analyse_compute
from trilby.transform.pipelines import compute_transforms, run_transforms

COUNT = 3


def lines_of(function: Compute[..., Any]) -> list[str]:
    """The lines that run under AUTO, without those of the function itself."""
    closure = analyse_compute(function).closure
    done = run_transforms([closure.graph.entry], compute_transforms(Transfers.AUTO, closure))
    return [line.strip() for line in to_python(done.func).splitlines()[1:]]


@tb.kernel
def halve(kc: KernelContext, x: F32Array) -> None:
    x.array[kc.x] = x.array[kc.x] / 2


# ---------------------------------------------------------------------------------- ranges


@tb.compute
def over_a_number(cc: ComputeContext, f: F32Array, a: S32Array, n: int) -> None:
    cc.dispatch(f.length, halve, f)
    cc.dispatch(n, double, a)


@tb.compute
def over_two_numbers(cc: ComputeContext, f: F32Array, a: S32Array, n: int, m: int) -> None:
    cc.dispatch(f.length, halve, f)
    cc.dispatch(NDRange((n, m, 2)), double, a)


@tb.compute
def over_what_is_computed(cc: ComputeContext, f: F32Array, a: S32Array, n: int) -> None:
    cc.dispatch(f.length, halve, f)
    cc.dispatch(n // 2, double, a)


@tb.compute
def over_nothing(cc: ComputeContext, f: F32Array, a: S32Array) -> None:
    cc.dispatch(f.length, halve, f)
    cc.dispatch(0, double, a)


@tb.compute
def over_what_comes_to_nothing(cc: ComputeContext, f: F32Array, a: S32Array) -> None:
    cc.dispatch(f.length, halve, f)
    cc.dispatch(21 % 3, double, a)


@tb.compute
def over_constants(cc: ComputeContext, f: F32Array, a: S32Array) -> None:
    cc.dispatch(f.length, halve, f)
    cc.dispatch(COUNT + 1, double, a)


@tb.compute
def over_a_tuple(cc: ComputeContext, f: F32Array, a: S32Array, n: int) -> None:
    cc.dispatch(f.length, halve, f)
    size = (n, a.length)
    cc.dispatch(size, double, a)


@tb.compute
def over_a_number_that_changes(cc: ComputeContext, f: F32Array, a: S32Array, n: int) -> None:
    cc.dispatch(f.length, halve, f)
    for _ in range(3):
        n -= 1
        cc.dispatch(n, double, a)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (over_a_number, ["if type(n) in (int, tuple) and n:", "cc.to_device(a)"]),
        (
            over_two_numbers,
            [
                "if type(n) in (int, tuple) and n:",
                "if type(m) in (int, tuple) and m:",
                "cc.to_device(a)",
            ],
        ),
        (over_constants, ["cc.to_device(a)"]),
        (over_a_tuple, ["cc.to_device(a)"]),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_without_work_items_nothing_is_needed(
    function: Compute[..., Any], expected: list[str]
) -> None:
    assert lines_of(function)[1 : len(expected) + 1] == expected


@pytest.mark.parametrize(
    "function",
    [
        over_what_is_computed,
        over_nothing,
        over_what_comes_to_nothing,
        over_a_number_that_changes,
    ],
    ids=lambda one: one.name,
)
def test_where_only_a_launch_knows_its_range_it_brings_what_it_needs(
    function: Compute[..., Any],
) -> None:
    assert not any("to_device(a)" in line for line in lines_of(function))


# ---------------------------------------------------------------------------------- places


def seen(_: object) -> None:
    """Nobody knows what is done here."""


@tb.compute
def renamed(cc: ComputeContext, a: S32Array, f: F32Array) -> None:
    cc.dispatch(f.length, halve, f)
    x = a
    cc.dispatch(x.length, double, x)


@tb.compute
def deleted(cc: ComputeContext, a: S32Array, b: S32Array, c: S32Array) -> None:
    cc.dispatch(a.length, fill, a, 1)
    cc.dispatch(b.length, double, b)
    del a
    cc.dispatch(c.length, double, c)


@tb.compute
def in_an_attribute(cc: ComputeContext, world: SimpleNamespace, f: F32Array) -> None:
    cc.dispatch(f.length, halve, f)
    cc.dispatch(3, double, world.grid)


@tb.compute
def shown(cc: ComputeContext, a: S32Array, f: F32Array) -> None:
    cc.dispatch(f.length, halve, f)
    seen(f)
    cc.dispatch(f.length, halve, f)
    cc.dispatch(a.length, double, a)


@tb.compute
def beside_four_others(
    cc: ComputeContext, a: S32Array, b: S32Array, c: S32Array, d: S32Array, e: S32Array
) -> None:
    cc.dispatch(b.length, fill, b, 1)
    cc.dispatch(c.length, fill, c, 1)
    cc.dispatch(d.length, fill, d, 1)
    cc.dispatch(e.length, fill, e, 1)
    cc.dispatch(a.length, double, a)


@tb.compute
def looked_at_here_and_there(cc: ComputeContext, a: S32Array, f: F32Array, n: int) -> int:
    i = 0
    cc.dispatch(a.length, double, a)
    i = n + 1
    cc.dispatch(f.length, halve, f)
    return a.array[i]


@pytest.mark.parametrize(
    ("function", "copy", "before"),
    [
        (renamed, "cc.to_device(a)", "cc.dispatch(f.length, halve, f)"),
        (shown, "cc.to_device(a)", "cc.dispatch(f.length, halve, f)"),
        (beside_four_others, "if cc.apart(a, c, d, e):", "cc.dispatch(c.length, fill, c, 1)"),
        (looked_at_here_and_there, "cc.to_host(a.array, i)", "cc.dispatch(f.length, halve, f)"),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_a_copy_starts_as_early_as_its_names_hold(
    function: Compute[..., Any], copy: str, before: str
) -> None:
    lines = lines_of(function)
    later = [line for line in lines[lines.index(copy) :] if line.startswith("cc.dispatch")]
    assert later[0] == before


def test_what_cannot_start_earlier_is_left_to_the_launch() -> None:
    assert lines_of(in_an_attribute) == [
        "cc.dispatch(f.length, halve, f)",
        "cc.dispatch(3, double, world.grid)",
    ]


@tb.compute
def alone(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, double, a)


@tb.compute
def alone_in_a_loop(cc: ComputeContext, a: S32Array, n: int) -> None:
    for _ in range(n):
        cc.dispatch(a.length, double, a)


def test_a_copy_that_would_overlap_with_nothing_is_left_to_the_launch() -> None:
    assert lines_of(alone) == ["cc.dispatch(a.length, double, a)"]


def test_one_copy_serves_all_launches_of_a_loop() -> None:
    assert lines_of(alone_in_a_loop)[:2] == ["if type(n) is int and n > 0:", "cc.to_device(a)"]


def test_names_that_may_be_gone_are_not_asked() -> None:
    assert not any("apart(c, a" in line for line in lines_of(deleted))


@tb.compute
def stepped(cc: ComputeContext, a: S32Array, b: S32Array, c: S32Array, n: int) -> None:
    for _ in range(n):
        cc.dispatch(a.length, step, a, b)
        cc.dispatch(c.length, double, c)


def test_what_leaves_a_loop_is_asked_too_whether_it_is_apart() -> None:
    lines = lines_of(stepped)
    assert lines[: lines.index("for _ in range(n):")] == [
        "if type(n) is int and n > 0:",
        "cc.to_device(a)",
        "if type(n) is int and n > 0:",
        "if cc.apart(c, b):",
        "cc.to_device(c)",
    ]


# ------------------------------------------------------------------------------- no plan at all


@tb.kernel
def copy_to(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    b.array[kc.x] = a.array[kc.x]


@tb.compute
def a_chain(cc: ComputeContext, a: S32Array, b: S32Array, c: S32Array) -> None:
    cc.dispatch(a.length, copy_to, a, b)
    cc.dispatch(NDRange(b.length), copy_to, b, c)


@tb.compute
def a_chain_that_reads_more(cc: ComputeContext, a: S32Array, b: S32Array, c: S32Array) -> None:
    cc.dispatch(a.length, copy_to, a, b)
    cc.dispatch(a.length, copy_to, c, b)


@tb.compute
def a_chain_that_reads_twice(cc: ComputeContext, a: S32Array, b: S32Array, c: S32Array) -> None:
    cc.dispatch(a.length, copy_to, a, b)
    cc.dispatch(a.length, copy_to, a, c)


@tb.compute
def a_chain_after_nothing_read(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    cc.dispatch(b.length, fill, b, 1)
    cc.dispatch(a.length, copy_to, a, b)


@tb.compute
def a_chain_and_the_host(cc: ComputeContext, a: S32Array, b: S32Array, c: S32Array) -> int:
    cc.dispatch(a.length, copy_to, a, b)
    cc.dispatch(a.length, copy_to, b, c)
    return b.array[0]


@tb.compute
def a_chain_of_another(cc: ComputeContext, a: S32Array, b: S32Array, c: S32Array) -> None:
    cc.dispatch(a.length, copy_to, a, b)
    b = c
    cc.dispatch(a.length, copy_to, b, a)


@tb.compute
def a_chain_by_two_names(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    c = a
    cc.dispatch(8, copy_to, a, b)
    cc.dispatch(8, copy_to, b, c)
    cc.dispatch(a.length, copy_to, c, b)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (a_chain, False),
        (a_chain_by_two_names, True),
        (a_chain_that_reads_more, True),
        (a_chain_that_reads_twice, True),
        (a_chain_after_nothing_read, True),
        (a_chain_and_the_host, True),
        (a_chain_of_another, True),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_a_chain_of_launches_needs_no_plan(function: Compute[..., Any], expected: bool) -> None:  # noqa: FBT001
    assert can_overlap(analyse_compute(function).closure) is expected


@pytest.mark.parametrize("function", [a_chain, *PROGRAMS], ids=lambda function: function.name)
def test_where_no_plan_is_made_it_would_be_empty(function: Compute[..., Any]) -> None:
    closure = analyse_compute(function).closure
    if not can_overlap(closure):
        plans = plan_transfers(closure, ahead=True).values()
        assert not any(plan.before for plan in plans)

"""`tb.lint`: what can be proved of a kernel or a compute function without running it."""

from dataclasses import replace
from typing import Any

from trilby.analysis.barriers import works_in_groups
from trilby.analysis.linting.accesses import Walked
from trilby.analysis.linting.contract import contract_of, local_sizes, used_axes
from trilby.analysis.linting.kernel_facts import KernelFacts
from trilby.analysis.linting.launch import Launch, launch_of
from trilby.analysis.linting.plain_decider import PlainDecider
from trilby.analysis.linting.question import Decider
from trilby.analysis.linting.registry import all_lints
from trilby.analysis.linting.report import Report
from trilby.analysis.linting.walk import walk_kernel
from trilby.analysis.linting.z3_solver import Z3Decider, z3_module
from trilby.analysis.reach import KernelGraph, short_name
from trilby.data.ndrange import NDRange, as_range
from trilby.errors import ArgumentTypeError
from trilby.reflect.functions import Compute, Kernel, is_kernel
from trilby.runtime.compile import analyse_kernel
from trilby.runtime.lint_examples import Examples


def lint(
    function: Kernel[...] | Compute[..., Any],
    *,
    range: int | tuple[int, ...] | NDRange | None = None,  # noqa: A002 -- as in `cc.dispatch`
) -> Report:
    """Look for races, accesses outside of arrays, parting barriers and waste.

    >>> report = tb.lint(square_kernel)
    >>> report.verdict
    'clean'

    With a range the verdict holds for launches over it, without one for all launches.
    """
    if is_kernel(function):
        launch = None if range is None else launch_of(as_range(range))
        return lint_kernel(analyse_kernel(function).graph, launch)
    raise ArgumentTypeError(
        f"{function!r} is neither a kernel nor a compute function",
        advice="give what @tb.kernel or @tb.compute made",
    )


def lint_kernel(graph: KernelGraph, launch: Launch | None) -> Report:
    """Run the lints of kernels."""
    facts = kernel_facts(graph, launch, decider())
    findings = [
        finding for lint_ in all_lints() if lint_.subject == "kernel" for finding in lint_(facts)
    ]
    return Report(short_name(graph.entry.name), tuple(findings), tuple(facts.assumptions))


def decider() -> Decider:
    """The solver that is installed."""
    return PlainDecider() if z3_module() is None else Z3Decider()


def kernel_facts(graph: KernelGraph, launch: Launch | None, decides: Decider) -> KernelFacts:
    """What lints are told of a kernel; what is not given of its launch is read off it."""
    first = walk_kernel(graph)
    launch = _completed(graph, first, launch)
    walked = walk_kernel(graph, launch.known, launch.same, launch.scalars)
    examples = Examples(graph, launch)
    contract = contract_of(walked, launch.axes)
    return KernelFacts(
        graph, walked, launch, decides, examples.confirm, examples.confirm_divergence, contract
    )


def _completed(graph: KernelGraph, walked: Walked, launch: Launch | None) -> Launch:
    waits = works_in_groups(graph)
    names = {name for name in walked.fields if name.startswith(("local_", "group_"))}
    launch = launch or Launch(used_axes(walked))
    local = dict(launch.local)
    if not local:
        local = {axis: n for axis, n in local_sizes(walked).items() if axis in launch.axes}
    return replace(
        launch, local=local, whole_groups=waits, has_groups=waits or bool(names) or bool(local)
    )

"""Bounds: accesses that can leave their array."""

from collections.abc import Iterator

from trilby.analysis.linting.bounds import Overrun, overruns
from trilby.analysis.linting.kernel_facts import KernelFacts
from trilby.analysis.linting.registry import kernel_lint
from trilby.analysis.linting.report import Finding
from trilby.analysis.linting.wording import element_text, launch_text


@kernel_lint("out-of-bounds", severity="error")
def out_of_bounds(facts: KernelFacts) -> Iterator[Finding]:
    """An index that can be outside of its array.

    `i - 1` at the left edge, `i + 1` at the right one, a guard that is off by one, a tile that is
    one too small. The finding has the smallest launch that shows it. On a device such an access
    reads or writes something else.

    An index that stays inside whenever a buffer is long enough is no finding but an assumption of
    the report (`out.array[2 * kc.x]`): what is dispatched decides, and is looked at when the
    compute function is linted.
    """
    for overrun in overruns(facts):
        if overrun.is_up_to_the_launch:
            facts.assumptions[_assumed(overrun)] = None
        else:
            yield _finding(facts, overrun)
    for lost in {one.location: one for one in facts.walked.lost}.values():
        yield Finding(
            "out-of-bounds",
            "warning",
            "unknown",
            f"whether this stays inside cannot be told: {lost.reason}",
            lost.location,
            "make it plainer, or silence this with its id",
            function=facts.name,
        )


def _assumed(overrun: Overrun) -> str:
    access = overrun.access
    name, line = access.memory.name, access.location.line
    return f"`{name}` is large enough for `{access.text}` in line {line}"


def _finding(facts: KernelFacts, overrun: Overrun) -> Finding:
    access = overrun.access
    if overrun.example is None:
        return Finding(
            "out-of-bounds",
            "warning",
            "unknown",
            f"whether `{access.text}` stays inside cannot be told: {overrun.missing}",
            access.location,
            "test the index before, or silence this with its id",
            function=facts.name,
            about=access.text,
        )
    element = element_text(access, overrun.example.indices)
    witness = facts.witness(overrun.example, element, confirmed=True)
    (item,) = overrun.example.items
    verb = {"read": "reads", "write": "writes", "atomic": "changes"}[access.does]
    index = overrun.example.indices[overrun.axis]
    return Finding(
        "out-of-bounds",
        "error",
        "bug",
        f"work item {witness.item_text(item)} {verb} `{element}`, which is not there, in "
        f"{launch_text(witness)}",
        access.location,
        "indices count from 0 and do not wrap around: guard the left edge"
        if index < 0
        else "guard the access with `if`, or launch fewer work items",
        witness,
        function=facts.name,
        about=access.text,
    )

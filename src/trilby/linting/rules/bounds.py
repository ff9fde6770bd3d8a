"""Bounds: accesses that can leave their array."""

from collections.abc import Iterator
from dataclasses import replace

from trilby.analysis.touching.kernel_expressions import Expr
from trilby.dataclass import dataclass
from trilby.linting.accesses import MemoryAccess
from trilby.linting.contract import compares_id, id_index, is_guarded
from trilby.linting.decide.question import (
    Example,
    ItemPart,
    Question,
    missing_data,
    missing_rest,
)
from trilby.linting.dispatches import AXES, extents_of, lengths_in
from trilby.linting.findings import Finding, element_text
from trilby.linting.kernel_facts import KernelFacts
from trilby.linting.lint_registry import kernel_lint
from trilby.linting.terms import leaves_of

# ------------------------------------------------------------------------------------------- bounds
# Which accesses can leave their array, in which launch, and whether that is the kernel's fault.
#
# A kernel does not say how long its buffers are for a range. An index that leaves its array in
# every launch, or in launches that are plainly meant, is a bug. One that stays inside whenever
# the buffer is long enough, or the argument small enough, is what the kernel asks of its
# launches: an assumption of the report, which is checked where the dispatch is seen.

FAR = 1 << 20
"""An index that is never further out than this does not grow with the launch."""

_OF_THE_RANGE = {"constant", "grid", "group_start", "turn", "turns"}
"""What the range decides, and nobody's data or argument."""


@dataclass(frozen=True, slots=True)
class Overrun:
    """An access whose index along an axis of its array can be outside.

    `example` shows it; `missing` says why nobody knows; neither where it is up to the launch.
    """

    access: MemoryAccess
    axis: int
    index: Expr
    extent: Expr
    example: Example | None = None
    missing: str = ""


def overruns(facts: KernelFacts) -> Iterator[Overrun]:
    """Every index that is not proved to be inside."""
    done: set[object] = set()
    vague: set[object] = set()
    for access in facts.walked.accesses:
        if access.memory in vague and missing_data(facts.walked.terms, access.indices):
            continue  # one that cannot be told is enough for an array
        extents = extents_of(facts.walked.terms, access.memory, access.path)
        for axis, (index, extent) in enumerate(zip(access.indices, extents, strict=True)):
            key = (index, extent, access.guards, access.location)
            if key not in done:
                done.add(key)
                for found in _overrun(facts, Overrun(access, axis, index, extent)):
                    vague.update({access.memory} if found.missing else ())
                    yield found


def _overrun(facts: KernelFacts, asked: Overrun) -> Iterator[Overrun]:
    terms = facts.walked.terms
    inside = terms.both(
        terms.compare("le", terms.number(0), asked.index),
        terms.compare("lt", asked.index, asked.extent),
    )
    if inside is terms.true:
        return
    part = ItemPart(asked.access.guards, asked.access.indices, fails=inside)
    assumed = facts.contract.bounds if _counts_on_contract(asked) else facts.contract.races
    missing = missing_data(terms, (asked.index,))
    question = Question(terms, facts.launch, (part,), assumed=assumed, wants_example=False)
    if facts.decider.decide(question) is None:
        return
    if missing:
        yield replace(asked, missing=missing)
        return
    is_meant = _is_meant(facts, asked) or _is_never_far_out(facts, asked)
    fits = False if is_meant else _fits_some_launch(facts, asked, inside)
    if fits:
        yield asked
        return
    outcome = facts.decider.decide(replace(question, wants_example=True))
    if outcome is not None:
        yield _shown(facts, asked, outcome, is_at_fault=fits is not None)


def _shown(
    facts: KernelFacts, asked: Overrun, outcome: Example | str, *, is_at_fault: bool
) -> Overrun:
    """With an example that was run, or with why there is none."""
    terms, access = facts.walked.terms, asked.access
    if isinstance(outcome, str):
        return replace(asked, missing=outcome)
    if not is_at_fault:
        return replace(asked, missing="the launches that it fits were not found")
    missing = missing_data(terms, access.guards)
    if missing:
        missing = missing.replace("the index depends", "whether it happens depends")
        return replace(asked, missing=missing)
    if facts.examples.confirm(outcome, (access,)):
        return replace(asked, example=outcome)
    return replace(asked, missing=missing_rest(terms, access.guards, "it happens"))


def _is_never_far_out(facts: KernelFacts, asked: Overrun) -> bool:
    """True for `list[kc.x % 5]` where there are four: larger launches are no further out.

    So no launch is too large for it, and those that show it are meant.
    """
    terms = facts.walked.terms
    roots = (asked.index, asked.extent, *asked.access.guards)
    if any(leaf.op not in _OF_THE_RANGE for leaf in leaves_of(roots)):
        return False
    near = terms.both(
        terms.compare("le", terms.number(-FAR), asked.index),
        terms.compare("le", asked.index, terms.number(FAR)),
    )
    part = ItemPart(asked.access.guards, asked.access.indices, fails=near)
    question = Question(terms, facts.launch, (part,), wants_example=False)
    return facts.decider.decide(question) is None


def _counts_on_contract(asked: Overrun) -> bool:
    """Where an id is compared with a length, larger ranges are meant to come."""
    return not any(is_guarded(asked.access, axis) for axis in AXES)


def _is_meant(facts: KernelFacts, asked: Overrun) -> bool:
    """True for `a.array[kc.x + 1]`: the range is as long as the array, or the dispatch says so."""
    axis = id_index(asked.index, asked.extent)
    launch = facts.launch
    for relation in launch.relations:
        keys = lengths_in(relation.number, launch.parameters)
        if relation.what == f"max_{axis}" and asked.extent.what in keys:
            return True
    if launch.parameters:  # a dispatch that was seen, of a range that has to do with other things
        return False
    return axis != "" and (launch.is_given or _counts_on_contract(asked))


def _fits_some_launch(facts: KernelFacts, asked: Overrun, inside: Expr) -> bool | None:
    """Whether there is a launch of some items in which all of them stay inside."""
    launch = facts.launch
    most = (4, 3, 2)[len(launch.axes) - 1]
    sizes = {axis: launch.size.get(axis, launch.local.get(axis, most)) for axis in launch.axes}
    compared = tuple(
        guard for guard in asked.access.guards for axis in launch.axes if compares_id(guard, axis)
    )
    question = Question(
        facts.walked.terms,
        replace(launch, size=sizes),
        (ItemPart(asked.access.guards, asked.access.indices, fails=inside),),
        assumed=facts.contract.races,
        exercised=() if launch.is_given else compared,
    )
    return facts.decider.fits(question)


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
        if overrun.example is None and not overrun.missing:
            access = overrun.access
            place = f"`{access.text}` in line {access.location.line}"
            told = f"`{access.memory.name}` is large enough for {place}"
            facts.assumptions[told] = None
        else:
            yield _finding(facts, overrun)
    for lost in {one.location: one for one in facts.walked.lost}.values():
        yield out_of_bounds.unknown(
            f"whether this stays inside cannot be told: {lost.reason}",
            lost.location,
            "make it plainer, or silence this with its id",
        )


def _finding(facts: KernelFacts, overrun: Overrun) -> Finding:
    access = overrun.access
    if overrun.example is None:
        return out_of_bounds.unknown(
            f"whether `{access.text}` stays inside cannot be told: {overrun.missing}",
            access.location,
            "test the index before, or silence this with its id",
            about=access.text,
        )
    element = element_text(access, overrun.example.indices)
    witness = facts.witness(overrun.example, element, confirmed=True)
    (item,) = overrun.example.items
    verb = {"read": "reads", "write": "writes", "atomic": "changes"}[access.does]
    index = overrun.example.indices[overrun.axis]
    return out_of_bounds.bug(
        f"work item {witness.item_text(item)} {verb} `{element}`, which is not there, in "
        f"{witness.launch}",
        access.location,
        "indices count from 0 and do not wrap around: guard the left edge"
        if index < 0
        else "guard the access with `if`, or launch fewer work items",
        witness=witness,
        about=access.text,
    )

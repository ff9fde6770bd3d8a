"""Barriers: work items of a group that part, and local memory that nobody has written."""

from collections.abc import Iterator

from trilby.analysis.linting.accesses import Stop
from trilby.analysis.linting.kernel_facts import KernelFacts
from trilby.analysis.linting.missing import missing_rest
from trilby.analysis.linting.question import ItemPart, Question
from trilby.analysis.linting.registry import kernel_lint
from trilby.analysis.linting.report import Finding
from trilby.analysis.linting.unwritten import unwritten_reads
from trilby.analysis.linting.witness import Proved, Undecided
from trilby.analysis.linting.wording import element_text, launch_text


@kernel_lint("barrier-divergence", severity="error")
def barrier_divergence(facts: KernelFacts) -> Iterator[Finding]:
    """A barrier that some work items of a group reach and others do not.

    It stands under a condition or in a loop that differs within a group, or behind an early
    `return`. The items that wait wait for ever, or run on too early: that is undefined.

    Move the barrier out of the condition, and put what only some items do under `if` on both
    sides of it.
    """
    for stop in facts.walked.stops:
        if stop.guards:
            yield from _parted(facts, stop)


def _parted(facts: KernelFacts, stop: Stop) -> Iterator[Finding]:
    terms = facts.walked.terms
    reached = terms.all_of(stop.guards)
    question = Question(
        terms,
        facts.launch,
        (ItemPart(stop.guards), ItemPart((), fails=reached)),
        same_group=True,
        same_turns=stop.loops,
        assumed=facts.contract.races,
    )
    outcome = facts.decider.decide(question)
    if isinstance(outcome, Proved):
        return
    missing = outcome.reason if isinstance(outcome, Undecided) else ""
    why = "behind an early return" if stop.after_return else "under a condition"
    if stop.loops:
        why = "in a loop that not all leave together"
    if isinstance(outcome, Undecided) or not facts.confirm_divergence(outcome):
        missing = missing or missing_rest(terms, stop.guards, "they part")
        yield Finding(
            "barrier-divergence",
            "warning",
            "unknown",
            f"whether all work items of a group reach this barrier cannot be told: {missing}",
            stop.location,
            "let all work items of a group come here, whatever the data is",
            function=facts.name,
        )
        return
    witness = facts.witness(outcome, "the barrier", confirmed=True)
    one, other = (witness.item_text(item) for item in outcome.items)
    yield Finding(
        "barrier-divergence",
        "error",
        "bug",
        f"work item {one} waits at this barrier, {why}, and {other} of the same group does not, "
        f"in {launch_text(witness)}",
        stop.location,
        "move the barrier to where all work items of the group come by",
        witness,
        function=facts.name,
    )


@kernel_lint("local-unwritten", severity="error")
def local_unwritten(facts: KernelFacts) -> Iterator[Finding]:
    """Local memory is read before any work item has written it.

    The content of `tb.local(…)` is undefined at first. Each element has to be written, and a
    barrier passed, before another work item reads it.
    """
    for access, example, missing in unwritten_reads(facts):
        if example is None:
            yield Finding(
                "local-unwritten",
                "warning",
                "unknown",
                f"whether `{access.text}` was written before cannot be told: {missing}",
                access.location,
                "write all of it first, and put a barrier behind",
                function=facts.name,
                about=access.text,
            )
            continue
        element = element_text(access, example.indices)
        witness = facts.witness(example, element, confirmed=False)
        (item,) = example.items
        yield Finding(
            "local-unwritten",
            "error",
            "bug",
            f"work item {witness.item_text(item)} reads `{element}`, which no work item of its "
            f"group has written, in {launch_text(witness)}",
            access.location,
            "write all of it first, and put a barrier behind",
            witness,
            function=facts.name,
            about=access.text,
        )

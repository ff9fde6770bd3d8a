"""Barriers: work items of a group that part, and local memory that nobody has written."""

from collections.abc import Iterator

from trilby.analysis.touching.kernel_expressions import Expr
from trilby.linting.accesses import MemoryAccess, Stop
from trilby.linting.decide.question import (
    Cover,
    Example,
    ItemPart,
    Outcome,
    Question,
    missing_data,
    missing_rest,
    unknown_leaves,
)
from trilby.linting.dispatches import inside_of
from trilby.linting.findings import Finding, element_text
from trilby.linting.kernel_facts import KernelFacts
from trilby.linting.lint_registry import kernel_lint

# ---------------------------------------------------------------------------------------- unwritten
# Which reads of local memory may find an element that no work item of the group has written.
#
# When a write comes before a read is the races' business: here a write counts that stands before
# the read, or in a loop around both.


def unwritten_reads(facts: KernelFacts) -> Iterator[tuple[MemoryAccess, Example | None, str]]:
    """Reads of local memory with an example that shows it, or with what is missing to tell."""
    seen: set[object] = set()
    for access in facts.of_kind("local"):
        if access.does == "write" or access.location in seen:
            continue
        writers = [other for other in facts.of_kind("local") if _may_fill(other, access)]
        if any(_is_own(writer, access) for writer in writers):
            continue
        example, missing = _judged(facts, access, writers)
        if example is not None or missing:
            seen.add(access.location)
            yield access, example, missing


def _may_fill(writer: MemoryAccess, reader: MemoryAccess) -> bool:
    in_one_loop = any(loop in reader.loops for loop in writer.loops)
    return (
        writer.does != "read"
        and writer is not reader
        and writer.memory is reader.memory
        and writer.path == reader.path
        and (writer.number < reader.number or in_one_loop)
    )


def _is_own(writer: MemoryAccess, reader: MemoryAccess) -> bool:
    """Whether the same work item has surely written just what it reads."""
    is_same = all(a is b for a, b in zip(writer.indices, reader.indices, strict=True))
    return is_same and writer.number < reader.number and set(writer.guards) <= set(reader.guards)


def _judged(
    facts: KernelFacts, reader: MemoryAccess, writers: list[MemoryAccess]
) -> tuple[Example | None, str]:
    terms = facts.walked.terms
    plain = [w for w in writers if _is_plain(w, reader)]
    if plain and _asked(facts, reader, plain, strict=True) is None:
        return None, ""
    vague = [w for w in writers if missing_data(terms, w.indices)]
    if vague:
        line, why = vague[0].location.line, missing_data(terms, vague[0].indices)
        return None, f"for a write in line {line} {why}"
    outcome = _asked(facts, reader, writers, strict=True)
    if isinstance(outcome, str):
        return None, outcome
    if isinstance(outcome, Example):
        missing = missing_data(terms, (*reader.indices, *reader.guards))
        return (None, missing) if missing else (outcome, "")
    if any(unknown_leaves(w.guards) for w in writers):
        sure = [w for w in writers if all(x.op == "fn" for x in unknown_leaves(w.guards))]
        loose = _asked(facts, reader, sure, strict=False)
        if loose is not None:
            return None, "whether it is written depends on data"
    return None, ""


def _is_plain(writer: MemoryAccess, reader: MemoryAccess) -> bool:
    """Whether a write stands before the read, and nothing of it is unknown."""
    is_before = writer.number < reader.number
    return is_before and not unknown_leaves((*writer.guards, *writer.indices))


def _asked(
    facts: KernelFacts, reader: MemoryAccess, writers: list[MemoryAccess], *, strict: bool
) -> Outcome:
    """Is there a read of an element that none of the writes fills?

    Strictly, whatever the data is that decides over the writes.
    """
    terms = facts.walked.terms
    covers = tuple(
        Cover(
            _known_guards(w.guards) if strict else w.guards,
            w.indices,
            w.loops,
            tuple(loop for loop in w.loops if loop in reader.loops and w.number < reader.number),
        )
        for w in writers
    )
    question = Question(
        terms,
        facts.launch,
        (ItemPart((*reader.guards, inside_of(terms, reader)), reader.indices),),
        assumed=facts.contract.races,
        uncovered=covers,
    )
    return facts.decider.decide(question)


def _known_guards(guards: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The conditions that do not depend on data."""
    return tuple(
        guard
        for guard in guards
        if not any(leaf.op in {"data", "fn"} for leaf in unknown_leaves((guard,)))
    )


# ----------------------------------------------------------------------------------------- barriers


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
    if outcome is None:
        return
    missing = outcome if isinstance(outcome, str) else ""
    why = "behind an early return" if stop.after_return else "under a condition"
    if stop.loops:
        why = "in a loop that not all leave together"
    if isinstance(outcome, str) or not facts.examples.confirm_divergence(outcome):
        missing = missing or missing_rest(terms, stop.guards, "they part")
        yield barrier_divergence.unknown(
            f"whether all work items of a group reach this barrier cannot be told: {missing}",
            stop.location,
            "let all work items of a group come here, whatever the data is",
        )
        return
    witness = facts.witness(outcome, "the barrier", confirmed=True)
    one, other = (witness.item_text(item) for item in outcome.items)
    yield barrier_divergence.bug(
        f"work item {one} waits at this barrier, {why}, and {other} of the same group does not, "
        f"in {witness.launch}",
        stop.location,
        "move the barrier to where all work items of the group come by",
        witness=witness,
    )


@kernel_lint("local-unwritten", severity="error")
def local_unwritten(facts: KernelFacts) -> Iterator[Finding]:
    """Local memory is read before any work item has written it.

    The content of `tb.local(…)` is undefined at first. Each element has to be written, and a
    barrier passed, before another work item reads it.
    """
    for access, example, missing in unwritten_reads(facts):
        if example is None:
            yield local_unwritten.unknown(
                f"whether `{access.text}` was written before cannot be told: {missing}",
                access.location,
                "write all of it first, and put a barrier behind",
                about=access.text,
            )
            continue
        element = element_text(access, example.indices)
        witness = facts.witness(example, element, confirmed=False)
        (item,) = example.items
        yield local_unwritten.bug(
            f"work item {witness.item_text(item)} reads `{element}`, which no work item of its "
            f"group has written, in {witness.launch}",
            access.location,
            "write all of it first, and put a barrier behind",
            witness=witness,
            about=access.text,
        )

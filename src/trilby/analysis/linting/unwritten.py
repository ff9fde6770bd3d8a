"""Which reads of local memory may find an element that no work item of the group has written.

When a write comes before a read is the races' business: here a write counts that stands before
the read, or in a loop around both.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trilby.analysis.linting.accesses import Access
from trilby.analysis.linting.launch import inside_of
from trilby.analysis.linting.missing import missing_data, unknown_leaves
from trilby.analysis.linting.question import Cover, ItemPart, Question
from trilby.analysis.linting.witness import Example, Proved, Undecided
from trilby.analysis.touching.expressions import Expr

if TYPE_CHECKING:
    from trilby.analysis.linting.kernel_facts import KernelFacts


def unwritten_reads(facts: "KernelFacts") -> Iterator[tuple[Access, Example | None, str]]:
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


def _may_fill(writer: Access, reader: Access) -> bool:
    in_one_loop = any(loop in reader.loops for loop in writer.loops)
    return (
        writer.does != "read"
        and writer is not reader
        and writer.memory is reader.memory
        and writer.path == reader.path
        and (writer.number < reader.number or in_one_loop)
    )


def _is_own(writer: Access, reader: Access) -> bool:
    """Whether the same work item has surely written just what it reads."""
    is_same = all(a is b for a, b in zip(writer.indices, reader.indices, strict=True))
    return is_same and writer.number < reader.number and set(writer.guards) <= set(reader.guards)


def _judged(
    facts: "KernelFacts", reader: Access, writers: list[Access]
) -> tuple[Example | None, str]:
    terms = facts.walked.terms
    plain = [w for w in writers if _is_plain(w, reader)]
    if plain and isinstance(_asked(facts, reader, plain, strict=True), Proved):
        return None, ""
    vague = [w for w in writers if missing_data(terms, w.indices)]
    if vague:
        line, why = vague[0].location.line, missing_data(terms, vague[0].indices)
        return None, f"for a write in line {line} {why}"
    outcome = _asked(facts, reader, writers, strict=True)
    if isinstance(outcome, Undecided):
        return None, outcome.reason
    if isinstance(outcome, Example):
        missing = missing_data(terms, (*reader.indices, *reader.guards))
        return (None, missing) if missing else (outcome, "")
    if any(unknown_leaves(w.guards) for w in writers):
        loose = _asked(facts, reader, [w for w in writers if not _depends(w)], strict=False)
        if not isinstance(loose, Proved):
            return None, "whether it is written depends on data"
    return None, ""


def _is_plain(writer: Access, reader: Access) -> bool:
    """Whether a write stands before the read, and nothing of it is unknown."""
    is_before = writer.number < reader.number
    return is_before and not unknown_leaves((*writer.guards, *writer.indices))


def _depends(writer: Access) -> bool:
    return any(leaf.op != "fn" for leaf in unknown_leaves(writer.guards))


def _asked(
    facts: "KernelFacts", reader: Access, writers: list[Access], *, strict: bool
) -> Proved | Undecided | Example:
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
        guard for guard in guards if not any(_is_data(x) for x in unknown_leaves((guard,)))
    )


def _is_data(leaf: Expr) -> bool:
    return leaf.op in {"data", "fn"}

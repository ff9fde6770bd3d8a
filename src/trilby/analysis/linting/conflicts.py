"""Which accesses of two work items meet: the pairs that the race lints report on."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Literal, TypeAlias

from trilby.analysis.linting.accesses import MemoryAccess
from trilby.analysis.linting.launch import common_indices, inside_of
from trilby.analysis.linting.question import (
    Example,
    ItemPart,
    Proved,
    Question,
    Undecided,
    missing_data,
    missing_rest,
)
from trilby.analysis.linting.terms import Terms, Ticket, level_of
from trilby.dataclass import dataclass

if TYPE_CHECKING:
    from trilby.analysis.linting.kernel_facts import KernelFacts

RaceKind: TypeAlias = Literal["write-write", "read-write", "plain-atomic"]


@dataclass(frozen=True, slots=True)
class Collision:
    """Two accesses of different work items that meet, or of which that is not known.

    `example` shows it, `missing` says why nobody knows. `is_benign` where both write one value.
    """

    kind: RaceKind
    first: MemoryAccess
    second: MemoryAccess
    example: Example | None
    missing: str = ""
    is_benign: bool = False


def collisions(facts: "KernelFacts") -> Iterator[Collision]:
    """All pairs that meet or may meet, the proved ones first for each pair of lines."""
    shared = [access for access in facts.of_kind("global", "local") if access.does]
    tickets = counters(facts)
    for first, second in combinations_with_replacement(shared, 2):
        kind = _kind(first, second)
        common = common_indices(first, second)
        if kind is None or common is None or _are_apart(facts, first, second, common):
            continue
        found = _collision(facts, kind, (first, second), common, tickets)
        if found is not None:
            yield found


def _kind(first: MemoryAccess, second: MemoryAccess) -> RaceKind | None:
    does = {first.does, second.does}
    if does == {"write"}:
        return "write-write"
    if does == {"read", "write"}:
        return "read-write"
    if "atomic" in does and len(does) == 2:
        return "plain-atomic"
    return None


def _collision(
    facts: "KernelFacts",
    kind: RaceKind,
    pair: tuple[MemoryAccess, MemoryAccess],
    common: int,
    tickets: frozenset[object],
) -> Collision | None:
    terms, (first, second) = facts.walked.terms, pair
    missing = missing_data(terms, (*first.indices[:common], *second.indices[:common]))
    question = _question(facts, pair, common, tickets)
    outcome = facts.decider.decide(replace(question, wants_example=not missing))
    if isinstance(outcome, Proved):
        return None
    benign = kind == "write-write" and _same_value(terms, first, second)
    if isinstance(outcome, Undecided):
        return Collision(kind, first, second, None, missing or outcome.reason, benign)
    if facts.confirm(outcome, (first, second)):
        return Collision(kind, first, second, outcome, is_benign=benign)
    why = missing_rest(terms, (*first.guards, *second.guards), "they meet")
    return Collision(kind, first, second, None, why, benign)


def _question(
    facts: "KernelFacts",
    pair: tuple[MemoryAccess, MemoryAccess],
    common: int,
    tickets: frozenset[object],
) -> Question:
    first, second = (_part(facts, access, common) for access in pair)
    return Question(
        facts.walked.terms,
        facts.launch,
        (first, second),
        meets=True,
        same_group=pair[0].memory.kind == "local",
        unordered=True,
        assumed=facts.contract.races,
        tickets=tickets,
    )


def _part(facts: "KernelFacts", access: MemoryAccess, common: int) -> ItemPart:
    """An access that happens, inside of its array, by an item that leaves no array."""
    within = inside_of(facts.walked.terms, access)
    conditions = (*access.guards, within, *facts.premises())
    return ItemPart(conditions, access.indices[:common], access.phases)


def _are_apart(
    facts: "KernelFacts", first: MemoryAccess, second: MemoryAccess, common: int
) -> bool:
    """True where both are at the same indices, and every id is one of them."""
    indices, others = first.indices[:common], second.indices[:common]
    if any(a is not b for a, b in zip(indices, others, strict=True)):
        return False
    ids = {index.what for index in indices if index.op == "grid"}
    is_local = first.memory.kind == "local"
    return all((f"local_{axis}" if is_local else axis) in ids for axis in facts.launch.axes)


def _same_value(terms: Terms, first: MemoryAccess, second: MemoryAccess) -> bool:
    """Whether both write one constant, or one argument of the launch."""
    if first.stored is None or second.stored is None:
        return False
    one, other = first.stored, second.stored
    is_same = one is other or (one.op == other.op == "constant" and one.what == other.what)
    return is_same and not one.args and one.op != "opaque" and level_of(terms, one) == "launch"


def counters(facts: "KernelFacts") -> frozenset[object]:
    """The atomic counters of which no two work items get the same number."""
    drawn = {why.ticket for why in facts.walked.terms.unknowns.values() if why.ticket}
    return frozenset(ticket for ticket in drawn if _is_counter(facts, ticket))


def _is_counter(facts: "KernelFacts", ticket: Ticket) -> bool:
    touching = (
        access
        for access in facts.walked.accesses
        if (access.memory.kind, access.memory.number, access.path) == ticket[:3]
    )
    return all(_only_grows(access) for access in touching)


def _only_grows(access: MemoryAccess) -> bool:
    stored = access.stored
    by = stored.what if stored is not None and stored.op == "constant" else None
    return access.does == "atomic" and access.change == "add" and isinstance(by, int) and by > 0

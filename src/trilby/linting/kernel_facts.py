"""The facts that kernel lints are given: accesses of a kernel, which of them meet, and a launch."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import combinations_with_replacement
from typing import Literal, TypeAlias

from trilby.analysis.reach import KernelGraph
from trilby.analysis.touching.kernel_expressions import Expr
from trilby.dataclass import dataclass
from trilby.linting.accesses import Does, MemoryAccess
from trilby.linting.contract import Contract
from trilby.linting.decide.confirm import Examples
from trilby.linting.decide.plain import PlainDecider
from trilby.linting.decide.question import (
    Example,
    ItemPart,
    Question,
    Witness,
    missing_data,
    missing_rest,
    unknown_leaves,
)
from trilby.linting.dispatches import LaunchFacts, common_indices, inside_of
from trilby.linting.frame import KernelWalk
from trilby.linting.terms import Terms, level_of
from trilby.locks import computed_once


@dataclass(eq=False)
class KernelFacts:
    """A kernel, as lints see it.

    `walked` has its accesses and barriers as terms, `launch` what is known of how it is launched.
    `decider` answers questions about terms, `examples` runs what it found on the interpreter.
    `assumptions` collects what verdicts count on.
    """

    graph: KernelGraph
    walked: KernelWalk
    launch: LaunchFacts
    decider: PlainDecider
    examples: Examples
    contract: Contract = field(default_factory=Contract)
    assumptions: dict[str, None] = field(default_factory=dict[str, None])

    @property
    def name(self) -> str:
        """The symbol of the kernel."""
        return self.graph.entry.name

    @computed_once
    def collisions(self) -> tuple["Collision", ...]:
        """The pairs of accesses that meet, or of which that cannot be told."""
        return tuple(_collisions(self))

    def of_kind(self, *kinds: str) -> Iterator[MemoryAccess]:
        """The accesses of some memories: `global`, `local`, `private`."""
        return (access for access in self.walked.accesses if access.memory.kind in kinds)

    @computed_once
    def premises(self) -> tuple[Expr, ...]:
        """What holds of work items that leave no array: what races are looked for among."""
        terms = self.walked.terms
        told = (
            terms.implies(terms.all_of(access.guards), inside_of(terms, access))
            for access in self.walked.accesses
            if not access.loops and not unknown_leaves((*access.indices, *access.guards))
        )
        return tuple(c for c in dict.fromkeys(told) if c is not terms.true)

    def witness(self, example: Example, element: str, *, confirmed: bool) -> Witness:
        """An example with the names of the kernel's parameters."""
        return Witness(
            example.items, element, example.range, dict(self._arguments(example)), confirmed
        )

    def _arguments(self, example: Example) -> Iterator[tuple[str, int]]:
        params = self.graph.entry.params
        for (number, which), length in example.lengths.items():
            name = params[number].hint
            yield f"{name}.{which}" if isinstance(which, str) else f"{name}.shape[{which}]", length
        for key, value in example.scalars.items():
            if isinstance(key, int):
                yield params[key].hint, value


# --------------------------------------------------------------------------------------- collisions
# Which accesses of two work items meet: the pairs that the race lints report on.

RaceKind: TypeAlias = Literal["write-write", "read-write", "plain-atomic"]

_KINDS: Mapping[frozenset[Does], RaceKind] = {
    frozenset({"write"}): "write-write",
    frozenset({"read", "write"}): "read-write",
    frozenset({"atomic", "read"}): "plain-atomic",
    frozenset({"atomic", "write"}): "plain-atomic",
}
"""What two accesses that meet are to each other, by what they do."""


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


def _collisions(facts: KernelFacts) -> Iterator[Collision]:
    """All pairs that meet or may meet, the proved ones first for each pair of lines."""
    shared = [access for access in facts.of_kind("global", "local") if access.does]
    tickets = _counters(facts)
    for first, second in combinations_with_replacement(shared, 2):
        kind = _KINDS.get(frozenset((first.does, second.does)))
        common = common_indices(first, second)
        if kind is None or common is None:
            continue
        found = _collision(facts, kind, (first, second), common, tickets)
        if found is not None:
            yield found


def _collision(
    facts: KernelFacts,
    kind: RaceKind,
    pair: tuple[MemoryAccess, MemoryAccess],
    common: int,
    tickets: frozenset[object],
) -> Collision | None:
    """Whether two accesses happen inside of their array, by items that leave no array, and meet."""
    terms, (first, second) = facts.walked.terms, pair
    missing = missing_data(terms, (*first.indices[:common], *second.indices[:common]))
    one, other = (
        ItemPart(
            (*access.guards, inside_of(terms, access), *facts.premises),
            access.indices[:common],
            access.phases,
        )
        for access in pair
    )
    question = Question(
        terms,
        facts.launch,
        (one, other),
        meets=True,
        same_group=first.memory.kind == "local",
        unordered=True,
        assumed=facts.contract.races,
        tickets=tickets,
        wants_example=not missing,
    )
    outcome = facts.decider.decide(question)
    if outcome is None:
        return None
    benign = kind == "write-write" and _same_value(terms, first, second)
    if isinstance(outcome, str):
        return Collision(kind, first, second, None, missing or outcome, benign)
    if facts.examples.confirm(outcome, (first, second)):
        return Collision(kind, first, second, outcome, is_benign=benign)
    why = missing_rest(terms, (*first.guards, *second.guards), "they meet")
    return Collision(kind, first, second, None, why, benign)


def _same_value(terms: Terms, first: MemoryAccess, second: MemoryAccess) -> bool:
    """Whether both write one constant, or one argument of the launch."""
    if first.stored is None or second.stored is None:
        return False
    one, other = first.stored, second.stored
    is_same = one is other or (one.op == other.op == "constant" and one.what == other.what)
    return is_same and not one.args and one.op != "opaque" and level_of(terms, one) == "launch"


def _counters(facts: KernelFacts) -> frozenset[object]:
    """The atomic counters of which no two work items get the same number: they only grow."""
    others = {
        (access.memory.kind, access.memory.number, access.path)
        for access in facts.walked.accesses
        if not _only_grows(access)
    }
    drawn = (why.ticket for why in facts.walked.terms.unknowns.values())
    return frozenset(ticket for ticket in drawn if ticket and ticket[:3] not in others)


def _only_grows(access: MemoryAccess) -> bool:
    stored = access.stored
    by = stored.what if stored is not None and stored.op == "constant" else None
    return access.does == "atomic" and access.change == "add" and isinstance(by, int) and by > 0

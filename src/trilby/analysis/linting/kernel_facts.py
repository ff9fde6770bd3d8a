"""What kernel lints are given: the accesses of a kernel, a launch, and someone to ask."""

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import TypeAlias

from trilby.analysis.linting.accesses import MemoryAccess, Walked
from trilby.analysis.linting.conflicts import Collision, collisions
from trilby.analysis.linting.contract import Contract
from trilby.analysis.linting.launch import LaunchFacts, inside_of
from trilby.analysis.linting.question import Decider, Example, Witness, unknown_leaves
from trilby.analysis.reach import KernelGraph
from trilby.analysis.touching.kernel_expressions import Expr
from trilby.dataclass import dataclass

Confirm: TypeAlias = "Callable[[Example, tuple[MemoryAccess, ...]], bool]"
"""Runs the work items of an example; true where they do what the accesses say."""


@dataclass(slots=True, eq=False)
class KernelFacts:
    """A kernel, as lints see it.

    `walked` has its accesses and barriers as terms, `launch` what is known of how it is launched.
    `decider` answers questions about terms, `confirm` runs examples on the interpreter.
    `assumptions` collects what verdicts count on.
    """

    graph: KernelGraph
    walked: Walked
    launch: LaunchFacts
    decider: Decider
    confirm: Confirm
    confirm_divergence: "Callable[[Example], bool]"
    contract: Contract = field(default_factory=Contract)
    assumptions: dict[str, None] = field(default_factory=dict[str, None])
    _premises: tuple[Expr, ...] | None = None
    _collisions: tuple[Collision, ...] | None = None

    @property
    def name(self) -> str:
        """The symbol of the kernel."""
        return self.graph.entry.name

    def collisions(self) -> tuple[Collision, ...]:
        """The pairs of accesses that meet, or of which that cannot be told."""
        if self._collisions is None:
            self._collisions = tuple(collisions(self))
        return self._collisions

    def of_kind(self, *kinds: str) -> Iterator[MemoryAccess]:
        """The accesses of some memories: `global`, `local`, `private`."""
        return (access for access in self.walked.accesses if access.memory.kind in kinds)

    def premises(self) -> tuple[Expr, ...]:
        """What holds of work items that leave no array: what races are looked for among."""
        if self._premises is None:
            terms = self.walked.terms
            plain = [
                access
                for access in self.walked.accesses
                if not access.loops and not unknown_leaves((*access.indices, *access.guards))
            ]
            told = (
                terms.implies(terms.all_of(access.guards), inside_of(terms, access))
                for access in plain
            )
            self._premises = tuple(c for c in dict.fromkeys(told) if c is not terms.true)
        return self._premises

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

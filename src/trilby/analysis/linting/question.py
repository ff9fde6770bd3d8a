"""Questions about a kernel that a solver answers, in terms; each is about one or two work items.

A question asks for work items, turns, a launch and unknown data such that all its conditions
hold. Solvers know terms and nothing else of kernels.
"""

from typing import Protocol

from trilby.analysis.linting.accesses import Phases
from trilby.analysis.linting.launch import Launch
from trilby.analysis.linting.terms import LoopMark, Terms
from trilby.analysis.linting.witness import Outcome
from trilby.analysis.touching.expressions import Expr
from trilby.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ItemPart:
    """What holds of one work item, and the indices at which it meets the other."""

    conditions: tuple[Expr, ...]
    indices: tuple[Expr, ...] = ()
    phases: Phases = ()
    fails: Expr | None = None
    """A condition that must be false."""


@dataclass(frozen=True, slots=True)
class Cover:
    """What any work item of the group does where `conditions` hold: it fills these indices."""

    conditions: tuple[Expr, ...]
    indices: tuple[Expr, ...]
    loops: tuple[LoopMark, ...] = ()
    """The loops around it; `same_turns` of them are also around the item, in the same turn."""
    same_turns: tuple[LoopMark, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """Is there a launch in which all of this holds?

    With two items they are different ones. `meets` asks that their indices are equal;
    `same_group` that they are in one group; `apart_in_groups` that no barrier is between them
    where they are. `same_turns` are loops of which both are in the same turn. `assumed` holds of
    the launch. `tickets` are the counters whose numbers are all different.
    """

    terms: Terms
    launch: Launch
    items: tuple[ItemPart, ...]
    meets: bool = False
    same_group: bool = False
    unordered: bool = False
    same_turns: tuple[LoopMark, ...] = ()
    assumed: tuple[Expr, ...] = ()
    tickets: frozenset[object] = frozenset()
    uncovered: tuple[Cover, ...] | None = None
    """That nobody in the group of the only item fills the indices where it is."""
    wants_example: bool = True
    """False where a proof is all that would help."""
    exercised: tuple[Expr, ...] = ()
    """For `fits`: conditions that not all work items of the launch may meet."""


class Decider(Protocol):
    """Answers questions, within a time that it knows."""

    name: str

    def decide(self, question: Question) -> Outcome:
        """Proved where there is no such launch, an example where there is."""
        ...

    def fits(self, question: Question) -> bool | None:
        """Whether there is a launch in which no work item does what is asked; None: not known.

        Its arguments are positive, and some work item comes to where it could happen.
        """
        ...

"""Questions about a kernel that a solver answers, in terms; each is about one or two work items.

A question asks for work items, turns, a launch and unknown data such that all its conditions
hold. Solvers know terms and nothing else of kernels.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import TypeAlias

from trilby.analysis.touching.kernel_expressions import Expr
from trilby.data.ndrange import NDRange
from trilby.dataclass import dataclass
from trilby.linting.accesses import Phases
from trilby.linting.dispatches import LaunchFacts
from trilby.linting.terms import LoopMark, Terms, leaves_of

# ------------------------------------------------------------------------------------------ missing
# What is missing to decide: the unknown numbers that a question turns on, in words.


def unknown_leaves(roots: Iterable[Expr]) -> list[Expr]:
    """The leaves that a solver may choose freely."""
    return [leaf for leaf in leaves_of(roots) if leaf.op in {"opaque", "data", "fn"}]


def missing_data(terms: Terms, indices: Iterable[Expr]) -> str:
    """What is not known of indices that come out of data; empty where none do."""
    reasons: set[str] = set()
    for leaf in unknown_leaves(indices):
        why = terms.unknowns.get(leaf.number)
        if leaf.op == "data" or (why is not None and why.kind in {"data", "ticket"}):
            reasons.add(_reason(terms, leaf))
    return f"the index depends on {' and '.join(sorted(reasons))}" if reasons else ""


def missing_rest(terms: Terms, conditions: Iterable[Expr], what: str) -> str:
    """Why something that a solver found did not show when it was run."""
    leaves = unknown_leaves(conditions)
    told = [leaf for leaf in leaves if leaf.op != "fn"] or leaves
    reasons = sorted({_reason(terms, leaf) for leaf in told})
    if reasons:
        return f"whether {what} depends on {' and '.join(reasons)}"
    return "what the solver found did not show when it was run"


def _reason(terms: Terms, leaf: Expr) -> str:
    if leaf.op == "data":
        return "what its buffers hold"
    if leaf.op == "fn":
        return f"`{leaf.what}`, which is not followed"
    why = terms.unknowns.get(leaf.number)
    return why.reason if why else "an unknown number"


# ------------------------------------------------------------------------------------------ witness
# What shows that something goes wrong: work items, an element, and a launch.
#
# Nothing here knows how it was found.

Item = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Witness:
    """Work items that collide, or one that fails, and the launch in which it happens.

    `items` are global ids `(x, y, z)`, `element` says where they meet (`out.array[3]`), and
    `range` and `arguments` what to launch: numbers by parameter, lengths as `a.length`.
    `confirmed` is true where the interpreter ran it and saw the same.
    """

    items: tuple[Item, ...]
    element: str
    range: NDRange
    arguments: Mapping[str, int] = field(default_factory=dict[str, int])
    confirmed: bool = False

    def __str__(self) -> str:
        who = " and ".join(map(self.item_text, self.items))
        plural = "s" if len(self.items) > 1 else ""
        return f"work item{plural} {who} at {self.element}, in {self.launch}"

    @property
    def launch(self) -> str:
        """The launch as it is written in a program: `range=2 with n=1`."""
        size, local = (
            n and (n[0] if len(n) == 1 else n) for n in (self.range.size, self.range.local)
        )
        text = f"range={size}" if local is None else f"range=NDRange({size}, local={local})"
        numbers = ", ".join(f"{name}={number}" for name, number in self.arguments.items())
        return f"{text} with {numbers}" if numbers else text

    def item_text(self, item: Item) -> str:
        """An id with as many entries as the range has dimensions."""
        shown = item[: len(self.range.size)]
        return str(shown[0]) if len(shown) == 1 else str(shown)


@dataclass(frozen=True, slots=True)
class Example:
    """The numbers that a solver found: those of the launch, and those of each work item.

    `lengths` are by parameter and name or axis, `scalars` by parameter, and `indices` those at
    which the items meet.
    """

    range: NDRange
    items: tuple[Item, ...]
    indices: tuple[int, ...]
    lengths: Mapping[tuple[int, object], int]
    scalars: Mapping[object, int]


Outcome: TypeAlias = Example | str | None
"""An example that shows it, in words why it is not decided, or None: it never happens."""


# ----------------------------------------------------------------------------------------- question


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
    launch: LaunchFacts
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

"""The state of the symbolic execution of a kernel: values, conditions, and barriers passed.

Branches are followed here; the rules for all other ops are in `walk` and `walk_loops`.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any, NamedTuple, TypeAlias

from trilby.analysis.reach import KernelGraph
from trilby.analysis.touching.kernel_expressions import Expr
from trilby.data.dtypes import BOOL, I64, ScalarType
from trilby.dataclass import dataclass
from trilby.linting.accesses import (
    ANYWHERE,
    AccessedMemory,
    AccessedPlace,
    Lost,
    MemoryAccess,
    Phase,
    Phases,
    Stop,
)
from trilby.linting.terms import LoopMark, Terms, Unknown
from trilby.model.op import Block, Func, Op, walk
from trilby.model.ops.control import AndThen, If, OrElse, Ternary
from trilby.model.ops.debug import Assert
from trilby.model.value import Value, VarType
from trilby.source import Location

Known: TypeAlias = "Expr | tuple[AccessedPlace, ...] | Mapping[str, Expr] | None"
"""What is known of a value: a number, places, the leaves of a struct, or nothing."""

Rule: TypeAlias = "Callable[[Frame, Any], Expr | None]"
"""Follows an op, and gives the condition under which what stands behind it runs, if any."""

ORDERED = ("local", "global")
"""The memories that barriers order."""


@dataclass(slots=True, eq=False)
class KernelWalk:
    """A kernel that is followed, or was: its accesses to memory and its barriers.

    `lost` are accesses of which it is not known where to: nothing is proved of these. `fields` are
    those of the kernel context that it reads, and `known` those whose numbers are given.
    """

    graph: KernelGraph
    rules: Mapping[type[Op], Rule]
    known: Mapping[str, int]
    written: frozenset[int]
    """The parameters that the kernel writes."""
    terms: Terms = field(default_factory=Terms)
    accesses: list[MemoryAccess] = field(default_factory=list[MemoryAccess])
    stops: list[Stop] = field(default_factory=list[Stop])
    lost: list[Lost] = field(default_factory=list[Lost])
    memories: list[AccessedMemory] = field(default_factory=list[AccessedMemory])
    fields: set[str] = field(default_factory=set[str])
    sites: dict[object, int] = field(default_factory=dict[object, int])
    """Numbers of barriers, by the calls that lead to them and their ops."""
    functions: Mapping[str, Func] = field(init=False)
    budget: int = field(init=False)
    loops: int = 0
    trying: int = 0
    """How many loops around are only tried: what is found there is thrown away."""

    def __post_init__(self) -> None:
        self.functions = {function.name: function for function in self.graph.functions}
        self.budget = 20_000 + 64 * sum(1 for f in self.graph.functions for _ in walk(f.body))

    def lose(self, location: Location, reason: str) -> None:
        """Take down that something may read and write anywhere."""
        self.lost += [Lost("read", location, reason), Lost("write", location, reason)]


class Way(NamedTuple):
    """How a block is left early: the condition since its beginning, and the state there."""

    condition: Expr
    variables: "Mapping[Value, Known]"
    phases: Mapping[str, Phases]
    """The barriers that were passed last."""
    returned: "Known" = None


@dataclass(slots=True)
class LoopExits:
    """Where a turn of a loop ends early; `depth` is how many conditions hold where it begins."""

    depth: int
    continues: list[Way] = field(default_factory=list[Way])
    breaks: list[Way] = field(default_factory=list[Way])
    returns: bool = False


@dataclass(slots=True)
class Arm:
    """What following a block under a condition has shown; `falls` is when its end is reached."""

    falls: Expr
    changes: Mapping[Value, Known]
    phases: Mapping[str, Phases]
    yielded: Known = None


@dataclass(slots=True)
class Frame:
    """One call of a function, or the kernel itself; `here` are the conditions that hold here."""

    walk: KernelWalk
    function: Func
    arguments: list[Known]
    here: tuple[Expr, ...]
    loops: tuple[LoopMark, ...]
    phases: dict[str, Phases]
    calls: tuple[Location, ...] = ()
    """The helper calls that led here, innermost first."""
    values: dict[Value, Known] = field(default_factory=dict[Value, "Known"])
    variables: dict[Value, Known] = field(default_factory=dict[Value, "Known"])
    returns: list[Way] = field(default_factory=list[Way])
    exits: list[LoopExits] = field(default_factory=list[LoopExits])
    may_have_returned: bool = False
    base_guards: int = field(init=False)
    """How many conditions hold already where the function begins."""
    _changed: list[dict[Value, Known]] = field(default_factory=list[dict[Value, "Known"]])

    def __post_init__(self) -> None:
        self.base_guards = len(self.here)
        self.values.update(zip(self.function.params, self.arguments, strict=True))

    @property
    def terms(self) -> Terms:
        """Makes terms."""
        return self.walk.terms

    # -- values and variables

    def term(self, value: Value) -> Expr:
        """The term of a number; one that is not known where there is none."""
        known = self.values.get(value)
        if isinstance(known, Expr):
            return known
        type_ = value.type if isinstance(value.type, ScalarType) else I64
        return self.unknown(type_, "a value that is not followed")

    def unknown(self, type_: ScalarType, reason: str) -> Expr:
        """A number of this work item that is not modelled."""
        return self.terms.unknown(type_, Unknown("unmodelled", reason, loops=self.loops))

    def condition(self, value: Value) -> Expr:
        """The term of a bool."""
        known = self.values.get(value)
        return known if isinstance(known, Expr) else self.unknown(BOOL, "a condition")

    def places(self, value: Value) -> tuple[AccessedPlace, ...]:
        """The places that a value may stand for."""
        known = self.values.get(value)
        return known if isinstance(known, tuple) else ()

    def set(self, var: Value, known: Known) -> None:
        """Give a variable its content."""
        if self._changed:
            self._changed[-1].setdefault(var, self.variables.get(var))
        self.variables[var] = known

    def anything(self, var: Value) -> Known:
        """A variable of which nothing is known."""
        type_ = scalar_of(var)
        return self.unknown(type_, "a variable") if type_ else None

    # -- blocks

    def block(self, block: Block) -> Expr:
        """Follow ops in order; gives the condition under which control comes to the end."""
        falls, here = self.terms.true, self.here
        for op in block.ops:
            self.walk.budget -= 1
            rule = self.walk.rules.get(type(op))
            passes = rule(self, op) if rule else None
            if passes is not None and passes is not self.terms.true:
                falls = self.terms.both(falls, passes)
                self.here = (*self.here, passes)
                if passes is self.terms.false:
                    break
        self.here = here
        return falls

    def arm(self, block: Block, guard: Expr) -> Arm:
        """Follow a block that runs under a condition; all is as before afterwards."""
        here, phases = self.here, dict(self.phases)
        with self.changes() as changes:
            if guard is not self.terms.true:
                self.here = (*here, guard)
            falls = self.block(block) if guard is not self.terms.false else guard
            last = block.ops[-1] if block.ops else None
        found = Arm(falls, changes, self.phases)
        found.yielded = self.values.get(getattr(last, "yielded", Value(BOOL)))
        self.here, self.phases = here, phases
        return found

    @contextmanager
    def changes(self) -> Generator[dict[Value, Known]]:
        """Collect what is set, and undo it at the end."""
        found: dict[Value, Known] = {}
        self._changed.append(found)
        yield found
        self._changed.pop()
        for var, before in list(found.items()):
            found[var] = self.variables[var]
            self.variables[var] = before

    # -- ways out

    def way(self, depth: int, returned: Known = None) -> Way:
        """The way by which a block is left here that began where so many conditions held."""
        condition = self.terms.all_of(self.here[depth:])
        return Way(condition, dict(self.variables), dict(self.phases), returned)

    def phases_where_ways_meet(self, ways: Sequence[Way], falls: Expr) -> dict[str, Phases]:
        """The barriers passed last behind a block that is left by these ways or by its end."""
        if not ways:
            return self.phases
        ends = [(way.condition, way.phases) for way in ways]
        if falls is not self.terms.false:
            ends.append((falls, self.phases))
        found: dict[str, Phases] = {}
        for scope in ORDERED:
            choices = [(condition, phases[scope]) for condition, phases in ends]
            is_one = all(phases == choices[0][1] for _, phases in choices)
            found[scope] = choices[0][1] if is_one else joined_phases(self.terms, *choices)
        return found


def scalar_of(var: Value) -> ScalarType | None:
    """The type of a variable that holds a number."""
    of = var.type.of if isinstance(var.type, VarType) else var.type
    return of if isinstance(of, ScalarType) else None


# ------------------------------------------------------------------------------------ walk branches
# How branches are followed for lints: each arm under its condition, then what both come to.

MOST_PLACES = 8
MOST_PHASES = 12


def _if(frame: Frame, op: If) -> Expr:
    condition = frame.condition(op.condition)
    then, otherwise = _arms(frame, op, condition)
    terms = frame.terms
    if then.falls is terms.true and otherwise.falls is terms.true:
        return terms.true
    falls = terms.both(condition, then.falls)
    return terms.either(falls, terms.both(terms.negated(condition), otherwise.falls))


def _ternary(frame: Frame, op: Ternary) -> None:
    condition = frame.condition(op.condition)
    arms = _arms(frame, op, condition)
    yielded = (arms[0].yielded, arms[1].yielded)
    frame.values[op.value] = _after(frame, op.value, condition, arms, yielded)


def _arms(frame: Frame, op: If | Ternary, condition: Expr) -> tuple[Arm, Arm]:
    then = frame.arm(op.then, condition)
    otherwise = frame.arm(op.otherwise, frame.terms.negated(condition))
    for var in dict.fromkeys((*then.changes, *otherwise.changes)):
        before = frame.variables.get(var)
        known = (then.changes.get(var, before), otherwise.changes.get(var, before))
        frame.set(var, _after(frame, var, condition, (then, otherwise), known))
    for scope in ORDERED:
        frame.phases[scope] = _phases_after(frame, scope, condition, (then, otherwise))
    return then, otherwise


def _phases_after(frame: Frame, scope: str, condition: Expr, arms: tuple[Arm, Arm]) -> Phases:
    then, otherwise = (arm.phases[scope] for arm in arms)
    if then is otherwise or arms[1].falls is frame.terms.false:
        return then
    if arms[0].falls is frame.terms.false:
        return otherwise
    return joined_phases(
        frame.terms, (condition, then), (frame.terms.negated(condition), otherwise)
    )


def joined_phases(terms: Terms, *choices: tuple[Expr, Phases]) -> Phases:
    """The barriers that may have been passed last, each under its condition."""
    found = tuple(
        Phase(terms.both(condition, phase.guard), phase.site, phase.turns)
        for condition, phases in choices
        for phase in phases
        if terms.both(condition, phase.guard) is not terms.false
    )
    return found if len(found) <= MOST_PHASES else (Phase(terms.true, ANYWHERE),)


def _after(
    frame: Frame, value: Value, condition: Expr, arms: tuple[Arm, Arm], known: tuple[Known, Known]
) -> Known:
    """A variable or result behind a branch; an arm that control does not leave has no say."""
    if arms[0].falls is frame.terms.false:
        return known[1]
    if arms[1].falls is frame.terms.false:
        return known[0]
    found = joined(frame.terms, condition, *known)
    return frame.anything(value) if found is None else found


def joined(terms: Terms, condition: Expr, then: Known, otherwise: Known) -> Known:
    """One of two, by a condition; None where nothing can be said."""
    if then is otherwise:
        return then
    if isinstance(then, Expr) and isinstance(otherwise, Expr):
        return terms.select(condition, then, otherwise)
    if not isinstance(then, tuple) or not isinstance(otherwise, tuple):
        return None
    found: dict[object, AccessedPlace] = {}
    for places, when in ((then, condition), (otherwise, terms.negated(condition))):
        for place in places:
            key = (place.memory, place.path, place.indices)
            holds = terms.both(when, place.condition)
            if key in found:
                holds = terms.either(found[key].condition, holds)
            found[key] = AccessedPlace(place.memory, place.path, place.indices, holds)
    return tuple(found.values()) if len(found) <= MOST_PLACES else None


def _short_circuit(frame: Frame, op: AndThen | OrElse) -> None:
    first, is_and = frame.condition(op.first), isinstance(op, AndThen)
    rest = frame.arm(op.rest, first if is_and else frame.terms.negated(first)).yielded
    second = rest if isinstance(rest, Expr) else frame.unknown(BOOL, "a condition")
    joined_by = frame.terms.both if is_and else frame.terms.either
    frame.values[op.value] = joined_by(first, second)


def _assert(frame: Frame, op: Assert) -> Expr:
    """What stands behind an assertion may count on it: a launch where it fails is an error."""
    return frame.condition(op.condition)


BRANCH_RULES: dict[type[Op], Rule] = {
    If: _if,
    Ternary: _ternary,
    AndThen: _short_circuit,
    OrElse: _short_circuit,
    Assert: _assert,
}

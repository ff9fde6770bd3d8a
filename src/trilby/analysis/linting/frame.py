"""The state of following a kernel for lints: what is known of its values, and what holds here.

How each op is followed stands in the rules that whoever starts hands in.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import Any, TypeAlias

from trilby.analysis.linting.accesses import (
    BEGINNING,
    Access,
    Calls,
    Lost,
    Memory,
    Phase,
    Phases,
    Place,
    Stop,
)
from trilby.analysis.linting.terms import LoopMark, Terms, Unknown
from trilby.analysis.reach import KernelGraph
from trilby.analysis.touching.expressions import Expr
from trilby.data.dtypes import BOOL, I64, ScalarType, Type
from trilby.dataclass import dataclass
from trilby.model.op import Block, Func, Op, walk
from trilby.model.value import Value, VarType
from trilby.source import Location

Known: TypeAlias = "Expr | tuple[Place, ...] | Mapping[str, Expr] | None"
"""What is known of a value: a number, places, the leaves of a struct, or nothing."""

Rule: TypeAlias = "Callable[[Frame, Any], Expr | None]"
"""Follows an op, and gives the condition under which what stands behind it runs, if any."""

ORDERED = ("local", "global")
"""The memories that barriers order."""


@dataclass(slots=True)
class Walk:
    """One kernel while it is followed."""

    graph: KernelGraph
    rules: Mapping[type[Op], Rule]
    known: Mapping[str, int]
    written: frozenset[int]
    """The parameters that the kernel writes."""
    terms: Terms = field(default_factory=Terms)
    accesses: list[Access] = field(default_factory=list[Access])
    stops: list[Stop] = field(default_factory=list[Stop])
    lost: list[Lost] = field(default_factory=list[Lost])
    memories: list[Memory] = field(default_factory=list[Memory])
    fields: set[str] = field(default_factory=set[str])
    sites: dict[object, int] = field(default_factory=dict[object, int])
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

    def site(self, key: object) -> int:
        """The number of a barrier, the same each time it is met on the same way."""
        return self.sites.setdefault(key, len(self.sites) + 1)


@dataclass(slots=True)
class LoopExits:
    """Where a turn ends early: the condition since its beginning, and the variables there."""

    depth: int
    continues: list[tuple[Expr, dict[Value, Known]]] = field(
        default_factory=list[tuple[Expr, "dict[Value, Known]"]]
    )
    continued: list[tuple[Expr, "Mapping[str, Phases]"]] = field(
        default_factory=list[tuple[Expr, "Mapping[str, Phases]"]]
    )
    """The barriers that were passed last where a turn is left for the next."""
    breaks: list[tuple[Expr, dict[Value, Known]]] = field(
        default_factory=list[tuple[Expr, "dict[Value, Known]"]]
    )
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

    walk: Walk
    function: Func
    arguments: list[Known]
    here: tuple[Expr, ...]
    loops: tuple[LoopMark, ...]
    phases: dict[str, Phases]
    calls: Calls = ()
    values: dict[Value, Known] = field(default_factory=dict[Value, "Known"])
    variables: dict[Value, Known] = field(default_factory=dict[Value, "Known"])
    returned: list[tuple[Expr, Known]] = field(default_factory=list[tuple[Expr, "Known"]])
    left: list[tuple[Expr, Mapping[str, Phases]]] = field(
        default_factory=list[tuple[Expr, "Mapping[str, Phases]"]]
    )
    """The barriers that were passed last at each return."""
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

    def places(self, value: Value) -> tuple[Place, ...]:
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
        type_: Type = var.type.of if isinstance(var.type, VarType) else var.type
        return self.unknown(type_, "a variable") if isinstance(type_, ScalarType) else None

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


def beginning(terms: Terms) -> dict[str, Phases]:
    """No barrier has been passed."""
    return {scope: (Phase(terms.true, BEGINNING),) for scope in ORDERED}

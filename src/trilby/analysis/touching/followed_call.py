"""The state of following a function: what is known of its values, and what holds here.

How each op is followed stands in the rules that whoever starts hands in.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Any, TypeAlias

from trilby.analysis.access import AccessMode, Aliases, Summary, aliases_of, summaries_of
from trilby.analysis.reach import KernelGraph, reaching
from trilby.analysis.touching.integers import counted_type
from trilby.analysis.touching.kernel_expressions import (
    ConditionScope,
    Expr,
    Expressions,
    KernelTouch,
    Known,
    RangeLoop,
    Target,
)
from trilby.data.dtypes import BOOL, I64
from trilby.data.schema import index_count, join_path
from trilby.dataclass import dataclass
from trilby.model.op import Block, Func, Op, walk
from trilby.model.ops.debug import Assert
from trilby.model.value import Value, VarType
from trilby.source import Location

MOST_TARGETS = 8
"""A value that may stand for more places than this counts as standing for all of its kind."""

Rule: TypeAlias = "Callable[[FollowedCall, Any], Expr | None]"
"""Follows an op, and gives the condition under which what stands behind it runs, if any."""


@dataclass(slots=True)
class Following:
    """The symbolic execution of one kernel: its graph, and the touches that were found so far.

    Behind `b[kc.x] = a[kc.x]` there are two `touches`: a read of `a` and a write of `b`.
    """

    graph: KernelGraph
    rules: Mapping[type[Op], Rule]
    made: Expressions = field(default_factory=Expressions)
    touches: list[KernelTouch] = field(default_factory=list[KernelTouch])
    summaries: Mapping[str, Summary] = field(init=False)
    functions: Mapping[str, Func] = field(init=False)
    asserting: frozenset[str] = field(init=False)
    budget: int = field(init=False)
    _scopes: int = 0
    _written: dict[tuple[object, ...], list[ConditionScope]] = field(
        default_factory=dict[tuple[object, ...], list[ConditionScope]]
    )
    _aliases: dict[str, Aliases] = field(default_factory=dict[str, Aliases])

    def __post_init__(self) -> None:
        self.summaries = summaries_of(self.graph)
        self.functions = {function.name: function for function in self.graph.functions}
        self.asserting = reaching(self.graph, Assert)
        self.budget = 1000 + 16 * sum(1 for f in self.graph.functions for _ in walk(f.body))

    def aliases(self, function: Func) -> Aliases:
        """Where the buffers of a function may be, found when it is first asked for."""
        if function.name not in self._aliases:
            self._aliases[function.name] = aliases_of(function)
        return self._aliases[function.name]

    def scope(
        self, parent: ConditionScope, guard: Expr | None = None, loop: RangeLoop | None = None
    ) -> ConditionScope:
        """A scope within another."""
        if guard is self.made.true:
            return parent
        self._scopes += 1
        return ConditionScope(self._scopes, parent, guard, loop)

    def touch(
        self, target: Target, does: AccessMode, scope: ConditionScope, location: Location
    ) -> None:
        """Take an access down."""
        inner = self.scope(scope, target.condition)
        touch = KernelTouch(target.parameter, target.path, target.indices, does, inner, location)
        if AccessMode.READS in does and self._is_own(touch):
            touch = replace(touch, does=does & ~AccessMode.READS | AccessMode.REREADS)
        if AccessMode.COVERS in does:
            self._written.setdefault(touch.place, []).append(inner)
        self.touches.append(touch)

    def _is_own(self, touch: KernelTouch) -> bool:
        """Whether a work item that comes here has written the place itself.

        It has if a sure write stands before it in the same scope or one around it: who is here
        was there, in the same turns of the same loops, and an index that is the same expression
        there is the same number.
        """
        scopes = self._written.get(touch.place)
        scope: ConditionScope | None = touch.scope if scopes else None
        while scope is not None:
            if scope in (scopes or ()):
                return True
            scope = scope.parent
        return False


@dataclass(slots=True)
class FollowedArm:
    """The effects of a block that was followed under a condition.

    `falls` is when control comes to its end, `changes` are the variables that it sets, and
    `touches` where its accesses stand in the list of all. Of the block under `if n > 0: s = 1`,
    `falls` is true and `changes` is `{<s>: 1}`.
    """

    scope: ConditionScope
    falls: Expr
    changes: Mapping[Value, Known]
    touches: slice
    yielded: Known = None


@dataclass(slots=True)
class FollowedCall:
    """The symbolic execution of one call of a function, or of the kernel itself.

    `here` is the condition under which control gets here from the function's beginning,
    `leaves` the one under which it comes back to its caller, `loops` how many loops are around.
    Behind `if kc.x >= n: return`, `here` is `not kc.x >= n`.
    """

    following: Following
    function: Func
    arguments: list[Known]
    scope: ConditionScope
    here: Expr = field(init=False)
    leaves: Expr = field(init=False)
    loops: int = 0
    values: dict[Value, Known] = field(default_factory=dict[Value, Known])
    variables: dict[Value, Known] = field(default_factory=dict[Value, Known])
    returned: list[tuple[Expr, Known]] = field(default_factory=list[tuple[Expr, Known]])
    _changed: list[dict[Value, Known]] = field(default_factory=list[dict[Value, Known]])

    def __post_init__(self) -> None:
        self.here = self.leaves = self.made.true
        self.values.update(zip(self.function.params, self.arguments, strict=True))

    @property
    def made(self) -> Expressions:
        """Makes expressions."""
        return self.following.made

    def run(self) -> Known:
        """Follow the whole function; gives what is known of its result."""
        self.block(self.function.body)
        first, *others = self.returned or [(self.made.true, None)]
        if any(known is not first[1] for _, known in others):
            return self._chosen()
        return first[1]

    def _chosen(self) -> Known:
        """The result of a function with several returns: a choice by their conditions."""
        chosen = self.returned[-1][1]
        for condition, known in reversed(self.returned[:-1]):
            if not isinstance(known, Expr) or not isinstance(chosen, Expr):
                return None
            chosen = self.made.select(condition, known, chosen)
        return chosen

    # -- values and variables

    def number(self, value: Value) -> Expr | None:
        """The expression of an integer or bool; None for other values."""
        known = self.values.get(value)
        return known if isinstance(known, Expr) else None

    def condition(self, value: Value) -> Expr:
        """The expression of a bool."""
        return self.number(value) or self.made.opaque(BOOL)

    def parameter(self, target: Target) -> Value:
        """The parameter of the kernel in which a target lies."""
        return self.following.graph.entry.params[target.parameter]

    def targets(self, value: Value) -> tuple[Target, ...]:
        """The places that a value may stand for."""
        known = self.values.get(value)
        return known if isinstance(known, tuple) else ()

    def set(self, var: Value, known: Known) -> None:
        """Give a variable its content."""
        if self._changed:
            self._changed[-1].setdefault(var, self.variables.get(var))
        self.variables[var] = known

    def anything(self, var: Value) -> Known:
        """What is known of a variable that may hold whatever is stored in it anywhere."""
        type_ = var.type.of if isinstance(var.type, VarType) else var.type
        counted = counted_type(Value(type_))
        if counted:
            return self.made.opaque(counted)
        found: list[Target] = []
        for number, path in sorted(self.following.aliases(self.function).get(var, ())):
            place = below(self.made, self.arguments[number], self.function.params[number], path)
            found.extend(place)
        return unsure(self.made, found) or None

    # -- blocks

    def block(self, block: Block) -> Expr:
        """Follow ops in order; gives the condition under which control comes to the end."""
        falls = self.made.true
        rules, scope, here = self.following.rules, self.scope, self.here
        for op in block.ops:
            self.following.budget -= 1
            passes = rules[type(op)](self, op) if type(op) in rules else None
            if passes is not None and passes is not self.made.true:
                falls = self.made.both(falls, passes)
                self.scope = self.following.scope(self.scope, passes)
                self.here = self.made.both(self.here, passes)
                if passes is self.made.false:
                    break
        self.scope, self.here = scope, here
        return falls

    def arm(self, block: Block, guard: Expr) -> FollowedArm:
        """Follow a block that runs under a condition; variables are as before afterwards."""
        start = len(self.following.touches)
        with self.within(self.following.scope(self.scope, guard), guard), self.changes() as changes:
            scope = self.scope
            falls = self.block(block) if guard is not self.made.false else guard
            last = block.ops[-1] if block.ops else None
        yielded = self.values.get(getattr(last, "yielded", Value(BOOL)))
        touches = slice(start, len(self.following.touches))
        return FollowedArm(scope, falls, changes, touches, yielded)

    @contextmanager
    def within(self, scope: ConditionScope, guard: Expr) -> Generator[None]:
        """Follow something in an inner scope."""
        outer, here = self.scope, self.here
        self.scope, self.here = scope, self.made.both(here, guard)
        yield
        self.scope, self.here = outer, here

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


def below(made: Expressions, known: Known, value: Value, path: str) -> tuple[Target, ...]:
    """The targets at a path below a value, at indices that nobody knows."""
    if not isinstance(known, tuple):
        return ()
    count = index_count(value.type, path)
    return tuple(
        Target(
            target.parameter,
            join_path(target.path, path),
            (*target.indices, *(made.opaque(I64) for _ in range(count))),
            target.condition,
        )
        for target in known
    )


def unsure(made: Expressions, targets: list[Target]) -> tuple[Target, ...]:
    """The same places, each of them only perhaps."""
    return tuple(replace(target, condition=made.opaque(BOOL)) for target in targets)

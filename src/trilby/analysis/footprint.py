"""Footprints: which bytes of its buffers a kernel reads, may write, and surely writes.

Found once for a kernel, as expressions in ids, sizes, loop variables and scalar arguments,
and then evaluated with the numbers of each launch. Never optimistic: what cannot be told may
be touched anywhere in its field, and is not surely written.

An index outside of its array, a failed `assert` and a launch that is broken off are errors:
what such a launch leaves behind is not covered by what is said here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import TypeAlias

from trilby.analysis.measuring.boxes import WHOLE, Box, Space
from trilby.analysis.measuring.evaluate import Argument, Evaluation
from trilby.analysis.measuring.pass_kinds import PassKinds, looks_at_passes, pass_kinds
from trilby.analysis.measuring.touched_bytes import (
    MemberBytes,
    Spot,
    TouchedRegion,
    members_of,
    spot_of,
)
from trilby.analysis.reach import KernelGraph
from trilby.analysis.touching.following import touches_of
from trilby.analysis.touching.kernel_expressions import (
    ConditionScope,
    Does,
    Expr,
    KernelTouch,
    RangeLoop,
)
from trilby.data.dtypes import BOOL, Type
from trilby.data.ranges import Ranges
from trilby.data.schema import BufferType, NDArrayType
from trilby.data.touched import Touched
from trilby.dataclass import dataclass
from trilby.model.value import Value

MOST_KNOWN = 256
"""The layouts of more buffers than this are not kept."""


@dataclass(frozen=True, slots=True)
class LaunchNumbers:
    """What is known of a launch: its size, its group size, and its arguments.

    `size` has three entries, as does `local`, which is None where the device chooses.
    `arguments` has an entry for each parameter of the kernel after its context: the number of
    a scalar, the shape of an n-d array, the lengths of a buffer by name, and None for a struct
    or a number that is not known. `pass_id` is the number of the pass, or those it may have.
    """

    size: tuple[int, int, int]
    local: tuple[int, int, int] | None = None
    arguments: tuple[Argument, ...] = ()
    pass_id: int | range = 0


@dataclass(frozen=True, slots=True, eq=False)
class KernelFootprint:
    """The footprint of a kernel: `touches` are its accesses, `at` gives the bytes of a launch.

    `parameters` are those of the kernel, whose context is number 0; `buffers` are the numbers of
    its buffers among them. `relevant` are the places in `LaunchNumbers.arguments` of the scalars
    that `at` looks at.
    """

    kernel: str
    parameters: tuple[Value, ...]
    touches: tuple[KernelTouch, ...]
    buffers: tuple[int, ...]
    relevant: frozenset[int]
    _plan: "_EvaluationPlan" = field(repr=False)
    _known: dict[object, Mapping[str, MemberBytes]] = field(
        default_factory=dict[object, Mapping[str, MemberBytes]], repr=False
    )

    def at(self, launch: LaunchNumbers) -> tuple[Touched, ...]:
        """The bytes that a launch touches: an entry for each buffer parameter, in order.

        What a work item reads after it has surely written it counts as no read: it needs nothing of
        what the buffer held before.
        """
        if not all(launch.size):
            return tuple(Touched.NOTHING for _ in self.buffers)
        evaluated = _Evaluated(self._plan, launch)
        return tuple(
            evaluated.touched(touches, self._members(number, launch))
            for number, touches in self._plan.touches.items()
        )

    @property
    def looks_at_passes(self) -> bool:
        """Whether a launch touches other bytes in one pass than in another."""
        return self._plan.looks_at_passes

    def pass_kinds(self, launch: LaunchNumbers, last: int) -> PassKinds | None:
        """Which passes, up to a last one, touch the same bytes; None where it is not known."""
        if not all(launch.size):
            return PassKinds((0,), 1)
        plan = self._plan
        used = [index for touch in self.touches for index in touch.indices]
        for scope in plan.scopes:
            used += [scope.loop.start, scope.loop.stop, scope.loop.step] if scope.loop else []
        return pass_kinds(plan.expressions, used, _Evaluated(plan, launch).numbers, last)

    def _members(self, number: int, launch: LaunchNumbers) -> Mapping[str, MemberBytes]:
        """Where the members of a buffer lie; kept for the next launch."""
        given = launch.arguments[number - 1]
        key = (number, tuple(given.items()) if isinstance(given, Mapping) else given)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = found = members_of(self.parameters[number].type, given)
        return found

    def __str__(self) -> str:
        from trilby.analysis.footprint_text import footprint_text  # noqa: PLC0415 -- for people

        return footprint_text(self.kernel, self.parameters, self.touches)


@dataclass(frozen=True, slots=True, eq=False)
class _EvaluationPlan:
    """What is evaluated for a launch, in order: expressions, scopes, and touches by parameter.

    `constants` are the numbers that are the same in every launch, by their expression.
    """

    expressions: tuple[Expr, ...]
    constants: Mapping[int, int]
    scopes: tuple[ConditionScope, ...]
    touches: Mapping[int, "_ParameterTouches"]
    looks_at_passes: bool


class _Evaluated:
    """A plan with the numbers of a launch put in."""

    def __init__(self, plan: _EvaluationPlan, launch: LaunchNumbers) -> None:
        self.numbers = Evaluation(
            launch.size, launch.local, launch.arguments, plan.constants, launch.pass_id
        )
        self.numbers.run(plan.expressions)
        self._space = Space(self.numbers.variables)
        self._may: dict[int, list[Box]] = {}
        self._must: dict[int, list[Box]] = {}
        for scope in plan.scopes:
            self._enter(scope)

    def _enter(self, scope: ConditionScope) -> None:
        """Find the work items and turns for which a scope runs: at most, and surely."""
        parent = scope.parent
        may = self._may[parent.number] if parent else [WHOLE]
        must = self._must[parent.number] if parent else may
        if scope.loop:
            may, must = self._turns(scope.loop, may, must)
        elif scope.guard:
            condition = self.numbers.conditions[scope.guard.number]
            loose, is_same = self._space.loose, may is must
            may = self._space.where(condition, may, surely=False)
            is_same = is_same and self._space.loose == loose
            must = may if is_same else self._space.where(condition, must, surely=True)
        self._may[scope.number], self._must[scope.number] = may, must

    def _turns(
        self, loop: RangeLoop, may: list[Box], must: list[Box]
    ) -> tuple[list[Box], list[Box]]:
        numbers = self.numbers.turns(loop)
        if not numbers.most:
            return [], []
        if numbers.swept is not None:
            swept = [box.sweeping(numbers.swept) for box in must]
            return may, [box for box in swept if box is not None]
        if numbers.variable is None or not numbers.fewest:
            return may, []
        if numbers.fewest == numbers.most:
            return may, must
        last = numbers.first + numbers.fewest - 1
        return may, [box.having(numbers.variable, numbers.first, last) for box in must]

    def touched(self, touches: "_ParameterTouches", members: Mapping[str, MemberBytes]) -> Touched:
        """What the touches of one buffer come to."""
        reads, _ = self._ranges(touches.reads, members, self._may)
        covers, is_exact = self._ranges(touches.covers, members, self._must, surely=True)
        if is_exact and touches.is_sure and self._is_sure(touches.covers):
            writes = covers
        else:
            writes, _ = self._ranges(touches.writes, members, self._may)
        return Touched(reads, writes, covers)

    def _is_sure(self, touches: "PlacedTouches") -> bool:
        """True where what may be done is what is surely done."""
        return all(self._may[t.scope.number] is self._must[t.scope.number] for t, _ in touches)

    def _ranges(
        self,
        touches: "PlacedTouches",
        members: Mapping[str, MemberBytes],
        domains: Mapping[int, list[Box]],
        *,
        surely: bool = False,
    ) -> tuple[Ranges, bool]:
        """The bytes of some touches, and whether these are exactly those that were asked for."""
        if not touches:
            return Ranges.EMPTY, True
        values = self.numbers.values
        region = TouchedRegion(self._space, members, surely=surely)
        for touch, spot in touches:
            boxes = domains[touch.scope.number]
            if boxes:
                region.add(spot, [values[index.number] for index in touch.indices], boxes)
        return region.ranges(), region.is_exact


PlacedTouches: TypeAlias = tuple[tuple[KernelTouch, Spot], ...]


@dataclass(frozen=True, slots=True, eq=False)
class _ParameterTouches:
    """The touches of one buffer by what they do. Where `is_sure`, no others write."""

    reads: PlacedTouches
    writes: PlacedTouches
    covers: PlacedTouches
    is_sure: bool


def _touches(type_: Type, touches: Iterable[KernelTouch]) -> _ParameterTouches:
    spots: dict[str, Spot] = {}
    placed: list[tuple[KernelTouch, Spot]] = []
    for touch in touches:
        if touch.path not in spots:
            spots[touch.path] = spot_of(type_, touch.path)
        placed.append((touch, spots[touch.path]))
    reads, writes, covers = (
        tuple(pair for pair in placed if does in pair[0].does)
        for does in (Does.READS, Does.WRITES, Does.COVERS)
    )
    return _ParameterTouches(reads, writes, covers, writes == covers)


def footprints(graph: KernelGraph) -> KernelFootprint:
    """The footprint of a kernel, through all its helpers."""
    touches = touches_of(graph)
    params = graph.entry.params
    buffers = tuple(
        n for n, param in enumerate(params) if isinstance(param.type, BufferType | NDArrayType)
    )
    scopes = _scopes(touches)
    expressions = _expressions(touches, scopes)
    by_parameter: dict[int, list[KernelTouch]] = {number: [] for number in buffers}
    for touch in touches:
        by_parameter[touch.parameter].append(touch)
    constants = {
        e.number: e.what
        for e in expressions
        if e.op == "constant" and e.type is not BOOL and isinstance(e.what, int)
    }
    relevant = (expr.what for expr in expressions if expr.op == "scalar")
    return KernelFootprint(
        graph.entry.name,
        params,
        touches,
        buffers,
        frozenset(number - 1 for number in relevant if isinstance(number, int)),
        _EvaluationPlan(
            tuple(e for e in expressions if e.number not in constants),
            constants,
            scopes,
            {
                number: _touches(params[number].type, found)
                for number, found in by_parameter.items()
            },
            looks_at_passes(expressions),
        ),
    )


def _scopes(touches: Iterable[KernelTouch]) -> tuple[ConditionScope, ...]:
    """The scopes of some touches and those around them, outer before inner."""
    found: dict[int, ConditionScope] = {}
    for touch in touches:
        scope: ConditionScope | None = touch.scope
        while scope is not None and scope.number not in found:
            found[scope.number] = scope
            scope = scope.parent
    return tuple(found[number] for number in sorted(found))


def _expressions(
    touches: Iterable[KernelTouch], scopes: Iterable[ConditionScope]
) -> tuple[Expr, ...]:
    """All that indices, guards and loops are made of, in the order in which it was made."""
    waiting = [index for touch in touches for index in touch.indices]
    for scope in scopes:
        if scope.guard:
            waiting.append(scope.guard)
        if scope.loop:
            waiting += (scope.loop.start, scope.loop.stop, scope.loop.step)
    found: dict[int, Expr] = {}
    while waiting:
        expr = waiting.pop()
        if expr.number not in found:
            found[expr.number] = expr
            waiting += expr.args
    return tuple(found[number] for number in sorted(found))

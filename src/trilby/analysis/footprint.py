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

from trilby.analysis.access import AccessMode
from trilby.analysis.measuring.boxes import WHOLE, Box, Space
from trilby.analysis.measuring.evaluate import Argument, Evaluation
from trilby.analysis.measuring.pass_kinds import PassKinds, looks_at_passes, pass_kinds
from trilby.analysis.measuring.touched_bytes import (
    Spot,
    TouchedRegion,
    members_of,
    spot_of,
)
from trilby.analysis.reach import KernelGraph
from trilby.analysis.touching.following import touches_of
from trilby.analysis.touching.kernel_expressions import (
    ConditionScope,
    Expr,
    KernelTouch,
    RangeLoop,
)
from trilby.data.dtypes import BOOL, Type
from trilby.data.layout import Slot
from trilby.data.ranges import Ranges
from trilby.data.schema import BufferType, NDArrayType
from trilby.data.touched import Touched
from trilby.dataclass import dataclass
from trilby.model.value import Value


@dataclass(frozen=True, slots=True)
class LaunchNumbers:
    """The numbers of a launch: its size, its group size, and its arguments.

    `size` has three entries, as does `local`, which is None where the device chooses.
    `arguments` has an entry for each parameter of the kernel after its context: the number of
    a scalar, the shape of an n-d array, the lengths of a buffer by name, and None for a struct
    or a number that is not known. `pass_id` is the number of the pass, or those it may have. A
    launch over 1,024 items with a buffer and a scalar: `LaunchNumbers((1024, 1, 1), None,
    ({"length": 1024}, 3))`.
    """

    size: tuple[int, int, int]
    local: tuple[int, int, int] | None = None
    arguments: tuple[Argument, ...] = ()
    pass_id: int | range = 0


PlacedTouches: TypeAlias = tuple[tuple[KernelTouch, Spot], ...]


@dataclass(frozen=True, slots=True, eq=False)
class KernelFootprint:
    """The footprint of a kernel: `touches` are its accesses, `at` gives the bytes of a launch.

    `parameters` are those of the kernel, whose context is number 0. Of `b[kc.x] = a[kc.x] * 2` it
    has two touches, and `at` says for 1,024 `i32` that bytes 0 to 4,096 of `a` are read, and those
    of `b` written and covered.
    """

    kernel: str
    parameters: tuple[Value, ...]
    touches: tuple[KernelTouch, ...]
    relevant: frozenset[int]
    """The places in `LaunchNumbers.arguments` of the scalars that `at` looks at."""
    looks_at_passes: bool
    """Whether a launch touches other bytes in one pass than in another."""
    expressions: tuple[Expr, ...] = field(repr=False)
    """What is evaluated for a launch, in order."""
    constants: Mapping[int, int] = field(repr=False)
    """The numbers that are the same in every launch, by their expression."""
    scopes: tuple[ConditionScope, ...] = field(repr=False)
    """The conditions and loops around the touches, outer before inner."""
    by_buffer: Mapping[int, tuple[PlacedTouches, PlacedTouches, PlacedTouches]] = field(repr=False)
    """The touches of each buffer that read, write and cover, by the number of its parameter."""

    @property
    def buffers(self) -> tuple[int, ...]:
        """The numbers of the buffers among the parameters."""
        return tuple(self.by_buffer)

    def at(self, launch: LaunchNumbers) -> tuple[Touched, ...]:
        """The bytes that a launch touches: an entry for each buffer parameter, in order.

        What a work item reads after it has surely written it counts as no read: it needs nothing of
        what the buffer held before.
        """
        if not all(launch.size):
            return tuple(Touched.NOTHING for _ in self.by_buffer)
        evaluated = _Evaluated(self, launch)
        found: list[Touched] = []
        for number, touches in self.by_buffer.items():
            given = launch.arguments[number - 1]
            known = tuple(given.items()) if isinstance(given, Mapping) else given
            found.append(
                evaluated.touched(*touches, members_of(self.parameters[number].type, known))
            )
        return tuple(found)

    def pass_kinds(self, launch: LaunchNumbers, last: int) -> PassKinds | None:
        """Which passes, up to a last one, touch the same bytes; None where it is not known."""
        if not all(launch.size):
            return PassKinds((0,), 1)
        used = [index for touch in self.touches for index in touch.indices]
        for scope in self.scopes:
            used += [scope.loop.start, scope.loop.stop, scope.loop.step] if scope.loop else []
        return pass_kinds(self.expressions, used, _Evaluated(self, launch).numbers, last)

    def __str__(self) -> str:
        from trilby.analysis.footprint_text import footprint_text  # noqa: PLC0415 -- for people

        return footprint_text(self.kernel, self.parameters, self.touches)


class _Evaluated:
    """A footprint with the numbers of a launch put in: the work items for which each scope runs.

    Of `if kc.x < n` with `n == 4`, `_may` and `_must` have the work items 0 to 3.
    """

    def __init__(self, kernel: KernelFootprint, launch: LaunchNumbers) -> None:
        self.numbers = Evaluation(
            launch.size, launch.local, launch.arguments, kernel.constants, launch.pass_id
        )
        self.numbers.run(kernel.expressions)
        self._space = Space(self.numbers.variables)
        self._may: dict[int, list[Box]] = {}
        self._must: dict[int, list[Box]] = {}
        for scope in kernel.scopes:
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
            may = self._space.where(condition, may, surely=False)
            must = self._space.where(condition, must, surely=True)
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

    def touched(
        self,
        reading: PlacedTouches,
        writing: PlacedTouches,
        covering: PlacedTouches,
        members: Mapping[str, Slot],
    ) -> Touched:
        """What the touches of one buffer come to."""
        reads = self._ranges(reading, members, self._may)
        writes = self._ranges(writing, members, self._may)
        covers = self._ranges(covering, members, self._must, surely=True)
        return Touched(reads, writes, writes if writes == covers else covers)

    def _ranges(
        self,
        touches: PlacedTouches,
        members: Mapping[str, Slot],
        domains: Mapping[int, list[Box]],
        *,
        surely: bool = False,
    ) -> Ranges:
        """The bytes of some touches."""
        values = self.numbers.values
        region = TouchedRegion(self._space, members, surely=surely)
        for touch, spot in touches:
            boxes = domains[touch.scope.number]
            if boxes:
                region.add(spot, [values[index.number] for index in touch.indices], boxes)
        return region.ranges()


def footprints(graph: KernelGraph) -> KernelFootprint:
    """The footprint of a kernel, through all its helpers."""
    touches = touches_of(graph)
    params = graph.entry.params
    scopes = _scopes(touches)
    expressions = _expressions(touches, scopes)
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
        frozenset(number - 1 for number in relevant if isinstance(number, int)),
        looks_at_passes(expressions),
        tuple(e for e in expressions if e.number not in constants),
        constants,
        scopes,
        {
            number: _placed(param.type, [touch for touch in touches if touch.parameter == number])
            for number, param in enumerate(params)
            if isinstance(param.type, BufferType | NDArrayType)
        },
    )


def _placed(
    type_: Type, touches: Iterable[KernelTouch]
) -> tuple[PlacedTouches, PlacedTouches, PlacedTouches]:
    """The touches of one buffer that read, write and cover."""
    spots = {path: spot_of(type_, path) for path in dict.fromkeys(t.path for t in touches)}
    reads, writes, covers = (
        tuple((touch, spots[touch.path]) for touch in touches if does in touch.does)
        for does in (AccessMode.READS, AccessMode.WRITES, AccessMode.COVERS)
    )
    return reads, writes, covers


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

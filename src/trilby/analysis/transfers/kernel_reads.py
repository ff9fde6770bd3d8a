"""What a kernel does with each of its buffers, as far as a transfer plan asks.

A buffer is surely read where every launch reads it, whatever its numbers are. This is asked for
the first work item, which every launch has, and for the first iterations of its loops. A read
counts if its conditions hold there for any global size, any scalars and any lengths. A condition
on data counts as true: only the launch itself can decide it, and needs the buffer for that.

```
def scale(kc, a, b, n):        kernel_buffers(scale, …) == (
    if n > 0:                      KernelBuffer(reads, surely_read=False, ...),   # a
        b[kc.x] += a[kc.x]         KernelBuffer(reads | writes, False, ...),      # b
                                   None)                                          # n
```
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

from trilby.analysis.access import AccessMode
from trilby.analysis.measuring.affine import Number, ends
from trilby.analysis.measuring.evaluate import Evaluation
from trilby.analysis.reach import KernelGraph
from trilby.analysis.touching.kernel_expressions import (
    ConditionScope,
    Expr,
    KernelTouch,
    RangeLoop,
)
from trilby.data.dtypes import BOOL, I32, Type
from trilby.data.schema import INDEX, ArrayType, BufferType, NDArrayType, type_at
from trilby.model.op import walk
from trilby.model.ops.grid import Grid
from trilby.model.value import Value


class KernelBuffer(NamedTuple):
    """A buffer that a kernel takes: its type, and what is done with it.

    It is used `by_pass` where one pass may do something else with it than another. The `a` of
    `b[kc.x] = a[kc.x]` is `KernelBuffer(S32Array, READS, surely_read=True, by_pass=False)`.
    """

    type: Type
    access: AccessMode
    surely_read: bool
    by_pass: bool


def kernel_buffers(
    kernel: KernelGraph, touches: Sequence[KernelTouch]
) -> tuple[KernelBuffer | None, ...]:
    """What a kernel does with each argument, by its touches; None for those that are no buffers.

    To read what the same work item has written is no need of what was there before.
    """
    ops = (op for func in kernel.functions for op in walk(func.body))
    by_pass = any(isinstance(op, Grid) and op.field == "pass_id" for op in ops)
    params = kernel.entry.params
    sure = sure_reads(params, touches)
    done: dict[int, AccessMode] = {}
    for touch in touches:
        access = done.get(touch.parameter, AccessMode.UNTOUCHED)
        done[touch.parameter] = access | (touch.does & AccessMode.BOTH)
    return tuple(
        KernelBuffer(param.type, done.get(number, AccessMode.UNTOUCHED), number in sure, by_pass)
        if isinstance(param.type, BufferType | NDArrayType)
        else None
        for number, param in enumerate(params[1:], 1)
    )


def sure_reads(params: Sequence[Value], touches: Iterable[KernelTouch]) -> frozenset[int]:
    """The numbers of the parameters that every launch reads."""
    reads = (touch for touch in touches if AccessMode.READS in touch.does)
    return frozenset(touch.parameter for touch in reads if _is_sure(touch, params))


def _is_sure(touch: KernelTouch, params: Sequence[Value]) -> bool:
    """Whether the first work item makes a read; of an array without elements there is none."""
    array = type_at(params[touch.parameter].type, touch.path.partition(INDEX)[0])
    named = array.dims if isinstance(array, ArrayType) else range(len(touch.indices))
    first = _FirstItem(frozenset((touch.parameter, name) for name in named), len(params))
    scope: ConditionScope | None = touch.scope
    while scope is not None and first.reaches(scope):
        scope = scope.parent
    return scope is None


class _FirstItem:
    """The first work item of any launch in which some lengths are not 0.

    `lengths` are pairs of a parameter and the name of a length, or an axis. It reaches what stands
    under `if kc.x < a.length`, and perhaps not what stands under `if n > 0`.
    """

    def __init__(self, lengths: frozenset[tuple[int, object]], parameters: int) -> None:
        self._lengths = lengths
        self._at = Evaluation((1, 1, 1), (1, 1, 1), (None,) * parameters, {})
        self._done: set[int] = set()

    def reaches(self, scope: ConditionScope) -> bool:
        """Whether it comes to what is inside of a scope, once it is in front of it."""
        if scope.loop:
            return self._enters(scope.loop)
        if scope.guard is None:
            return True
        self._evaluate(scope.guard)
        found = self._at.conditions[scope.guard.number]
        return found if isinstance(found, bool) else not _asks_numbers(scope.guard)

    def _enters(self, loop: RangeLoop) -> bool:
        bounds = loop.start, loop.stop, loop.step
        start, stop, step = map(self._number, bounds)
        if isinstance(step, int) and step:
            first, behind = (start, stop) if step > 0 else (stop, start)
            if ends(first)[1] < ends(behind)[0]:
                return True
            if ends(first)[0] >= ends(behind)[1]:
                return False
        return not any(map(_asks_numbers, bounds))

    def _number(self, expr: Expr) -> Number:
        self._evaluate(expr)
        return self._at.values[expr.number]

    def _evaluate(self, expr: Expr) -> None:
        if expr.number in self._done:
            return
        self._done.add(expr.number)
        for arg in expr.args:
            self._evaluate(arg)
        if (known := self._known(expr)) is not None:
            self._at.values[expr.number] = known
        else:
            self._at.run([expr])

    def _known(self, expr: Expr) -> Number | None:
        """A number that is another one here than anywhere in a launch, or None."""
        at, highest = self._at, I32.highest
        match expr.op:
            case "constant" if expr.type is not BOOL:
                return cast("int", expr.what)
            case "length" | "extent":
                return at.unknown(int(expr.what in self._lengths), highest)
            case "grid" | "turns" if expr.op == "turns" or _is_size(expr):
                return at.unknown(1, highest)
            case "index":
                return at.values[expr.args[0].number]
            case "turn":
                return 0
            case _:
                return None


def _is_size(expr: Expr) -> bool:
    return expr.op == "grid" and "max_" in str(expr.what)


def _asks_numbers(expr: Expr) -> bool:
    """Whether something depends on what a launch is given: its range, its arguments."""
    is_given = expr.op in {"scalar", "length", "extent"} or expr.what == "pass_id"
    return is_given or _is_size(expr) or any(map(_asks_numbers, expr.args))

"""What integers can be: the lowest and the highest number that each value may hold.

Integers of kernels wrap, and signed ones do not in C, where a sum that wraps must be written
with a detour. Ids, sizes, lengths and loop counters are small, so most sums need none. This
looks at one function, in one pass; what it cannot see has the bounds of its type.
"""

import operator
from collections.abc import Callable, Mapping

from trilby.analysis.access import is_length
from trilby.data.dtypes import BOOL, I32, ScalarType
from trilby.dataclass import dataclass
from trilby.model.op import Block, Func, Op, blocks, walk
from trilby.model.ops import arith
from trilby.model.ops.control import For, Ternary
from trilby.model.ops.core import Constant, Var, VarLoad, VarStore, yielded
from trilby.model.ops.grid import Grid
from trilby.model.ops.memory import Extent, Load
from trilby.model.value import Value


@dataclass(frozen=True, slots=True)
class Span:
    """All integers from `low` to `high`: `Span(0, 2_147_483_646)` for an id."""

    low: int
    high: int

    def __or__(self, other: "Span") -> "Span":
        return Span(min(self.low, other.low), max(self.high, other.high))

    def fits(self, type_: ScalarType) -> bool:
        """True where every number is one of the type."""
        return type_.lowest <= self.low and self.high <= type_.highest


class Spans:
    """The bounds of every integer of a function.

    `Spans(function).of(<kc.x + 1>)` is `Span(1, 2_147_483_647)`.
    """

    def __init__(self, function: Func) -> None:
        self._known: dict[Value, Span] = {}
        self._sources = _only_sources(function)
        self._visit(function.body)

    def of(self, value: Value) -> Span:
        """The bounds of a value of an integer type or bool."""
        known = self._known.get(value)
        return known or _whole(value.type)

    def exact(self, op: arith.Binary) -> Span | None:
        """The bounds of `+`, `-` or `*` as if integers had no end; None for other ops."""
        compute = _EXACT.get(type(op))
        return self._between_ends(op, compute) if compute else None

    def _between_ends(self, op: arith.Binary, compute: Callable[[int, int], int]) -> Span:
        """The bounds of an operation that grows or falls evenly with each of its operands."""
        left, right = self.of(op.left), self.of(op.right)
        ends = [compute(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
        return Span(min(ends), max(ends))

    def negated(self, op: arith.Unary) -> Span:
        """The bounds of `-a` as if integers had no end."""
        operand = self.of(op.operand)
        return Span(-operand.high, -operand.low)

    def _visit(self, block: Block) -> None:
        for op in block.ops:
            if isinstance(op, For):
                self._known[op.body.params[0]] = self._counter(op)
            for inner in blocks(op):
                self._visit(inner)
            if op.result is not None and _is_integer(op.result):
                found = self._found(op)
                if found is not None and found.fits(_scalar(op.result)):
                    self._known[op.result] = found

    def _counter(self, op: For) -> Span:
        start, stop, step = (self.of(v) for v in (op.start, op.stop, op.step))
        if step.low > 0:
            return Span(start.low, max(start.low, stop.high - 1))
        if step.high < 0:
            return Span(min(start.high, stop.low + 1), start.high)
        return start | stop

    def _found(self, op: Op) -> Span | None:
        match op:
            case Constant():
                return Span(int(op.literal), int(op.literal))
            case Grid():
                return _GRID.get(op.field, _ID)
            case Extent():
                return Span(0, I32.highest)
            case Load():  # lengths are not negative; nothing is known of data
                is_known = is_length(op.base.type, op.path)
                return Span(0, _scalar(op.value).highest) if is_known else None
            case VarLoad():
                source = self._sources.get(op.var)
                return self._known.get(source) if source is not None else None
            case Ternary():
                return self.of(yielded(op.then)) | self.of(yielded(op.otherwise))
            case arith.Cast() if _is_integer(op.operand) or op.operand.type is BOOL:
                return self.of(op.operand)
            case arith.Neg():
                return self.negated(op)
            case arith.Math(function="min" | "max" as name):
                left, right = (self.of(arg) for arg in op.args)
                choose: Callable[[int, int], int] = min if name == "min" else max
                return Span(choose(left.low, right.low), choose(left.high, right.high))
            case arith.Binary():
                return self._binary(op, self.of(op.left), self.of(op.right))
            case _:
                return None

    def _binary(self, op: arith.Binary, left: Span, right: Span) -> Span | None:
        match op:
            case arith.BitAnd() if max(left.low, right.low) >= 0:
                return Span(0, min(s.high for s in (left, right) if s.low >= 0))
            case arith.Mod() if right.low >= 0:
                return Span(0, max(right.high - 1, 0))
            case arith.FloorDiv() if right.low > 0:
                return self._between_ends(op, lambda a, b: a // b)
            case _:
                return self.exact(op)


_EXACT: Mapping[type[Op], Callable[[int, int], int]] = {
    arith.Add: operator.add,
    arith.Sub: operator.sub,
    arith.Mul: operator.mul,
}
# A range has no more than the highest i32 items along an axis, so an id is less than that.
_ID = Span(0, I32.highest - 1)
_SIZE = Span(1, I32.highest)
_GRID = {f"{prefix}max_{axis}": _SIZE for prefix in ("", "local_", "group_") for axis in "xyz"} | {
    "pass_id": Span(0, I32.highest)
}


def _is_integer(value: Value) -> bool:
    return isinstance(value.type, ScalarType) and value.type.is_integer


def _scalar(value: Value) -> ScalarType:
    if not isinstance(value.type, ScalarType):
        raise TypeError(value.type)
    return value.type


def _whole(type_: object) -> Span:
    if type_ is BOOL:
        return Span(0, 1)
    if not isinstance(type_, ScalarType) or not type_.is_integer:
        raise TypeError(type_)
    return Span(type_.lowest, type_.highest)


def _only_sources(function: Func) -> dict[Value, Value]:
    """The value of every variable that is set in one place only."""
    sources: dict[Value, list[Value]] = {}
    for op in walk(function.body):
        if isinstance(op, Var) and op.result is not None:
            sources.setdefault(op.result, []).extend(op.init)
        elif isinstance(op, VarStore):
            sources.setdefault(op.var, []).append(op.stored)
    return {var: values[0] for var, values in sources.items() if len(values) == 1}

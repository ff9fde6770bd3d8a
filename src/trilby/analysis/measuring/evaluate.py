"""Expressions with the numbers of a launch put in.

Integers wrap at their width. A number whose bounds stay within its type did not wrap; of one
that might have, only its type is known.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from trilby.analysis.measuring.affine import Form, Number, Variables, ends, scaled, shifted
from trilby.analysis.measuring.conditions import (
    Condition,
    at_most_zero,
    both,
    either,
    is_zero,
    negated,
)
from trilby.analysis.touching.expressions import Expr, Loop
from trilby.data.dtypes import BOOL, I32, ScalarType, wrap
from trilby.data.dtypes import Number as Scalar

Argument: TypeAlias = "Scalar | tuple[int, ...] | Mapping[str, int] | None"
"""A number, the shape of an n-d array, the lengths of a buffer by name, or None: not known."""


@dataclass(slots=True)
class LoopNumbers:
    """The variable of a loop: in numbers, and how many turns there are at least and at most.

    `variable` is what takes part in boxes, from `first` on in steps of 1.
    """

    index: Number
    turn: Number
    turns: Number
    variable: int | None
    first: int
    fewest: int
    most: int


class Evaluation:
    """The values of expressions in one launch; expressions come in the order of their numbers."""

    def __init__(
        self,
        size: tuple[int, int, int],
        local: tuple[int, int, int] | None,
        arguments: tuple[Argument, ...],
        constants: Mapping[int, int],
    ) -> None:
        self._size = size
        self._local = local
        self.arguments = arguments
        self.variables = Variables()
        self.values: dict[int, Number] = dict(constants)
        self.conditions: dict[int, Condition] = {}
        self._loops: dict[int, LoopNumbers] = {}
        self._ids = [self.variables.form(0, n - 1, free=True) for n in size]
        self._starts: dict[int, Number] = {}

    def run(self, plan: Sequence[Expr]) -> None:
        """Evaluate some expressions."""
        values, conditions = self.values, self.conditions
        for expr in plan:
            if expr.type is BOOL:
                conditions[expr.number] = _TRUTHS[expr.op](self, expr)
            else:
                values[expr.number] = _NUMBERS[expr.op](self, expr)

    def unknown(self, low: int, high: int) -> Number:
        """Some number within bounds."""
        return self.variables.form(low, high, free=False)

    def fitted(self, number: Number, type_: ScalarType) -> Number:
        """A number as its type holds it."""
        low, high = type_.lowest, type_.highest
        if isinstance(number, int):
            return number if low <= number <= high else wrap(number, type_)
        return number if low <= number.low and number.high <= high else self.unknown(low, high)

    # -- leaves

    def constant(self, expr: Expr) -> Number:
        return _int(expr.what)

    def opaque(self, expr: Expr) -> Number:
        return self.unknown(expr.type.lowest, expr.type.highest)

    def scalar(self, expr: Expr) -> Number:
        given = self.arguments[_int(expr.what) - 1]
        return int(given) if isinstance(given, int | float) else self.opaque(expr)

    def length(self, expr: Expr) -> Number:
        number, name = _pair(expr.what)
        given = self.arguments[_int(number) - 1]
        return given[str(name)] if isinstance(given, Mapping) else self.opaque(expr)

    def extent(self, expr: Expr) -> Number:
        number, axis = _pair(expr.what)
        given = self.arguments[_int(number) - 1]
        return given[_int(axis)] if isinstance(given, tuple) else self.opaque(expr)

    def grid(self, expr: Expr) -> Number:
        field = str(expr.what)
        if field == "pass_id":
            return self.unknown(0, I32.highest)
        prefix, axis = field[:-1], "xyz".index(field[-1])
        size, local = self._size[axis], self._local
        match prefix:
            case "":
                return self._ids[axis]
            case "max_":
                return size
            case "local_":
                return self._within_group(axis)
            case "local_max_":
                return local[axis] if local else self.unknown(1, I32.highest)
            case "group_":
                if local:
                    return self.variables.quotient(self._ids[axis], local[axis])
                return self.unknown(0, max(size - 1, 0))
            case _:
                return -(-size // local[axis]) if local else self.unknown(1, max(size, 1))

    def group_start(self, expr: Expr) -> Number:
        return self._group_start("xyz".index(str(expr.what)))

    def _group_start(self, axis: int) -> Number:
        if axis not in self._starts:
            local = self._local
            if local:
                group = self.variables.quotient(self._ids[axis], local[axis])
                self._starts[axis] = scaled(group, local[axis])
            else:
                self._starts[axis] = self.unknown(0, max(self._size[axis] - 1, 0))
        return self._starts[axis]

    def _within_group(self, axis: int) -> Number:
        ids, local = self._ids[axis], self._local
        if local:
            return self.variables.remainder(ids, local[axis])
        found = self.variables.sum(ids, self._group_start(axis), -1)
        if isinstance(found, int):
            return found
        return Form(found.const, found.terms, max(found.low, 0), found.high)

    # -- arithmetic

    def args(self, expr: Expr) -> tuple[Number, Number]:
        left, right = expr.args
        return self.values[left.number], self.values[right.number]

    def add(self, expr: Expr) -> Number:
        return self.fitted(self.variables.sum(*self.args(expr)), expr.type)

    def sub(self, expr: Expr) -> Number:
        return self.fitted(self.variables.sum(*self.args(expr), -1), expr.type)

    def mul(self, expr: Expr) -> Number:
        left, right = self.args(expr)
        if isinstance(right, int):
            return self.fitted(scaled(left, right), expr.type)
        if isinstance(left, int):
            return self.fitted(scaled(right, left), expr.type)
        corners = [a * b for a in ends(left) for b in ends(right)]
        return self.fitted(self.unknown(min(corners), max(corners)), expr.type)

    def floordiv(self, expr: Expr) -> Number:
        left, right = self.args(expr)
        if isinstance(right, int) and right:
            sign = 1 if right > 0 else -1
            found = self.variables.quotient(scaled(left, sign), right * sign)
            return self.fitted(found, expr.type)
        low, high = ends(right)
        if low > 0:
            corners = [a // b for a in ends(left) for b in (low, high)]
            return self.fitted(self.unknown(min(corners), max(corners)), expr.type)
        return self.opaque(expr)

    def mod(self, expr: Expr) -> Number:
        left, right = self.args(expr)
        if isinstance(right, int) and right:
            if right > 0:
                return self.fitted(self.variables.remainder(left, right), expr.type)
            return scaled(self.variables.remainder(scaled(left, -1), -right), -1)
        low, high = ends(right)
        return self.unknown(0, high - 1) if low > 0 else self.opaque(expr)

    def least(self, expr: Expr) -> Number:
        left, right = self.args(expr)
        (a, b), (c, d) = ends(left), ends(right)
        if b <= c:
            return left
        return right if d <= a else self.unknown(min(a, c), min(b, d))

    def most(self, expr: Expr) -> Number:
        left, right = self.args(expr)
        (a, b), (c, d) = ends(left), ends(right)
        if a >= d:
            return left
        return right if c >= b else self.unknown(max(a, c), max(b, d))

    def absolute(self, expr: Expr) -> Number:
        number = self.values[expr.args[0].number]
        low, high = ends(number)
        if low >= 0:
            return number
        if high <= 0:
            return self.fitted(scaled(number, -1), expr.type)
        return self.fitted(self.unknown(0, max(-low, high)), expr.type)

    def cast(self, expr: Expr) -> Number:
        return self.fitted(self.values[expr.args[0].number], expr.type)

    def select(self, expr: Expr) -> Number:
        condition, then, otherwise = expr.args
        found = self.conditions[condition.number]
        left, right = self.values[then.number], self.values[otherwise.number]
        if found is True:
            return left
        if found is False:
            return right
        (a, b), (c, d) = ends(left), ends(right)
        return self.unknown(min(a, c), max(b, d))

    # -- loops

    def index(self, expr: Expr) -> Number:
        return self.loop(_loop(expr.what)).index

    def turn(self, expr: Expr) -> Number:
        return self.loop(_loop(expr.what)).turn

    def turns(self, expr: Expr) -> Number:
        return self.loop(_loop(expr.what)).turns

    def loop(self, loop: Loop) -> LoopNumbers:
        """The numbers of a loop whose bounds have been evaluated."""
        found = self._loops.get(loop.number)
        if found is None:
            bounds = [self.values[arg.number] for arg in (loop.start, loop.stop, loop.step)]
            self._loops[loop.number] = found = loop_numbers(self.variables, loop, *bounds)
        return found


def loop_numbers(
    variables: Variables, loop: Loop, start: Number, stop: Number, step: Number
) -> LoopNumbers:
    """The numbers of a loop with known bounds, as exactly as possible."""
    if not isinstance(step, int) or not step:
        low = min(ends(start)[0], ends(stop)[0])
        return _any_turns(variables, low, max(ends(start)[1], ends(stop)[1]))
    way = variables.sum(stop, start, -1)
    counts = sorted(max(0, -(-end // step)) for end in ends(way))
    fewest, most = counts[0], counts[1]
    if loop.counts and _wraps(loop.start.type, start, step, most):
        return _any_turns(variables, loop.start.type.lowest, loop.start.type.highest)
    if isinstance(start, Form) and fewest != most:
        return _between(variables, start, stop, step, most)
    turns: Number = fewest
    if fewest != most:
        is_length = step == 1 and ends(way)[0] >= 0
        turns = way if is_length else variables.form(fewest, most, free=False)
    if isinstance(start, int) and step == 1:
        index = variables.new(start, start + max(most, 1) - 1, free=True)
        form = Form(0, {index: 1}, start, start + max(most, 1) - 1)
        return LoopNumbers(form, shifted(form, -start), turns, index, start, fewest, most)
    turn = variables.new(0, max(most, 1) - 1, free=True)
    form = Form(0, {turn: 1}, 0, max(most, 1) - 1)
    index_form = variables.sum(start, form, step)
    return LoopNumbers(index_form, form, turns, turn, 0, fewest, most)


def _wraps(type_: ScalarType, start: Number, step: int, most: int) -> bool:
    """Whether a variable that counts by itself may leave its type, the last step included."""
    low, high = ends(start)
    return low + min(0, step * most) < type_.lowest or high + max(0, step * most) > type_.highest


def _any_turns(variables: Variables, low: int, high: int) -> LoopNumbers:
    """A loop of which only the bounds of its variable are known."""
    index = variables.form(low, high, free=False)
    count = variables.form(0, 1 << 62, free=False)
    return LoopNumbers(index, count, count, None, 0, 0, 1)


def _between(
    variables: Variables, start: Form, stop: Number, step: int, most: int
) -> LoopNumbers:
    """A loop whose first number and length depend on the work item."""
    low, high = start.low, start.high
    if step > 0:
        high = max(low, ends(stop)[1] - 1)
    else:
        low = min(high, ends(stop)[0] + 1)
    index = variables.form(low, high, free=False)
    turn = variables.form(0, max(most - 1, 0), free=False)
    return LoopNumbers(index, turn, variables.form(0, most, free=False), None, 0, 0, most)


def _int(what: object) -> int:
    if not isinstance(what, int):
        raise TypeError(what)
    return what


def _loop(what: object) -> Loop:
    if not isinstance(what, Loop):
        raise TypeError(what)
    return what


def _pair(what: object) -> tuple[object, object]:
    if not isinstance(what, tuple):
        raise TypeError(what)
    return what[0], what[1]


# -- truth values


def _known(_at: Evaluation, expr: Expr) -> Condition:
    return bool(expr.what)


def _not_known(_at: Evaluation, _expr: Expr) -> Condition:
    return None


def _given(at: Evaluation, expr: Expr) -> Condition:
    given = at.arguments[_int(expr.what) - 1]
    return bool(given) if isinstance(given, int | float) else None


def _less(at: Evaluation, expr: Expr) -> Condition:
    left, right = at.args(expr)
    return at_most_zero(shifted(at.variables.sum(left, right, -1), 1))


def _at_most(at: Evaluation, expr: Expr) -> Condition:
    left, right = at.args(expr)
    return at_most_zero(at.variables.sum(left, right, -1))


def _equal(at: Evaluation, expr: Expr) -> Condition:
    left, right = at.args(expr)
    return is_zero(at.variables.sum(left, right, -1))


def _different(at: Evaluation, expr: Expr) -> Condition:
    return negated(_equal(at, expr))


def _and(at: Evaluation, expr: Expr) -> Condition:
    left, right = expr.args
    return both(at.conditions[left.number], at.conditions[right.number])


def _or(at: Evaluation, expr: Expr) -> Condition:
    left, right = expr.args
    return either(at.conditions[left.number], at.conditions[right.number])


def _not(at: Evaluation, expr: Expr) -> Condition:
    return negated(at.conditions[expr.args[0].number])


_TRUTHS: dict[str, Callable[[Evaluation, Expr], Condition]] = {
    "constant": _known,
    "opaque": _not_known,
    "scalar": _given,
    "lt": _less,
    "le": _at_most,
    "eq": _equal,
    "ne": _different,
    "and": _and,
    "or": _or,
    "not": _not,
}
_NUMBERS: dict[str, Callable[[Evaluation, Expr], Number]] = {
    "constant": Evaluation.constant,
    "opaque": Evaluation.opaque,
    "scalar": Evaluation.scalar,
    "length": Evaluation.length,
    "extent": Evaluation.extent,
    "grid": Evaluation.grid,
    "group_start": Evaluation.group_start,
    "add": Evaluation.add,
    "sub": Evaluation.sub,
    "mul": Evaluation.mul,
    "floordiv": Evaluation.floordiv,
    "mod": Evaluation.mod,
    "min": Evaluation.least,
    "max": Evaluation.most,
    "abs": Evaluation.absolute,
    "cast": Evaluation.cast,
    "select": Evaluation.select,
    "index": Evaluation.index,
    "turn": Evaluation.turn,
    "turns": Evaluation.turns,
}

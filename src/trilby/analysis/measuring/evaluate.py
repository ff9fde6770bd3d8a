"""Expressions with the numbers of a launch put in.

Integers wrap at their width. A number whose bounds stay within its type did not wrap; of one
that might have, only its type is known.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, cast

from trilby.analysis.measuring.affine import (
    Condition,
    Form,
    Number,
    Variables,
    at_most_zero,
    both,
    either,
    ends,
    is_zero,
    negated,
    scaled,
    shifted,
)
from trilby.analysis.touching.kernel_expressions import Expr, RangeLoop
from trilby.data.dtypes import BOOL, I32, ScalarType, wrap
from trilby.dataclass import dataclass

# -------------------------------------------------------------------------------------------- turns
# The numbers of a loop in a launch: its variable, and how many turns it takes.


@dataclass(frozen=True, slots=True)
class LoopTurns:
    """The numbers of a loop: its variable, the number of an iteration, and how many there are.

    `variable` takes part in boxes: it runs from `first` on, in steps of 1, for as many numbers
    as there are iterations, at least `fewest` and at most `most`. It is None where no such variable
    tells all about a loop. Where all work items together go through every number once, `swept`
    is the variable that tells them apart: it is then no longer free to be looked at. For
    `range(2, 10)`, `first` is 2, and `fewest` and `most` are 8.
    """

    index: Number
    turn: Number
    turns: Number
    variable: int | None
    first: int
    fewest: int
    most: int
    swept: int | None = None


MOST_TURNS = 1 << 62
"""A loop of which nothing is known takes no more turns than this."""


def turns_of(
    variables: Variables,
    bounds: tuple[Number, Number, Number],
    counts_in: ScalarType | None,
) -> LoopTurns:
    """The turns of `range(start, stop, step)`, as exactly as possible.

    `counts_in` is the type of a variable that counts by itself, and may wrap; a range does not.
    """
    start, stop, step = bounds
    (low, high), (low_stop, high_stop) = ends(start), ends(stop)
    if not isinstance(step, int) or not step:
        return _unnumbered(variables, min(low, low_stop), max(high, high_stop), MOST_TURNS)
    way = variables.sum(stop, start, -1)
    fewest, most = sorted(max(0, -(-end // step)) for end in ends(way))
    if counts_in and _may_wrap(counts_in, start, step, most):
        return _unnumbered(variables, counts_in.lowest, counts_in.highest, MOST_TURNS)
    if fewest == most:
        return _counted(variables, start, step, most, fewest)
    if isinstance(start, Form):
        swept = _swept(variables, start, stop, step)
        between = (low, max(low, high_stop - 1)) if step > 0 else (min(high, low_stop + 1), high)
        return swept or _unnumbered(variables, *between, most)
    is_way = step == 1 and ends(way)[0] >= 0
    turns = way if is_way else variables.form(fewest, most, free=False)
    return _counted(variables, start, step, most, turns)


def _counted(variables: Variables, start: Number, step: int, most: int, turns: Number) -> LoopTurns:
    """A loop whose turns can be numbered, each of them standing for one number."""
    fewest = ends(turns)[0]
    first = start if isinstance(start, int) and step == 1 else 0
    last = first + max(most, 1) - 1
    variable = variables.new(first, last, free=True)
    form = Form(0, {variable: 1}, first, last)
    index = form if isinstance(start, int) and step == 1 else variables.sum(start, form, step)
    return LoopTurns(index, shifted(form, -first), turns, variable, first, fewest, most)


def _swept(variables: Variables, start: Form, stop: Number, step: int) -> LoopTurns | None:
    """`range(x, stop, items)`: each work item goes through its share, and all go through all."""
    if list(start.terms.values()) != [1] or not isinstance(stop, int):
        return None
    (var,) = start.terms
    items = variables.high[var] - variables.low[var] + 1
    if items != step or not variables.free[var] or variables.parent[var] is not None:
        return None
    index = variables.form(start.low, stop - 1, free=True)
    turn = variables.form(0, (stop - 1 - start.low) // step, free=False)
    return LoopTurns(
        index, turn, variables.form(0, ends(turn)[1] + 1, free=False), None, 0, 0, 1, var
    )


def _may_wrap(type_: ScalarType, start: Number, step: int, most: int) -> bool:
    """Whether a variable may leave its type, the last step included."""
    low, high = ends(start)
    return low + min(0, step * most) < type_.lowest or high + max(0, step * most) > type_.highest


def _unnumbered(variables: Variables, low: int, high: int, most: int) -> LoopTurns:
    """A loop of which nothing is known but bounds: of its variable, and of its turns."""
    index = variables.form(low, high, free=False)
    turn = variables.form(0, max(most - 1, 0), free=False)
    return LoopTurns(index, turn, variables.form(0, most, free=False), None, 0, 0, most)


# ----------------------------------------------------------------------------------------- evaluate

Argument: TypeAlias = "float | tuple[int, ...] | Mapping[str, int] | None"
"""A number, the shape of an n-d array, the lengths of a buffer by name, or None: not known."""


class Evaluation:
    """The values of expressions in one launch, in one pass or in any of several.

    `constants` are values that are known beforehand, by the numbers of their expressions. For the
    expression `kc.x + 1` with number 5, in a launch over 8 items, `values[5]` is from 1 to 8.
    """

    def __init__(
        self,
        size: tuple[int, int, int],
        local: tuple[int, int, int] | None,
        arguments: tuple[Argument, ...],
        constants: Mapping[int, int],
        pass_id: int | range = 0,
    ) -> None:
        self.size = size
        self.local = local
        self.arguments = arguments
        self.variables = Variables()
        self.values: dict[int, Number] = dict(constants)
        self.conditions: dict[int, Condition] = {}
        self.ids = [self.variables.form(0, items - 1, free=True) for items in size]
        self._pass_id = pass_id
        self._turns: dict[int, LoopTurns] = {}
        self._starts: dict[int, Number] = {}

    def run(self, plan: Sequence[Expr]) -> None:
        """Evaluate expressions; what they are made of comes before them."""
        values, conditions = self.values, self.conditions
        for expr in plan:
            if expr.type is BOOL:
                conditions[expr.number] = _TRUTHS[expr.op](self, expr)
            else:
                values[expr.number] = _NUMBERS[expr.op](self, expr)

    def pair(self, expr: Expr) -> tuple[Number, Number]:
        """The values of two operands."""
        left, right = expr.args
        return self.values[left.number], self.values[right.number]

    def unknown(self, low: int, high: int) -> Number:
        """Some number within bounds."""
        return self.variables.form(low, high, free=False)

    def fitted(self, number: Number, type_: ScalarType) -> Number:
        """A number as its type holds it."""
        low, high = type_.lowest, type_.highest
        if isinstance(number, int):
            return number if low <= number <= high else wrap(number, type_)
        return number if low <= number.low and number.high <= high else self.unknown(low, high)

    def turns(self, loop: RangeLoop) -> LoopTurns:
        """The numbers of a loop whose bounds have been evaluated."""
        found = self._turns.get(loop.number)
        if found is None:
            start, stop, step = (self.values[e.number] for e in (loop.start, loop.stop, loop.step))
            counts_in = loop.start.type if loop.counts else None
            found = turns_of(self.variables, (start, stop, step), counts_in)
            self._turns[loop.number] = found
        return found

    @property
    def pass_id(self) -> Number:
        """The number of the pass, or some number of those that it may have."""
        if isinstance(self._pass_id, int):
            return self._pass_id
        return self.unknown(self._pass_id.start, self._pass_id.stop - 1)

    def group(self, axis: int) -> Number:
        """The number of a work item's group."""
        if self.local:
            return self.variables.quotient(self.ids[axis], self.local[axis])
        return self.unknown(0, self.size[axis] - 1)

    def group_start(self, axis: int) -> Number:
        """The first work item of a group; the same one wherever it is asked for."""
        if axis not in self._starts:
            start = scaled(self.group(axis), self.local[axis]) if self.local else self.group(axis)
            self._starts[axis] = start
        return self._starts[axis]

    def within_group(self, axis: int) -> Number:
        """A work item's number in its group."""
        if self.local:
            return self.variables.remainder(self.ids[axis], self.local[axis])
        found = self.variables.sum(self.ids[axis], self.group_start(axis), -1)
        if isinstance(found, int):
            return found
        return Form(found.const, found.terms, max(found.low, 0), found.high)


# -- leaves


def _opaque(at: Evaluation, expr: Expr) -> Number:
    return at.unknown(expr.type.lowest, expr.type.highest)


def _scalar(at: Evaluation, expr: Expr) -> Number:
    given = at.arguments[cast("int", expr.what) - 1]
    return int(given) if isinstance(given, int) else _opaque(at, expr)


def _measured(at: Evaluation, expr: Expr) -> Number:
    number, which = cast("tuple[int, int | str]", expr.what)
    given = at.arguments[number - 1]
    if isinstance(given, Mapping):
        return given[str(which)]
    return given[int(which)] if isinstance(given, tuple) else _opaque(at, expr)


def _grid(at: Evaluation, expr: Expr) -> Number:
    field = cast("str", expr.what)
    kind, axis = field[:-1], "xyz".find(field[-1])
    return _GRID[kind](at, axis)


def _max_local(at: Evaluation, axis: int) -> Number:
    return at.local[axis] if at.local else at.unknown(1, I32.highest)


def _max_group(at: Evaluation, axis: int) -> Number:
    return -(-at.size[axis] // at.local[axis]) if at.local else at.unknown(1, at.size[axis])


_GRID: dict[str, Callable[[Evaluation, int], Number]] = {
    "": lambda at, axis: at.ids[axis],
    "max_": lambda at, axis: at.size[axis],
    "local_": Evaluation.within_group,
    "local_max_": _max_local,
    "group_": Evaluation.group,
    "group_max_": _max_group,
    "pass_i": lambda at, _: at.pass_id,
}
"""The fields of the kernel context, by their name without its last letter."""


def _group_start(at: Evaluation, expr: Expr) -> Number:
    return at.group_start("xyz".index(cast("str", expr.what)))


# -- arithmetic


def _add(at: Evaluation, expr: Expr) -> Number:
    return at.fitted(at.variables.sum(*at.pair(expr)), expr.type)


def _sub(at: Evaluation, expr: Expr) -> Number:
    return at.fitted(at.variables.sum(*at.pair(expr), -1), expr.type)


def _mul(at: Evaluation, expr: Expr) -> Number:
    left, right = at.pair(expr)
    if isinstance(right, int):
        return at.fitted(scaled(left, right), expr.type)
    if isinstance(left, int):
        return at.fitted(scaled(right, left), expr.type)
    corners = [a * b for a in ends(left) for b in ends(right)]
    return at.fitted(at.unknown(min(corners), max(corners)), expr.type)


def _floordiv(at: Evaluation, expr: Expr) -> Number:
    left, right = at.pair(expr)
    if isinstance(right, int) and right:
        sign = 1 if right > 0 else -1
        return at.fitted(at.variables.quotient(scaled(left, sign), right * sign), expr.type)
    low, high = ends(right)
    if low <= 0:
        return _opaque(at, expr)
    corners = [a // b for a in ends(left) for b in (low, high)]
    return at.unknown(min(corners), max(corners))


def _mod(at: Evaluation, expr: Expr) -> Number:
    left, right = at.pair(expr)
    if isinstance(right, int) and right:
        sign = 1 if right > 0 else -1
        return scaled(at.variables.remainder(scaled(left, sign), right * sign), sign)
    low, high = ends(right)
    return at.unknown(0, high - 1) if low > 0 else _opaque(at, expr)


def _min(at: Evaluation, expr: Expr) -> Number:
    left, right = at.pair(expr)
    (a, b), (c, d) = ends(left), ends(right)
    if b <= c:
        return left
    return right if d <= a else at.unknown(min(a, c), min(b, d))


def _max(at: Evaluation, expr: Expr) -> Number:
    left, right = at.pair(expr)
    (a, b), (c, d) = ends(left), ends(right)
    if a >= d:
        return left
    return right if c >= b else at.unknown(max(a, c), max(b, d))


def _abs(at: Evaluation, expr: Expr) -> Number:
    number = at.values[expr.args[0].number]
    low, high = ends(number)
    if low >= 0:
        return number
    found = scaled(number, -1) if high <= 0 else at.unknown(0, max(-low, high))
    return at.fitted(found, expr.type)


def _cast(at: Evaluation, expr: Expr) -> Number:
    return at.fitted(at.values[expr.args[0].number], expr.type)


def _select(at: Evaluation, expr: Expr) -> Number:
    condition, then, otherwise = expr.args
    found = at.conditions[condition.number]
    left, right = at.values[then.number], at.values[otherwise.number]
    if isinstance(found, bool):
        return left if found else right
    (a, b), (c, d) = ends(left), ends(right)
    return at.unknown(min(a, c), max(b, d))


_NUMBERS: dict[str, Callable[[Evaluation, Expr], Number]] = {
    "opaque": _opaque,
    "scalar": _scalar,
    "length": _measured,
    "extent": _measured,
    "grid": _grid,
    "group_start": _group_start,
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "floordiv": _floordiv,
    "mod": _mod,
    "min": _min,
    "max": _max,
    "abs": _abs,
    "cast": _cast,
    "select": _select,
    "index": lambda at, expr: at.turns(cast("RangeLoop", expr.what)).index,
    "turn": lambda at, expr: at.turns(cast("RangeLoop", expr.what)).turn,
    "turns": lambda at, expr: at.turns(cast("RangeLoop", expr.what)).turns,
}


# -- truth values


def _given(at: Evaluation, expr: Expr) -> Condition:
    given = at.arguments[cast("int", expr.what) - 1]
    return bool(given) if isinstance(given, int) else None


def _compared(at: Evaluation, expr: Expr) -> Condition:
    """A comparison, as one of the difference of its operands with zero."""
    return _COMPARISONS[expr.op](at.variables.sum(*at.pair(expr), -1))


_COMPARISONS: dict[str, Callable[[Number], Condition]] = {
    "lt": lambda way: at_most_zero(shifted(way, 1)),
    "le": at_most_zero,
    "eq": is_zero,
    "ne": lambda way: negated(is_zero(way)),
}


def _joined(at: Evaluation, expr: Expr) -> Condition:
    left, right = (at.conditions[arg.number] for arg in expr.args)
    return both(left, right) if expr.op == "and" else either(left, right)


_TRUTHS: dict[str, Callable[[Evaluation, Expr], Condition]] = {
    "constant": lambda _, expr: bool(expr.what),
    "opaque": lambda _at, _expr: None,
    "scalar": _given,
    **dict.fromkeys(_COMPARISONS, _compared),
    "and": _joined,
    "or": _joined,
    "not": lambda at, expr: negated(at.conditions[expr.args[0].number]),
}

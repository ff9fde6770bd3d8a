"""The numbers of a loop in a launch: its variable, and how many turns it takes."""

from trilby.analysis.measuring.affine import Form, Number, Variables, ends, shifted
from trilby.data.dtypes import ScalarType
from trilby.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Turns:
    """A loop: its variable, the number of a turn, and how many turns there are.

    `variable` takes part in boxes: it runs from `first` on, in steps of 1, for as many numbers
    as there are turns, at least `fewest` and at most `most`. It is None where no such variable
    tells all about a loop. Where all work items together go through every number once, `swept`
    is the variable that tells them apart: it is then no longer free to be looked at.
    """

    index: Number
    turn: Number
    turns: Number
    variable: int | None
    first: int
    fewest: int
    most: int
    swept: int | None = None


def turns_of(
    variables: Variables,
    bounds: tuple[Number, Number, Number],
    counts_in: ScalarType | None,
) -> Turns:
    """The turns of `range(start, stop, step)`, as exactly as possible.

    `counts_in` is the type of a variable that counts by itself, and may wrap; a range does not.
    """
    start, stop, step = bounds
    if not isinstance(step, int) or not step:
        low = min(ends(start)[0], ends(stop)[0])
        return _any(variables, low, max(ends(start)[1], ends(stop)[1]))
    way = variables.sum(stop, start, -1)
    fewest, most = sorted(max(0, -(-end // step)) for end in ends(way))
    if counts_in and _may_wrap(counts_in, start, step, most):
        return _any(variables, counts_in.lowest, counts_in.highest)
    if fewest == most:
        return _counted(variables, start, step, most, fewest)
    if isinstance(start, Form):
        swept = _swept(variables, start, stop, step)
        return swept or _between(variables, start, stop, step, most)
    is_way = step == 1 and ends(way)[0] >= 0
    turns = way if is_way else variables.form(fewest, most, free=False)
    return _counted(variables, start, step, most, turns)


def _counted(variables: Variables, start: Number, step: int, most: int, turns: Number) -> Turns:
    """A loop whose turns can be numbered, each of them standing for one number."""
    fewest = ends(turns)[0]
    first = start if isinstance(start, int) and step == 1 else 0
    last = first + max(most, 1) - 1
    variable = variables.new(first, last, free=True)
    form = Form(0, {variable: 1}, first, last)
    index = form if isinstance(start, int) and step == 1 else variables.sum(start, form, step)
    return Turns(index, shifted(form, -first), turns, variable, first, fewest, most)


def _swept(variables: Variables, start: Form, stop: Number, step: int) -> Turns | None:
    """`range(x, stop, items)`: each work item goes through its share, and all go through all."""
    if list(start.terms.values()) != [1] or not isinstance(stop, int):
        return None
    (var,) = start.terms
    items = variables.high[var] - variables.low[var] + 1
    if items != step or not variables.free[var] or variables.parent[var] is not None:
        return None
    index = variables.form(start.low, stop - 1, free=True)
    turn = variables.form(0, (stop - 1 - start.low) // step, free=False)
    return Turns(index, turn, variables.form(0, ends(turn)[1] + 1, free=False), None, 0, 0, 1, var)


def _may_wrap(type_: ScalarType, start: Number, step: int, most: int) -> bool:
    """Whether a variable may leave its type, the last step included."""
    low, high = ends(start)
    return low + min(0, step * most) < type_.lowest or high + max(0, step * most) > type_.highest


def _any(variables: Variables, low: int, high: int) -> Turns:
    """A loop of which only the bounds of its variable are known."""
    index = variables.form(low, high, free=False)
    count = variables.form(0, 1 << 62, free=False)
    return Turns(index, count, count, None, 0, 0, 1)


def _between(variables: Variables, start: Form, stop: Number, step: int, most: int) -> Turns:
    """A loop whose first number and length depend on the work item."""
    low, high = start.low, start.high
    if step > 0:
        high = max(low, ends(stop)[1] - 1)
    else:
        low = min(high, ends(stop)[0] + 1)
    index = variables.form(low, high, free=False)
    turn = variables.form(0, max(most - 1, 0), free=False)
    return Turns(index, turn, variables.form(0, most, free=False), None, 0, 0, most)

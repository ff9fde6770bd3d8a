"""Numbers that depend on where a work item stands: sums of variables with known factors.

At a launch everything is known but the ids and the loop variables, so most numbers are a
constant plus multiples of those. A quotient `v // w` is a variable of its own, and `v % w` is
written `v - w * (v // w)`, so that taking an index apart and putting it together again gives
back the index.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from trilby.dataclass import dataclass


class Form:
    """`const` plus each variable of `terms` times its factor: a number from `low` to `high`.

    `kc.x + 1` in a launch over 8 items is `Form(1, {0: 1}, 1, 8)`.
    """

    __slots__ = ("const", "high", "low", "terms")

    def __init__(self, const: int, terms: Mapping[int, int], low: int, high: int) -> None:
        self.const = const
        self.terms = terms
        self.low = low
        self.high = high


Number: TypeAlias = int | Form


@dataclass(frozen=True, slots=True)
class Split:
    """A variable taken apart: `divisor * quotient + remainder`.

    Where a kernel has `kc.x // 16` and `kc.x % 16`, variable 0 is `Split(16, 3, 4)`.
    """

    divisor: int
    quotient: int
    remainder: int


class Variables:
    """The variables of one launch, by number, each with its bounds.

    A variable is `free` where it takes every number between its bounds, whatever the others
    are; one that is not holds some number that nobody knows. Quotients and remainders have a
    parent. In a launch over 8 items `low[0]` is 0 and `high[0]` is 7, for `kc.x`.
    """

    def __init__(self) -> None:
        self.low: list[int] = []
        self.high: list[int] = []
        self.free: list[bool] = []
        self.parent: list[int | None] = []
        self.splits: dict[int, Split] = {}

    def new(self, low: int, high: int, *, free: bool, parent: int | None = None) -> int:
        """A new variable."""
        self.low.append(low)
        self.high.append(high)
        self.free.append(free)
        self.parent.append(parent)
        return len(self.low) - 1

    def form(self, low: int, high: int, *, free: bool) -> Number:
        """A new variable as a number; a number where there is only one."""
        if low == high:
            return low
        return Form(0, {self.new(low, high, free=free): 1}, low, high)

    def bounds(self, const: int, terms: Mapping[int, int]) -> tuple[int, int]:
        """The lowest and the highest sum, as far as single variables tell."""
        return linear_bounds(const, terms, lambda var: (self.low[var], self.high[var]))

    def sum(self, left: Number, right: Number, factor: int = 1) -> Number:
        """`left + factor * right`."""
        if isinstance(right, int):
            return shifted(left, factor * right)
        if isinstance(left, int):
            return shifted(scaled(right, factor), left)
        terms = dict(left.terms)
        for var, times in right.terms.items():
            total = terms.get(var, 0) + factor * times
            if total:
                terms[var] = total
            else:
                del terms[var]
        const = left.const + factor * right.const
        if not terms:
            return const
        low, high = self.bounds(const, terms)
        ends = (right.low * factor, right.high * factor)
        # What single variables tell is too little for remainders, whose own bounds are closer.
        low = max(low, left.low + min(ends))
        high = min(high, left.high + max(ends))
        return Form(const, terms, low, high) if low < high else low

    # -- quotients

    def quotient(self, number: Number, divisor: int) -> Number:
        """`number // divisor`, for a divisor above zero."""
        if isinstance(number, int):
            return number // divisor
        whole: dict[int, int] = {}
        rest: dict[int, int] = {}
        for var, factor in number.terms.items():
            if factor % divisor:
                rest[var] = factor
            else:
                whole[var] = factor // divisor
        const, left = divmod(number.const, divisor)
        low, high = self._rest_bounds(number, whole, rest, left)
        below = self._part(rest, left, divisor, (low // divisor, high // divisor))
        if not whole:
            return shifted(below, const)
        return self.sum(below, Form(const, whole, *self.bounds(const, whole)))

    def _rest_bounds(
        self, number: Form, whole: Mapping[int, int], rest: Mapping[int, int], left: int
    ) -> tuple[int, int]:
        low, high = self.bounds(left, rest)
        if not whole:
            shift = left - number.const
            low, high = max(low, number.low + shift), min(high, number.high + shift)
        return low, high

    def _part(
        self, rest: Mapping[int, int], left: int, divisor: int, ends: tuple[int, int]
    ) -> Number:
        """The quotient of what has no factor in common with the divisor."""
        if ends[0] == ends[1]:
            return ends[0]
        if not left:
            var = self._plain(rest)
            if var is not None:
                found = self._of_variable(var, divisor)
                if found is not None:
                    return found
        return self.form(*ends, free=False)

    def _plain(self, terms: Mapping[int, int]) -> int | None:
        """The variable that some terms are: itself, or a remainder written as a difference."""
        if len(terms) == 1:
            ((var, factor),) = terms.items()
            return var if factor == 1 else None
        for var, split in self.splits.items():
            if terms == {var: 1, split.quotient: -split.divisor}:
                return split.remainder
        return None

    def _of_variable(self, var: int, divisor: int) -> Number | None:
        split = self.splits.get(var)
        if split is None:
            split = self._split(var, divisor)
        if split.divisor == divisor:
            return self._single(split.quotient)
        if divisor % split.divisor == 0:
            return self.quotient(self._single(split.quotient), divisor // split.divisor)
        if split.divisor % divisor == 0:
            inner = self._of_variable(split.remainder, divisor)
            times = split.divisor // divisor
            return None if inner is None else self.sum(inner, self._single(split.quotient), times)
        return None

    def _single(self, var: int) -> Number:
        low, high = self.low[var], self.high[var]
        return low if low == high else Form(0, {var: 1}, low, high)

    def _split(self, var: int, divisor: int) -> Split:
        low, high, free = self.low[var], self.high[var], self.free[var]
        quotient = self.new(low // divisor, high // divisor, free=free, parent=var)
        ends = (0, divisor - 1)
        if low // divisor == high // divisor:
            ends = (low % divisor, high % divisor)
        remainder = self.new(*ends, free=free, parent=var)
        split = Split(divisor, quotient, remainder)
        self.splits[var] = split
        return split

    def remainder(self, number: Number, divisor: int) -> Number:
        """`number % divisor`, for a divisor above zero."""
        if isinstance(number, int):
            return number % divisor
        found = self.sum(number, self.quotient(number, divisor), -divisor)
        if isinstance(found, int):
            return found
        low, high = max(found.low, 0), min(found.high, divisor - 1)
        return Form(found.const, found.terms, low, high)


def linear_bounds(
    const: int, terms: Mapping[int, int], bounds: Callable[[int], tuple[int, int]]
) -> tuple[int, int]:
    """The lowest and the highest sum of a constant and multiples of variables with bounds."""
    low = high = const
    for var, factor in terms.items():
        first, last = bounds(var)
        low += factor * (first if factor > 0 else last)
        high += factor * (last if factor > 0 else first)
    return low, high


def shifted(number: Number, distance: int) -> Number:
    """`number + distance`."""
    if isinstance(number, int):
        return number + distance
    if not distance:
        return number
    return Form(
        number.const + distance, number.terms, number.low + distance, number.high + distance
    )


def scaled(number: Number, factor: int) -> Number:
    """`number * factor`."""
    if isinstance(number, int):
        return number * factor
    if factor == 1:
        return number
    if not factor:
        return 0
    terms = {var: times * factor for var, times in number.terms.items()}
    low, high = number.low * factor, number.high * factor
    return Form(number.const * factor, terms, min(low, high), max(low, high))


def ends(number: Number) -> tuple[int, int]:
    """The lowest and the highest that a number can be."""
    return (number, number) if isinstance(number, int) else (number.low, number.high)


# --------------------------------------------------------------------------------------- conditions
# Conditions of a launch: a form stands for the condition that it is at most zero.


@dataclass(frozen=True, slots=True, eq=False)
class Both:
    """Two conditions at once: `kc.x > 0 and kc.x < 5`."""

    left: "Condition"
    right: "Condition"


@dataclass(frozen=True, slots=True, eq=False)
class Either:
    """One of two conditions, or both: `kc.x == 0 or kc.x == 5`."""

    left: "Condition"
    right: "Condition"


Condition: TypeAlias = bool | Form | Both | Either | None
"""True, false, not known (None), or one that depends on where a work item stands.

`kc.x < n` with `n == 5` is the form `kc.x - 4`.
"""


def at_most_zero(number: Number) -> Condition:
    """`number <= 0`."""
    if isinstance(number, int):
        return number <= 0
    if number.high <= 0:
        return True
    return False if number.low > 0 else number


def is_zero(number: Number) -> Condition:
    """`number == 0`."""
    return both(at_most_zero(number), at_most_zero(scaled(number, -1)))


def both(left: Condition, right: Condition) -> Condition:
    """`left and right`."""
    if left is False or right is False:
        return False
    if left is True:
        return right
    return left if right is True else Both(left, right)


def either(left: Condition, right: Condition) -> Condition:
    """`left or right`."""
    if left is True or right is True:
        return True
    if left is False:
        return right
    return left if right is False else Either(left, right)


def negated(condition: Condition) -> Condition:
    """`not condition`."""
    match condition:
        case None:
            return None
        case bool():
            return not condition
        case Form():
            return at_most_zero(shifted(scaled(condition, -1), 1))
        case Both(left, right):
            return either(negated(left), negated(right))
        case Either(left, right):
            return both(negated(left), negated(right))

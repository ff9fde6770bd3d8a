"""Boxes: bounds for each variable, and how conditions cut them.

A set of work items and turns of loops is a list of boxes. A condition on one variable cuts a
box exactly. Where a variable has been taken apart into quotient and remainder, and a number
depends on both, the box is cut into whole rows and what is left before and after them.
"""

from collections.abc import Mapping
from typing import TypeAlias

from trilby.analysis.measuring.affine import Both, Condition, Either, Form, Variables, linear_bounds

MOST_BOXES = 64
"""More boxes than this are not worth having: the condition is then not used."""

Bounds: TypeAlias = tuple[int, int]
Terms: TypeAlias = Mapping[int, int]


class Box:
    """Bounds of variables that are closer than those they have anyway.

    `split` are the variables whose quotient and remainder have bounds instead of themselves.
    `swept` are those that a loop over all work items has used up: of what depends on one of
    them, nothing is sure any more. Where `kc.x < 5` holds: `Box({0: (0, 4)})`.
    """

    __slots__ = ("bounds", "split", "swept")

    def __init__(
        self,
        bounds: Mapping[int, Bounds],
        split: frozenset[int] = frozenset(),
        swept: frozenset[int] = frozenset(),
    ) -> None:
        self.bounds = bounds
        self.split = split
        self.swept = swept

    def having(self, var: int, low: int, high: int) -> "Box":
        """The same box with other bounds for one variable."""
        return Box({**self.bounds, var: (low, high)}, self.split, self.swept)

    def sweeping(self, var: int) -> "Box | None":
        """The same box with a variable used up; None where the box knows something of it."""
        if var in self.bounds or var in self.split or var in self.swept:
            return None
        return Box(self.bounds, self.split, self.swept | {var})


WHOLE = Box({})


class Space:
    """Cuts boxes over the variables of one launch.

    `kc.x != 2` cuts the box of the items 0 to 7 into one of 0 to 1 and one of 3 to 7.
    """

    def __init__(self, variables: Variables) -> None:
        self.variables = variables

    # -- bounds

    def bounds(self, box: Box, var: int) -> Bounds:
        """What a variable may be in a box."""
        found = box.bounds.get(var)
        if found is not None:
            return found
        if var in box.split:
            split = self.variables.splits[var]
            quotient, rest = self.bounds(box, split.quotient), self.bounds(box, split.remainder)
            return (
                split.divisor * quotient[0] + rest[0],
                split.divisor * quotient[1] + rest[1],
            )
        parent = self.variables.parent[var]
        if parent is None or not box.bounds:
            return self.variables.low[var], self.variables.high[var]
        return self._derived(box, var, parent)

    def _derived(self, box: Box, var: int, parent: int) -> Bounds:
        """The bounds of a quotient or remainder, from those of what was divided."""
        split = self.variables.splits[parent]
        low, high = self.bounds(box, parent)
        if var == split.quotient:
            return low // split.divisor, high // split.divisor
        if low // split.divisor == high // split.divisor:
            return low % split.divisor, high % split.divisor
        return 0, split.divisor - 1

    def ends(self, box: Box, const: int, terms: Terms) -> Bounds:
        """The lowest and the highest sum in a box."""
        return linear_bounds(const, terms, lambda var: self.bounds(box, var))

    def _ends(self, box: Box, form: Form) -> Bounds:
        low, high = self.ends(box, form.const, form.terms)
        return max(low, form.low), min(high, form.high)

    def is_free(self, box: Box, terms: Terms) -> bool:
        """True where every number that the terms can give is one that really comes about."""
        if box.swept and any(self._root(box, var) in box.swept for var in terms):
            return False
        return all(self.variables.free[var] for var in terms)

    # -- taking apart

    def resolved(self, box: Box, terms: Terms) -> list[tuple[Box, Terms]]:
        """Boxes that make up the given one, with terms that do not depend on each other."""
        if not self.variables.splits:
            return [(box, terms)]
        terms = self._flat(box, terms)
        var = self._to_split(box, terms)
        if var is None:
            return [(box, terms)]
        return [pair for part in self._apart(box, var) for pair in self.resolved(part, terms)]

    def _flat(self, box: Box, terms: Terms) -> Terms:
        """The terms with what is split in a box written as quotient and remainder."""
        if not any(var in box.split for var in terms):
            return terms
        flat: dict[int, int] = {}
        for var, factor in terms.items():
            if var in box.split:
                split = self.variables.splits[var]
                parts = self._flat(box, {split.quotient: split.divisor, split.remainder: 1})
            else:
                parts = {var: 1}
            for part, times in parts.items():
                flat[part] = flat.get(part, 0) + factor * times
        return {var: factor for var, factor in flat.items() if factor}

    def _to_split(self, box: Box, terms: Terms) -> int | None:
        """A variable to take apart, because something else depends on it as well."""
        if len(terms) < 2 and not any(self._is_hidden_rest(box, var) for var in terms):
            return None
        roots: set[int] = set()
        for var in terms:
            root = self._root(box, var)
            if root in roots or self._is_hidden_rest(box, var):
                return root
            roots.add(root)
        return None

    def _is_hidden_rest(self, box: Box, var: int) -> bool:
        """Whether a variable is the remainder of one that is not split in the box."""
        parent = self.variables.parent[var]
        while parent is not None and parent not in box.split:
            if self.variables.splits[parent].remainder == var:
                return True
            var, parent = parent, self.variables.parent[parent]
        return False

    def _root(self, box: Box, var: int) -> int:
        """The variable with bounds of its own on which another depends in a box."""
        parent = self.variables.parent[var]
        while parent is not None and parent not in box.split:
            var, parent = parent, self.variables.parent[parent]
        return var

    def _apart(self, box: Box, var: int) -> list[Box]:
        """A box as boxes in which a variable is split: whole rows, and parts of rows."""
        split = self.variables.splits[var]
        (low, first), (high, last) = (divmod(end, split.divisor) for end in self.bounds(box, var))
        rest = {v: b for v, b in box.bounds.items() if v != var}
        done = box.split | {var}
        parts_of_swept = {split.quotient, split.remainder} if var in box.swept else set[int]()
        swept = box.swept | parts_of_swept

        def part(rows: Bounds, columns: Bounds) -> Box:
            bounds = {**rest, split.quotient: rows, split.remainder: columns}
            return Box(bounds, done, swept)

        if low == high:
            return [part((low, high), (first, last))]
        parts: list[Box] = []
        if first:
            parts.append(part((low, low), (first, split.divisor - 1)))
            low += 1
        if last != split.divisor - 1:
            parts.append(part((high, high), (0, last)))
            high -= 1
        if low <= high:
            parts.append(part((low, high), (0, split.divisor - 1)))
        return parts

    # -- conditions

    # Where something must surely hold, a box may be cut only along variables that take every
    # number there is: of one that nobody knows, no part of its bounds is sure to come about.

    def where(self, condition: Condition, boxes: list[Box], *, surely: bool) -> list[Box]:
        """The part of some boxes in which a condition holds.

        At most that part where it `surely` must hold, at least that part otherwise.
        """
        if condition is True:
            return boxes
        if condition is False or (condition is None and surely):
            return []
        if condition is None:
            return boxes
        found = [part for box in boxes for part in self._where(condition, box, surely=surely)]
        if len(found) > MOST_BOXES:
            return found[:MOST_BOXES] if surely else boxes
        return found

    def _where(self, condition: Condition, box: Box, *, surely: bool) -> list[Box]:
        match condition:
            case Form():
                return self._at_most_zero(box, condition, surely=surely)
            case Both(left, right):
                found = self.where(left, [box], surely=surely)
                return self.where(right, found, surely=surely) if found else found
            case Either(left, right):
                first = self.where(left, [box], surely=surely)
                second = [] if box in first else self.where(right, [box], surely=surely)
                return [box] if box in first or box in second else first + second
            case _:
                return self.where(condition, [box], surely=surely)

    def _at_most_zero(self, box: Box, form: Form, *, surely: bool) -> list[Box]:
        if surely and not self.is_free(box, form.terms):
            return [box] if self._ends(box, form)[1] <= 0 else []
        found: list[Box] = []
        for part, terms in self.resolved(box, form.terms):
            low, high = self.ends(part, form.const, terms)
            if max(low, form.low) > 0:
                continue
            if min(high, form.high) <= 0:
                found.append(part)
            elif len(terms) == 1:
                ((var, factor),) = terms.items()
                found.extend(self._limited(part, var, factor, form.const))
            elif not surely:
                found.extend(self._limited_by_rest(part, form.const, terms))
        return found

    def _limited(self, box: Box, var: int, factor: int, const: int) -> list[Box]:
        """Where `factor * var + const <= 0`."""
        low, high = self.bounds(box, var)
        if factor > 0:
            high = min(high, -const // factor)
        else:
            low = max(low, -(-const // -factor))
        return self._within(box, var, low, high)

    def _within(self, box: Box, var: int, low: int, high: int) -> list[Box]:
        """A box with closer bounds for a variable; a quotient binds what was divided."""
        if low > high:
            return []
        if (low, high) == self.bounds(box, var):
            return [box]
        root = self._root(box, var)
        while var != root:
            parent = self.variables.parent[var]
            if parent is None:
                raise ValueError(var)
            divisor = self.variables.splits[parent].divisor
            first, last = self.bounds(box, parent)
            low, high = max(first, low * divisor), min(last, high * divisor + divisor - 1)
            var = parent
        return [box.having(var, low, high)] if low <= high else []

    def _limited_by_rest(self, box: Box, const: int, terms: Terms) -> list[Box]:
        """Where the sum of several variables is at most zero: what that means for each."""
        boxes = [box]
        for var, factor in terms.items():
            others = {other: times for other, times in terms.items() if other != var}
            least, _ = self.ends(box, const, others)
            if boxes:
                boxes = self._limited(boxes[0], var, factor, least)
        return boxes

"""What z3 is asked about launches that a kernel fits: all of their work items are well."""

from itertools import product
from math import prod
from typing import Any

from trilby.analysis.linting.encoding.session import Session
from trilby.analysis.linting.encoding.terms import Encoding, ItemTerms
from trilby.analysis.linting.question import Question
from trilby.analysis.touching.expressions import Expr

MOST_LISTED = 64
"""Launches of more items than this are not looked at item by item."""


class Fitting:
    """A launch in which every work item is well: all of a small one, or any of a large one."""

    def __init__(self, z3: Session, question: Question, *, positive: bool) -> None:
        self.z3 = z3
        self.question = question
        self.encoding = Encoding(z3, question.terms, question.launch, abstract=False)
        self.positive = positive
        self.part = question.items[0]

    def conditions(self) -> list[Any]:
        """Everything that has to hold of the launch."""
        found = [self._is_well(number, place) for number, place in enumerate(self._places())]
        return [*found, *self.exercised(), *self.assumed(), *self.someone()]

    def exercised(self) -> list[Any]:
        """Some item does not meet the guards that compare its id."""
        asked = self.question.exercised
        return [self._someone(1001, asked, fail=True)] if asked else []

    def assumed(self) -> list[Any]:
        """What is taken for granted of launches."""
        item = ItemTerms(self.encoding, 1002)
        found = [item.truth(condition) for condition in self.question.assumed]
        return [*found, *item.facts()]

    def violation(self) -> list[Any]:
        """Some item does what is asked."""
        item = ItemTerms(self.encoding, 1003)
        found = [item.truth(condition) for condition in self.part.conditions]
        if self.part.fails is not None:
            found.append(self.z3.Not(item.truth(self.part.fails)))
        return [*found, *item.facts(), *self.assumed(), *self.encoding.facts]

    def fixed(self, length: int, scalar: int) -> list[Any]:
        """All lengths and arguments are these numbers, where they are not given."""
        lengths = [one for one in self.encoding.lengths.values() if not isinstance(one, int)]
        scalars = self.encoding.integer_scalars()
        return [*(one == length for one in lengths), *(one == scalar for one in scalars)]

    def someone(self) -> list[Any]:
        """Some item comes to where it could happen, with arguments that are usual."""
        found = [self._someone(1000, self.part.conditions, fail=False)]
        if self.positive:
            found += [scalar >= 1 for scalar in self.encoding.integer_scalars()]
        return [*found, *self.encoding.facts]

    def _places(self) -> list[dict[str, int]]:
        """The ids of every item, where there are few; one that is left open otherwise."""
        launch = self.question.launch
        sizes = launch.size
        if len(sizes) < len(launch.axes) or prod(sizes.values()) > MOST_LISTED:
            return [{}]
        local = {axis: launch.local.get(axis) for axis in launch.axes}
        if launch.has_groups and None in local.values():
            return [{}]
        places: list[dict[str, int]] = []
        for ids in product(*(range(sizes[axis]) for axis in launch.axes)):
            place = dict(zip(launch.axes, ids, strict=True))
            for axis, at in list(place.items()):
                step = local[axis]
                if step is not None:
                    place |= {f"group_{axis}": at // step, f"local_{axis}": at % step}
            places.append(place)
        return places

    def _is_well(self, number: int, place: dict[str, int]) -> Any:
        z3, item = self.z3, ItemTerms(self.encoding, number, place)
        conditions = [item.truth(condition) for condition in self.part.conditions]
        well = (
            item.truth(self.part.fails) if self.part.fails is not None else z3.BoolVal(value=False)
        )
        holds = z3.Implies(z3.And(*conditions, *item.facts()), well)
        return z3.ForAll(item.variables, holds) if item.variables else holds

    def _someone(self, number: int, conditions: tuple[Expr, ...], *, fail: bool) -> Any:
        item = ItemTerms(self.encoding, number)
        met = self.z3.And(*[item.truth(condition) for condition in conditions])
        return self.z3.And(self.z3.Not(met) if fail else met, *item.facts())

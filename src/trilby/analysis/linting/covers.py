"""Elements that a group surely fills, counted out: what spares a solver much work."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from trilby.analysis.linting.evaluate import evaluated
from trilby.analysis.linting.question import Cover, Question
from trilby.analysis.linting.terms import leaves_of, level_of
from trilby.analysis.touching.expressions import Expr

Box: TypeAlias = tuple[tuple[int, int], ...]
"""The first and the last index along each axis."""


def boxes_of(places: Sequence[tuple[int, ...]]) -> list[Box]:
    """Places, sorted, as boxes: runs along the last axis, and runs of equal ones before it."""
    if not places or not places[0]:
        return [()] if places else []
    rows: dict[int, list[tuple[int, ...]]] = {}
    for first, *rest in places:
        rows.setdefault(first, []).append(tuple(rest))
    found: list[Box] = []
    open_: dict[Box, int] = {}
    last = None
    for first, row in rows.items():
        inner = set(boxes_of(row))
        started = open_ if last is not None and first == last + 1 else {}
        found += [
            ((open_[box], last), *box)
            for box in open_
            if last is not None and not (box in inner and started)
        ]
        open_ = {box: started.get(box, first) for box in inner}
        last = first
    return found + [((start, last), *box) for box, start in open_.items() if last is not None]


class CountedCovers:
    """The elements that covers fill, where ids and turns are numbers.

    What the only item of the question is subject to as well, in the same turns, need not be
    looked at: it holds.
    """

    def __init__(self, question: Question) -> None:
        self._question = question
        self._held = {condition.number for condition in question.items[0].conditions}
        self._leaves: dict[Cover, list[Expr]] = {}
        self._left: dict[Cover, tuple[Expr, ...]] = {}
        self.filled: dict[tuple[int, ...], None] = {}

    def add(self, cover: Cover, place: Mapping[str, int], turns: Mapping[int, int]) -> bool:
        """Count an item in a turn; false where that takes a solver."""
        numbers = dict(turns)
        for leaf in self._all_leaves(cover):
            if leaf.op == "grid" and leaf.what in place:
                numbers[leaf.number] = place[str(leaf.what)]
        holds = [evaluated(condition, numbers) for condition in self._conditions(cover)]
        if 0 in holds:
            return True
        at = [evaluated(index, numbers) for index in cover.indices]
        known = tuple(index for index in at if index is not None)
        if None in holds or len(known) < len(at):
            return False
        self.filled[known] = None
        return True

    def boxes(self) -> list[Box]:
        """The elements that are filled, as few boxes of neighbours."""
        return boxes_of(sorted(self.filled))

    def _all_leaves(self, cover: Cover) -> list[Expr]:
        if cover not in self._leaves:
            self._leaves[cover] = list(leaves_of((*cover.conditions, *cover.indices)))
        return self._leaves[cover]

    def _conditions(self, cover: Cover) -> tuple[Expr, ...]:
        """The conditions that do not hold for the reader already."""
        if cover not in self._left:
            self._left[cover] = tuple(c for c in cover.conditions if not self._is_shared(cover, c))
        return self._left[cover]

    def _is_shared(self, cover: Cover, condition: Expr) -> bool:
        if condition.number not in self._held:
            return False
        turns = (leaf.what for leaf in leaves_of((condition,)) if leaf.op == "turn")
        in_same = all(turn in cover.same_turns for turn in turns)
        return in_same and level_of(self._question.terms, condition) != "item"

"""Trying small launches one by one: examples for questions, without a solver."""

from collections.abc import Iterator, Mapping
from itertools import islice, product
from math import prod
from typing import cast

from trilby.analysis.linting.accesses import ANYWHERE, Phase
from trilby.analysis.linting.evaluate import evaluated
from trilby.analysis.linting.launch import AXES
from trilby.analysis.linting.question import Question
from trilby.analysis.linting.terms import leaves_of
from trilby.analysis.linting.witness import Example
from trilby.analysis.touching.expressions import Expr
from trilby.data.ndrange import NDRange
from trilby.dataclass import dataclass

MOST_TRIED = 5_000
"""How many choices of numbers are tried for one question."""
MOST_TURNS = 12
"""More than loops over the lengths that are tried take."""

_FREE = {"scalar", "length", "extent"}
_UNKNOWN = {"opaque", "data", "fn", "turns", "literal"}


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Numbers for what all items share."""

    sizes: Mapping[str, int]
    local: Mapping[str, int]
    shared: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class _Item:
    """A work item: its ids, and the numbers of all leaves."""

    at: Mapping[str, int]
    numbers: Mapping[int, int]

    def of(self, term: Expr) -> int | None:
        return evaluated(term, self.numbers)


def examples(question: Question) -> Iterator[Example]:
    """Small launches in which everything that is asked for holds."""
    leaves = sorted(leaves_of(_roots(question)), key=lambda leaf: leaf.number)
    if question.uncovered is not None or any(leaf.op in _UNKNOWN for leaf in leaves):
        return
    tried = 0
    for chosen in _launches(question, leaves):
        for items in _items(question, chosen, leaves):
            tried += 1
            if tried > MOST_TRIED:
                return
            if _hold(question, items) and _meet(question, chosen, items):
                yield _example(question, chosen, leaves, items)


def fits_a_small_launch(question: Question) -> bool:
    """Whether there is a small launch in which no item does what is asked, and some could."""
    leaves = sorted(leaves_of(_roots(question)), key=lambda leaf: leaf.number)
    loops = sum(leaf.op == "turn" for leaf in leaves)
    if loops > 2 or any(leaf.op in _UNKNOWN for leaf in leaves):
        return False
    (part,) = question.items
    for chosen in islice(_launches(question, leaves), 200):
        if prod(chosen.sizes.values()) > 64:
            continue
        came = [
            item
            for (item,) in _items(question, chosen, leaves, MOST_TURNS)
            if all(item.of(c) for c in (*part.conditions, *question.assumed))
        ]
        if came and all(part.fails is not None and item.of(part.fails) for item in came):
            return not question.exercised or _is_exercised(question, chosen, leaves)
    return False


def _is_exercised(question: Question, chosen: _Chosen, leaves: list[Expr]) -> bool:
    return any(
        not item.of(condition)
        for (item,) in _items(question, chosen, leaves)
        for condition in question.exercised
    )


def _roots(question: Question) -> list[Expr]:
    found = list(question.assumed)
    for part in question.items:
        found += [*part.conditions, *part.indices]
        found += [phase.guard for phase in part.phases]
        found += [turn for phase in part.phases for turn in phase.turns]
        found += [part.fails] if part.fails is not None else []
    return found


def _launches(question: Question, leaves: list[Expr]) -> Iterator[_Chosen]:
    launch = question.launch
    free = {leaf.what: leaf for leaf in leaves if leaf.op in _FREE}
    most = (5, 3, 2)[len(launch.axes) - 1]
    for size, group in product(range(1, most + 1), (2, 4) if launch.has_groups else (1,)):
        local = {axis: launch.local.get(axis, group) for axis in launch.axes}
        sizes = {axis: launch.size.get(axis, size * local[axis]) for axis in launch.axes}
        for numbers in product(*(_choices(question, leaf) for leaf in free.values())):
            by_name = dict(zip(free, numbers, strict=True))
            shared = {leaf.number: by_name[leaf.what] for leaf in leaves if leaf.op in _FREE}
            yield _Chosen(sizes, local, shared)


def _choices(question: Question, leaf: Expr) -> tuple[int, ...]:
    launch = question.launch
    if leaf.op == "scalar":
        given = next((n for key, n in launch.scalars.items() if key == leaf.what), None)
        return (1, 2, 4) if given is None else (given,)
    given = next((n for key, n in launch.lengths.items() if key == leaf.what), None)
    return (8, 1, 2, 3) if given is None else (given,)


def _items(
    question: Question, chosen: _Chosen, leaves: list[Expr], turned: int = 4
) -> Iterator[tuple[_Item, ...]]:
    """One item, or two different ones."""
    turns = [leaf.number for leaf in leaves if leaf.op == "turn"]
    axes = question.launch.axes
    ways = [
        _item(chosen, leaves, dict(zip(axes, place, strict=True)), dict(zip(turns, n, strict=True)))
        for place in product(*(range(chosen.sizes[axis]) for axis in axes))
        for n in product(range(turned), repeat=len(turns))
    ]
    for picked in product(ways, repeat=len(question.items)):
        if len(picked) == 1 or picked[0].at != picked[1].at:
            yield picked


def _item(chosen: _Chosen, leaves: list[Expr], at: dict[str, int], turns: dict[int, int]) -> _Item:
    found = {**chosen.shared, **turns}
    for leaf in leaves:
        if leaf.op == "grid":
            found[leaf.number] = _field(chosen, at, str(leaf.what))
        elif leaf.op == "group_start":
            axis = str(leaf.what)
            found[leaf.number] = at[axis] // chosen.local[axis] * chosen.local[axis]
    return _Item(at, found)


def _field(chosen: _Chosen, at: Mapping[str, int], name: str) -> int:
    if name == "pass_id":
        return 0
    axis = name[-1]
    size, local = chosen.sizes[axis], chosen.local[axis]
    return {
        axis: at[axis],
        f"max_{axis}": size,
        f"local_{axis}": at[axis] % local,
        f"group_{axis}": at[axis] // local,
        f"local_max_{axis}": local,
        f"group_max_{axis}": -(-size // local),
    }[name]


def _hold(question: Question, items: tuple[_Item, ...]) -> bool:
    """Whether all conditions on single items hold."""
    for part, item in zip(question.items, items, strict=True):
        if any(not item.of(c) for c in (*part.conditions, *question.assumed)):
            return False
        if part.fails is not None and item.of(part.fails) != 0:
            return False
    return True


def _meet(question: Question, chosen: _Chosen, items: tuple[_Item, ...]) -> bool:
    """Whether two items are where they have to be to each other."""
    if len(items) == 1:
        return True
    one, other = items
    first, second = question.items
    pairs = zip(first.indices, second.indices, strict=True) if question.meets else ()
    if any(one.of(a) != other.of(b) for a, b in pairs):
        return False
    in_group = not question.launch.has_groups or all(
        one.at[a] // chosen.local[a] == other.at[a] // chosen.local[a] for a in one.at
    )
    turns = [question.terms.turn(loop) for loop in question.same_turns]
    if (question.same_group and not in_group) or any(one.of(t) != other.of(t) for t in turns):
        return False
    if not question.unordered or not in_group:
        return True
    return any(_same(a, b, items) for a in first.phases for b in second.phases)


def _same(left: Phase, right: Phase, items: tuple[_Item, ...]) -> bool:
    """Whether two items are behind the same barrier."""
    one, other = items
    if not one.of(left.guard) or not other.of(right.guard):
        return False
    if ANYWHERE in {left.site, right.site}:
        return True
    turns = [one.of(t) for t in left.turns] == [other.of(t) for t in right.turns]
    return left.site == right.site and turns


def _example(
    question: Question, chosen: _Chosen, leaves: list[Expr], items: tuple[_Item, ...]
) -> Example:
    axes = question.launch.axes
    local = tuple(chosen.local[a] for a in axes) if question.launch.has_groups else None
    named = {leaf: chosen.shared[leaf.number] for leaf in leaves if leaf.op in _FREE}
    ids = [tuple(item.at.get(axis, 0) for axis in AXES) for item in items]
    return Example(
        NDRange(tuple(chosen.sizes[a] for a in axes), local),
        tuple((x, y, z) for x, y, z in ids),
        tuple(items[0].of(index) or 0 for index in question.items[0].indices),
        {_length(leaf): n for leaf, n in named.items() if leaf.op != "scalar"},
        {leaf.what: n for leaf, n in named.items() if isinstance(leaf.what, int)},
    )


def _length(leaf: Expr) -> tuple[int, object]:
    """Which length a leaf is: of which parameter, by name or axis."""
    number, which = cast("tuple[int, object]", leaf.what)
    return number, which

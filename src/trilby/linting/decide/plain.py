"""Deciding questions without a solver: fewer proofs, the same honesty.

What is proved are the common cases: every item has indices of its own, an index is guarded by
just the condition that is asked about, two sums can never be equal. Examples are looked for among
small launches, one by one. Everything else is undecided.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice, product
from math import gcd, prod
from typing import Any

from trilby.analysis.touching.kernel_expressions import Expr
from trilby.data.ndrange import NDRange
from trilby.dataclass import dataclass
from trilby.linting.accesses import ANYWHERE, Phase
from trilby.linting.contract import linear
from trilby.linting.decide.question import Example, ItemPart, Outcome, Question
from trilby.linting.dispatches import AXES
from trilby.linting.terms import evaluated, leaves_of, level_of

# ----------------------------------------------------------------------------------- small launches
# Trying small launches one by one: examples for questions, without a solver.

MOST_TRIED = 5_000
"""How many choices of numbers are tried for one question."""
MOST_TURNS = 12
"""More than loops over the lengths that are tried take."""

_FREE = {"scalar", "length", "extent"}
_UNKNOWN = {"opaque", "data", "fn", "turns", "literal"}


@dataclass(frozen=True, slots=True)
class _DecidedItem:
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
    for small, shared in _small_launches(question, leaves):
        for items in _items(small, shared, leaves):
            tried += 1
            if tried > MOST_TRIED:
                return
            if _hold(small, items) and _meet(small, items):
                yield _example(small, shared, leaves, items)


def fits_a_small_launch(question: Question) -> bool:
    """Whether there is a small launch in which no item does what is asked, and some could."""
    leaves = sorted(leaves_of(_roots(question)), key=lambda leaf: leaf.number)
    loops = sum(leaf.op == "turn" for leaf in leaves)
    if loops > 2 or any(leaf.op in _UNKNOWN for leaf in leaves):
        return False
    (part,) = question.items
    for small, shared in islice(_small_launches(question, leaves), 200):
        if prod(small.launch.size.values()) > 64:
            continue
        came = [
            item
            for (item,) in _items(small, shared, leaves, MOST_TURNS)
            if all(item.of(c) for c in (*part.conditions, *question.assumed))
        ]
        if came and all(part.fails is not None and item.of(part.fails) for item in came):
            return not question.exercised or any(
                not item.of(condition)
                for (item,) in _items(small, shared, leaves)
                for condition in question.exercised
            )
    return False


def _roots(question: Question) -> list[Expr]:
    found = list(question.assumed)
    for part in question.items:
        found += [*part.conditions, *part.indices]
        found += [phase.guard for phase in part.phases]
        found += [turn for phase in part.phases for turn in phase.turns]
        found += [part.fails] if part.fails is not None else []
    return found


def _small_launches(
    question: Question, leaves: list[Expr]
) -> Iterator[tuple[Question, Mapping[int, int]]]:
    """The question for launches of known sizes, and numbers for the leaves that all items share."""
    launch = question.launch
    free = {leaf.what: leaf for leaf in leaves if leaf.op in _FREE}
    most = (5, 3, 2)[len(launch.axes) - 1]
    for size, group in product(range(1, most + 1), (2, 4) if launch.has_groups else (1,)):
        local = {axis: launch.local.get(axis, group) for axis in launch.axes}
        sizes = {axis: launch.size.get(axis, size * local[axis]) for axis in launch.axes}
        choices = ((1, 2, 4) if leaf.op == "scalar" else (8, 1, 2, 3) for leaf in free.values())
        for numbers in product(*choices):
            by_name = dict(zip(free, numbers, strict=True))
            shared = {leaf.number: by_name[leaf.what] for leaf in leaves if leaf.op in _FREE}
            yield replace(question, launch=replace(launch, size=sizes, local=local)), shared


def _items(
    question: Question, shared: Mapping[int, int], leaves: list[Expr], turned: int = 4
) -> Iterator[tuple[_DecidedItem, ...]]:
    """One item, or two different ones."""
    launch, ways = question.launch, list[_DecidedItem]()
    loops = [leaf.number for leaf in leaves if leaf.op == "turn"]
    for at in launch.places():
        fields, numbers = launch.fields_at(at), dict(shared)
        for leaf in leaves:
            if leaf.op == "grid":
                numbers[leaf.number] = fields[str(leaf.what)]
            elif leaf.op == "group_start":
                axis = str(leaf.what)
                numbers[leaf.number] = fields[f"group_{axis}"] * launch.local[axis]
        for turns in product(range(turned), repeat=len(loops)):
            ways.append(_DecidedItem(at, numbers | dict(zip(loops, turns, strict=True))))
    for picked in product(ways, repeat=len(question.items)):
        if len(picked) == 1 or picked[0].at != picked[1].at:
            yield picked


def _hold(question: Question, items: tuple[_DecidedItem, ...]) -> bool:
    """Whether all conditions on single items hold."""
    for part, item in zip(question.items, items, strict=True):
        if any(not item.of(c) for c in (*part.conditions, *question.assumed)):
            return False
        if part.fails is not None and item.of(part.fails) != 0:
            return False
    return True


def _meet(question: Question, items: tuple[_DecidedItem, ...]) -> bool:
    """Whether two items are where they have to be to each other."""
    if len(items) == 1:
        return True
    one, other = items
    first, second = question.items
    pairs = zip(first.indices, second.indices, strict=True) if question.meets else ()
    if any(one.of(a) != other.of(b) for a, b in pairs):
        return False
    local = question.launch.local
    in_group = not question.launch.has_groups or all(
        one.at[a] // local[a] == other.at[a] // local[a] for a in one.at
    )
    turns = [question.terms.turn(loop) for loop in question.same_turns]
    if (question.same_group and not in_group) or any(one.of(t) != other.of(t) for t in turns):
        return False
    if not question.unordered or not in_group:
        return True
    return any(_same(a, b, items) for a in first.phases for b in second.phases)


def _same(left: Phase, right: Phase, items: tuple[_DecidedItem, ...]) -> bool:
    """Whether two items are behind the same barrier."""
    one, other = items
    if not one.of(left.guard) or not other.of(right.guard):
        return False
    if ANYWHERE in {left.site, right.site}:
        return True
    turns = [one.of(t) for t in left.turns] == [other.of(t) for t in right.turns]
    return left.site == right.site and turns


def _example(
    question: Question,
    shared: Mapping[int, int],
    leaves: list[Expr],
    items: tuple[_DecidedItem, ...],
) -> Example:
    launch = question.launch
    local = tuple(launch.local[a] for a in launch.axes) if launch.has_groups else None
    lengths: dict[Any, int] = {
        leaf.what: shared[leaf.number] for leaf in leaves if leaf.op in {"length", "extent"}
    }
    scalars = {leaf.what: shared[leaf.number] for leaf in leaves if leaf.op == "scalar"}
    ids = [tuple(item.at.get(axis, 0) for axis in AXES) for item in items]
    return Example(
        NDRange(tuple(launch.size[a] for a in launch.axes), local),
        tuple((x, y, z) for x, y, z in ids),
        tuple(items[0].of(index) or 0 for index in question.items[0].indices),
        lengths,
        {what: n for what, n in scalars.items() if isinstance(what, int)},
    )


# ------------------------------------------------------------------------------------ plain decider

GIVEN_UP = "there is no solver: install trilby[lint] to have it decided"


class PlainDecider:
    """Answers questions: proves what is plain, and tries small launches."""

    def decide(self, question: Question) -> Outcome:
        """None where there is no such launch, an example where there is, or why nobody knows."""
        if is_plain(question):
            return None
        return next(examples(question), GIVEN_UP) if question.wants_example else GIVEN_UP

    def fits(self, question: Question) -> bool | None:
        """Whether there is a launch in which no work item does what is asked; None: not known.

        Its arguments are positive, and some work item comes to where it could happen.
        """
        return True if fits_a_small_launch(question) else None


# -- proofs


def is_plain(question: Question) -> bool:
    """Whether it is plain that there is no such launch."""
    return _contradicts(question) or _proved(question)


def _contradicts(question: Question) -> bool:
    """Whether a condition is false by itself, or stands beside its opposite."""
    terms = question.terms
    for part in question.items:
        if terms.false in part.conditions:
            return True
        held = {condition.number for condition in _parts(part.conditions, "and")}
        opposites = {terms.negated(c).number for c in _parts(part.conditions, "and")}
        if held & opposites:
            return True
    return False


def _proved(question: Question) -> bool:
    if len(question.items) == 2 and question.meets:
        first, second = question.items
        pairs = list(zip(first.indices, second.indices, strict=True))
        return (
            _are_one_item(question)
            or any(_never_equal(question, a, b) for a, b in pairs)
            or _tell_items_apart(question, pairs)
        )
    if len(question.items) == 1 and question.uncovered is None:
        return _always_holds(question)
    if len(question.items) != 2:
        return False
    asked = question.items[1].fails  # of a barrier: is it the same for all items of a group?
    return asked is not None and level_of(question.terms, asked) != "item"


def _is_fixed(question: Question, term: Expr) -> bool:
    """Whether a number is one for the whole launch, in all turns of loops."""
    turns = any(leaf.op in {"turn", "turns"} for leaf in leaves_of((term,)))
    return not turns and level_of(question.terms, term) == "launch"


def _parts(conditions: tuple[Expr, ...], op: str) -> Iterator[Expr]:
    waiting = list(conditions)
    while waiting:
        condition = waiting.pop()
        if condition.op == op:
            waiting.extend(condition.args)
        else:
            yield condition


def _are_one_item(question: Question) -> bool:
    """Whether both are the item that a guard names: `kc.x == 0`."""
    first, second = (_named_ids(question, part) for part in question.items)
    names = [f"local_{a}" if question.same_group else a for a in question.launch.axes]
    return all(name in first and first.get(name) is second.get(name) for name in names)


def _named_ids(question: Question, part: ItemPart) -> dict[str, Expr]:
    """The ids that a guard makes equal to something that is the same for all."""
    found: dict[str, Expr] = {}
    for condition in _parts(part.conditions, "and"):
        if condition.op == "eq":
            left, right = condition.args
            for leaf, other in ((left, right), (right, left)):
                if leaf.op == "grid" and _is_fixed(question, other):
                    found[str(leaf.what)] = other
    return found


def _tell_items_apart(question: Question, pairs: list[tuple[Expr, Expr]]) -> bool:
    """Whether equal indices mean equal ids: each id is found again from an index."""
    found: set[str] = set()
    for left, right in pairs:
        if left is right:
            found |= _ids_of(question, left)
    group = {f"local_{axis}" for axis in question.launch.axes}
    return found >= set(question.launch.axes) or (question.same_group and found >= group)


def _ids_of(question: Question, index: Expr) -> set[str]:
    """The ids that an index tells: `x`, `3 * x + n`, `y * w + x` where rows are no longer."""
    parts, _ = linear(index)
    varying = [(t, f) for t, f in parts if not _is_fixed(question, t)]
    if len(varying) == 1:
        ((term, _factor),) = varying
        if term.op == "grid":
            return {str(term.what)}
        return set()
    if len(varying) != 2:
        return set()
    for (inner, one), (outer, factor) in (varying, varying[::-1]):
        row = _row(question, outer, factor)
        if one == 1 and inner.op == "grid" and row is not None:
            pitch, rest = row
            if _is_no_longer(question, str(inner.what), pitch):
                return {str(inner.what), *_ids_of(question, rest)}
    return set()


def _row(question: Question, term: Expr, factor: int) -> tuple[Expr, Expr] | None:
    if term.op == "mul" and factor == 1:
        left, right = term.args
        for pitch, rest in ((right, left), (left, right)):
            if _is_fixed(question, pitch):
                return pitch, rest
        return None
    return (question.terms.number(factor), term) if factor > 1 else None


def _is_no_longer(question: Question, name: str, pitch: Expr) -> bool:
    """Whether an id is surely below a pitch."""
    if name not in AXES:
        local = question.launch.local.get(name[-1])
        size = pitch.what if pitch.op == "constant" else None
        return name.startswith("local_") and isinstance(size, int) and (local or size + 1) <= size
    if pitch.op == "grid" and pitch.what == f"max_{name}":
        return True
    return any(
        assumed.op == "le" and assumed.args[0].what == f"max_{name}" and assumed.args[1] is pitch
        for assumed in question.assumed
    )


def _never_equal(question: Question, left: Expr, right: Expr) -> bool:
    """Whether two sums can never be equal, by the factors of what differs between items."""
    (first, start), (second, stop) = linear(left), linear(right)
    shared = {t.number: f for t, f in first if _is_fixed(question, t)}
    others = {t.number: f for t, f in second if _is_fixed(question, t)}
    if shared != others:
        return False
    factors = [f for t, f in (*first, *second) if t.number not in shared]
    common = gcd(*factors) if factors else 0
    distance = start - stop
    return distance != 0 if common == 0 else distance % common != 0


def _always_holds(question: Question) -> bool:
    """Whether what must not fail follows from the conditions, or from what is assumed."""
    (part,) = question.items
    if part.fails is None:
        return False
    held = {c.number for c in _parts(part.conditions, "and")}
    held |= {c.number for c in _parts(question.assumed, "and")}
    return all(_holds(question, held, asked) for asked in _parts((part.fails,), "and"))


def _holds(question: Question, held: set[int], asked: Expr) -> bool:
    terms = question.terms
    if asked is terms.true or asked.number in held:
        return True
    if asked.op == "le" and asked.args[0].what == 0:
        return _is_positive(asked.args[1])
    if asked.op != "lt":
        return False
    index, extent = asked.args
    if terms.negated(terms.make("le", (extent, index), None, asked.type)).number in held:
        return True
    name = str(index.what) if index.op == "grid" else ""
    if name in AXES:
        size = [c.args for c in question.assumed if c.op == "le" and c.args[1] is extent]
        return any(args[0].what == f"max_{name}" for args in size)
    local = question.launch.local.get(name[-1:]) if name.startswith("local_") else None
    return local is not None and isinstance(extent.what, int) and local <= extent.what


def _is_positive(term: Expr) -> bool:
    parts, start = linear(term)
    return start >= 0 and all(
        factor > 0 and leaf.op in {"grid", "turn", "turns", "length", "extent"}
        for leaf, factor in parts
    )

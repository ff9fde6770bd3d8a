"""Deciding questions without a solver: fewer proofs, the same honesty.

What is proved are the common cases: every item has indices of its own, an index is guarded by
just the condition that is asked about, two sums can never be equal. Examples are looked for among
small launches, one by one. Everything else is undecided.
"""

from collections.abc import Iterator
from math import gcd

from trilby.analysis.linting.contract import linear
from trilby.analysis.linting.launch import AXES
from trilby.analysis.linting.question import ItemPart, Question
from trilby.analysis.linting.small_launches import examples, fits_a_small_launch
from trilby.analysis.linting.terms import leaves_of, level_of
from trilby.analysis.linting.witness import Outcome, Proved, Undecided
from trilby.analysis.touching.expressions import Expr

GIVEN_UP = "there is no solver: install trilby[lint] to have it decided"


class PlainDecider:
    """Proves what is plain, and tries small launches."""

    name = "plain"

    def decide(self, question: Question) -> Outcome:
        """Proved where there is no such launch, an example where there is."""
        if is_plain(question):
            return Proved()
        if not question.wants_example:
            return Undecided(GIVEN_UP)
        return next(examples(question), Undecided(GIVEN_UP))

    def fits(self, question: Question) -> bool | None:
        """True where a small launch was found that fits; not known otherwise."""
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
    return _is_shared(question)


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


def _is_shared(question: Question) -> bool:
    """Whether a barrier's condition is the same for all items of a group."""
    if len(question.items) != 2 or question.meets:
        return False
    asked = question.items[1].fails
    return asked is not None and level_of(question.terms, asked) != "item"

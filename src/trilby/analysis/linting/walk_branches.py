"""How branches are followed for lints: each arm under its condition, then what both come to."""

from collections.abc import Sequence

from trilby.analysis.linting.accesses import ANYWHERE, Phase, Phases, Place
from trilby.analysis.linting.frame import ORDERED, Arm, Frame, Known, Rule
from trilby.analysis.linting.terms import Terms
from trilby.analysis.touching.expressions import Expr
from trilby.data.dtypes import BOOL
from trilby.model.op import Op
from trilby.model.ops.control import AndThen, If, OrElse, Ternary
from trilby.model.ops.debug import Assert
from trilby.model.value import Value

MOST_PLACES = 8
MOST_PHASES = 12


def _if(frame: Frame, op: If) -> Expr:
    condition = frame.condition(op.condition)
    then, otherwise = _arms(frame, op, condition)
    terms = frame.terms
    if then.falls is terms.true and otherwise.falls is terms.true:
        return terms.true
    falls = terms.both(condition, then.falls)
    return terms.either(falls, terms.both(terms.negated(condition), otherwise.falls))


def _ternary(frame: Frame, op: Ternary) -> None:
    condition = frame.condition(op.condition)
    arms = _arms(frame, op, condition)
    yielded = (arms[0].yielded, arms[1].yielded)
    frame.values[op.value] = _after(frame, op.value, condition, arms, yielded)


def _arms(frame: Frame, op: If | Ternary, condition: Expr) -> tuple[Arm, Arm]:
    then = frame.arm(op.then, condition)
    otherwise = frame.arm(op.otherwise, frame.terms.negated(condition))
    for var in dict.fromkeys((*then.changes, *otherwise.changes)):
        before = frame.variables.get(var)
        known = (then.changes.get(var, before), otherwise.changes.get(var, before))
        frame.set(var, _after(frame, var, condition, (then, otherwise), known))
    for scope in ORDERED:
        frame.phases[scope] = _phases_after(frame, scope, condition, (then, otherwise))
    return then, otherwise


def _phases_after(frame: Frame, scope: str, condition: Expr, arms: tuple[Arm, Arm]) -> Phases:
    then, otherwise = (arm.phases[scope] for arm in arms)
    if then is otherwise or arms[1].falls is frame.terms.false:
        return then
    if arms[0].falls is frame.terms.false:
        return otherwise
    return joined_phases(
        frame.terms, (condition, then), (frame.terms.negated(condition), otherwise)
    )


def joined_phases(terms: Terms, *choices: tuple[Expr, Phases]) -> Phases:
    """The barriers that may have been passed last, each under its condition."""
    found = tuple(
        Phase(terms.both(condition, phase.guard), phase.site, phase.turns)
        for condition, phases in choices
        for phase in phases
        if terms.both(condition, phase.guard) is not terms.false
    )
    return found if len(found) <= MOST_PHASES else (Phase(terms.true, ANYWHERE),)


def phases_of_ways(terms: Terms, ways: Sequence[tuple[Expr, Phases]]) -> Phases:
    """The barriers that may have been passed last where several ways come together."""
    if not ways:
        return (Phase(terms.true, ANYWHERE),)
    first = ways[0][1]
    return first if all(phases == first for _, phases in ways) else joined_phases(terms, *ways)


def _after(
    frame: Frame, value: Value, condition: Expr, arms: tuple[Arm, Arm], known: tuple[Known, Known]
) -> Known:
    """A variable or result behind a branch; an arm that control does not leave has no say."""
    if arms[0].falls is frame.terms.false:
        return known[1]
    if arms[1].falls is frame.terms.false:
        return known[0]
    found = joined(frame.terms, condition, *known)
    return frame.anything(value) if found is None else found


def joined(terms: Terms, condition: Expr, then: Known, otherwise: Known) -> Known:
    """One of two, by a condition; None where nothing can be said."""
    if then is otherwise:
        return then
    if isinstance(then, Expr) and isinstance(otherwise, Expr):
        return terms.select(condition, then, otherwise)
    if not isinstance(then, tuple) or not isinstance(otherwise, tuple):
        return None
    found = _merged(
        terms,
        (*_where(terms, condition, then), *_where(terms, terms.negated(condition), otherwise)),
    )
    return found if len(found) <= MOST_PLACES else None


def _merged(terms: Terms, places: tuple[Place, ...]) -> tuple[Place, ...]:
    """Each place once, where one of its conditions holds."""
    found: dict[object, Place] = {}
    for place in places:
        key = (place.memory, place.path, place.indices)
        known = found.get(key)
        either = terms.either(known.condition, place.condition) if known else place.condition
        found[key] = Place(place.memory, place.path, place.indices, either)
    return tuple(found.values())


def _where(terms: Terms, condition: Expr, places: tuple[Place, ...]) -> tuple[Place, ...]:
    return tuple(
        Place(p.memory, p.path, p.indices, terms.both(condition, p.condition)) for p in places
    )


def _and_then(frame: Frame, op: AndThen) -> None:
    first = frame.condition(op.first)
    rest = frame.arm(op.rest, first).yielded
    second = rest if isinstance(rest, Expr) else frame.unknown(BOOL, "a condition")
    frame.values[op.value] = frame.terms.both(first, second)


def _or_else(frame: Frame, op: OrElse) -> None:
    first = frame.condition(op.first)
    rest = frame.arm(op.rest, frame.terms.negated(first)).yielded
    second = rest if isinstance(rest, Expr) else frame.unknown(BOOL, "a condition")
    frame.values[op.value] = frame.terms.either(first, second)


def _assert(frame: Frame, op: Assert) -> Expr:
    """What stands behind an assertion may count on it: a launch where it fails is an error."""
    return frame.condition(op.condition)


BRANCH_RULES: dict[type[Op], Rule] = {
    If: _if,
    Ternary: _ternary,
    AndThen: _and_then,
    OrElse: _or_else,
    Assert: _assert,
}

"""How branches are followed: each arm under its condition, and then what both have in common."""

from trilby.analysis.touching.expressions import Expr
from trilby.analysis.touching.followed_call import MOST_TARGETS, Arm, FollowedCall, Rule
from trilby.analysis.touching.touches import Does, Known, Target, Touch
from trilby.data.dtypes import BOOL
from trilby.model.op import Op
from trilby.model.ops.control import AndThen, If, OrElse, Ternary
from trilby.model.ops.debug import Assert
from trilby.model.value import Value


def _if(call: FollowedCall, op: If) -> Expr:
    condition = call.condition(op.condition)
    then, otherwise = _arms(call, op, condition)
    made = call.made
    if then.falls is made.true and otherwise.falls is made.true:
        return made.true
    falls = made.both(condition, then.falls)
    return made.either(falls, made.both(made.negated(condition), otherwise.falls))


def _ternary(call: FollowedCall, op: Ternary) -> None:
    condition = call.condition(op.condition)
    then, otherwise = _arms(call, op, condition)
    found = _after(call, op.value, condition, (then, otherwise), (then.yielded, otherwise.yielded))
    call.values[op.value] = found


def _arms(call: FollowedCall, op: If | Ternary, condition: Expr) -> tuple[Arm, Arm]:
    then = call.arm(op.then, condition)
    otherwise = call.arm(op.otherwise, call.made.negated(condition))
    for var in dict.fromkeys((*then.changes, *otherwise.changes)):
        before = call.variables.get(var)
        arms = (then.changes.get(var, before), otherwise.changes.get(var, before))
        call.set(var, _after(call, var, condition, (then, otherwise), arms))
    _cover_in_both(call, then, otherwise)
    return then, otherwise


def _after(
    call: FollowedCall,
    value: Value,
    condition: Expr,
    arms: tuple[Arm, Arm],
    known: tuple[Known, Known],
) -> Known:
    """A variable or result behind a branch; an arm that control does not leave has no say."""
    if arms[0].falls is call.made.false:
        return known[1]
    if arms[1].falls is call.made.false:
        return known[0]
    found = joined(call, condition, *known)
    return call.anything(value) if found is None else found


def joined(call: FollowedCall, condition: Expr, then: Known, otherwise: Known) -> Known:
    """One of two, by a condition; None where nothing can be said."""
    if then is otherwise:
        return then
    if isinstance(then, Expr) and isinstance(otherwise, Expr):
        return call.made.select(condition, then, otherwise)
    if not isinstance(then, tuple) or not isinstance(otherwise, tuple):
        return None
    if len(then) + len(otherwise) > MOST_TARGETS:
        return None
    return (
        *_where(call, condition, then),
        *_where(call, call.made.negated(condition), otherwise),
    )


def _where(call: FollowedCall, condition: Expr, targets: tuple[Target, ...]) -> tuple[Target, ...]:
    return tuple(
        Target(t.parameter, t.path, t.indices, call.made.both(condition, t.condition))
        for t in targets
    )


def _cover_in_both(call: FollowedCall, then: Arm, otherwise: Arm) -> None:
    """What both arms surely write is surely written, whatever the condition is."""
    in_second = {touch.place for touch in _sure(call, otherwise)}
    in_both = {touch.place: touch for touch in _sure(call, then) if touch.place in in_second}
    for touch in in_both.values():
        target = Target(touch.parameter, touch.path, touch.indices, call.made.true)
        call.following.touch(target, Does.COVERS, call.scope, touch.location)


def _sure(call: FollowedCall, arm: Arm) -> list[Touch]:
    touches = call.following.touches[arm.touches]
    return [t for t in touches if Does.COVERS in t.does and t.scope is arm.scope]


def _and_then(call: FollowedCall, op: AndThen) -> None:
    first = call.condition(op.first)
    rest = call.arm(op.rest, first).yielded
    second = rest if isinstance(rest, Expr) else call.made.opaque(BOOL)
    call.values[op.value] = call.made.both(first, second)


def _or_else(call: FollowedCall, op: OrElse) -> None:
    first = call.condition(op.first)
    rest = call.arm(op.rest, call.made.negated(first)).yielded
    second = rest if isinstance(rest, Expr) else call.made.opaque(BOOL)
    call.values[op.value] = call.made.either(first, second)


def _assert(call: FollowedCall, op: Assert) -> Expr:
    """A work item whose assertion fails may go on, or not: sure is only what holds it."""
    made = call.made
    goes_on = made.either(call.condition(op.condition), made.opaque(BOOL))
    call.leaves = made.both(call.leaves, made.either(made.negated(call.here), goes_on))
    return goes_on


BRANCH_RULES: dict[type[Op], Rule] = {
    If: _if,
    Ternary: _ternary,
    AndThen: _and_then,
    OrElse: _or_else,
    Assert: _assert,
}

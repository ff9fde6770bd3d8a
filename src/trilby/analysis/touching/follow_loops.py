"""How loops are followed: once, with an expression for the variable that counts.

A variable that grows by the same amount in every turn is an expression in the number of the
turn. Every other variable that a loop sets may hold anything in it and behind it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from trilby.analysis.touching.followed_call import FollowedCall, Rule
from trilby.analysis.touching.integers import cast
from trilby.analysis.touching.kernel_expressions import Expr, Expressions, Known, RangeLoop
from trilby.data.dtypes import BOOL, I64
from trilby.dataclass import dataclass
from trilby.model.op import Block, Op, blocks, ops_within
from trilby.model.ops.arith import ARITH_OPS
from trilby.model.ops.control import AndThen, Break, Continue, For, While
from trilby.model.ops.core import Call, Constant, Return, Var, VarLoad, VarStore, Yield
from trilby.model.ops.debug import Assert
from trilby.model.ops.grid import Grid
from trilby.model.ops.memory import Extent, Load, Place
from trilby.model.ops.structs import Pack, Unpack
from trilby.model.value import Value


@dataclass(frozen=True, slots=True)
class _LoopEffects:
    """The effects of a loop on the function around it.

    `stored` are the variables that it sets, `breaks` tells whether an iteration may be its last for
    another reason than its condition, `leaves` whether one may be the function's last, and `skips`
    whether one may end early. A loop with `s += 1` and `break` has `_LoopEffects((<s>,), True,
    False, False)`.
    """

    stored: tuple[Value, ...]
    breaks: bool
    leaves: bool
    skips: bool


def _turns(call: FollowedCall, op: For | While) -> _LoopEffects:
    stored: dict[Value, None] = {}
    leaves = False
    for inner in ops_within(op):
        if isinstance(inner, VarStore) and inner.var in call.variables:
            stored[inner.var] = None
        is_asserting = isinstance(inner, Call) and inner.callee in call.following.asserting
        leaves |= isinstance(inner, Return | Assert) or is_asserting
    own = list(_own(op.body))
    breaks = leaves or any(isinstance(inner, Break) for inner in own)
    return _LoopEffects(tuple(stored), breaks, leaves, any(isinstance(o, Continue) for o in own))


def _own(block: Block) -> Iterator[Op]:
    """The ops whose `break` and `continue` mean the loop of this body."""
    for op in block.ops:
        yield op
        if not isinstance(op, For | While):
            for inner in blocks(op):
                yield from _own(inner)


# -- variables that grow


_COMPUTING: frozenset[type[Op]] = frozenset(
    {Constant, Grid, Var, VarLoad, VarStore, Load, Extent, Place, Pack, Unpack, *ARITH_OPS}
)
"""The ops that a look ahead follows: they change nothing but variables."""


@dataclass(frozen=True, slots=True)
class _OneTurn:
    """A look ahead into one turn of a loop, whose variables may hold anything at its beginning.

    `steps` are the variables that grow by an amount that no turn changes, and that amount. `bounds`
    is the range over which a `while` counts, if it does, and `only` is false where its test says
    more than that. `while i < n: i += 2` has `_OneTurn({<i>: 2}, "i", (<i>, <n>, 2), True)`.
    """

    steps: Mapping[Value, Expr]
    name: str = ""
    bounds: tuple[Expr, Expr, Expr] | None = None
    only: bool = True


def _look_ahead(call: FollowedCall, op: For | While, effects: _LoopEffects) -> _OneTurn:
    if effects.skips:
        return _OneTurn({})
    first_new, first_touch = call.made.count, len(call.following.touches)
    with call.changes() as after:
        before = {var: call.anything(var) for var in effects.stored}
        for var, known in before.items():
            call.set(var, known)
        for block in blocks(op):
            _compute(call, block)
    del call.following.touches[first_touch:]
    steps: dict[Value, Expr] = {}
    for var, content in before.items():
        step = _growth(call.made, content, after[var])
        if step is not None and step.newest < first_new:
            steps[var] = step
    if isinstance(op, For):
        return _OneTurn(steps)
    return _counted(call, op, steps, {before[var]: var for var in steps}, first_new)


def _compute(call: FollowedCall, block: Block) -> None:
    """Follow the ops of a block that only compute; of what others set nothing is known."""
    for op in block.ops:
        if type(op) in _COMPUTING:
            call.following.rules[type(op)](call, op)
        for inner in ops_within(op):
            if isinstance(inner, VarStore):
                call.set(inner.var, call.anything(inner.var))


def _growth(made: Expressions, before: Known, after: Known) -> Expr | None:
    """`d` where `after` is `before + d` or `before - d`."""
    if not isinstance(after, Expr) or after.op not in {"add", "sub"}:
        return None
    left, right = after.args
    if left is before:
        return right if after.op == "add" else made.make("sub", (made.constant(0), right))
    return left if right is before and after.op == "add" else None


def _counted(
    call: FollowedCall,
    op: While,
    steps: Mapping[Value, Expr],
    growing: Mapping[object, Value],
    first_new: int,
) -> _OneTurn:
    """Read `while i < stop` with a body that adds a number to `i`."""
    made_by = {inner.result: inner for inner in op.test.ops if inner.result is not None}
    last = op.test.ops[-1]
    tested = last.yielded if isinstance(last, Yield) else None
    only = True
    while tested is not None and isinstance(both := made_by.get(tested), AndThen):
        tested, only = both.first, False
    test = call.number(tested) if tested is not None else None
    if test is None or test.op not in {"lt", "le"}:
        return _OneTurn(steps)
    left, right = test.args
    for counter, limit, way in ((left, right, 1), (right, left, -1)):
        var = growing.get(counter)
        start = call.variables.get(var) if var is not None else None
        if var is None or not isinstance(start, Expr) or limit.newest >= first_new:
            continue
        step = _literal(steps[var])
        if step is not None and step * way > 0:  # it leads to the limit
            stop = limit
            if test.op == "le":
                stop = call.made.make("add", (limit, call.made.constant(way)))
            return _OneTurn(steps, var.hint, (start, stop, call.made.constant(step)), only)
    return _OneTurn(steps)


def _literal(step: Expr) -> int | None:
    if step.op == "sub" and step.args[0].what == 0:
        inner = _literal(step.args[1])
        return None if inner is None else -inner
    return step.what if step.op == "constant" and isinstance(step.what, int) else None


def _grown(call: FollowedCall, var: Value, step: Expr, turn: Expr) -> Expr | None:
    """The content of a growing variable after some turns."""
    start = call.variables.get(var)
    if not isinstance(start, Expr):
        return None
    made = call.made
    way = made.make("mul", (cast(made, step, I64), turn))
    return made.make("add", (start, way), None, start.type)


# -- loops


def _for(call: FollowedCall, op: For) -> Expr:
    numbers = [call.number(value) for value in (op.start, op.stop, op.step)]
    start, stop, step = (n or call.made.opaque(I64) for n in numbers)
    turns = _turns(call, op)
    ahead = _look_ahead(call, op, turns)  # the variable that counts is none yet, and not the same
    loop, index = call.made.loop(op.body.params[0].hint, (start, stop, step))
    call.values[op.body.params[0]] = index
    _run_body(call, op.body, loop, turns, ahead.steps)
    return call.made.opaque(BOOL) if turns.leaves else call.made.true


def _run_body(
    call: FollowedCall,
    body: Block,
    loop: RangeLoop,
    turns: _LoopEffects,
    steps: Mapping[Value, Expr],
) -> None:
    made = call.made
    ends = {
        var: _grown(call, var, steps[var], made.of_loop("turns", loop))
        for var in turns.stored
        if var in steps and not turns.breaks
    }
    turn = made.of_loop("turn", loop)
    inside = {var: _grown(call, var, steps[var], turn) for var in turns.stored if var in steps}
    for var in turns.stored:
        call.set(var, inside.get(var) or call.anything(var))
    scope = call.following.scope(call.scope, loop=loop)
    guard = made.opaque(BOOL) if turns.breaks else made.true
    with call.within(call.following.scope(scope, guard), made.opaque(BOOL)):
        call.loops += 1
        call.block(body)
        call.loops -= 1
    for var in turns.stored:
        call.set(var, ends.get(var) or call.anything(var))


def _while(call: FollowedCall, op: While) -> Expr:
    turns = _turns(call, op)
    ahead = _look_ahead(call, op, turns)
    if ahead.bounds is None:
        _run_unknown(call, op, turns)
    else:
        loop, _ = call.made.loop(ahead.name, ahead.bounds, counts=True)
        _run_counted(call, op, turns, ahead, loop)
    return call.made.opaque(BOOL) if turns.leaves else call.made.true


def _run_counted(
    call: FollowedCall, op: While, turns: _LoopEffects, ahead: _OneTurn, loop: RangeLoop
) -> None:
    """The test runs once more than the body."""
    made = call.made
    count = made.make("add", (made.of_loop("turns", loop), made.constant(1)))
    tests, turn = made.loop("", (made.constant(0), count, made.constant(1)))
    with call.changes():
        for var in turns.stored:
            grown = ahead.steps.get(var)
            content = _grown(call, var, grown, turn) if grown else None
            call.set(var, content or call.anything(var))
        scope = call.following.scope(call.scope, loop=tests)
        with call.within(call.following.scope(scope, made.opaque(BOOL)), made.opaque(BOOL)):
            call.block(op.test)
    body = replace(turns, breaks=turns.breaks or not ahead.only)
    _run_body(call, op.body, loop, body, ahead.steps)


def _run_unknown(call: FollowedCall, op: While, turns: _LoopEffects) -> None:
    for var in turns.stored:
        call.set(var, call.anything(var))
    perhaps = call.made.opaque(BOOL)
    with call.within(call.following.scope(call.scope, perhaps), perhaps):
        call.block(op.test)
        last = op.test.ops[-1]
        holds = call.condition(last.yielded) if isinstance(last, Yield) else perhaps
        call.loops += 1
        call.arm(op.body, holds)
        call.loops -= 1
    for var in turns.stored:
        call.set(var, call.anything(var))


def _stops(call: FollowedCall, _op: Op) -> Expr:
    return call.made.false


LOOP_RULES: dict[type[Op], Rule] = {For: _for, While: _while, Break: _stops, Continue: _stops}

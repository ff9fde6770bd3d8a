"""How loops are followed: once, with an expression for the variable that counts.

A variable that grows by the same amount in every turn is an expression in the number of the
turn. Every other variable that a loop sets may hold anything in it and behind it.
"""

from collections.abc import Iterator, Mapping

from trilby.analysis.access import is_length
from trilby.analysis.touching.followed_call import FollowedCall, Rule
from trilby.analysis.touching.integers import cast, computed, counted_type
from trilby.analysis.touching.kernel_expressions import Expr, RangeLoop
from trilby.data.dtypes import BOOL, I64, ScalarType
from trilby.dataclass import dataclass
from trilby.model.op import Block, Op, blocks, operands, walk
from trilby.model.ops import arith
from trilby.model.ops.control import AndThen, Break, Continue, For, While
from trilby.model.ops.core import Call, Constant, Return, VarLoad, VarStore, Yield
from trilby.model.ops.debug import Assert
from trilby.model.ops.grid import Grid
from trilby.model.ops.memory import Extent, Load
from trilby.model.value import Value, VarType

DEEPEST_LOOK = 32


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
    for block in blocks(op):
        for inner in walk(block):
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


def _steps(call: FollowedCall, op: For | While, turns: _LoopEffects) -> dict[Value, Expr]:
    """The variables that grow by one amount in every turn, and that amount."""
    if turns.skips:
        return {}
    stores: dict[Value, list[VarStore]] = {}
    for inner in (inner for block in blocks(op) for inner in walk(block)):
        if isinstance(inner, VarStore):
            stores.setdefault(inner.var, []).append(inner)
    made_by = _definitions(op.body)
    found: dict[Value, Expr] = {}
    for store in op.body.ops:
        if isinstance(store, VarStore) and len(stores[store.var]) == 1 and _counts(store.var):
            step = _growth(_Look(call, made_by, frozenset(turns.stored)), store)
            if step is not None:
                found[store.var] = step
    return found


def _counts(var: Value) -> bool:
    of = var.type.of if isinstance(var.type, VarType) else None
    return isinstance(of, ScalarType) and of.is_integer


def _definitions(block: Block) -> dict[Value, Op]:
    return {op.result: op for op in block.ops if op.result is not None}


def _growth(look: "_Look", store: VarStore) -> Expr | None:
    """`d` where the stored value is `var + d` or `var - d`."""
    op = look.made_by.get(store.stored)
    if not isinstance(op, arith.Add | arith.Sub):
        return None
    left, right = (look.made_by.get(value) for value in (op.left, op.right))
    if isinstance(left, VarLoad) and left.var is store.var:
        step = look.at(op.right)
        made = look.call.made
        if step is not None and isinstance(op, arith.Sub):
            return made.make("sub", (made.constant(0), step))
        return step
    if isinstance(op, arith.Add) and isinstance(right, VarLoad) and right.var is store.var:
        return look.at(op.left)
    return None


@dataclass(frozen=True, slots=True)
class _Look:
    """Looks ahead into a block of a loop for values that are the same in every iteration.

    In `while i < n: i += 2` it finds 2, and `n`, but not `i`.
    """

    call: FollowedCall
    made_by: Mapping[Value, Op]
    stored: frozenset[Value]

    def at(self, value: Value, depth: int = 0) -> Expr | None:
        """The expression of a value that no turn changes; None for others."""
        known = self.call.values.get(value)
        if known is not None:
            return known if isinstance(known, Expr) else None
        op = self.made_by.get(value)
        type_ = counted_type(value)
        if op is None or type_ is None or depth > DEEPEST_LOOK:
            return None
        return self._made(op, type_, depth)

    def _made(self, op: Op, type_: ScalarType, depth: int) -> Expr | None:
        match op:
            case Constant():
                return self.call.made.constant(int(op.literal), type_)
            case VarLoad() if op.var not in self.stored:
                content = self.call.variables.get(op.var)
                return content if isinstance(content, Expr) else None
            case Grid():
                return self.call.made.make("grid", (), op.field, type_)
            case arith.Binary() | arith.Unary() | arith.Cast() | arith.Math():
                return self._computed(op, depth)
            case Load() | Extent():
                return self._measured(op, type_)
            case _:
                return None

    def _computed(self, op: Op, depth: int) -> Expr | None:
        args = {operand: self.at(operand, depth + 1) for operand in operands(op)}
        if any(arg is None for arg in args.values()):
            return None
        return computed(self.call.made, op, args.get)

    def _measured(self, op: Load | Extent, type_: ScalarType) -> Expr | None:
        base = self.made_by.get(op.base)
        targets = self.call.targets(op.base)
        if isinstance(base, VarLoad) and base.var not in self.stored:
            content = self.call.variables.get(base.var)
            targets = content if isinstance(content, tuple) else ()
        if len(targets) != 1 or targets[0].condition is not self.call.made.true:
            return None
        number = targets[0].parameter
        if isinstance(op, Extent):
            return self.call.made.make("extent", (), (number, op.axis), type_)
        if not is_length(self.call.parameter(targets[0]).type, op.path):
            return None
        return self.call.made.make("length", (), (number, op.path), type_)


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
    loop, index = call.made.loop(op.body.params[0].hint, (start, stop, step))
    call.values[op.body.params[0]] = index
    steps = _steps(call, op, turns)
    _run_body(call, op.body, loop, turns, steps)
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
    counted = _counted(call, op, turns)
    if counted is None:
        _run_unknown(call, op, turns)
    else:
        _run_counted(call, op, turns, counted)
    return call.made.opaque(BOOL) if turns.leaves else call.made.true


@dataclass(frozen=True, slots=True)
class _CountedWhile:
    """A `while` that counts like a range; `only` is false where its test says more than that.

    `while i < n: i += 2` counts `i` over `range(i, n, 2)`.
    """

    var: Value
    loop: RangeLoop
    steps: Mapping[Value, Expr]
    only: bool


def _counted(call: FollowedCall, op: While, turns: _LoopEffects) -> _CountedWhile | None:
    """Read `while i < stop` with a body that adds a number to `i`."""
    steps = _steps(call, op, turns)
    look = _Look(call, _definitions(op.test), frozenset(turns.stored))
    last = op.test.ops[-1]
    test = look.made_by.get(last.yielded) if isinstance(last, Yield) else None
    only = not isinstance(test, AndThen)
    while isinstance(test, AndThen):
        test = look.made_by.get(test.first)
    if not isinstance(test, arith.Lt | arith.Le | arith.Gt | arith.Ge):
        return None
    for counter, limit, is_swapped in (
        (test.left, test.right, False),
        (test.right, test.left, True),
    ):
        read = look.made_by.get(counter)
        if not isinstance(read, VarLoad) or read.var not in steps:
            continue
        stop = look.at(limit)
        start = call.variables.get(read.var)
        rises = isinstance(test, arith.Lt | arith.Le) is not is_swapped
        bounds = _bounds(call, start, stop, steps[read.var], rises=rises)
        if bounds is not None:
            if isinstance(test, arith.Le | arith.Ge):
                bounds = _one_further(call, bounds, rises=rises)
            loop, _ = call.made.loop(read.var.hint, bounds, counts=True)
            return _CountedWhile(read.var, loop, steps, only)
    return None


def _bounds(
    call: FollowedCall, start: object, stop: Expr | None, step: Expr, *, rises: bool
) -> tuple[Expr, Expr, Expr] | None:
    """The range that is counted over, where the step is a number and leads to the limit."""
    if not isinstance(start, Expr) or stop is None:
        return None
    number = _literal(step)
    if number is None or number == 0 or (number > 0) is not rises:
        return None
    return start, stop, call.made.constant(number)


def _literal(step: Expr) -> int | None:
    if step.op == "sub" and step.args[0].what == 0:
        inner = _literal(step.args[1])
        return None if inner is None else -inner
    return step.what if step.op == "constant" and isinstance(step.what, int) else None


def _one_further(
    call: FollowedCall, bounds: tuple[Expr, Expr, Expr], *, rises: bool
) -> tuple[Expr, Expr, Expr]:
    start, stop, step = bounds
    one = call.made.constant(1 if rises else -1)
    return start, call.made.make("add", (stop, one)), step


def _run_counted(
    call: FollowedCall, op: While, turns: _LoopEffects, counted: _CountedWhile
) -> None:
    """The test runs once more than the body."""
    made = call.made
    count = made.make("add", (made.of_loop("turns", counted.loop), made.constant(1)))
    tests, turn = made.loop("", (made.constant(0), count, made.constant(1)))
    with call.changes():
        for var in turns.stored:
            grown = counted.steps.get(var)
            content = _grown(call, var, grown, turn) if grown else None
            call.set(var, content or call.anything(var))
        scope = call.following.scope(call.scope, loop=tests)
        with call.within(call.following.scope(scope, made.opaque(BOOL)), made.opaque(BOOL)):
            call.block(op.test)
    breaks = turns.breaks or not counted.only
    body = _LoopEffects(turns.stored, breaks, turns.leaves, turns.skips)
    _run_body(call, op.body, counted.loop, body, counted.steps)


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

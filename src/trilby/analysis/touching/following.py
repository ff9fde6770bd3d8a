"""From the models of a kernel to its touches: runs them with expressions instead of numbers.

Both arms of a branch are followed, each under its condition; the body of a loop is followed
once, for all turns. Helpers are followed at every call, with what the call passes, up to a
number of ops that grows with the size of the models; further calls count with all that their
callee may do.
"""

from dataclasses import replace

from trilby.analysis.access import AccessMode, is_length
from trilby.analysis.reach import KernelGraph
from trilby.analysis.touching.follow_loops import LOOP_RULES
from trilby.analysis.touching.followed_call import (
    MOST_TARGETS,
    FollowedArm,
    FollowedCall,
    Following,
    Rule,
    below,
)
from trilby.analysis.touching.integers import computed, counted_type
from trilby.analysis.touching.kernel_expressions import (
    ConditionScope,
    Expr,
    Expressions,
    KernelTouch,
    Known,
    Target,
)
from trilby.data.dtypes import BOOL, I64
from trilby.data.schema import BufferType, NDArrayType, StructType, join_path, leaves
from trilby.model.op import Func, Op, Operands
from trilby.model.ops.arith import ARITH_OPS
from trilby.model.ops.control import AndThen, If, OrElse, Ternary
from trilby.model.ops.core import Call, Constant, Return, Var, VarLoad, VarStore
from trilby.model.ops.debug import Assert
from trilby.model.ops.grid import Grid
from trilby.model.ops.memory import AtomicUpdate, CompareExchange, Extent, Load, Place, Store
from trilby.model.ops.structs import Pack, Unpack
from trilby.model.value import Value
from trilby.source import Location

# ---------------------------------------------------------------------------------- follow branches
# How branches are followed: each arm under its condition, and then what both have in common.


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


def _arms(call: FollowedCall, op: If | Ternary, condition: Expr) -> tuple[FollowedArm, FollowedArm]:
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
    arms: tuple[FollowedArm, FollowedArm],
    known: tuple[Known, Known],
) -> Known:
    """A variable or result behind a branch; an arm that control does not leave has no say."""
    if arms[0].falls is call.made.false:
        return known[1]
    if arms[1].falls is call.made.false:
        return known[0]
    then, otherwise = known
    made = call.made
    if then is otherwise and then is not None:
        return then
    if isinstance(then, Expr) and isinstance(otherwise, Expr):
        return made.select(condition, then, otherwise)
    if isinstance(then, tuple) and isinstance(otherwise, tuple):
        ways = [(condition, t) for t in then] + [(made.negated(condition), t) for t in otherwise]
        if len(ways) <= MOST_TARGETS:
            return tuple(replace(t, condition=made.both(way, t.condition)) for way, t in ways)
    return call.anything(value)


def _cover_in_both(call: FollowedCall, then: FollowedArm, otherwise: FollowedArm) -> None:
    """What both arms surely write is surely written, whatever the condition is."""
    in_second = {touch.place for touch in _sure(call, otherwise)}
    in_both = {touch.place: touch for touch in _sure(call, then) if touch.place in in_second}
    for touch in in_both.values():
        target = Target(touch.parameter, touch.path, touch.indices, call.made.true)
        call.following.touch(target, AccessMode.COVERS, call.scope, touch.location)


def _sure(call: FollowedCall, arm: FollowedArm) -> list[KernelTouch]:
    touches = call.following.touches[arm.touches]
    return [t for t in touches if AccessMode.COVERS in t.does and t.scope is arm.scope]


def _and_or(call: FollowedCall, op: AndThen | OrElse) -> None:
    first, is_and = call.condition(op.first), isinstance(op, AndThen)
    rest = call.arm(op.rest, first if is_and else call.made.negated(first)).yielded
    second = rest if isinstance(rest, Expr) else call.made.opaque(BOOL)
    join = call.made.both if is_and else call.made.either
    call.values[op.value] = join(first, second)


def _assert(call: FollowedCall, op: Assert) -> Expr:
    """A work item whose assertion fails may go on, or not: sure is only what holds it."""
    made = call.made
    goes_on = made.either(call.condition(op.condition), made.opaque(BOOL))
    call.leaves = made.both(call.leaves, made.either(made.negated(call.here), goes_on))
    return goes_on


# ------------------------------------------------------------------------------------ follow memory
# How variables, memory, structs and calls are followed.


def _constant(call: FollowedCall, op: Constant) -> None:
    type_ = counted_type(op.value)
    call.values[op.value] = call.made.constant(int(op.literal), type_) if type_ else None


def _grid(call: FollowedCall, op: Grid) -> None:
    type_ = counted_type(op.value) or I64
    call.values[op.value] = call.made.make("grid", (), op.field, type_)


def _arithmetic(call: FollowedCall, op: Op) -> None:
    call.values[op.value] = computed(call.made, op, call.number)


# -- variables


def _var(call: FollowedCall, op: Var) -> None:
    call.set(op.value, call.values.get(op.init[0]) if op.init else None)


def _var_load(call: FollowedCall, op: VarLoad) -> None:
    known = call.variables.get(op.var)
    call.values[op.value] = call.anything(op.var) if known is None else known


def _var_store(call: FollowedCall, op: VarStore) -> None:
    call.set(op.var, call.values.get(op.stored))


# -- memory


def _places(call: FollowedCall, base: Value, indices: Operands, path: str) -> list[Target]:
    """The data at a path below a base; lengths are none."""
    numbers = tuple(call.number(index) or call.made.opaque(I64) for index in indices)
    found: list[Target] = []
    for target in call.targets(base):
        whole = join_path(target.path, path)
        if not is_length(call.parameter(target).type, whole):
            at = (*target.indices, *numbers)
            found.append(Target(target.parameter, whole, at, target.condition))
    return found


def _touch(
    call: FollowedCall, op: Load | Store | AtomicUpdate | CompareExchange, does: AccessMode
) -> None:
    for target in _places(call, op.base, op.indices, op.path):
        call.following.touch(target, does, call.scope, op.location)


def _load(call: FollowedCall, op: Load) -> None:
    _touch(call, op, AccessMode.READS)
    type_ = counted_type(op.value)
    if type_ is not None:
        length = _measure(call, op.base, "length", op.path, op.value)
        call.values[op.value] = length or call.made.opaque(type_)


def _extent(call: FollowedCall, op: Extent) -> None:
    found = _measure(call, op.base, "extent", op.axis, op.value)
    call.values[op.value] = found or call.made.opaque(counted_type(op.value) or I64)


def _measure(call: FollowedCall, base: Value, op: str, which: object, value: Value) -> Expr | None:
    """A length or extent of what a value stands for; None where it is something else."""
    type_ = counted_type(value) or I64
    chosen: Expr | None = None
    for target in call.targets(base):
        if op == "length" and not is_length(call.parameter(target).type, str(which)):
            return None
        size = call.made.make(op, (), (target.parameter, which), type_)
        chosen = size if chosen is None else call.made.select(target.condition, size, chosen)
    return chosen


def _store(call: FollowedCall, op: Store) -> None:
    _touch(call, op, AccessMode.WRITES | AccessMode.COVERS)


def _atomic(call: FollowedCall, op: AtomicUpdate | CompareExchange) -> None:
    _touch(call, op, AccessMode.READS | AccessMode.WRITES)
    type_ = counted_type(op.value) if op.result else None
    if type_:
        call.values[op.value] = call.made.opaque(type_)


def _place(call: FollowedCall, op: Place) -> None:
    call.values[op.value] = tuple(_places(call, op.base, op.indices, op.path))


# -- structs


def _pack(call: FollowedCall, op: Pack) -> None:
    struct = op.value.type
    if isinstance(struct, StructType):
        names = [leaf.name for leaf in leaves(struct)]
        parts = [call.number(part) for part in op.parts]
        call.values[op.value] = dict(zip(names, parts, strict=True))


def _unpack(call: FollowedCall, op: Unpack) -> None:
    whole = call.values.get(op.whole)
    leaf = whole.get(op.leaf) if isinstance(whole, dict) else None
    type_ = counted_type(op.value)
    if type_:
        call.values[op.value] = leaf or call.made.opaque(type_)


# -- calls


def _call(call: FollowedCall, op: Call) -> Expr:
    following = call.following
    callee = following.functions[op.callee]
    arguments = [call.values.get(argument) for argument in op.args]
    if callee.raw or following.budget < 0:
        touch_all(following, callee, arguments, call.scope, op.location)
        leaves_ = call.made.opaque(BOOL) if op.callee in following.asserting else call.made.true
        result: Known = None
    else:
        inner = FollowedCall(following, callee, arguments, call.scope)
        result, leaves_ = inner.run(), inner.leaves
    if op.result is not None:
        type_ = counted_type(op.result)
        is_number = isinstance(result, Expr)
        call.values[op.result] = call.made.opaque(type_) if type_ and not is_number else result
    call.leaves = call.made.both(
        call.leaves, call.made.either(call.made.negated(call.here), leaves_)
    )
    return leaves_


def touch_all(
    following: Following,
    function: Func,
    arguments: list[Known],
    scope: ConditionScope,
    location: Location,
) -> None:
    """The touches of a function that is not looked into: all that it may do at all."""
    for (number, path), access in following.summaries[function.name].items():
        for target in below(following.made, arguments[number], function.params[number], path):
            following.touch(target, access, scope, location)


def _return(call: FollowedCall, op: Return) -> Expr:
    """What is returned out of a loop cannot be told: its variables mean nothing outside."""
    is_clear = op.returned and not call.loops
    call.returned.append((call.here, call.values.get(op.returned[0]) if is_clear else None))
    return call.made.false


# ---------------------------------------------------------------------------------------- following

RULES: dict[type[Op], Rule] = {
    Constant: _constant,
    Grid: _grid,
    **dict.fromkeys(ARITH_OPS, _arithmetic),
    Var: _var,
    VarLoad: _var_load,
    VarStore: _var_store,
    Load: _load,
    Store: _store,
    AtomicUpdate: _atomic,
    CompareExchange: _atomic,
    Place: _place,
    Extent: _extent,
    Pack: _pack,
    Unpack: _unpack,
    Call: _call,
    Return: _return,
    If: _if,
    Ternary: _ternary,
    AndThen: _and_or,
    OrElse: _and_or,
    Assert: _assert,
    **LOOP_RULES,
}
"""How each op is followed; those without a rule touch nothing and give nothing."""


def touches_of(graph: KernelGraph) -> tuple[KernelTouch, ...]:
    """All accesses of a kernel, in the order in which they are written."""
    following = Following(graph, RULES)
    entry = graph.entry
    arguments = [_argument(following.made, number, p) for number, p in enumerate(entry.params)]
    if entry.raw:
        touch_all(following, entry, arguments, ConditionScope(), entry.location)
    else:
        FollowedCall(following, entry, arguments, ConditionScope()).run()
    return tuple(following.touches)


def _argument(made: Expressions, number: int, param: Value) -> Known:
    if isinstance(param.type, BufferType | NDArrayType):
        return (Target(number, "", (), made.true),)
    type_ = counted_type(param)
    return made.make("scalar", (), number, type_) if type_ else None

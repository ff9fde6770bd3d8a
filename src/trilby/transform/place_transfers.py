"""Put the copies of a transfer plan into compute models.

Pure: models go in, models come out. Copies stand before everything that the op they serve is
made of, where that is possible, so that the emitted Python reads as if somebody had written them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from trilby.analysis.alias import Literally, PlainExpression, Reference, Reload
from trilby.analysis.closure import ComputeClosure
from trilby.analysis.transfers.transfer_plan import Action, TransferPlan, When, plan_transfers
from trilby.model.build import Builder
from trilby.model.host_code import HostCode
from trilby.model.op import Block, Func, Op, operands
from trilby.model.ops.core import Constant, VarLoad
from trilby.model.ops.host import HostIf, HostValue, HostView
from trilby.model.ops.memory import Extent, Load, Place
from trilby.model.ops.transfer import ToDevice, ToHost
from trilby.model.rewrite import with_blocks
from trilby.model.value import OBJECT, Value, VarType
from trilby.source import Location


def place_transfers(closure: ComputeClosure, *, ahead: bool = False) -> tuple[Func, ...]:
    """The compute functions of a closure with copies; `ahead`: only with those that gain time."""
    plans = plan_transfers(closure, ahead=ahead)
    return tuple(carry_out(plans[func.name]) for func in closure.graph.functions)


def carry_out(plan: TransferPlan) -> Func:
    """The function of a plan, with everything that the plan places."""
    func = plan.func
    if not plan.before:
        return func
    return replace(func, body=_with_copies(plan, func.body, func.location))


def _with_copies(plan: TransferPlan, block: Block, location: Location) -> Block:
    """A block with its copies; they go before the ops that only make operands of theirs."""
    builder = Builder(location)
    placed: dict[int, list[Op]] = {}
    for number, op in enumerate(block.ops):
        if op in plan.before:
            placed.setdefault(_start(plan, block.ops, number), []).append(op)
    for number, op in enumerate(block.ops):
        for later in placed.get(number, ()):
            builder.location = later.location
            _act(plan.before[later], plan.func.params[0], builder)
        builder.emit(with_blocks(op, partial(_with_copies, plan, location=op.location)))
    made = builder.block(block.params)
    return block if made.ops == block.ops else made


def _start(plan: TransferPlan, ops: tuple[Op, ...], number: int) -> int:
    """Where the ops begin that only make the operands of an op."""
    op, start = ops[number], number
    if not set(_values_in(plan.before[op])) <= set(plan.func.params):
        return number  # some are values of the model that may be made just before the op
    wanted = set(operands(op))
    while start and _may_stand_before(ops[start - 1], wanted, plan):
        start -= 1
        wanted |= set(operands(ops[start]))
    return start


def _values_in(actions: Iterable[Action]) -> Iterator[Value]:
    """The values of the model that some actions use."""
    for action in actions:
        if isinstance(action, When):
            yield from _values_in((*action.then, *action.otherwise))
        else:
            used = (action.what, *action.indices)
            yield from (one for one in used if isinstance(one, Value))


def _may_stand_before(op: Op, wanted: set[Value], plan: TransferPlan) -> bool:
    """Whether a copy may as well stand before an op, which only makes wanted operands."""
    if isinstance(op, VarLoad | Constant):
        return True
    is_simple = isinstance(op, Extent | Load | HostView | Place | HostValue)
    return op.result in wanted and is_simple and op not in plan.writers


def _act(actions: Iterable[Action], context: Value, builder: Builder) -> None:
    """Make the ops of some actions."""
    for action in actions:
        if isinstance(action, When):
            tested = _value(action.condition, builder)
            then, otherwise = builder.nested(), builder.nested()
            _act(action.then, context, then)
            _act(action.otherwise, context, otherwise)
            builder.run(HostIf, tested, then.block(), otherwise.block())
            continue
        what = _value(action.what, builder)
        if action.to == "device":
            builder.run(ToDevice, context, what, action.certain)
        elif not action.path or what.type != OBJECT:
            indices = tuple(_value(index, builder) for index in action.indices)
            builder.run(ToHost, context, what, indices, action.path, action.certain)
        # else: a part of something without a type has no name, and comes when it is used


def _value(reference: Reference, builder: Builder) -> Value:
    match reference:
        case Reload(var):
            held = var.type.of if isinstance(var.type, VarType) else OBJECT
            return builder.value(VarLoad, var, type=held, hint=var.hint)
        case PlainExpression(code, uses, type_):
            return builder.value(HostValue, (), HostCode(code), uses, type=type_ or OBJECT)
        case Literally(number, type_):
            return builder.value(Constant, number, type=type_)
        case _:
            return reference

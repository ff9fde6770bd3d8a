"""Put the copies of a transfer plan into compute models.

Pure: models go in, models come out. Copies stand before everything that the op they serve is
made of, where that is possible, so that the emitted Python reads as if somebody had written them.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from trilby.analysis.alias import Literally, PlainExpression, Reference, Reload
from trilby.analysis.closure import ComputeClosure
from trilby.analysis.transfers.transfer_plan import Action, TransferPlan, When, plan_transfers
from trilby.dataclass import dataclass
from trilby.model.build import Builder
from trilby.model.host_code import HostCode
from trilby.model.op import Block, Func, Op, operands
from trilby.model.ops.core import Constant, VarLoad
from trilby.model.ops.host import HostIf, HostValue, HostView
from trilby.model.ops.memory import Extent, Load, Place
from trilby.model.ops.transfer import ToDevice, ToHost
from trilby.model.rewrite import with_blocks
from trilby.model.value import COMPUTE_CONTEXT, OBJECT, Value, VarType
from trilby.source import Location


def place_transfers(closure: ComputeClosure, *, ahead: bool = False) -> tuple[Func, ...]:
    """The compute functions of a closure with copies; `ahead`: only with those that gain time."""
    plans = plan_transfers(closure, ahead=ahead)
    return tuple(carry_out(plans[func.name]) for func in closure.graph.functions)


def carry_out(plan: TransferPlan) -> Func:
    """The function of a plan, with everything that the plan places."""
    func = plan.func
    contexts = [param for param in func.params if param.type == COMPUTE_CONTEXT]
    if not plan.before or not contexts:
        return func
    return replace(func, body=_Placer(plan, contexts[0]).block(func.body, func.location))


@dataclass(frozen=True, slots=True)
class _Placer:
    plan: TransferPlan
    context: Value

    def block(self, block: Block, location: Location) -> Block:
        """A block with its copies; they go before the ops that only make operands of theirs."""
        builder = Builder(location)
        placed: dict[int, list[Op]] = {}
        for number, op in enumerate(block.ops):
            if op in self.plan.before:
                placed.setdefault(self._start(block.ops, number), []).append(op)
        for number, op in enumerate(block.ops):
            for later in placed.get(number, ()):
                self._act(self.plan.before[later], builder, later.location)
            builder.emit(with_blocks(op, partial(self.block, location=op.location)))
        made = builder.block(block.params)
        return block if made.ops == block.ops else made

    def _start(self, ops: tuple[Op, ...], number: int) -> int:
        """Where the ops begin that only make the operands of an op."""
        op, start = ops[number], number
        if any(map(self._is_bound, self.plan.before[op])):
            return number
        wanted = set(operands(op))
        while start and self._is_operand(ops[start - 1], wanted):
            start -= 1
            wanted |= set(operands(ops[start]))
        return start

    def _is_bound(self, action: Action) -> bool:
        """Whether an action uses values of the model that may be made just before its op."""
        if isinstance(action, When):
            return any(map(self._is_bound, (*action.then, *action.otherwise)))
        used = [one for one in (action.what, *action.indices) if isinstance(one, Value)]
        return not set(used) <= set(self.plan.func.params)

    def _is_operand(self, op: Op, wanted: set[Value]) -> bool:
        """Whether a copy may as well stand before an op."""
        if isinstance(op, VarLoad | Constant):
            return True
        is_simple = isinstance(op, Extent | Load | HostView | Place | HostValue)
        return op.result in wanted and is_simple and op not in self.plan.writers

    def _act(
        self, actions: Iterable[Action], builder: Builder, location: Location | None = None
    ) -> None:
        builder.location = location or builder.location
        for action in actions:
            if isinstance(action, When):
                tested = self._value(action.condition, builder)
                then, otherwise = builder.nested(), builder.nested()
                self._act(action.then, then)
                self._act(action.otherwise, otherwise)
                builder.run(HostIf, tested, then.block(), otherwise.block())
                continue
            what = self._value(action.what, builder)
            if action.to == "device":
                builder.run(ToDevice, self.context, what, action.certain)
            elif not action.path or what.type != OBJECT:
                indices = tuple(self._value(index, builder) for index in action.indices)
                builder.run(ToHost, self.context, what, indices, action.path, action.certain)
            # else: a part of something without a type has no name, and comes when it is used

    def _value(self, reference: Reference, builder: Builder) -> Value:
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

"""Put the copies of a plan into compute models.

Pure: models go in, models come out. Copies stand before everything that the op they serve is
made of, where that is possible, so that the emitted Python reads as if somebody had written them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from trilby.analysis.alias import Literally, PlainExpression, Reference, Reload
from trilby.analysis.reach import ComputeGraph
from trilby.analysis.residency_plan import plan_transfers
from trilby.analysis.transfer_plan import (
    Action,
    NewerFlag,
    Owe,
    PlannedCopy,
    SetFlag,
    TransferPlan,
    When,
)
from trilby.data.dtypes import BOOL
from trilby.dataclass import dataclass
from trilby.model.build import Builder
from trilby.model.host_code import HostCode
from trilby.model.op import Block, Func, Op, block_fields, operands
from trilby.model.ops.core import Constant, Return, Var, VarLoad, VarStore
from trilby.model.ops.host import HostIf, HostValue, HostView
from trilby.model.ops.memory import Extent, Load, Place
from trilby.model.ops.transfer import Owed, ToDevice, ToHost
from trilby.model.value import COMPUTE_CONTEXT, OBJECT, Value, VarType
from trilby.source import Location

# ----------------------------------------------------------------------------------- certain copies
# Of a plan the copies that surely serve a use: those that may start early, whatever happens.
#
# Nothing else of the plan is kept. Flags are not needed, because a copy of what is current does
# nothing; what is not certain is copied when it is used. One bet is taken: a buffer that the host
# looks into in the last turn of a loop is fetched as a whole there, because whoever looks into a
# result will look at all of it. Lost, it costs no more than a copy of the whole for that look.


def certain_copies(plan: TransferPlan) -> TransferPlan:
    """A plan of nothing but certain copies."""
    before, after = _kept(plan.before), _kept(plan.after)
    at_end = tuple(_certain(plan.at_end))
    return replace(plan, before=before, after=after, at_end=at_end, flags=())


def _kept(actions: Mapping[Op, tuple[Action, ...]]) -> dict[Op, tuple[Action, ...]]:
    kept = {op: tuple(_certain(some)) for op, some in actions.items()}
    return {op: some for op, some in kept.items() if some}


def _certain(actions: Iterable[Action]) -> Iterator[Action]:
    for action in actions:
        match action:
            case PlannedCopy(certain=True):
                yield action
            case When(
                condition=PlainExpression(),
                then=(PlannedCopy("host", path="") as whole, *_),
                otherwise=(PlannedCopy("host", certain=True) as part,),
            ) if part.path:
                yield replace(action, then=(whole,))
            case When(condition=NewerFlag(), otherwise=(PlannedCopy(certain=True) as part,)):
                yield part
            case When(condition=NewerFlag(), then=then, otherwise=()):
                yield from _certain(then)
            case When(then=then, otherwise=otherwise) if not isinstance(
                action.condition, NewerFlag
            ):
                kept = replace(
                    action, then=tuple(_certain(then)), otherwise=tuple(_certain(otherwise))
                )
                if kept.then or kept.otherwise:
                    yield kept
            case _:
                continue


# ---------------------------------------------------------------------------------- place transfers


def place_transfers(graph: ComputeGraph) -> ComputeGraph:
    """A graph in whose compute functions copies are placed ahead of time."""
    plans = plan_transfers(graph)
    return replace(graph, functions=tuple(carry_out(plans[f.name]) for f in graph.functions))


def carry_out(plan: TransferPlan) -> Func:
    """The function of a plan, with everything that the plan places."""
    return _Placer.of(plan).function()


@dataclass(slots=True)
class _Placer:
    plan: TransferPlan
    context: Value
    flags: dict[NewerFlag, Value]

    @classmethod
    def of(cls, plan: TransferPlan) -> "_Placer":
        contexts = [param for param in plan.func.params if param.type == COMPUTE_CONTEXT]
        return cls(plan, contexts[0] if contexts else plan.func.params[0], {})

    def function(self) -> Func:
        plan, func = self.plan, self.plan.func
        if not plan.before and not plan.after and not plan.at_end:
            return func
        builder = Builder(func.location)
        declared = [op for op in func.body.ops if isinstance(op, Var) and _is_param(op, func)]
        for op in declared:
            builder.emit(op)
        for flag in plan.flags:
            self._declare(flag, builder)
        self._ops([op for op in func.body.ops if op not in declared], builder)
        leaves = func.body.ops and isinstance(func.body.ops[-1], Return)
        if not leaves:
            self._act(plan.at_end, builder)
        return replace(func, body=builder.block(func.body.params))

    def _declare(self, flag: NewerFlag, builder: Builder) -> None:
        at_first = builder.value(Constant, flag.at_first, type=BOOL)
        self.flags[flag] = builder.value(
            Var, (at_first,), flag.name, type=VarType(BOOL), hint=flag.name
        )

    # --------------------------------------------------------------------------------- blocks

    def _ops(self, ops: list[Op], builder: Builder) -> None:
        """Copy ops; actions go before the ops that only make operands of theirs, if they can."""
        starts = dict(self._starts(ops))
        early: dict[int, list[Op]] = {}
        for number, op in enumerate(ops):
            if op in self.plan.before and starts[number] != number:
                early.setdefault(starts[number], []).append(op)
        for number, op in enumerate(ops):
            for later in early.get(number, []):
                self._act(self.plan.before[later], builder, later.location)
            if op in self.plan.before and starts[number] == number:
                self._act(self.plan.before[op], builder, op.location)
            builder.emit(self._inner(op))
            self._act(self.plan.after.get(op, ()), builder, op.location)

    def _starts(self, ops: list[Op]) -> Iterator[tuple[int, int]]:
        """For each op with actions, where the ops begin that only make its operands."""
        for number, op in enumerate(ops):
            if op not in self.plan.before:
                continue
            start = number
            if not any(map(self._is_bound, self.plan.before[op])):
                wanted = set(operands(op))
                while start and self._is_operand(ops[start - 1], wanted):
                    start -= 1
                    wanted |= set(operands(ops[start]))
            yield number, start

    def _is_bound(self, action: Action) -> bool:
        """Whether an action uses values of the model that may be made just before its op."""
        match action:
            case PlannedCopy(what=what, indices=indices):
                made = [one for one in (what, *indices) if isinstance(one, Value)]
                return not set(made) <= set(self.plan.func.params)
            case Owe():
                return True
            case When(then=then, otherwise=otherwise):
                return any(map(self._is_bound, (*then, *otherwise)))
            case _:
                return False

    def _is_operand(self, op: Op, wanted: set[Value]) -> bool:
        """Whether a copy may as well stand before an op."""
        if isinstance(op, VarLoad | Constant):
            return True
        return op.result in wanted and _is_simple(op) and op not in self.plan.writers

    def _inner(self, op: Op) -> Op:
        """The op with its blocks rewritten."""
        changed: dict[str, Block] = {}
        for name in block_fields(type(op)):
            block: Block = getattr(op, name)
            builder = Builder(op.location)
            self._ops(list(block.ops), builder)
            new = builder.block(block.params)
            if new.ops != block.ops:
                changed[name] = new
        return replace(op, **changed) if changed else op

    # -------------------------------------------------------------------------------- actions

    def _act(
        self, actions: Iterable[Action], builder: Builder, location: Location | None = None
    ) -> None:
        for action in actions:
            builder.location = location or builder.location
            match action:
                case PlannedCopy():
                    self._copy(action, builder)
                case Owe(what):
                    value = self._value(what, builder)
                    if value.type != COMPUTE_CONTEXT:  # it may share a variable's history
                        builder.run(Owed, self.context, value)
                case SetFlag(flag, value):
                    stored = builder.value(Constant, value, type=BOOL)
                    builder.run(VarStore, self.flags[flag], stored)
                case When():
                    self._when(action, builder)

    def _copy(self, copy: PlannedCopy, builder: Builder) -> None:
        context, what = self.context, self._value(copy.what, builder)
        if copy.to == "device":
            builder.run(ToDevice, context, what, copy.certain)
            return
        if copy.path and what.type == OBJECT:
            return  # a part of something without a type has no name: it comes when it is used
        indices = tuple(self._value(index, builder) for index in copy.indices)
        builder.run(ToHost, context, what, indices, copy.path, copy.certain)

    def _when(self, when: When, builder: Builder) -> None:
        condition = when.condition
        if isinstance(condition, NewerFlag):
            tested = builder.value(VarLoad, self.flags[condition], type=BOOL)
        else:
            tested = self._value(condition, builder)
        then, otherwise = builder.nested(), builder.nested()
        self._act(when.then, then)
        self._act(when.otherwise, otherwise)
        builder.run(HostIf, tested, then.block(), otherwise.block())

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


def _is_param(op: Var, func: Func) -> bool:
    return bool(op.init) and op.init[0] in func.params


def _is_simple(op: Op) -> bool:
    """Whether an op only makes a value, and nothing happens besides."""
    return isinstance(op, Constant | VarLoad | Extent | Load | HostView | Place | HostValue)

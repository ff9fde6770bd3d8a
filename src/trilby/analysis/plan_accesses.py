"""Who uses what at the ops of a compute function, and what each use needs.

The host looks and writes, kernels read and write, other compute functions do both. How control
flows between the ops is left to the walk.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from typing import TypeAlias

from trilby.analysis.access import AccessMode
from trilby.analysis.alias import (
    NOTHING,
    Literally,
    PlainExpression,
    Points,
    Reference,
    Reload,
    Seen,
    Thing,
)
from trilby.analysis.host.host_ops import Effects, HostOps
from trilby.analysis.host.known_calls import OURS
from trilby.analysis.host.reader import HostTouch
from trilby.analysis.host.trees import arguments, number_of, plain_names
from trilby.analysis.plan_needs import LoopTurn, TransferNeed, add
from trilby.analysis.plan_state import STALE, UNKNOWN_CALLEE, Effect, Key, PlanState, Summary
from trilby.analysis.transfer_plan import Side
from trilby.data.dtypes import Type
from trilby.data.schema import BufferType, NDArrayType
from trilby.dataclass import dataclass
from trilby.model.host_code import Operand
from trilby.model.op import Op
from trilby.model.ops.core import VarLoad
from trilby.model.ops.host import (
    Dispatch,
    DispatchPasses,
    HostCall,
    HostFor,
    HostRun,
    HostValue,
    HostWith,
)
from trilby.model.ops.memory import Extent, Load
from trilby.model.value import Value

# -------------------------------------------------------------------------------------- plan ranges
# Whether the range of a dispatch has work items: without any, nothing is launched, nor needed.
#
# Lengths and constants are taken for more than 0. Of a number by a name it has to be asked.

Conditions: TypeAlias = tuple[PlainExpression, ...]


def has_items(size: Value, ops: HostOps) -> Conditions | None:
    """What must be true for a range to have work items; None where only the launch can tell."""
    number = ops.seen(size).number
    if number is not None:
        return () if number > 0 else None
    maker = ops.makers.get(size)
    match maker:
        case Load() | Extent():
            return ()
        case VarLoad(var):
            things = ops.seen(size).things
            is_made_here = bool(things) and all(thing.kind == "container" for thing in things)
            return () if is_made_here else _named(ops.called.get(var), ops)
        case HostValue(inputs=inputs):
            return _in_text(ops.tree_of(maker), inputs, ops)
        case _:
            return None


def _named(name: str | None, ops: HostOps) -> Conditions | None:
    if name is None:
        return None
    if name not in ops.names or ops.sorts.of(ops.names[name]) == "list":
        return ()
    if ops.sorts.of(ops.names[name]) == "number":
        return (PlainExpression(name, (name,)),)
    is_shadowed = not ops.names.keys().isdisjoint({"type", "int", "tuple"})
    return (
        None
        if is_shadowed
        else (PlainExpression(f"type({name}) in (int, tuple) and {name}", (name,)),)
    )


def _in_text(node: ast.expr, inputs: tuple[Value, ...], ops: HostOps) -> Conditions | None:
    number = number_of(node)
    if number is not None:
        return () if number > 0 else None
    match node:
        case ast.Name(id=name):
            return _named(name, ops)
        case Operand(number):
            return has_items(inputs[number], ops)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return _all(_in_text(item, inputs, ops) for item in items)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in OURS:
            return _in_text(arguments(node)[0], inputs, ops) if arguments(node) else None
        case ast.Attribute() | ast.Subscript(value=ast.Attribute(attr="shape")):
            return ()
        case _:
            names = plain_names(node)
            is_constant = names is not None and ops.names.keys().isdisjoint(names)
            return () if is_constant else None


def _all(found: Iterable[Conditions | None]) -> Conditions | None:
    total: dict[PlainExpression, None] = {}
    for conditions in found:
        if conditions is None:
            return None
        total.update(dict.fromkeys(conditions))
    return tuple(total)


# ------------------------------------------------------------------------------------ plan accesses


@dataclass(frozen=True, slots=True)
class BufferParameter:
    """A buffer that a kernel takes: its type, and what is done with it.

    It is `surely_read` where every launch reads it, whatever numbers it is given. Where it is used
    `by_pass`, one pass may do something else with it than another.
    """

    type: Type
    access: AccessMode
    surely_read: bool
    by_pass: bool


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known from outside of the function that is walked over."""

    kernels: Mapping[str, tuple[BufferParameter | None, ...]]
    callees: Mapping[str, Summary]
    wanted: Callable[[Op, Thing], bool]
    """Whether all of a buffer is surely wanted by the host, or the caller, behind an op."""


@dataclass(slots=True)
class Accesses:
    """The uses of one function, as far as it was walked over."""

    ops: HostOps
    around: Surroundings
    turn: LoopTurn = field(default_factory=LoopTurn)
    surely: bool = True
    """Whether the op at hand runs whenever the block of the loop, or function, around does."""
    in_loop: bool = False
    events: dict[Op, dict[tuple[str, Thing], bool]] = field(
        default_factory=dict[Op, dict[tuple[str, Thing], bool]]
    )
    """What ops do to buffers, and whether surely: `host reads`, `device writes`, …"""
    sites: dict[Key, Points] = field(default_factory=dict[Key, Points])
    """What may be used at each place where something may be needed."""
    barriers: set[Op] = field(default_factory=set[Op])
    """The ops that may leave their block, or run code that is not known."""

    def note(self, op: Op, what: str, things: Points, *, surely: bool = True) -> None:
        """Note what an op does."""
        events = self.events.setdefault(op, {})
        surely = surely and len(things) == 1
        for thing in things:
            key = (what, thing)
            events[key] = events.get(key, surely) and surely

    def need(self, op: Op, side: Side, which: object, need: TransferNeed) -> Key | None:
        """Note that a side needs something, unless it surely has it, or only a launch can tell."""
        key: Key = (op, side, which)
        self.sites[key] = self.sites.get(key, NOTHING) | need.things
        if not need.bits & STALE:
            return None
        add(self.turn.needs, key, self.placed(need, surely=self.surely and need.surely))
        return key

    def placed(self, need: TransferNeed, *, surely: bool) -> TransferNeed:
        """A need as it stands behind what has happened in this turn."""
        others = self.ops.things.others
        named = self.turn.named - need.things
        met = frozenset(one for one in named if not need.things.isdisjoint(others(one)))
        return replace(need, surely=surely, exposed=self.turn.unknown, met=met)

    def written(
        self, op: Op, side: Side, things: Points, state: PlanState, *, surely: bool
    ) -> None:
        """Something is written that `side` lacks then."""
        state.write(side, things, surely=surely)
        writer = "device" if side == "host" else "host"
        self.note(op, f"{writer} writes", things, surely=surely)
        self.turn.named |= things
        for thing in things:
            for one in (thing, *self.ops.things.others(thing)):
                self.turn.written.add((side, one))
                if one is not thing:
                    self.note(op, f"{writer} may write", frozenset({one}), surely=False)

    def runs_unknown(self, op: Op) -> None:
        """Code runs that is not known."""
        self.turn.unknown = True
        self.barriers.add(op)

    def touch(self, op: Op, effects: Effects, state: PlanState) -> None:
        """The host reads and writes."""
        for touch in effects.touches:
            things = self.ops.things.buffers(touch.seen.things)
            is_known = things == touch.seen.things or touch.seen.part is not None
            if touch.reads and not effects.launches and is_known:
                self.host_reads(op, touch, things, state)
            elif touch.reads:
                self.note(op, "host reads part", things, surely=False)
            if touch.writes:
                surely = touch.surely and not touch.handed
                self.written(op, "device", things, state, surely=surely)
                if surely and not touch.reads:
                    self.overwritten(op, touch.seen, state)
            if effects.launches:
                self.written(op, "host", things, state, surely=False)

    def host_reads(self, op: Op, touch: HostTouch, known: Points, state: PlanState) -> None:
        """The host looks at one of some buffers."""
        seen = touch.seen
        whole = all(self.ops.is_whole(thing, seen) for thing in seen.things)
        self.note(
            op, "host reads" if whole else "host reads part", seen.things, surely=touch.surely
        )
        if self.is_known_part(seen, state):
            return
        need = TransferNeed(
            seen.things,
            state.bits("host", known),
            seen.where,
            seen.part,
            whole,
            touch.surely,
            certain=touch.surely
            and not touch.handed
            and (seen.part is not None or not seen.is_part),
        )
        if seen.where is None or not self.is_named_before(op, seen):
            return
        key = self.need(op, "host", (seen.where, seen.part), need)
        if key is None:
            return
        if whole:
            state.bring("host", seen.things)
        elif len(seen.things) == 1 and seen.part and touch.surely:
            (thing,) = seen.things
            state.looked[thing] = key
            if self.is_fixed(seen):
                state.parts |= {(thing, seen.part)}

    def is_named_before(self, op: Op, seen: Seen) -> bool:
        """Whether the names of a place mean the same in front of an op: it sets none of them."""
        names: set[str | None] = set()
        for reference in (seen.where, *(seen.part.indices if seen.part else ())):
            match reference:
                case Reload(var):
                    names.add(self.ops.called.get(var))
                case PlainExpression(uses=uses):
                    names.update(uses)
                case _:
                    pass
        return names.isdisjoint(op.sets if isinstance(op, HostRun | HostFor | HostWith) else ())

    def is_known_part(self, seen: Seen, state: PlanState) -> bool:
        """Whether the host has a part already."""
        if seen.part is None or len(seen.things) != 1:
            return False
        (thing,) = seen.things
        return (thing, seen.part) in state.parts

    def is_fixed(self, seen: Seen) -> bool:
        """Whether a part is the same whenever it is named."""
        indices = seen.part.indices if seen.part else ()
        return all(isinstance(index, Literally) or _has_no_names(index) for index in indices)

    def overwritten(self, op: Op, seen: Seen, state: PlanState) -> None:
        """The host has all of a buffer that it wrote all of."""
        if len(seen.things) == 1 and all(self.ops.is_whole(thing, seen) for thing in seen.things):
            state.bring("host", seen.things)
            self.note(op, "host overwrites", seen.things)

    # ------------------------------------------------------------------------------- launches

    def dispatch(self, op: Dispatch, state: PlanState) -> None:
        """A kernel reads and writes its arguments."""
        wanted = self.around.kernels.get(op.kernel, ())
        arguments: list[tuple[int, Points, BufferParameter]] = []
        for number, (argument, parameter) in enumerate(zip(op.args, wanted, strict=False)):
            if parameter is None:
                continue
            things = self.ops.seen(argument).things
            self.is_given_as(parameter.type, things)
            arguments.append((number, things, parameter))
        items = has_items(op.range, self.ops)
        for number, things, parameter in arguments:
            in_passes = isinstance(op, DispatchPasses)
            if AccessMode.READS in parameter.access and in_passes and parameter.by_pass:
                self.note(op, "device reads", things)  # what an earlier pass wrote, it may be
                state.bring("device", things)
            elif AccessMode.READS in parameter.access:
                need = self.device_need(op, number, things, state)
                certain = parameter.surely_read and items is not None
                certain = certain and not in_passes  # there may be none
                need = replace(need, certain=certain, items=items or ())
                if self.need(op, "device", number, need):
                    state.bring("device", things)
        for _, things, parameter in arguments:
            if AccessMode.WRITES in parameter.access:
                self.written(op, "host", things, state, surely=True)
        if isinstance(op, DispatchPasses):
            self.options(op)

    def options(self, op: DispatchPasses) -> None:
        """The host looks at a flag, and whoever hears of progress may do anything."""
        if "until" in op.options:
            flag = self.ops.seen(op.given["until"]).things
            self.note(op, "host reads part", self.ops.things.buffers(flag), surely=False)
        if "progress" in op.options:
            self.runs_unknown(op)

    def is_given_as(self, type_: Type, things: Points) -> None:
        """What is given for a buffer is one, if it is known which."""
        if len(things) == 1 and isinstance(type_, BufferType | NDArrayType):
            self.ops.things.is_buffer(next(iter(things)), type_)

    def device_need(
        self, op: Dispatch, number: int, things: Points, state: PlanState
    ) -> TransferNeed:
        """A kernel needs what it reads."""
        self.note(op, "device reads", things)
        argument = op.args[number]
        seen = self.ops.seen(argument)
        where = argument if seen.is_part or seen.where is None else seen.where
        return TransferNeed(things, state.bits("device", things), where)

    def call(self, op: HostCall, state: PlanState) -> None:
        """Another compute function: it has a plan of its own."""
        summary = self.around.callees.get(op.callee, UNKNOWN_CALLEE)
        if summary.unknown:
            self.runs_unknown(op)
        given = [self.ops.seen(argument) for argument in op.args]
        things = NOTHING.union(*(seen.things for seen in given))
        reached = frozenset(t for t in state.memory.reach(things) if t.kind != "context")
        for type_, seen in zip(summary.types, given, strict=False):
            self.is_given_as(type_, seen.things)
        for number, seen in enumerate(given):
            effect = summary.effect(number)
            self.called(op, effect, seen.things, state)
            inner = state.memory.reach(seen.things) - seen.things
            self.called(op, summary.elsewhere, inner, state)
            state.memory.put(seen.things, reached)
        if op.result:
            found = self.ops.things.make(op, "found", f"{op.callee}()", many=self.in_loop)
            self.ops.values[op.result] = Seen(reached | {found}, where=op.result)

    def called(self, op: Op, effect: Effect, things: Points, state: PlanState) -> None:
        """What a callee does to some things."""
        known = self.ops.things.buffers(things)
        if Effect.HOST_READS in effect:
            self.note(op, "host reads part", known, surely=False)
        if Effect.DEVICE_READS in effect:
            self.note(op, "device reads", known, surely=False)
        if Effect.HOST_WRITES in effect and known:
            self.written(op, "device", known, state, surely=False)
        if Effect.DEVICE_WRITES in effect and known:
            self.written(op, "host", known, state, surely=False)


def _has_no_names(index: Reference) -> bool:
    return isinstance(index, PlainExpression) and not index.uses

"""Where copies go in compute functions, decided ahead of time.

A copy to the device stands before the launch that reads, a copy to the host before the look;
both move in front of loops where one copy serves all turns. No copy stands where it may be in
vain: each is guarded by what must hold for its use to come, and starts early only where that
is certain. Copies of what is there already do nothing at run time, so "may be stale" is all that
has to be known; where it is stale on some ways only, a local flag says which way was taken.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace

from trilby.analysis.access import AccessMode
from trilby.analysis.alias import NOTHING, PlainExpression, Reference, Reload, Thing
from trilby.analysis.host.host_ops import HostOps
from trilby.analysis.plan_accesses import BufferParameter, Surroundings
from trilby.analysis.plan_early import Early, Start, sure_reads
from trilby.analysis.plan_needs import Needs, TransferNeed, Trips, reference_to
from trilby.analysis.plan_state import (
    CURRENT,
    WRITTEN,
    Events,
    Key,
    PlanState,
    Summary,
    single,
    summary_of,
)
from trilby.analysis.plan_walk import PlanWalk
from trilby.analysis.reach import ComputeGraph, KernelGraph
from trilby.analysis.touching.following import touches_of
from trilby.analysis.touching.kernel_expressions import Does
from trilby.analysis.transfer_plan import (
    Action,
    NewerFlag,
    Owe,
    PlannedCopy,
    SetFlag,
    Side,
    TransferPlan,
    When,
)
from trilby.data.schema import BufferType, NDArrayType
from trilby.dataclass import dataclass
from trilby.model.op import Block, Func, Op, blocks, walk
from trilby.model.ops.control import Break, Continue
from trilby.model.ops.core import Return, Var
from trilby.model.ops.grid import Grid
from trilby.model.ops.host import HostFor, HostIf, HostRun, HostValue, HostWhile, HostWith
from trilby.model.value import COMPUTE_CONTEXT, VarType

# -------------------------------------------------------------------------------------- plan wanted
# Whether all of a buffer is surely wanted on the host later: read there, or owed to the caller.
#
# Asked for what lies behind a loop. The answer is yes only if it is yes on every way.


@dataclass(slots=True)
class Wanted:
    """Answers for one function; `parameters` are owed to the caller when it returns."""

    func: Func
    events: Events
    parameters: frozenset[Thing]
    _places: dict[Op, tuple[Block, int, Op | None]] = field(
        default_factory=dict[Op, tuple[Block, int, Op | None]]
    )

    def __post_init__(self) -> None:
        self._find(self.func.body, None)

    def _find(self, block: Block, around: Op | None) -> None:
        for number, op in enumerate(block.ops):
            self._places[op] = (block, number, around)
            for inner in blocks(op):
                self._find(inner, op)

    def behind(self, op: Op, thing: Thing) -> bool:
        """Whether a buffer is wanted behind an op, before the device writes to it again."""
        for later in self._following(op):
            if isinstance(later, HostFor | HostWhile) and later in self._around(op):
                # the next turn of a loop around
                if self._writes(later, thing):
                    return False
                continue
            answer = self._answer(later, thing)
            if answer is not None:
                return answer
        return thing in self.parameters

    def _around(self, op: Op) -> Iterator[Op]:
        around = self._places[op][2]
        while around is not None:
            yield around
            around = self._places[around][2]

    def _following(self, op: Op) -> Iterator[Op]:
        """The ops behind one, and behind what is around it; a loop around stands for its turns."""
        at: Op | None = op
        while at is not None:
            block, number, around = self._places[at]
            yield from block.ops[number + 1 :]
            if isinstance(around, HostFor | HostWhile):
                yield around
            at = around

    def _answer(self, op: Op, thing: Thing) -> bool | None:
        """What an op decides, or None where it is still open."""
        if isinstance(op, Return):
            return thing in self.parameters or ("returns", thing) in self.events.get(op, {})
        if isinstance(op, Break | Continue):
            return False  # it could be followed, and is not worth it
        if not any(blocks(op)):
            return self._decides(op, thing)
        if isinstance(op, HostIf):
            answers = [self._in_block(block, thing) for block in blocks(op)]
            if answers[0] is not None and answers[0] == answers[1]:
                return answers[0]
        return False if self._writes(op, thing) else None

    def _in_block(self, block: Block, thing: Thing) -> bool | None:
        for op in block.ops:
            answer = self._answer(op, thing)
            if answer is not None:
                return answer
        return None

    def _decides(self, op: Op, thing: Thing) -> bool | None:
        done = self.events.get(op, {})
        if done.get(("host reads", thing)):
            return True
        return False if self._writes(op, thing) or ("host overwrites", thing) in done else None

    def _writes(self, op: Op, thing: Thing) -> bool:
        """Whether the device may write to a buffer in an op, or inside of it."""
        keys = [("device writes", thing), ("device may write", thing)]
        inner = [op, *(one for block in blocks(op) for one in walk(block))]
        return any(key in self.events.get(one, {}) for one in inner for key in keys)


# ----------------------------------------------------------------------------------- residency plan

_WRITES: dict[Side, frozenset[str]] = {
    "device": frozenset({"host writes", "host may write"}),
    "host": frozenset({"device writes", "device may write"}),
}
"""After what a side may lack something."""


def plan_transfers(graph: ComputeGraph) -> dict[str, TransferPlan]:
    """The plan of every compute function of a graph, by its symbol."""
    kernels = {symbol: kernel_parameters(kernel) for symbol, kernel in graph.kernels.items()}
    callees: dict[str, Summary] = {}
    plans: dict[str, TransferPlan] = {}
    for func in graph.functions:  # callees come first
        plans[func.name], callees[func.name] = _plan(func, kernels, callees)
    return plans


def kernel_parameters(kernel: KernelGraph) -> tuple[BufferParameter | None, ...]:
    """What a kernel does with each argument; None for those that are no buffers.

    To read what the same work item has written is no need of what was there before.
    """
    done: dict[int, AccessMode] = {}
    ops = (op for func in kernel.functions for op in walk(func.body))
    by_pass = any(isinstance(op, Grid) and op.field == "pass_id" for op in ops)
    touches = touches_of(kernel)
    sure = sure_reads(kernel.entry.params, touches)
    for touch in touches:
        reads = AccessMode.READS if Does.READS in touch.does else AccessMode.UNTOUCHED
        writes = AccessMode.WRITES if Does.WRITES in touch.does else AccessMode.UNTOUCHED
        known = done.get(touch.parameter, AccessMode.UNTOUCHED)
        done[touch.parameter] = known | reads | writes
    return tuple(
        BufferParameter(param.type, done.get(number, AccessMode.UNTOUCHED), number in sure, by_pass)
        if isinstance(param.type, BufferType | NDArrayType)
        else None
        for number, param in enumerate(kernel.entry.params[1:], 1)
    )


def _plan(
    func: Func,
    kernels: Mapping[str, tuple[BufferParameter | None, ...]],
    callees: Mapping[str, Summary],
) -> tuple[TransferPlan, Summary]:
    """Walk over a function twice: what comes later matters for what is done earlier."""
    ops = HostOps.of(func)
    scout = PlanWalk(ops, Surroundings(kernels, callees, lambda _op, _thing: False))
    scout.function()
    parameters = tuple(ops.parameter(number) for number in range(len(func.params)))
    wanted = Wanted(func, scout.events, frozenset(parameters))
    walk_ = PlanWalk(ops, Surroundings(kernels, callees, wanted.behind))
    walk_.function()
    summary = summary_of(func, parameters, walk_.events, unknown=walk_.turn.unknown)
    return _Placing(ops, walk_, Early(ops, walk_.events, walk_.barriers)).plan(), summary


@dataclass(slots=True)
class _Placing:
    """Makes a plan of what a walk found."""

    ops: HostOps
    walk: PlanWalk
    early: Early
    before: dict[Op, list[Action]] = field(default_factory=dict[Op, list[Action]])
    after: dict[Op, list[Action]] = field(default_factory=dict[Op, list[Action]])
    writers: dict[tuple[Side, Thing], list[Op]] = field(
        default_factory=dict[tuple[Side, Thing], list[Op]]
    )
    flags: dict[tuple[Side, Thing], NewerFlag] = field(
        default_factory=dict[tuple[Side, Thing], NewerFlag]
    )

    def plan(self) -> TransferPlan:
        """The whole plan."""
        func = self.ops.func
        if not any(param.type == COMPUTE_CONTEXT for param in func.params):
            return TransferPlan(func)
        self.writers = _writers(self.walk.events)
        found = self.walk.turn.needs
        needs = {key: self._in_front(key, need) for key, need in found.items()}
        self._choose_flags(needs)
        for key, need in needs.items():
            self._place(key, need)
        for at, flag in self.flags.items():
            for op in self.writers.get(at, ()):
                self.after.setdefault(op, []).append(SetFlag(flag, value=True))
        at_end = tuple(self._owed())
        return TransferPlan(
            func,
            {op: tuple(actions) for op, actions in self.before.items()},
            {op: tuple(actions) for op, actions in self.after.items()},
            at_end,
            tuple(self.flags.values()),
            frozenset(op for op, done in self.walk.events.items() if any(map(_is_write, done))),
        )

    # --------------------------------------------------------------------------------- flags

    def _choose_flags(self, needs: Needs) -> None:
        """A flag for every buffer that is stale on some ways to a use, and current on others."""
        taken = {name for op in walk(self.ops.func.body) for name in _words(op)}
        for key, need in needs.items():
            thing, side = self._only(key, need), key[1]
            if thing is None or not need.bits & CURRENT or need.last:
                continue
            writers = self.writers.get((side, thing), ())
            if (side, thing) not in self.flags and not any(any(blocks(op)) for op in writers):
                self.flags[side, thing] = self._flag(side, thing, taken)

    def _only(self, key: Key, need: TransferNeed) -> Thing | None:
        """The one buffer that can be meant at the place of a need."""
        things = need.things | self.walk.sites.get(key, frozenset())
        if isinstance(need.where, Reload) and key[0] in self.walk.entered:
            things |= self.walk.entered[key[0]].held[need.where.var].things
        return next(iter(things)) if single(things) else None

    def _in_front(self, key: Key, need: TransferNeed) -> TransferNeed:
        """A need that left a loop, by the name of a parameter if a variable may be another."""
        things = self.ops.things.known
        params = [p for p in self.ops.func.params if frozenset({things[p]}) == need.things]
        if key[0] in self.walk.entered and self._only(key, need) is None and params:
            return replace(need, where=params[0])
        return need

    def _flag(self, side: Side, thing: Thing, taken: set[str]) -> NewerFlag:
        other = "host" if side == "device" else "device"
        name = wanted = f"{self._word(thing)}_is_newer_on_{other}"
        number = 1
        while name in taken:
            number += 1
            name = f"{wanted}_{number}"
        taken.add(name)
        is_unknown = thing.kind in {"parameter", "found"}
        return NewerFlag(name, at_first=is_unknown or (thing.kind == "filled" and side == "device"))

    def _word(self, thing: Thing) -> str:
        """What the user calls a buffer."""
        for var, points in self.ops.ever.items():
            if points == frozenset({thing}) and var in self.ops.called:
                return self.ops.called[var]
        return thing.name if thing.name.isidentifier() else "buffer"

    # -------------------------------------------------------------------------------- copies

    def _place(self, key: Key, need: TransferNeed) -> None:
        op, side, where = *key[:2], need.where
        if where is None:
            return
        thing = self._only(key, need)
        if thing and need.certain:
            where = self.early.always_named(thing) or where
            op = self._start_early(key, need, where, thing)
        flag = self.flags.get((side, thing)) if thing else None
        certain = need.certain and not need.apart
        actions = self._copies(side, replace(need, certain=certain), where, flag)
        if flag and need.bits & CURRENT:
            actions = (When(flag, actions),)
        self._act(op, actions, (*need.guards, *need.items))

    def _start_early(self, key: Key, need: TransferNeed, where: Reference, thing: Thing) -> Op:
        """The op before which a copy starts: as early as its use is certain to come.

        Where two names may be one buffer, another copy starts earlier, in case they are not; but
        for what is there already then.
        """
        op, side, _ = key
        indices = need.part.indices if need.part else ()
        last = (self._is_last(need.last),) if need.last else ()
        uses = (where, *indices, *need.guards, *need.items, *last)
        surely, if_apart = self.early.starts(Start(op, need.apart), side, thing, uses)
        are_apart = self.early.are_apart(thing, where, if_apart.apart)
        if are_apart and not need.bits & CURRENT:
            early = self._copies(side, need, where, None)
            self._act(if_apart.op, early, (*need.guards, *need.items, are_apart))
        return op if need.apart else surely.op

    def _act(
        self, op: Op, actions: tuple[Action, ...], guards: tuple[PlainExpression, ...]
    ) -> None:
        for guard in reversed(guards):
            actions = (When(guard, actions),)
        self.before.setdefault(op, []).extend(actions)

    def _copies(
        self, side: Side, need: TransferNeed, where: Reference, flag: NewerFlag | None
    ) -> tuple[Action, ...]:
        done = (SetFlag(flag, value=False),) if flag else ()
        whole = PlannedCopy(side, where, certain=need.certain)
        if need.part is None or need.whole:
            return (whole, *(done if need.whole else ()))
        typed = self._typed(where, need)
        part = PlannedCopy(side, typed, need.part.path, need.part.indices, need.certain)
        parts = self._if_numbers(part)
        if need.last is None:
            return parts
        return (When(self._is_last(need.last), (whole, *done), parts),)

    def _if_numbers(self, part: PlannedCopy) -> tuple[Action, ...]:
        """A copy of a part; one that asks first whether its indices are integers of Python."""
        variables = [index.var for index in part.indices if isinstance(index, Reload)]
        asked = [var for var in variables if self.ops.sorts.of(var) != "number"]
        if asked and not self.ops.names.keys().isdisjoint({"type", "int"}):
            return ()
        actions: tuple[Action, ...] = (part,)
        for name in dict.fromkeys(self.ops.called[var] for var in asked):
            actions = (When(PlainExpression(f"type({name}) is int", (name,)), actions),)
        return actions

    def _is_last(self, trips: Trips) -> PlainExpression:
        target = self.ops.called[trips.target]
        return trips.asked(f"{target} + 1 == {trips.stop}", target)

    def _typed(self, where: Reference, need: TransferNeed) -> Reference:
        """A buffer below which a path leads somewhere: of what type it is must be said."""
        known = min(self.ops.things.buffers(need.things), key=lambda thing: thing.number)
        type_ = self.ops.things.types[known]
        if isinstance(where, Reload) and where.var.type != VarType(type_):
            name = self.ops.called[where.var]
            return PlainExpression(name, (name,), type_)
        return replace(where, type=type_) if isinstance(where, PlainExpression) else where

    # ---------------------------------------------------------------------------------- ends

    def _owed(self) -> Iterator[Action]:
        """What the device has newer when the function returns."""
        for op, state in self.walk.ends.items():
            owed = [Owe(where) for where in self._owed_at(op, state)]
            if op is None:
                yield from owed
            elif owed:
                self.before.setdefault(op, []).extend(owed)

    def _owed_at(self, op: Op | None, state: PlanState) -> Iterator[Reference]:
        """How to name what outlives the function and is newer on the device."""
        returned = op.returned if isinstance(op, Return) else ()
        given = NOTHING.union(*(self.ops.seen(value).things for value in returned))
        newer = [
            thing
            for thing, bits in state.host.items()
            if bits & WRITTEN and (thing.kind in {"parameter", "found"} or thing in given)
        ]
        names: dict[Reference, None] = {}
        for thing in sorted(newer, key=lambda thing: thing.number):
            where = reference_to(thing, state, self.ops)
            for one in (where,) if where is not None else _holding(thing, state):
                names[one] = None
        yield from names


def _holding(thing: Thing, state: PlanState) -> Iterator[Reference]:
    """The variables that may hold a buffer of which no variable surely is the name."""
    return (Reload(var) for var, things in state.names() if thing in things)


def _is_write(event: tuple[str, Thing]) -> bool:
    return "write" in event[0]


def _writers(events: Events) -> dict[tuple[Side, Thing], list[Op]]:
    """The ops after which a side may lack content of a buffer."""
    found: dict[tuple[Side, Thing], list[Op]] = {}
    for op, done in events.items():
        for side, words in _WRITES.items():
            wrote = [thing for what, thing in done if what in words]
            for thing in dict.fromkeys(wrote):
                found.setdefault((side, thing), []).append(op)
    return found


def _words(op: Op) -> Iterable[str]:
    if isinstance(op, Var):
        yield op.name
    elif isinstance(op, HostValue | HostRun):
        yield from op.code.names.words
    elif isinstance(op, HostFor | HostWith):
        yield from op.sets

"""The walk over a compute function that finds which side needs which buffer, and where.

It follows the function the way it runs: the host reads and writes, kernels read and write, other
compute functions do both. Of a loop the first iteration is followed apart from the others: what is
needed in the first one only, is needed once, and a name that alternates between two buffers is
known there.

A need moves in front of a loop where one copy serves all iterations: the other side does not
write inside, the buffer surely is one that has a name there, and the use surely comes.

```
for _ in range(n):                      # the need of `a` moves here, under `n > 0`
    cc.dispatch(a.length, double, a)    # a need in the first iteration only
```
"""

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import TypeAlias

from trilby.analysis.access import AccessMode
from trilby.analysis.alias import (
    NOTHING,
    BufferPart,
    HostHeap,
    Literally,
    PlainExpression,
    Points,
    Reference,
    Reload,
    Seen,
    Thing,
)
from trilby.analysis.bound import names_set
from trilby.analysis.host.host_ops import HostOps
from trilby.analysis.host.reader import Effects, HostTouch
from trilby.analysis.transfers.kernel_reads import KernelBuffer
from trilby.analysis.transfers.overlap import takes_time
from trilby.analysis.transfers.transfer_needs import (
    CURRENT,
    STALE,
    WRITTEN,
    Key,
    LoopTurn,
    PlanState,
    Side,
    TransferNeed,
    Trips,
    has_items,
    joined,
    names_in,
    single,
    trips_of,
)
from trilby.data.dtypes import Type
from trilby.data.schema import INDEX, BufferType, NDArrayType
from trilby.dataclass import dataclass
from trilby.model.op import Block, Func, Op, blocks, walk
from trilby.model.ops.control import Break, Continue
from trilby.model.ops.core import Return
from trilby.model.ops.host import (
    Dispatch,
    DispatchPasses,
    HostCall,
    HostFor,
    HostIf,
    HostRun,
    HostValue,
    HostWhile,
    HostWith,
)

DEEPEST = 4
"""In loops nested deeper than this the first iteration is not told from the others."""

Loop: TypeAlias = HostFor | HostWhile
UseEvents: TypeAlias = dict[Op, dict[tuple[str, Thing], bool]]
"""What ops do to buffers, and whether surely.

`host reads` all of it, `host reads part`, `host writes`, `host overwrites` all of it, `device
reads`, `device writes`, `returns`; `host may write` and `device may write` to what may be the same
buffer under another name.
"""

# ---------------------------------------------------------------------------------------- summaries

_SUMMARISED = {
    "host reads": "host reads",
    "host reads part": "host reads",
    "host writes": "host writes",
    "host may write": "host writes",
    "host overwrites": "host writes",
    "device reads": "device reads",
    "device writes": "device writes",
    "device may write": "device writes",
}
_ANYTHING = frozenset(_SUMMARISED.values())


@dataclass(frozen=True, slots=True)
class UseSummary:
    """What a compute function does to its arguments, for its callers.

    `elsewhere` is what it does to buffers that can be reached from them; `unknown` where it runs
    code that is not known. A function that doubles its argument `a` on the device has
    `parameters == ({}, {"device reads", "device writes"})`.
    """

    types: tuple[Type, ...] = ()
    parameters: tuple[frozenset[str], ...] = ()
    elsewhere: frozenset[str] = _ANYTHING
    unknown: bool = True

    @classmethod
    def of(cls, func: Func, walk: "UsesWalk") -> "UseSummary":
        """The summary of a function that was walked over."""
        found: dict[Thing, set[str]] = {}
        elsewhere: set[str] = set()
        for done in walk.events.values():
            for what, thing in done:
                effects = elsewhere if thing.kind == "found" else found.setdefault(thing, set())
                effects.update({_SUMMARISED[what]} if what in _SUMMARISED else ())
        things = [walk.ops.things.known[param] for param in func.params]
        parameters = tuple(frozenset(found.get(thing, ())) for thing in things)
        types = tuple(param.type for param in func.params)
        return cls(types, parameters, frozenset(elsewhere), walk.turn.unknown)

    def effects(self, number: int) -> frozenset[str]:
        """What is done to one argument."""
        return self.parameters[number] if number < len(self.parameters) else _ANYTHING


# --------------------------------------------------------------------------------------------- walk


@dataclass(slots=True)
class UsesWalk:
    """One walk over a function: the needs that it found, and what each op does to buffers.

    `wanted` tells whether all of a buffer is surely read by the host, or the caller, behind a loop.
    For a launch that doubles `a`: `turn.needs == {(<dispatch>, "device", 0): TransferNeed({a}, …)}`
    and `events == {<dispatch>: {("device reads", a): True, ("device writes", a): True}}`.
    """

    ops: HostOps
    kernels: Mapping[str, tuple[KernelBuffer | None, ...]]
    callees: Mapping[str, UseSummary]
    wanted: Callable[[Op, Thing], bool]
    turn: LoopTurn = field(default_factory=LoopTurn)
    surely: bool = True
    """Whether the op at hand runs whenever the block of the loop, or function, around does."""
    events: UseEvents = field(default_factory=UseEvents)
    sites: dict[Key, Points] = field(default_factory=dict[Key, Points])
    """What may be used at each place where something may be needed."""
    barriers: set[Op] = field(default_factory=set[Op])
    """The ops that may leave their block, or run code that is not known."""
    jumps: list[tuple[list[PlanState], list[PlanState]]] = field(
        default_factory=list[tuple[list[PlanState], list[PlanState]]]
    )
    """The states with which each loop around is left, and begun anew, from inside."""
    entered: dict[Op, HostHeap] = field(default_factory=dict[Op, HostHeap])
    """What variables may hold in front of each loop."""
    incomplete: bool = False
    """Whether a second walk would know more: what loops want, closures capture, launches tell."""

    def run(self) -> "UsesWalk":
        """Walk over the whole function."""
        self.block(self.ops.func.body, PlanState(self.ops.things))
        return self

    def block(self, block: Block, state: PlanState) -> PlanState | None:
        """The state behind a block; None where it is always left before its end."""
        now: PlanState | None = state
        for op in block.ops:
            if now is None:
                return None
            now = self.op(op, now)
            self.turn.busy = self.turn.busy or takes_time(op)
        return now

    def op(self, op: Op, state: PlanState) -> PlanState | None:
        """The state behind an op."""
        match op:
            case HostIf():
                return self.choice(op, state)
            case HostFor() | HostWhile():
                return self.loop(op, state)
            case HostWith():
                self.runs_unknown(op)
                self.touch(op, self.ops.bind(op, state.memory, first=None), state)
                after = self.block(op.body, state)
                if after is not None:
                    self.touch(op, self.ops.bind(op, after.memory, first=None), after)
                return after
            case Break() | Continue():
                self.jumps[-1][isinstance(op, Continue)].append(state)
                return None
            case Return():
                for value in op.returned:
                    self.note(op, "returns", self.ops.seen(value).things)
                return None
            case Dispatch():
                self.dispatch(op, state)
            case HostCall():
                self.call(op, state)
            case _:
                self.simple(op, state)
        return state

    def simple(self, op: Op, state: PlanState) -> None:
        """An op that runs no other function of the graph."""
        self.incomplete |= isinstance(op, HostRun) or (
            isinstance(op, HostValue) and op.code.defines()
        )
        effects = self.ops.visit(op, state.memory, many=bool(self.jumps))
        if effects.touches:
            self.touch(op, effects, state)
        if effects.unknown:
            self.runs_unknown(op)
        if effects.leaves:
            self.surely = False
            self.barriers.add(op)
            for states in self.jumps[-1] if self.jumps else ():
                states.append(state.copy())

    def choice(self, op: HostIf, state: PlanState) -> PlanState | None:
        """Either of two blocks."""
        surely, self.surely = self.surely, False
        other = self.block(op.otherwise, state.copy())
        then = self.block(op.then, state)
        self.surely = surely and then is not None and other is not None
        if then is None or other is None:
            return then or other
        then.widen(other)
        return then

    # ----------------------------------------------------------------------------------- notes

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
        self.turn.add(key, self.placed(need, surely=self.surely and need.surely))
        return key

    def placed(self, need: TransferNeed, *, surely: bool) -> TransferNeed:
        """A need as it stands behind what has happened in this iteration."""
        others, turn = self.ops.things.others, self.turn
        named = turn.named - need.things
        met = frozenset(one for one in named if not need.things.isdisjoint(others(one)))
        return replace(need, surely=surely, exposed=turn.unknown, late=turn.busy, met=met)

    def written(
        self, op: Op, side: Side, things: Points, state: PlanState, *, surely: bool
    ) -> None:
        """Something is written that `side` lacks then."""
        state.write(side, things, surely=surely)
        writer = "device" if side == "host" else "host"
        self.note(op, f"{writer} writes", things, surely=surely)
        self.turn.named |= things
        for thing in things:
            self.turn.written.add((side, thing))
            for other in self.ops.things.others(thing):
                self.turn.written.add((side, other))
                self.note(op, f"{writer} may write", frozenset({other}), surely=False)

    def runs_unknown(self, op: Op) -> None:
        """Code runs that is not known."""
        self.turn.unknown = True
        self.barriers.add(op)

    # ------------------------------------------------------------------------------------ host

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
                is_all = len(touch.seen.things) == 1 and self.ops.is_whole(touch.seen)
                if surely and not touch.reads and is_all:
                    state.bring("host", touch.seen.things)
                    self.note(op, "host overwrites", touch.seen.things)
            if effects.launches:
                self.written(op, "host", things, state, surely=False)

    def host_reads(self, op: Op, touch: HostTouch, known: Points, state: PlanState) -> None:
        """The host reads one of some buffers."""
        seen, part = touch.seen, touch.seen.part
        whole = self.ops.is_whole(seen)
        what = "host reads" if whole else "host reads part"
        self.note(op, what, seen.things, surely=touch.surely)
        only = next(iter(seen.things)) if len(seen.things) == 1 else None
        is_there = only is not None and part is not None and (only, part) in state.parts
        names = names_in((seen.where, *(part.indices if part else ())), self.ops)
        is_named_before = names.isdisjoint(names_set(op, self.ops.called))
        if is_there or seen.where is None or not is_named_before:
            return
        is_place = part is not None or not seen.is_part
        certain = touch.surely and not touch.handed and is_place
        bits = state.bits("host", known)
        need = TransferNeed(
            seen.things, bits, seen.where, part, whole, touch.surely, certain=certain
        )
        key = self.need(op, "host", (seen.where, part), need)
        if key is None:
            return
        if whole:
            state.bring("host", seen.things)
        elif only and part and touch.surely:
            state.looked[only] = key
            is_plain = all(isinstance(one, Literally | PlainExpression) for one in part.indices)
            if is_plain and not names_in(part.indices, self.ops):
                state.parts |= {(only, part)}  # the same part whenever it is named

    # -------------------------------------------------------------------------------- launches

    def dispatch(self, op: Dispatch, state: PlanState) -> None:
        """A kernel reads and writes its arguments."""
        taken = zip(op.args, self.kernels.get(op.kernel, ()), strict=False)
        given = [
            (number, self.ops.seen(argument), buffer)
            for number, (argument, buffer) in enumerate(taken)
            if buffer
        ]
        for _, seen, buffer in given:
            self.is_given_as(buffer.type, seen.things)
        items, in_passes = has_items(op.range, self.ops), isinstance(op, DispatchPasses)
        for number, seen, buffer in given:
            if AccessMode.READS not in buffer.access:
                continue
            self.note(op, "device reads", seen.things)
            if in_passes and buffer.by_pass:  # it may be what an earlier pass wrote
                state.bring("device", seen.things)
                continue
            where = op.args[number] if seen.is_part or seen.where is None else seen.where
            # without any passes nothing is read
            certain = buffer.surely_read and items is not None and not in_passes
            bits = state.bits("device", seen.things)
            need = TransferNeed(seen.things, bits, where, certain=certain, items=items or ())
            if self.need(op, "device", number, need):
                state.bring("device", seen.things)
        for _, seen, buffer in given:
            if AccessMode.WRITES in buffer.access:
                self.written(op, "host", seen.things, state, surely=True)
        if isinstance(op, DispatchPasses) and "until" in op.options:
            flag = self.ops.seen(op.given["until"]).things
            self.note(op, "host reads part", self.ops.things.buffers(flag), surely=False)
        if isinstance(op, DispatchPasses) and "progress" in op.options:
            self.runs_unknown(op)

    def is_given_as(self, type_: Type, things: Points) -> None:
        """What is given for a buffer is one, if it is known which."""
        if len(things) == 1 and isinstance(type_, BufferType | NDArrayType):
            (thing,) = things
            self.incomplete |= thing not in self.ops.things.types
            self.ops.things.is_buffer(thing, type_)

    def call(self, op: HostCall, state: PlanState) -> None:
        """Another compute function: it has a plan of its own."""
        summary = self.callees.get(op.callee, UseSummary())  # unknown: it calls its caller
        if summary.unknown:
            self.runs_unknown(op)
        given = [self.ops.seen(argument).things for argument in op.args]
        reached = state.memory.reach(NOTHING.union(*given))
        reached = frozenset(thing for thing in reached if thing.kind != "context")
        for type_, things in zip(summary.types, given, strict=False):
            self.is_given_as(type_, things)
        for number, things in enumerate(given):
            inner = state.memory.reach(things) - things
            self.called(op, summary.effects(number), things, state)
            self.called(op, summary.elsewhere, inner, state)
            state.memory.put(things, reached)
        if op.result:
            many = bool(self.jumps)
            found = self.ops.things.make(op, "found", f"{op.callee}()", many=many)
            self.ops.values[op.result] = Seen(reached | {found}, where=op.result)

    def called(self, op: Op, effects: frozenset[str], things: Points, state: PlanState) -> None:
        """What a callee does to some things."""
        buffers = self.ops.things.buffers(things)
        if "host reads" in effects:
            self.note(op, "host reads part", buffers, surely=False)
        if "device reads" in effects:
            self.note(op, "device reads", buffers, surely=False)
        if "host writes" in effects and buffers:
            self.written(op, "device", buffers, state, surely=False)
        if "device writes" in effects and buffers:
            self.written(op, "host", buffers, state, surely=False)

    # ----------------------------------------------------------------------------------- loops

    def loop(self, op: Loop, state: PlanState) -> PlanState | None:
        """Any number of iterations."""
        self.incomplete = True
        outer, surely = self.turn, self.surely
        trips, peeled = trips_of(op, self.ops), len(self.jumps) < DEEPEST
        entry, breaks = state.copy(), list[PlanState]()
        self.entered.setdefault(op, state.memory.copy()).join(state.memory)
        before: PlanState | None = state
        self.turn = first = rest = LoopTurn()
        if peeled:
            start = trips.start if trips else None
            before = self.turn_of(op, state.copy(), breaks, first=start)
        while before is not None:
            self.turn = rest = LoopTurn()
            after = self.turn_of(op, before.copy(), breaks, first=None)
            if after is None or not before.widen(after):
                break
        self.turn, self.surely = outer, surely
        turns = (first, rest) if peeled and before else (rest,)
        if trips and peeled and isinstance(op, HostFor):
            inner = (one for block in blocks(op) for one in walk(block))
            inside = frozenset(name for one in inner for name in names_set(one, self.ops.called))
            self.hoist(op, entry, trips, (first, rest), inside | {*op.sets})
            if before is not None and inside.isdisjoint({op.target.text, *trips.uses}):
                self.fetch_in_last_turn(op, trips, before, rest)
                self.bring_in_first_turn(op, trips, first, rest)
        self.take_over(op, turns)
        # behind the loop, from all paths that lead there
        after = joined([one for one in (None if trips and trips.surely else entry, before) if one])
        if isinstance(op, HostWhile) and after is not None:
            after = self.block(op.test, after)  # its last test
        if after is not None:
            after = self.block(op.otherwise, after)
        return joined([*breaks, *([after] if after else [])])

    def turn_of(
        self, op: Loop, state: PlanState, breaks: list[PlanState], *, first: int | None
    ) -> PlanState | None:
        """The state behind one iteration."""
        self.jumps.append((breaks, []))
        self.surely = True
        if isinstance(op, HostFor):
            self.touch(op, self.ops.bind(op, state.memory, first=first), state)
            end = self.block(op.body, state)
        else:
            tested = self.block(op.test, state)
            end = None if tested is None else self.block(op.body, tested)
        _, continues = self.jumps.pop()
        return joined([*continues, *([end] if end else [])])

    def hoist(
        self,
        op: HostFor,
        entry: PlanState,
        trips: Trips,
        turns: tuple[LoopTurn, LoopTurn],
        changing: frozenset[str],
    ) -> None:
        """Move needs in front of a loop, where `entry` holds; names that are `changing` do not."""
        first, rest = turns
        for key, need in list(first.needs.items()):
            side = key[1]
            if key in rest.needs and not _serves_all(side, need, rest.needs[key]):
                continue
            if not need.surely or not single(need.things):
                continue
            (thing,) = need.things
            is_written = any((side, thing) in turn.written for turn in turns)
            is_name = isinstance(need.where, Reload) and entry.is_name(need.where.var, thing)
            where = need.where if is_name else entry.reference_to(thing, self.ops)
            part = need.part and self._part_of_all(need.part, trips, changing)
            is_placed = where is not None and (part is None) == (need.part is None)
            if is_written or not is_placed or self._changes(need.guards, changing):
                continue
            is_known = not self._changes(need.items, changing)
            moved = replace(
                need,
                surely=self.surely,
                where=where,
                part=part,
                guards=need.guards if trips.surely else (trips.runs, *need.guards),
                bits=entry.bits(side, need.things),
                certain=need.certain and not need.exposed and is_known,
                apart=need.apart | need.met,
                items=need.items if is_known else (),
                gains=need.gains or need.late or part != need.part,
            )
            first.needs.pop(key)
            rest.needs.pop(key, None)
            first.add((op, side, (thing, part)), moved)

    def _part_of_all(
        self, part: BufferPart, trips: Trips, changing: frozenset[str]
    ) -> BufferPart | None:
        """The part that all iterations together read."""
        if not self._changes(part.indices, changing):
            return part
        is_element = part.indices == (Reload(trips.target),) and part.path.endswith(INDEX)
        if not is_element or part.is_view:
            return None
        span = PlainExpression(f"{trips.first}:{trips.stop}", trips.uses)
        return BufferPart(part.path, (span,), is_view=True)

    def _changes(self, references: tuple[Reference, ...], changing: frozenset[str]) -> bool:
        """Whether something may be another thing in another iteration."""
        plain = all(isinstance(one, Literally | Reload | PlainExpression) for one in references)
        return not plain or not changing.isdisjoint(names_in(references, self.ops))

    def fetch_in_last_turn(self, op: HostFor, trips: Trips, end: PlanState, rest: LoopTurn) -> None:
        """In the last iteration fetch all of a buffer, if it is wanted afterwards, not a part."""
        for thing, key in end.looked.items():
            need = rest.needs.get(key)
            if need is None or not need.surely or need.whole or not need.certain:
                continue
            if end.of("host", thing) & WRITTEN and self.wanted(op, thing):
                rest.needs[key] = replace(need, last=trips)
                end.known["host", thing] = CURRENT

    def bring_in_first_turn(
        self, op: HostFor, trips: Trips, first: LoopTurn, rest: LoopTurn
    ) -> None:
        """What only the first iteration needs, and could not leave the loop, is brought there."""
        for key, need in first.needs.items():
            is_once = key not in rest.needs and need.surely and not need.guards
            if is_once and key[0] is not op:
                guard = trips.asked(f"{op.target.text} == {trips.first}", op.target.text)
                first.needs[key] = replace(need, guards=(guard,))

    def take_over(self, op: Op, turns: tuple[LoopTurn, ...]) -> None:
        """Give needs and writes to the loop, or the function, around; this loop may not run.

        What is needed in some iterations only, is there in the others; a guard tells which.
        """
        outer = self.turn
        for turn in turns:
            for key, need in turn.needs.items():
                is_inside = key[0] is not op
                always = not is_inside or all(key in other.needs for other in turns)
                bits = need.bits if always or need.guards else need.bits | CURRENT
                placed = self.placed(need, surely=need.surely and not is_inside)
                outer.add(key, replace(placed, bits=bits))
        for turn in turns:
            outer.written |= turn.written
            outer.named |= turn.named
            outer.unknown |= turn.unknown


def _serves_all(side: Side, need: TransferNeed, later: TransferNeed) -> bool:
    """Whether what is needed in every iteration can come at once.

    So it is with what the host reads, `a.array[i]`, and with what already left a loop inside: it
    is needed in all iterations or in none.
    """
    is_part = side == "host" and need.part is not None
    return need.things == later.things and (is_part or bool(need.guards))

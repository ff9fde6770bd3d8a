"""Walks over a compute function the way it runs, and notes who needs what, where.

Of a loop the first turn is followed apart from the others: what is needed in the first turn
only, is needed once. A name that alternates between two buffers is known in the first turn.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from trilby.analysis.access import Access
from trilby.analysis.alias import NOTHING, Literally, Points, Reference, Seen, Text, Thing
from trilby.analysis.host_ops import Effects, HostOps
from trilby.analysis.host_reading import Touch
from trilby.analysis.plan_effects import UNKNOWN_CALLEE, Effect, Summary
from trilby.analysis.plan_needs import Hoist, Need, Trips, Turn, add, names_set, trips_of
from trilby.analysis.plan_state import CURRENT, PARTLY, STALE, WRITTEN, Key, State
from trilby.analysis.transfer_plan import Side
from trilby.data.dtypes import Type
from trilby.model.op import Block, Op
from trilby.model.ops.control import Break, Continue
from trilby.model.ops.core import Return
from trilby.model.ops.host import Dispatch, HostCall, HostFor, HostIf, HostWhile, HostWith
from trilby.model.value import Value

Parameter: TypeAlias = tuple[Type, Access]
"""What a kernel wants for a buffer parameter, and does with it."""

DEEPEST = 4
"""In loops nested deeper than this the first turn is not told from the others."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known from outside of the function that is walked over."""

    kernels: Mapping[str, tuple[Parameter | None, ...]]
    callees: Mapping[str, Summary]
    wanted: Callable[[Op, Thing], bool]
    """Whether all of a buffer is surely wanted by the host, or the caller, behind an op."""


@dataclass(slots=True)
class Jumps:
    """The states with which a loop is left or begun anew from inside."""

    breaks: list[State] = field(default_factory=list[State])
    continues: list[State] = field(default_factory=list[State])


@dataclass(slots=True)
class Walk:
    """One walk over a function."""

    ops: HostOps
    around: Surroundings
    turn: Turn = field(default_factory=Turn)
    jumps: list[Jumps] = field(default_factory=list[Jumps])
    surely: bool = True
    events: dict[Op, dict[tuple[str, Thing], bool]] = field(
        default_factory=dict[Op, dict[tuple[str, Thing], bool]]
    )
    """What ops do to buffers, and whether surely: `host reads`, `device writes`, …"""
    sites: dict[Key, Points] = field(default_factory=dict[Key, Points])
    """What may be used at each place where something may be needed."""
    ends: dict[Op | None, State] = field(default_factory=dict[Op | None, State])
    """The states at each `return`, and at the end of the function."""

    def function(self) -> None:
        """Walk from the begin to all ends."""
        state = State(self.ops.things)
        end = self.block(self.ops.func.body, state)
        if end is not None:
            self.ends[None] = end

    def block(self, block: Block, state: State) -> State | None:
        """The state behind a block; None where it is always left before its end."""
        now: State | None = state
        for op in block.ops:
            if now is None:
                return None
            now = self.op(op, now)
        return now

    def op(self, op: Op, state: State) -> State | None:
        """The state behind an op."""
        match op:
            case HostIf():
                return self.choice(op, state)
            case HostFor() | HostWhile():
                return self.loop(op, state)
            case HostWith():
                self.touch(op, self.ops.bind(op, state.memory, first=None), state)
                after = self.block(op.body, state)
                if after is not None:
                    self.touch(op, self.ops.bind(op, after.memory, first=None), after)
                return after
            case Break() | Continue():
                return self.jump(op, state)
            case Return():
                return self.leave(op, state)
            case Dispatch():
                self.dispatch(op, state)
            case HostCall():
                self.call(op, state)
            case _:
                self.simple(op, state)
        return state

    def simple(self, op: Op, state: State) -> None:
        """An op that runs no other function of the graph."""
        effects = self.ops.visit(op, state.memory, many=bool(self.jumps))
        self.touch(op, effects, state)
        if effects.leaves:
            self.surely = False
            for jumps in self.jumps[-1:]:
                jumps.breaks.append(state.copy())
                jumps.continues.append(state.copy())

    # ------------------------------------------------------------------------------- accesses

    def note(self, op: Op, what: str, things: Points, *, surely: bool = True) -> None:
        """Note what an op does."""
        events = self.events.setdefault(op, {})
        surely = surely and len(things) == 1
        for thing in things:
            key = (what, thing)
            events[key] = events.get(key, surely) and surely

    def need(self, op: Op, side: Side, which: object, need: Need) -> Key | None:
        """Note that a side needs something, unless it surely has it, or only a launch can tell."""
        key: Key = (op, side, which)
        self.sites[key] = self.sites.get(key, NOTHING) | need.things
        if not need.bits & STALE or need.bits & PARTLY:
            return None
        add(self.turn.needs, key, replace(need, surely=self.surely and need.surely))
        return key

    def written(self, op: Op, side: Side, things: Points, state: State, *, surely: bool) -> None:
        """Something is written that `side` lacks then."""
        state.write(side, things, surely=surely)
        writer = "device" if side == "host" else "host"
        self.note(op, f"{writer} writes", things, surely=surely)
        for thing in things:
            for one in (thing, *self.ops.things.others(thing)):
                self.turn.written.add((side, one))
                if one is not thing:
                    self.note(op, f"{writer} may write", frozenset({one}), surely=False)

    def touch(self, op: Op, effects: Effects, state: State) -> None:
        """The host reads and writes."""
        for touch in effects.touches:
            things = frozenset(t for t in touch.seen.things if t in self.ops.things.types)
            if touch.reads and not effects.launches and things == touch.seen.things:
                self.host_reads(op, touch, state)
            elif touch.reads:
                self.note(op, "host reads part", things, surely=False)
            if touch.writes:
                surely = touch.surely and not touch.handed
                self.written(op, "device", things, state, surely=surely)
                if surely and not touch.reads:
                    self.overwritten(op, touch.seen, state)
            if effects.launches:
                self.written(op, "host", things, state, surely=False)

    def host_reads(self, op: Op, touch: Touch, state: State) -> None:
        """The host looks at one of some buffers."""
        seen = touch.seen
        whole = all(self.ops.is_whole(thing, seen) for thing in seen.things)
        self.note(
            op, "host reads" if whole else "host reads part", seen.things, surely=touch.surely
        )
        if self.is_known_part(seen, state):
            return
        need = Need(
            seen.things,
            state.bits("host", seen.things),
            seen.where,
            seen.part,
            whole,
            touch.surely,
            certain=not touch.handed,
        )
        if seen.where is None:
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

    def is_known_part(self, seen: Seen, state: State) -> bool:
        """Whether the host has a part already."""
        if seen.part is None or len(seen.things) != 1:
            return False
        (thing,) = seen.things
        return (thing, seen.part) in state.parts

    def is_fixed(self, seen: Seen) -> bool:
        """Whether a part is the same whenever it is named."""
        indices = seen.part.indices if seen.part else ()
        return all(isinstance(index, Literally) or _has_no_names(index) for index in indices)

    def overwritten(self, op: Op, seen: Seen, state: State) -> None:
        """The host has all of a buffer that it wrote all of."""
        if len(seen.things) == 1 and all(self.ops.is_whole(thing, seen) for thing in seen.things):
            state.bring("host", seen.things)
            state.device[next(iter(seen.things))] = STALE | WRITTEN
            self.note(op, "host overwrites", seen.things)

    # ------------------------------------------------------------------------------- launches

    def dispatch(self, op: Dispatch, state: State) -> None:
        """A kernel reads and writes its arguments."""
        wanted = self.around.kernels.get(op.kernel, ())
        arguments: list[tuple[int, Value, Points, Access]] = []
        for number, (argument, parameter) in enumerate(zip(op.args, wanted, strict=False)):
            if parameter is None:
                continue
            type_, access = parameter
            things = self.ops.seen(argument).things
            if len(things) == 1:
                self.ops.things.is_buffer(*things, type_)
            arguments.append((number, argument, things, access))
        for number, argument, things, access in arguments:
            if Access.READS in access:
                self.device_reads(op, number, argument, things, state)
        for _, _, things, access in arguments:
            if Access.WRITES in access:
                self.written(op, "host", things, state, surely=True)

    def device_reads(
        self, op: Dispatch, number: int, argument: Value, things: Points, state: State
    ) -> None:
        """A kernel needs what it reads."""
        self.note(op, "device reads", things)
        seen = self.ops.seen(argument)
        where = argument if seen.is_part or seen.where is None else seen.where
        need = Need(things, state.bits("device", things), where)
        if self.need(op, "device", number, need):
            state.bring("device", things)

    def call(self, op: HostCall, state: State) -> None:
        """Another compute function: it has a plan of its own."""
        summary = self.around.callees.get(op.callee, UNKNOWN_CALLEE)
        given = [self.ops.seen(argument) for argument in op.args]
        reached = state.memory.reach(NOTHING.union(*(seen.things for seen in given)))
        for number, seen in enumerate(given):
            effect = summary.effect(number)
            self.called(op, effect, seen.things, state)
            inner = state.memory.reach(seen.things) - seen.things
            self.called(op, summary.elsewhere, inner, state)
            state.memory.put(seen.things, reached)
        if op.result:
            found = self.ops.things.make(op, "found", f"{op.callee}()", many=bool(self.jumps))
            self.ops.values[op.result] = Seen(reached | {found}, where=op.result)

    def called(self, op: Op, effect: Effect, things: Points, state: State) -> None:
        """What a callee does to some things."""
        known = frozenset(thing for thing in things if thing in self.ops.things.types)
        if Effect.HOST_READS in effect:
            self.note(op, "host reads part", known, surely=False)
        if Effect.DEVICE_READS in effect:
            self.note(op, "device reads", known, surely=False)
        if Effect.HOST_WRITES in effect and known:
            self.written(op, "device", known, state, surely=False)
        if Effect.DEVICE_WRITES in effect and known:
            self.written(op, "host", known, state, surely=False)

    # --------------------------------------------------------------------------- control flow

    def choice(self, op: HostIf, state: State) -> State | None:
        """Either of two blocks."""
        surely, self.surely = self.surely, False
        other = self.block(op.otherwise, state.copy())
        then = self.block(op.then, state)
        self.surely = surely and then is not None and other is not None
        if then is None or other is None:
            return then or other
        then.widen(other)
        return then

    def jump(self, op: Break | Continue, state: State) -> None:
        """To the end of the loop, or to its begin."""
        jumps = self.jumps[-1]
        (jumps.breaks if isinstance(op, Break) else jumps.continues).append(state)

    def leave(self, op: Return, state: State) -> None:
        """Out of the function."""
        for value in op.returned:
            self.note(op, "returns", self.ops.seen(value).things)
        if op in self.ends:
            self.ends[op].widen(state)
        else:
            self.ends[op] = state

    def loop(self, op: HostFor | HostWhile, state: State) -> State | None:
        """Any number of turns."""
        outer, self.turn = self.turn, Turn()
        surely = self.surely
        trips = trips_of(op, self.ops) if isinstance(op, HostFor) else None
        entry, breaks = state.copy(), list[State]()
        peeled = len(self.jumps) < DEEPEST
        before: State | None = state
        if peeled:
            start = trips.start if trips else None
            before = self.turn_of(op, state.copy(), breaks, first=start)
        first = rest = self.turn
        while before is not None:
            self.turn = rest = Turn()
            after = self.turn_of(op, before.copy(), breaks, first=None)
            if after is None or not before.widen(after):
                break
        self.surely = surely
        if trips and peeled and isinstance(op, HostFor):
            inside = names_set(op, self.ops)
            self.hoist(Hoist(op, self.ops, entry, trips, (first, rest), inside | {*op.sets}))
            if before is not None and inside.isdisjoint({op.target, *trips.uses}):
                self.fetch_in_last_turn(op, trips, before, rest)
                bring_in_first_turn(op, trips, first, rest)
        self.take_over(op, outer, (first, rest) if peeled and before else (rest,))
        return self.behind(op, trips, entry, before, breaks)

    def behind(
        self,
        op: HostFor | HostWhile,
        trips: Trips | None,
        entry: State,
        ran: State | None,
        breaks: list[State],
    ) -> State | None:
        """The state behind a loop, from all ways that lead there."""
        ways = [] if trips and trips.surely else [entry]
        ways += [ran] if ran is not None else []
        after = merged(ways)
        if isinstance(op, HostWhile) and after is not None:
            after = self.block(op.test, after)  # its last test
        if after is not None:
            after = self.block(op.otherwise, after)
        return merged([*breaks, *([after] if after is not None else [])])

    def turn_of(
        self, op: HostFor | HostWhile, state: State, breaks: list[State], *, first: int | None
    ) -> State | None:
        """The state behind one turn."""
        jumps = Jumps()
        self.jumps.append(jumps)
        self.surely = True
        if isinstance(op, HostFor):
            self.touch(op, self.ops.bind(op, state.memory, first=first), state)
            end = self.block(op.body, state)
        else:
            tested = self.block(op.test, state)
            end = None if tested is None else self.block(op.body, tested)
        self.jumps.pop()
        breaks += jumps.breaks
        return merged([*jumps.continues, *([end] if end is not None else [])])

    def hoist(self, hoist: Hoist) -> None:
        """Move needs out of a loop."""
        first, rest = hoist.turns
        for key, new, need in list(hoist.moved()):
            first.needs.pop(key)
            rest.needs.pop(key, None)
            add(first.needs, new, replace(need, surely=self.surely))

    def fetch_in_last_turn(self, op: HostFor, trips: Trips, end: State, rest: Turn) -> None:
        """In the last turn fetch all of a buffer, if it is wanted afterwards, instead of a part."""
        for thing, key in end.looked.items():
            need = rest.needs.get(key)
            if need is None or not need.surely or need.whole or need.certain is False:
                continue
            if end.host.get(thing, 0) & WRITTEN and self.around.wanted(op, thing):
                rest.needs[key] = replace(need, last=trips)
                end.host[thing] = CURRENT

    def take_over(self, op: Op, outer: Turn, turns: tuple[Turn, ...]) -> None:
        """Give needs and writes to the loop, or the function, around; this loop may not run.

        What is needed in some turns only, is there in the others.
        """
        self.turn = outer
        for turn in turns:
            outer.written |= turn.written
            for key, need in turn.needs.items():
                is_inside = key[0] is not op
                always = not is_inside or all(key in other.needs for other in turns)
                bits = need.bits if always or need.in_first else need.bits | CURRENT
                surely = need.surely and not is_inside
                add(outer.needs, key, replace(need, bits=bits, surely=surely))


def bring_in_first_turn(op: HostFor, trips: Trips, first: Turn, rest: Turn) -> None:
    """What is needed in the first turn only, and could not leave the loop, is brought then."""
    for key, need in first.needs.items():
        if key[0] is not op and key not in rest.needs:
            guard = Text(f"{op.target} == {trips.first}", (op.target, *trips.uses))
            first.needs[key] = replace(need, guards=(guard, *need.guards), in_first=True)


def merged(states: list[State]) -> State | None:
    """The state that holds on any of some ways."""
    if not states:
        return None
    first, *others = states
    total = first.copy()
    for other in others:
        total.widen(other)
    return total


def _has_no_names(index: Reference) -> bool:
    return isinstance(index, Text) and not index.uses

"""Walks over a compute function the way it runs, and notes who needs what, where.

Of a loop the first turn is followed apart from the others: what is needed in the first turn
only, is needed once. A name that alternates between two buffers is known in the first turn.
"""

from dataclasses import field, replace

from trilby.analysis.alias import HostHeap
from trilby.analysis.plan_accesses import Accesses
from trilby.analysis.plan_needs import Hoist, LoopTurn, Trips, add, names_set, trips_of
from trilby.analysis.plan_state import CURRENT, WRITTEN, PlanState
from trilby.dataclass import dataclass
from trilby.model.op import Block, Op
from trilby.model.ops.control import Break, Continue
from trilby.model.ops.core import Return
from trilby.model.ops.host import Dispatch, HostCall, HostFor, HostIf, HostWhile, HostWith

DEEPEST = 4
"""In loops nested deeper than this the first turn is not told from the others."""


@dataclass(slots=True)
class Jumps:
    """The states with which a loop is left or begun anew from inside."""

    breaks: list[PlanState] = field(default_factory=list[PlanState])
    continues: list[PlanState] = field(default_factory=list[PlanState])


@dataclass(slots=True)
class PlanWalk(Accesses):
    """One walk over a function."""

    jumps: list[Jumps] = field(default_factory=list[Jumps])
    entered: dict[Op, HostHeap] = field(default_factory=dict[Op, HostHeap])
    """What variables may hold in front of each loop."""
    ends: dict[Op | None, PlanState] = field(default_factory=dict[Op | None, PlanState])
    """The states at each `return`, and at the end of the function."""

    def function(self) -> None:
        """Walk from the begin to all ends."""
        state = PlanState(self.ops.things)
        end = self.block(self.ops.func.body, state)
        if end is not None:
            self.ends[None] = end

    def block(self, block: Block, state: PlanState) -> PlanState | None:
        """The state behind a block; None where it is always left before its end."""
        now: PlanState | None = state
        for op in block.ops:
            if now is None:
                return None
            now = self.op(op, now)
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

    def simple(self, op: Op, state: PlanState) -> None:
        """An op that runs no other function of the graph."""
        effects = self.ops.visit(op, state.memory, many=self.in_loop)
        self.touch(op, effects, state)
        if effects.unknown:
            self.runs_unknown(op)
        if effects.leaves:
            self.surely = False
            self.barriers.add(op)
            for jumps in self.jumps[-1:]:
                jumps.breaks.append(state.copy())
                jumps.continues.append(state.copy())

    # --------------------------------------------------------------------------- control flow

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

    def jump(self, op: Break | Continue, state: PlanState) -> None:
        """To the end of the loop, or to its begin."""
        jumps = self.jumps[-1]
        (jumps.breaks if isinstance(op, Break) else jumps.continues).append(state)

    def leave(self, op: Return, state: PlanState) -> None:
        """Out of the function."""
        for value in op.returned:
            self.note(op, "returns", self.ops.seen(value).things)
        if op in self.ends:
            self.ends[op].widen(state)
        else:
            self.ends[op] = state

    def loop(self, op: HostFor | HostWhile, state: PlanState) -> PlanState | None:
        """Any number of turns."""
        outer, self.turn = self.turn, LoopTurn()
        surely = self.surely
        trips = trips_of(op, self.ops) if isinstance(op, HostFor) else None
        entry, breaks = state.copy(), list[PlanState]()
        if op in self.entered:
            self.entered[op].join(state.memory)
        else:
            self.entered[op] = state.memory.copy()
        peeled = len(self.jumps) < DEEPEST
        before: PlanState | None = state
        if peeled:
            start = trips.start if trips else None
            before = self.turn_of(op, state.copy(), breaks, first=start)
        first = rest = self.turn
        while before is not None:
            self.turn = rest = LoopTurn()
            after = self.turn_of(op, before.copy(), breaks, first=None)
            if after is None or not before.widen(after):
                break
        self.surely = surely
        if trips and peeled and isinstance(op, HostFor):
            inside = names_set(op, self.ops)
            self.hoist(Hoist(op, self.ops, entry, trips, (first, rest), inside | {*op.sets}))
            if before is not None and inside.isdisjoint({op.target.text, *trips.uses}):
                self.fetch_in_last_turn(op, trips, before, rest)
                bring_in_first_turn(op, trips, first, rest)
        self.take_over(op, outer, (first, rest) if peeled and before else (rest,))
        return self.behind(op, trips, entry, before, breaks)

    def behind(
        self,
        op: HostFor | HostWhile,
        trips: Trips | None,
        entry: PlanState,
        ran: PlanState | None,
        breaks: list[PlanState],
    ) -> PlanState | None:
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
        self,
        op: HostFor | HostWhile,
        state: PlanState,
        breaks: list[PlanState],
        *,
        first: int | None,
    ) -> PlanState | None:
        """The state behind one turn."""
        jumps = Jumps()
        self.jumps.append(jumps)
        self.surely = self.in_loop = True
        if isinstance(op, HostFor):
            self.touch(op, self.ops.bind(op, state.memory, first=first), state)
            end = self.block(op.body, state)
        else:
            tested = self.block(op.test, state)
            end = None if tested is None else self.block(op.body, tested)
        self.jumps.pop()
        self.in_loop = bool(self.jumps)
        breaks += jumps.breaks
        return merged([*jumps.continues, *([end] if end is not None else [])])

    def hoist(self, hoist: Hoist) -> None:
        """Move needs out of a loop."""
        first, rest = hoist.turns
        for key, new, need in list(hoist.moved()):
            first.needs.pop(key)
            rest.needs.pop(key, None)
            add(first.needs, new, replace(need, surely=self.surely))

    def fetch_in_last_turn(self, op: HostFor, trips: Trips, end: PlanState, rest: LoopTurn) -> None:
        """In the last turn fetch all of a buffer, if it is wanted afterwards, instead of a part."""
        for thing, key in end.looked.items():
            need = rest.needs.get(key)
            if need is None or not need.surely or need.whole or need.certain is False:
                continue
            if end.host.get(thing, 0) & WRITTEN and self.around.wanted(op, thing):
                rest.needs[key] = replace(need, last=trips)
                end.host[thing] = CURRENT

    def take_over(self, op: Op, outer: LoopTurn, turns: tuple[LoopTurn, ...]) -> None:
        """Give needs and writes to the loop, or the function, around; this loop may not run.

        What is needed in some turns only, is there in the others.
        """
        self.turn = outer
        for turn in turns:
            for key, need in turn.needs.items():
                is_inside = key[0] is not op
                always = not is_inside or all(key in other.needs for other in turns)
                bits = need.bits if always or need.in_first else need.bits | CURRENT
                placed = self.placed(need, surely=need.surely and not is_inside)
                add(outer.needs, key, replace(placed, bits=bits))
        for turn in turns:
            outer.written |= turn.written
            outer.named |= turn.named
            outer.unknown |= turn.unknown


def bring_in_first_turn(op: HostFor, trips: Trips, first: LoopTurn, rest: LoopTurn) -> None:
    """What is needed in the first turn only, and could not leave the loop, is brought then."""
    for key, need in first.needs.items():
        is_once = key not in rest.needs and need.surely and not need.guards
        if is_once and key[0] is not op:
            guard = trips.asked(f"{op.target.text} == {trips.first}", op.target.text)
            first.needs[key] = replace(need, guards=(guard, *need.guards), in_first=True)


def merged(states: list[PlanState]) -> PlanState | None:
    """The state that holds on any of some ways."""
    if not states:
        return None
    first, *others = states
    total = first.copy()
    for other in others:
        total.widen(other)
    return total

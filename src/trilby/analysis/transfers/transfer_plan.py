"""The transfer plan of a compute function: which copies go before which of its ops.

A copy to the device stands before the launch that reads, a copy to the host before the host's
read; both move in front of loops where one copy serves all iterations. No copy stands where it
may be redundant: each is guarded by what must hold for its use to come, and starts early only
where that is certain. A copy of what is there already does nothing at run time, so a plan need not
know more than "may be stale".

```
plan = plan_transfers(closure)["squares.square_all"]
plan.before == {<dispatch>: (PlannedCopy("device", Reload(<s32>), certain=True),)}
```

`plan_transfers(closure, ahead=True)` keeps only the copies that gain something where the run time
tracks all accesses and copies what is missing anyway. Their use is certain, and either other work
runs before it, or several launches would bring a part each. A copy that gains nothing is kept
before another one that would go first otherwise.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import NamedTuple, TypeAlias

from trilby.analysis.alias import (
    NOTHING,
    PlainExpression,
    Points,
    Reference,
    Reload,
    Thing,
)
from trilby.analysis.bound import names_set
from trilby.analysis.closure import ComputeClosure
from trilby.analysis.host.host_ops import HostOps
from trilby.analysis.transfers.kernel_reads import kernel_buffers
from trilby.analysis.transfers.overlap import takes_time
from trilby.analysis.transfers.transfer_needs import (
    CURRENT,
    Conditions,
    Key,
    Side,
    TransferNeed,
    names_in,
    single,
)
from trilby.analysis.transfers.uses_walk import UseEvents, UseSummary, UsesWalk
from trilby.dataclass import dataclass
from trilby.model.op import Block, Func, Op, blocks, operands, walk
from trilby.model.ops.control import Break, Continue
from trilby.model.ops.core import Return, Var
from trilby.model.ops.host import HostFor, HostIf, HostWhile
from trilby.model.value import Value, VarType

# --------------------------------------------------------------------------------------------- plan


@dataclass(frozen=True, slots=True)
class PlannedCopy:
    """Bring a buffer, or the part of it at `path`, to a side.

    It is `certain` where the use that needs it surely follows, and `sometimes` needed where the
    side has the buffer on some paths. `cc.to_host(a.array, 0)` is
    `PlannedCopy("host", Reload(<a>), "array[]", (Literally(0, i64),))`.
    """

    to: Side
    what: Reference
    path: str = ""
    indices: tuple[Reference, ...] = ()
    certain: bool = False
    sometimes: bool = False


@dataclass(frozen=True, slots=True)
class When:
    """Copies under a condition: `When(PlainExpression("n > 0", ("n",)), (copy,))`."""

    condition: PlainExpression
    then: "tuple[Action, ...]"
    otherwise: "tuple[Action, ...]" = ()


Action: TypeAlias = PlannedCopy | When


@dataclass(frozen=True, slots=True)
class TransferPlan:
    """The copies that are put before the ops of a function.

    `writers` are the ops in which host or device may write: a copy must not move across them. For
    `cc.dispatch(a.length, double, a)`: `before == {<dispatch>: (PlannedCopy("device", …),)}`.
    """

    func: Func
    before: Mapping[Op, tuple[Action, ...]] = field(default_factory=dict[Op, tuple[Action, ...]])
    writers: frozenset[Op] = frozenset()


def plan_transfers(closure: ComputeClosure, *, ahead: bool = False) -> dict[str, TransferPlan]:
    """The plan of every compute function of a closure, by its symbol."""
    kernels = {
        symbol: kernel_buffers(kernel, closure.footprints[symbol].touches)
        for symbol, kernel in closure.graph.kernels.items()
    }
    callees: dict[str, UseSummary] = {}
    plans: dict[str, TransferPlan] = {}
    for func in closure.graph.functions:  # callees come first
        ops, places = HostOps.of(func), _places(func)
        uses = UsesWalk(ops, kernels, callees, lambda _op, _thing: False).run()
        if uses.incomplete:  # what comes later matters for what is earlier
            parameters = frozenset(ops.things.known[param] for param in func.params)
            wanted = _wanted_behind(uses.events, places, parameters)
            uses = UsesWalk(ops, kernels, callees, wanted).run()
        callees[func.name] = UseSummary.of(func, uses)
        plans[func.name] = _Placing.of(uses, places, ahead=ahead).plan()
    return plans


class _OpPlace(NamedTuple):
    """Where an op stands: `block.ops[number]`, the op that has the block, and if a loop does.

    The third op of a loop's body, with which a statement begins:
    `_OpPlace(<body>, 2, <for>, in_loop=True, begins=True)`.
    """

    block: Block
    number: int
    around: Op | None
    in_loop: bool
    begins: bool


def _places(func: Func) -> dict[Op, _OpPlace]:
    found: dict[Op, _OpPlace] = {}
    rest: list[tuple[Block, Op | None, bool]] = [(func.body, None, False)]
    while rest:
        block, around, in_loop = rest.pop()
        inside = _inside_statements(block)
        for number, op in enumerate(block.ops):
            found[op] = _OpPlace(block, number, around, in_loop, number not in inside)
            is_loop = in_loop or isinstance(op, HostFor | HostWhile)
            rest += [(inner, op, is_loop) for inner in blocks(op)]
    return found


def _inside_statements(block: Block) -> set[int]:
    """The places of a block where no statement begins: more than variables comes from before.

    To declare a variable is no statement.
    """
    made: dict[Value, int] = {}
    inside: set[int] = set()
    for number, op in enumerate(block.ops):
        for used in (value for one in _inside(op) for value in operands(one)):
            if used in made:
                inside.update(range(made[used] + 1, number + 1))
        if isinstance(op, Var) and not op.init:
            inside.add(number)
        elif op.result and not isinstance(op, Var):
            made[op.result] = number
    return inside


def _inside(op: Op) -> list[Op]:
    """An op, and all ops in its blocks."""
    return [op, *(inner for block in blocks(op) for inner in walk(block))]


# ------------------------------------------------------------------------------- wanted by the host


def _wanted_behind(
    events: UseEvents, places: Mapping[Op, _OpPlace], parameters: Points
) -> Callable[[Op, Thing], bool]:
    """How to ask whether all of a buffer is surely wanted by host or caller behind a loop.

    The answer is yes only if it is yes on every path: behind a loop that is followed by
    `return a.array.tolist()`, or by the end of a function with a parameter `a`, `a` is wanted.
    """

    def behind(op: Op, thing: Thing) -> bool:
        """Whether a buffer is wanted behind an op, before the device writes to it again."""
        at: Op | None = op
        while at is not None:
            block, number, around, *_ = places[at]
            answer = in_ops(block.ops[number + 1 :], thing)
            if answer is not None:
                return answer
            if isinstance(around, HostFor | HostWhile) and writes(around, thing):
                return False  # in the next iteration
            at = around
        return thing in parameters

    def in_ops(ops: Iterable[Op], thing: Thing) -> bool | None:
        """What ops decide, or None where it is still open."""
        answers = (in_op(op, thing) for op in ops)
        return next((answer for answer in answers if answer is not None), None)

    def in_op(op: Op, thing: Thing) -> bool | None:
        done = events.get(op, {})
        if isinstance(op, Return):
            return thing in parameters or ("returns", thing) in done
        if isinstance(op, Break | Continue):
            return False  # it could be followed, and is not worth it
        if isinstance(op, HostIf):
            answers = {in_ops(block.ops, thing) for block in blocks(op)}
            if len(answers) == 1 and None not in answers:
                return answers.pop()
        elif not any(blocks(op)) and done.get(("host reads", thing)):
            return True
        return False if writes(op, thing) or ("host overwrites", thing) in done else None

    def writes(op: Op, thing: Thing) -> bool:
        """Whether the device may write to a buffer in an op, or inside of it."""
        keys = [("device writes", thing), ("device may write", thing)]
        return any(key in events.get(one, {}) for one in _inside(op) for key in keys)

    return behind


# ------------------------------------------------------------------------------------- early starts
# A copy to the device starts behind the last op that may write to the buffer, a copy to the host
# behind the last launch that may; both at the begin of their block if there is none. A copy stays
# behind whatever may keep its use from coming, and behind code that is not known, which may change
# any buffer. Two parameters may be one buffer: where another one is written in between, the copy
# starts only if they are apart when the function runs.

MOST_APART = 3
"""A copy does not start earlier if its buffer must be apart from more than these."""

_CAUSES = {"host may write": "host writes", "device may write": "device writes"}
"""What is done to the buffer by whose name another is written, perhaps."""
_WRITES = frozenset({*_CAUSES, *_CAUSES.values(), "host overwrites"})
_STOPS: dict[Side, frozenset[str]] = {"device": _WRITES | {"device reads"}, "host": _WRITES}
"""What is done to a buffer before a copy of it to a side may start."""


class _Start(NamedTuple):
    """Actions before `op`, the need that they are for, and whether they gain time there.

    A copy of `b` for the second of two launches: `_Start((<second>, "device", 0), <first>,
    gains=True, actions=(PlannedCopy("device", Reload(<b>), certain=True),))`.
    """

    key: Key
    op: Op
    gains: bool
    actions: tuple[Action, ...]


@dataclass(slots=True)
class _Placing:
    """The making of a plan from the needs of a walk; with `ahead`, only of copies that gain time.

    The need of `b` for the second of two launches becomes a copy before the first one, if that
    writes another buffer.
    """

    uses: UsesWalk
    ahead: bool
    places: dict[Op, _OpPlace]
    shared: frozenset[Thing | None]
    """Buffers that several launches may read."""
    declared: frozenset[Op]
    """The ops that declare parameters as variables."""
    lasting: dict[Thing, str]
    """The names of the parameters that hold what was given, wherever they do."""
    starts: list[_Start] = field(default_factory=list[_Start])

    @classmethod
    def of(cls, uses: UsesWalk, places: dict[Op, _OpPlace], *, ahead: bool) -> "_Placing":
        """Make ready for a function."""
        ops = uses.ops
        params = {
            op: ops.things.known[op.init[0]]
            for op in ops.func.body.ops
            if isinstance(op, Var) and op.init and op.init[0] in ops.func.params
        }
        changing = {name for op in places if op not in params for name in names_set(op, ops.called)}
        lasting = {
            thing: op.name
            for op, thing in params.items()
            if op.name in ops.names and op.name not in changing
        }
        reads = Counter[Thing | None]()
        for op, done in uses.events.items():
            read = (thing for what, thing in done if what == "device reads")
            reads.update(dict.fromkeys(read, 2 if places[op].in_loop else 1))
        shared = frozenset(thing for thing, number in reads.items() if number > 1)
        return cls(uses, ahead, places, shared, frozenset(params), lasting)

    def plan(self) -> TransferPlan:
        """The whole plan."""
        func, uses = self.uses.ops.func, self.uses
        for key, need in uses.turn.needs.items():
            self._place(key, need)
        before: dict[Op, tuple[Action, ...]] = {}
        for one in self._gaining() if self.ahead else self.starts:
            before[one.op] = (*before.get(one.op, ()), *one.actions)
        writers = (op for op, done in uses.events.items() if any("write" in one for one, _ in done))
        return TransferPlan(func, before, frozenset(writers))

    def _gaining(self) -> Iterator[_Start]:
        """The copies that gain time, and those that would otherwise come after one of them."""
        gaining = [(one.key[1], self.places[one.op]) for one in self.starts if one.gains]
        for one in self.starts:
            block, start, *_ = self.places[one.op]
            use = self.places[one.key[0]].number
            if one.gains or any(
                side == one.key[1] and place.block is block and start <= place.number <= use
                for side, place in gaining
            ):
                yield one

    # ---------------------------------------------------------------------------------- copies

    def _meant(self, key: Key, need: TransferNeed) -> tuple[Thing | None, Reference | None]:
        """The one buffer that can be meant at the place of a need, and its name there.

        In front of a loop, a parameter goes by its own name if a variable may be another one there.
        """
        ops, where = self.uses.ops, need.where
        things = need.things | self.uses.sites.get(key, NOTHING)
        if key[0] in self.uses.entered:
            held = self.uses.entered[key[0]].held
            named = things | held[where.var].things if isinstance(where, Reload) else things
            params = [p for p in ops.func.params if frozenset({ops.things.known[p]}) == need.things]
            if params and not single(named):
                where = params[0]
            else:
                things = named
        return next(iter(things)) if single(things) else None, where

    def _place(self, key: Key, need: TransferNeed) -> None:
        """Put the copy for a need where it starts.

        Where two names may be one buffer, another copy starts earlier, in case they are not; but
        for what may be there already then.
        """
        (op, side, _), (thing, where) = key, self._meant(key, need)
        if where is None or (self.ahead and not need.certain):
            return
        conditions = (*need.guards, *need.items)
        gains = need.gains or need.last is not None or (side == "device" and thing in self.shared)
        if thing and need.certain:
            if thing in self.lasting:
                where = Reload(self.uses.ops.names[self.lasting[thing]])
            surely, if_apart, apart, is_before_work = self._starts(key, need, where, thing)
            are_apart = self._are_apart(thing, where, apart)
            if are_apart and not need.bits & CURRENT:
                copies = self._copies(side, need, where, sometimes=False)
                self._start(key, if_apart, copies, (*conditions, are_apart), gains=True)
            if not need.apart:
                op, gains = surely, gains or is_before_work
        if self.ahead and need.apart:
            return
        need = replace(need, certain=need.certain and not need.apart)
        sometimes = thing is not None and bool(need.bits & CURRENT) and need.last is None
        copies = self._copies(side, need, where, sometimes=sometimes)
        self._start(key, op, copies, conditions, gains=gains)

    def _start(
        self,
        key: Key,
        op: Op,
        actions: tuple[Action, ...],
        conditions: Conditions,
        *,
        gains: bool,
    ) -> None:
        for condition in reversed(conditions):
            actions = (When(condition, actions),)
        self.starts.append(_Start(key, op, gains, actions))

    def _copies(
        self, side: Side, need: TransferNeed, where: Reference, *, sometimes: bool
    ) -> tuple[Action, ...]:
        whole = PlannedCopy(side, where, certain=need.certain, sometimes=sometimes)
        if need.part is None or need.whole:
            return (whole,)
        part = self._if_numbers(
            replace(
                whole,
                what=self._typed(where, need),
                path=need.part.path,
                indices=need.part.indices,
            )
        )
        last = self._is_last(need)
        return (When(last, (whole,), part),) if last else part

    def _if_numbers(self, part: PlannedCopy) -> tuple[Action, ...]:
        """A copy of a part; one that asks first whether its indices are integers of Python."""
        ops = self.uses.ops
        variables = [index.var for index in part.indices if isinstance(index, Reload)]
        asked = [ops.called[var] for var in variables if ops.sorts.of(var) != "number"]
        if asked and not ops.names.keys().isdisjoint({"type", "int"}):
            return ()
        actions: tuple[Action, ...] = (part,)
        for name in dict.fromkeys(asked):
            actions = (When(PlainExpression(f"type({name}) is int", (name,)), actions),)
        return actions

    def _is_last(self, need: TransferNeed) -> PlainExpression | None:
        """The condition for the last iteration, if that fetches everything."""
        if need.last is None:
            return None
        target = self.uses.ops.called[need.last.target]
        return need.last.asked(f"{target} + 1 == {need.last.stop}", target)

    def _typed(self, where: Reference, need: TransferNeed) -> Reference:
        """A buffer below which a path leads somewhere: of what type it is must be said."""
        things = self.uses.ops.things
        known = min(things.buffers(need.things), key=lambda thing: thing.number)
        type_ = things.types[known]
        if isinstance(where, Reload) and where.var.type != VarType(type_):
            name = self.uses.ops.called[where.var]
            return PlainExpression(name, (name,), type_)
        return replace(where, type=type_) if isinstance(where, PlainExpression) else where

    # ---------------------------------------------------------------------------------- starts

    def _starts(
        self, key: Key, need: TransferNeed, where: Reference, thing: Thing
    ) -> tuple[Op, Op, Points, bool]:
        """The op before which a copy may start anyway, and the one if its buffer is apart.

        With them the others from which it must be apart, and whether work runs behind the first op.
        """
        indices = need.part.indices if need.part else ()
        used = [where, *indices, *need.guards, *need.items, self._is_last(need)]
        surely = found = key[0]
        apart = asked = need.apart
        works = is_before_work = False
        if not all(map(self._is_lasting, used)):
            return surely, found, asked, is_before_work
        names = names_in(used, self.uses.ops)
        block, number, *_ = self.places[surely]
        for at in range(number - 1, -1, -1):
            met = self._met(block.ops[at], key[1], thing, names)
            if met is None or len(apart | met) > MOST_APART:
                break
            apart |= met
            works = works or any(map(takes_time, _inside(block.ops[at])))
            if self.places[block.ops[at]].begins:
                found, asked = block.ops[at], apart
                if apart == need.apart:
                    surely, is_before_work = found, works
        return surely, found, asked, is_before_work

    def _is_lasting(self, reference: Reference | None) -> bool:
        """Whether a reference means the same wherever its names do."""
        ops = self.uses.ops
        match reference:
            case Reload(var):
                return var in ops.called
            case PlainExpression(code, uses):
                return "[" not in code and ops.names.keys() >= set(uses)
            case Value():
                return reference in ops.func.params
            case _:
                return True

    def _met(self, op: Op, side: Side, thing: Thing, names: frozenset[str]) -> Points | None:
        """From what a buffer must be apart for a copy to start before an op; None: it cannot."""
        if op in self.declared:
            return None
        found = NOTHING
        for one in _inside(op):
            is_barrier = one in self.uses.barriers or isinstance(one, Return | Break | Continue)
            met = None if is_barrier else self._written(one, side, thing)
            if met is None or not names.isdisjoint(names_set(one, self.uses.ops.called)):
                return None
            found |= met
        return found

    def _written(self, op: Op, side: Side, thing: Thing) -> Points | None:
        """What an op writes that may be a buffer under another name; None where it is the same."""
        done = self.uses.events.get(op)
        if not done:
            return NOTHING
        if any(other.kind == "found" and what in _WRITES for what, other in done):
            return None  # it may be any buffer
        found = NOTHING
        for stop in [what for what, touched in done if touched is thing and what in _STOPS[side]]:
            others = frozenset(self.uses.ops.things.others(thing))
            causes = others & {other for what, other in done if what == _CAUSES.get(stop)}
            if not causes or not causes <= self.lasting.keys():
                return None
            found |= causes
        return found

    # ----------------------------------------------------------------------------------- names

    def _are_apart(self, thing: Thing, where: Reference, others: Points) -> PlainExpression | None:
        """How to ask whether a buffer is none of some others; None if nobody has to, or can."""
        ops, lasting = self.uses.ops, self.lasting
        context = lasting.get(ops.things.known[ops.func.params[0]])
        name = ops.called.get(where.var) if isinstance(where, Reload) else lasting.get(thing)
        if not others or not context or not name or not others <= lasting.keys():
            return None
        asked = [lasting[other] for other in sorted(others, key=lambda one: one.number)]
        code = f"{context}.apart({', '.join((name, *asked))})"
        return PlainExpression(code, tuple(dict.fromkeys((context, name, *asked))))

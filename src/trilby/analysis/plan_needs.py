"""Needs: a side is about to use a buffer that it may not have. And how they leave loops.

A need stands where its use is, so a copy there is never in vain. It moves in front of a loop
where one copy serves all turns: the other side does not write inside, the buffer surely is one
that has a name there, and the use surely comes in the first turn.
"""

import ast
from collections.abc import Iterator
from dataclasses import field, replace
from typing import TypeAlias

from trilby.analysis.alias import (
    NOTHING,
    BufferPart,
    Literally,
    PlainExpression,
    Points,
    Reference,
    Reload,
    Thing,
)
from trilby.analysis.host.host_ops import HostOps
from trilby.analysis.host.trees import expressions_in, number_of, plain_names, sign_of, source_of
from trilby.analysis.host.value_sorts import is_not_zero
from trilby.analysis.plan_state import Key, PlanState, single
from trilby.analysis.transfer_plan import Side
from trilby.data.schema import INDEX
from trilby.dataclass import dataclass
from trilby.model.host_code import Operand
from trilby.model.op import Op, walk
from trilby.model.ops.core import Var, VarStore
from trilby.model.ops.host import HostFor, HostRun, HostWith
from trilby.model.value import Value


@dataclass(frozen=True, slots=True)
class Trips:
    """A loop over `range(start, stop)`: its variable, its bounds, and whether it surely runs.

    The bounds are expressions of the names in `counted`, or lengths. They can be written once more
    where all of those are integers, which is asked at run time.
    """

    target: Value
    start: int | None
    first: str
    stop: str
    uses: tuple[str, ...]
    surely: bool
    counted: tuple[str, ...]

    @property
    def runs(self) -> PlainExpression:
        """True where there is at least one turn."""
        return self.asked(f"{self.stop} > {self.first}")

    def asked(self, condition: str, *uses: str) -> PlainExpression:
        """A condition of the bounds; false where they are no integers of Python."""
        checks = [f"type({name}) is int" for name in self.counted]
        return PlainExpression(
            " and ".join([*checks, condition]), tuple(dict.fromkeys((*uses, *self.uses)))
        )


@dataclass(frozen=True, slots=True)
class TransferNeed:
    """A side needs one of some things, or a part of it.

    `bits` is what is known of the side there. `surely` is true where the use happens whenever
    the block around it runs, `certain` where the use surely is one. `guards` must be true for
    it to come at all, `in_first` is true where the last of them is that of a first turn. `last`
    is set where the last turn of a loop fetches everything.

    Before it in the same turn, code runs that is not known if it is `exposed`, and `met` are
    written, which may be the same buffer under another name. In front of the loop it is certain
    only for what is `apart` from those. It comes where all of `items` are true: the launch that
    it is for has work items.
    """

    things: Points
    bits: int
    where: Reference | None
    part: BufferPart | None = None
    whole: bool = True
    surely: bool = True
    certain: bool = True
    guards: tuple[PlainExpression, ...] = ()
    in_first: bool = False
    last: Trips | None = None
    exposed: bool = False
    met: Points = NOTHING
    apart: Points = NOTHING
    items: tuple[PlainExpression, ...] = ()

    def joined(self, other: "TransferNeed") -> "TransferNeed":
        """The same need on two ways."""
        return replace(
            self,
            things=self.things | other.things,
            bits=self.bits | other.bits,
            surely=self.surely and other.surely,
            certain=self.certain and other.certain,
            guards=self.guards if self.guards == other.guards else (),
            in_first=self.in_first and other.in_first,
            last=self.last or other.last,
            exposed=self.exposed or other.exposed,
            met=self.met | other.met,
            apart=self.apart | other.apart,
        )


Needs: TypeAlias = dict[Key, TransferNeed]


def add(needs: Needs, key: Key, need: TransferNeed) -> None:
    """Note a need, besides what is noted there."""
    needs[key] = needs[key].joined(need) if key in needs else need


@dataclass(slots=True)
class LoopTurn:
    """What happens in turns of a loop: needs, and who writes to what."""

    needs: Needs = field(default_factory=dict[Key, TransferNeed])
    written: set[tuple[Side, Thing]] = field(default_factory=set[tuple[Side, Thing]])
    """The side that lacks it afterwards, and what was written or may be the same."""
    named: set[Thing] = field(default_factory=set[Thing])
    """What was written by its own name."""
    unknown: bool = False
    """Whether code ran that is not known."""


def trips_of(op: HostFor, ops: HostOps) -> Trips | None:
    """The turns of a loop over `range`, if its bounds can be told in front of it."""
    args = ops.range_of(op)
    target = op.target.text
    if args is None or target not in ops.names or len(args) not in {1, 2}:
        return None
    is_count = ops.sorts.of(ops.names[target]) == "number"
    if not is_count or not ops.names.keys().isdisjoint({"type", "int"}):
        return None
    maker = ops.makers[op.iterable]
    bounds = [_bound(arg, maker, ops) for arg in args]
    known = [bound for bound in bounds if bound is not None]
    if len(known) < len(bounds):
        return None
    numbers = [number_of(arg) for arg in args]
    first, start = (known[0].code, numbers[0]) if len(args) == 2 else ("0", 0)
    stop = numbers[-1]
    uses = tuple(dict.fromkeys(name for bound in known for name in bound.uses))
    surely = start is not None and stop is not None and stop > start
    counted = dict.fromkeys(name for arg in args for name in plain_names(arg) or ())
    return Trips(ops.names[target], start, first, known[-1].code, uses, surely, tuple(counted))


def _bound(arg: ast.expr, maker: Op, ops: HostOps) -> PlainExpression | None:
    if isinstance(arg, Operand):
        found = ops.reference(getattr(maker, "inputs")[arg.number])  # noqa: B009 -- a host value
        return found if isinstance(found, PlainExpression) else None
    if plain_names(arg) is None or not _is_arithmetic(arg):
        return None
    code = source_of(arg)
    plain = code if code.isidentifier() or code.isdecimal() else f"({code})"
    uses = getattr(maker, "uses")  # noqa: B009 -- a host value
    return PlainExpression(plain, tuple(name for name in uses if name in ops.names))


def _is_arithmetic(node: ast.expr) -> bool:
    """Whether an expression is a number without any effects if all of its names are integers."""
    match node:
        case ast.Name():
            return True
        case ast.Constant():
            return number_of(node) is not None
        case ast.IfExp():
            return all(map(_is_arithmetic, expressions_in(node)))
        case _:
            sign, parts = sign_of(node), expressions_in(node)
            divides = sign in {"//", "%"} and not is_not_zero(parts[-1])
            return bool(sign) and not divides and all(map(_is_arithmetic, parts))


def names_set(op: Op, ops: HostOps) -> frozenset[str]:
    """The names of the variables that are set inside of a loop."""
    return frozenset(_names_set(op, ops.called))


def _names_set(op: Op, by_var: dict[Value, str]) -> Iterator[str]:
    inner: list[Op] = []
    for name in ("test", "body", "otherwise"):
        block = getattr(op, name, None)
        inner += walk(block) if block else ()
    for one in inner:
        match one:
            case VarStore(var) if var in by_var:
                yield by_var[var]
            case Var(name=name):
                yield name
            case HostRun() | HostFor() | HostWith():
                yield from one.sets
            case _:
                pass


@dataclass(frozen=True, slots=True)
class Hoist:
    """Moves needs in front of one loop."""

    op: HostFor
    ops: HostOps
    entry: PlanState
    trips: Trips
    turns: tuple[LoopTurn, LoopTurn]
    changing: frozenset[str]

    def moved(self) -> Iterator[tuple[Key, Key, TransferNeed]]:
        """The needs that move: their keys in the loop, and what they become before it."""
        first, rest = self.turns
        for key, need in first.needs.items():
            if key in rest.needs and not self._serves_all(key, need, rest.needs[key]):
                continue
            found = self._moved(key[1], need)
            if found:
                (thing,) = need.things
                yield key, (self.op, key[1], (thing, found.part)), found

    def _serves_all(self, key: Key, need: TransferNeed, later: TransferNeed) -> bool:
        """Whether what is needed in every turn can come at once.

        So it is with what the host looks at, `a.array[i]`, and with what already left a loop
        inside: it is needed in all turns or in none.
        """
        is_part = key[1] == "host" and need.part is not None
        return need.things == later.things and (is_part or bool(need.guards))

    def _moved(self, side: Side, need: TransferNeed) -> TransferNeed | None:
        if not need.surely or not single(need.things) or self._is_written(side, need.things):
            return None
        (thing,) = need.things
        where = self._named(thing, need.where)
        part = need.part and self._part(need.part)
        if where is None or (need.part is not None and part is None):
            return None
        if any(self._changes(guard) for guard in need.guards):
            return None
        guards = need.guards if self.trips.surely else (self.trips.runs, *need.guards)
        bits = self.entry.bits(side, need.things)
        is_known = not any(map(self._changes, need.items))
        return replace(
            need,
            where=where,
            part=part,
            guards=guards,
            bits=bits,
            certain=need.certain and not need.exposed and is_known,
            apart=need.apart | need.met,
            items=need.items if is_known else (),
        )

    def _is_written(self, side: Side, things: Points) -> bool:
        return any((side, thing) in turn.written for turn in self.turns for thing in things)

    def _named(self, thing: Thing, where: Reference | None) -> Reference | None:
        """How a buffer is called in front of the loop."""
        if isinstance(where, Reload) and self.entry.is_name(where.var, thing):
            return where
        return reference_to(thing, self.entry, self.ops)

    def _part(self, part: BufferPart) -> BufferPart | None:
        """The part that all turns together look at."""
        if not any(self._changes(index) for index in part.indices):
            return part
        is_element = part.indices == (Reload(self.trips.target),) and part.path.endswith(INDEX)
        if not is_element or part.is_view:
            return None
        span = PlainExpression(f"{self.trips.first}:{self.trips.stop}", self.trips.uses)
        return BufferPart(part.path, (span,), is_view=True)

    def _changes(self, reference: Reference) -> bool:
        """Whether something may be another thing in another turn."""
        match reference:
            case Literally():
                return False
            case Reload(var):
                return self.ops.called.get(var) in self.changing
            case PlainExpression(uses=uses):
                return not self.changing.isdisjoint(uses)
            case _:
                return True


def reference_to(thing: Thing, state: PlanState, ops: HostOps) -> Reference | None:
    """How a buffer is called at some point: by a variable, or as the parameter it is."""
    var = state.name_of(thing)
    if var is not None:
        return Reload(var)
    params = [param for param in ops.func.params if ops.things.known.get(param) is thing]
    return params[0] if params else None

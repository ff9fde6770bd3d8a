"""What host and device may lack at one point of a compute function, and the needs that follow.

A need says that a side is about to use a buffer that it may lack. It arises where the use is, and
holds what must be known to copy earlier: on which conditions the use comes, how the buffer is
named, what runs before it in the same iteration of the loop around.

```
for i in range(n):                    # Trips: i from 0 to n
    cc.dispatch(a.length, double, a)  # TransferNeed: the device needs `a`, which is STALE there
    print(a.array[0])                 # the host needs `array[0]` of `a`, which the kernel wrote
```
"""

import ast
from collections.abc import Iterable
from dataclasses import field, replace
from typing import Literal, TypeAlias

from trilby.analysis.alias import (
    NOTHING,
    BufferPart,
    HostHeap,
    PlainExpression,
    Points,
    Reference,
    Reload,
    Thing,
    Things,
)
from trilby.analysis.host.host_ops import HostOps
from trilby.analysis.host.known_calls import OURS
from trilby.analysis.host.trees import (
    arguments,
    expressions_in,
    number_of,
    plain_names,
    sign_of,
    source_of,
)
from trilby.dataclass import dataclass
from trilby.model.host_code import Operand
from trilby.model.op import Op
from trilby.model.ops.core import VarLoad
from trilby.model.ops.host import HostFor, HostValue
from trilby.model.ops.memory import Extent, Load
from trilby.model.value import Value

Side: TypeAlias = Literal["device", "host"]
"""Where data is copied to."""

STALE = 1
"""The side may lack content: the other side wrote, or nobody knows."""
CURRENT = 2
"""On some path here, the side surely has everything."""
WRITTEN = 4
"""The other side surely wrote in this function, on some path here."""

Key: TypeAlias = tuple[Op, Side, object]
"""A need: the op before which it arises, the side, and which of several needs there it is."""
Conditions: TypeAlias = tuple[PlainExpression, ...]


def single(things: Points) -> bool:
    """Whether this is surely one buffer."""
    return len(things) == 1 and not any(thing.many for thing in things)


# -------------------------------------------------------------------------------------------- state


@dataclass(slots=True)
class PlanState:
    """Which buffers each side may lack at one point, and what variables hold there.

    After the host wrote to parameter `a`: `known == {("device", a): STALE | WRITTEN}`.
    """

    things: Things
    memory: HostHeap = field(default_factory=HostHeap)
    known: dict[tuple[Side, Thing], int] = field(default_factory=dict[tuple[Side, Thing], int])
    """Bits, for each buffer whose state is no longer that of the begin."""
    parts: frozenset[tuple[Thing, BufferPart]] = frozenset()
    """Parts of buffers that the host has although the rest may be stale."""
    looked: dict[Thing, Key] = field(default_factory=dict[Thing, Key])
    """The last read of a part of each buffer by the host since the device wrote to it."""

    def copy(self) -> "PlanState":
        """The same, to be changed apart."""
        return PlanState(
            self.things, self.memory.copy(), dict(self.known), self.parts, dict(self.looked)
        )

    def widen(self, other: "PlanState") -> bool:
        """Let this hold on either of two paths; true where that was news."""
        news = self.memory.join(other.memory)
        if self.known != other.known:
            for side, thing in {**self.known, **other.known}:
                old, new = self.of(side, thing), other.of(side, thing)
                news |= old | new != old
                self.known[side, thing] = old | new
        kept = {thing: key for thing, key in self.looked.items() if other.looked.get(thing) == key}
        news |= not self.parts <= other.parts or len(kept) < len(self.looked)
        self.parts &= other.parts
        self.looked = kept
        return news

    def of(self, side: Side, thing: Thing) -> int:
        """The bits of one buffer; a fresh one is zeros everywhere, others are not known."""
        bits = self.known.get((side, thing))
        if bits is None:
            is_current = thing.kind == "created" or (thing.kind == "filled" and side == "host")
            return CURRENT if is_current else STALE
        return bits

    def bits(self, side: Side, things: Points) -> int:
        """The bits of any of some buffers."""
        total = 0
        for thing in things:
            total |= self.of(side, thing)
        return total

    def bring(self, side: Side, things: Points) -> None:
        """Copy one of some buffers to a side."""
        only = single(things)
        for thing in things:
            self.known[side, thing] = CURRENT if only else self.of(side, thing) | CURRENT

    def write(self, side: Side, things: Points, *, surely: bool) -> None:
        """The other side writes to one of some buffers; `side` lacks that now."""
        only = surely and single(things)
        touched = set(things)
        for thing in things:
            old = 0 if only else self.of(side, thing)
            self.known[side, thing] = old | STALE | WRITTEN
            for other in self.things.others(thing):
                self.known[side, other] = self.of(side, other) | STALE
                touched.add(other)
        if side == "device":
            return
        self.parts = frozenset(part for part in self.parts if part[0] not in touched)
        for thing in touched & self.looked.keys():
            del self.looked[thing]
        for thing in things if only else ():  # only a launch can tell what the device still lacks
            self.known["device", thing] = self.of("device", thing) & ~STALE

    def is_name(self, var: Value, thing: Thing) -> bool:
        """Whether a variable surely holds a buffer."""
        seen = self.memory.held.get(var)
        if seen is None or seen.is_part or var in self.memory.unsure:
            return False
        return len(seen.things) == 1 and thing in seen.things

    def reference_to(self, thing: Thing, ops: HostOps) -> Reference | None:
        """How a buffer is named here: by a variable, or as the parameter that it is."""
        for var in self.memory.held:
            if self.is_name(var, thing):
                return Reload(var)
        return next((p for p in ops.func.params if ops.things.known.get(p) is thing), None)


def joined(states: list[PlanState]) -> PlanState | None:
    """The state that holds on any of some paths; None if there is no path."""
    if not states:
        return None
    total = states[0].copy()
    for other in states[1:]:
        total.widen(other)
    return total


# -------------------------------------------------------------------------------------------- needs


@dataclass(frozen=True, slots=True)
class TransferNeed:
    """A side needs one of some buffers, or a part of it.

    `print(a.array[0])` after a launch that writes `a`: `TransferNeed({a}, STALE | WRITTEN,
    Reload(<a>), BufferPart("array[]", (0,)), whole=False)`.

    `bits` is what is known of the side there. `surely` is true where the use happens whenever
    the block around it runs, `certain` where the use surely is one. `guards` must be true for
    it to come at all, and `items` for the launch that it is for to have work items. `last` is set
    where the last iteration of a loop fetches everything.

    Before it in the same iteration, code runs that is not known if it is `exposed`, and code that
    takes time if it is `late`; `met` are written, which may be the same buffer under another name.
    In front of the loop it is certain only for what is `apart` from those, and `gains` if it was
    late in the loop.
    """

    things: Points
    bits: int
    where: Reference | None
    part: BufferPart | None = None
    whole: bool = True
    surely: bool = True
    certain: bool = True
    guards: Conditions = ()
    last: "Trips | None" = None
    items: Conditions = ()
    exposed: bool = False
    late: bool = False
    met: Points = NOTHING
    apart: Points = NOTHING
    gains: bool = False

    def joined(self, other: "TransferNeed") -> "TransferNeed":
        """The same need on two paths."""
        return replace(
            self,
            things=self.things | other.things,
            bits=self.bits | other.bits,
            surely=self.surely and other.surely,
            certain=self.certain and other.certain,
            guards=self.guards if self.guards == other.guards else (),
            last=self.last or other.last,
            exposed=self.exposed or other.exposed,
            late=self.late or other.late,
            met=self.met | other.met,
            apart=self.apart | other.apart,
            gains=self.gains or other.gains,
        )


@dataclass(slots=True)
class LoopTurn:
    """What happens in iterations of a loop, or in a function: needs, and what is written.

    `a.array[0] = 1` adds `("device", a)` to `written`, and `a` to `named`.
    """

    needs: dict[Key, TransferNeed] = field(default_factory=dict[Key, TransferNeed])
    written: set[tuple[Side, Thing]] = field(default_factory=set[tuple[Side, Thing]])
    """The side that lacks it afterwards, and the buffer, or one that may be the same."""
    named: set[Thing] = field(default_factory=set[Thing])
    """Buffers that were written by their own name."""
    unknown: bool = False
    """Whether code ran that is not known."""
    busy: bool = False
    """Whether code ran that takes time."""

    def add(self, key: Key, need: TransferNeed) -> None:
        """Note a need, besides what is noted there."""
        self.needs[key] = self.needs[key].joined(need) if key in self.needs else need


# --------------------------------------------------------------------------------------- conditions


@dataclass(frozen=True, slots=True)
class Trips:
    """A loop over `range(start, stop)`: its variable, its bounds, and whether it surely runs.

    The bounds are expressions of the names in `counted`, or lengths. They can be written once more
    where all of those are integers, which is asked at run time: for `range(n)`, `runs` is
    `type(n) is int and n > 0`.
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
        """True where there is at least one iteration."""
        return self.asked(f"{self.stop} > {self.first}")

    def asked(self, condition: str, *uses: str) -> PlainExpression:
        """A condition of the bounds; false where they are no integers of Python."""
        checks = [f"type({name}) is int" for name in self.counted]
        return PlainExpression(
            " and ".join([*checks, condition]), tuple(dict.fromkeys((*uses, *self.uses)))
        )


def trips_of(op: Op, ops: HostOps) -> Trips | None:
    """The iterations of a loop over `range`, if its bounds can be told in front of it."""
    args = ops.sorts.range_of(op) if isinstance(op, HostFor) else None
    if not isinstance(op, HostFor) or args is None or len(args) not in {1, 2}:
        return None
    target = ops.names.get(op.target.text)
    is_count = target is not None and ops.sorts.of(target) == "number"
    if target is None or not is_count or not ops.names.keys().isdisjoint({"type", "int"}):
        return None
    maker = ops.makers[op.iterable]
    bounds = [_bound(arg, maker, ops) for arg in args if isinstance(maker, HostValue)]
    known = [bound for bound in bounds if bound is not None]
    if len(known) < len(args):
        return None
    numbers = [number_of(arg) for arg in args]
    first, start = (known[0].code, numbers[0]) if len(args) == 2 else ("0", 0)
    stop = numbers[-1]
    uses = tuple(dict.fromkeys(name for bound in known for name in bound.uses))
    surely = start is not None and stop is not None and stop > start
    counted = dict.fromkeys(name for arg in args for name in plain_names(arg) or ())
    return Trips(target, start, first, known[-1].code, uses, surely, tuple(counted))


def _bound(arg: ast.expr, maker: HostValue, ops: HostOps) -> PlainExpression | None:
    if isinstance(arg, Operand):
        found = ops.reference(maker.inputs[arg.number])
        return found if isinstance(found, PlainExpression) else None
    if plain_names(arg) is None or not _is_arithmetic(arg):
        return None
    code = source_of(arg)
    plain = code if code.isidentifier() or code.isdecimal() else f"({code})"
    return PlainExpression(plain, tuple(name for name in maker.uses if name in ops.names))


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
            divides = sign in {"//", "%"} and not number_of(parts[-1])
            return bool(sign) and not divides and all(map(_is_arithmetic, parts))


def has_items(size: Value, ops: HostOps) -> Conditions | None:
    """What must be true for a global size to have work items; None where only the launch can tell.

    Lengths and constants are taken for more than 0. Of a number by a name it has to be asked.
    """
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
    sort = ops.sorts.of(ops.names[name]) if name in ops.names else "list"
    if sort == "list":
        return ()
    if sort == "number":
        return (PlainExpression(name, (name,)),)
    if not ops.names.keys().isdisjoint({"type", "int", "tuple"}):
        return None
    return (PlainExpression(f"type({name}) in (int, tuple) and {name}", (name,)),)


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
            found = [_in_text(item, inputs, ops) for item in items]
            known = [conditions for conditions in found if conditions is not None]
            each = dict.fromkeys(condition for conditions in known for condition in conditions)
            return tuple(each) if len(known) == len(found) else None
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in OURS:
            return _in_text(arguments(node)[0], inputs, ops) if arguments(node) else None
        case ast.Attribute() | ast.Subscript(value=ast.Attribute(attr="shape")):
            return ()
        case _:
            names = plain_names(node)
            is_constant = names is not None and ops.names.keys().isdisjoint(names)
            return () if is_constant else None


# -------------------------------------------------------------------------------------------- names


def names_in(references: Iterable[Reference | None], ops: HostOps) -> frozenset[str]:
    """The names of the variables that references load."""
    found: set[str] = set()
    for reference in references:
        match reference:
            case Reload(var) if var in ops.called:
                found.add(ops.called[var])
            case PlainExpression(uses=uses):
                found.update(uses)
            case _:
                pass
    return frozenset(found)

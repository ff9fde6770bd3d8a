"""What is known of the buffers at one point of a compute function.

For each side a buffer may be known to be current there, or not. In sync is current on both,
newer on the host is not current on the device, unknown is neither. A few bits each, so that
"on some ways current, on others not" can be told, too.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from enum import Flag
from typing import TypeAlias

from trilby.analysis.alias import BufferPart, HostHeap, Points, Thing, Things
from trilby.analysis.transfer_plan import Side
from trilby.data.dtypes import Type
from trilby.dataclass import dataclass
from trilby.model.op import Func, Op
from trilby.model.value import Value

# ------------------------------------------------------------------------------------- plan effects
# What a compute function does to what it is given, for those that call it.


class Effect(Flag):
    """Who may do what to some buffers."""

    NOTHING = 0
    HOST_READS = 1
    HOST_WRITES = 2
    DEVICE_READS = 4
    DEVICE_WRITES = 8
    ANYTHING = 15


@dataclass(frozen=True, slots=True)
class Summary:
    """The effects of a function on its arguments, and on whatever can be reached from them.

    `types` are those that its parameters are declared with. `unknown` where it runs code that is
    not known.
    """

    types: tuple[Type, ...]
    parameters: tuple[Effect, ...]
    elsewhere: Effect
    unknown: bool

    def effect(self, number: int) -> Effect:
        """The effect on one argument."""
        return self.parameters[number] if number < len(self.parameters) else Effect.ANYTHING


UNKNOWN_CALLEE = Summary((), (), Effect.ANYTHING, unknown=True)
"""A function that was not looked at yet: it calls its caller."""

_EFFECTS = {
    "host reads": Effect.HOST_READS,
    "host reads part": Effect.HOST_READS,
    "host writes": Effect.HOST_WRITES,
    "host may write": Effect.HOST_WRITES,
    "host overwrites": Effect.HOST_WRITES,
    "device reads": Effect.DEVICE_READS,
    "device writes": Effect.DEVICE_WRITES,
    "device may write": Effect.DEVICE_WRITES,
}

Events = Mapping[Op, Mapping[tuple[str, Thing], bool]]


def summary_of(
    func: Func, parameters: tuple[Thing, ...], events: Events, *, unknown: bool
) -> Summary:
    """The summary of a function, from what its ops do."""
    found: dict[Thing, Effect] = {}
    elsewhere = Effect.NOTHING
    for done in events.values():
        for what, thing in done:
            effect = _EFFECTS.get(what, Effect.NOTHING)
            found[thing] = found.get(thing, Effect.NOTHING) | effect
            if thing.kind == "found":
                elsewhere |= effect
    effects = (found.get(parameter, Effect.NOTHING) for parameter in parameters)
    types = tuple(param.type for param in func.params)
    return Summary(types, tuple(effects), elsewhere, unknown)


# --------------------------------------------------------------------------------------- plan state

STALE = 1
"""The side may lack content: the other side wrote, or nobody knows."""
CURRENT = 2
"""On some way here, the side surely has everything."""
WRITTEN = 4
"""The other side surely wrote in this function, on some way here."""
PARTLY = 8
"""Instead of stale: the device wrote to what it lacked, and only a launch can tell what is left."""

Looked: TypeAlias = tuple[Thing, BufferPart]

Key: TypeAlias = tuple[Op, Side, object]
"""A need: the op before which it arises, the side, and which of several needs there it is."""


@dataclass(slots=True)
class PlanState:
    """The facts at one point."""

    things: Things
    memory: HostHeap = field(default_factory=HostHeap)
    device: dict[Thing, int] = field(default_factory=dict[Thing, int])
    host: dict[Thing, int] = field(default_factory=dict[Thing, int])
    parts: frozenset[Looked] = frozenset()
    """Parts of buffers that the host has although the rest may be stale."""
    looked: dict[Thing, Key] = field(default_factory=dict[Thing, Key])
    """The last look of the host at a part of each buffer since the device wrote to it."""

    def copy(self) -> "PlanState":
        """The same, to be changed apart."""
        return PlanState(
            self.things,
            self.memory.copy(),
            dict(self.device),
            dict(self.host),
            self.parts,
            dict(self.looked),
        )

    def widen(self, other: "PlanState") -> bool:
        """Let this hold on either of two ways; true where that was news."""
        news = self.memory.join(other.memory)
        news |= _join("device", self.device, other.device)
        news |= _join("host", self.host, other.host)
        news |= not self.parts <= other.parts
        self.parts &= other.parts
        kept = {thing: key for thing, key in self.looked.items() if other.looked.get(thing) == key}
        news |= len(kept) < len(self.looked)
        self.looked = kept
        return news

    def side(self, side: Side) -> dict[Thing, int]:
        """The bits of one side."""
        return self.device if side == "device" else self.host

    def bits(self, side: Side, things: Points) -> int:
        """The facts about any of some things."""
        known = self.side(side)
        total = 0
        for thing in things:
            total |= known.get(thing, _at_first(side, thing))
        return total

    def bring(self, side: Side, things: Points) -> None:
        """Copy whatever is one of some things to a side."""
        known = self.side(side)
        only = single(things)
        for thing in things:
            known[thing] = CURRENT if only else self.bits(side, frozenset({thing})) | CURRENT

    def write(self, side: Side, things: Points, *, surely: bool) -> None:
        """The other side writes to one of some things; `side` lacks that now."""
        known = self.side(side)
        only = surely and single(things)
        for thing in things:
            old = 0 if only else self.bits(side, frozenset({thing}))
            known[thing] = old | STALE | WRITTEN
            for other in self.things.others(thing):
                known[other] = self.bits(side, frozenset({other})) | STALE
        if side == "host":
            self._forget_looks({t for thing in things for t in (thing, *self.things.others(thing))})
            if only and self.bits("device", things) & STALE:
                (thing,) = things
                self.device[thing] = self.bits("device", things) & ~STALE | PARTLY

    def _forget_looks(self, things: Iterable[Thing]) -> None:
        gone = frozenset(things)
        self.parts = frozenset(one for one in self.parts if one[0] not in gone)
        for thing in gone:
            self.looked.pop(thing, None)

    def name_of(self, thing: Thing) -> Value | None:
        """A variable that surely holds a thing."""
        return next((var for var in self.memory.held if self.is_name(var, thing)), None)

    def is_name(self, var: Value, thing: Thing) -> bool:
        """Whether a variable surely holds a thing."""
        seen = self.memory.held.get(var)
        if seen is None or seen.is_part or var in self.memory.unsure:
            return False
        return len(seen.things) == 1 and thing in seen.things

    def names(self) -> Iterator[tuple[Value, Points]]:
        """The variables that surely have a value, if that is no part of a buffer."""
        for var, seen in self.memory.held.items():
            if not seen.is_part and var not in self.memory.unsure:
                yield var, seen.things


def single(things: Points) -> bool:
    """Whether this is surely one buffer."""
    return len(things) == 1 and not any(thing.many for thing in things)


def _at_first(side: Side, thing: Thing) -> int:
    """A fresh buffer is zeros everywhere; of others nothing is known but who filled them."""
    is_current = thing.kind == "created" or (thing.kind == "filled" and side == "host")
    return CURRENT if is_current else STALE


def _join(side: Side, mine: dict[Thing, int], other: dict[Thing, int]) -> bool:
    """A thing that one way does not know is there as it was at first."""
    news = False
    for thing in {**mine, **other} if mine != other else ():
        old = mine.get(thing, _at_first(side, thing))
        new = old | other.get(thing, _at_first(side, thing))
        news |= new != old
        mine[thing] = new
    return news

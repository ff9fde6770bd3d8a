"""What a compute function does to what it is given, for those that call it."""

from collections.abc import Mapping
from enum import Flag

from trilby.analysis.alias import Thing
from trilby.data.dtypes import Type
from trilby.dataclass import dataclass
from trilby.model.op import Func, Op


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

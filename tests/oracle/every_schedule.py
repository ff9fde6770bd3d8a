"""All the ways in which a small trace can be run, tried one after the other.

Each byte is followed by itself, as the set of places where it is current. Before every touch,
and after the last, any copies are made in any order. Nothing is left out but copies that bring
nothing. What remains are the costs that no other schedule beats in every respect.
"""

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import NamedTuple, TypeAlias

from trilby.oracle import Touch, Trace

Byte: TypeAlias = tuple[int, int]
"""The buffer, and the number of the byte in it."""
State: TypeAlias = frozenset[tuple[Byte, str]]
"""The bytes and the places where they are current."""


class Cost(NamedTuple):
    uploads: int
    downloads: int
    bytes_up: int
    bytes_down: int

    @property
    def nbytes(self) -> int:
        return self.bytes_up + self.bytes_down

    def with_copy(self, target: str, nbytes: int) -> "Cost":
        up = target != "host"
        return Cost(
            self.uploads + up,
            self.downloads + (not up),
            self.bytes_up + nbytes * up,
            self.bytes_down + nbytes * (not up),
        )

    def beats(self, other: "Cost") -> bool:
        return all(mine <= yours for mine, yours in zip(self, other, strict=True))


Reached: TypeAlias = dict[State, set[Cost]]


def every_cost(trace: Trace, devices: Iterable[str], *, whole: bool) -> set[Cost]:
    """What schedules can cost; `whole` ones move nothing but whole buffers."""
    every = frozenset(byte for buffer in trace.buffers for byte in bytes_of(trace, buffer.number))
    routes = [route for name in devices for route in (("host", name), (name, "host"))]
    reached: Reached = {at_first(trace, [*devices, "host"]): {Cost(0, 0, 0, 0)}}
    for touch in trace.touches:
        needed, written = demands(trace, touch, whole=whole)
        copied = with_copies(trace, reached, routes, whole=whole)
        reached = {}
        for state, costs in copied.items():
            if all((byte, touch.place) in state for byte in needed):
                left = frozenset((b, p) for b, p in state if b not in written)
                new = left | {(byte, touch.place) for byte in written & every}
                for cost in costs:
                    add(reached, new, cost)
    return {cost for costs in reached.values() for cost in costs}


def bytes_of(trace: Trace, buffer: int) -> set[Byte]:
    ranges = trace.buffers[buffer].data
    return {(buffer, at) for start, stop in ranges for at in range(start, stop)}


def at_first(trace: Trace, places: Iterable[str]) -> State:
    state: set[tuple[Byte, str]] = set()
    for buffer in trace.buffers:
        data = bytes_of(trace, buffer.number)
        for place in places:
            for start, stop in (*buffer.valid.get(place, ()), *buffer.fresh):
                current = {(buffer.number, at) for at in range(start, stop)}
                state |= {(byte, place) for byte in current & data}
    return frozenset(state)


def demands(trace: Trace, touch: Touch, *, whole: bool) -> tuple[set[Byte], set[Byte]]:
    """What a touch needs, and what it writes."""
    needed: set[Byte] = set()
    written: set[Byte] = set()
    for buffer, access in touch.accesses.items():
        data = bytes_of(trace, buffer)
        reads, writes, covers = (
            {(buffer, at) for start, stop in ranges for at in range(start, stop)} & data
            for ranges in access[:3]
        )
        if whole:
            reads = data if reads else reads
            covers = data if covers == data else set[Byte]()
            writes = data if writes else writes
        needed |= reads | (writes - covers)
        written |= writes
    return needed, written


def with_copies(
    trace: Trace, reached: Reached, routes: list[tuple[str, str]], *, whole: bool
) -> Reached:
    """All that any sequence of copies leads to."""
    found: Reached = {}
    waiting = [(state, cost) for state, costs in reached.items() for cost in costs]
    while waiting:
        state, cost = waiting.pop()
        if add(found, state, cost):
            for source, target in routes:
                for moved, nbytes in copies(trace, state, (source, target), whole=whole):
                    new = state | {(byte, target) for byte in moved}
                    waiting.append((new, cost.with_copy(target, nbytes)))
    return found


def copies(
    trace: Trace, state: State, route: tuple[str, str], *, whole: bool
) -> Iterator[tuple[Iterable[Byte], int]]:
    source, target = route
    for buffer in trace.buffers:
        data = sorted(bytes_of(trace, buffer.number))
        new = [b for b in data if (b, source) in state and (b, target) not in state]
        if whole and new:
            yield new, len(data)
        elif new:
            for count in range(1, len(new) + 1):
                yield from ((moved, count) for moved in combinations(new, count))


def add(reached: Reached, state: State, cost: Cost) -> bool:
    """Note a cost of a state, unless one that is known beats it."""
    known = reached.setdefault(state, set())
    if any(other.beats(cost) for other in known):
        return False
    known.difference_update([other for other in known if cost.beats(other)])
    known.add(cost)
    return True

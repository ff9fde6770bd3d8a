"""Which buffers the values of a compute function may stand for.

A *thing* is an abstract object: a parameter, a buffer that the function makes, an object that
it finds somewhere, a list that it writes down. A value stands for some things, never too few:
one thing means "surely that one", several mean "one of these". Order counts: after `a, b = b, a`
each name holds what the other held.
"""

from collections.abc import Hashable, Iterable
from dataclasses import field
from typing import Literal, TypeAlias

from trilby.data.dtypes import ScalarType, Type
from trilby.data.schema import (
    INDEX,
    BufferType,
    NDArrayType,
    index_count,
    join_path,
    type_at,
)
from trilby.dataclass import dataclass
from trilby.model.value import Value

Kind: TypeAlias = Literal["parameter", "created", "filled", "found", "container", "context"]


@dataclass(frozen=True, slots=True, eq=False)
class Thing:
    """An abstract object of a points-to set. `many`: it stands for several, made in a loop.

    For `def f(cc, a): b = [a]` there are `Thing("parameter", "a")`, `Thing("container", "list")`.

    | kind        | what it is                                                  |
    |-------------|-------------------------------------------------------------|
    | `parameter` | what the caller gave                                        |
    | `created`   | a buffer full of zeros, made here                           |
    | `filled`    | a buffer made here with the host's content                  |
    | `found`     | the result of code that is not looked into, a global, …     |
    | `container` | a list, tuple, function or the like that was written here   |
    | `context`   | a compute context, or what belongs to it: it may launch     |
    """

    kind: Kind
    name: str
    many: bool = False
    number: int = 0
    """The order in which things were made."""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


Points: TypeAlias = frozenset[Thing]
NOTHING: Points = frozenset()


@dataclass(slots=True)
class Things:
    """All abstract objects of one function, each made once however often its op is looked at.

    For `def f(cc, a: S32Array)`: `known == {<cc>: context cc, <a>: parameter a}`, and `types` says
    that `parameter a` is an `S32Array`.
    """

    known: dict[Hashable, Thing] = field(default_factory=dict[Hashable, Thing])
    types: dict[Thing, Type] = field(default_factory=dict[Thing, Type])
    """What is known to be a buffer: declared so, or given to a kernel that wants one."""
    _alike: dict[str, list[Thing]] = field(default_factory=dict[str, list[Thing]])

    def make(
        self, key: Hashable, kind: Kind, name: str, type_: Type | None = None, *, many: bool = False
    ) -> Thing:
        """The thing of that key, new or known."""
        if key not in self.known:
            self.known[key] = thing = Thing(kind, name, many, len(self.known))
            if isinstance(type_, BufferType | NDArrayType):
                self.is_buffer(thing, type_)
        return self.known[key]

    def is_buffer(self, thing: Thing, type_: Type) -> None:
        """Note that a thing is a buffer of some type."""
        if thing not in self.types:
            self.types[thing] = type_
            self._alike.setdefault(_family(type_), []).append(thing)

    def are_buffers(self, things: Points) -> bool:
        """Whether all of some things, and at least one, are known to be buffers."""
        return bool(things) and all(thing in self.types for thing in things)

    def buffers(self, things: Points) -> Points:
        """Those of some things that are known to be buffers."""
        return frozenset(thing for thing in things if thing in self.types)

    def part_below(
        self, owner: "Seen", step: str, indices: "tuple[Reference, ...]" = ()
    ) -> "BufferPart | None":
        """The place one step below another, if that is a place of a known buffer."""
        before = owner.part or BufferPart("", ())
        if (owner.is_part and owner.part is None) or before.is_view:
            return None
        path = join_path(before.path, step)
        if any(type_at(self.types[thing], path) is None for thing in self.buffers(owner.things)):
            return None
        return BufferPart(path, (*before.indices, *indices))

    def is_number(self, buffers: Points, part: "BufferPart") -> bool:
        """Whether a place is one number, and not a row, a struct or an array."""
        return self._holds_numbers(buffers, part.path, len(part.indices))

    def is_line(self, buffers: Points, part: "BufferPart") -> bool:
        """Whether a view is that of an array with one dimension: its elements are numbers."""
        path = part.path if part.path.endswith(INDEX) else part.path + INDEX
        return self._holds_numbers(buffers, path, 1)

    def _holds_numbers(self, buffers: Points, path: str, indices: int) -> bool:
        types = [self.types[thing] for thing in buffers]
        scalars = all(isinstance(type_at(type_, path), ScalarType) for type_ in types)
        return scalars and all(index_count(type_, path) == indices for type_ in types)

    def is_length(self, buffers: Points, name: str) -> bool:
        """Whether an attribute of some buffers is a length, which is no data."""
        types = [self.types[thing] for thing in buffers]
        return all(isinstance(type_, BufferType) and name in type_.length_names for type_ in types)

    def others(self, thing: Thing) -> Iterable[Thing]:
        """The things that may be the same buffer under another name.

        Two parameters may; a buffer that was made here may only be one that was found. What is not
        known to be a buffer may be any that is.
        """
        type_ = self.types.get(thing)
        for other in self.types if type_ is None else self._alike.get(_family(type_), ()):
            kinds = {thing.kind, other.kind}
            if other is not thing and ("found" in kinds or kinds == {"parameter"}):
                yield other


def _family(type_: Type) -> str:
    """What two names of one buffer have in common; the rank of an n-d array may be unknown."""
    return type_.qualname if isinstance(type_, BufferType) else "n-d array"


# ------------------------------------------------------------------------------- references


@dataclass(frozen=True, slots=True)
class Reload:
    """The content of a variable, loaded where it is wanted: `Reload(<a>)` for `a`."""

    var: Value


@dataclass(frozen=True, slots=True)
class PlainExpression:
    """An expression without effects, evaluated where it is wanted; `type` if that matters.

    `PlainExpression("bufs[i % 2]", ("bufs", "i"))`
    """

    code: str
    uses: tuple[str, ...]
    type: Type | None = None


@dataclass(frozen=True, slots=True)
class Literally:
    """A number: `Literally(0, I64)`."""

    number: bool | int | float
    type: Type


Reference: TypeAlias = Value | Reload | PlainExpression | Literally
"""How an op that is put into a model can name something: a value that is there, or these."""


@dataclass(frozen=True, slots=True)
class BufferPart:
    """A place below a buffer: `BufferPart("array[]", (Reload(<i>),))` is `array[i]`.

    A view leaves indices out or slices them; a `whole` one leaves out nothing of its array.
    """

    path: str
    indices: tuple[Reference, ...]
    is_view: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """The abstract value of an expression. Two are equal only if they are one, quick to compare.

    `is_part` is true of a view or a struct in a buffer; `part` says which if that is known.
    `where` names the buffer, or the view if `part` is not known. `number` is its number. For
    `a.array[0]` of a parameter `a`: `Seen({a}, is_part=True, part=BufferPart("array[]", (0,)),
    where=Reload(<a>))`.
    """

    things: Points = NOTHING
    is_part: bool = False
    part: BufferPart | None = None
    where: Reference | None = None
    number: int | None = None
    fresh: bool = False
    """Whether the object was surely made in the function, or cannot change: a number, a string."""


NUMBER = Seen(fresh=True)
"""Some number, or another new object that leads to no buffer."""

ELSEWHERE = Seen()
"""An object that is not known, and leads to no buffer."""


@dataclass(slots=True)
class HostHeap:
    """The contents of variables and containers, at one point of a function.

    Behind `b = [a]`: `held` says that `b` is the container, and `inside` that `a` is in it.
    """

    held: dict[Value, Seen] = field(default_factory=dict[Value, Seen])
    inside: dict[Thing, Points] = field(default_factory=dict[Thing, Points])
    met: dict[Thing, Points] = field(default_factory=dict[Thing, Points])
    """What was found in objects of which not everything is known, whenever it was looked for."""
    unsure: set[Value] = field(default_factory=set[Value])
    """The variables that may have no value."""
    is_weak: bool = False
    """True of what holds at any point of a function: nothing that was ever stored is forgotten."""

    def copy(self) -> "HostHeap":
        """The same, to be changed apart."""
        return HostHeap(
            dict(self.held), dict(self.inside), dict(self.met), set(self.unsure), self.is_weak
        )

    def join(self, other: "HostHeap") -> bool:
        """Widen to what holds on either of two ways; true where that was news."""
        unsure = self.unsure | other.unsure | (self.held.keys() ^ other.held.keys())
        news = unsure != self.unsure
        self.unsure = unsure
        for var, seen in other.held.items() - self.held.items():
            before = self.held.get(var)
            self.held[var] = new = seen if before is None else either(before, seen)
            news |= new is not before
        for mine, others in ((self.inside, other.inside), (self.met, other.met)):
            for thing, points in others.items():
                known = mine.get(thing, NOTHING)
                if not points <= known:
                    mine[thing] = known | points
                    news = True
        return news

    def store(self, var: Value, seen: Seen, *, surely: bool = True) -> None:
        """Let a variable hold something."""
        held = Seen(seen.things, seen.is_part, number=seen.number, fresh=seen.fresh)
        before = self.held.get(var)
        is_kept = self.is_weak or not surely
        self.held[var] = either(before, held) if before is not None and is_kept else held
        if surely:
            self.unsure.discard(var)
        elif before is None:
            self.unsure.add(var)

    def loaded(self, var: Value) -> Seen:
        """What a variable holds, by its name."""
        held = self.held.get(var)
        if held is None:
            return Seen(where=Reload(var))
        return Seen(held.things, held.is_part, None, Reload(var), held.number, held.fresh)

    def forget(self, var: Value) -> None:
        """A variable loses its value."""
        if not self.is_weak:
            self.held.pop(var, None)

    def fill(self, container: Thing, content: Points) -> None:
        """Let a container that is made just now have content inside."""
        before = self.inside.get(container, NOTHING) if self.is_weak else NOTHING
        self.inside[container] = content | before

    def put(self, things: Points, content: Points) -> None:
        """Let some things have content inside, besides what they have."""
        for thing in things if content else ():
            self.inside[thing] = self.inside.get(thing, NOTHING) | (content - {thing})

    def item_at(self, things: Things, owners: Points, number: int | None) -> Points:
        """What may lie at a place of some containers: which one it is, if its number is known."""
        found = NOTHING
        for owner in owners:
            place = None if number is None else things.known.get((owner, number))
            inside = self.inside.get(owner, NOTHING)
            found |= inside if place is None else self.inside.get(place, inside)
        return found

    def forget_items(self, things: Things, owners: Iterable[Thing]) -> None:
        """Which item of a container lies where is not known any more."""
        for owner in owners:
            number = 0
            while (place := things.known.get((owner, number))) is not None:
                self.inside[place] = self.inside.get(owner, NOTHING)
                number += 1

    def reach(self, things: Points) -> Points:
        """Some things, and all that is inside of them."""
        found = set(things)
        rest = list(things)
        while rest:
            thing = rest.pop()
            new = (self.inside.get(thing, NOTHING) | self.met.get(thing, NOTHING)) - found
            found |= new
            rest += new
        return frozenset(found)


def either(one: Seen, other: Seen) -> Seen:
    """What holds of both; the first itself if the other adds nothing."""
    joined = Seen(
        one.things | other.things,
        one.is_part or other.is_part,
        one.part if one.part == other.part else None,
        one.where if one.where == other.where else None,
        one.number if one.number == other.number else None,
        one.fresh and other.fresh,
    )
    return one if _content(joined) == _content(one) else joined


def _content(seen: Seen) -> tuple[object, ...]:
    return seen.things, seen.is_part, seen.part, seen.where, seen.number, seen.fresh

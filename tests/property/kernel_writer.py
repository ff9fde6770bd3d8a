"""One function of a random program while it is written: what it may read, set and call."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias, TypeVar

from tests.property.kernel_types import LANES, VECTORS

T = TypeVar("T")

Rule: TypeAlias = "Callable[[Writer, str, int], str]"
"""Writes an expression of a type, made of others that are at most so deep."""

RECORD = "Pair"
"""The name of the struct that every program declares."""


@dataclass(frozen=True)
class Helper:
    """A function that others may call: its name, the types it takes, the type it gives.

    One that loops, or calls one that does, is not called from within other loops too often.
    """

    name: str
    params: tuple[str, ...]
    result: str
    loops: bool


@dataclass
class Draft:
    """What all functions of a program share.

    A `free` program also uses what NumPy's scalars have no counterpart for: numbers without
    a declared type, sums of bools, shift counts beyond the width. `types` are those that it
    favours: with few of them its parts meet more often. `members` are the fields
    of the struct, `changed` the types for which a helper is wanted that changes memory and
    gives a number, `nodes` how many more expressions may be made of others. `rules` are the
    ways to make an expression of each type.
    """

    random: Random
    free: bool
    types: frozenset[str]
    members: dict[str, str]
    rules: Mapping[str, Sequence[Rule]]
    helpers: list[Helper] = field(default_factory=list[Helper])
    changed: set[str] = field(default_factory=set[str])
    nodes: int = 0
    last_name: int = 0

    def pick(self, choices: Sequence[T]) -> T:
        """One of some choices."""
        return self.random.choice(choices)

    def pick_type(self, choices: Sequence[str]) -> str:
        """One of some types, most times one that the program favours."""
        favoured = [type_ for type_ in choices if type_ in self.types]
        return self.pick(choices if not favoured or self.chance(12) else favoured)

    def pick_pair(self, choices: Sequence[tuple[str, str]]) -> tuple[str, str]:
        """The same for two types."""
        favoured = [pair for pair in choices if self.types.issuperset(pair)]
        return self.pick(choices if not favoured or self.chance(12) else favoured)

    def number(self, low: int, high: int) -> int:
        """A whole number between two, both included."""
        return self.random.randint(low, high)

    def chance(self, one_in: int) -> bool:
        """True once in so many times."""
        return self.random.randrange(one_in) == 0

    def name(self, stem: str, type_: str) -> str:
        """A new name; the type stands behind it."""
        self.last_name += 1
        return f"{stem}{self.last_name}_{type_}"

    def spend(self) -> bool:
        """Take one node from the budget; false where it is used up."""
        self.nodes -= 1
        return self.nodes >= 0


@dataclass
class Writer:
    """A function: its lines so far, and what is in reach where the next one comes.

    `values` are the texts that can be read with their types, `places` those that can also
    be set. `$8` in such a text stands for any integer brought below 8. `dead` are names
    whose block has ended.
    """

    draft: Draft
    in_kernel: bool = False
    result: str | None = None
    values: dict[str, str] = field(default_factory=dict[str, str])
    places: dict[str, str] = field(default_factory=dict[str, str])
    counters: list[str] = field(default_factory=list[str])
    dead: dict[str, str] = field(default_factory=dict[str, str])
    lines: list[str] = field(default_factory=list[str])
    statements: int = 0
    loops: int = 0
    can_return: bool = True
    _indent: int = 1

    @property
    def helpers(self) -> list[Helper]:
        """The functions that may be called here."""
        calm = self.loops > (1 if self.in_kernel else 0)
        return [helper for helper in self.draft.helpers if not (calm and helper.loops)]

    def line(self, text: str) -> None:
        """Append a line at the current depth."""
        self.lines.append("    " * self._indent + text)

    @contextmanager
    def block(self) -> Generator[None]:
        """Go one level deeper; what is set there for the first time is gone afterwards."""
        values, places, counters = dict(self.values), dict(self.places), list(self.counters)
        self._indent += 1
        yield
        self._indent -= 1
        ended = {name: type_ for name, type_ in self.places.items() if name not in places}
        self.dead |= {name: type_ for name, type_ in ended.items() if name.isidentifier()}
        self.values, self.places, self.counters = values, places, counters

    @contextmanager
    def reading(self, text: str, type_: str) -> Generator[None]:
        """Something that can be read for a while, and not set."""
        parts = {text: type_, **self._parts(text, type_)}
        self.values |= parts
        yield
        for part in parts:
            self.values.pop(part, None)

    def declare(self, name: str, type_: str, *, fixed: bool = False) -> None:
        """A variable is set from here on, and with it its lanes or members."""
        parts = {name: type_, **self._parts(name, type_)}
        self.values |= parts
        if not fixed:
            self.places |= parts
        self.dead.pop(name, None)

    def _parts(self, name: str, type_: str) -> dict[str, str]:
        if type_ == RECORD:
            parts = {f"{name}.{member}": own for member, own in self.draft.members.items()}
            return parts | {k: v for n, t in parts.items() for k, v in self._parts(n, t).items()}
        element, lanes = VECTORS.get(type_, ("", 0))
        return {f"{name}.{lane}": element for lane in LANES[:lanes]}

    def readable(self, type_: str) -> list[str]:
        """Everything of a type that can be read."""
        return [text for text, own in self.values.items() if own == type_]

    def settable(self, types: Sequence[str]) -> list[str]:
        """Everything of some types that can be set."""
        return [text for text, own in self.places.items() if own in types]

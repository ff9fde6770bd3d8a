"""One function of a random program while it is written: what is in reach, and what is apart."""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from typing import TypeAlias, TypeVar

from tests.property.program_palette import PLANES, VIEWS, WIDE, Kind

T = TypeVar("T")

Rule: TypeAlias = "Callable[[Writer], bool]"
"""Writes a statement; gives False where nothing is in reach that it could be made of."""


@dataclass(frozen=True)
class View:
    """Elements that can be reached by some text: their shape, and the kind of the buffer."""

    shape: tuple[int, ...]
    kind: Kind


@dataclass(frozen=True)
class Function:
    """A compute function: the kinds of its parameters, and of the buffer that it gives back.

    Kinds of parameters are those of buffers, `int`, `tick` (a callback without parameters),
    `list:line` (two buffers in a list), `world:line` (an object with two of them), `odd` (a
    number whose operators leave a trace), `source:line` (an object that gives two in turn).
    """

    name: str
    params: tuple[tuple[str, str], ...]
    result: Kind | None


@dataclass
class Draft:
    """What all functions of a program share: its sizes, its compute functions, its budget."""

    random: Random
    n: int
    height: int
    width: int
    kinds: tuple[Kind, ...]
    functions: list[Function] = field(default_factory=list[Function])
    last_name: int = 0
    calm: bool = False
    """Whether compute functions are to leave few traces, so that they can start again."""

    def pick(self, choices: Sequence[T]) -> T:
        """One of some choices."""
        return self.random.choice(choices)

    def number(self, low: int, high: int) -> int:
        """A whole number between two, both included."""
        return self.random.randint(low, high)

    def chance(self, one_in: int) -> bool:
        """True once in so many times."""
        return self.random.randrange(one_in) == 0

    def name(self, stem: str) -> str:
        """A new name."""
        self.last_name += 1
        return f"{stem}{self.last_name}"

    def shape(self, kind: Kind) -> tuple[int, ...]:
        """The shape of all buffers of a kind."""
        if kind in PLANES:
            return (self.height, self.width)
        return ({"flag": 1, "wide": WIDE}.get(kind, self.n),)


@dataclass
class Reach:
    """What can be named at some point.

    `buffers` are texts that denote a buffer, `apart` pairs of them that never denote the
    same one, `lists` names of lists and `worlds` of objects that hold two buffers.
    """

    buffers: dict[str, Kind] = field(default_factory=dict[str, Kind])
    apart: frozenset[frozenset[str]] = frozenset()
    views: dict[str, View] = field(default_factory=dict[str, View])
    raws: dict[str, View] = field(default_factory=dict[str, View])
    rows: list[str] = field(default_factory=list[str])
    ints: list[str] = field(default_factory=list[str])
    lists: dict[str, Kind] = field(default_factory=dict[str, Kind])
    worlds: dict[str, Kind] = field(default_factory=dict[str, Kind])
    ticks: list[str] = field(default_factory=list[str])
    odds: list[str] = field(default_factory=list[str])
    sources: dict[str, Kind] = field(default_factory=dict[str, Kind])

    def copied(self) -> "Reach":
        """The same, to be changed apart from this one."""
        return replace(
            self,
            buffers=dict(self.buffers),
            views=dict(self.views),
            raws=dict(self.raws),
            rows=list(self.rows),
            ints=list(self.ints),
            lists=dict(self.lists),
            worlds=dict(self.worlds),
            ticks=list(self.ticks),
            odds=list(self.odds),
            sources=dict(self.sources),
        )


@dataclass
class Writer:
    """A function: its lines so far, and what is in reach where the next one comes.

    `in_compute` is false for the driver, which has accelerators instead of a context. `left`
    is how many more statements there may be, `loops` how deep in loops it is, `result` the
    kind of the buffer that it gives back, if that is what it does.
    """

    draft: Draft
    in_compute: bool
    left: int
    result: Kind | None = None
    reach: Reach = field(default_factory=Reach)
    lines: list[str] = field(default_factory=list[str])
    loops: int = 0
    depth: int = 1
    accelerators: tuple[str, ...] = ("accelerator",)

    # ---------------------------------------------------------------------------- lines

    def line(self, text: str) -> None:
        """Append a line at the current depth."""
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def block(self, *, loop: bool = False) -> Generator[None]:
        """Go one level deeper; what is named there for the first time is gone afterwards."""
        before = self.reach.copied()
        self.depth += 1
        self.loops += loop
        yield
        self.loops -= loop
        self.depth -= 1
        before.apart &= self.reach.apart
        self.reach = before

    # --------------------------------------------------------------------------- buffers

    def buffers(self, kind: Kind | None = None) -> list[str]:
        """Texts that denote a buffer of a kind, or of any."""
        return [text for text, own in self.reach.buffers.items() if kind in {None, own}]

    def are_apart(self, one: str, other: str) -> bool:
        """True where two texts surely denote two buffers."""
        return frozenset((one, other)) in self.reach.apart

    def bind(self, name: str, kind: Kind, among: Iterable[str]) -> None:
        """From here on a text denotes one of some buffers, or a new one if there are none."""
        known = tuple(among)
        others = [text for text in self.reach.buffers if text != name]
        now = frozenset(
            frozenset((name, other))
            for other in others
            if all(self.are_apart(one, other) for one in known)
        )
        without = frozenset(pair for pair in self.reach.apart if name not in pair)
        if name in self.reach.buffers and self.depth > 1:
            now &= self.reach.apart
        self.reach.buffers[name] = kind
        self.reach.apart = without | now

    def keep_apart(self, names: Iterable[str]) -> None:
        """Say that some texts denote different buffers."""
        known = tuple(names)
        pairs = {frozenset((one, other)) for one in known for other in known if one != other}
        self.reach.apart |= pairs

    # ----------------------------------------------------------------------------- views

    def views(self) -> dict[str, View]:
        """All texts by which elements can be reached, buffers' own and those of views."""
        own = {
            pattern.format(text): View(self.draft.shape(kind), kind)
            for text, kind in self.reach.buffers.items()
            for pattern in VIEWS[kind]
        }
        return own | self.reach.views

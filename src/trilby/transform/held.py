"""What a name, an operand or a value of a compute function may stand for."""

from dataclasses import field
from enum import IntEnum
from typing import TypeAlias

from trilby.data.dtypes import ScalarType, Type
from trilby.data.schema import ArrayType
from trilby.dataclass import dataclass

Root: TypeAlias = str | int
"""What a text is given: a local name, or the number of an operand."""


class Kind(IntEnum):
    """What is known of an object; of two, the greater says more."""

    NOTHING = 0
    """No buffer, nor does it lead to one."""
    CONTAINER = 1
    """Is none, and holds some: a list, a tuple."""
    OBJECT = 2
    """May be a buffer, or anything else that holds some."""
    VIEW = 3
    """A part of a buffer."""
    DATA = 4
    """A buffer, an n-d array, or a struct in one."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a name or a value may stand for: its kind, its type if that is known, its roots."""

    kind: Kind = Kind.NOTHING
    type: Type | None = None
    roots: tuple[Root, ...] = ()

    def joined(self, other: "Held") -> "Held":
        """Either of the two."""
        if not self.kind or not other.kind:
            return self if self.kind else other
        roots = tuple(dict.fromkeys((*self.roots, *other.roots)))
        kind = self.kind if self.kind == other.kind else Kind.OBJECT
        return Held(kind, self.type if self.type == other.type else None, roots)

    @property
    def is_data(self) -> bool:
        """Surely a buffer or a part of one."""
        return self.kind > Kind.OBJECT


NOTHING = Held()


@dataclass(slots=True)
class Effects:
    """What a text does: `writes` are what it may write, `reads` what it only reads.

    `gives` is what its value may stand for, `sets` what names may that stood for less before:
    those that it assigns to, and lists that it puts something in.
    """

    reads: dict[Root, None] = field(default_factory=dict[Root, None])
    writes: dict[Root, None] = field(default_factory=dict[Root, None])
    gives: Held = NOTHING
    sets: dict[str, Held] = field(default_factory=dict[str, Held])


def element_of(held: Held) -> Held:
    """What a container or an array gives when it is indexed or walked through."""
    match held.type:
        case ArrayType(element=ScalarType(), rank=1):
            return NOTHING
        case _:
            return Held(Kind.OBJECT, None, held.roots) if held.kind else NOTHING

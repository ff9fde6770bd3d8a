"""Every access of a kernel to its buffers: where, under which conditions, in which loops.

This is the symbolic form of a footprint. It is found once for a kernel, by following its
models and those of its helpers in the order in which they run.
"""

from collections.abc import Mapping
from enum import Flag
from typing import TypeAlias

from trilby.analysis.touching.expressions import Expr, Loop
from trilby.dataclass import dataclass
from trilby.source import Location


class Does(Flag):
    """What an access does to its place: reads it, may write it, surely writes it.

    `REREADS` is a read of what the same work item has surely written before: it sees nothing
    of what the buffer held when the kernel was launched.
    """

    NOTHING = 0
    READS = 1
    WRITES = 2
    COVERS = 4
    REREADS = 8


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """When something happens, within a parent scope; the outermost has none.

    Where `guard` is true, or once in every turn of `loop`.
    """

    number: int = 0
    parent: "Scope | None" = None
    guard: Expr | None = None
    loop: Loop | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A place in a parameter of the kernel that a value stands for where `condition` holds."""

    parameter: int
    path: str
    indices: tuple[Expr, ...]
    condition: Expr


Leaves: TypeAlias = Mapping[str, Expr | None]
Known: TypeAlias = Expr | tuple[Target, ...] | Leaves | None
"""What is known of a value: a number, places, the leaves of a struct, or nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Touch:
    """One access: to which parameter (by its number), at which path and indices, and when."""

    parameter: int
    path: str
    indices: tuple[Expr, ...]
    does: Does
    scope: Scope
    location: Location

    @property
    def place(self) -> tuple[object, ...]:
        """The same for every access to the same place in the same scope."""
        return (self.parameter, self.path, *(index.number for index in self.indices))

"""Memory accesses and barriers of a kernel as lints know them: where, when, on which conditions."""

from typing import Literal, TypeAlias

from trilby.analysis.touching.kernel_expressions import Expr
from trilby.data.dtypes import Type
from trilby.dataclass import dataclass
from trilby.linting.terms import LoopMark
from trilby.source import Location

Does: TypeAlias = Literal["read", "write", "atomic"]
MemoryKind: TypeAlias = Literal["global", "local", "private"]


@dataclass(frozen=True, slots=True, eq=False)
class AccessedMemory:
    """A buffer parameter (`number` is its place), or an array of a group or a work item."""

    kind: MemoryKind
    number: int
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class AccessedPlace:
    """A place in some memory that a value stands for where `condition` holds."""

    memory: AccessedMemory
    path: str
    indices: tuple[Expr, ...]
    condition: Expr


@dataclass(frozen=True, slots=True)
class Phase:
    """The barrier that was passed last: which one, in which turns, where `guard` holds.

    `site` 0 is the beginning of the kernel, and `ANYWHERE` a barrier that is not known.
    """

    guard: Expr
    site: int
    turns: tuple[Expr, ...] = ()


BEGINNING = 0
ANYWHERE = -1
AROUND = -2
"""While a loop is tried: what was passed before the turn."""

Phases: TypeAlias = tuple[Phase, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MemoryAccess:
    """One access to memory; `guards` hold all when it happens, `phases` say behind what barrier.

    `stored` is what is written, or the operand of an atomic, whose `change` says what it does.
    """

    number: int
    memory: AccessedMemory
    path: str
    indices: tuple[Expr, ...]
    does: Does
    guards: tuple[Expr, ...]
    loops: tuple[LoopMark, ...]
    phases: Phases
    location: Location
    stored: Expr | None = None
    change: str = ""

    @property
    def text(self) -> str:
        """The place as it is spoken of: `a.array[]`."""
        joint = "." if self.path and not self.path.startswith("[") else ""
        return f"{self.memory.name}{joint}{self.path}"


@dataclass(frozen=True, slots=True, eq=False)
class Stop:
    """A barrier, and when a work item comes to it."""

    scope: str
    guards: tuple[Expr, ...]
    loops: tuple[LoopMark, ...]
    location: Location
    after_return: bool


@dataclass(frozen=True, slots=True)
class Lost:
    """An access of which it is not known where to, and why."""

    does: Does
    location: Location
    reason: str

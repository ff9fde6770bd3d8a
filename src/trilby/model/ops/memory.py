"""Access to memory. A place is a base value, a path below it, and the path's indices.

The base is a buffer, an n-d array, a reference made by `place`, or a local or private
array. Paths are those of `trilby.data.schema`.
"""

from typing import ClassVar

from trilby.dataclass import dataclass
from trilby.model.op import Op, Operands
from trilby.model.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class Load(Op):
    """The number at a place."""

    mnemonic: ClassVar[str] = "load"
    base: Value
    indices: Operands
    path: str


@dataclass(frozen=True, slots=True, eq=False)
class Store(Op):
    """A new number for a place."""

    mnemonic: ClassVar[str] = "store"
    base: Value
    indices: Operands
    stored: Value
    path: str


@dataclass(frozen=True, slots=True, eq=False)
class Place(Op):
    """A reference to the struct at a place; nothing is read yet."""

    mnemonic: ClassVar[str] = "place"
    base: Value
    indices: Operands
    path: str


@dataclass(frozen=True, slots=True, eq=False)
class AtomicUpdate(Op):
    """Change a place in one indivisible step; the result is the old number.

    `change` says how: one of `ATOMIC_CHANGES`.
    """

    mnemonic: ClassVar[str] = "atomic"
    base: Value
    indices: Operands
    operand: Value
    path: str
    change: str


@dataclass(frozen=True, slots=True, eq=False)
class CompareExchange(Op):
    """Put `operand` in a place if it holds `expected`; the result is the old number."""

    mnemonic: ClassVar[str] = "compare_exchange"
    base: Value
    indices: Operands
    expected: Value
    operand: Value
    path: str


@dataclass(frozen=True, slots=True, eq=False)
class LocalArray(Op):
    """An array that the work items of a group share; its content is undefined at first."""

    mnemonic: ClassVar[str] = "local"


@dataclass(frozen=True, slots=True, eq=False)
class PrivateArray(Op):
    """An array that a work item has for itself; its content is undefined at first."""

    mnemonic: ClassVar[str] = "private"


@dataclass(frozen=True, slots=True, eq=False)
class Extent(Op):
    """The size of one axis of an n-d array: part of its shape, not of its data."""

    mnemonic: ClassVar[str] = "extent"
    base: Value
    axis: int


ATOMIC_CHANGES = ("add", "sub", "min", "max", "and", "or", "xor", "exchange")
"""How an atomic op may change a place."""

MEMORY_OPS = (Load, Store, Place, AtomicUpdate, CompareExchange, LocalArray, PrivateArray, Extent)

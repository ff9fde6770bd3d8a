"""Access to memory. A place is a base value, a path below it, and the path's indices.

The base is a buffer, an n-d array, a reference made by `place`, or a local or private
array. Paths are those of `trilby.data.schema`.
"""

from trilby.dataclass import dataclass
from trilby.model.op import Op, Operands
from trilby.model.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class Load(Op, mnemonic="load"):
    """The number at a place."""

    base: Value
    indices: Operands
    path: str


@dataclass(frozen=True, slots=True, eq=False)
class Store(Op, mnemonic="store", result=False):
    """A new number for a place."""

    base: Value
    indices: Operands
    stored: Value
    path: str


@dataclass(frozen=True, slots=True, eq=False)
class Place(Op, mnemonic="place"):
    """A reference to the struct at a place; nothing is read yet."""

    base: Value
    indices: Operands
    path: str


@dataclass(frozen=True, slots=True, eq=False)
class AtomicUpdate(Op, mnemonic="atomic"):
    """Change a place in one indivisible step; the result is the old number.

    `change` says how: one of `ATOMIC_CHANGES`.
    """

    base: Value
    indices: Operands
    operand: Value
    path: str
    change: str


@dataclass(frozen=True, slots=True, eq=False)
class CompareExchange(Op, mnemonic="compare_exchange"):
    """Put `operand` in a place if it holds `expected`; the result is the old number."""

    base: Value
    indices: Operands
    expected: Value
    operand: Value
    path: str


class LocalArray(Op, mnemonic="local"):
    """An array that the work items of a group share; its content is undefined at first."""


class PrivateArray(Op, mnemonic="private"):
    """An array that a work item has for itself; its content is undefined at first."""


@dataclass(frozen=True, slots=True, eq=False)
class Extent(Op, mnemonic="extent"):
    """The size of one axis of an n-d array: part of its shape, not of its data."""

    base: Value
    axis: int


ATOMIC_CHANGES = ("add", "sub", "min", "max", "and", "or", "xor", "exchange")
"""How an atomic op may change a place."""

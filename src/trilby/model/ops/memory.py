"""Access to memory. A place is a base value, a path below it, and the path's indices.

The base is a buffer, an n-d array, a reference made by `place`, or a local or private
array. Paths are those of `trilby.data.schema`.
"""

from dataclasses import dataclass
from typing import ClassVar

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
class Atomic(Op):
    """Change a place in one indivisible step; the result is the old number.

    `change` says how: `add` so far.
    """

    mnemonic: ClassVar[str] = "atomic"
    base: Value
    indices: Operands
    operand: Value
    path: str
    change: str


@dataclass(frozen=True, slots=True, eq=False)
class Extent(Op):
    """The size of one axis of an n-d array: part of its shape, not of its data."""

    mnemonic: ClassVar[str] = "extent"
    base: Value
    axis: int


MEMORY_OPS = (Load, Store, Place, Atomic, Extent)

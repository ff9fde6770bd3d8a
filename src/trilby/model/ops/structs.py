"""Structs as values: what helpers take and return as one.

Inside a function a struct is taken apart into its numbers, so that every other op works on
numbers only. A number within a struct is a *leaf*: see `trilby.data.schema.leaves`.
"""

from typing import ClassVar

from trilby.dataclass import dataclass
from trilby.model.op import Op, Operands
from trilby.model.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class Pack(Op):
    """A struct of the result's type from its leaves, in order."""

    mnemonic: ClassVar[str] = "pack"
    parts: Operands


@dataclass(frozen=True, slots=True, eq=False)
class Unpack(Op):
    """One leaf of a struct, by its name."""

    mnemonic: ClassVar[str] = "unpack"
    whole: Value
    leaf: str


STRUCT_OPS = (Pack, Unpack)

"""Structs as values: what helpers take and return as one.

Inside a function a struct is taken apart into its numbers, so that every other op works on
numbers only. A number within a struct is a *leaf*: see `trilby.data.schema.leaves`.
"""

from trilby.dataclass import dataclass
from trilby.model.op import Op, Operands
from trilby.model.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class Pack(Op, mnemonic="pack"):
    """A struct of the result's type from its leaves, in order."""

    parts: Operands


@dataclass(frozen=True, slots=True, eq=False)
class Unpack(Op, mnemonic="unpack"):
    """One leaf of a struct, by its name."""

    whole: Value
    leaf: str

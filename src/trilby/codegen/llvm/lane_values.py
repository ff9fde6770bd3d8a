"""A number in every lane: the same for all, evenly spaced, or in a vector.

What is the same for all lanes is kept as one scalar; so is what grows by the same step from lane to
lane, of which the scalar is the number in lane 0. Everything else is a vector.
"""

import struct
from collections.abc import Sequence
from typing import TypeAlias

from trilby.codegen.checked_types import expect
from trilby.data.dtypes import BF16, BOOL, F16, F32, Number, ScalarType, Type, round_to
from trilby.data.layout import stride_of
from trilby.data.schema import ArrayType, BufferType, NDArrayType, StructType, leaves, sizes_of
from trilby.dataclass import dataclass
from trilby.model.op import Func, walk
from trilby.model.ops.memory import PrivateArray
from trilby.model.value import KERNEL_CONTEXT, NONE, RefType

Stride: TypeAlias = int | None
"""The step from a lane to the next: 0 where all have the same number, None where it is uneven."""

POINTER = "ptr"
BIT = "i1"
LONG = "i64"


@dataclass(frozen=True, slots=True)
class Lanes:
    """The LLVM type of each number, the text of the scalar or vector, and how lanes differ.

    `literal` is the number itself where it is known beforehand and the same in all lanes.
    """

    kind: str
    text: str
    stride: Stride = 0
    literal: "Number | None" = None

    @property
    def is_uniform(self) -> bool:
        """True where one scalar stands for all lanes."""
        return self.stride == 0

    @property
    def is_varying(self) -> bool:
        """True where it is a vector."""
        return self.stride is None


_KINDS = {32: "float", 64: "double"}


def kind_of(type_: ScalarType) -> str:
    """The LLVM type of a number as a value; halves are computed with as floats."""
    if type_ is BOOL:
        return BIT
    return _KINDS[max(type_.bits, 32)] if type_.is_float else f"i{type_.bits}"


def stored_kind(type_: ScalarType) -> str:
    """The LLVM type of a number in memory."""
    if type_ is BOOL:
        return "i8"
    if type_ is F16:
        return "half"
    return "i16" if type_ is BF16 else kind_of(type_)


def part_kinds(type_: Type) -> tuple[str, ...]:
    """The LLVM types of what stands for a value: a buffer has its sizes with it."""
    match type_:
        case ScalarType():
            return (kind_of(type_),)
        case BufferType() | NDArrayType() | RefType():
            return (POINTER, *(kind_of(size) for size in sizes_of(type_).values()))
        case StructType():
            return tuple(kind_of(leaf.type) for leaf in leaves(type_))
        case _ if type_ in {KERNEL_CONTEXT, NONE}:
            return ()
        case _:
            raise TypeError(type_)


def axes_of(array: Type) -> tuple[Sequence[int | str], int]:
    """The size of each axis, a number or its name, and the distance of two elements in bytes."""
    if isinstance(array, NDArrayType):
        return list(sizes_of(array)), array.element.size
    found = expect(ArrayType, array)
    return found.dims, stride_of(found)


def constant(number: Number, type_: ScalarType) -> Lanes:
    """A number of a type."""
    kind = kind_of(type_)
    if type_.is_float:
        number = round_to(float(number), type_)
    return Lanes(kind, literal_text(number, kind), literal=number)


def of_kind(number: Number, kind: str) -> Lanes:
    """A number of an LLVM type."""
    return Lanes(kind, literal_text(number, kind), literal=number)


def literal_text(number: Number, kind: str) -> str:
    """A number as LLVM writes it; floats by the bits of the double."""
    if kind == BIT:
        return "true" if number else "false"
    if kind == "float":
        number = round_to(float(number), F32)
    if kind in {"float", "double"}:
        return f"0x{struct.pack('>d', number).hex().upper()}"
    return str(int(number))


def size_of_kind(kind: str) -> int:
    """The bytes of a number in memory."""
    sizes = {"half": 2, "float": 4, "double": 8, POINTER: 8}
    return sizes[kind] if kind in sizes else int(kind.removeprefix("i")) // 8


# ------------------------------------------------------------------------------------- interleaving
# Whether the private arrays of all lanes can lie interleaved, number by number.
#
# Interleaved, the same number of neighbouring lanes is one vector. Where the members of a union
# have numbers of unequal sizes, the bytes of a number would be elsewhere than those of the
# numbers that share them; such arrays lie one behind the other.


def can_interleave(func: Func) -> bool:
    """Whether no private array of a kernel has a number that shares bytes with one of another size.

    References to all private arrays are alike, so one such array decides for all.
    """
    made = [op.value.type for op in walk(func.body) if isinstance(op, PrivateArray)]
    return not any(isinstance(type_, RefType) and _overlaps(type_.to) for type_ in made)


def _overlaps(type_: Type) -> bool:
    match type_:
        case ArrayType():
            return _overlaps(type_.element)
        case StructType(is_union=True):
            return len({leaf.type.size for leaf in leaves(type_)}) > 1
        case StructType():
            return any(_overlaps(field.type) for field in type_.fields)
        case _:
            return False

"""The types that have a place in memory: structs, unions, arrays, buffers.

A schema is pure data: names, types and order. Offsets are `layout`'s work, memory is
`segment`'s, and the classes that users write are read by `declare`.

A *path* names a place below a value: `"array[]"`, `"result[].x"`, `"[]"`. Each `[]`
steps into an array and takes one index for each of its dimensions.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from typing import TypeVar

from trilby.data.dtypes import I32, ScalarType, Type
from trilby.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class PadType(Type):
    """Bytes that hold nothing."""

    size: int

    def __str__(self) -> str:
        return f"pad<{self.size}>"


@dataclass(frozen=True, slots=True)
class ArrayType(Type):
    """Elements in row-major order. A dimension is a number or the name of a length field.

    `stride` is the distance of two elements in bytes where it is more than their size.
    """

    element: Type
    dims: tuple[int | str, ...]
    stride: int | None = None

    def __str__(self) -> str:
        return f"{self.element}[{', '.join(map(str, self.dims))}]"

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    @property
    def is_bound(self) -> bool:
        """True where a dimension is a length field, so that the size is set at creation."""
        return any(isinstance(dim, str) for dim in self.dims)


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a struct, union or buffer."""

    name: str
    type: Type
    atomic: bool = False
    align: int | None = None


@dataclass(frozen=True, slots=True)
class StructType(Type):
    """Members one after the other, or one over the other in a union.

    `qualname` is the dotted name of the class (`ResultTable.Result`).
    """

    qualname: str
    fields: tuple[Field, ...]
    is_union: bool = False
    align: int | None = None

    def __str__(self) -> str:
        return self.qualname

    @property
    def name(self) -> str:
        """The last part of the qualified name."""
        return self.qualname.rpartition(".")[2]

    def field(self, name: str) -> Field | None:
        """The member of that name, or None."""
        return next((field for field in self.fields if field.name == name), None)


@dataclass(frozen=True, slots=True)
class BufferType(StructType):
    """A struct that owns a segment. Only its arrays may be bound to length fields.

    `is_constant` is true of a kernel's parameter that lies in constant memory.
    """

    is_constant: bool = False

    def __str__(self) -> str:
        return f"Constant<{self.qualname}>" if self.is_constant else self.qualname

    @property
    def length_names(self) -> frozenset[str]:
        """The fields that arrays are bound to: set at creation, constant afterwards."""
        return frozenset(
            dim
            for field in self.fields
            if isinstance(field.type, ArrayType)
            for dim in field.type.dims
            if isinstance(dim, str)
        )


@dataclass(frozen=True, slots=True)
class NDArrayType(Type):
    """An n-dimensional array without a header. Its shape travels beside it.

    `is_constant` is true of a kernel's parameter that lies in constant memory.
    """

    element: ScalarType
    rank: int
    is_constant: bool = False

    def __str__(self) -> str:
        text = f"NDArray<{self.element}, {self.rank}>"
        return f"Constant<{text}>" if self.is_constant else text


def sizes_of(type_: Type | None) -> dict[str, ScalarType]:
    """The sizes that travel with a buffer, by name: launches and calls pass them after its memory.

    An n-d array has its shape, `shape0`, `shape1`, …; a buffer has its lengths, in the order of its
    fields. Kernels take them from there and not from the buffer's header, which any program that
    has the memory can overwrite.
    """
    if isinstance(type_, NDArrayType):
        return {f"shape{axis}": I32 for axis in range(type_.rank)}
    if isinstance(type_, BufferType):
        names = type_.length_names
        return {
            field.name: field.type
            for field in type_.fields
            if field.name in names and isinstance(field.type, ScalarType)
        }
    return {}


TypeT = TypeVar("TypeT", bound=Type)


def in_global(type_: TypeT) -> TypeT:
    """The same type as it lies in global memory, which is where the host makes buffers."""
    if isinstance(type_, BufferType | NDArrayType) and type_.is_constant:
        return replace(type_, is_constant=False)
    return type_


def in_constant(type_: Type) -> Type | None:
    """The same buffer or n-d array as it lies in constant memory; None for other types."""
    can_be = isinstance(type_, BufferType | NDArrayType)
    return replace(type_, is_constant=True) if can_be else None


def spoken(type_: Type) -> str:
    """A type as it is written in an annotation: `S32Array`, `NDArray[f32]`."""
    if isinstance(type_, BufferType | NDArrayType) and type_.is_constant:
        return f"tb.Constant[{spoken(in_global(type_))}]"
    return f"NDArray[{type_.element}]" if isinstance(type_, NDArrayType) else str(type_)


INDEX = "[]"


def path_steps(path: str) -> Iterator[str]:
    """The steps of a path: `"result[].x"` gives `result`, `[]`, `x`."""
    return filter(None, path.replace(INDEX, f".{INDEX}").split("."))


def join_path(prefix: str, suffix: str) -> str:
    """One path after the other: `join_path("result[]", "x")` is `"result[].x"`."""
    if not prefix or not suffix or suffix.startswith(INDEX):
        return prefix + suffix
    return f"{prefix}.{suffix}"


def step_into(parent: Type, step: str) -> Type | None:
    """The type one step below `parent`, or None where there is no such place."""
    if step == INDEX:
        return parent.element if isinstance(parent, ArrayType | NDArrayType) else None
    if isinstance(parent, StructType):
        field = parent.field(step)
        return field.type if field else None
    return None


def type_at(parent: Type, path: str) -> Type | None:
    """The type that a path leads to, or None where it leads nowhere."""
    here: Type | None = parent
    for step in path_steps(path):
        here = step_into(here, step) if here is not None else None
    return here


def walk_path(root: Type, path: str) -> Iterator[tuple[str, Type]]:
    """The steps of a path, each with the type that it begins at, as far as it leads somewhere."""
    here: Type | None = root
    for step in path_steps(path):
        if here is None:
            return
        yield step, here
        here = step_into(here, step)


@dataclass(frozen=True, slots=True)
class Leaf:
    """One number inside a struct: `name` is unique there (`pos.x`, `m[0,1]`).

    `path` and `indices` lead to it in memory.
    """

    name: str
    path: str
    indices: tuple[int, ...]
    type: ScalarType


@cache
def leaves(struct: StructType) -> tuple[Leaf, ...]:
    """Every number of a struct, in the order of memory; padding has none."""
    return tuple(leaf for field in struct.fields for leaf in _leaves(field.name, field.type))


def _leaves(name: str, type_: Type) -> Iterator[Leaf]:
    match type_:
        case ScalarType():
            yield Leaf(name, name, (), type_)
        case StructType():
            for leaf in leaves(type_):
                path = join_path(name, leaf.path)
                yield Leaf(f"{name}.{leaf.name}", path, leaf.indices, leaf.type)
        case ArrayType():
            for place in product(*(range(d) for d in type_.dims if isinstance(d, int))):
                shown = f"{name}[{','.join(map(str, place))}]"
                for leaf in _leaves("", type_.element):
                    path = join_path(f"{name}{INDEX}", leaf.path)
                    inner = f"{shown}{leaf.name}" if leaf.name else shown
                    yield Leaf(inner, path, (*place, *leaf.indices), leaf.type)
        case _:
            return


def index_count(parent: Type, path: str) -> int:
    """How many indices a path takes."""
    arrays = (here for step, here in walk_path(parent, path) if step == INDEX)
    return sum(here.rank for here in arrays if isinstance(here, ArrayType | NDArrayType))

"""What an expression of a kernel can be before it is a value of the model."""

from typing import TypeAlias

from trilby.data.dtypes import Number, Type
from trilby.data.schema import ArrayType, StructType
from trilby.dataclass import dataclass
from trilby.model.value import Value


@dataclass(frozen=True, slots=True)
class Literal:
    """A Python number without a type of its own; it takes the other operand's."""

    number: Number


@dataclass(frozen=True, slots=True)
class PlaceOf:
    """A place in memory that is neither read nor written yet.

    `type` is what stands there: a number, a struct, or an array still to be indexed.
    """

    base: Value
    path: str
    indices: tuple[Value, ...]
    type: Type
    writable: bool = True


@dataclass(frozen=True, slots=True)
class ShapeOf:
    """`a.shape` of an n-d array with so many axes."""

    base: Value
    rank: int


@dataclass(frozen=True, slots=True)
class KnownObject:
    """A Python object that the kernel names: a function, a type, a module."""

    thing: object


@dataclass(frozen=True, slots=True)
class Several:
    """A tuple; it exists only on the way to a tuple assignment or an index."""

    items: "tuple[Operand, ...]"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A struct, vector, matrix, or an array inside of one, whose numbers have been computed."""

    type: StructType | ArrayType
    parts: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class LocalPlace:
    """A local variable that holds a struct, or what is within it (`p.position.x`), not yet read.

    Each number of it is a variable of its own, of that name.
    """

    path: str
    type: Type


Operand: TypeAlias = (
    Value | Literal | PlaceOf | LocalPlace | ShapeOf | KnownObject | Several | Aggregate
)

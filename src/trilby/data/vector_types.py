"""Which structs are vectors and matrices, without their classes.

Those take a while to load, and most kernels use none: a struct that is one comes from its class,
which says so here when it is made.
"""

from trilby.data.dtypes import ScalarType
from trilby.data.schema import StructType
from trilby.process import PROCESS

LANES = "xyzw"


def add_vector(struct: StructType, element: ScalarType, lanes: int) -> None:
    """A struct is a vector of so many lanes."""
    PROCESS.vectors[struct] = element, lanes
    PROCESS.vector_types[element, lanes] = struct


def add_matrix(struct: StructType, rows: int) -> None:
    """A struct is a matrix of so many rows."""
    PROCESS.matrices[struct] = rows


def vector_of(struct: StructType) -> tuple[ScalarType, int] | None:
    """The element and the number of lanes of a vector type; None for other structs."""
    return PROCESS.vectors.get(struct)


def vector_type(element: ScalarType, lanes: int) -> StructType:
    """The type of the vectors with such lanes. Somebody has a vector: their classes are there."""
    found: StructType = PROCESS.vector_types[element, lanes]
    return found


def matrix_of(struct: StructType) -> int | None:
    """The number of rows of a matrix type; None for other structs."""
    return PROCESS.matrices.get(struct)


def swizzle(name: str, lanes: int) -> tuple[int, ...] | None:
    """The lanes that a name such as `zyx` picks, or None where it is no swizzle."""
    numbers = tuple(LANES.find(letter) for letter in name)
    is_swizzle = 2 <= len(name) <= len(LANES) and all(0 <= n < lanes for n in numbers)
    return numbers if is_swizzle else None

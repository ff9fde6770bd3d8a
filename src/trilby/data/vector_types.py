"""Which structs are vectors and matrices, without their classes.

Those take a while to load, and most kernels use none.
"""

from collections.abc import Mapping
from functools import cache

from trilby.data.dtypes import F16, F32, I32, U8, U32, ScalarType
from trilby.data.schema import ArrayType, Field, StructType

LANES = "xyzw"
ELEMENTS = (F32, I32, U32, U8, F16)
SIZES = (2, 3, 4)
"""How many lanes there may be in a vector, and rows in a matrix."""


@cache
def vector_type(element: ScalarType, lanes: int) -> StructType:
    """The type of a vector: `f32x3` has the members `x y z`, and takes the room of four."""
    members = tuple(Field(name, element) for name in LANES[:lanes])
    align = element.size * (4 if lanes == 3 else lanes)
    return StructType(f"{element}x{lanes}", members, align=align)


@cache
def _vectors() -> Mapping[StructType, tuple[ScalarType, int]]:
    return {vector_type(of, lanes): (of, lanes) for of in ELEMENTS for lanes in SIZES}


@cache
def _matrices() -> Mapping[StructType, int]:
    dims = {rows: ArrayType(F32, (rows, rows)) for rows in SIZES}
    return {StructType(f"f32x{n}x{n}", (Field("m", array),)): n for n, array in dims.items()}


def vector_of(struct: StructType) -> tuple[ScalarType, int] | None:
    """The element and the number of lanes of a vector type; None for other structs."""
    return _vectors().get(struct)


def matrix_of(struct: StructType) -> int | None:
    """The number of rows of a matrix type; None for other structs."""
    return _matrices().get(struct)


def swizzle(name: str, lanes: int) -> tuple[int, ...] | None:
    """The lanes that a name such as `zyx` picks, or None where it is no swizzle."""
    numbers = tuple(LANES.find(letter) for letter in name)
    is_swizzle = 2 <= len(name) <= len(LANES) and all(0 <= n < lanes for n in numbers)
    return numbers if is_swizzle else None

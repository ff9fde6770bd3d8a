"""Which structs are vectors and matrices, without their classes.

Those take a while to load, and most kernels use none: a struct that is one comes from its class,
which says so here when it is made.
"""

from trilby.data.dtypes import ScalarType
from trilby.data.schema import StructType
from trilby.process import PROCESS

LANES = "xyzw"

_SHAPES: dict[StructType, tuple[ScalarType, tuple[int, ...]]] = PROCESS.vector_shapes
"""The element of each, and its dimensions: `(3,)` of a vector, `(3, 3)` of a matrix."""


def add_shape(struct: StructType, element: ScalarType, *dims: int) -> None:
    """A struct is a vector or a matrix with such dimensions."""
    _SHAPES[struct] = element, dims


def vector_of(struct: StructType) -> tuple[ScalarType, int] | None:
    """The element and the number of lanes of a vector type; None for other structs."""
    match _SHAPES.get(struct):
        case (element, (lanes,)):
            return element, lanes
        case _:
            return None


def vector_type(element: ScalarType, lanes: int) -> StructType:
    """The type of the vectors with such lanes. Somebody has a vector: their classes are there."""
    return next(struct for struct, shape in _SHAPES.items() if shape == (element, (lanes,)))


def matrix_of(struct: StructType) -> int | None:
    """The number of rows of a matrix type; None for other structs."""
    _, dims = _SHAPES.get(struct, (None, ()))
    return dims[0] if len(dims) == 2 else None


def swizzle(name: str, lanes: int) -> tuple[int, ...] | None:
    """The lanes that a name such as `zyx` picks, or None where it is no swizzle."""
    numbers = tuple(LANES.find(letter) for letter in name)
    is_swizzle = 2 <= len(name) <= len(LANES) and all(0 <= n < lanes for n in numbers)
    return numbers if is_swizzle else None

"""Vectors: small structs of numbers that compute as one.

In memory a vector is a struct with the members `x y z w`, aligned to its size (three lanes
take the room of four), so that it can be a member or an element like any other struct.
Vectors are values: an assignment in a kernel copies. Lanes are read and written by name:
`v.xy`, `v.zyx`, `v.xy = u`.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Self, TypeGuard, TypeVar, cast

import numpy as np

from trilby.data.dtypes import SCALARS, ScalarType
from trilby.data.names import f16, f32, i32, u8, u32
from trilby.data.record import Record
from trilby.data.schema import StructType
from trilby.data.struct import Struct
from trilby.errors import ArgumentTypeError

LANES = "xyzw"
T = TypeVar("T", int, float)


def swizzle(name: str, lanes: int) -> tuple[int, ...] | None:
    """The lanes that a name such as `zyx` picks, or None where it is no swizzle."""
    numbers = tuple(LANES.find(letter) for letter in name)
    is_swizzle = 2 <= len(name) <= len(LANES) and all(0 <= n < lanes for n in numbers)
    return numbers if is_swizzle else None


class VectorMath(Generic[T]):
    """Arithmetic lane by lane, with another vector of the type or with one number."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    else:

        def __getattr__(self, name: str) -> object:
            picked = swizzle(name, len(_names(self)))
            if picked is None:
                return Record.__getattr__(self, name)
            numbers = [getattr(self, LANES[lane]) for lane in picked]
            return VECTORS[_element(self).name, len(picked)](*numbers)

        def __setattr__(self, name: str, value: object) -> None:
            picked = swizzle(name, len(_names(self)))
            if picked is None:
                Record.__setattr__(self, name, value)
                return
            check_distinct(name)
            for lane, number in zip(picked, lane_numbers(self, value), strict=True):
                setattr(self, LANES[lane], number)

    def _with(self, other: object, operation: Callable[[Any, Any], Any], *, swap: bool) -> Self:
        left, right = lane_numbers(self, self), lane_numbers(self, other)
        if swap:
            left, right = right, left
        with np.errstate(all="ignore"):
            lanes = operation(np.broadcast_to(left, len(_names(self))), right)
        return type(self)(*lanes.astype(left.dtype).tolist())

    def __add__(self, other: Self | T) -> Self:
        return self._with(other, np.add, swap=False)

    def __radd__(self, other: T) -> Self:
        return self._with(other, np.add, swap=True)

    def __sub__(self, other: Self | T) -> Self:
        return self._with(other, np.subtract, swap=False)

    def __rsub__(self, other: T) -> Self:
        return self._with(other, np.subtract, swap=True)

    def __mul__(self, other: Self | T) -> Self:
        return self._with(other, np.multiply, swap=False)

    def __rmul__(self, other: T) -> Self:
        return self._with(other, np.multiply, swap=True)

    def __truediv__(self, other: Self | T) -> Self:
        _check_float(self)
        return self._with(other, np.true_divide, swap=False)

    def __rtruediv__(self, other: T) -> Self:
        _check_float(self)
        return self._with(other, np.true_divide, swap=True)

    def __floordiv__(self, other: Self | T) -> Self:
        return self._with(other, np.floor_divide, swap=False)

    def __mod__(self, other: Self | T) -> Self:
        return self._with(other, np.remainder, swap=False)

    def __neg__(self) -> Self:
        return self._with(0, lambda lanes, _: -lanes, swap=False)


def _names(vector: object) -> tuple[str, ...]:
    return tuple(type(vector).__elements__)  # type: ignore[attr-defined]


def _element(vector: object) -> ScalarType:
    return type(vector).__schema__.fields[0].type  # type: ignore[attr-defined]


def _is_vector(value: object) -> TypeGuard[VectorMath[Any]]:
    return isinstance(value, VectorMath)


def lane_numbers(vector: object, value: object) -> "np.ndarray[Any, Any]":
    """A vector's lanes, or one number, in the vector's element type."""
    if _is_vector(value):
        return np.array([getattr(value, n) for n in _names(value)], _element(vector).numpy)
    return np.asarray(value, _element(vector).numpy)


def _check_float(vector: object) -> None:
    if not _element(vector).is_float:
        raise ArgumentTypeError(
            f"`/` of `{type(vector).__name__}` would leave its integer lanes",
            advice="use `//`, or a vector of floats",
        )


def check_distinct(name: str) -> None:
    """A swizzle that is written names no lane twice."""
    if len(set(name)) != len(name):
        raise ArgumentTypeError(f"`.{name}` writes a lane twice", advice="name each lane once")


class f32x2(VectorMath[float], Struct, align=8):
    """2 lanes of f32."""

    x: f32
    y: f32

    def __init__(self, x: f32, y: f32) -> None:
        super().__init__(x=x, y=y)


class f32x3(VectorMath[float], Struct, align=16):
    """3 lanes of f32."""

    x: f32
    y: f32
    z: f32

    def __init__(self, x: f32, y: f32, z: f32) -> None:
        super().__init__(x=x, y=y, z=z)


class f32x4(VectorMath[float], Struct, align=16):
    """4 lanes of f32."""

    x: f32
    y: f32
    z: f32
    w: f32

    def __init__(self, x: f32, y: f32, z: f32, w: f32) -> None:
        super().__init__(x=x, y=y, z=z, w=w)


class i32x2(VectorMath[int], Struct, align=8):
    """2 lanes of i32."""

    x: i32
    y: i32

    def __init__(self, x: i32, y: i32) -> None:
        super().__init__(x=x, y=y)


class i32x3(VectorMath[int], Struct, align=16):
    """3 lanes of i32."""

    x: i32
    y: i32
    z: i32

    def __init__(self, x: i32, y: i32, z: i32) -> None:
        super().__init__(x=x, y=y, z=z)


class i32x4(VectorMath[int], Struct, align=16):
    """4 lanes of i32."""

    x: i32
    y: i32
    z: i32
    w: i32

    def __init__(self, x: i32, y: i32, z: i32, w: i32) -> None:
        super().__init__(x=x, y=y, z=z, w=w)


class u32x2(VectorMath[int], Struct, align=8):
    """2 lanes of u32."""

    x: u32
    y: u32

    def __init__(self, x: u32, y: u32) -> None:
        super().__init__(x=x, y=y)


class u32x3(VectorMath[int], Struct, align=16):
    """3 lanes of u32."""

    x: u32
    y: u32
    z: u32

    def __init__(self, x: u32, y: u32, z: u32) -> None:
        super().__init__(x=x, y=y, z=z)


class u32x4(VectorMath[int], Struct, align=16):
    """4 lanes of u32."""

    x: u32
    y: u32
    z: u32
    w: u32

    def __init__(self, x: u32, y: u32, z: u32, w: u32) -> None:
        super().__init__(x=x, y=y, z=z, w=w)


class u8x2(VectorMath[int], Struct, align=2):
    """2 lanes of u8."""

    x: u8
    y: u8

    def __init__(self, x: u8, y: u8) -> None:
        super().__init__(x=x, y=y)


class u8x3(VectorMath[int], Struct, align=4):
    """3 lanes of u8."""

    x: u8
    y: u8
    z: u8

    def __init__(self, x: u8, y: u8, z: u8) -> None:
        super().__init__(x=x, y=y, z=z)


class u8x4(VectorMath[int], Struct, align=4):
    """4 lanes of u8."""

    x: u8
    y: u8
    z: u8
    w: u8

    def __init__(self, x: u8, y: u8, z: u8, w: u8) -> None:
        super().__init__(x=x, y=y, z=z, w=w)


class f16x2(VectorMath[float], Struct, align=4):
    """2 lanes of f16."""

    x: f16
    y: f16

    def __init__(self, x: f16, y: f16) -> None:
        super().__init__(x=x, y=y)


class f16x3(VectorMath[float], Struct, align=8):
    """3 lanes of f16."""

    x: f16
    y: f16
    z: f16

    def __init__(self, x: f16, y: f16, z: f16) -> None:
        super().__init__(x=x, y=y, z=z)


class f16x4(VectorMath[float], Struct, align=8):
    """4 lanes of f16."""

    x: f16
    y: f16
    z: f16
    w: f16

    def __init__(self, x: f16, y: f16, z: f16, w: f16) -> None:
        super().__init__(x=x, y=y, z=z, w=w)


VECTORS: dict[tuple[str, int], Any] = {
    ("f32", 2): f32x2,
    ("f32", 3): f32x3,
    ("f32", 4): f32x4,
    ("i32", 2): i32x2,
    ("i32", 3): i32x3,
    ("i32", 4): i32x4,
    ("u32", 2): u32x2,
    ("u32", 3): u32x3,
    ("u32", 4): u32x4,
    ("u8", 2): u8x2,
    ("u8", 3): u8x3,
    ("u8", 4): u8x4,
    ("f16", 2): f16x2,
    ("f16", 3): f16x3,
    ("f16", 4): f16x4,
}
"""Every vector class by its element and its number of lanes."""

_SCHEMAS: dict[StructType, tuple[ScalarType, int]] = {
    cls.__schema__: (SCALARS[element], lanes) for (element, lanes), cls in VECTORS.items()
}


def vector_of(struct: StructType) -> tuple[ScalarType, int] | None:
    """The element and the number of lanes of a vector type; None for other structs."""
    return _SCHEMAS.get(struct)


def vector_type(element: ScalarType, lanes: int) -> StructType:
    """The type of the vectors with such lanes."""
    return VECTORS[element.name, lanes].__schema__


def dot(left: Any, right: Any) -> Any:
    """The sum of the products of the lanes, from left to right."""
    lanes = lane_numbers(left, left) * lane_numbers(left, right)
    total = lanes[0]
    for lane in lanes[1:]:
        total = total + lane
    return total.item()


def cross(left: f32x3, right: f32x3) -> f32x3:
    """The vector at right angles to two others."""
    return f32x3(
        *lane_numbers(
            left,
            left.yzx * right.zxy - left.zxy * right.yzx,
        ).tolist()
    )


def length(vector: Any) -> float:
    """The length of a vector of floats."""
    return float(cast("Any", _element(vector).numpy.type)(math.sqrt(dot(vector, vector))))


VectorT = TypeVar("VectorT", bound=VectorMath[Any])


def normalize(vector: VectorT) -> VectorT:
    """The vector of length 1 in the same direction."""
    return vector / length(vector)

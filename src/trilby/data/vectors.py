"""Vectors: small structs of numbers that compute as one.

In memory a vector is a struct with the members `x y z w`, aligned to its size (three lanes
take the room of four), so that it can be a member or an element like any other struct.
Vectors are values: an assignment in a kernel copies. Lanes are read and written by name:
`v.xy`, `v.zyx`, `v.xy = u`. A vector is made of numbers and of shorter vectors:
`f32x4(v.xy, 0, 1)`.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from trilby.data.dtypes import ScalarType
from trilby.data.lanes import (
    FloatT,
    FloatVector,
    Four,
    IntVector,
    T,
    Three,
    Two,
    VectorMath,
    check_vectors,
    is_vector,
    lane_names,
    lane_numbers,
    lane_type,
)
from trilby.data.names import f16, f32, i32, u8, u32
from trilby.data.record import Record
from trilby.data.struct import Struct
from trilby.data.vector_types import ELEMENTS, LANES, SIZES, swizzle, vector_type
from trilby.errors import ArgumentTypeError


class _Swizzles:
    """Lanes by name; a checker takes any name."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __init_subclass__(cls, *, of: object) -> None: ...
        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    else:

        def __init_subclass__(cls, *, of: ScalarType) -> None:
            """Declare the members: as many as the name of the class says, aligned together."""
            lanes = int(cls.__name__[-1])
            cls.__annotations__ = dict.fromkeys(LANES[:lanes], of)
            super().__init_subclass__(align=vector_type(of, lanes).align)

        def __getattr__(self, name: str) -> object:
            picked = swizzle(name, len(lane_names(self)))
            if picked is None:
                return Record.__getattr__(self, name)
            numbers = [getattr(self, LANES[lane]) for lane in picked]
            return VECTORS[lane_type(self).name, len(picked)](*numbers)

        def __setattr__(self, name: str, value: object) -> None:
            picked = swizzle(name, len(lane_names(self)))
            if picked is None:
                Record.__setattr__(self, name, value)
                return
            _check_written(name, value)
            for lane, number in zip(picked, lane_numbers(self, value), strict=True):
                setattr(self, LANES[lane], number)


if TYPE_CHECKING:
    NumberedStruct = Record  # a checker takes numbers in order, not by the names of members
else:
    NumberedStruct = Struct


def _check_written(name: str, value: object) -> None:
    """A swizzle that is written names no lane twice, and gets as many as it names."""
    if len(set(name)) != len(name):
        raise ArgumentTypeError(f"`.{name}` writes a lane twice", advice="name each lane once")
    if not is_vector(value) or len(lane_names(value)) != len(name):
        raise ArgumentTypeError(
            f"`.{name}` takes {len(name)} lanes, and this is {type(value).__name__}",
            advice="assign a vector with as many lanes",
        )


class f32x2(Two[float], FloatVector, _Swizzles, NumberedStruct, of=f32):
    """2 lanes of f32."""


class f32x3(Three[float], FloatVector, _Swizzles, NumberedStruct, of=f32):
    """3 lanes of f32."""


class f32x4(Four[float], FloatVector, _Swizzles, NumberedStruct, of=f32):
    """4 lanes of f32."""


class i32x2(Two[int], IntVector, _Swizzles, NumberedStruct, of=i32):
    """2 lanes of i32."""


class i32x3(Three[int], IntVector, _Swizzles, NumberedStruct, of=i32):
    """3 lanes of i32."""


class i32x4(Four[int], IntVector, _Swizzles, NumberedStruct, of=i32):
    """4 lanes of i32."""


class u32x2(Two[int], IntVector, _Swizzles, NumberedStruct, of=u32):
    """2 lanes of u32."""


class u32x3(Three[int], IntVector, _Swizzles, NumberedStruct, of=u32):
    """3 lanes of u32."""


class u32x4(Four[int], IntVector, _Swizzles, NumberedStruct, of=u32):
    """4 lanes of u32."""


class u8x2(Two[int], IntVector, _Swizzles, NumberedStruct, of=u8):
    """2 lanes of u8."""


class u8x3(Three[int], IntVector, _Swizzles, NumberedStruct, of=u8):
    """3 lanes of u8."""


class u8x4(Four[int], IntVector, _Swizzles, NumberedStruct, of=u8):
    """4 lanes of u8."""


class f16x2(Two[float], FloatVector, _Swizzles, NumberedStruct, of=f16):
    """2 lanes of f16."""


class f16x3(Three[float], FloatVector, _Swizzles, NumberedStruct, of=f16):
    """3 lanes of f16."""


class f16x4(Four[float], FloatVector, _Swizzles, NumberedStruct, of=f16):
    """4 lanes of f16."""


VECTORS: dict[tuple[str, int], Any] = {
    (element.name, lanes): globals()[f"{element}x{lanes}"]
    for element in ELEMENTS
    for lanes in SIZES
}
"""Every vector class by its element and its number of lanes."""


def dot(left: VectorMath[T], right: VectorMath[T]) -> T:
    """The sum of the products of the lanes, from left to right."""
    check_vectors("dot", left, right)
    first, *others = zip(lane_numbers(left, left), lane_numbers(left, right), strict=True)
    with np.errstate(all="ignore"):
        total = first[0] * first[1]
        for a, b in others:
            total = total + a * b
    return total.item()


def cross(left: f32x3, right: f32x3) -> f32x3:
    """The vector at right angles to two others."""
    check_vectors("cross", left, right, f32x3(0.0, 0.0, 0.0))
    return f32x3(left.yzx * right.zxy - left.zxy * right.yzx)


def length(vector: FloatVector) -> float:
    """The length of a vector of floats."""
    check_vectors("length", vector, floats=True)
    return float(lane_type(vector).numpy.type(math.sqrt(dot(vector, vector))))


def normalize(vector: FloatT) -> FloatT:
    """The vector of length 1 in the same direction."""
    return vector / length(vector)

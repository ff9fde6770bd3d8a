"""What all vectors share: arithmetic lane by lane, and how they are made of numbers.

Nothing here knows the vector classes themselves; `vectors` has them.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Self, TypeGuard, TypeVar, overload

import numpy as np

from trilby.arguments import brief
from trilby.data.dtypes import ScalarType
from trilby.errors import ArgumentTypeError

T = TypeVar("T", int, float)


class VectorMath(Generic[T]):
    """Arithmetic lane by lane, with another vector of the type or with one number."""

    __slots__ = ()

    def _computed(self, operation: Callable[..., Any], *operands: object) -> Self:
        """What an operation of NumPy makes of the lanes of vectors, and of numbers."""
        for one in operands:
            _check_partner(self, one)
        with np.errstate(all="ignore"):
            lanes = operation(*(lane_numbers(self, one) for one in operands))
        make: Callable[..., Self] = type(self)
        return make(*lanes.astype(lane_type(self).numpy).tolist())

    def __add__(self, other: Self | T) -> Self:
        return self._computed(np.add, self, other)

    def __radd__(self, other: T) -> Self:
        return self._computed(np.add, other, self)

    def __sub__(self, other: Self | T) -> Self:
        return self._computed(np.subtract, self, other)

    def __rsub__(self, other: T) -> Self:
        return self._computed(np.subtract, other, self)

    def __mul__(self, other: Self | T) -> Self:
        return self._computed(np.multiply, self, other)

    def __rmul__(self, other: T) -> Self:
        return self._computed(np.multiply, other, self)

    def __floordiv__(self, other: Self | T) -> Self:
        return self._computed(np.floor_divide, self, other)

    def __rfloordiv__(self, other: T) -> Self:
        return self._computed(np.floor_divide, other, self)

    def __mod__(self, other: Self | T) -> Self:
        return self._computed(np.remainder, self, other)

    def __rmod__(self, other: T) -> Self:
        return self._computed(np.remainder, other, self)

    def __pow__(self, other: Self | T) -> Self:
        return self._computed(np.power, self, other)

    def __neg__(self) -> Self:
        return self._computed(np.negative, self)

    def __pos__(self) -> Self:
        return self._computed(np.positive, self)

    def __abs__(self) -> Self:
        return self._computed(np.abs, self)


class FloatVector(VectorMath[float]):
    """Lanes of floats, which divide."""

    __slots__ = ()

    def __truediv__(self, other: Self | float) -> Self:
        return self._computed(np.true_divide, self, other)

    def __rtruediv__(self, other: float) -> Self:
        return self._computed(np.true_divide, other, self)


class IntVector(VectorMath[int]):
    """Lanes of integers, which have bits."""

    __slots__ = ()

    def __and__(self, other: Self | int) -> Self:
        return self._computed(np.bitwise_and, self, other)

    def __or__(self, other: Self | int) -> Self:
        return self._computed(np.bitwise_or, self, other)

    def __xor__(self, other: Self | int) -> Self:
        return self._computed(np.bitwise_xor, self, other)

    def __lshift__(self, other: Self | int) -> Self:
        return self._computed(np.left_shift, self, other)

    def __rshift__(self, other: Self | int) -> Self:
        return self._computed(np.right_shift, self, other)

    def __invert__(self) -> Self:
        return self._computed(np.invert, self)

    if not TYPE_CHECKING:  # a checker knows that there is none

        def __truediv__(self, other: object) -> None:
            raise ArgumentTypeError(
                f"`/` of `{type(self).__name__}` would leave its integer lanes",
                advice="use `//`, or a vector of floats",
            )


def lane_names(vector: object) -> tuple[str, ...]:
    """The names of a vector's lanes."""
    return tuple(type(vector).__elements__)  # type: ignore[attr-defined]


def lane_type(vector: object) -> ScalarType:
    """The type of a vector's lanes."""
    return type(vector).__schema__.fields[0].type  # type: ignore[attr-defined]


def is_vector(value: object) -> TypeGuard[VectorMath[Any]]:
    """True for a vector object."""
    return isinstance(value, VectorMath)


def lane_numbers(vector: object, value: object) -> "np.ndarray[Any, Any]":
    """A vector's lanes, or one number, in the vector's element type."""
    if is_vector(value):
        return np.array([getattr(value, n) for n in lane_names(value)], lane_type(vector).numpy)
    return np.asarray(value, lane_type(vector).numpy)


def _check_partner(vector: object, other: object) -> None:
    """Refuse what a kernel refuses: another vector type, and floats beside integers."""
    name = type(vector).__name__
    if is_vector(other):
        if type(other) is not type(vector):
            raise ArgumentTypeError(
                f"`{name}` and `{type(other).__name__}` do not compute with each other",
                advice="make one of the other: a vector is made of numbers and of vectors",
            )
    elif isinstance(other, float) and not lane_type(vector).is_float:
        raise ArgumentTypeError(
            f"a lane of `{name}` is `{lane_type(vector)}`, and {brief(other)} is a float",
            advice="use a whole number, or a vector of floats",
        )


VectorT = TypeVar("VectorT", bound=VectorMath[Any])
FloatT = TypeVar("FloatT", bound=FloatVector)
IntT = TypeVar("IntT", bound=IntVector)


def lane_by_lane(function: Callable[..., Any], like: VectorT, *args: object) -> VectorT:
    """A function of numbers on each lane; a single number stands for all lanes."""
    for one in args:
        _check_partner(like, one)
    lanes = len(lane_names(like))
    columns = [np.broadcast_to(lane_numbers(like, one), lanes).tolist() for one in args]
    make: Callable[..., VectorT] = type(like)
    return make(*(function(*numbers) for numbers in zip(*columns, strict=True)))


def check_lanes(vector: object, function: str, *, floats: bool) -> None:
    """Refuse lanes that a function does not take, as a kernel does."""
    if lane_type(vector).is_float is not floats:
        kind = "floats" if floats else "integers"
        raise ArgumentTypeError(
            f"`{function}` takes {kind}, and this is `{type(vector).__name__}`",
            advice=f"use a vector of {kind}",
        )


def flat_numbers(owner: object, given: tuple[object, ...], wanted: int) -> list[object]:
    """Numbers, and the lanes of the vectors among them, in order."""
    numbers: list[object] = []
    for one in given:
        numbers.extend([getattr(one, n) for n in lane_names(one)] if is_vector(one) else [one])
    if len(numbers) != wanted:
        count = "1 is given" if len(numbers) == 1 else f"{len(numbers)} are given"
        raise ArgumentTypeError(
            f"`{type(owner).__name__}` has {wanted} numbers, and {count}",
            advice=f"give {wanted} numbers, or vectors that have as many lanes together",
        )
    return numbers


def check_vectors(function: str, *given: object, floats: bool = False) -> None:
    """Refuse what is no vector, and integers where a function takes vectors of floats."""
    for one in given:
        if not is_vector(one):
            raise ArgumentTypeError(
                f"`{function}` takes vectors, and {brief(one)} is {type(one).__name__}",
                advice="make one: `f32x3(x, y, z)`",
            )
        if type(one) is not type(given[0]):
            _check_partner(given[0], one)
        if floats:
            check_lanes(one, function, floats=True)


if TYPE_CHECKING:

    class Two(VectorMath[T]):
        """Made of two numbers, or of a vector."""

        x: T
        y: T

        @overload
        def __init__(self, x: T, y: T, /) -> None: ...
        @overload
        def __init__(self, xy: VectorMath[T], /) -> None: ...
        def __init__(self, *_: Any) -> None: ...

    class Three(VectorMath[T]):
        """Made of three numbers, or of vectors that have them."""

        x: T
        y: T
        z: T

        @overload
        def __init__(self, x: T, y: T, z: T, /) -> None: ...
        @overload
        def __init__(self, xy: VectorMath[T], z: T, /) -> None: ...
        @overload
        def __init__(self, x: T, yz: VectorMath[T], /) -> None: ...
        @overload
        def __init__(self, xyz: VectorMath[T], /) -> None: ...
        def __init__(self, *_: Any) -> None: ...

    class Four(VectorMath[T]):
        """Made of four numbers, or of vectors that have them."""

        x: T
        y: T
        z: T
        w: T

        @overload
        def __init__(self, x: T, y: T, z: T, w: T, /) -> None: ...
        @overload
        def __init__(self, xy: VectorMath[T], z: T, w: T, /) -> None: ...
        @overload
        def __init__(self, x: T, yz: VectorMath[T], w: T, /) -> None: ...
        @overload
        def __init__(self, x: T, y: T, zw: VectorMath[T], /) -> None: ...
        @overload
        def __init__(self, xy: VectorMath[T], zw: "VectorMath[T] | T", /) -> None: ...
        @overload
        def __init__(self, x: T, yzw: VectorMath[T], /) -> None: ...
        @overload
        def __init__(self, xyzw: VectorMath[T], /) -> None: ...
        def __init__(self, *_: Any) -> None: ...

else:

    class Two(VectorMath[T]):
        """Made of numbers, and of vectors that have them."""

        __slots__ = ()

        def __init__(self, *lanes: object) -> None:
            names = lane_names(self)
            numbers = flat_numbers(self, lanes, len(names))
            super().__init__(**dict(zip(names, numbers, strict=True)))

    Three = Four = Two

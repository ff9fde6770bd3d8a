"""The values and functions of kernels on NumPy's scalars, written without asking Trilby.

NumPy wraps integers and promotes types as the kernel language says. What it has not, or has
otherwise, stands here: casts that keep floats within the ends of an integer type, vectors,
structs, functions of mixed types, atomics.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from tests.property.kernel_types import LANES, NAMES, VECTORS, Array, float_of
from tests.property.numpy_kernel_scalars import TYPES, plain, type_of


class Vector:
    """Some lanes of one type; swizzles read and write."""

    _lanes: list[Any]
    _element: str

    def __init__(self, element: str, lanes: Iterable[Any]) -> None:
        self.__dict__["_element"] = element
        self.__dict__["_lanes"] = [TYPES[element](lane) for lane in lanes]

    def __getattr__(self, name: str) -> Any:
        if not name or set(name) - set(LANES):
            raise AttributeError(name)
        picked = [self._lanes[LANES.index(lane)] for lane in name]
        return picked[0] if len(picked) == 1 else Vector(self._element, picked)

    def __setattr__(self, name: str, value: Any) -> None:
        given = value.lanes() if isinstance(value, Vector) else [value]
        for lane, number in zip(name, given, strict=True):
            self._lanes[LANES.index(lane)] = TYPES[self._element](number)

    def lanes(self) -> list[Any]:
        """The numbers."""
        return list(self._lanes)

    def each(self, function: Callable[..., Any], *others: Any) -> "Vector":
        """A function of each lane; a single number stands beside all of them."""
        columns = [self._column(other) for other in others]
        rows = zip(self._lanes, *columns, strict=True)
        return Vector(self._element, [function(*row) for row in rows])

    def _column(self, other: Any) -> list[Any]:
        if isinstance(other, Vector):
            return other.lanes()
        return [TYPES[self._element](other)] * len(self._lanes)


def _operator(name: str) -> Callable[..., Vector]:
    def of_lane(lane: Any, *others: Any) -> Any:
        return getattr(lane, name)(*others)

    def of_vector(self: Vector, *others: Any) -> Vector:
        return self.each(of_lane, *others)

    return of_vector


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "xor", "neg", "abs"):
    setattr(Vector, f"__{_name}__", _operator(f"__{_name}__"))


def vector_type(name: str) -> Callable[..., Vector]:
    """A vector class: of numbers, or a copy of a vector."""
    element, _ = VECTORS[name]

    def make(*values: Any) -> Vector:
        given = [value.lanes() if isinstance(value, Vector) else [value] for value in values]
        return Vector(element, [lane for lanes in given for lane in lanes])

    return make


def type_called(name: str) -> Callable[..., Any]:
    """The type that stands behind the last `_` of a name."""
    type_ = name.rpartition("_")[2]
    return vector_type(type_) if type_ in VECTORS else TYPES[type_]


class Record:
    """A struct: members convert to the type in their name. Calling it with one copies that."""

    def __init__(self, other: "Record | None" = None, **members: Any) -> None:
        for name, value in (vars(other) if other is not None else members).items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = type_called(name)(value)


class Rows:
    """An array of structs: reading gives the struct in its place, writing copies."""

    def __init__(self, rows: list[Record]) -> None:
        self.rows = rows

    def __getitem__(self, index: int) -> Record:
        return self.rows[int(index)]

    def __setitem__(self, index: int, value: Record) -> None:
        for name, content in vars(value).items():
            setattr(self.rows[int(index)], name, content)


class Memory:
    """An array whose elements convert what is stored in them."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.own = TYPES[NAMES[array.dtype]]

    def __getitem__(self, index: Any) -> Any:
        found = self.array[index]
        return self.own(found) if self.own.name == "bf16" else found

    def __setitem__(self, index: Any, value: Any) -> None:
        self.array[index] = plain(self.own(value))


class Cells:
    """An array of vectors or structs: reading gives what is there, writing stores a copy."""

    def __init__(self, copy: Callable[[Any], Any]) -> None:
        self._copy = copy
        self._cells: dict[Any, Any] = {}

    def __getitem__(self, index: Any) -> Any:
        return self._cells[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._cells[index] = self._copy(value)


# -- functions ----------------------------------------------------------------------------


def _shared(values: tuple[Any, ...]) -> list[Any]:
    """Numbers in the type in which they meet; a Python number takes the others' type."""
    own = TYPES[type_of(*values)]
    return [own(value) for value in values]


def _of_any(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers that meet, and of vectors, lane by lane."""

    def apply(*values: Any) -> Any:
        if isinstance(values[0], Vector):
            return values[0].each(apply, *values[1:])
        return function(*_shared(values))

    return apply


def _least(*values: Any) -> Any:
    """Python's own `min`: the first of equals, and whatever comparisons say about NaN."""
    return min(values)


def _most(*values: Any) -> Any:
    return max(values)


def _clamp(value: Any, low: Any, high: Any) -> Any:
    return min(max(value, low), high)


def _sign(value: Any) -> Any:
    own = TYPES[NAMES[value.dtype]]
    if value > 0:
        return own(1)
    return own(-1) if value < 0 else value


def _pattern(value: Any) -> tuple[int, int]:
    """The bits of an integer, and how many there are."""
    width = value.dtype.itemsize * 8
    return int(value) & ((1 << width) - 1), width


def _popcount(value: Any) -> Any:
    return TYPES[NAMES[value.dtype]](_pattern(value)[0].bit_count())


def _clz(value: Any) -> Any:
    pattern, width = _pattern(value)
    return TYPES[NAMES[value.dtype]](width - pattern.bit_length())


def _dot(left: Vector, right: Vector) -> Any:
    total, *rest = [a * b for a, b in zip(left.lanes(), right.lanes(), strict=True)]
    for part in rest:
        total = total + part
    return total


def _cross(left: Any, right: Any) -> Any:
    return left.yzx * right.zxy - left.zxy * right.yzx


def _mix(a: Any, b: Any, t: Any) -> Any:
    return a + (b - a) * t


def _of_floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """Integers become the float that NumPy's own functions make of them."""

    def apply(*values: Any) -> Any:
        shared = _shared(values)
        own = TYPES[float_of(NAMES[shared[0].dtype])]
        return own(function(*(plain(own(value)) for value in shared)))

    return apply


def _of_plain(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: function(plain(value))


def _remainder(left: Any, right: Any) -> float:
    try:
        return math.remainder(float(left), float(right))
    except ValueError:
        return math.nan


def unknown(*_: Any) -> float:
    """A function with an error of some ulps: here nobody compares what it gives."""
    return math.nan


BUILTINS: dict[str, Callable[..., Any]] = {"min": _of_any(_least), "max": _of_any(_most)}

MATH: dict[str, Callable[..., Any]] = {
    **{name: _of_floats(getattr(np, name)) for name in ("floor", "ceil", "trunc", "fabs")},
    **{name: _of_floats(getattr(np, name)) for name in ("fmod", "copysign")},
    **{name: _of_plain(getattr(np, name)) for name in ("isnan", "isinf", "isfinite")},
    "remainder": _of_floats(_remainder),
}

TOOLKIT: dict[str, Callable[..., Any]] = {
    **{name: vector_type(name) for name in VECTORS},
    "clamp": _of_any(_clamp),
    "sign": _sign,
    "popcount": _popcount,
    "clz": _clz,
    "mix": _mix,
    "dot": _dot,
    "cross": _cross,
}

# -- atomics ------------------------------------------------------------------------------

_CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda old, new: old + new,
    "sub": lambda old, new: old - new,
    "inc": lambda old, _: old + type(old)(1),
    "dec": lambda old, _: old - type(old)(1),
    "min": min,
    "max": max,
    "and": lambda old, new: old & new,
    "or": lambda old, new: old | new,
    "xor": lambda old, new: old ^ new,
    "exchange": lambda _, new: new,
}


def _atomic(change: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def apply(memory: Memory, index: Any, operand: Any = 0) -> Any:
        old = memory[index]
        memory[index] = change(old, memory.own(operand))
        return old

    return apply


def _compare_exchange(memory: Memory, index: Any, expected: Any, operand: Any) -> Any:
    old = memory[index]
    if old == memory.own(expected):
        memory[index] = operand
    return old


ATOMICS: dict[str, Callable[..., Any]] = {
    **{f"atomic_{name}": _atomic(change) for name, change in _CHANGES.items()},
    "atomic_compare_exchange": _compare_exchange,
}

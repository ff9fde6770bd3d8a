"""Numbers of kernels as NumPy has them, and `bf16`, which NumPy's scalars do not mix with."""

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from tests.property.kernel_types import DTYPES, FLOATS, NAMES, SCALARS, common


@dataclass(frozen=True)
class Scalar:
    """A scalar type: calling it converts."""

    name: str

    def __call__(self, value: Any) -> Any:
        if self.name == "bool":
            return np.bool_(bool(value))
        is_float = type_of(value) in FLOATS
        if self.name == "bf16":
            return ShortFloat(TYPES["f32"](value))
        if self.name in FLOATS:
            by_double = is_float or self.name == "f16"
            return DTYPES[self.name].type(float(value) if by_double else value)
        number = self._cut(float(value)) if is_float else int(value)
        return np.array(number & ((1 << 64) - 1), np.uint64).astype(DTYPES[self.name])[()]

    def _cut(self, value: float) -> int:
        """Towards zero, within the ends; NaN is 0."""
        info = np.iinfo(DTYPES[self.name])
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return int(info.max) if value > 0 else int(info.min)
        return min(max(int(value), int(info.min)), int(info.max))


TYPES = {name: Scalar(name) for name in SCALARS}


class ShortFloat:
    """A `bf16`: an `f32` that is rounded after each step. ml_dtypes does the rounding."""

    __array_ufunc__ = None  # so NumPy's numbers leave operators beside one to this class
    dtype = DTYPES["bf16"]

    def __init__(self, value: np.float32) -> None:
        self.number = np.float32(self.dtype.type(value))

    def __float__(self) -> float:
        return float(self.number)

    def __bool__(self) -> bool:
        return bool(self.number)

    def __neg__(self) -> "ShortFloat":
        return ShortFloat(-self.number)

    def __pos__(self) -> "ShortFloat":
        return self

    def __abs__(self) -> "ShortFloat":
        return ShortFloat(abs(self.number))


def _beside(function: Callable[[Any, Any], Any], *, swapped: bool = False) -> Callable[..., Any]:
    """An operator of a `bf16` and any number, in the type in which they meet."""

    def apply(self: ShortFloat, other: Any) -> Any:
        own = TYPES[type_of(self, other)]
        pair = [plain(own(value)) for value in (self, other)]
        found = function(*(reversed(pair) if swapped else pair))
        return found if found.dtype == bool else own(found)

    return apply


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod"):
    _function = getattr(operator, _name)
    setattr(ShortFloat, f"__{_name}__", _beside(_function))
    setattr(ShortFloat, f"__r{_name}__", _beside(_function, swapped=True))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(ShortFloat, f"__{_name}__", _beside(getattr(operator, _name)))


def plain(value: Any) -> Any:
    """A number that NumPy's functions take."""
    return value.number if isinstance(value, ShortFloat) else value


def type_of(*values: Any) -> str:
    """The type in which numbers meet; a Python number takes that of the others."""
    if not any(isinstance(value, ShortFloat) for value in values):
        return NAMES[np.result_type(*values)]
    found = "bf16"
    for dtype in (getattr(value, "dtype", None) for value in values):
        found = common(found, NAMES[dtype]) if dtype is not None else found
    return found

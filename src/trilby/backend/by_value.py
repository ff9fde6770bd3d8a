"""How numbers are passed by value to kernels in C: bools and 16-bit floats travel as bits.

C on devices has no bool parameters, and OpenCL no half ones.
"""

from typing import Any

import numpy as np

from trilby.backend.base import Scalar
from trilby.data.dtypes import BF16, BOOL, F16, Number, ScalarType


def type_by_value(kind: ScalarType) -> np.dtype[Any]:
    """The type of the kernel's parameter: `uchar` for a bool, `ushort` for a 16-bit float."""
    if kind is BOOL:
        return np.dtype(np.uint8)
    return np.dtype(np.uint16) if kind in {F16, BF16} else kind.numpy


def value_by_value(scalar: Scalar) -> Number:
    """The number in that type: `value_by_value(Scalar(F16, 1.0))` is `0x3c00`."""
    if scalar.type in {F16, BF16}:
        return int(np.array(scalar.value, scalar.type.numpy).view(np.uint16))
    return int(scalar.value) if scalar.type is BOOL else scalar.value

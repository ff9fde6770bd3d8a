"""How numbers are passed by value to kernels in C: bools and halves travel as their bits.

C on devices has no bool parameters, and OpenCL no half ones.
"""

from typing import Any

import numpy as np

from trilby.backend.base import Scalar
from trilby.data.dtypes import BOOL, F16, Number, ScalarType


def type_by_value(kind: ScalarType) -> np.dtype[Any]:
    """The type of the kernel's parameter: `uchar` for a bool, `ushort` for a half."""
    if kind is BOOL:
        return np.dtype(np.uint8)
    return np.dtype(np.uint16) if kind is F16 else kind.numpy


def value_by_value(scalar: Scalar) -> Number:
    """The number in that type: `value_by_value(Scalar(F16, 1.0))` is `0x3c00`."""
    if scalar.type is F16:
        return int(np.float16(scalar.value).view(np.uint16))
    return int(scalar.value) if scalar.type is BOOL else scalar.value

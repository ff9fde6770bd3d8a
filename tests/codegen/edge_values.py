"""The numbers at which arithmetic goes wrong first, for each scalar type."""

import math
from dataclasses import dataclass

import numpy as np
from tests.codegen.running import Array

from trilby.codegen.opencl_c import OPENCL
from trilby.data.dtypes import BF16, BOOL, F16, F32, F64, SCALARS, ScalarType

ALL = {name: type_ for name, type_ in SCALARS.items() if type_ in OPENCL.scalars}
INTEGERS = tuple(name for name, type_ in ALL.items() if type_.is_integer)
FLOATS = tuple(name for name, type_ in ALL.items() if type_.is_float)


def edge_values(type_: ScalarType) -> Array:
    """Zeros, ones, ends, powers of two and their neighbours; for floats also the specials."""
    if type_ is BOOL:
        return np.array([False, True])
    if type_.is_float:
        return _floats(type_)
    wanted = {0, 1, 2, 3, 5, 7, 10, 100, type_.highest, type_.highest - 1, type_.highest // 2}
    wanted |= {1 << k for k in (type_.bits // 2, type_.bits - 2)}
    if type_.kind == "int":
        wanted |= {-n for n in wanted} | {type_.lowest, type_.lowest + 1}
    else:
        wanted.add(1 << (type_.bits - 1))
    return np.array(sorted(wanted), type_.numpy)


@dataclass(frozen=True)
class Format:
    """A binary float: bits behind the point, lowest and highest exponent."""

    digits: int
    lowest: int
    highest: int

    @property
    def eps(self) -> float:
        """The distance from 1 to the next number."""
        return 2.0**-self.digits


FORMATS = {
    F16: Format(10, -14, 15),
    BF16: Format(7, -126, 127),
    F32: Format(23, -126, 127),
    F64: Format(52, -1022, 1023),
}


def _floats(type_: ScalarType) -> Array:
    form = FORMATS[type_]
    largest = (2 - form.eps) * 2.0**form.highest
    subnormal = math.ldexp(form.eps, form.lowest)
    positive = [
        *(0.0, subnormal, 3 * subnormal, 2.0**form.lowest, form.eps, 0.1, 0.5, 1.0, 1 + form.eps),
        *(1.5, 2.0, 2.5, 3.0, 7.0, 100.0, 2.0**form.digits, 2.0 ** (form.digits + 1) - 1),
        *(largest / 3, largest, math.inf),
    ]
    return np.array([*positive, *(-n for n in positive), math.nan], type_.numpy)

"""The numbers at which arithmetic goes wrong first, for each scalar type."""

import numpy as np
from tests.codegen.running import Array

from trilby.data.dtypes import BOOL, F16, F32, F64, ScalarType

INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS = ("f16", "f32", "f64")


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


def _floats(type_: ScalarType) -> Array:
    limits = np.finfo(type_.numpy)
    digits = {F16: 10, F32: 23, F64: 52}[type_]
    positive = [
        0.0,
        float(limits.smallest_subnormal),
        3 * float(limits.smallest_subnormal),
        float(limits.smallest_normal),
        float(limits.eps),
        0.1,
        0.5,
        1.0,
        1.0 + float(limits.eps),
        1.5,
        2.0,
        2.5,
        3.0,
        7.0,
        100.0,
        float(2**digits),
        float(2**digits) * 2 - 1,
        float(limits.max) / 3,
        float(limits.max),
        np.inf,
    ]
    return np.array([*positive, *(-n for n in positive), np.nan], type_.numpy)

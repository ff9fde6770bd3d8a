"""Trilby: kernels and the host code that dispatches them, as plain Python functions.

>>> import trilby as tb
>>> from trilby import Accelerator, ComputeContext, KernelContext, S32Array, i32

Importing this package imports no backend: what runs programs is loaded when it is first used.
`tb.min`, `tb.max` and `tb.pow` are not in `__all__`, so that `import *` leaves the builtins alone.
"""

import importlib
from typing import TYPE_CHECKING

import trilby.at_exit  # noqa: F401 # pyright: ignore[reportUnusedImport] -- it comes first
from trilby.data.buffer import Buffer
from trilby.data.kernel_context import KernelContext
from trilby.data.markers import Atomic, Constant, array, field, pad
from trilby.data.names import bf16, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from trilby.data.ndarray import NDArray
from trilby.data.ndrange import NDRange
from trilby.data.struct import Struct, Union
from trilby.data.views import Array
from trilby.errors import TrilbyError
from trilby.options import Transfers
from trilby.reflect.functions import compute, func, kernel
from trilby.reflect.kernel_builtins import (
    atomic_add,
    atomic_and,
    atomic_compare_exchange,
    atomic_dec,
    atomic_exchange,
    atomic_inc,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_sub,
    atomic_xor,
    local,
    private,
)
from trilby.reflect.raw import raw
from trilby.version import VERSION

if TYPE_CHECKING:
    from trilby.data.library import (
        BF16Array,
        F16Array,
        F32Array,
        F64Array,
        S8Array,
        S16Array,
        S32Array,
        S64Array,
        U8Array,
        U16Array,
        U32Array,
        U64Array,
    )
    from trilby.data.library_2d import (
        BF16Array2D,
        F16Array2D,
        F32Array2D,
        F64Array2D,
        GreyImage,
        RGBAImage,
        S8Array2D,
        S16Array2D,
        S32Array2D,
        S64Array2D,
        U8Array2D,
        U16Array2D,
        U32Array2D,
        U64Array2D,
    )
    from trilby.data.matrices import f32x2x2, f32x3x3, f32x4x4, transpose
    from trilby.data.vectors import (
        cross,
        dot,
        f16x2,
        f16x3,
        f16x4,
        f32x2,
        f32x3,
        f32x4,
        i32x2,
        i32x3,
        i32x4,
        length,
        normalize,
        u8x2,
        u8x3,
        u8x4,
        u32x2,
        u32x3,
        u32x4,
    )
    from trilby.linting.lint import lint
    from trilby.model.lane_math import (
        acos,
        acosh,
        asin,
        asinh,
        atan,
        atan2,
        atanh,
        cbrt,
        ceil,
        copysign,
        cos,
        cosh,
        degrees,
        erf,
        erfc,
        exp,
        exp2,
        expm1,
        fabs,
        floor,
        fmod,
        gamma,
        hypot,
        lgamma,
        log,
        log1p,
        log2,
        log10,
        radians,
        remainder,
        sin,
        sinh,
        sqrt,
        tan,
        tanh,
        trunc,
    )
    from trilby.model.lane_math import max as max  # noqa: A004 -- `tb.max`; not in `__all__`
    from trilby.model.lane_math import min as min  # noqa: A004 -- see `max`
    from trilby.model.lane_math import pow as pow  # noqa: A004 -- see `max`
    from trilby.model.math_functions import clamp, clz, fma, mix, popcount, rsqrt, sign
    from trilby.runtime.accelerator import Accelerator
    from trilby.runtime.context import ComputeContext
    from trilby.runtime.ledger import Ledger
    from trilby.runtime.profile import Profile
    from trilby.runtime.tracing import TracedRun

__all__ = [
    "Accelerator",
    "Array",
    "Atomic",
    "BF16Array",
    "BF16Array2D",
    "Buffer",
    "ComputeContext",
    "Constant",
    "F16Array",
    "F16Array2D",
    "F32Array",
    "F32Array2D",
    "F64Array",
    "F64Array2D",
    "GreyImage",
    "KernelContext",
    "Ledger",
    "NDArray",
    "NDRange",
    "Profile",
    "RGBAImage",
    "S8Array",
    "S8Array2D",
    "S16Array",
    "S16Array2D",
    "S32Array",
    "S32Array2D",
    "S64Array",
    "S64Array2D",
    "Struct",
    "TracedRun",
    "Transfers",
    "TrilbyError",
    "U8Array",
    "U8Array2D",
    "U16Array",
    "U16Array2D",
    "U32Array",
    "U32Array2D",
    "U64Array",
    "U64Array2D",
    "Union",
    "acos",
    "acosh",
    "array",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "atomic_add",
    "atomic_and",
    "atomic_compare_exchange",
    "atomic_dec",
    "atomic_exchange",
    "atomic_inc",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_sub",
    "atomic_xor",
    "bf16",
    "cbrt",
    "ceil",
    "clamp",
    "clz",
    "compute",
    "copysign",
    "cos",
    "cosh",
    "cross",
    "degrees",
    "dot",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "f16",
    "f16x2",
    "f16x3",
    "f16x4",
    "f32",
    "f32x2",
    "f32x2x2",
    "f32x3",
    "f32x3x3",
    "f32x4",
    "f32x4x4",
    "f64",
    "fabs",
    "field",
    "floor",
    "fma",
    "fmod",
    "func",
    "gamma",
    "hypot",
    "i8",
    "i16",
    "i32",
    "i32x2",
    "i32x3",
    "i32x4",
    "i64",
    "kernel",
    "length",
    "lgamma",
    "lint",
    "local",
    "log",
    "log1p",
    "log2",
    "log10",
    "mix",
    "normalize",
    "pad",
    "popcount",
    "private",
    "radians",
    "raw",
    "remainder",
    "rsqrt",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "transpose",
    "trunc",
    "u8",
    "u8x2",
    "u8x3",
    "u8x4",
    "u16",
    "u32",
    "u32x2",
    "u32x3",
    "u32x4",
    "u64",
]

__version__ = VERSION

_NAMES = {
    "trilby.runtime.accelerator": "Accelerator",
    "trilby.runtime.context": "ComputeContext",
    "trilby.runtime.ledger": "Ledger",
    "trilby.runtime.profile": "Profile",
    "trilby.runtime.tracing": "TracedRun",
    "trilby.linting.lint": "lint",
    "trilby.data.library": "S8Array S16Array S32Array S64Array U8Array U16Array U32Array U64Array "
    "F16Array BF16Array F32Array F64Array",
    "trilby.data.library_2d": "S8Array2D S16Array2D S32Array2D S64Array2D U8Array2D U16Array2D "
    "U32Array2D U64Array2D F16Array2D BF16Array2D F32Array2D F64Array2D GreyImage RGBAImage",
    "trilby.data.matrices": "f32x2x2 f32x3x3 f32x4x4 transpose",
    "trilby.data.vectors": "cross dot length normalize f16x2 f16x3 f16x4 f32x2 f32x3 f32x4 "
    "i32x2 i32x3 i32x4 u8x2 u8x3 u8x4 u32x2 u32x3 u32x4",
    "trilby.model.math_functions": "clamp clz fma mix popcount rsqrt sign",
    "trilby.model.lane_math": "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh "
    "degrees erf erfc exp exp2 expm1 fabs floor fmod gamma hypot lgamma log log10 log1p log2 max "
    "min pow radians remainder sin sinh sqrt tan tanh trunc",
}
_LOADED_WHEN_USED = {name: module for module, names in _NAMES.items() for name in names.split()}
"""The module of each name that is loaded when it is first used."""


def __getattr__(name: str) -> object:
    if name in _LOADED_WHEN_USED:
        found: object = getattr(importlib.import_module(_LOADED_WHEN_USED[name]), name)
        globals()[name] = found  # it is not looked for again
        return found
    message = f"module 'trilby' has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_LOADED_WHEN_USED})

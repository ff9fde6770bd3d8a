"""The scalar types under the names that users write in annotations.

At run time `i32` is the scalar type. Type checkers see the plain Python type, so that
`def square(v: i32) -> i32: return v * v` and `f32(n)` check as ordinary Python.
Truth values have Python's own name, `bool`.
"""

from typing import TYPE_CHECKING, TypeAlias

from trilby.data.dtypes import BF16, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64

if TYPE_CHECKING:
    i8: TypeAlias = int
    i16: TypeAlias = int
    i32: TypeAlias = int
    i64: TypeAlias = int
    u8: TypeAlias = int
    u16: TypeAlias = int
    u32: TypeAlias = int
    u64: TypeAlias = int
    f16: TypeAlias = float
    bf16: TypeAlias = float
    f32: TypeAlias = float
    f64: TypeAlias = float
else:
    i8, i16, i32, i64 = I8, I16, I32, I64
    u8, u16, u32, u64 = U8, U16, U32, U64
    f16, bf16, f32, f64 = F16, BF16, F32, F64

__all__ = ["bf16", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]

"""The buffers of one dimension that come with Trilby: plain arrays of every scalar.

`S32Array` has `length` elements. The letter says signed, unsigned or float, the number the bits.
"""

from trilby.data.buffer import Buffer
from trilby.data.markers import array as bound
from trilby.data.names import bf16, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from trilby.data.views import Array


class _OneDimensional(Buffer):
    """What these buffers begin with."""

    length: i32


class S8Array(_OneDimensional):
    """`length` signed integers of 8 bits."""

    array: Array[i8] = bound("length")


class S16Array(_OneDimensional):
    """`length` signed integers of 16 bits."""

    array: Array[i16] = bound("length")


class S32Array(_OneDimensional):
    """`length` signed integers of 32 bits."""

    array: Array[i32] = bound("length")


class S64Array(_OneDimensional):
    """`length` signed integers of 64 bits."""

    array: Array[i64] = bound("length")


class U8Array(_OneDimensional):
    """`length` unsigned integers of 8 bits."""

    array: Array[u8] = bound("length")


class U16Array(_OneDimensional):
    """`length` unsigned integers of 16 bits."""

    array: Array[u16] = bound("length")


class U32Array(_OneDimensional):
    """`length` unsigned integers of 32 bits."""

    array: Array[u32] = bound("length")


class U64Array(_OneDimensional):
    """`length` unsigned integers of 64 bits."""

    array: Array[u64] = bound("length")


class F16Array(_OneDimensional):
    """`length` floats of 16 bits."""

    array: Array[f16] = bound("length")


class BF16Array(_OneDimensional):
    """`length` floats of 16 bits with the range of `f32` and eight bits of precision."""

    array: Array[bf16] = bound("length")


class F32Array(_OneDimensional):
    """`length` floats of 32 bits."""

    array: Array[f32] = bound("length")


class F64Array(_OneDimensional):
    """`length` floats of 64 bits."""

    array: Array[f64] = bound("length")

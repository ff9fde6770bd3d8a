"""The buffers of two dimensions that come with Trilby: plain arrays of every scalar, and images.

`S32Array2D` is `height` rows of `width` elements and is indexed `a.array[y, x]`.
"""

from trilby.data.buffer import Buffer
from trilby.data.dtypes import U8
from trilby.data.markers import array as bound
from trilby.data.names import bf16, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from trilby.data.struct import Struct
from trilby.data.views import Array


class _TwoDimensional(Buffer):
    """What these buffers begin with."""

    width: i32
    height: i32


class S8Array2D(_TwoDimensional):
    """`height` rows of `width` signed integers of 8 bits."""

    array: Array[i8] = bound("height", "width")


class S16Array2D(_TwoDimensional):
    """`height` rows of `width` signed integers of 16 bits."""

    array: Array[i16] = bound("height", "width")


class S32Array2D(_TwoDimensional):
    """`height` rows of `width` signed integers of 32 bits."""

    array: Array[i32] = bound("height", "width")


class S64Array2D(_TwoDimensional):
    """`height` rows of `width` signed integers of 64 bits."""

    array: Array[i64] = bound("height", "width")


class U8Array2D(_TwoDimensional):
    """`height` rows of `width` unsigned integers of 8 bits."""

    array: Array[u8] = bound("height", "width")


class U16Array2D(_TwoDimensional):
    """`height` rows of `width` unsigned integers of 16 bits."""

    array: Array[u16] = bound("height", "width")


class U32Array2D(_TwoDimensional):
    """`height` rows of `width` unsigned integers of 32 bits."""

    array: Array[u32] = bound("height", "width")


class U64Array2D(_TwoDimensional):
    """`height` rows of `width` unsigned integers of 64 bits."""

    array: Array[u64] = bound("height", "width")


class F16Array2D(_TwoDimensional):
    """`height` rows of `width` floats of 16 bits."""

    array: Array[f16] = bound("height", "width")


class BF16Array2D(_TwoDimensional):
    """`height` rows of `width` floats of 16 bits with the range of `f32`."""

    array: Array[bf16] = bound("height", "width")


class F32Array2D(_TwoDimensional):
    """`height` rows of `width` floats of 32 bits."""

    array: Array[f32] = bound("height", "width")


class F64Array2D(_TwoDimensional):
    """`height` rows of `width` floats of 64 bits."""

    array: Array[f64] = bound("height", "width")


class GreyImage(_TwoDimensional):
    """`height` rows of `width` pixels, from 0 (black) to 255 (white)."""

    pixel: Array[u8] = bound("height", "width")


class RGBAImage(_TwoDimensional):
    """`height` rows of `width` pixels with four channels, each from 0 to 255.

    `image.pixel[y, x].r` is one channel of one pixel, `image.pixel.r[:]` one channel of
    all, and `image.channels` all of them as `height` × `width` × 4 numbers, which is what
    NumPy and image files have.
    """

    class Pixel(Struct):
        """Red, green, blue, opacity."""

        r: u8
        g: u8
        b: u8
        a: u8

    pixel: Array[Pixel] = bound("height", "width")

    @property
    def channels(self) -> Array[u8]:
        """The same pixels as numbers in three dimensions."""
        return Array(self.pixel.__window__.members_as(U8))

"""`NDArray`: the buffer for people who come with NumPy. No header; the shape travels beside it.

It shares the memory of the NumPy array it is made of, and is otherwise what `Array` is:
tracked, with NumPy's behaviour, and snapshots for everything that leaves.
"""

from typing import Any, Self, TypeVar, cast

import numpy as np

from trilby.data.dtypes import BF16, ScalarType, scalar_of
from trilby.data.schema import NDArrayType
from trilby.data.segment import Live, Segment, borrowed_bytes
from trilby.data.views import Array
from trilby.data.window import Window, window, window_of
from trilby.errors import BindingError
from trilby.shown import Shown

T = TypeVar("T")

CPU_DEVICE = (1, 0)
"""What DLPack calls the memory of the host."""


class NDArray(Array[T], Shown):
    """An n-dimensional array of numbers for kernels: `def f(kc: KernelContext, a: NDArray[f32])`.

        a = accelerator.array(np.ones((3, 4), np.float32))
        a[1, 2], a.shape, a + 1, np.sin(a), a.sum()

    Memory is shared, not copied, wherever NumPy can share it: that of arrays and their subclasses
    (`np.memmap`), of `array.array`, `memoryview` and ctypes arrays, and of objects with `__array__`
    or `__array_interface__`. What you do to it behind this object's back is not tracked, and it
    has its content again when this object is released, or gone, or when the program ends. Lists
    and numbers are copied, with the dtype that NumPy gives them.
    """

    __slots__ = ()

    def __init__(self, source: object) -> None:
        super().__init__(_window_on(source))

    @property
    def __schema__(self) -> NDArrayType:
        """The type as pure data."""
        return NDArrayType(cast("ScalarType", self.element), self.ndim)

    @property
    def segment(self) -> Segment:
        """The memory, and who watches it."""
        return self.__window__.segment

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return self.__window__.live.nbytes

    def release(self) -> None:
        """Give the memory up, and its content back to whoever lent it.

        Every later use is a `ReleasedError`.
        """
        self.segment.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """NumPy's older protocol, which `np.asarray` prefers: of a snapshot.

        The description carries the copy it describes, so that, unlike with a bare pointer,
        nothing alive gets out. The live memory is `raw()`, or DLPack.
        """
        if self.element is BF16:  # the protocol has no word for it, and `__array__` is asked next
            raise AttributeError("`__array_interface__` cannot describe bf16")
        snapshot = self.__array__()
        return {**snapshot.__array_interface__, "data": snapshot, "strides": snapshot.strides}

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Share the live memory, as DLPack means it: an escape while the consumer holds it.

        With `copy=True` a snapshot is shared instead.
        """
        shared: Any = self.copy() if copy else self.raw()
        return shared.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU_DEVICE

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (self.copy(),)


def _restored(content: Live) -> "NDArray[Any]":
    """An array with a copy of some content: for `copy` and `pickle`."""
    return NDArray(content.copy())


def _window_on(source: object) -> Window:
    tracked = window_of(source)
    if isinstance(source, NDArray):
        return cast("Window", tracked)
    if tracked is not None:
        raise BindingError(
            "a view of a buffer cannot be an array of its own",
            advice="pass the buffer it belongs to, or a copy: `accelerator.array(view.copy())`",
        )
    numbers = _numbers(source)
    scalar = _scalar(numbers)
    content = borrowed_bytes(numbers, "NDArray")
    segment = Segment(content, "NDArray", borrowed=_may_be_shared(source, numbers))
    return window(segment, 0, scalar, numbers.shape, numbers.strides, scalar.size)


def _numbers(source: object) -> Live:
    if isinstance(source, np.ma.MaskedArray):
        raise BindingError(
            "a masked array would lose its mask", advice="fill it first: `x.filled(0)`"
        )
    try:
        numbers: Live = np.asarray(source)
    except (TypeError, ValueError) as error:
        raise BindingError(
            f"{type(source).__name__} cannot be made an array: {error}",
            advice="give a NumPy array, or nested lists of numbers of equal length",
        ) from error
    if not numbers.flags.c_contiguous:
        raise BindingError(
            f"an array of shape {numbers.shape} with strides {numbers.strides} is not contiguous",
            advice="bind a copy: `np.ascontiguousarray(x)`",
        )
    return numbers


def _may_be_shared(source: object, numbers: Live) -> bool:
    """Whether others may see the memory of an array that NumPy made of a source.

    A new array, as of a list, has no base. One that `__array__` gives has none either where it is
    the source's own: nobody can tell it from a new one.
    """
    return numbers.base is not None or hasattr(source, "__array__")


def _scalar(numbers: Live) -> ScalarType:
    scalar = scalar_of(numbers.dtype)
    if scalar is not None:
        return scalar
    if not numbers.dtype.isnative:
        advice = "swap the bytes: `x.astype(x.dtype.newbyteorder('='))`"
    else:
        advice = (
            "convert it: `x.astype(np.float32)`; there are i8 … u64, f16, bf16, f32, f64 and bool"
        )
    raise BindingError(f"devices have no numbers of dtype {numbers.dtype}", advice=advice)

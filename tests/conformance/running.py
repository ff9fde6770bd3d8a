"""Launching one kernel the way a program does, and comparing floats by units in the last place."""

from typing import Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

import trilby as tb
from trilby import Accelerator, ComputeContext, NDRange
from trilby.reflect.functions import Kernel

Size: TypeAlias = "int | tuple[int, ...] | NDRange"
Numbers: TypeAlias = npt.NDArray[Any]


@tb.compute
def _dispatch(
    cc: ComputeContext, size: Size, kernel: Kernel[...], arguments: tuple[Any, ...]
) -> None:
    cc.dispatch(size, kernel, *arguments)


def launch(accelerator: Accelerator, size: Size, kernel: Kernel[...], *arguments: Any) -> None:
    """Dispatch one kernel; buffers and n-d arrays come back with what it wrote."""
    accelerator.compute(_dispatch, size, kernel, arguments)


def filled(
    accelerator: Accelerator,
    size: Size,
    kernel: Kernel[...],
    out: Numbers,
    *arguments: Any,
) -> Numbers:
    """What a kernel makes of its first array; arrays among the other arguments are its input."""
    first = accelerator.array(out)
    others = [accelerator.array(a) if _is_numpy(a) else a for a in arguments]
    launch(accelerator, size, kernel, first, *others)
    return np.asarray(first)


def _is_numpy(value: object) -> TypeGuard[Numbers]:
    return isinstance(value, np.ndarray)


def assert_close(found: Numbers, expected: Numbers, ulps: int) -> None:
    """Compare with a number of units in the last place of the type that was found.

    NaN is equal to NaN, and infinities and zeros to those of the same sign.
    """
    rounded = np.asarray(expected).astype(found.dtype)
    same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
    bits = np.dtype(f"i{found.dtype.itemsize}")
    distance = np.abs(_ordered(found, bits) - _ordered(rounded, bits))
    wrong = ~same & ~(distance <= ulps)
    assert not wrong.any(), f"{found[wrong]} should be {rounded[wrong]}"


def _ordered(numbers: Numbers, bits: np.dtype[Any]) -> Numbers:
    """Floats as integers that count them, from the lowest to the highest."""
    raw = np.ascontiguousarray(numbers).view(bits).astype(object)
    lowest = -(1 << (bits.itemsize * 8 - 1))
    return np.where(raw < 0, lowest - raw, raw)


def assert_near(found: Any, expected: Any, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Compare floats that were summed in another order."""
    np.testing.assert_allclose(np.asarray(found), expected, rtol=rtol, atol=atol)

"""What the numbers of a kernel do where Python's own operators do something else.

Generated code calls these functions by name. Python raises where IEEE 754 has an answer,
and Python's floats are doubles only; both are put right here. Nothing here knows models.
"""

import math
import struct
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from trilby.backend.say import say
from trilby.data.dtypes import BF16, F16, F32, SCALARS, ScalarType, convert, round_to, saturate
from trilby.errors import KernelArithmeticError, KernelAssertionError, KernelIndexError
from trilby.model.intrinsics import power

FORMATS = dict(zip((name for name in SCALARS if name != "bf16"), "?bhiqBHIQefd", strict=True))
"""The letter of the `struct` module for every scalar type but `bf16`, which has none."""


Content: TypeAlias = bytes | bytearray | memoryview
"""Bytes that numbers are read from."""


TRAPS = (KernelIndexError, KernelAssertionError, ZeroDivisionError, NameError)
"""What a work item may raise; a `KernelArithmeticError` is a `ZeroDivisionError`."""


def out_of_range(array: str, axis: int | None, index: int, size: int) -> KernelIndexError:
    """The error of an index that an array does not have."""
    of_axis, there = ("", "") if axis is None else (f" of axis {axis}", " there")
    advice = (
        "indices count from 0, and negative ones do not count from the end in a kernel"
        if index < 0
        else "launch no more work items than there are elements, or guard the access with `if`"
    )
    return KernelIndexError(
        f"index {index}{of_axis} is outside `{array}`, whose size{there} is {size}", advice=advice
    )


def divide(left: float, right: float) -> float:
    """`left / right` as in IEEE 754: a division by zero gives an infinity or NaN."""
    if right:
        return left / right
    if not left or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def floor_divide(left: float, right: float) -> float:
    """`left // right` as Python has it; by zero, the quotient as NumPy has it."""
    return left // right if right else divide(left, right)


def floor_divide_f32(left: float, right: float) -> float:
    """The same with every step rounded to single precision, as NumPy and devices do it."""
    with np.errstate(all="ignore"):
        return float(np.floor_divide(np.float32(left), np.float32(right)))


def modulo(left: float, right: float) -> float:
    """`left % right` with the sign of `right`; NaN by zero, as NumPy has it."""
    return left % right if right else math.nan


def integer_power(base: int, exponent: int, bits: int) -> int:
    """`base ** exponent` modulo the width; the caller brings it into the signed range."""
    if exponent < 0:
        raise KernelArithmeticError(
            f"an integer cannot be raised to the negative power {exponent}",
            advice="make the base a float: `f32(n) ** e`",
        )
    return pow(base, exponent, 1 << bits)


def loop_range(start: int, stop: int, step: int) -> range:
    """What a `for` runs over."""
    if step == 0:
        raise KernelArithmeticError(
            "the step of a range is 0", advice="a loop needs a positive or a negative step"
        )
    return range(start, stop, step)


def _rounding(target: ScalarType) -> Callable[[float], float]:
    """Round a double to a narrower float, as `dtypes.round_to` does, only faster."""
    cell = struct.Struct("=" + FORMATS[target.name])
    pack, unpack = cell.pack, cell.unpack

    def rounded(value: float) -> float:
        try:
            return unpack(pack(value))[0]
        except OverflowError:
            return math.copysign(math.inf, value)

    return rounded


_HIGH_HALF = struct.Struct("=H")
_WORD = struct.Struct("=I")
_SINGLE = struct.Struct("=f")


def _load_bf16(content: Content, offset: int) -> tuple[float]:
    """A `bf16` is the upper half of an `f32`."""
    (bits,) = _HIGH_HALF.unpack_from(content, offset)
    return _SINGLE.unpack(_WORD.pack(bits << 16))


def _store_bf16(content: bytearray, offset: int, value: float) -> None:
    (bits,) = _WORD.unpack(_SINGLE.pack(value))
    _HIGH_HALF.pack_into(content, offset, bits >> 16)


def loader(of: ScalarType) -> Callable[[Content, int], tuple[Any]]:
    """What reads a number: `loader(I32)(bytes, offset)` gives a tuple of one number."""
    return _load_bf16 if of is BF16 else struct.Struct("=" + FORMATS[of.name]).unpack_from


def _storer(of: ScalarType) -> Callable[[bytearray, int, Any], None]:
    return _store_bf16 if of is BF16 else struct.Struct("=" + FORMATS[of.name]).pack_into


def vocabulary() -> dict[str, Any]:
    """A fresh namespace with every name of this module that generated code may use."""
    return {
        "inf": math.inf,
        "nan": math.nan,
        "OutOfRangeError": out_of_range,
        "AssertionFailedError": partial(
            KernelAssertionError, advice="look at the numbers that this work item saw"
        ),
        "say": say,
        "divide": divide,
        "floor_divide": floor_divide,
        "floor_divide_f32": floor_divide_f32,
        "modulo": modulo,
        "power": power,
        "integer_power": integer_power,
        "loop_range": loop_range,
        "whole_f32": partial(convert, target=F32),
        "whole_bf16": partial(convert, target=BF16),
        "to_f32": _rounding(F32),
        "to_f16": _rounding(F16),
        "to_bf16": partial(round_to, target=BF16),
        **{f"cut_{t.name}": partial(saturate, target=t) for t in SCALARS.values() if t.is_integer},
        # `load_i32(bytes, offset)` gives a tuple of one number; `store_i32` takes the number.
        **{f"load_{name}": loader(of) for name, of in SCALARS.items()},
        **{f"store_{name}": _storer(of) for name, of in SCALARS.items()},
    }

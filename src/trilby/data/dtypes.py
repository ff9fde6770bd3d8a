"""The types of values: scalars, and the base class of every other type.

A scalar type is an object with a name, a width and a NumPy dtype, and calling it
converts: `i32(3.7)` is `3`, `u8(-1)` is `255`. Type checkers see the plain Python type
instead, so that annotated kernels read and check as ordinary Python.
"""

import math
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard

import numpy as np

from trilby.dataclass import dataclass

Number: TypeAlias = "bool | int | float"


class Type:
    """Base of everything that a value in a code model can be. `str(t)` is its text."""

    __slots__ = ()


Kind: TypeAlias = Literal["bool", "int", "uint", "float"]


@dataclass(frozen=True, slots=True, eq=False)
class ScalarType(Type):
    """One number. Scalars are singletons, compared by identity."""

    name: str
    kind: Kind
    bits: int
    numpy: np.dtype[Any]

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return self.name

    def __call__(self, value: Number) -> Number:
        """Convert as a kernel does: integers wrap, floats are cut towards zero."""
        return convert(value, self)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """The dtype of `bf16`, of which NumPy knows through another package."""
            if name != "numpy":
                raise AttributeError(name)
            import ml_dtypes  # noqa: PLC0415 -- few programs need it

            object.__setattr__(self, name, np.dtype(ml_dtypes.bfloat16))
            return self.numpy

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return self.bits // 8

    @property
    def numpy_name(self) -> str:
        """How programs spell the dtype: `np.float32`, `ml_dtypes.bfloat16`."""
        return f"{'ml_dtypes' if self.name == 'bf16' else 'np'}.{self.numpy}"

    @property
    def is_integer(self) -> bool:
        """True for the signed and unsigned integers, false for bool and floats."""
        return self.kind in {"int", "uint"}

    @property
    def is_float(self) -> bool:
        """True for f16, bf16, f32 and f64."""
        return self.kind == "float"

    @property
    def is_half(self) -> bool:
        """True for the floats that are stored in 16 bits and computed with as `f32`."""
        return self.is_float and self.bits < F32.bits

    @property
    def lowest(self) -> int:
        """The smallest value of an integer type."""
        return -(1 << (self.bits - 1)) if self.kind == "int" else 0

    @property
    def highest(self) -> int:
        """The largest value of an integer type."""
        return (1 << (self.bits - 1)) - 1 if self.kind == "int" else (1 << self.bits) - 1


def _scalar(name: str, kind: Kind, bits: int, numpy_name: str) -> ScalarType:
    return ScalarType(name, kind, bits, np.dtype(numpy_name))


BOOL = _scalar("bool", "bool", 8, "bool")
I8 = _scalar("i8", "int", 8, "int8")
I16 = _scalar("i16", "int", 16, "int16")
I32 = _scalar("i32", "int", 32, "int32")
I64 = _scalar("i64", "int", 64, "int64")
U8 = _scalar("u8", "uint", 8, "uint8")
U16 = _scalar("u16", "uint", 16, "uint16")
U32 = _scalar("u32", "uint", 32, "uint32")
U64 = _scalar("u64", "uint", 64, "uint64")
F16 = _scalar("f16", "float", 16, "float16")
BF16 = ScalarType("bf16", "float", 16, np.dtype("V2"))
object.__delattr__(BF16, "numpy")  # it is found when somebody looks
F32 = _scalar("f32", "float", 32, "float32")
F64 = _scalar("f64", "float", 64, "float64")

SCALARS = {t.name: t for t in (BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64)}
_BY_NUMPY = {t.numpy: t for t in SCALARS.values() if t is not BF16}


def scalar_of(dtype: np.dtype[Any]) -> ScalarType | None:
    """The scalar type of a NumPy dtype in native byte order, or None."""
    if dtype.name == "bfloat16":  # only ml_dtypes has one of that name
        return BF16
    return _BY_NUMPY.get(dtype) if dtype.isnative else None


def is_numpy_scalar(value: object) -> TypeGuard["np.generic[Any]"]:
    """True for a single NumPy number such as `np.float32(1)`."""
    return isinstance(value, np.generic)


@cache
def promote(left: ScalarType, right: ScalarType) -> ScalarType:
    """The common type of two operands, as in NumPy 2; two bools count as `i32`.

    NumPy has no `bf16`: it goes with other types as `f16` does, and beside `f16` it is `f32`.
    """
    if left is BOOL and right is BOOL:
        return I32
    if BF16 in {left, right}:
        other = right if left is BF16 else left
        if other in {BF16, F16}:
            return BF16 if other is BF16 else F32
        found = promote(F16, other)
        return BF16 if found is F16 else found
    return _BY_NUMPY[np.result_type(left.numpy, right.numpy)]


@cache
def assignable(source: ScalarType, target: ScalarType) -> bool:
    """True where a value may be stored without writing a cast (NumPy's `same_kind`)."""
    if source.is_float and target.is_float:
        return True
    return np.can_cast(source.numpy, target.numpy, "same_kind")


@cache
def true_division_type(operand: ScalarType) -> ScalarType:
    """The type of `a / b` for operands of one type: NumPy's rule (`i32 / i32` is `f64`)."""
    return operand if operand.is_float else F64


@cache
def float_of(operand: ScalarType) -> ScalarType:
    """The float type in which NumPy computes `sqrt` and its kin for this type."""
    if operand.is_float:
        return operand
    return _BY_NUMPY[np.sqrt(np.ones((), operand.numpy)).dtype]


def fits(value: Number, target: ScalarType) -> bool:
    """True where a Python literal has an exact meaning in `target`; floats may round."""
    if target is BOOL:
        return isinstance(value, bool)
    if target.is_float:
        return True
    return isinstance(value, int) and target.lowest <= value <= target.highest


def wrap(value: int, target: ScalarType) -> int:
    """Bring an integer of any size into the range of `target`, modulo its width."""
    value &= (1 << target.bits) - 1
    if target.kind == "int" and value > target.highest:
        value -= 1 << target.bits
    return value


def round_to(value: float, target: ScalarType) -> float:
    """Round a double to the nearest value of a float type; overflow gives infinity.

    A `bf16` is made of an `f32`: that is what devices compute with, and what ml_dtypes does.
    """
    if target.bits == F64.bits:
        return float(value)
    with np.errstate(over="ignore"):
        return float(target.numpy.type(value))


def convert(value: Number, target: ScalarType) -> Number:
    """Cast one number the way every backend does.

    Integers wrap; a float goes to an integer by cutting towards zero, saturating at the
    ends, and NaN becomes 0; anything non-zero is true.
    """
    if target is BOOL:
        return bool(value)
    if target.is_float:
        return _as_float(value, target)
    if isinstance(value, int):
        return wrap(int(value), target)
    return saturate(float(value), target)


def _as_float(value: Number, target: ScalarType) -> float:
    """Round once: an integer of more than 53 bits must not stop at a double on its way."""
    if target in {F32, BF16} and isinstance(value, int) and abs(value) > 2**53:
        whole = np.array(value, np.int64 if value < 2**63 else np.uint64)
        value = float(whole.astype(np.float32))
    return round_to(float(value), target)


def saturate(value: float, target: ScalarType) -> int:
    """A float as an integer of `target`: cut, kept within the ends, NaN as 0."""
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return target.highest if value > 0 else target.lowest
    return min(max(int(value), target.lowest), target.highest)


# ----------------------------------------------------------------------------------------- by value
# Kernels in C have no bool parameters, and OpenCL ones no half: these are passed as their bits.


def type_by_value(kind: ScalarType) -> np.dtype[Any]:
    """The type of a kernel's parameter in C: `uchar` for a bool, `ushort` for a 16-bit float."""
    if kind is BOOL:
        return np.dtype(np.uint8)
    return np.dtype(np.uint16) if kind.is_half else kind.numpy


def value_by_value(kind: ScalarType, value: Number) -> Number:
    """The number in that type: `value_by_value(F16, 1.0)` is `0x3c00`."""
    if kind.is_half:
        return int(np.array(value, kind.numpy).view(np.uint16))
    return int(value) if kind is BOOL else value

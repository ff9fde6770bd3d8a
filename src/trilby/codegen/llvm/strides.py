"""How numbers differ from lane to lane, given how the operands do: the rules of the analysis.

Numbers are modulo the width of their type, so a step from lane to lane stays what it is when
numbers wrap.
"""

from collections.abc import Sequence

from trilby.analysis.spans import Span, Spans
from trilby.codegen.llvm.lanes import Stride
from trilby.data.dtypes import ScalarType, Type
from trilby.model.op import Op
from trilby.model.ops import arith
from trilby.model.value import Value

LARGEST = 1 << 16
"""Steps beyond this are treated as uneven, so that a step times the number of lanes is small."""


def has_steps(type_: Type) -> bool:
    """Whether numbers of a type may be evenly spaced: the types that indices have."""
    return isinstance(type_, ScalarType) and type_.is_integer and type_.bits >= 32


def limited(stride: Stride) -> Stride:
    """The step itself, or None where it is too large."""
    return stride if stride is not None and abs(stride) <= LARGEST else None


def joined(strides: Sequence[Stride]) -> Stride:
    """The step of what is one of several numbers, the same one in all lanes."""
    return strides[0] if all(stride == strides[0] for stride in strides) else None


def alike(strides: Sequence[Stride]) -> Stride:
    """The step of a result of any computation: 0 where all operands have that."""
    return 0 if all(stride == 0 for stride in strides) else None


def binary(op: Op, type_: Type, strides: Sequence[Stride], literals: Sequence[object]) -> Stride:
    """The step of `a + b` and its kin; `literals` are the operands that are known numbers."""
    left, right = strides
    if left is None or right is None or not has_steps(type_):
        return alike(strides)
    match op:
        case arith.Add():
            return limited(left + right)
        case arith.Sub():
            return limited(left - right)
        case arith.Mul() if isinstance(literals[1], int):
            return limited(left * literals[1])
        case arith.Mul() if isinstance(literals[0], int):
            return limited(right * literals[0])
        case arith.Shl() if isinstance(literals[1], int) and 0 <= literals[1] < 16:
            return limited(left << literals[1])
        case _:
            return alike(strides)


def cast(source: Value, target: Type, stride: Stride, spans: Spans) -> Stride:
    """The step after a conversion between integers; a wider one must not see a wrap."""
    if stride in {0, None} or not has_steps(source.type) or not has_steps(target):
        return alike([stride])
    widens = isinstance(target, ScalarType) and target.bits > _bits(source.type)
    return stride if not widens or is_bounded(source, spans) else None


def is_bounded(value: Value, spans: Spans) -> bool:
    """Whether a number is known to stay within its type without wrapping."""
    span = spans.of(value)
    type_ = value.type
    return isinstance(type_, ScalarType) and span != Span(type_.lowest, type_.highest)


def _bits(type_: Type) -> int:
    return type_.bits if isinstance(type_, ScalarType) else 0

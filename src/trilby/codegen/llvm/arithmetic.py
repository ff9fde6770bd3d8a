"""Arithmetic and comparisons, in the meaning of the kernel language."""

from collections.abc import Mapping

from trilby.codegen.checked_types import scalar
from trilby.codegen.llvm import ir
from trilby.codegen.llvm.conversions import rounded
from trilby.codegen.llvm.lane_values import BIT, Lanes, of_kind
from trilby.codegen.llvm.writer import KernelWriter
from trilby.data.dtypes import ScalarType
from trilby.model.op import Op
from trilby.model.ops import arith
from trilby.model.ops.arith import Binary, Compare, Unary

_FLOATS: Mapping[type[Op], str] = {
    arith.Add: "fadd",
    arith.Sub: "fsub",
    arith.Mul: "fmul",
    arith.TrueDiv: "fdiv",
}
_INTEGERS: Mapping[type[Op], str] = {
    arith.Add: "add",
    arith.Sub: "sub",
    arith.Mul: "mul",
    arith.BitAnd: "and",
    arith.BitOr: "or",
    arith.BitXor: "xor",
    arith.Shl: "shl",
}
_ORDERS: Mapping[type[Op], str] = {
    arith.Lt: "lt",
    arith.Le: "le",
    arith.Gt: "gt",
    arith.Ge: "ge",
    arith.Eq: "eq",
    arith.Ne: "ne",
}


def binary(writer: KernelWriter, op: Binary) -> None:
    """Two operands of one type."""
    left, right = writer.take(op.left), writer.take(op.right)
    type_ = scalar(op.value.type)
    stride = ir.binary(op, type_, [left.stride, right.stride], [left.literal, right.literal])
    if stride is not None:
        base = _computed(writer, op, type_, _base(left), _base(right))
        writer.give(op, Lanes(base.kind, base.text, stride))
    else:
        writer.give(op, _computed(writer, op, type_, left, right))


def _base(number: Lanes) -> Lanes:
    """The number of lane 0, as if it were that of all."""
    return Lanes(number.kind, number.text, literal=number.literal)


def _computed(
    writer: KernelWriter, op: Binary, type_: ScalarType, left: Lanes, right: Lanes
) -> Lanes:
    pair = [left, right]
    match op:
        case arith.FloorDiv() | arith.Mod() | arith.Pow():
            return _divided_or_raised(writer, op, type_, left, right)
        case arith.Shl() | arith.Shr():
            return _shifted(writer, op, type_, left, right)
        case _ if type_.is_float:
            word = f"{_FLOATS[type(op)]} {writer.flags}"
            return rounded(writer, writer.apply(f"{word}{{t}} {{0}}, {{1}}", pair), type_)
        case _:
            return writer.apply(f"{_INTEGERS[type(op)]} {{t}} {{0}}, {{1}}", pair)


def _divided_or_raised(
    writer: KernelWriter,
    op: arith.FloorDiv | arith.Mod | arith.Pow,
    type_: ScalarType,
    left: Lanes,
    right: Lanes,
) -> Lanes:
    if isinstance(op, arith.Pow):
        from trilby.codegen.llvm import mathematics  # noqa: PLC0415 -- many kernels have none

        if not type_.is_float:
            return mathematics.whole_power(writer, type_, left, right)
        return rounded(writer, mathematics.computed(writer, "pow", [left, right]), type_)
    from trilby.codegen.llvm import division  # noqa: PLC0415 -- the same

    if not type_.is_float:
        return division.divided(writer, op, type_, left, right)
    return rounded(writer, division.float_divided(writer, op, left, right), type_)


def _shifted(
    writer: KernelWriter, op: Binary, type_: ScalarType, left: Lanes, right: Lanes
) -> Lanes:
    """Shift counts are taken modulo the width."""
    count = right
    if right.literal is None or not 0 <= int(right.literal) < type_.bits:
        last = of_kind(type_.bits - 1, right.kind)
        count = writer.apply("and {t} {0}, {1}", [right, last])
    word = "shl" if isinstance(op, arith.Shl) else "ashr" if type_.kind == "int" else "lshr"
    return writer.apply(f"{word} {{t}} {{0}}, {{1}}", [left, count])


def compare(writer: KernelWriter, op: Compare) -> None:
    """A comparison; NaN is not equal to anything."""
    type_ = scalar(op.left.type)
    pair = [writer.take(op.left), writer.take(op.right)]
    writer.give(op, compared(writer, _ORDERS[type(op)], type_, pair))


def compared(writer: KernelWriter, order: str, type_: ScalarType, pair: list[Lanes]) -> Lanes:
    """`compared(writer, "lt", I32, [a, b])`."""
    if type_.is_float:
        word = "une" if order == "ne" else f"o{order}"
        return writer.apply(f"fcmp {word} {{t}} {{0}}, {{1}}", pair, BIT)
    sign = "" if order in {"eq", "ne"} else "s" if type_.kind == "int" else "u"
    return writer.apply(f"icmp {sign}{order} {{t}} {{0}}, {{1}}", pair, BIT)


def unary(writer: KernelWriter, op: Unary) -> None:
    """`-a`, `~a`, `not a`."""
    number = writer.take(op.operand)
    type_ = scalar(op.operand.type)
    if isinstance(op, arith.Not):
        made = writer.apply("xor {t} {0}, {1}", [number, of_kind(1, BIT)])
    elif isinstance(op, arith.Invert):
        made = writer.apply("xor {t} {0}, {1}", [number, of_kind(-1, number.kind)])
    elif type_.is_float:
        made = writer.apply(f"fneg {writer.flags}{{t}} {{0}}", [number])
    elif number.stride and ir.has_steps(type_):
        base = writer.apply("sub {t} 0, {0}", [_base(number)])
        made = Lanes(base.kind, base.text, -number.stride)
    else:
        made = writer.apply("sub {t} {1}, {0}", [number, of_kind(0, number.kind)])
    writer.give(op, made)

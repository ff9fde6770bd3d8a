"""Conversions between types of numbers, as `dtypes.convert` defines them, and 16-bit floats."""

from trilby.codegen.checked_types import scalar
from trilby.codegen.llvm import ir
from trilby.codegen.llvm.ir import Ir
from trilby.codegen.llvm.lane_values import BIT, Lanes, kind_of, of_kind, stored_kind
from trilby.codegen.llvm.writer import KernelWriter
from trilby.data.dtypes import BF16, BOOL, F16, F64, ScalarType
from trilby.model.ops.arith import Cast


def cast(writer: KernelWriter, op: Cast) -> None:
    """The operand as another type."""
    number = writer.take(op.operand)
    source, target = scalar(op.operand.type), scalar(op.value.type)
    stride = ir.cast(op.operand, target, number.stride, writer.spans)
    if stride is not None and stride != 0:
        base = converted(writer, Lanes(number.kind, number.text), source, target)
        writer.give(op, Lanes(base.kind, base.text, stride))
    else:
        writer.give(op, converted(writer, number, source, target))


def converted(ir: Ir, number: Lanes, source: ScalarType, target: ScalarType) -> Lanes:
    """A number of one type as one of another."""
    if source is target:
        return number
    if target is BOOL:
        return _truth(ir, number, source)
    if target.is_float:
        return _as_float(ir, number, source, target)
    if source.is_float:
        return _cut(ir, number, target)
    return _resized(ir, number, source, target)


def _truth(ir: Ir, number: Lanes, source: ScalarType) -> Lanes:
    test = "fcmp une" if source.is_float else "icmp ne"
    return ir.apply(f"{test} {{t}} {{0}}, {{1}}", [number, of_kind(0, number.kind)], BIT)


def _resized(ir: Ir, number: Lanes, source: ScalarType, target: ScalarType) -> Lanes:
    kind = kind_of(target)
    if kind == number.kind:
        return number
    if source is not BOOL and target.bits < source.bits:
        return ir.apply("trunc {t} {0} to {o}", [number], kind)
    word = "sext" if source.kind == "int" else "zext"
    return ir.apply(f"{word} {{t}} {{0}} to {{o}}", [number], kind)


def _cut(ir: Ir, number: Lanes, target: ScalarType) -> Lanes:
    """Cut towards zero, kept within the type, NaN as 0."""
    kind = kind_of(target)
    word = "fptosi" if target.kind == "int" else "fptoui"
    suffixes = [ir.suffix(k, number.stride) for k in (kind, number.kind)]
    symbol = f"@llvm.{word}.sat.{'.'.join(suffixes)}"
    types = [ir.type_of(number.stride, k) for k in (kind, number.kind)]
    ir.declare(f"declare {types[0]} {symbol}({types[1]})")
    return ir.apply(f"call {{o}} {symbol}({{t}} {{0}})", [number], kind)


def _as_float(ir: Ir, number: Lanes, source: ScalarType, target: ScalarType) -> Lanes:
    kind = kind_of(target)
    if not source.is_float:
        word = "sitofp" if source.kind == "int" else "uitofp"
        return rounded(ir, ir.apply(f"{word} {{t}} {{0}} to {{o}}", [number], kind), target)
    if source is F64 and target is F16:
        return rounded(ir, _odd(ir, number), target)
    if number.kind == kind:
        return rounded(ir, number, target)
    word = "fptrunc" if source is F64 else "fpext"
    return rounded(ir, ir.apply(f"{word} {{t}} {{0}} to {{o}}", [number], kind), target)


def _odd(ir: Ir, number: Lanes) -> Lanes:
    """A double as the float beside it with an odd last bit, unless it is a float itself.

    That can be rounded again as if it were the double.
    """
    near = ir.apply("fptrunc {t} {0} to {o}", [number], "float")
    back = ir.apply("fpext {t} {0} to {o}", [near], "double")
    is_same = ir.apply("fcmp ueq {t} {0}, {1}", [back, number], BIT)
    bits = ir.apply("bitcast {t} {0} to {o}", [near], "i32")
    low = ir.apply("and {t} {0}, {1}", [bits, of_kind(1, "i32")])
    is_odd = ir.apply("icmp ne {t} {0}, {1}", [low, of_kind(0, "i32")], BIT)
    sizes = [ir.call("fabs", [x]) for x in (back, number)]
    is_below = ir.apply("fcmp olt {t} {0}, {1}", sizes, BIT)
    step = ir.select(is_below, of_kind(1, "i32"), of_kind(-1, "i32"))
    moved = ir.apply("add {t} {0}, {1}", [bits, step])
    keep = ir.apply("or {t} {0}, {1}", [is_same, is_odd])
    return ir.apply("bitcast {t} {0} to {o}", [ir.select(keep, bits, moved)], "float")


def rounded(ir: Ir, number: Lanes, type_: ScalarType) -> Lanes:
    """Halves are computed as floats and rounded after each step."""
    if not type_.is_half:
        return number
    return from_storage(ir, to_storage(ir, number, type_), type_)


def to_storage(ir: Ir, number: Lanes, type_: ScalarType) -> Lanes:
    """A number as it is kept in memory."""
    kind = stored_kind(type_)
    if type_ is BOOL:
        return ir.apply("zext {t} {0} to {o}", [number], kind)
    if type_ is F16:
        return ir.apply("fptrunc {t} {0} to {o}", [number], kind)
    return _nearest_bf16(ir, number) if type_ is BF16 else number


def from_storage(ir: Ir, number: Lanes, type_: ScalarType) -> Lanes:
    """A number from what is kept in memory."""
    kind = kind_of(type_)
    if type_ is BOOL:
        return ir.apply("icmp ne {t} {0}, {1}", [number, of_kind(0, "i8")], BIT)
    if type_ is F16:
        return ir.apply("fpext {t} {0} to {o}", [number], kind)
    if type_ is not BF16:
        return number
    wide = ir.apply("zext {t} {0} to {o}", [number], "i32")
    moved = ir.apply("shl {t} {0}, {1}", [wide, of_kind(16, "i32")])
    return ir.apply("bitcast {t} {0} to {o}", [moved], kind)


def _nearest_bf16(ir: Ir, number: Lanes) -> Lanes:
    """The upper half of a float's bits, to the nearest, ties to even; NaN stays NaN."""
    bits = ir.apply("bitcast {t} {0} to {o}", [number], "i32")
    high = ir.apply("lshr {t} {0}, {1}", [bits, of_kind(16, "i32")])
    tie = ir.apply("and {t} {0}, {1}", [high, of_kind(1, "i32")])
    bias = ir.apply("add {t} {0}, {1}", [tie, of_kind(0x7FFF, "i32")])
    near = ir.apply("add {t} {0}, {1}", [bits, bias])
    quiet = ir.apply("or {t} {0}, {1}", [bits, of_kind(0x400000, "i32")])
    is_nan = ir.apply("fcmp uno {t} {0}, {0}", [number], BIT)
    chosen = ir.select(is_nan, quiet, near)
    upper = ir.apply("lshr {t} {0}, {1}", [chosen, of_kind(16, "i32")])
    return ir.apply("trunc {t} {0} to {o}", [upper], "i16")

"""Arithmetic, comparisons, division and conversions, in the meaning of the kernel language."""

from collections.abc import Mapping

from trilby.codegen.checked_types import scalar
from trilby.codegen.llvm import ir
from trilby.codegen.llvm.ir import BIT, Ir, Lanes, kind_of, of_kind, stored_kind
from trilby.codegen.llvm.writer import KernelWriter
from trilby.data.dtypes import BF16, BOOL, F16, F64, ScalarType
from trilby.model.op import Op
from trilby.model.ops import arith
from trilby.model.ops.arith import Binary, Cast, Compare, FloorDiv, Unary

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
        case arith.FloorDiv() | arith.Mod() if type_.is_float:
            return rounded(writer, _float_divided(writer, op, left, right), type_)
        case arith.FloorDiv() | arith.Mod():
            return _divided(writer, op, type_, left, right)
        case arith.Shl() | arith.Shr():
            return _shifted(writer, op, type_, left, right)
        case _ if type_.is_float:
            word = f"{_FLOATS[type(op)]}{writer.flags}"
            return rounded(writer, writer.apply(word, pair), type_)
        case _:
            return writer.apply(_INTEGERS[type(op)], pair)


def _shifted(
    writer: KernelWriter, op: Binary, type_: ScalarType, left: Lanes, right: Lanes
) -> Lanes:
    """Shift counts are taken modulo the width."""
    count = right
    if right.literal is None or not 0 <= int(right.literal) < type_.bits:
        last = of_kind(type_.bits - 1, right.kind)
        count = writer.apply("and", [right, last])
    word = "shl" if isinstance(op, arith.Shl) else "ashr" if type_.kind == "int" else "lshr"
    return writer.apply(word, [left, count])


def compare(writer: KernelWriter, op: Compare) -> None:
    """A comparison; NaN is not equal to anything."""
    type_ = scalar(op.left.type)
    pair = [writer.take(op.left), writer.take(op.right)]
    writer.give(op, compared(writer, _ORDERS[type(op)], type_, pair))


def compared(writer: KernelWriter, order: str, type_: ScalarType, pair: list[Lanes]) -> Lanes:
    """`compared(writer, "lt", I32, [a, b])`."""
    if type_.is_float:
        word = "une" if order == "ne" else f"o{order}"
        return writer.apply(f"fcmp {word}", pair, BIT)
    sign = "" if order in {"eq", "ne"} else "s" if type_.kind == "int" else "u"
    return writer.apply(f"icmp {sign}{order}", pair, BIT)


def unary(writer: KernelWriter, op: Unary) -> None:
    """`-a`, `~a`, `not a`."""
    number = writer.take(op.operand)
    type_ = scalar(op.operand.type)
    if isinstance(op, arith.Not):
        made = writer.apply("xor", [number, of_kind(1, BIT)])
    elif isinstance(op, arith.Invert):
        made = writer.apply("xor", [number, of_kind(-1, number.kind)])
    elif type_.is_float:
        made = writer.apply(f"fneg{writer.flags}", [number])
    elif number.stride and ir.has_steps(type_):
        base = writer.apply("sub", [of_kind(0, number.kind), _base(number)])
        made = Lanes(base.kind, base.text, -number.stride)
    else:
        made = writer.apply("sub", [of_kind(0, number.kind), number])
    writer.give(op, made)


# ---------------------------------------------------------------------------------------- division
# Floor division and modulo. Nothing traps: what is divided by zero is 0, also in idle lanes.
#
# Processors have no division of integers in vectors. Integers of 32 bits are divided as doubles:
# the quotient of two of them is further from the next whole number than rounding goes.


def _divided(
    writer: KernelWriter, op: Binary, type_: ScalarType, left: Lanes, right: Lanes
) -> Lanes:
    """`//` or `%` of integers, rounded towards minus infinity."""
    is_quotient = isinstance(op, FloorDiv)
    number = int(right.literal) if right.literal is not None else 0
    if number > 0 and number.bit_count() == 1:  # shifts and masks round so by themselves
        if not is_quotient:
            return writer.apply("and", [left, of_kind(number - 1, left.kind)])
        word = "ashr" if type_.kind == "int" else "lshr"
        count = of_kind(number.bit_length() - 1, left.kind)
        return writer.apply(word, [left, count])
    spans = writer.spans.of(op.left), writer.spans.of(op.right)
    is_plain = type_.kind == "uint" or (spans[0].low >= 0 and spans[1].low > 0)
    is_fit = number not in {0, -1}
    zero, one = of_kind(0, left.kind), of_kind(1, left.kind)
    is_zero = writer.apply("icmp eq", [right, zero], BIT)
    is_unfit, is_minus_one = is_zero, None
    if not is_plain:
        is_minus_one = writer.apply("icmp eq", [right, of_kind(-1, left.kind)], BIT)
        is_unfit = writer.apply("or", [is_zero, is_minus_one])
    divisor = right if is_fit else writer.select(is_unfit, one, right)
    quotient = _cut_quotient(writer, type_, left, divisor, is_plain=is_plain)
    product = writer.apply("mul", [quotient, divisor])
    rest = writer.apply("sub", [left, product])
    if is_plain:
        found = quotient if is_quotient else rest
        return found if is_fit else writer.select(is_zero, zero, found)
    differs = writer.apply("xor", [rest, divisor])
    is_below = writer.apply("icmp slt", [differs, zero], BIT)
    has_rest = writer.apply("icmp ne", [rest, zero], BIT)
    steps = writer.apply("and", [is_below, has_rest])
    if not is_quotient:
        return writer.select(steps, writer.apply("add", [rest, divisor]), rest)
    lower = writer.apply("sub", [quotient, one])
    found = writer.select(steps, lower, quotient)
    if is_fit:
        return found
    negated = writer.apply("sub", [zero, left])
    found = writer.select(is_zero, zero, found)
    return found if is_minus_one is None else writer.select(is_minus_one, negated, found)


def _cut_quotient(
    writer: KernelWriter, type_: ScalarType, left: Lanes, right: Lanes, *, is_plain: bool
) -> Lanes:
    """The quotient cut towards zero; the divisor is neither 0 nor, with a sign, -1."""
    sign = "u" if is_plain else "s"
    is_scalar = left.is_uniform and right.is_uniform
    if is_scalar or right.literal is not None or type_.bits > 32:
        return writer.apply(f"{sign}div", [left, right])
    # a plain number of a signed type has no sign, and conversions of signed ones are cheaper
    to = "sitofp" if type_.kind == "int" else "uitofp"
    back = "fptosi" if type_.kind == "int" else "fptoui"
    wide = [writer.convert(to, number, "double") for number in (left, right)]
    quotient = writer.apply("fdiv", wide)
    return writer.convert(back, quotient, left.kind)


def _float_divided(writer: KernelWriter, op: Binary, left: Lanes, right: Lanes) -> Lanes:
    """`//` or `%` of floats, as NumPy computes them."""
    zero = of_kind(0.0, left.kind)
    rest = writer.apply("frem", [left, right])
    is_whole = writer.apply("fcmp oeq", [rest, zero], BIT)
    signs = [writer.apply("fcmp olt", [x, zero], BIT) for x in (right, rest)]
    differ = writer.apply("xor", signs)
    if not isinstance(op, FloorDiv):
        moved = writer.apply("fadd", [rest, right])
        signed = writer.call("copysign", [rest, right])
        return writer.select(is_whole, signed, writer.select(differ, moved, rest))
    has_rest = writer.apply("fcmp une", [rest, zero], BIT)
    lowers = writer.apply("and", [differ, has_rest])
    difference = writer.apply("fsub", [left, rest])
    quotient = writer.apply("fdiv", [difference, right])
    lower = writer.apply("fsub", [quotient, of_kind(1.0, left.kind)])
    return _whole_quotient(writer, left, right, writer.select(lowers, lower, quotient))


def _whole_quotient(writer: KernelWriter, left: Lanes, right: Lanes, quotient: Lanes) -> Lanes:
    """The quotient, which is nearly whole, made whole; zeros have the sign of `left / right`."""
    zero = of_kind(0.0, left.kind)
    plain = writer.apply("fdiv", [left, right])
    floor = writer.call("floor", [quotient])
    above = writer.apply("fsub", [quotient, floor])
    is_near = writer.apply("fcmp ogt", [above, of_kind(0.5, left.kind)], BIT)
    upper = writer.apply("fadd", [floor, of_kind(1.0, left.kind)])
    whole = writer.select(is_near, upper, floor)
    is_zero = writer.apply("fcmp oeq", [quotient, zero], BIT)
    signed = writer.call("copysign", [zero, plain])
    by_zero = writer.apply("fcmp oeq", [right, zero], BIT)
    return writer.select(by_zero, plain, writer.select(is_zero, signed, whole))


# ------------------------------------------------------------------------------------- conversions
# Conversions between types of numbers, as `dtypes.convert` defines them, and 16-bit floats.


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
        test = "fcmp une" if source.is_float else "icmp ne"
        return ir.apply(test, [number, of_kind(0, number.kind)], BIT)
    if target.is_float:
        return _as_float(ir, number, source, target)
    if source.is_float:
        return _cut(ir, number, target)
    return _resized(ir, number, source, target)


def _resized(ir: Ir, number: Lanes, source: ScalarType, target: ScalarType) -> Lanes:
    kind = kind_of(target)
    if kind == number.kind:
        return number
    if source is not BOOL and target.bits < source.bits:
        return ir.convert("trunc", number, kind)
    word = "sext" if source.kind == "int" else "zext"
    return ir.convert(word, number, kind)


def _cut(ir: Ir, number: Lanes, target: ScalarType) -> Lanes:
    """Cut towards zero, kept within the type, NaN as 0."""
    kind = kind_of(target)
    word = "fptosi" if target.kind == "int" else "fptoui"
    suffixes = [ir.suffix(k, number.stride) for k in (kind, number.kind)]
    symbol = f"@llvm.{word}.sat.{'.'.join(suffixes)}"
    types = [ir.type_of(number.stride, k) for k in (kind, number.kind)]
    ir.declare(f"declare {types[0]} {symbol}({types[1]})")
    return ir.call_symbol(symbol, [number], kind)


def _as_float(ir: Ir, number: Lanes, source: ScalarType, target: ScalarType) -> Lanes:
    kind = kind_of(target)
    if not source.is_float:
        word = "sitofp" if source.kind == "int" else "uitofp"
        return rounded(ir, ir.convert(word, number, kind), target)
    if source is F64 and target is F16:
        return rounded(ir, _odd(ir, number), target)
    if number.kind == kind:
        return rounded(ir, number, target)
    word = "fptrunc" if source is F64 else "fpext"
    return rounded(ir, ir.convert(word, number, kind), target)


def _odd(ir: Ir, number: Lanes) -> Lanes:
    """A double as the float beside it with an odd last bit, unless it is a float itself.

    That can be rounded again as if it were the double.
    """
    near = ir.convert("fptrunc", number, "float")
    back = ir.convert("fpext", near, "double")
    is_same = ir.apply("fcmp ueq", [back, number], BIT)
    bits = ir.convert("bitcast", near, "i32")
    low = ir.apply("and", [bits, of_kind(1, "i32")])
    is_odd = ir.apply("icmp ne", [low, of_kind(0, "i32")], BIT)
    sizes = [ir.call("fabs", [x]) for x in (back, number)]
    is_below = ir.apply("fcmp olt", sizes, BIT)
    step = ir.select(is_below, of_kind(1, "i32"), of_kind(-1, "i32"))
    moved = ir.apply("add", [bits, step])
    keep = ir.apply("or", [is_same, is_odd])
    return ir.convert("bitcast", ir.select(keep, bits, moved), "float")


def rounded(ir: Ir, number: Lanes, type_: ScalarType) -> Lanes:
    """Halves are computed as floats and rounded after each step."""
    if not type_.is_half:
        return number
    return from_storage(ir, to_storage(ir, number, type_), type_)


def to_storage(ir: Ir, number: Lanes, type_: ScalarType) -> Lanes:
    """A number as it is kept in memory."""
    kind = stored_kind(type_)
    if type_ is BOOL:
        return ir.convert("zext", number, kind)
    if type_ is F16:
        return ir.convert("fptrunc", number, kind)
    return _nearest_bf16(ir, number) if type_ is BF16 else number


def from_storage(ir: Ir, number: Lanes, type_: ScalarType) -> Lanes:
    """A number from what is kept in memory."""
    kind = kind_of(type_)
    if type_ is BOOL:
        return ir.apply("icmp ne", [number, of_kind(0, "i8")], BIT)
    if type_ is F16:
        return ir.convert("fpext", number, kind)
    if type_ is not BF16:
        return number
    wide = ir.convert("zext", number, "i32")
    moved = ir.apply("shl", [wide, of_kind(16, "i32")])
    return ir.convert("bitcast", moved, kind)


def _nearest_bf16(ir: Ir, number: Lanes) -> Lanes:
    """The upper half of a float's bits, to the nearest, ties to even; NaN stays NaN."""
    bits = ir.convert("bitcast", number, "i32")
    high = ir.apply("lshr", [bits, of_kind(16, "i32")])
    tie = ir.apply("and", [high, of_kind(1, "i32")])
    bias = ir.apply("add", [tie, of_kind(0x7FFF, "i32")])
    near = ir.apply("add", [bits, bias])
    quiet = ir.apply("or", [bits, of_kind(0x400000, "i32")])
    is_nan = ir.apply("fcmp uno", [number, number], BIT)
    chosen = ir.select(is_nan, quiet, near)
    upper = ir.apply("lshr", [chosen, of_kind(16, "i32")])
    return ir.convert("trunc", upper, "i16")

"""Floor division and modulo. Nothing traps: what is divided by zero is 0, also in idle lanes.

Processors have no division of integers in vectors. Integers of 32 bits are divided as doubles: the
quotient of two of them is further from the next whole number than rounding goes.
"""

from trilby.codegen.llvm.lane_values import BIT, Lanes, of_kind
from trilby.codegen.llvm.writer import KernelWriter
from trilby.data.dtypes import ScalarType
from trilby.model.ops.arith import Binary, FloorDiv


def divided(
    writer: KernelWriter, op: Binary, type_: ScalarType, left: Lanes, right: Lanes
) -> Lanes:
    """`//` or `%` of integers, rounded towards minus infinity."""
    is_quotient = isinstance(op, FloorDiv)
    if right.literal is not None:
        shifted = _by_power_of_two(writer, type_, left, int(right.literal), is_quotient=is_quotient)
        if shifted is not None:
            return shifted
    spans = writer.spans.of(op.left), writer.spans.of(op.right)
    is_plain = type_.kind == "uint" or (spans[0].low >= 0 and spans[1].low > 0)
    return _general(writer, type_, left, right, is_plain=is_plain, is_quotient=is_quotient)


def _by_power_of_two(
    writer: KernelWriter, type_: ScalarType, left: Lanes, divisor: int, *, is_quotient: bool
) -> Lanes | None:
    """Shifts and masks round towards minus infinity by themselves."""
    if divisor <= 0 or divisor.bit_count() != 1:
        return None
    if not is_quotient:
        return writer.apply("and {t} {0}, {1}", [left, of_kind(divisor - 1, left.kind)])
    word = "ashr" if type_.kind == "int" else "lshr"
    count = of_kind(divisor.bit_length() - 1, left.kind)
    return writer.apply(f"{word} {{t}} {{0}}, {{1}}", [left, count])


def _general(
    writer: KernelWriter,
    type_: ScalarType,
    left: Lanes,
    right: Lanes,
    *,
    is_plain: bool,
    is_quotient: bool,
) -> Lanes:
    zero, one = of_kind(0, left.kind), of_kind(1, left.kind)
    is_zero = _equals(writer, right, zero)
    is_unfit, is_minus_one = is_zero, None
    if not is_plain:
        is_minus_one = _equals(writer, right, of_kind(-1, left.kind))
        is_unfit = writer.apply("or {t} {0}, {1}", [is_zero, is_minus_one])
    divisor = right if _is_fit(right) else writer.select(is_unfit, one, right)
    quotient = _cut_quotient(writer, type_, left, divisor, is_plain=is_plain)
    product = writer.apply("mul {t} {0}, {1}", [quotient, divisor])
    rest = writer.apply("sub {t} {0}, {1}", [left, product])
    if is_plain:
        found = quotient if is_quotient else rest
        return found if _is_fit(right) else writer.select(is_zero, zero, found)
    differs = writer.apply("xor {t} {0}, {1}", [rest, divisor])
    is_below = writer.apply("icmp slt {t} {0}, {1}", [differs, zero], BIT)
    has_rest = writer.apply("icmp ne {t} {0}, {1}", [rest, zero], BIT)
    steps = writer.apply("and {t} {0}, {1}", [is_below, has_rest])
    if not is_quotient:
        return writer.select(steps, writer.apply("add {t} {0}, {1}", [rest, divisor]), rest)
    lower = writer.apply("sub {t} {0}, {1}", [quotient, one])
    found = writer.select(steps, lower, quotient)
    if _is_fit(right):
        return found
    negated = writer.apply("sub {t} {1}, {0}", [left, zero])
    found = writer.select(is_zero, zero, found)
    return found if is_minus_one is None else writer.select(is_minus_one, negated, found)


def _is_fit(divisor: Lanes) -> bool:
    """Whether a divisor is known, and neither 0 nor -1."""
    return divisor.literal is not None and divisor.literal not in {0, -1}


def _equals(writer: KernelWriter, left: Lanes, right: Lanes) -> Lanes:
    return writer.apply("icmp eq {t} {0}, {1}", [left, right], BIT)


def _cut_quotient(
    writer: KernelWriter, type_: ScalarType, left: Lanes, right: Lanes, *, is_plain: bool
) -> Lanes:
    """The quotient cut towards zero; the divisor is neither 0 nor, with a sign, -1."""
    sign = "u" if is_plain else "s"
    is_scalar = left.is_uniform and right.is_uniform
    if is_scalar or right.literal is not None or type_.bits > 32:
        return writer.apply(f"{sign}div {{t}} {{0}}, {{1}}", [left, right])
    # a plain number of a signed type has no sign, and conversions of signed ones are cheaper
    to = "sitofp" if type_.kind == "int" else "uitofp"
    back = "fptosi" if type_.kind == "int" else "fptoui"
    wide = [
        writer.apply(f"{to} {{t}} {{0}} to {{o}}", [number], "double") for number in (left, right)
    ]
    quotient = writer.apply("fdiv {t} {0}, {1}", wide)
    return writer.apply(f"{back} {{t}} {{0}} to {{o}}", [quotient], left.kind)


def float_divided(writer: KernelWriter, op: Binary, left: Lanes, right: Lanes) -> Lanes:
    """`//` or `%` of floats, as NumPy computes them."""
    zero = of_kind(0.0, left.kind)
    rest = writer.apply("frem {t} {0}, {1}", [left, right])
    is_whole = writer.apply("fcmp oeq {t} {0}, {1}", [rest, zero], BIT)
    signs = [writer.apply("fcmp olt {t} {0}, {1}", [x, zero], BIT) for x in (right, rest)]
    differ = writer.apply("xor {t} {0}, {1}", signs)
    if not isinstance(op, FloorDiv):
        moved = writer.apply("fadd {t} {0}, {1}", [rest, right])
        signed = writer.call("copysign", [rest, right])
        return writer.select(is_whole, signed, writer.select(differ, moved, rest))
    has_rest = writer.apply("fcmp une {t} {0}, {1}", [rest, zero], BIT)
    lowers = writer.apply("and {t} {0}, {1}", [differ, has_rest])
    difference = writer.apply("fsub {t} {0}, {1}", [left, rest])
    quotient = writer.apply("fdiv {t} {0}, {1}", [difference, right])
    lower = writer.apply("fsub {t} {0}, {1}", [quotient, of_kind(1.0, left.kind)])
    return _whole_quotient(writer, left, right, writer.select(lowers, lower, quotient))


def _whole_quotient(writer: KernelWriter, left: Lanes, right: Lanes, quotient: Lanes) -> Lanes:
    """The quotient, which is nearly whole, made whole; zeros have the sign of `left / right`."""
    zero = of_kind(0.0, left.kind)
    plain = writer.apply("fdiv {t} {0}, {1}", [left, right])
    floor = writer.call("floor", [quotient])
    above = writer.apply("fsub {t} {0}, {1}", [quotient, floor])
    is_near = writer.apply("fcmp ogt {t} {0}, {1}", [above, of_kind(0.5, left.kind)], BIT)
    upper = writer.apply("fadd {t} {0}, {1}", [floor, of_kind(1.0, left.kind)])
    whole = writer.select(is_near, upper, floor)
    is_zero = writer.apply("fcmp oeq {t} {0}, {1}", [quotient, zero], BIT)
    signed = writer.call("copysign", [zero, plain])
    by_zero = writer.apply("fcmp oeq {t} {0}, {1}", [right, zero], BIT)
    return writer.select(by_zero, plain, writer.select(is_zero, signed, whole))

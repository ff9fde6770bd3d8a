"""Arithmetic and choices, as the C family writes them."""

from collections.abc import Mapping
from dataclasses import replace

from trilby.codegen.cfunction import CFunctionWriter
from trilby.codegen.ctext import (
    BITS,
    CHOICE,
    EQUAL,
    ORDER,
    POSTFIX,
    PRODUCT,
    SHIFT,
    SUM,
    UNARY,
    Text,
    reads_of,
)
from trilby.data.dtypes import (
    BOOL,
    F16,
    F32,
    F64,
    I32,
    I64,
    U64,
    Number,
    ScalarType,
    Type,
    round_to,
)
from trilby.model.intrinsics import INTRINSICS
from trilby.model.op import Op
from trilby.model.ops import arith
from trilby.model.ops.arith import Binary, Cast, Compare, Math, Unary
from trilby.model.ops.core import Constant
from trilby.model.ops.grid import Grid

_SYMBOLS: Mapping[type[Op], tuple[str, int]] = {
    arith.Add: ("+", SUM),
    arith.Sub: ("-", SUM),
    arith.Mul: ("*", PRODUCT),
    arith.TrueDiv: ("/", PRODUCT),
    arith.Shl: ("<<", SHIFT),
    arith.Shr: (">>", SHIFT),
    arith.BitAnd: ("&", BITS),
    arith.BitOr: ("|", BITS),
    arith.BitXor: ("^", BITS),
    arith.Lt: ("<", ORDER),
    arith.Le: ("<=", ORDER),
    arith.Gt: (">", ORDER),
    arith.Ge: (">=", ORDER),
    arith.Eq: ("==", EQUAL),
    arith.Ne: ("!=", EQUAL),
}
_FUNCTIONS: Mapping[type[Op], str] = {
    arith.FloorDiv: "floordiv",
    arith.Mod: "mod",
    arith.Pow: "pow",
}
_WRAPPING = (arith.Add, arith.Sub, arith.Mul)
_SUPPORTED_MATH = frozenset({"min", "max", "abs", "clamp", "sign", "degrees", "radians"})


def _scalar(type_: Type) -> ScalarType:
    if not isinstance(type_, ScalarType):
        raise TypeError(type_)
    return type_


def constant(writer: CFunctionWriter, op: Constant) -> None:
    """A literal of the right type."""
    writer.give_anywhere(op, literal(writer, op.literal, _scalar(op.value.type)))


def literal(writer: CFunctionWriter, number: Number, type_: ScalarType) -> Text:
    """A number as C spells it; the lowest integers have no literal of their own."""
    if type_ is BOOL:
        return Text("true" if number else "false")
    if type_.is_float:
        text = writer.module.dialect.float_literal(round_to(float(number), type_), type_)
        return Text(text, UNARY if text.startswith("-") else 0)
    suffix = {I64: "L", U64: "UL"}.get(type_, "u" if type_.kind == "uint" else "")
    number = int(number)
    if number == type_.lowest < 0 and type_.bits >= 32:
        return Text(f"({number + 1}{suffix} - 1)")
    return Text(f"{number}{suffix}", UNARY if number < 0 else 0)


def grid(writer: CFunctionWriter, op: Grid) -> None:
    """A field of the kernel context."""
    context = writer.take(op.context)
    writer.give_anywhere(op, Text(f"{context}->{op.field}", POSTFIX))


def binary(writer: CFunctionWriter, op: Binary) -> None:
    """Arithmetic with Python's meaning."""
    left, right = writer.take(op.left), writer.take(op.right)
    type_ = _scalar(op.left.type)
    if type_.is_integer and isinstance(op, arith.FloorDiv | arith.Mod):
        writer.give(op, _divided(writer, op, type_, left, right))
    elif type(op) in _FUNCTIONS:
        writer.give(op, _call(writer, _FUNCTIONS[type(op)], type_, [left, right]))
    elif isinstance(op, arith.Shl | arith.Shr):
        writer.give(op, _shifted(writer, op, type_, left, right))
    elif type_.is_integer and isinstance(op, _WRAPPING) and _may_wrap(writer, op, type_):
        text = _wrapped(writer, type_, _SYMBOLS[type(op)], left, right)
        if _leaves_every_array(writer, op, type_):
            text = replace(text, index=_joined(_SYMBOLS[type(op)], left, right))
        writer.give(op, text)
    else:
        writer.give(op, _rounded(writer, type_, _joined(_SYMBOLS[type(op)], left, right)))


def _joined(symbol: tuple[str, int], left: Text, right: Text) -> Text:
    """`a + b`. The right side binds tighter; beside `&` or `<<` nobody remembers what does."""
    sign, strength = symbol
    outer, inner = (UNARY, UNARY) if strength in {BITS, SHIFT} else (strength, strength - 1)
    text = f"{left.within(outer)} {sign} {right.within(inner)}"
    return Text(text, strength, reads_of([left, right]))


def _may_wrap(writer: CFunctionWriter, op: Binary, type_: ScalarType) -> bool:
    """False where the operands are too small to leave the type, or C wraps by itself."""
    if type_.kind == "uint" and type_.bits >= 32:
        return False
    exact = writer.spans.exact(op)
    return exact is None or not exact.fits(type_)


def _leaves_every_array(writer: CFunctionWriter, op: Binary, type_: ScalarType) -> bool:
    """True where the result, if it wraps, is negative: no index of any array.

    Only numbers that pass the end of the type by less than its size wrap so.
    """
    exact = writer.spans.exact(op)
    if exact is None or type_.kind != "int":
        return False
    return type_.lowest <= exact.low and exact.high < 2**type_.bits


def _wrapped(
    writer: CFunctionWriter, type_: ScalarType, symbol: tuple[str, int], left: Text, right: Text
) -> Text:
    """Signed overflow is undefined in C: compute without a sign, then go back.

    A chain of such steps goes back once, at its end.
    """
    own = writer.module.dialect.scalars[type_]
    unsigned = writer.module.dialect.unsigned[type_ if type_.bits >= 32 else I32]
    start = left.unsigned or Text(f"({unsigned}){left.within(UNARY)}", UNARY, left.reads)
    joined = _joined(symbol, start, right.unsigned or right)
    return Text(f"({own})({joined})", UNARY, joined.reads, unsigned=joined)


def _shifted(
    writer: CFunctionWriter, op: Binary, type_: ScalarType, left: Text, right: Text
) -> Text:
    """Shift counts are taken modulo the width."""
    count = writer.spans.of(op.right)
    if not 0 <= count.low <= count.high < type_.bits:
        right = Text(f"({right.within(UNARY)} & {type_.bits - 1})", reads=right.reads)
    if isinstance(op, arith.Shl) and not (type_.kind == "uint" and type_.bits >= 32):
        return _wrapped(writer, type_, _SYMBOLS[arith.Shl], left, right)
    return _joined(_SYMBOLS[type(op)], left, right)


def _divided(
    writer: CFunctionWriter, op: Binary, type_: ScalarType, left: Text, right: Text
) -> Text:
    """C's own division where no sign is in play and the divisor is not zero.

    Shifts and masks round towards minus infinity by themselves.
    """
    divided, divisor = writer.spans.of(op.left), writer.spans.of(op.right)
    if divided.low >= 0 and divisor.low > 0:
        symbol = "/" if isinstance(op, arith.FloorDiv) else "%"
        return _joined((symbol, PRODUCT), left, right)
    if divisor.low == divisor.high > 0 and divisor.low.bit_count() == 1:
        if isinstance(op, arith.FloorDiv):
            shift = Text(str(divisor.low.bit_length() - 1))
            return _joined(_SYMBOLS[arith.Shr], left, shift)
        return _joined(_SYMBOLS[arith.BitAnd], left, Text(str(divisor.low - 1)))
    function = _FUNCTIONS[type(op)]
    if type_.kind == "int" and divisor.low >= 0:
        function = f"{function}_size"
    return _call(writer, function, type_, [left, right])


def _rounded(writer: CFunctionWriter, type_: ScalarType, text: Text) -> Text:
    """Halves are computed as floats and rounded after each step."""
    if not type_.is_half:
        return text
    return Text(f"{writer.module.need('round', type_)}({text})", POSTFIX, text.reads)


def _call(writer: CFunctionWriter, name: str, type_: ScalarType, args: list[Text]) -> Text:
    if name == "pow" and type_.is_float:
        text = Text(f"pow({', '.join(a.text for a in args)})", POSTFIX, reads_of(args))
        return _rounded(writer, type_, text)
    function = writer.module.need(name, F32 if type_.is_half else type_)
    text = Text(f"{function}({', '.join(a.text for a in args)})", POSTFIX, reads_of(args))
    return _rounded(writer, type_, text)


def compare(writer: CFunctionWriter, op: Compare) -> None:
    """A comparison."""
    left, right = writer.take(op.left), writer.take(op.right)
    symbol, strength = _SYMBOLS[type(op)]
    text = f"{left.within(strength - 1)} {symbol} {right.within(strength - 1)}"
    writer.give(op, Text(text, strength, reads_of([left, right])))


def unary(writer: CFunctionWriter, op: Unary) -> None:
    """`-`, `~`, `!`."""
    operand = writer.take(op.operand)
    type_ = _scalar(op.operand.type)
    own = writer.module.dialect.scalars[type_]
    if isinstance(op, arith.Not):
        text = _negated(operand)
    elif isinstance(op, arith.Invert):
        text = Text(f"({own})~{operand.within(UNARY)}", UNARY, operand.reads)
    elif type_.is_float or writer.spans.negated(op).fits(type_):
        text = Text(f"-{operand.within(POSTFIX)}", UNARY, operand.reads)
    else:
        unsigned = writer.module.dialect.unsigned[type_]
        wrapped = f"({own})(0 - ({unsigned}){operand.within(UNARY)})"
        text = Text(wrapped, UNARY, operand.reads)
    writer.give(op, text)


def _negated(operand: Text) -> Text:
    """`!a`; the truth of a number is turned over where it is asked for."""
    if operand.strength == EQUAL and operand.text.endswith(" != 0"):
        return Text(f"{operand.text.removesuffix(' != 0')} == 0", EQUAL, operand.reads)
    return Text(f"!{operand.within(UNARY)}", UNARY, operand.reads)


def cast(writer: CFunctionWriter, op: Cast) -> None:
    """A conversion, as `dtypes.convert` defines it."""
    operand = writer.take(op.operand)
    source, target = _scalar(op.operand.type), _scalar(op.value.type)
    own = writer.module.dialect.scalars[target]
    if target is BOOL:
        text = Text(f"{operand.within(EQUAL - 1)} != 0", EQUAL, operand.reads)
    elif source.is_float and (target.is_integer or (source, target) == (F64, F16)):
        if target is F16:
            writer.module.need("round", F16)  # the function for doubles calls it
        function = writer.module.need(f"{target}_from", F32 if source.is_half else source)
        text = Text(f"{function}({operand})", POSTFIX, operand.reads)
    elif own == writer.module.dialect.scalars[source]:
        text = _rounded(writer, target, operand) if source is not target else operand
    elif operand.unsigned is not None and target.is_integer and target.bits <= source.bits:
        text = Text(f"({own})({operand.unsigned})", UNARY, operand.reads)
    else:
        text = Text(f"({own}){operand.within(UNARY)}", UNARY, operand.reads)
        text = _rounded(writer, target, text)
    writer.give(op, text)


def math(writer: CFunctionWriter, op: Math) -> None:
    """A math function: the language's own, or a support function where C means another."""
    args = [writer.take(argument) for argument in op.args]
    type_ = _scalar(op.args[0].type)
    if INTRINSICS[op.function].tests:
        text = Text(f"{op.function}({args[0]}) != 0", EQUAL, args[0].reads)
        writer.give(op, text)
        return
    if op.function == "abs" and type_.is_float:
        name = "fabs"
    elif op.function == "abs" and type_.kind == "uint":
        writer.give(op, args[0])
        return
    elif op.function in _SUPPORTED_MATH:
        name = writer.module.need(op.function, type_)
    else:
        name = writer.module.dialect.math.get(op.function, op.function)
        args = [_of_own_type(writer, type_, a) for a in args]
    text = Text(f"{name}({', '.join(a.text for a in args)})", POSTFIX, reads_of(args))
    writer.give(op, _rounded(writer, type_, text))


def _of_own_type(writer: CFunctionWriter, type_: ScalarType, text: Text) -> Text:
    """C computes with small integers as `int`; a function that counts bits sees the width."""
    if type_.is_float or type_.bits >= 32:
        return text
    own = writer.module.dialect.scalars[type_]
    return Text(f"({own}){text.within(UNARY)}", UNARY, text.reads)


def choice(condition: Text, then: Text, otherwise: Text) -> Text:
    """`c ? a : b`."""
    arms = f"{then.within(CHOICE - 1)} : {otherwise.within(CHOICE)}"
    return Text(
        f"{condition.within(CHOICE - 1)} ? {arms}", CHOICE, reads_of([condition, then, otherwise])
    )

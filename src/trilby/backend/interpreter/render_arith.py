"""What arithmetic means: each op as an expression of Python.

A number of an integer type is a Python `int` within the type's range, one of a float type
a `float` that the type can hold, a bool a `bool`. Integers wrap at their width. Floats are
computed as doubles and rounded to the type after every op, which is exact for
`+ - * /` and `sqrt`. Shift counts are taken modulo the width, as devices do.
"""

import math
from collections.abc import Callable

from trilby.backend.interpreter.python_writer import (
    PythonFunctionWriter,
    Renderer,
    no_meaning,
    scalar,
)
from trilby.data.dtypes import BF16, BOOL, F32, F64, Number, ScalarType, convert
from trilby.model.intrinsics import INTRINSICS, Intrinsic
from trilby.model.op import Op
from trilby.model.ops.arith import (
    Add,
    Binary,
    BitAnd,
    BitOr,
    BitXor,
    Cast,
    Compare,
    Eq,
    FloorDiv,
    Ge,
    Gt,
    Invert,
    Le,
    Lt,
    Math,
    Mod,
    Mul,
    Ne,
    Neg,
    Not,
    Pow,
    Shl,
    Shr,
    Sub,
    TrueDiv,
    Unary,
)
from trilby.model.value import Value


def literal_text(value: Number, of: ScalarType) -> str:
    """A number as Python writes it: `3`, `(-3)`, `0.5`, `inf`."""
    number = convert(value, of)
    negative = not isinstance(number, bool) and math.copysign(1.0, number) < 0
    return f"({number!r})" if negative else repr(number)


def wrapped(expression: str, of: ScalarType) -> str:
    """An integer expression of any size, brought into the range of its type."""
    mask = (1 << of.bits) - 1
    if of.kind == "uint":
        return f"({expression}) & {mask:#x}"
    half = 1 << (of.bits - 1)
    return f"(({expression}) + {half:#x} & {mask:#x}) - {half:#x}"


def fitted(expression: str, of: ScalarType) -> str:
    """An expression, wrapped or rounded to its type."""
    if of.is_integer:
        return wrapped(expression, of)
    if of is BOOL:
        return f"bool({expression})"
    return expression if of.name == "f64" else f"to_{of}({expression})"


def sum_text(left: str, right: str, of: ScalarType) -> str:
    """`left + right` of one type."""
    return fitted(f"{left} + {right}", of)


def difference_text(left: str, right: str, of: ScalarType) -> str:
    """`left - right` of one type."""
    return fitted(f"{left} - {right}", of)


def cast_text(operand: str, source: ScalarType, target: ScalarType) -> str:
    """The operand as another type: `dtypes.convert`, with the types known beforehand."""
    if source is target:
        return operand
    if target is BOOL:
        return f"{operand} != 0"
    if source.is_float:
        return _cast_float(operand, source, target)
    if target.is_float:
        wide = source.bits == F64.bits and target in {F32, BF16}
        return f"whole_{target}({operand})" if wide else fitted(f"float({operand})", target)
    if source is BOOL:
        return f"int({operand})"
    return operand if _contains(target, source) else wrapped(operand, target)


def _cast_float(operand: str, source: ScalarType, target: ScalarType) -> str:
    """A wider float holds the same number; an integer gets what is before the point."""
    if target.is_integer:
        return f"cut_{target}({operand})"
    return operand if source.bits < target.bits else fitted(operand, target)


def _contains(outer: ScalarType, inner: ScalarType) -> bool:
    return outer.lowest <= inner.lowest and inner.highest <= outer.highest


def _operand_type(op: Op, operand: Value, *kinds: str) -> ScalarType:
    of = scalar(op, operand.type)
    if of.kind not in kinds:
        raise no_meaning(op, of)
    return of


def _binary(spell: Callable[[str, str, ScalarType], str], *kinds: str) -> Renderer:
    """A renderer for two operands of these kinds of types."""

    def render(writer: PythonFunctionWriter, op: Binary | Compare) -> None:
        of = _operand_type(op, op.left, *kinds)
        writer.assign(op, spell(writer.name(op.left), writer.name(op.right), of))

    return render


def _unary(spell: Callable[[str, ScalarType], str], *kinds: str) -> Renderer:
    """A renderer for one operand of these kinds of types."""

    def render(writer: PythonFunctionWriter, op: Unary) -> None:
        of = _operand_type(op, op.operand, *kinds)
        writer.assign(op, spell(writer.name(op.operand), of))

    return render


def _plain(sign: str) -> Callable[[str, str, ScalarType], str]:
    """Python's own operator, whose result needs no fitting."""
    return lambda left, right, _: f"{left} {sign} {right}"


def _fitting(sign: str) -> Callable[[str, str, ScalarType], str]:
    """Python's own operator, wrapped or rounded afterwards."""
    return lambda left, right, of: fitted(f"{left} {sign} {right}", of)


def _floor_div(left: str, right: str, of: ScalarType) -> str:
    """The lowest integer divided by -1 wraps; Python raises for a zero divisor."""
    if of.is_integer:
        return fitted(f"{left} // {right}", of)
    function = "floor_divide" if of is F64 else "floor_divide_f32"
    return fitted(f"{function}({left}, {right})", of)


def _mod(left: str, right: str, of: ScalarType) -> str:
    if of.is_integer:
        return f"{left} % {right}"
    return fitted(f"modulo({left}, {right})", of)


def _pow(left: str, right: str, of: ScalarType) -> str:
    if of.is_integer:
        return fitted(f"integer_power({left}, {right}, {of.bits})", of)
    return fitted(f"power({left}, {right})", of)


def _true_div(left: str, right: str, of: ScalarType) -> str:
    return fitted(f"divide({left}, {right})", of)


def _shl(left: str, right: str, of: ScalarType) -> str:
    return fitted(f"{left} << ({right} & {of.bits - 1})", of)


def _shr(left: str, right: str, of: ScalarType) -> str:
    return f"{left} >> ({right} & {of.bits - 1})"


def _neg(operand: str, of: ScalarType) -> str:
    return f"-{operand}" if of.is_float else fitted(f"-{operand}", of)


def _invert(operand: str, of: ScalarType) -> str:
    return fitted(f"~{operand}", of)


def _not(operand: str, _: ScalarType) -> str:
    return f"not {operand}"


def _cast(writer: PythonFunctionWriter, op: Cast) -> None:
    source = scalar(op, op.operand.type)
    writer.assign(op, cast_text(writer.name(op.operand), source, scalar(op, op.value.type)))


def _math(writer: PythonFunctionWriter, op: Math) -> None:
    """The meaning of the intrinsics' table on doubles or integers, then fitted."""
    of = scalar(op, op.args[0].type if op.args else op.value.type)
    row = INTRINSICS.get(op.function)
    if row is None or len(op.args) != row.arity or not _takes(row, of):
        raise no_meaning(op, of)
    args = [writer.name(arg) for arg in op.args]
    if row.knows_width:
        args.append(str(of.bits))
    writer.assign(op, fitted(f"math_{row.name}({', '.join(args)})", BOOL if row.tests else of))


def _takes(row: Intrinsic, of: ScalarType) -> bool:
    if row.takes == "integer":
        return of.is_integer
    return of.is_float if row.takes == "float" else of is not BOOL


_INTEGERS = ("int", "uint")
_NUMBERS = (*_INTEGERS, "float")
_BITS = (*_INTEGERS, "bool")
_ANY = (*_NUMBERS, "bool")

ARITH_RENDERERS: dict[type[Op], Renderer] = {
    Add: _binary(sum_text, *_NUMBERS),
    Sub: _binary(_fitting("-"), *_NUMBERS),
    Mul: _binary(_fitting("*"), *_NUMBERS),
    TrueDiv: _binary(_true_div, "float"),
    FloorDiv: _binary(_floor_div, *_NUMBERS),
    Mod: _binary(_mod, *_NUMBERS),
    Pow: _binary(_pow, *_NUMBERS),
    Shl: _binary(_shl, *_INTEGERS),
    Shr: _binary(_shr, *_INTEGERS),
    BitAnd: _binary(_plain("&"), *_BITS),
    BitOr: _binary(_plain("|"), *_BITS),
    BitXor: _binary(_plain("^"), *_BITS),
    Lt: _binary(_plain("<"), *_ANY),
    Le: _binary(_plain("<="), *_ANY),
    Gt: _binary(_plain(">"), *_ANY),
    Ge: _binary(_plain(">="), *_ANY),
    Eq: _binary(_plain("=="), *_ANY),
    Ne: _binary(_plain("!="), *_ANY),
    Neg: _unary(_neg, *_NUMBERS),
    Invert: _unary(_invert, *_INTEGERS),
    Not: _unary(_not, "bool"),
    Cast: _cast,
    Math: _math,
}
"""How each op of arithmetic is written."""

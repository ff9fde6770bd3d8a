"""What arithmetic means: each op as an expression of Python.

A number of an integer type is a Python `int` within the type's range, one of a float type
a `float` that the type can hold, a bool a `bool`. Integers wrap at their width. Floats are
computed as doubles and rounded to the type after every op, which is exact for
`+ - * /` and `sqrt`. Shift counts are taken modulo the width, as devices do.
"""

import math
from typing import TypeAlias

from trilby.backend.interpreter.python_writer import (
    PythonFunctionWriter,
    Renderer,
    no_meaning,
    scalar,
)
from trilby.data.dtypes import BF16, BOOL, F32, F64, Number, ScalarType, convert
from trilby.model.intrinsics import INTRINSICS, Intrinsic
from trilby.model.op import Op, operands
from trilby.model.ops import arith

Form: TypeAlias = tuple[str, bool]
"""An expression with `{}` for each operand, and whether it is fitted to its type afterwards."""


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


def cast_text(operand: str, source: ScalarType, target: ScalarType) -> str:
    """The operand as another type: `dtypes.convert`, with the types known beforehand."""
    if source is target:
        return operand
    if target is BOOL:
        return f"{operand} != 0"
    if source.is_float:
        if target.is_integer:
            return f"cut_{target}({operand})"
        return operand if source.bits < target.bits else fitted(operand, target)
    if target.is_float:
        wide = source.bits == F64.bits and target in {F32, BF16}
        return f"whole_{target}({operand})" if wide else fitted(f"float({operand})", target)
    if source is BOOL:
        return f"int({operand})"
    contains = target.lowest <= source.lowest and source.highest <= target.highest
    return operand if contains else wrapped(operand, target)


def _arithmetic(kinds: tuple[str, ...], form: Form, floats: Form | None = None) -> Renderer:
    """A renderer for operands of these kinds of types; `floats` is the form for floats."""

    def render(writer: PythonFunctionWriter, op: Op) -> None:
        values = list(operands(op))
        of = scalar(op, values[0].type)
        if of.kind not in kinds:
            raise no_meaning(op, of)
        spelling, fits = (floats or form) if of.is_float else form
        own = {"last": of.bits - 1, "bits": of.bits, "f32": "" if of is F64 else "_f32"}
        text = spelling.format(*map(writer.name, values), **own)
        writer.assign(op, fitted(text, of) if fits else text)

    return render


def _plain(spelling: str) -> Form:
    """An expression that needs no fitting."""
    return spelling, False


def _fitting(spelling: str) -> Form:
    """An expression that is wrapped or rounded afterwards."""
    return spelling, True


def _cast(writer: PythonFunctionWriter, op: arith.Cast) -> None:
    source = scalar(op, op.operand.type)
    writer.assign(op, cast_text(writer.name(op.operand), source, scalar(op, op.value.type)))


def _math(writer: PythonFunctionWriter, op: arith.Math) -> None:
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
    arith.Add: _arithmetic(_NUMBERS, _fitting("{} + {}")),
    arith.Sub: _arithmetic(_NUMBERS, _fitting("{} - {}")),
    arith.Mul: _arithmetic(_NUMBERS, _fitting("{} * {}")),
    arith.TrueDiv: _arithmetic(("float",), _fitting("divide({}, {})")),
    # The lowest integer divided by -1 wraps; Python raises for a zero divisor.
    arith.FloorDiv: _arithmetic(
        _NUMBERS, _fitting("{} // {}"), _fitting("floor_divide{f32}({}, {})")
    ),
    arith.Mod: _arithmetic(_NUMBERS, _plain("{} % {}"), _fitting("modulo({}, {})")),
    arith.Pow: _arithmetic(
        _NUMBERS, _fitting("integer_power({}, {}, {bits})"), _fitting("power({}, {})")
    ),
    arith.Shl: _arithmetic(_INTEGERS, _fitting("{} << ({} & {last})")),
    arith.Shr: _arithmetic(_INTEGERS, _plain("{} >> ({} & {last})")),
    arith.BitAnd: _arithmetic(_BITS, _plain("{} & {}")),
    arith.BitOr: _arithmetic(_BITS, _plain("{} | {}")),
    arith.BitXor: _arithmetic(_BITS, _plain("{} ^ {}")),
    arith.Lt: _arithmetic(_ANY, _plain("{} < {}")),
    arith.Le: _arithmetic(_ANY, _plain("{} <= {}")),
    arith.Gt: _arithmetic(_ANY, _plain("{} > {}")),
    arith.Ge: _arithmetic(_ANY, _plain("{} >= {}")),
    arith.Eq: _arithmetic(_ANY, _plain("{} == {}")),
    arith.Ne: _arithmetic(_ANY, _plain("{} != {}")),
    arith.Neg: _arithmetic(_NUMBERS, _fitting("-{}"), _plain("-{}")),
    arith.Invert: _arithmetic(_INTEGERS, _fitting("~{}")),
    arith.Not: _arithmetic(("bool",), _plain("not {}")),
    arith.Cast: _cast,
    arith.Math: _math,
}
"""How each op of arithmetic is written."""

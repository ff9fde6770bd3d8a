"""Comparisons of numbers: `<` and its kin, one pair at a time."""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from trilby.data.dtypes import BOOL, U64
from trilby.model.op import Op
from trilby.model.ops import arith
from trilby.model.value import Value
from trilby.reflect.arithmetic import cast, number, typed
from trilby.reflect.lowering import Lowering
from trilby.reflect.operands import Literal, Operand
from trilby.reflect.promotion import comparison_type, scalar_type
from trilby.reflect.subset import refuse

Fold: TypeAlias = Callable[[Any, Any], Any]
_python: Any = operator

COMPARE: Mapping[type[ast.cmpop], tuple[type[Op], Fold]] = {
    ast.Lt: (arith.Lt, _python.lt),
    ast.LtE: (arith.Le, _python.le),
    ast.Gt: (arith.Gt, _python.gt),
    ast.GtE: (arith.Ge, _python.ge),
    ast.Eq: (arith.Eq, _python.eq),
    ast.NotEq: (arith.Ne, _python.ne),
}


def compare(
    lw: Lowering, node: ast.AST, symbol: ast.cmpop, left: Operand, right: Operand
) -> Value | Literal:
    """`left < right` and its kin, for numbers."""
    row = COMPARE.get(type(symbol))
    if row is None:
        raise refuse(symbol, lw.where(node))
    kind, fold = row
    a, b = number(lw, left, node), number(lw, right, node)
    if isinstance(a, Literal) and isinstance(b, Literal):
        return Literal(fold(a.number, b.number))
    common = comparison_type(lw, a, b)
    if common is None:
        raise TypeError(symbol)
    if isinstance(a, Value) and isinstance(b, Value) and _signs_differ(a, b):
        return _compare_with_u64(lw, node, kind, a, b)
    return lw.value(
        kind, typed(lw, a, node, common), typed(lw, b, node, common), type=BOOL, at=node
    )


def _signs_differ(left: Value, right: Value) -> bool:
    """True for `u64` beside a signed integer: no type holds both."""
    kinds = {scalar_type(left).kind, scalar_type(right).kind}
    return kinds == {"int", "uint"} and U64 in {left.type, right.type}


def _compare_with_u64(
    lw: Lowering, node: ast.AST, kind: type[Op], left: Value, right: Value
) -> Value:
    """Exact, as NumPy has it: what is negative is less; all else is compared as `u64`."""
    signed, below = (
        (right, (arith.Gt, arith.Ge)) if left.type is U64 else (left, (arith.Lt, arith.Le))
    )
    zero = typed(lw, Literal(0), node, scalar_type(signed))
    pair = [cast(lw, value, U64, node) for value in (left, right)]
    as_unsigned = lw.value(kind, *pair, type=BOOL, at=node)
    if kind in {*below, arith.Ne}:
        negative = lw.value(arith.Lt, signed, zero, type=BOOL, at=node)
        return lw.value(arith.BitOr, negative, as_unsigned, type=BOOL, at=node)
    positive = lw.value(arith.Ge, signed, zero, type=BOOL, at=node)
    return lw.value(arith.BitAnd, positive, as_unsigned, type=BOOL, at=node)

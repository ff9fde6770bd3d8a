"""Types of arithmetic: what the operands become, and what comes out.

Declared types promote as in NumPy 2. A bare literal takes the other operand's type. An
integer variable that only ever held Python integers (a literal, a `range`) takes a float
operand's type, as a Python integer does beside a NumPy float.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from trilby.data.dtypes import (
    BOOL,
    F32,
    I32,
    I64,
    U64,
    Number,
    ScalarType,
    Type,
    assignable,
    convert,
    fits,
    float_of,
    promote,
    true_division_type,
)
from trilby.data.schema import StructType
from trilby.errors import UnsupportedSyntaxError
from trilby.model.op import Op
from trilby.model.ops import arith
from trilby.model.ops.core import Constant
from trilby.model.ops.memory import Load, Place
from trilby.model.value import RefType, Value
from trilby.reflect.lowering import Lowering
from trilby.reflect.operands import Known, Literal, Operand, PlaceOf, Several, ShapeOf
from trilby.reflect.subset import refuse

Fold: TypeAlias = Callable[[Any, Any], Any]
_python: Any = operator

BINARY: Mapping[type[ast.operator], tuple[type[Op], Fold]] = {
    ast.Add: (arith.Add, _python.add),
    ast.Sub: (arith.Sub, _python.sub),
    ast.Mult: (arith.Mul, _python.mul),
    ast.Div: (arith.TrueDiv, _python.truediv),
    ast.FloorDiv: (arith.FloorDiv, _python.floordiv),
    ast.Mod: (arith.Mod, _python.mod),
    ast.Pow: (arith.Pow, _python.pow),
    ast.LShift: (arith.Shl, _python.lshift),
    ast.RShift: (arith.Shr, _python.rshift),
    ast.BitAnd: (arith.BitAnd, _python.and_),
    ast.BitOr: (arith.BitOr, _python.or_),
    ast.BitXor: (arith.BitXor, _python.xor),
}
COMPARE: Mapping[type[ast.cmpop], tuple[type[Op], Fold]] = {
    ast.Lt: (arith.Lt, _python.lt),
    ast.LtE: (arith.Le, _python.le),
    ast.Gt: (arith.Gt, _python.gt),
    ast.GtE: (arith.Ge, _python.ge),
    ast.Eq: (arith.Eq, _python.eq),
    ast.NotEq: (arith.Ne, _python.ne),
}
_SHIFTS = (arith.Shl, arith.Shr)
_BITWISE = (arith.BitAnd, arith.BitOr, arith.BitXor)


def describe(operand: Operand) -> str:
    """What to call an operand in an error."""
    match operand:
        case Value() | PlaceOf():
            return f"`{operand.type}`"
        case Literal():
            return f"the literal `{operand.number!r}`"
        case ShapeOf():
            return "a shape"
        case Known():
            return f"`{getattr(operand.thing, '__name__', operand.thing)}`"
        case Several():
            return "a tuple"


def read(lw: Lowering, operand: Operand, node: ast.AST) -> Value | Literal:
    """Bring an operand to a value: a place is loaded, a struct's place becomes a reference."""
    match operand:
        case Value() | Literal():
            return operand
        case PlaceOf(base, path, indices, ScalarType() as scalar):
            return lw.value(Load, base, indices, path, type=scalar, at=node)
        case PlaceOf(base, path, indices, StructType() as struct):
            return lw.value(Place, base, indices, path, type=RefType(struct), at=node)
        case PlaceOf():
            raise lw.clash(
                node, f"{describe(operand)} is a whole array, not a value", "index it: `array[i]`"
            )
        case ShapeOf():
            raise lw.clash(node, "a shape is not a value", "index it: `a.shape[0]`")
        case Known():
            raise lw.clash(node, f"{describe(operand)} is not a number")
        case Several():
            raise lw.clash(
                node, "a tuple is not a value in a kernel", "assign each item to its own name"
            )


def number(lw: Lowering, operand: Operand, node: ast.AST) -> Value | Literal:
    """Bring an operand to a number, or refuse."""
    result = read(lw, operand, node)
    if isinstance(result, Literal) or isinstance(result.type, ScalarType):
        return result
    raise lw.clash(
        node, f"{describe(result)} is not a number", "use one of its fields or elements"
    )


def scalar_type(value: Value) -> ScalarType:
    """The type of a value that is known to be a number."""
    if not isinstance(value.type, ScalarType):
        raise TypeError(value.type)
    return value.type


def literal_type(literal: Number) -> ScalarType | None:
    """The type of a literal that stands alone: `bool`, `i32` (or wider if needed), `f32`."""
    if isinstance(literal, bool):
        return BOOL
    if isinstance(literal, float):
        return F32
    return next((t for t in (I32, I64, U64) if fits(literal, t)), None)


def typed(
    lw: Lowering, operand: Value | Literal, node: ast.AST, type: ScalarType | None = None  # noqa: A002 -- the word that `Value` uses
) -> Value:
    """Give an operand a type: the one asked for, or its own."""
    if isinstance(operand, Value):
        return operand if type is None else cast(lw, operand, type, node)
    target = type or literal_type(operand.number)
    if target is None or not _literal_fits(operand.number, target):
        raise lw.clash(
            node,
            f"{describe(operand)} does not fit `{target or 'any integer type'}`",
            "use a number within the type's range, or convert the other operand to a wider type",
        )
    value: Number = convert(operand.number, target)
    made = lw.value(Constant, value, type=target, at=node)
    if type is None and not isinstance(operand.number, bool):
        lw.weak.add(made)
    return made


def _literal_fits(literal: Number, target: ScalarType) -> bool:
    if target.is_integer and isinstance(literal, bool):
        return True
    return fits(literal, target)


def cast(lw: Lowering, value: Value, to: ScalarType, node: ast.AST) -> Value:
    """Convert a number, with a `cast` op only where the type changes."""
    if value.type is to:
        return value
    return lw.value(arith.Cast, value, type=to, at=node)


def convert_for(
    lw: Lowering, operand: Operand, target: Type, node: ast.AST, purpose: str
) -> Value:
    """Bring an operand to the type of the place it goes to, or say why that needs a cast."""
    result = read(lw, operand, node)
    if isinstance(target, ScalarType):
        if isinstance(result, Literal):
            return _literal_for(lw, result, target, node, purpose)
        if isinstance(result.type, ScalarType):
            weak = result in lw.weak and target.is_float
            if weak or assignable(result.type, target):
                return cast(lw, result, target, node)
    elif isinstance(result, Value) and result.type == target:
        return result
    advice = f"write `{target}(…)`" if isinstance(target, ScalarType) else ""
    raise lw.clash(node, f"{purpose} is `{target}`, and this is {describe(result)}", advice)


def _literal_for(
    lw: Lowering, literal: Literal, target: ScalarType, node: ast.AST, purpose: str
) -> Value:
    if target is BOOL and not isinstance(literal.number, bool):
        raise lw.clash(node, f"{purpose} is `bool`, and this is {describe(literal)}",
                       "write True or False")
    if isinstance(literal.number, float) and not target.is_float:
        raise lw.clash(node, f"{purpose} is `{target}`, and this is {describe(literal)}",
                       f"write a whole number, or `{target}(…)` to cut it")
    return typed(lw, literal, node, target)


def common_type(
    lw: Lowering, left: Value | Literal, right: Value | Literal
) -> ScalarType | None:
    """The type in which two operands meet; None where both are bare literals."""
    if isinstance(left, Literal) and isinstance(right, Literal):
        return None
    if isinstance(left, Literal):
        left, right = right, left
    if not isinstance(left, Value):
        raise TypeError(left)
    own = scalar_type(left)
    if isinstance(right, Literal):
        return _with_literal(own, right.number)
    other = scalar_type(right)
    if own.is_float != other.is_float and (left in lw.weak) != (right in lw.weak):
        strong, weak = (other, own) if left in lw.weak else (own, other)
        if strong.is_float and weak.is_integer:
            return strong
    return promote(own, other)


def _with_literal(own: ScalarType, literal: Number) -> ScalarType:
    if isinstance(literal, bool):
        return own if own is not BOOL else BOOL
    if isinstance(literal, float):
        return own if own.is_float else float_of(promote(own, I32))
    return I32 if own is BOOL else own


def binary(
    lw: Lowering, node: ast.AST, symbol: ast.operator, left: Operand, right: Operand
) -> Value | Literal:
    """`left op right` with Python's meaning."""
    row = BINARY.get(type(symbol))
    if row is None:
        raise refuse(symbol, lw.where(node))
    kind, fold = row
    a, b = number(lw, left, node), number(lw, right, node)
    if isinstance(a, Literal) and isinstance(b, Literal):
        return _folded(lw, node, fold, a.number, b.number)
    common = common_type(lw, a, b)
    if common is None:
        raise TypeError(symbol)
    operand_type = _operand_type(lw, node, kind, common)
    is_weak = _is_weak(lw, a) and _is_weak(lw, b)
    result = lw.value(
        kind,
        typed(lw, a, node, operand_type),
        typed(lw, b, node, operand_type),
        type=operand_type,
        at=node,
    )
    if is_weak and operand_type.is_integer:
        lw.weak.add(result)
    return result


def _is_weak(lw: Lowering, operand: Value | Literal) -> bool:
    return isinstance(operand, Literal) or operand in lw.weak


def _operand_type(
    lw: Lowering, node: ast.AST, kind: type[Op], common: ScalarType
) -> ScalarType:
    if kind is arith.TrueDiv:
        return true_division_type(I32 if common is BOOL else common)
    if kind in _BITWISE:
        if common.is_float:
            raise lw.clash(node, f"bits of `{common}` cannot be combined", "convert to an integer")
        return common
    if common is BOOL:
        common = I32
    if kind in _SHIFTS and common.is_float:
        raise lw.clash(node, f"`{common}` cannot be shifted", "convert to an integer")
    return common


def _folded(
    lw: Lowering, node: ast.AST, fold: Fold, left: Number, right: Number
) -> Literal:
    try:
        result = fold(left, right)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise lw.clash(node, f"this constant has no value: {error}") from error
    if isinstance(result, complex):
        raise lw.clash(node, "this constant is a complex number")
    return Literal(result)


def unary(lw: Lowering, node: ast.UnaryOp, operand: Operand) -> Value | Literal:
    """`-a`, `+a`, `~a`; `not` belongs to conditions."""
    a = number(lw, operand, node.operand)
    if isinstance(a, Literal):
        return Literal(_fold_unary(lw, node, a.number))
    own = scalar_type(a)
    if own is BOOL:
        a, own = cast(lw, a, I32, node), I32
    if isinstance(node.op, ast.UAdd):
        return a
    if isinstance(node.op, ast.Invert):
        if own.is_float:
            raise lw.clash(node, f"`~` of `{own}` has no meaning", "convert to an integer")
        return lw.value(arith.Invert, a, type=own, at=node)
    result = lw.value(arith.Neg, a, type=own, at=node)
    if a in lw.weak:
        lw.weak.add(result)
    return result


def _fold_unary(lw: Lowering, node: ast.UnaryOp, literal: Number) -> Number:
    if isinstance(node.op, ast.USub):
        return -literal
    if isinstance(node.op, ast.UAdd):
        return +literal
    if isinstance(literal, float):
        raise lw.clash(node, "`~` of a float has no meaning", "convert to an integer")
    return ~int(literal)


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
    common = common_type(lw, a, b)
    if common is None:
        raise TypeError(symbol)
    return lw.value(
        kind, typed(lw, a, node, common), typed(lw, b, node, common), type=BOOL, at=node
    )


def truth(lw: Lowering, operand: Operand, node: ast.AST) -> Value | Literal:
    """Whether a number is true: itself if bool, otherwise `!= 0`."""
    a = number(lw, operand, node)
    if isinstance(a, Literal):
        return Literal(bool(a.number))
    if a.type is BOOL:
        return a
    zero = typed(lw, Literal(0), node, scalar_type(a))
    return lw.value(arith.Ne, a, zero, type=BOOL, at=node)


def boolean(lw: Lowering, operand: Operand, node: ast.AST) -> Value:
    """A truth as a value of type bool."""
    return typed(lw, truth(lw, operand, node), node, BOOL)


def refuse_syntax(lw: Lowering, node: ast.AST) -> UnsupportedSyntaxError:
    """The error for syntax that has no meaning in a kernel."""
    return refuse(node, lw.where(node))

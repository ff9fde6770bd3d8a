"""Arithmetic of kernels: from operands to the op that computes with them.

Which types they meet in is `promotion`'s part.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from trilby.data.dtypes import (
    BOOL,
    I32,
    U64,
    Number,
    ScalarType,
    Type,
    assignable,
    convert,
    true_division_type,
)
from trilby.data.schema import StructType, in_global, spoken
from trilby.model.op import Op
from trilby.model.ops import arith
from trilby.model.ops.core import Constant
from trilby.model.ops.memory import Place
from trilby.model.ops.structs import Pack
from trilby.model.value import RefType, Value, space_of
from trilby.reflect.lowering import Lowering
from trilby.reflect.operands import (
    Aggregate,
    KnownObject,
    Literal,
    LocalPlace,
    Operand,
    PlaceOf,
    Several,
    ShapeOf,
)
from trilby.reflect.promotion import (
    common_type,
    comparison_type,
    float_for,
    keep_weak,
    literal_fits,
    literal_type,
    scalar_type,
)
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
        case Value() | PlaceOf() | LocalPlace() | Aggregate():
            return f"`{operand.type}`"
        case Literal():
            return f"the literal `{operand.number!r}`"
        case ShapeOf():
            return "a shape"
        case KnownObject():
            return _describe_thing(operand.thing)
        case Several():
            return "a tuple"


def _describe_thing(thing: object) -> str:
    name: object = getattr(thing, "__name__", None)
    if thing is None or isinstance(name, str):
        return f"`{name}`"
    if isinstance(thing, ScalarType):
        return f"the type `{thing}`"
    return f"a Python object of type `{type(thing).__name__}`"


def read(lw: Lowering, operand: Operand, node: ast.AST) -> Value | Literal:
    """Bring an operand to a value: a place is loaded, a struct's place becomes a reference."""
    match operand:
        case Value() | Literal():
            return operand
        case PlaceOf(type=ScalarType()) | LocalPlace(type=ScalarType()):
            return lw.load(operand, node)
        case PlaceOf(base, path, indices, StructType() as struct):
            reference = RefType(struct, space_of(base.type))
            return lw.value(Place, base, indices, path, type=reference, at=node)
        case Aggregate(StructType() as struct, parts):
            return lw.value(Pack, parts, type=struct, at=node)
        case KnownObject() | LocalPlace(type=StructType()):
            raise lw.clash(node, f"{describe(operand)} is not a number")
        case PlaceOf() | LocalPlace() | Aggregate():
            raise lw.clash(
                node, f"{describe(operand)} is a whole array, not a value", "index it: `array[i]`"
            )
        case ShapeOf():
            raise lw.clash(node, "a shape is not a value", "index it: `a.shape[0]`")
        case Several():
            raise lw.clash(
                node, "a tuple is not a value in a kernel", "assign each item to its own name"
            )


def number(lw: Lowering, operand: Operand, node: ast.AST) -> Value | Literal:
    """Bring an operand to a number, or refuse."""
    result = read(lw, operand, node)
    if isinstance(result, Literal) or isinstance(result.type, ScalarType):
        return result
    raise lw.clash(node, f"{describe(result)} is not a number", "use one of its fields or elements")


def typed(
    lw: Lowering,
    operand: Value | Literal,
    node: ast.AST,
    type: ScalarType | None = None,  # noqa: A002 -- the word that `Value` uses
) -> Value:
    """Give an operand a type: the one asked for, or its own."""
    if isinstance(operand, Value):
        return operand if type is None else cast(lw, operand, type, node)
    target = type or literal_type(operand.number)
    if target is None or not literal_fits(operand.number, target):
        wanted = f"`{target}`" if target else "any integer type"
        raise lw.clash(
            node,
            f"{describe(operand)} does not fit {wanted}",
            "use a number within the type's range, or convert the other operand to a wider type",
        )
    made = constant(lw, operand.number, target, node)
    if type is None and not isinstance(operand.number, bool):
        lw.weak[made] = frozenset()
    return made


def constant(lw: Lowering, literal: Number, to: ScalarType, node: ast.AST) -> Value:
    """A literal converted to a type, as a cast does it."""
    try:
        value: Number = convert(literal, to)
    except OverflowError as error:
        raise lw.clash(node, f"this number is too large for `{to}`") from error
    return lw.value(Constant, value, type=to, at=node)


def cast(lw: Lowering, value: Value, to: ScalarType, node: ast.AST) -> Value:
    """Convert a number, with a `cast` op only where the type changes."""
    if value.type is to:
        return value
    lw.expose(value, to)
    return lw.value(arith.Cast, value, type=to, at=node)


def convert_for(lw: Lowering, operand: Operand, target: Type, node: ast.AST, purpose: str) -> Value:
    """Bring an operand to the type of the place it goes to, or say why that needs a cast."""
    result = read(lw, operand, node)
    if isinstance(target, ScalarType):
        if isinstance(result, Literal):
            return _literal_for(lw, result, target, node, purpose)
        if isinstance(result.type, ScalarType) and assignable(result.type, target):
            return cast(lw, result, target, node)
    elif isinstance(result, Value) and result.type == target:
        return result
    advice = ""
    if isinstance(target, ScalarType):
        is_number = isinstance(result, Value) and isinstance(result.type, ScalarType)
        advice = f"write `{target}(…)`" if is_number else "use one of its fields or elements"
    elif isinstance(result, Value) and in_global(result.type) == in_global(target):
        advice = _space_advice(target)
    raise lw.clash(node, f"{purpose} is `{target}`, and this is {describe(result)}", advice)


def _space_advice(target: Type) -> str:
    """What to do where a buffer lies in another memory than a helper expects."""
    plain = spoken(in_global(target))
    if space_of(target) == "constant":
        return f"only what the kernel takes as `tb.Constant[{plain}]` lies in constant memory"
    return f"declare the helper's parameter `tb.Constant[{plain}]` as well"


def _literal_for(
    lw: Lowering, literal: Literal, target: ScalarType, node: ast.AST, purpose: str
) -> Value:
    if target is BOOL and not isinstance(literal.number, bool):
        raise lw.clash(
            node, f"{purpose} is `bool`, and this is {describe(literal)}", "write True or False"
        )
    if isinstance(literal.number, float) and not target.is_float:
        raise lw.clash(
            node,
            f"{purpose} is `{target}`, and this is {describe(literal)}",
            f"write a whole number, or `{target}(…)` to cut it",
        )
    return typed(lw, literal, node, target)


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
    if kind is arith.Pow and not common.is_float and isinstance(b, Literal) and b.number < 0:
        raise lw.clash(
            node,
            f"an integer cannot be raised to the negative power {b.number}",
            "make the base a float: `f32(n) ** e`",
        )
    operand_type = I32 if common is BOOL and kind not in _BITWISE else common
    if kind is arith.TrueDiv:
        operand_type = true_division_type(operand_type)
    if operand_type.is_float:
        _check_bits(lw, node, kind, [a, b])
        operand_type = float_for(lw, node, operand_type, [a, b])
    pair = [typed(lw, x, node, operand_type) for x in (a, b)]
    result = lw.value(kind, *pair, type=operand_type, at=node)
    keep_weak(lw, node, result, [a, b])
    return result


def compare(
    lw: Lowering, node: ast.AST, symbol: ast.cmpop, left: Operand, right: Operand
) -> Value | Literal:
    """`left < right` and its kin, for numbers."""
    kind, fold = COMPARE[type(symbol)]
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


def _check_bits(lw: Lowering, node: ast.AST, kind: type[Op], pair: list[Value | Literal]) -> None:
    """The operators on bits take integers, and `u64` beside a signed one makes a float."""
    if kind not in (*_SHIFTS, *_BITWISE):
        return
    for operand in pair:
        found = literal_type(operand.number) if isinstance(operand, Literal) else operand.type
        if isinstance(found, ScalarType) and found.is_float:
            raise lw.clash(
                node,
                f"{describe(operand)} is a float, which has no bits to work on",
                "convert it to an integer: `i32(…)`",
            )
    raise lw.clash(
        node,
        f"{describe(pair[0])} and {describe(pair[1])} have no integer type in common",
        "convert one of them: `u64(…)`",
    )


def _folded(lw: Lowering, node: ast.AST, fold: Fold, left: Number, right: Number) -> Literal:
    if _is_huge(fold, left, right):
        raise lw.clash(node, "this constant is too large for any type")
    try:
        result = fold(left, right)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise lw.clash(node, f"this constant has no value: {error}") from error
    if isinstance(result, complex):
        raise lw.clash(node, "this constant is a complex number")
    return Literal(result)


def _is_huge(fold: Fold, base: Number, exponent: Number) -> bool:
    """True where computing an integer constant would take more bits than any type has."""
    if not isinstance(base, int) or not isinstance(exponent, int) or exponent <= 1024:
        return False
    return (fold is _python.pow and abs(base) > 1) or (fold is _python.lshift and base != 0)


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
        result = lw.value(arith.Invert, a, type=own, at=node)
    else:
        result = lw.value(arith.Neg, a, type=own, at=node)
    keep_weak(lw, node, result, [a])
    return result


def _fold_unary(lw: Lowering, node: ast.UnaryOp, literal: Number) -> Number:
    if isinstance(node.op, ast.USub):
        return -literal
    if isinstance(node.op, ast.UAdd):
        return +literal
    if isinstance(literal, float):
        raise lw.clash(node, "`~` of a float has no meaning", "convert to an integer")
    return ~int(literal)


def truth(lw: Lowering, operand: Operand, node: ast.AST) -> Value | Literal:
    """Whether a number is true: itself if bool, otherwise `!= 0`."""
    a = number(lw, operand, node)
    if isinstance(a, Literal):
        return Literal(bool(a.number))
    if a.type is BOOL:
        return a
    zero = typed(lw, Literal(0), node, scalar_type(a))
    return lw.value(arith.Ne, a, zero, type=BOOL, at=node)

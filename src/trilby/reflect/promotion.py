"""The types in which numbers meet.

Declared types promote as in NumPy 2. A bare literal takes the other operand's type. So
does, beside a float, a *weak* value: a number that was only ever made of Python numbers (a
variable that holds literals, the counter of a `range`, arithmetic of those), as a Python
number does beside a NumPy one. On its own a weak integer is `i32`, or wider if it has to be,
and a weak float is `f32`, or `f64` as soon as it meets one.
"""

import ast

from trilby.data.dtypes import BOOL, F32, I32, I64, U64, Number, ScalarType, fits, float_of, promote
from trilby.model.value import Value
from trilby.reflect.lowering import Lowering, Origin
from trilby.reflect.operands import Literal


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


def literal_fits(literal: Number, target: ScalarType) -> bool:
    """True where a literal has a meaning in the type; a bool counts as 0 or 1."""
    if target.is_integer and isinstance(literal, bool):
        return True
    return fits(literal, target)


def common_type(lw: Lowering, left: Value | Literal, right: Value | Literal) -> ScalarType | None:
    """The type in which two operands meet; None where both are bare literals."""
    if isinstance(left, Literal):
        left, right = right, left
    if isinstance(left, Literal):
        return None
    if isinstance(right, Literal):
        return _with_literal(lw, left, right.number)
    if left.type is BOOL and right.type is BOOL:
        return BOOL
    found = _with_weak(lw, left, right)
    if found is not promote(scalar_type(left), scalar_type(right)):
        lw.rely(left, right)
    return found


def _with_literal(lw: Lowering, value: Value, literal: Number) -> ScalarType:
    own = scalar_type(value)
    if isinstance(literal, bool):
        return own
    if isinstance(literal, float):
        if own.is_float:
            return own
        lw.rely(value)
        return F32 if value in lw.weak else float_of(promote(own, I32))
    if own is BOOL:
        return I32
    alone = literal_type(literal)
    if value in lw.weak and alone and not fits(literal, own):
        lw.rely(value)
        return integer_promotion(own, alone)
    return own


def _with_weak(lw: Lowering, left: Value, right: Value) -> ScalarType:
    own, other = scalar_type(left), scalar_type(right)
    if (left in lw.weak) == (right in lw.weak):
        if left not in lw.weak:
            return promote(own, other)
        if own.is_float != other.is_float:
            return own if own.is_float else other
        return integer_promotion(own, other)
    strong, weak = (other, own) if left in lw.weak else (own, other)
    if strong.is_float:
        return strong
    found = promote(strong, weak)
    # `u32` beside a counter stays `u32`, and `u64` does not become a float.
    return strong if weak.is_integer and found not in {strong, weak} else found


def integer_promotion(left: ScalarType, right: ScalarType) -> ScalarType:
    """As NumPy promotes, except that two integers stay one: Python's have no limit."""
    found = promote(left, right)
    return U64 if left.is_integer and right.is_integer and found.is_float else found


def comparison_type(
    lw: Lowering, left: Value | Literal, right: Value | Literal
) -> ScalarType | None:
    """Integers are compared as they are: a negative counter is less than any `u32`."""
    both = [x.type for x in (left, right) if isinstance(x, Value)]
    if len(both) == 2 and all(isinstance(t, ScalarType) and t.is_integer for t in both):
        return promote(*both)
    return common_type(lw, left, right)


def is_weak(lw: Lowering, operand: Value | Literal) -> bool:
    """True for a number that was only ever made of Python numbers."""
    return isinstance(operand, Literal) or operand in lw.weak


def float_for(
    lw: Lowering, node: ast.AST, found: ScalarType, operands: list[Value | Literal]
) -> ScalarType:
    """The float type of an expression; one of weak integers alone decides it by its use."""
    are_weak = all(is_weak(lw, operand) for operand in operands)
    if not are_weak or any(isinstance(x, Value) and scalar_type(x).is_float for x in operands):
        return found
    lw.rely(*operands)
    return lw.guesses.get(node, F32)


def keep_weak(lw: Lowering, node: ast.AST, result: Value, operands: list[Value | Literal]) -> None:
    """A result of weak operands is weak, and remembers what it was made of."""
    if not all(is_weak(lw, operand) for operand in operands) or result.type is BOOL:
        return
    values = [operand for operand in operands if isinstance(operand, Value)]
    origins = frozenset[Origin]().union(*(lw.weak[value] for value in values))
    from_integers = not any(scalar_type(value).is_float for value in values)
    is_new_float = scalar_type(result).is_float and from_integers
    lw.weak[result] = origins | {node} if is_new_float else origins

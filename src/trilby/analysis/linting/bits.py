"""Bits of a number that are set, kept or turned, as arithmetic that a solver understands."""

from trilby.analysis.linting.terms import Terms
from trilby.analysis.touching.expressions import Expr
from trilby.data.dtypes import BOOL, ScalarType
from trilby.model.op import Op
from trilby.model.ops.arith import BitAnd, BitOr, BitXor

MOST_BITS = 4
"""More bits than this make terms that no solver is quick with."""


def bitwise(terms: Terms, op: Op, args: tuple[Expr, ...], type_: ScalarType) -> Expr | None:
    """`|`, `&` and `^` with a number of few bits; None where nothing can be said."""
    if type_ is BOOL or not isinstance(op, BitOr | BitAnd | BitXor):
        return None
    left, right = args if args[1].op == "constant" else reversed(args)
    bits = right.what if right.op == "constant" else None
    if not isinstance(bits, int) or bits < 0 or bits.bit_count() > MOST_BITS:
        return None
    found = terms.constant(0, type_) if isinstance(op, BitAnd) else left
    for place in range(bits.bit_length()):
        if bits >> place & 1:
            found = terms.plus(found, _change(terms, op, _bit(terms, left, place, type_), place))
    return found


def _bit(terms: Terms, number: Expr, place: int, type_: ScalarType) -> Expr:
    """0 or 1."""
    two, size = terms.constant(2, type_), terms.constant(1 << place, type_)
    shifted = number if place == 0 else terms.make("floordiv", (number, size), None, type_)
    return terms.make("mod", (shifted, two), None, type_)


def _change(terms: Terms, op: Op, bit: Expr, place: int) -> Expr:
    """What one bit adds to the result."""
    one, two, size = (terms.constant(n, bit.type) for n in (1, 2, 1 << place))
    if isinstance(op, BitAnd):
        return terms.times(bit, size)
    lost = bit if isinstance(op, BitOr) else terms.times(bit, two)
    return terms.times(terms.make("sub", (one, lost), None, bit.type), size)

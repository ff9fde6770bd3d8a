"""Bits that are set in a number, as arithmetic that a solver understands."""

from trilby.analysis.linting.terms import Terms
from trilby.analysis.touching.expressions import Expr
from trilby.data.dtypes import BOOL, ScalarType

MOST_BITS = 4
"""More bits than this make terms that no solver is quick with."""


def with_bits_set(terms: Terms, left: Expr, right: Expr, type_: ScalarType) -> Expr | None:
    """`left | right` where one is a number with few bits; None where nothing can be said."""
    if left.op == "constant":
        left, right = right, left
    bits = right.what if right.op == "constant" else None
    if type_ is BOOL or not isinstance(bits, int) or bits < 0 or bits.bit_count() > MOST_BITS:
        return None
    found = left
    for place in range(bits.bit_length()):
        if bits >> place & 1:
            found = terms.plus(found, _missing_bit(terms, left, 1 << place, type_))
    return found


def _missing_bit(terms: Terms, number: Expr, bit: int, type_: ScalarType) -> Expr:
    """`bit` where the number does not have it, 0 where it does."""
    two, one, size = (terms.constant(n, type_) for n in (2, 1, bit))
    shifted = number if bit == 1 else terms.make("floordiv", (number, size), None, type_)
    is_set = terms.make("mod", (shifted, two), None, type_)
    return terms.times(terms.make("sub", (one, is_set), None, type_), size)

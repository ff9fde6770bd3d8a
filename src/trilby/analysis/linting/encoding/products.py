"""Products of two unknown numbers, which z3 is slow at, and what helps it.

As an abstraction a product is a function of its factors of which only some laws are known: what
is proved of that holds of products. That is quick, and enough for pitches and group sizes. An
example has to hold of real products.
"""

from itertools import combinations, product
from typing import Any

from trilby.analysis.linting.encoding.session import Session


class Products:
    """The products that were met, and the laws that tie them together."""

    def __init__(self, z3: Session, *, abstract: bool) -> None:
        self._z3 = z3
        self._function = None
        if abstract:
            integer = z3.IntSort()
            self._function = z3.Function("times", integer, integer, integer)
        self._made: dict[tuple[int, int], tuple[Any, Any, Any]] = {}
        self._divided = 0
        self._xors: list[tuple[Any, Any, Any]] = []

    def times(self, left: Any, right: Any) -> Any:
        """A product; plain where one factor is a number."""
        z3 = self._z3
        if any(isinstance(one, int) or z3.is_int_value(one) for one in (left, right)):
            return left * right
        left, right = z3.simplify(left), z3.simplify(right)
        if z3.is_int_value(left) or z3.is_int_value(right):
            return left * right
        if left.get_id() > right.get_id():
            left, right = right, left
        key = (left.get_id(), right.get_id())
        if key not in self._made:
            made = left * right if self._function is None else self._function(left, right)
            self._made[key] = (left, right, made)
        return self._made[key][2]

    def xor(self, left: Any, right: Any) -> Any:
        """The exclusive or of bits, of which some laws are known."""
        integer = self._z3.IntSort()
        found = self._z3.Function("xor", integer, integer, integer)(left, right)
        self._xors.append((left, right, found))
        return found

    def _xor_laws(self) -> list[Any]:
        z3 = self._z3
        found: list[Any] = []
        for a, b, bits in self._xors:
            found += [
                z3.Implies(z3.And(a >= 0, b >= 0), z3.And(bits >= 0, bits <= a + b)),
                (bits == a) == (b == 0),
                (bits == b) == (a == 0),
            ]
        for (a, b, bits), (c, d, others) in product(self._xors, repeat=2):
            found.append(z3.Implies(z3.And(c == bits, d == b), others == a))
            found.append(z3.Implies(z3.And(d == bits, c == a), others == b))
            found.append(z3.Implies(z3.And(b == d, bits == others), a == c))
        return found

    def divided(self, left: Any, right: Any) -> tuple[Any, Any, list[Any]]:
        """Quotient and remainder, rounded towards minus infinity, and what defines them."""
        z3 = self._z3
        self._divided += 1
        quotient = z3.Int(f"quotient{self._divided}")
        rest = z3.Int(f"rest{self._divided}")
        rises = z3.And(right > 0, rest >= 0, rest < right)
        falls = z3.And(right < 0, rest <= 0, rest > right)
        return (
            quotient,
            rest,
            [
                left == self.times(quotient, right) + rest,
                z3.Or(rises, falls),
            ],
        )

    def laws(self) -> list[Any]:
        """What holds of the products that were met."""
        found = self._xor_laws()
        for a, b, result in self._made.values():
            found += self._of_one(a, b, result)
        for one, other in combinations(self._made.values(), 2):
            found += self._of_two(one, other)
        return found

    def _of_one(self, a: Any, b: Any, result: Any) -> list[Any]:
        z3 = self._z3
        return [
            z3.Implies(z3.Or(a == 0, b == 0), result == 0),
            z3.Implies(a == 1, result == b),
            z3.Implies(b == 1, result == a),
            z3.Implies(z3.And(a >= 1, b >= 1), z3.And(result >= a, result >= b)),
            z3.Implies(z3.And(a <= -1, b >= 1), z3.And(result <= a, result <= -b)),
            z3.Implies(z3.And(b <= -1, a >= 1), z3.And(result <= b, result <= -a)),
        ]

    def _of_two(self, one: tuple[Any, Any, Any], other: tuple[Any, Any, Any]) -> list[Any]:
        """Two multiples of one number are equal, or at least that number apart."""
        z3 = self._z3
        found: list[Any] = []
        for a, factor in ((one[0], one[1]), (one[1], one[0])):
            for b, same in ((other[0], other[1]), (other[1], other[0])):
                if not factor.eq(same):
                    continue
                more = z3.And(a > b, one[2] >= other[2] + factor)
                less = z3.And(a < b, one[2] + factor <= other[2])
                equal = z3.And(a == b, one[2] == other[2])
                found.append(z3.Implies(factor >= 1, z3.Or(more, less, equal)))
        return found

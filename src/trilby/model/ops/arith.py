"""Arithmetic. Operands of an op have one type; `cast` is the only conversion."""

from trilby.dataclass import dataclass
from trilby.model.op import Op, Operands
from trilby.model.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Op):
    """Two operands of the result's type."""

    left: Value
    right: Value


class Add(Binary, mnemonic="add"):
    """`a + b`; integers wrap."""


class Sub(Binary, mnemonic="sub"):
    """`a - b`; integers wrap."""


class Mul(Binary, mnemonic="mul"):
    """`a * b`; integers wrap."""


class TrueDiv(Binary, mnemonic="truediv"):
    """`a / b` of floats."""


class FloorDiv(Binary, mnemonic="floordiv"):
    """`a // b`, rounded towards minus infinity."""


class Mod(Binary, mnemonic="mod"):
    """`a % b`, with the sign of `b`."""


class Pow(Binary, mnemonic="pow"):
    """`a ** b`."""


class Shl(Binary, mnemonic="shl"):
    """`a << b` of integers."""


class Shr(Binary, mnemonic="shr"):
    """`a >> b` of integers; signed ones keep their sign."""


class BitAnd(Binary, mnemonic="and"):
    """`a & b` of integers or bools."""


class BitOr(Binary, mnemonic="or"):
    """`a | b` of integers or bools."""


class BitXor(Binary, mnemonic="xor"):
    """`a ^ b` of integers or bools."""


@dataclass(frozen=True, slots=True, eq=False)
class Compare(Op):
    """Two operands of one type, a bool as the result."""

    left: Value
    right: Value


class Lt(Compare, mnemonic="lt"):
    """`a < b`."""


class Le(Compare, mnemonic="le"):
    """`a <= b`."""


class Gt(Compare, mnemonic="gt"):
    """`a > b`."""


class Ge(Compare, mnemonic="ge"):
    """`a >= b`."""


class Eq(Compare, mnemonic="eq"):
    """`a == b`."""


class Ne(Compare, mnemonic="ne"):
    """`a != b`."""


@dataclass(frozen=True, slots=True, eq=False)
class Unary(Op):
    """One operand of the result's type."""

    operand: Value


class Neg(Unary, mnemonic="neg"):
    """`-a`; integers wrap."""


class Invert(Unary, mnemonic="invert"):
    """`~a` of integers."""


class Not(Unary, mnemonic="not"):
    """`not a` of a bool."""


@dataclass(frozen=True, slots=True, eq=False)
class Cast(Op, mnemonic="cast"):
    """The operand as the result's type: see `dtypes.convert` for the meaning."""

    operand: Value


@dataclass(frozen=True, slots=True, eq=False)
class Math(Op, mnemonic="math"):
    """A function of the intrinsics table, by name; all operands have the result's type."""

    args: Operands
    function: str


BINARIES = (Add, Sub, Mul, TrueDiv, FloorDiv, Mod, Pow, Shl, Shr, BitAnd, BitOr, BitXor)
COMPARES = (Lt, Le, Gt, Ge, Eq, Ne)
UNARIES = (Neg, Invert, Not)

ARITH_OPS = (*BINARIES, *COMPARES, *UNARIES, Cast, Math)

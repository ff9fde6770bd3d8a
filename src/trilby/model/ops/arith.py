"""Arithmetic. Operands of an op have one type; `cast` is the only conversion."""

from typing import ClassVar

from trilby.dataclass import dataclass
from trilby.model.op import Op, Operands
from trilby.model.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Op):
    """Two operands of the result's type."""

    left: Value
    right: Value


class Add(Binary):
    """`a + b`; integers wrap."""

    __slots__ = ()
    mnemonic = "add"


class Sub(Binary):
    """`a - b`; integers wrap."""

    __slots__ = ()
    mnemonic = "sub"


class Mul(Binary):
    """`a * b`; integers wrap."""

    __slots__ = ()
    mnemonic = "mul"


class TrueDiv(Binary):
    """`a / b` of floats."""

    __slots__ = ()
    mnemonic = "truediv"


class FloorDiv(Binary):
    """`a // b`, rounded towards minus infinity."""

    __slots__ = ()
    mnemonic = "floordiv"


class Mod(Binary):
    """`a % b`, with the sign of `b`."""

    __slots__ = ()
    mnemonic = "mod"


class Pow(Binary):
    """`a ** b`."""

    __slots__ = ()
    mnemonic = "pow"


class Shl(Binary):
    """`a << b` of integers."""

    __slots__ = ()
    mnemonic = "shl"


class Shr(Binary):
    """`a >> b` of integers; signed ones keep their sign."""

    __slots__ = ()
    mnemonic = "shr"


class BitAnd(Binary):
    """`a & b` of integers or bools."""

    __slots__ = ()
    mnemonic = "and"


class BitOr(Binary):
    """`a | b` of integers or bools."""

    __slots__ = ()
    mnemonic = "or"


class BitXor(Binary):
    """`a ^ b` of integers or bools."""

    __slots__ = ()
    mnemonic = "xor"


@dataclass(frozen=True, slots=True, eq=False)
class Compare(Op):
    """Two operands of one type, a bool as the result."""

    left: Value
    right: Value


class Lt(Compare):
    """`a < b`."""

    __slots__ = ()
    mnemonic = "lt"


class Le(Compare):
    """`a <= b`."""

    __slots__ = ()
    mnemonic = "le"


class Gt(Compare):
    """`a > b`."""

    __slots__ = ()
    mnemonic = "gt"


class Ge(Compare):
    """`a >= b`."""

    __slots__ = ()
    mnemonic = "ge"


class Eq(Compare):
    """`a == b`."""

    __slots__ = ()
    mnemonic = "eq"


class Ne(Compare):
    """`a != b`."""

    __slots__ = ()
    mnemonic = "ne"


@dataclass(frozen=True, slots=True, eq=False)
class Unary(Op):
    """One operand of the result's type."""

    operand: Value


class Neg(Unary):
    """`-a`; integers wrap."""

    __slots__ = ()
    mnemonic = "neg"


class Invert(Unary):
    """`~a` of integers."""

    __slots__ = ()
    mnemonic = "invert"


class Not(Unary):
    """`not a` of a bool."""

    __slots__ = ()
    mnemonic = "not"


@dataclass(frozen=True, slots=True, eq=False)
class Cast(Op):
    """The operand as the result's type: see `dtypes.convert` for the meaning."""

    mnemonic: ClassVar[str] = "cast"
    operand: Value


@dataclass(frozen=True, slots=True, eq=False)
class Math(Op):
    """A function of the intrinsics table, by name; all operands have the result's type."""

    mnemonic: ClassVar[str] = "math"
    args: Operands
    function: str


BINARIES = (Add, Sub, Mul, TrueDiv, FloorDiv, Mod, Pow, Shl, Shr, BitAnd, BitOr, BitXor)
COMPARES = (Lt, Le, Gt, Ge, Eq, Ne)
UNARIES = (Neg, Invert, Not)

ARITH_OPS = (*BINARIES, *COMPARES, *UNARIES, Cast, Math)

"""Writing one function of vectors as LLVM IR: the arithmetic that formulas are made of.

A formula is written once, for floats and for doubles; `FloatKind` has what differs. Comparisons are
false for NaN, so what is chosen by one has to be right for NaN where it is not chosen.
"""

import struct
from collections.abc import Callable, Mapping, Sequence

from trilby.codegen.llvm.ir import BIT, Ir, Lanes, of_kind
from trilby.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FloatKind:
    """A type of floats: its name, its integer, and the bits of a number and of its fraction."""

    name: str
    integer: str
    bits: int
    fraction: int

    @property
    def bias(self) -> int:
        """What is added to exponents."""
        return (1 << (self.bits - self.fraction - 2)) - 1

    @property
    def shifter(self) -> float:
        """What rounds a number of little magnitude to a whole one when added to it."""
        return 1.5 * 2.0**self.fraction

    @property
    def tiny(self) -> float:
        """Below this, the third power of a number is nothing beside it."""
        return 2.0 ** -(self.fraction // 2 + 2)

    def bit_pattern(self, number: float) -> int:
        """The bits of a number."""
        codes = ("d", "q") if self.bits == 64 else ("f", "i")
        return int(struct.unpack(codes[1], struct.pack(codes[0], number))[0])


FLOAT = FloatKind("float", "i32", 32, 23)
DOUBLE = FloatKind("double", "i64", 64, 52)
KINDS: Mapping[str, FloatKind] = {"float": FLOAT, "double": DOUBLE}


def _instruction(word: str, kind: str = "") -> Callable[..., Lanes]:
    """A method for an instruction on lanes: `f.add(x, y)`."""

    def method(f: "Formula", *numbers: Lanes) -> Lanes:
        return f.ir.apply(word, numbers, kind)

    return method


def _intrinsic(name: str) -> Callable[..., Lanes]:
    """A method for an intrinsic of LLVM: `f.root(x)`."""

    def method(f: "Formula", *numbers: Lanes) -> Lanes:
        return f.ir.call(name, numbers)

    return method


class Formula:
    """The body of a function of vectors while it is written."""

    def __init__(self, lanes: int, kind: FloatKind) -> None:
        self.ir = Ir(lanes)
        self.kind = kind

    def of(self, number: float) -> Lanes:
        """A constant."""
        return of_kind(number, self.kind.name)

    def whole(self, number: int) -> Lanes:
        """A constant of bits."""
        return of_kind(number, self.kind.integer)

    # -- floats -----------------------------------------------------------------------

    add = _instruction("fadd")
    sub = _instruction("fsub")
    mul = _instruction("fmul")
    div = _instruction("fdiv")
    negated = _instruction("fneg")
    magnitude = _intrinsic("fabs")
    root = _intrinsic("sqrt")
    signed = _intrinsic("copysign")
    """A magnitude with the sign of another number: `f.signed(x, y)`."""

    def fma(self, a: Lanes, b: Lanes, c: Lanes) -> Lanes:
        """`a * b + c`, rounded once."""
        return self.ir.call("fma", [self.ir.varying(part) for part in (a, b, c)])

    def polynomial(self, table: Mapping[str, Sequence[float]], x: Lanes) -> Lanes:
        """The sum of coefficients times powers of `x`."""
        *rest, last = (self.of(number) for number in table[self.kind.name])
        found = self.ir.varying(last)
        for coefficient in reversed(rest):
            found = self.fma(found, x, coefficient)
        return found

    # -- choices ----------------------------------------------------------------------

    less = _instruction("fcmp olt", BIT)
    equal = _instruction("fcmp oeq", BIT)
    both = _instruction("and")
    either = _instruction("or")

    def choose(self, condition: Lanes, then: Lanes, otherwise: Lanes) -> Lanes:
        """`then if condition else otherwise`."""
        return self.ir.select(condition, then, otherwise)

    def within(self, number: Lanes, low: float, high: float) -> Lanes:
        """A number that is neither below nor above; NaN stays what it is."""
        least, most = self.of(low), self.of(high)
        raised = self.choose(self.less(number, least), least, number)
        return self.choose(self.less(most, raised), most, raised)

    # -- bits -------------------------------------------------------------------------

    def bits(self, number: Lanes) -> Lanes:
        """The bits of a float."""
        return self.ir.convert("bitcast", number, self.kind.integer)

    def float_of(self, bits: Lanes) -> Lanes:
        """The float that has some bits."""
        return self.ir.convert("bitcast", bits, self.kind.name)

    def on_bits(self, word: str, left: Lanes, right: Lanes) -> Lanes:
        """An operation of integers: `on_bits("and", a, b)`."""
        return self.ir.apply(word, [left, right])

    def is_set(self, number: Lanes, bit: int) -> Lanes:
        """Whether a bit is set."""
        found = self.on_bits("and", number, self.whole(bit))
        return self.ir.apply("icmp ne", [found, self.whole(0)], BIT)

    def two_to(self, biased: Lanes) -> Lanes:
        """The power of two that has such an exponent."""
        return self.float_of(self.on_bits("shl", biased, self.whole(self.kind.fraction)))

    def rounded(self, number: Lanes, factor: float) -> tuple[Lanes, Lanes]:
        """The whole number nearest to `number * factor`: as a float, and as an integer."""
        shifter = self.of(self.kind.shifter)
        moved = self.fma(number, self.of(factor), shifter)
        pattern = self.whole(self.kind.bit_pattern(self.kind.shifter))
        return self.sub(moved, shifter), self.on_bits("sub", self.bits(moved), pattern)

    # -- other types ------------------------------------------------------------------

    def widened(self, number: Lanes) -> Lanes:
        """A float as a double; what follows is written in doubles, up to `narrowed`."""
        self.kind = DOUBLE
        return self.ir.convert("fpext", number, DOUBLE.name)

    def narrowed(self, number: Lanes) -> Lanes:
        """A double as a float."""
        self.kind = FLOAT
        return self.ir.convert("fptrunc", number, FLOAT.name)

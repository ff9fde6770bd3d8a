"""Writing LLVM IR: numbers in lanes, names, blocks, and arithmetic.

Mutable state lives in `alloca`s, which LLVM turns into values.

What is the same for all lanes is kept as one scalar; so is what grows by the same step from lane to
lane, of which the scalar is the number in lane 0. Everything else is a vector.
"""

import struct
from collections.abc import Sequence
from typing import TypeAlias

from trilby.analysis.spans import Span, Spans
from trilby.codegen.checked_types import expect
from trilby.data.dtypes import BF16, BOOL, F16, F32, Number, ScalarType, Type, round_to
from trilby.data.layout import stride_of
from trilby.data.schema import ArrayType, BufferType, NDArrayType, StructType, leaves, sizes_of
from trilby.dataclass import dataclass
from trilby.model.op import Op
from trilby.model.ops import arith
from trilby.model.value import KERNEL_CONTEXT, NONE, RefType, Value

# ------------------------------------------------------------------------------------------- lanes

Stride: TypeAlias = int | None
"""The step from a lane to the next: 0 where all have the same number, None where it is uneven."""

POINTER = "ptr"
BIT = "i1"
LONG = "i64"


@dataclass(frozen=True, slots=True)
class Lanes:
    """The LLVM type of each number, the text of the scalar or vector, and how lanes differ.

    `literal` is the number itself where it is known beforehand and the same in all lanes.
    """

    kind: str
    text: str
    stride: Stride = 0
    literal: "Number | None" = None

    @property
    def is_uniform(self) -> bool:
        """True where one scalar stands for all lanes."""
        return self.stride == 0

    @property
    def is_varying(self) -> bool:
        """True where it is a vector."""
        return self.stride is None


_KINDS = {32: "float", 64: "double"}


def kind_of(type_: ScalarType) -> str:
    """The LLVM type of a number as a value; halves are computed with as floats."""
    if type_ is BOOL:
        return BIT
    return _KINDS[max(type_.bits, 32)] if type_.is_float else f"i{type_.bits}"


def stored_kind(type_: ScalarType) -> str:
    """The LLVM type of a number in memory."""
    if type_ is BOOL:
        return "i8"
    if type_ is F16:
        return "half"
    return "i16" if type_ is BF16 else kind_of(type_)


def part_kinds(type_: Type) -> tuple[str, ...]:
    """The LLVM types of what stands for a value: a buffer has its sizes with it."""
    match type_:
        case ScalarType():
            return (kind_of(type_),)
        case BufferType() | NDArrayType() | RefType():
            return (POINTER, *(kind_of(size) for size in sizes_of(type_).values()))
        case StructType():
            return tuple(kind_of(leaf.type) for leaf in leaves(type_))
        case _ if type_ in {KERNEL_CONTEXT, NONE}:
            return ()
        case _:
            raise TypeError(type_)


def axes_of(array: Type) -> tuple[Sequence[int | str], int]:
    """The size of each axis, a number or its name, and the distance of two elements in bytes."""
    if isinstance(array, NDArrayType):
        return list(sizes_of(array)), array.element.size
    found = expect(ArrayType, array)
    return found.dims, stride_of(found)


def constant(number: Number, type_: ScalarType) -> Lanes:
    """A number of a type."""
    kind = kind_of(type_)
    if type_.is_float:
        number = round_to(float(number), type_)
    return Lanes(kind, literal_text(number, kind), literal=number)


def of_kind(number: Number, kind: str) -> Lanes:
    """A number of an LLVM type."""
    return Lanes(kind, literal_text(number, kind), literal=number)


def literal_text(number: Number, kind: str) -> str:
    """A number as LLVM writes it; floats by the bits of the double."""
    if kind == BIT:
        return "true" if number else "false"
    if kind == "float":
        number = round_to(float(number), F32)
    if kind in {"float", "double"}:
        return f"0x{struct.pack('>d', number).hex().upper()}"
    return str(int(number))


def size_of_kind(kind: str) -> int:
    """The bytes of a number in memory."""
    sizes = {"half": 2, "float": 4, "double": 8, POINTER: 8}
    return sizes[kind] if kind in sizes else int(kind.removeprefix("i")) // 8


# ------------------------------------------------------------------------------------------ strides
# How numbers differ from lane to lane, given how the operands do: the rules of the analysis.
#
# Numbers are modulo the width of their type, so a step from lane to lane stays what it is when
# numbers wrap.

LARGEST = 1 << 16
"""Steps beyond this are treated as uneven, so that a step times the number of lanes is small."""


def has_steps(type_: Type) -> bool:
    """Whether numbers of a type may be evenly spaced: the types that indices have."""
    return isinstance(type_, ScalarType) and type_.is_integer and type_.bits >= 32


def limited(stride: Stride) -> Stride:
    """The step itself, or None where it is too large."""
    return stride if stride is not None and abs(stride) <= LARGEST else None


def alike(strides: Sequence[Stride]) -> Stride:
    """The step of a result of any computation: 0 where all operands have that."""
    return 0 if all(stride == 0 for stride in strides) else None


def binary(op: Op, type_: Type, strides: Sequence[Stride], literals: Sequence[object]) -> Stride:
    """The step of `a + b` and its kin; `literals` are the operands that are known numbers."""
    left, right = strides
    if left is None or right is None or not has_steps(type_):
        return alike(strides)
    match op:
        case arith.Add():
            return limited(left + right)
        case arith.Sub():
            return limited(left - right)
        case arith.Mul() if isinstance(literals[1], int):
            return limited(left * literals[1])
        case arith.Mul() if isinstance(literals[0], int):
            return limited(right * literals[0])
        case arith.Shl() if isinstance(literals[1], int) and 0 <= literals[1] < 16:
            return limited(left << literals[1])
        case _:
            return alike(strides)


def cast(source: Value, target: Type, stride: Stride, spans: Spans) -> Stride:
    """The step after a conversion between integers; a wider one must not see a wrap."""
    if stride in {0, None} or not has_steps(source.type) or not has_steps(target):
        return alike([stride])
    bits = source.type.bits if isinstance(source.type, ScalarType) else 0
    widens = isinstance(target, ScalarType) and target.bits > bits
    return stride if not widens or is_bounded(source, spans) else None


def is_bounded(value: Value, spans: Spans) -> bool:
    """Whether a number is known to stay within its type without wrapping."""
    span = spans.of(value)
    type_ = value.type
    return isinstance(type_, ScalarType) and span != Span(type_.lowest, type_.highest)


# ----------------------------------------------------------------------------------------------- ir

_SUFFIXES = {"float": "f32", "double": "f64", "half": "f16", POINTER: "p0"}


class Ir:
    """The text of one function while it is written, for vectors of so many lanes."""

    def __init__(self, lanes: int, *, fast_math: bool = False) -> None:
        self.lanes = lanes
        self.flags = " contract" if fast_math else ""
        self.head: list[str] = []
        self.lines: list[str] = []
        self.declarations: dict[str, None] = {}
        self.definitions: dict[str, str] = {}
        self.attached = ""
        """What instructions have at their end: where they come from."""
        self.remark = ""
        """What is said before the next one."""
        self._count = 0
        self._ended = False

    # -- lines and blocks -------------------------------------------------------------

    def line(self, text: str) -> None:
        """Append an instruction; what follows a jump is not reached and left out."""
        if self._ended:
            return
        if self.remark:
            self.lines.append(f"  ; {self.remark}")
            self.remark = ""
        self.lines.append(f"  {text}{self.attached}")

    def fresh(self, hint: str = "v") -> str:
        """A new name for a value or a block."""
        self._count += 1
        return f"{hint}{self._count}"

    def let(self, text: str, hint: str = "v") -> str:
        """Append an instruction that has a result, and give its name."""
        name = f"%{self.fresh(hint)}"
        self.line(f"{name} = {text}")
        return name

    def label(self, name: str) -> None:
        """Begin a block; the block before goes on into it."""
        if not self._ended:
            self.lines.append(f"  br label %{name}")
        self._ended = False
        self.lines.append(f"{name}:")

    def jump(self, label: str, about: str = "") -> None:
        """Go on at a block; `about` is metadata."""
        self.line(f"br label %{label}{about}")
        self._ended = True

    def branch(self, condition: str, then: str, otherwise: str) -> None:
        """Go on at one of two blocks."""
        self.line(f"br i1 {condition}, label %{then}, label %{otherwise}")
        self._ended = True

    def alloca(self, type_: str, align: int = 0) -> str:
        """Memory of the function; it is made once, wherever it is asked for."""
        name = f"%{self.fresh('m')}"
        self.head.append(f"  {name} = alloca {type_}{f', align {align}' if align else ''}")
        return name

    def store(self, type_: str, text: str, pointer: str) -> None:
        """Put a value in memory of the function."""
        self.line(f"store {type_} {text}, ptr {pointer}")

    def load(self, type_: str, pointer: str) -> str:
        """A value from memory of the function."""
        return self.let(f"load {type_}, ptr {pointer}")

    # -- lanes ------------------------------------------------------------------------

    def vector(self, kind: str) -> str:
        """The type of a vector: `<8 x float>`."""
        return f"<{self.lanes} x {kind}>"

    def type_of(self, stride: Stride, kind: str) -> str:
        """The type that numbers with such steps are kept in."""
        return self.vector(kind) if stride is None else kind

    def spread(self, number: Lanes) -> str:
        """The text of a number as a vector."""
        if number.is_varying:
            return number.text
        if number.literal is not None:
            return f"splat ({number.kind} {number.text})"
        vector = self.vector(number.kind)
        one = self.let(f"insertelement {vector} poison, {number.kind} {number.text}, i64 0")
        indices = f"<{self.lanes} x i32> zeroinitializer"
        base = self.let(f"shufflevector {vector} {one}, {vector} poison, {indices}")
        if number.is_uniform:
            return base
        if number.kind == POINTER:
            steps = self.steps(LONG, number.stride or 0)
            return self.let(f"getelementptr i8, {vector} {base}, {self.vector(LONG)} {steps}")
        return self.let(f"add {vector} {base}, {self.steps(number.kind, number.stride or 0)}")

    def steps(self, kind: str, stride: int) -> str:
        """The constant vector 0, stride, 2 × stride, …"""
        return f"<{', '.join(f'{kind} {lane * stride}' for lane in range(self.lanes))}>"

    def varying(self, number: Lanes) -> Lanes:
        """A number as a vector."""
        return Lanes(number.kind, self.spread(number), None)

    def in_lane(self, kind: str, vector: str, index: str) -> str:
        """One number of a vector: `in_lane("float", "%v1", "i64 3")`."""
        return self.let(f"extractelement {self.vector(kind)} {vector}, {index}")

    # -- computing --------------------------------------------------------------------

    def apply(self, word: str, args: Sequence[Lanes], kind: str = "") -> Lanes:
        """An instruction on all lanes: `apply("fadd", [a, b])`, `apply("icmp eq", [a, b], BIT)`.

        `kind` is that of the result where it is not that of the operands.
        """
        stride, type_, texts = self._operands(args)
        made = self.let(f"{word} {type_} {', '.join(texts)}")
        return Lanes(kind or args[0].kind, made, stride)

    def convert(self, word: str, number: Lanes, kind: str) -> Lanes:
        """A number as one of another kind: `convert("sext", a, "i64")`."""
        stride, type_, (text,) = self._operands([number])
        made = self.let(f"{word} {type_} {text} to {self.type_of(stride, kind)}")
        return Lanes(kind, made, stride)

    def call_symbol(
        self, symbol: str, args: Sequence[Lanes], kind: str = "", extra: str = "", flags: str = ""
    ) -> Lanes:
        """A call of a function of lanes by its symbol; `extra` is one more argument."""
        kind = kind or args[0].kind
        stride, type_, texts = self._operands(args)
        given = ", ".join([*(f"{type_} {text}" for text in texts), *([extra] if extra else [])])
        made = self.let(f"call{flags} {self.type_of(stride, kind)} {symbol}({given})")
        return Lanes(kind, made, stride)

    def _operands(self, args: Sequence[Lanes]) -> tuple[Stride, str, list[str]]:
        """The step of a result, and the type and the texts of what it is computed from."""
        stride = alike([arg.stride for arg in args])
        texts = [arg.text if stride == 0 else self.spread(arg) for arg in args]
        return stride, self.type_of(stride, args[0].kind), texts

    def call(self, name: str, args: Sequence[Lanes], extra: str = "") -> Lanes:
        """A call of an LLVM intrinsic that works lane by lane: `call("sqrt", [x])`."""
        kind, stride = args[0].kind, alike([arg.stride for arg in args])
        type_ = self.type_of(stride, kind)
        taken = ", ".join([type_ for _ in args] + (["i1"] if extra else []))
        symbol = f"@llvm.{name}.{self.suffix(kind, stride)}"
        self.declare(f"declare {type_} {symbol}({taken})")
        flags = self.flags if kind in {"float", "double"} else ""
        return self.call_symbol(symbol, args, extra=extra, flags=flags)

    def intrinsic(self, result: str, name: str, *args: tuple[str, str]) -> str:
        """A call of any LLVM intrinsic, with the type and the text of each argument.

        `intrinsic("i8", "cttz.i8", ("i8", "%v1"), ("i1", "true"))` gives the name of its result.
        """
        self.declare(f"declare {result} @llvm.{name}({', '.join(type_ for type_, _ in args)})")
        call = f"call {result} @llvm.{name}({', '.join(map(' '.join, args))})"
        if result != "void":
            return self.let(call)
        self.line(call)
        return ""

    def suffix(self, kind: str, stride: Stride = None) -> str:
        """How intrinsics spell a type: `v8f32`."""
        word = _SUFFIXES.get(kind, kind)
        return word if stride == 0 else f"v{self.lanes}{word}"

    def declare(self, text: str) -> None:
        """Say that a function exists."""
        self.declarations[text] = None

    def select(self, condition: Lanes, then: Lanes, otherwise: Lanes) -> Lanes:
        """`condition ? then : otherwise`, in each lane."""
        if condition.is_uniform and condition.literal is not None:
            return then if condition.literal else otherwise
        uniform = all(part.is_uniform for part in (condition, then, otherwise))
        stride = 0 if uniform else None
        arms = [part.text if uniform else self.spread(part) for part in (then, otherwise)]
        chooser = condition.text if condition.is_uniform else self.spread(condition)
        chosen = BIT if condition.is_uniform else self.vector(BIT)
        type_ = self.type_of(stride, then.kind)
        text = f"select {chosen} {chooser}, {type_} {arms[0]}, {type_} {arms[1]}"
        return Lanes(then.kind, self.let(text), stride)

    def shuffled(
        self, kind: str, left: str, right: str, indices: Sequence[int | None], of: int = 0
    ) -> str:
        """Numbers of two vectors, of which those of the second count on; None is any number.

        The vectors have as many numbers as there are lanes, or `of`.
        """
        type_ = f"<{of or self.lanes} x {kind}>"
        chosen = ", ".join(f"i32 {'poison' if index is None else index}" for index in indices)
        pair = f"{type_} {left}, {type_} {right}"
        return self.let(f"shufflevector {pair}, <{len(indices)} x i32> <{chosen}>")

    def concatenated(self, kind: str, pieces: Sequence[str], count: int) -> str:
        """Vectors of so many numbers, a power of two of them, as one."""
        while len(pieces) > 1:
            pairs = zip(pieces[::2], pieces[1::2], strict=True)
            pieces = [self.shuffled(kind, *pair, [*range(2 * count)], count) for pair in pairs]
            count *= 2
        return pieces[0]

    # -- indices and addresses --------------------------------------------------------

    def add(self, left: Lanes, right: Lanes) -> Lanes:
        """The sum of two integers; even steps stay even."""
        for one, other in ((left, right), (right, left)):
            if one.literal == 0:
                return other
        if left.literal is not None and right.literal is not None:
            return of_kind(int(left.literal) + int(right.literal), left.kind)
        return self._even("add", left, right, _sum(left.stride, right.stride))

    def multiply(self, left: Lanes, right: Lanes) -> Lanes:
        """The product of two integers; even steps times a known number stay even."""
        if left.literal is not None:
            left, right = right, left
        if left.literal is not None and right.literal is not None:
            return of_kind(int(left.literal) * int(right.literal), left.kind)
        if right.literal == 1:
            return left
        if right.literal == 0:
            return right
        stride: Stride = 0 if left.is_uniform and right.is_uniform else None
        if right.literal is not None and left.stride is not None:
            stride = limited(left.stride * int(right.literal))
        return self._even("mul", left, right, stride)

    def _even(self, word: str, left: Lanes, right: Lanes, stride: Stride) -> Lanes:
        if stride is None:
            return self.apply(word, [self.varying(left), right])
        text = self.let(f"{word} {left.kind} {left.text}, {right.text}")
        return Lanes(left.kind, text, stride)

    def offset(self, pointer: Lanes, distance: Lanes, unit: int = 1) -> Lanes:
        """A pointer so many units of bytes further."""
        if distance.literal == 0:
            return pointer
        even = pointer.stride is not None and distance.stride is not None
        stride = limited((pointer.stride or 0) + (distance.stride or 0) * unit) if even else None
        element = "i8" if unit == 1 else f"[{unit} x i8]"
        if stride is not None:
            text = f"getelementptr {element}, ptr {pointer.text}, i64 {distance.text}"
            return Lanes(POINTER, self.let(text, "p"), stride)
        base = f"ptr {pointer.text}"
        if not pointer.is_uniform:
            base = f"{self.vector(POINTER)} {self.spread(pointer)}"
        indices = f"{self.vector(LONG)} {self.spread(distance)}"
        return Lanes(POINTER, self.let(f"getelementptr {element}, {base}, {indices}", "p"), None)

    def moved(self, pointer: str, distance: int) -> str:
        """A pointer for all lanes, so many bytes further."""
        if distance == 0:
            return pointer
        return self.let(f"getelementptr i8, ptr {pointer}, i64 {distance}", "p")

    # -- masks ------------------------------------------------------------------------

    def bits(self, mask: str) -> str:
        """A mask as an integer with one bit for each lane."""
        return self.let(f"bitcast {self.vector(BIT)} {mask} to i{self.lanes}")

    def any(self, mask: str) -> str:
        """Whether a lane is on."""
        return self.let(f"icmp ne i{self.lanes} {self.bits(mask)}, 0")

    def all(self, mask: str) -> str:
        """Whether all lanes are on."""
        return self.let(f"icmp eq i{self.lanes} {self.bits(mask)}, -1")

    def first_lane(self, bits: str) -> str:
        """The number of the first lane that is on, with its type; `bits` are those of a mask."""
        count = f"i{self.lanes}"
        lane = self.intrinsic(count, f"cttz.{count}", (count, bits), (BIT, "true"))
        return f"{count} {lane}"

    def both(self, left: str, right: str) -> str:
        """The lanes that are on in two masks; what the second has elsewhere does not matter."""
        type_ = self.vector(BIT)
        return self.let(f"select {type_} {left}, {type_} {right}, {type_} zeroinitializer")

    def flipped(self, mask: str) -> str:
        """The lanes that are off."""
        return self.let(f"xor {self.vector(BIT)} {mask}, splat (i1 true)")


def _sum(left: Stride, right: Stride) -> Stride:
    return None if left is None or right is None else limited(left + right)


ALL = "splat (i1 true)"
"""The mask with all lanes on."""

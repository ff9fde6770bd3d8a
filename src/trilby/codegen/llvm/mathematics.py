"""Math functions on all lanes: LLVM's own, formulas, and the C library's."""

from collections.abc import Callable, Mapping, Sequence

from trilby.codegen.checked_types import scalar
from trilby.codegen.llvm.arithmetic import compared, rounded
from trilby.codegen.llvm.ir import BIT, Lanes, of_kind
from trilby.codegen.llvm.writer import KernelWriter
from trilby.data.dtypes import ScalarType
from trilby.model.intrinsics import INTRINSICS
from trilby.model.ops.arith import Math, Mul, Neg, Pow

# -------------------------------------------------------------------------------------- vector math
# The C library's math on vectors (libmvec), for what has no formula or cannot use it.
#
# Its functions take as many numbers as fit in a register; what has more lanes is cut into pieces.

_FUNCTIONS = frozenset({"exp", "log", "pow", "sin", "cos"})
"""What every libmvec has, and what is within the ulps of the table."""


def in_vectors(writer: KernelWriter, function: str, args: Sequence[Lanes]) -> Lanes | None:
    """A function of a vector library, or None where there is none for it.

    The logarithm of floats strays too far, and is computed with doubles.
    """
    if function == "log" and args[0].kind == "float":
        wide = [writer.convert("fpext", arg, "double") for arg in args]
        found = in_vectors(writer, function, wide)
        return found and writer.convert("fptrunc", found, "float")
    bits = {"float": 32, "double": 64}[args[0].kind]
    piece = writer.target.width_bits // bits
    letter, needed = _REGISTERS.get(writer.target.width_bits, ("", ""))
    is_there = writer.target.vector_math == "libmvec" and needed in writer.target.features
    if not is_there or function not in _FUNCTIONS or writer.lanes < piece:
        return None
    kind, name = args[0].kind, f"{function}{'f' if bits == 32 else ''}"
    symbol = f"@_ZGV{letter}N{piece}{'v' * len(args)}_{name}"
    small = f"<{piece} x {kind}>"
    writer.declare(f"declare {small} {symbol}({', '.join(small for _ in args)}) #1")
    vectors = [writer.spread(arg) for arg in args]
    pieces: list[str] = []
    for first in range(0, writer.lanes, piece):
        own = [*range(first, first + piece)]
        parts = vectors
        if piece < writer.lanes:
            parts = [writer.shuffled(kind, vector, "poison", own) for vector in vectors]
        given = ", ".join(f"{small} {part}" for part in parts)
        pieces.append(writer.let(f"call {small} {symbol}({given})"))
    return Lanes(kind, writer.concatenated(kind, pieces, piece), None)


_REGISTERS = {128: ("b", "sse2"), 256: ("d", "avx2"), 512: ("e", "avx512f")}
"""How symbols name the registers they take, and the feature of processors that have them."""


# -------------------------------------------------------------------------------------- mathematics

_DIRECT = frozenset({"sqrt", "floor", "ceil", "trunc", "fabs", "copysign", "fma"})
_ODD = frozenset({"erf", "sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "cbrt"})
"""Those for which `f(-x) == -f(x)`."""
_C_NAMES = {"gamma": "tgamma"}
_FACTORS = {"degrees": 57.29577951308232, "radians": 0.017453292519943295}
_TESTS = {"isnan": 0x3, "isinf": 0x204, "isfinite": 0x1F8}
"""The classes of floats that `llvm.is.fpclass` knows."""


def math(writer: KernelWriter, op: Math) -> None:
    """A function of the intrinsics' table."""
    args = [writer.take(arg) for arg in op.args]
    type_ = scalar(op.args[0].type)
    if INTRINSICS[op.function].tests:
        writer.give(op, _tested(writer, op.function, args[0]))
    elif op.function in _OF_NUMBERS:
        writer.give(op, rounded(writer, _OF_NUMBERS[op.function](writer, type_, args), type_))
    else:
        positive = _turned(writer, op, type_)
        found = computed(writer, op.function, args if positive is None else [positive])
        if positive is not None:
            found = writer.apply("fneg", [found])
        writer.give(op, rounded(writer, found, type_))


def _turned(writer: KernelWriter, op: Math, type_: ScalarType) -> Lanes | None:
    """The negative of the argument of an odd function, where it is at hand: `-x` or `-x * y`.

    So a function of both `x` and `-x` is computed once. Across barriers not all is at hand.
    """
    if op.function not in _ODD or type_.bits < 32 or writer.waits:
        return None
    made = writer.makers.get(op.args[0])
    if isinstance(made, Neg):
        return writer.take(made.operand)
    if isinstance(made, Mul):
        inner = writer.makers.get(made.left)
        if isinstance(inner, Neg):
            pair = [writer.take(inner.operand), writer.take(made.right)]
            return writer.apply(f"fmul{writer.flags}", pair)
    return None


def computed(writer: KernelWriter, function: str, args: Sequence[Lanes]) -> Lanes:
    """A function of floats, before it is rounded to a half."""
    if function in _DIRECT:
        return writer.call(function, args)
    if function == "fmod":
        return writer.apply("frem", args)
    if function == "rsqrt":
        root = writer.call("sqrt", args)
        return writer.apply("fdiv", [of_kind(1.0, root.kind), root])
    if function in _FACTORS:
        factor = of_kind(_FACTORS[function], args[0].kind)
        return writer.apply("fmul", [args[0], factor])
    return _function(writer, function, args)


def _function(writer: KernelWriter, function: str, args: Sequence[Lanes]) -> Lanes:
    """A function that LLVM does not have: a formula, or the C library's."""
    from trilby.codegen.llvm.formulas.math_formulas import (  # noqa: PLC0415 -- few kernels need it
        function_of,
        has_formula,
    )

    kind = args[0].kind
    name = f"{_C_NAMES.get(function, function)}{'f' if kind == 'float' else ''}"
    taken = ", ".join(kind for _ in args)
    writer.declare(f"declare {kind} @{name}({taken}) #1")
    if all(arg.is_uniform for arg in args):
        given = ", ".join(f"{kind} {arg.text}" for arg in args)
        return Lanes(kind, writer.let(f"call {kind} @{name}({given})"))
    if not (has_formula(function, kind) and _fuses(writer)):
        found = in_vectors(writer, function, args)
        return found or writer.call_symbol(_lane_by_lane(writer, name, kind, len(args)), args)
    symbol = f"@formula.{function}.{kind}"
    if symbol not in writer.definitions:
        one_by_one = _lane_by_lane(writer, name, kind, len(args))
        text, calls = function_of(function, symbol, len(args), kind, writer.lanes, one_by_one)
        writer.definitions[symbol] = text
        for declaration in calls:
            writer.declare(declaration)
    return writer.call_symbol(symbol, args)


def _fuses(writer: KernelWriter) -> bool:
    """Whether the processor has `fma`, without which formulas would be slow and less precise."""
    machine = writer.target.triple.partition("-")[0]
    return "fma" in writer.target.features or machine in {"aarch64", "arm64"}


def _lane_by_lane(writer: KernelWriter, name: str, kind: str, arity: int) -> str:
    """The symbol of a function that calls the scalar one for each lane."""
    vector = writer.vector(kind)
    symbol = f"@lanes.{name}"
    if symbol not in writer.definitions:
        params = ", ".join(f"{vector} %a{n}" for n in range(arity))
        lines = [f"define internal {vector} {symbol}({params}) #2 {{"]
        whole = "poison"
        for lane in range(writer.lanes):
            given: list[str] = []
            for n in range(arity):
                lines.append(f"  %x{n}.{lane} = extractelement {vector} %a{n}, i64 {lane}")
                given.append(f"{kind} %x{n}.{lane}")
            lines.append(f"  %y{lane} = call {kind} @{name}({', '.join(given)})")
            joined = f"insertelement {vector} {whole}, {kind} %y{lane}, i64 {lane}"
            lines.append(f"  %r{lane} = {joined}")
            whole = f"%r{lane}"
        lines += [f"  ret {vector} {whole}", "}"]
        writer.definitions[symbol] = "\n".join(lines)
    return symbol


def _tested(writer: KernelWriter, function: str, number: Lanes) -> Lanes:
    suffix = writer.suffix(number.kind, number.stride)
    types = [writer.type_of(number.stride, kind) for kind in (BIT, number.kind)]
    writer.declare(f"declare {types[0]} @llvm.is.fpclass.{suffix}({types[1]}, i32 immarg)")
    symbol, classes = f"@llvm.is.fpclass.{suffix}", f"i32 {_TESTS[function]}"
    return writer.call_symbol(symbol, [number], BIT, classes)


# -- functions of numbers of any type -----------------------------------------------------


def _chosen(order: str) -> Callable[[KernelWriter, ScalarType, Sequence[Lanes]], Lanes]:
    """Python's `min` and `max`: the first unless the second is truly beyond it."""

    def choose(writer: KernelWriter, type_: ScalarType, args: Sequence[Lanes]) -> Lanes:
        left, right = args
        is_beyond = compared(writer, order, type_, [right, left])
        return writer.select(is_beyond, right, left)

    return choose


def _clamp(writer: KernelWriter, type_: ScalarType, args: Sequence[Lanes]) -> Lanes:
    number, low, high = args
    raised = writer.select(compared(writer, "gt", type_, [low, number]), low, number)
    return writer.select(compared(writer, "lt", type_, [high, raised]), high, raised)


def _sign(writer: KernelWriter, type_: ScalarType, args: Sequence[Lanes]) -> Lanes:
    (number,) = args
    zero, one, minus = (of_kind(n, number.kind) for n in (0, 1, -1))
    found = number
    if type_.kind != "uint":
        found = writer.select(compared(writer, "lt", type_, [number, zero]), minus, number)
    return writer.select(compared(writer, "gt", type_, [number, zero]), one, found)


def _abs(writer: KernelWriter, type_: ScalarType, args: Sequence[Lanes]) -> Lanes:
    (number,) = args
    if type_.kind == "uint":
        return number
    return writer.call("fabs", args) if type_.is_float else writer.call("abs", args, "i1 false")


_OF_NUMBERS: Mapping[str, Callable[[KernelWriter, ScalarType, Sequence[Lanes]], Lanes]] = {
    "min": _chosen("lt"),
    "max": _chosen("gt"),
    "clamp": _clamp,
    "sign": _sign,
    "abs": _abs,
    "popcount": lambda writer, _, args: writer.call("ctpop", args),
    "clz": lambda writer, _, args: writer.call("ctlz", args, "i1 false"),
}


# ------------------------------------------------------------------------------------------- powers


def power(writer: KernelWriter, op: Pow) -> None:
    """`base ** exponent`."""
    pair = [writer.take(op.left), writer.take(op.right)]
    type_ = scalar(op.value.type)
    if type_.is_float:
        writer.give(op, rounded(writer, computed(writer, "pow", pair), type_))
    else:
        writer.give(op, _whole_power(writer, type_, pair))


def _whole_power(writer: KernelWriter, type_: ScalarType, pair: list[Lanes]) -> Lanes:
    """A power of integers, by squaring, modulo the width.

    A negative exponent gives 0, or ±1 for a base of ±1.
    """
    base = pair[0]
    stride = 0 if all(number.is_uniform for number in pair) else None
    vector = writer.type_of(stride, base.kind)
    name = f"@power.{'s' if type_.kind == 'int' else 'u'}.{writer.suffix(base.kind, stride)}"
    if name not in writer.definitions:
        lanes = 0 if stride == 0 else writer.lanes
        writer.definitions[name] = _definition(name, vector, base.kind, lanes, type_)
    return writer.call_symbol(name, pair)


def _definition(name: str, vector: str, kind: str, lanes: int, type_: ScalarType) -> str:
    bits = f"<{lanes} x i1>" if lanes else "i1"

    def splat(number: int) -> str:
        return f"splat ({kind} {number})" if lanes else str(number)

    go_on = "%go_on = icmp ne i1 %on, false"
    if lanes:
        go_on = f"%packed = bitcast {bits} %on to i{lanes}\n  %go_on = icmp ne i{lanes} %packed, 0"
    start, finish = f"{vector} %exponent", f"  ret {vector} %power"
    first = ""
    if type_.kind == "int":
        first = f"""\
  %is_negative = icmp slt {vector} %exponent, {splat(0)}
  %whole = select {bits} %is_negative, {vector} {splat(0)}, {vector} %exponent
"""
        start = f"{vector} %whole"
        finish = f"""\
  %is_one = icmp eq {vector} %base, {splat(1)}
  %is_minus_one = icmp eq {vector} %base, {splat(-1)}
  %last = and {vector} %exponent, {splat(1)}
  %is_odd = icmp ne {vector} %last, {splat(0)}
  %sign = select {bits} %is_odd, {vector} {splat(-1)}, {vector} {splat(1)}
  %other = select {bits} %is_minus_one, {vector} %sign, {vector} {splat(0)}
  %below = select {bits} %is_one, {vector} {splat(1)}, {vector} %other
  %found = select {bits} %is_negative, {vector} %below, {vector} %power
  ret {vector} %found"""
    return f"""\
define internal {vector} {name}({vector} %base, {vector} %exponent) {{
begin:
{first}  br label %turn
turn:
  %power = phi {vector} [ {splat(1)}, %begin ], [ %next, %body ]
  %square = phi {vector} [ %base, %begin ], [ %squared, %body ]
  %left = phi {vector} [ {start.split()[-1]}, %begin ], [ %halved, %body ]
  %on = icmp ne {vector} %left, {splat(0)}
  {go_on}
  br i1 %go_on, label %body, label %end
body:
  %bit = and {vector} %left, {splat(1)}
  %is_set = icmp ne {vector} %bit, {splat(0)}
  %product = mul {vector} %power, %square
  %next = select {bits} %is_set, {vector} %product, {vector} %power
  %squared = mul {vector} %square, %square
  %halved = lshr {vector} %left, {splat(1)}
  br label %turn
end:
{finish}
}}"""

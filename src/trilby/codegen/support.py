"""Small functions that generated C needs where C itself means something else than Python.

Each is made for one type, on demand. Division by zero gives 0 for integers, as in NumPy, and
never traps; `INT_MIN // -1` wraps. Integer functions choose instead of branching: compilers
that run many work items in one vector like that better.
"""

import math
from collections.abc import Callable

from trilby.codegen.dialect import Dialect
from trilby.data.dtypes import BF16, F16, F32, F64, SCALARS, U32, ScalarType

# ------------------------------------------------------------------------------------------- halves
# Halves in C without memory: rounding to them, and their 16 bits, by arithmetic on floats.
#
# Languages convert halves at an address. Where that is the address of a local variable, PoCL
# takes what is read back for the same number in all work items of a group, so no local variable
# has its address taken here.

SMALLEST_NORMAL = 2.0**-14
STEP = 2.0**-24
"""The distance of halves below the smallest normal one."""

OVERFLOW = 65520.0
"""From here on, the nearest half is an infinity."""


def round_half(dialect: Dialect) -> str:
    """The body of a function of a float `x`: the nearest half, ties to even.

    A small number is rounded by a sum in whose range floats are as far apart as halves are.
    """
    t, uint, number = dialect.scalars[F32], dialect.scalars[U32], dialect.float_literal
    small, half = number(SMALLEST_NORMAL, F32), number(0.5, F32)
    return (
        f"    {uint} bits = {dialect.bits_of_float}(x) & 0x7fffffffu;\n"
        f"    {t} size = {dialect.float_of_bits}(bits);\n"
        "    bits = (bits + 0xfffu + ((bits >> 13) & 1u)) & 0xffffe000u;\n"
        f"    {t} near = size < {small} ? (size + {half}) - {half}\n"
        f"        : size < {number(OVERFLOW, F32)} ? {dialect.float_of_bits}(bits)\n"
        f"        : {number(math.inf, F32)};\n"
        "    return x == x ? copysign(near, x) : x;\n"
    )


def half_from_double(dialect: Dialect, rounding: str) -> str:
    """The body of a function of a double `x`, which calls the one for floats.

    A float that is not exact gets an odd last bit, so that the next rounding is the only one.
    """
    t, uint = dialect.scalars[F32], dialect.scalars[U32]
    double = dialect.scalars[F64]
    return (
        f"    {t} near = ({t})x;\n"
        f"    {uint} bits = {dialect.bits_of_float}(near);\n"
        f"    if (fabs(({double})near) > fabs(x)) bits -= 1u;\n"
        f"    if (({double})near != x) bits |= 1u;\n"
        f"    return {rounding}({dialect.float_of_bits}(bits));\n"
    )


def pack_half(dialect: Dialect) -> str:
    """The body of a function of a float `x` that is a half: its bits."""
    uint, number = dialect.scalars[U32], dialect.float_literal
    return (
        f"    {uint} sign = ({dialect.bits_of_float}(x) >> 16) & 0x8000u;\n"
        f"    {uint} bits = {dialect.bits_of_float}(x) & 0x7fffffffu;\n"
        "    if (bits > 0x7f800000u) return 0x7e00u;\n"
        "    if (bits == 0x7f800000u) return sign | 0x7c00u;\n"
        "    if (bits >= 0x38800000u) return sign | ((bits - 0x38000000u) >> 13);\n"
        f"    return sign | ({uint})(fabs(x) * {number(1 / STEP, F32)});\n"
    )


def unpack_half(dialect: Dialect) -> str:
    """The body of a function of 16 `bits`: the half as a float."""
    t, uint, number = dialect.scalars[F16], dialect.scalars[U32], dialect.float_literal
    return (
        f"    {uint} size = bits & 0x7fffu;\n"
        f"    {uint} wide = (size << 13) + (size < 0x7c00u ? 0x38000000u : 0x70000000u);\n"
        f"    {t} x = size < 0x400u ? size * {number(STEP, F32)} : {dialect.float_of_bits}(wide);\n"
        "    return (bits & 0x8000u) != 0 ? -x : x;\n"
    )


# ------------------------------------------------------------------------------------------ support


def support_text(name: str, type_: ScalarType, dialect: Dialect) -> str:
    """The text of the function `name` for a type: `support_text("floordiv", I32, …)`."""
    return _MAKERS[name](dialect, type_)


def _head(dialect: Dialect, result: str, name: str, type_: ScalarType, params: str) -> str:
    return f"{dialect.helper} {result} {name}_{type_}({params}) {{"


def _floordiv(dialect: Dialect, type_: ScalarType) -> str:
    t = dialect.scalars[type_]
    if type_.is_float:
        return _float_floordiv(dialect, type_, t)
    head = _head(dialect, t, "floordiv", type_, f"{t} a, {t} b")
    if type_.kind == "uint":
        return f"{head}\n    return b == 0 ? 0 : a / b;\n}}"
    u = dialect.unsigned[type_]
    return (
        f"{head}\n"
        f"    {t} d = b == 0 || b == -1 ? 1 : b;\n"
        f"    {t} q = a / d - (a % d != 0 && (a ^ d) < 0);\n"
        f"    return b == 0 ? 0 : b == -1 ? ({t})(0 - ({u})a) : q;\n"
        "}"
    )


def _floordiv_size(dialect: Dialect, type_: ScalarType) -> str:
    """A signed number divided by one that is not negative: less to ask."""
    t = dialect.scalars[type_]
    return (
        f"{_head(dialect, t, 'floordiv_size', type_, f'{t} a, {t} b')}\n"
        f"    {t} d = b == 0 ? 1 : b;\n"
        f"    {t} q = a / d - (a % d < 0);\n"
        "    return b == 0 ? 0 : q;\n"
        "}"
    )


def _mod_size(dialect: Dialect, type_: ScalarType) -> str:
    t = dialect.scalars[type_]
    return (
        f"{_head(dialect, t, 'mod_size', type_, f'{t} a, {t} b')}\n"
        f"    {t} d = b == 0 ? 1 : b;\n"
        f"    {t} m = a % d;\n"
        "    return m < 0 ? m + d : m;\n"
        "}"
    )


def _mod(dialect: Dialect, type_: ScalarType) -> str:
    t = dialect.scalars[type_]
    head = _head(dialect, t, "mod", type_, f"{t} a, {t} b")
    if type_.is_float:
        return (
            f"{head}\n"
            f"    {t} m = fmod(a, b);\n"
            "    if (m == 0) return copysign(m, b);\n"
            "    return (b < 0) != (m < 0) ? m + b : m;\n"
            "}"
        )
    if type_.kind == "uint":
        return f"{head}\n    return b == 0 ? 0 : a % b;\n}}"
    return (
        f"{head}\n"
        f"    {t} d = b == 0 || b == -1 ? 1 : b;\n"
        f"    {t} m = a % d;\n"
        "    return m != 0 && (m ^ d) < 0 ? m + d : m;\n"
        "}"
    )


def _float_floordiv(dialect: Dialect, type_: ScalarType, t: str) -> str:
    head = _head(dialect, t, "floordiv", type_, f"{t} a, {t} b")
    one, half = ("1.0f", "0.5f") if t == "float" else ("1.0", "0.5")
    return (
        f"{head}\n"
        "    if (b == 0) return a / b;\n"
        f"    {t} m = fmod(a, b);\n"
        f"    {t} q = (a - m) / b;\n"
        f"    if (m != 0 && (b < 0) != (m < 0)) q -= {one};\n"
        f"    if (q == 0) return copysign(({t})0, a / b);\n"
        f"    {t} f = floor(q);\n"
        f"    return q - f > {half} ? f + {one} : f;\n"
        "}"
    )


def _pow(dialect: Dialect, type_: ScalarType) -> str:
    """Whole powers by squaring; a negative exponent gives 0, or ±1 for a base of ±1."""
    t = dialect.scalars[type_]
    u = dialect.unsigned[type_]
    head = _head(dialect, t, "pow", type_, f"{t} a, {t} b")
    negative = (
        "    if (b < 0) return a == 1 ? 1 : a == -1 ? ((b & 1) ? -1 : 1) : 0;\n"
        if type_.kind == "int"
        else ""
    )
    return (
        f"{head}\n{negative}"
        f"    {u} power = 1, base = ({u})a;\n"
        f"    for ({u} n = ({u})b; n != 0; n >>= 1) {{\n"
        f"        if (n & 1) power = ({u})(power * base);\n"
        f"        base = ({u})(base * base);\n"
        "    }\n"
        f"    return ({t})power;\n"
        "}"
    )


def _trips(dialect: Dialect, type_: ScalarType) -> str:
    """How many turns `range(start, stop, step)` has; a step of 0 has none."""
    t = dialect.scalars[type_]
    u = dialect.unsigned[type_]
    head = _head(dialect, u, "trips", type_, f"{t} start, {t} stop, {t} step")
    downwards = (
        "    if (step < 0 && start > stop)\n"
        f"        return ({u})(({u})start - ({u})stop - 1) / ({u})(0 - ({u})step) + 1;\n"
        if type_.kind == "int"
        else ""
    )
    return (
        f"{head}\n{downwards}"
        "    if (step > 0 && start < stop)\n"
        f"        return ({u})(({u})stop - ({u})start - 1) / ({u})step + 1;\n"
        "    return 0;\n"
        "}"
    )


def _round(dialect: Dialect, type_: ScalarType) -> str:
    t = dialect.scalars[F32]
    body = _nearest_bf16(dialect) if type_ is BF16 else round_half(dialect)
    return f"{dialect.helper} {t} round_{type_}({t} x) {{\n{body}}}"


def _nearest_bf16(dialect: Dialect) -> str:
    """The upper half of a float's bits, to the nearest, ties to even; NaN stays NaN."""
    uint = dialect.scalars[U32]
    return (
        f"    {uint} bits = {dialect.bits_of_float}(x);\n"
        f"    {uint} nearest = bits + 0x7fffu + ((bits >> 16) & 1u);\n"
        "    bits = x == x ? nearest : bits | 0x400000u;\n"
        f"    return {dialect.float_of_bits}(bits & 0xffff0000u);\n"
    )


def _half_from(dialect: Dialect, type_: ScalarType) -> str:
    """From a double in one step: by way of a float, it would be rounded twice."""
    result, given = dialect.scalars[F32], dialect.scalars[type_]
    head = _head(dialect, result, "f16_from", type_, f"{given} x")
    return f"{head}\n{half_from_double(dialect, 'round_f16')}}}"


def _cut(target: ScalarType) -> Callable[[Dialect, ScalarType], str]:
    """A float as an integer: cut towards zero, kept within the type, NaN as 0."""

    def make(dialect: Dialect, type_: ScalarType) -> str:
        own, given = dialect.scalars[target], dialect.scalars[type_]
        head = _head(dialect, own, f"{target}_from", type_, f"{given} x")
        return f"{head}\n    return x == x ? {dialect.saturating(own, 'x')} : 0;\n}}"

    return make


def _chosen(word: str, symbol: str) -> Callable[[Dialect, ScalarType], str]:
    """Python's `min` and `max`: the first unless the second is truly beyond it."""

    def make(dialect: Dialect, type_: ScalarType) -> str:
        t = dialect.scalars[type_]
        head = _head(dialect, t, word, type_, f"{t} a, {t} b")
        return f"{head}\n    return b {symbol} a ? b : a;\n}}"

    return make


def _abs(dialect: Dialect, type_: ScalarType) -> str:
    t = dialect.scalars[type_]
    u = dialect.unsigned[type_]
    head = _head(dialect, t, "abs", type_, f"{t} a")
    return f"{head}\n    return a < 0 ? ({t})(0 - ({u})a) : a;\n}}"


def _clamp(dialect: Dialect, type_: ScalarType) -> str:
    t = dialect.scalars[type_]
    head = _head(dialect, t, "clamp", type_, f"{t} x, {t} low, {t} high")
    return f"{head}\n    {t} y = low > x ? low : x;\n    return high < y ? high : y;\n}}"


def _sign(dialect: Dialect, type_: ScalarType) -> str:
    t = dialect.scalars[type_]
    head = _head(dialect, t, "sign", type_, f"{t} x")
    below = "x < 0 ? -1 : " if type_.kind != "uint" else ""
    return f"{head}\n    return x > 0 ? 1 : {below}x;\n}}"


def _scaled(word: str, factor: float) -> Callable[[Dialect, ScalarType], str]:
    """A product with a constant."""

    def make(dialect: Dialect, type_: ScalarType) -> str:
        t = dialect.scalars[type_]
        head = _head(dialect, t, word, type_, f"{t} x")
        number = dialect.float_literal(factor, F64)
        return f"{head}\n    return x * ({t}){number};\n}}"

    return make


def _pack_half(dialect: Dialect, type_: ScalarType) -> str:
    t, bits = dialect.scalars[type_], dialect.stored[type_]
    head = f"{dialect.helper} {bits} pack_{type_}({t} x) {{"
    if type_ is BF16:
        return f"{head}\n    return {dialect.bits_of_float}(x) >> 16;\n}}"
    return f"{head}\n{pack_half(dialect)}}}"


def _unpack_half(dialect: Dialect, type_: ScalarType) -> str:
    t, bits = dialect.scalars[type_], dialect.stored[type_]
    head = f"{dialect.helper} {t} unpack_{type_}({bits} bits) {{"
    if type_ is BF16:
        uint = dialect.scalars[U32]
        return f"{head}\n    return {dialect.float_of_bits}(({uint})bits << 16);\n}}"
    return f"{head}\n{unpack_half(dialect)}}}"


_MAKERS: dict[str, Callable[[Dialect, ScalarType], str]] = {
    "floordiv": _floordiv,
    "mod": _mod,
    "floordiv_size": _floordiv_size,
    "mod_size": _mod_size,
    "pow": _pow,
    "trips": _trips,
    "min": _chosen("min", "<"),
    "max": _chosen("max", ">"),
    "abs": _abs,
    "pack": _pack_half,
    "unpack": _unpack_half,
    "clamp": _clamp,
    "sign": _sign,
    "degrees": _scaled("degrees", 180 / math.pi),
    "radians": _scaled("radians", math.pi / 180),
    "round": _round,
    "f16_from": _half_from,
    **{f"{type_}_from": _cut(type_) for type_ in SCALARS.values() if type_.is_integer},
}

SUPPORT_NAMES = frozenset(f"{name}_{type_}" for name in _MAKERS for type_ in SCALARS)
"""Every name that a support function can have."""

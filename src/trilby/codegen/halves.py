"""Halves in C without memory: rounding to them, and their 16 bits, by arithmetic on floats.

Languages convert halves at an address. Where that is the address of a local variable, PoCL
takes what is read back for the same number in all work items of a group, so no local variable
has its address taken here.
"""

import math

from trilby.codegen.dialect import Dialect
from trilby.data.dtypes import F16, F32, F64, U32

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

"""The words that OpenCL C keeps for itself, by where they are in the way.

A parameter of raw code may be no keyword. A member of a struct may also not look like a macro,
which a driver could have. A local name may also not hide what
generated functions use. Functions have names that no library has (`names.OWN`).
"""

import re

from trilby.codegen.names import C_WORDS
from trilby.model.intrinsics import INTRINSICS

_KEYWORDS = re.compile(
    r"_*(kernel|global|local|constant|private|generic|uniform|pipe|read_only|write_only|read_write)"
    r"_*|half|typeof|asm|vec_step|image\w*_t|(sampler|event|clk_event|queue|ndrange|reserve_id)_t"
    # Macros of the language's headers, of which two may stand for one word.
    r"|NAN|INFINITY|MAXFLOAT|HUGE_VALF?|(M|FLT|DBL|HALF|U?CHAR|SCHAR|U?SHRT|U?INT|U?LONG|FP)_"
    r"[A-Z0-9_]+|CLK?_\w+|cl_(khr|ext)_\w+|atom(ic)?_\w+|linux|unix|i386|complex|imaginary"
)
_MACRO = re.compile("[A-Z][A-Z0-9_]+")
"""How compilers and drivers spell macros of their own."""

_SCALARS = r"u?(char|short|int|long)|float|double|half|bool"
_USED = re.compile(
    rf"{_SCALARS}|size_t|pow|fmod|copysign|convert_\w+|as_\w+|v(load|store)_half|get_\w+|barrier"
    r"|tgamma|printf"
)


def is_keyword(name: str) -> bool:
    """True for a word of the language that no identifier may be."""
    return name in C_WORDS or _KEYWORDS.fullmatch(name) is not None


def is_reserved(name: str) -> bool:
    """True for what nothing is called that generated code has, not even a member."""
    return is_keyword(name) or _MACRO.fullmatch(name) is not None


def is_used(name: str) -> bool:
    """True for what a parameter or local variable may not be called."""
    return is_reserved(name) or name in INTRINSICS or _USED.fullmatch(name) is not None

"""The words that OpenCL C keeps for itself, by where they are in the way.

A member of a struct may not be a keyword. A local name may also not hide what generated
functions use. A function or a type may not have the name of anything in the library.
"""

import re

from trilby.codegen.names import C_WORDS
from trilby.model.intrinsics import INTRINSICS

_KEYWORDS = re.compile(
    r"_*(kernel|global|local|constant|private|generic|uniform|pipe|read_only|write_only|read_write)"
    r"_*|half|typeof|asm|vec_step|image\w*_t|(sampler|event|clk_event|queue|ndrange|reserve_id)_t"
    # Macros of the language's headers.
    r"|NAN|INFINITY|MAXFLOAT|HUGE_VALF?|(M|FLT|DBL|HALF|U?CHAR|SCHAR|U?SHRT|U?INT|U?LONG|CLK?|FP)_"
    r"[A-Z0-9_]+|cl_khr_\w+"
)
_SCALARS = r"u?(char|short|int|long)|float|double|half|bool"
_USED = re.compile(
    rf"{_SCALARS}|size_t|pow|fmod|copysign|convert_\w+|as_\w+|v(load|store)_half|atom(ic)?_\w+"
    r"|get_\w+|barrier|tgamma"
)
_LIBRARY = re.compile(
    rf"({_SCALARS}|quad)\d*(x\d+)?|(size|ptrdiff|u?intptr)_t|complex|imaginary"
    r"|v(load|store)\w*|(async|native|half|fast|read|write|sub_group|work_group)_\w+"
    r"|a?(cos|sin|tan)(h|pi)?|atan2(pi)?|cbrt|ceil|copysign|erfc?|exp(2|10|m1)?|fabs|fdim|floor"
    r"|fma|fmax|fmin|fmod|fract|frexp|hypot|ilogb|ldexp|lgamma(_r)?|log(2|10|1p|b)?|mad|maxmag"
    r"|minmag|modf|nan|nextafter|pow[nr]?|remainder|remquo|rint|rootn|round|r?sqrt|sincos|tgamma"
    r"|trunc|abs(_diff)?|(add|sub|mad)_sat|r?hadd|clamp|clz|ctz|mad_hi|max|min|mul_hi|(mul|mad)24"
    r"|popcount|rotate|upsample|degrees|mix|radians|sign|smoothstep|step|cross|dot|distance|length"
    r"|normalize|is(not)?equal|is(greater|less)(equal)?|islessgreater|is(finite|inf|nan|normal)"
    r"|is(un)?ordered|signbit|any|all|(bit)?select|shuffle2?|mem_fence|prefetch"
    r"|wait_group_events|printf|puts?|putchar|mem(cpy|set|move|cmp)|malloc|calloc|free|abort|exit"
)


def is_keyword(name: str) -> bool:
    """True for what no identifier may be, not even a member's name."""
    return name in C_WORDS or _KEYWORDS.fullmatch(name) is not None


def is_used(name: str) -> bool:
    """True for what a parameter or local variable may not be called."""
    return is_keyword(name) or name in INTRINSICS or _USED.fullmatch(name) is not None


def is_library(name: str) -> bool:
    """True for what a function or type may not be called."""
    return is_used(name) or _LIBRARY.fullmatch(name) is not None

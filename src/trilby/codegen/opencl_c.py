"""OpenCL C: the table of its words."""

import math
import re
from dataclasses import replace

import numpy as np

from trilby.analysis.reach import KernelGraph
from trilby.codegen.cfamily import Generated, generate_c
from trilby.codegen.dialect import Dialect
from trilby.codegen.identifiers import C_WORDS
from trilby.data.dtypes import BF16, BOOL, F16, F32, F64, I64, SCALARS, U64, ScalarType
from trilby.model.intrinsics import INTRINSICS
from trilby.model.value import Space

# ------------------------------------------------------------------------------------- opencl words
# The words that OpenCL C keeps for itself, by where they are in the way.
#
# A parameter of raw code may be no keyword. A member of a struct may also not look like a macro,
# which a driver could have. A local name may also not hide what generated functions use.
# Functions have names that no library has (`names.OWN`).

_KEYWORDS = re.compile(
    r"_*(kernel|global|local|constant|private|generic|uniform|pipe|read_only|write_only|read_write)"
    r"_*|half|typeof|asm|vec_step|image\w*_t|(sampler|event|clk_event|queue|ndrange|reserve_id)_t"
    # Macros of the language's headers, of which two may stand for one word.
    r"|NAN|INFINITY|MAXFLOAT|HUGE_VALF?|(M|FLT|DBL|HALF|U?CHAR|SCHAR|U?SHRT|U?INT|U?LONG|FP)_"
    r"[A-Z0-9_]+|CLK?_\w+|cl_(khr|ext)_\w+|atom(ic)?_\w+|linux|unix|i386|complex|imaginary"
)
_MACRO = re.compile("[A-Z][A-Z0-9_]+")
"""How compilers and drivers spell macros of their own."""

_SCALAR_WORDS = r"u?(char|short|int|long)|float|double|half|bool"
_USED = re.compile(
    rf"{_SCALAR_WORDS}|size_t|pow|fmod|copysign|convert_\w+|as_\w+|v(load|store)_half|get_\w+|barrier"
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


# ------------------------------------------------------------------------------------------- opencl

_INTEGERS = {8: "char", 16: "short", 32: "int", 64: "long"}
_SCALARS = {
    BOOL: "bool",
    **{SCALARS[f"i{bits}"]: word for bits, word in _INTEGERS.items()},
    **{SCALARS[f"u{bits}"]: f"u{word}" for bits, word in _INTEGERS.items()},
    **dict.fromkeys((F16, BF16, F32), "float"),
    F64: "double",
}
_AXES = ("x", "y", "z")
_GRID = {
    f"{prefix}{axis}": f"{call}({number})"
    for number, axis in enumerate(_AXES)
    for prefix, call in (
        ("", "get_global_id"),
        ("local_", "get_local_id"),
        ("local_max_", "get_local_size"),
        ("group_", "get_group_id"),
        ("group_max_", "get_num_groups"),
    )
}
_BASE_ATOMICS = ("add", "sub", "xchg", "cmpxchg")
_EXTENDED_ATOMICS = ("min", "max", "and", "or", "xor")


def _float_add(space: str, word: str) -> str:
    """OpenCL C 1.2 adds no floats in one step: exchange the bits until nobody came between."""
    return f"""\
static inline float atomic_add_f32{word}(volatile {space} float *place, float operand) {{
    volatile {space} uint *bits = (volatile {space} uint *)place;
    uint seen = *bits, old;
    do {{
        old = seen;
        seen = atomic_cmpxchg(bits, old, as_uint(as_float(old) + operand));
    }} while (seen != old);
    return as_float(old);
}}"""


_OWN_FUNCTIONS = {
    "atomic_add_f32": _float_add("__global", ""),
    "atomic_add_f32_local": _float_add("__local", "_local"),
    **{
        f"atom_{change}": f"#pragma OPENCL EXTENSION cl_khr_int64_{kind}_atomics : enable"
        for kind, changes in (("base", _BASE_ATOMICS), ("extended", _EXTENDED_ATOMICS))
        for change in changes
    },
}
_LOOP_GUARD = "if (get_local_id(0) < get_local_size(0)) "
"""Always true, and PoCL does not know it.

Where every item of a group comes by an inner loop at least once, PoCL takes its turns for all
of them together, and with them those of the loop around it: all items then leave that when
one of them does.
"""

_CHANGES = {"exchange": "xchg", "compare_exchange": "cmpxchg"}


def _atomic(change: str, type_: ScalarType, space: Space) -> str:
    if type_ is F32 and change == "add":
        return "atomic_add_f32_local" if space == "local" else "atomic_add_f32"
    prefix = "atom" if type_ in {I64, U64} else "atomic"
    return f"{prefix}_{_CHANGES.get(change, change)}"


def _float_literal(number: float, type_: ScalarType) -> str:
    if math.isnan(number):
        return "NAN" if type_ is not F64 else "(double)NAN"
    if math.isinf(number):
        word = "INFINITY" if type_ is not F64 else "(double)INFINITY"
        return word if number > 0 else f"(-{word})"
    return repr(number) if type_ is F64 else f"{np.float32(number)!s}f"


OPENCL = Dialect(
    name="opencl",
    kernel="__kernel void",
    helper="static inline",
    spaces={
        "global": "__global",
        "constant": "__constant",
        "local": "__local",
        "private": "__private",
    },
    scalars=_SCALARS,
    stored={BOOL: "uchar", F16: "ushort", BF16: "ushort"},
    unsigned={t: f"u{_INTEGERS[t.bits]}" for t in SCALARS.values() if t.is_integer},
    grid=_GRID,
    math={"gamma": "tgamma"},
    atomics=_atomic,
    barriers={
        "local": "barrier(CLK_LOCAL_MEM_FENCE);",
        "global": "barrier(CLK_GLOBAL_MEM_FENCE);",
        "both": "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    },
    saturating=lambda c_type, text: f"convert_{c_type}_sat({text})",
    float_literal=_float_literal,
    half_load="vload_half(0, ({1}half *){0})",
    half_store="vstore_half({1}, 0, ({2}half *){0})",
    bits_of_float="as_uint",
    float_of_bits="as_float",
    is_keyword=is_keyword,
    is_reserved=is_reserved,
    is_used=is_used,
    functions=_OWN_FUNCTIONS,
    preamble="#pragma OPENCL FP_CONTRACT OFF\n",
    loop_guard=_LOOP_GUARD,
)


_FUSING = replace(OPENCL, preamble="#pragma OPENCL FP_CONTRACT ON\n")


def generate(graph: KernelGraph, *, lines: bool = True, fuses: bool = False) -> Generated:
    """OpenCL C for a kernel and its helpers; `lines` leads errors back to the Python file.

    With `fuses` the driver may round `a * b + c` once.
    """
    return generate_c(graph, _FUSING if fuses else OPENCL, lines=lines)

"""OpenCL C: the table of its words."""

import math

import numpy as np

from trilby.analysis.reach import KernelGraph
from trilby.codegen.cfamily import Generated, generate_c
from trilby.codegen.dialect import Dialect
from trilby.codegen.names import C_WORDS
from trilby.data.dtypes import (
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    ScalarType,
)

_SCALARS = {
    BOOL: "bool",
    I8: "char",
    I16: "short",
    I32: "int",
    I64: "long",
    U8: "uchar",
    U16: "ushort",
    U32: "uint",
    U64: "ulong",
    F16: "float",
    F32: "float",
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
_WORDS = (
    "kernel global local constant private read_only write_only read_write half uchar ushort uint "
    "ulong size_t ptrdiff_t event_t sampler_t image2d_t image3d_t barrier min max clamp mix step "
    "sign abs sqrt exp log sin cos tan floor ceil trunc fabs pow fmod hypot dot cross length "
    "distance normalize select any all vload_half vstore_half as_int as_float kc max_x max_y max_z"
)


def _atomic_add(type_: ScalarType, place: str, operand: str) -> str:
    if type_ is F32:
        return f"atomic_add_f32({place}, {operand})"
    prefix = "atom" if type_ in {I64, U64} else "atomic"
    return f"{prefix}_add({place}, {operand})"


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
    global_space="__global",
    scalars=_SCALARS,
    stored={BOOL: "uchar", F16: "ushort"},
    unsigned={
        I8: "uchar",
        I16: "ushort",
        I32: "uint",
        I64: "ulong",
        U8: "uchar",
        U16: "ushort",
        U32: "uint",
        U64: "ulong",
    },
    grid=_GRID,
    math={},
    atomics={"add": _atomic_add},
    saturating=lambda c_type, text: f"convert_{c_type}_sat({text})",
    float_literal=_float_literal,
    half_load="vload_half(0, ({1} half *){0})",
    half_store="vstore_half({1}, 0, ({2} half *){0})",
    half_round="ushort bits; vstore_half(x, 0, (half *)&bits); "
    "return vload_half(0, (half *)&bits);",
    reserved=C_WORDS | frozenset(_WORDS.split()),
    preamble="#pragma OPENCL FP_CONTRACT OFF\n",
)


def generate(graph: KernelGraph, *, lines: bool = True) -> Generated:
    """OpenCL C for a kernel and its helpers; `lines` leads errors back to the Python file."""
    return generate_c(graph, OPENCL, lines=lines)

"""Halves by arithmetic: every half, and the numbers around the places where rounding turns."""

import numpy as np
from tests.codegen.running import Array, run_text

from trilby.codegen.opencl_c import OPENCL
from trilby.codegen.support import support_text
from trilby.data.dtypes import F16, F64

SIZES = "int max_x, int max_y, int max_z"
ALL = np.arange(2**16, dtype=np.uint16)
"""The bits of every half."""


def run(statement: str, given: Array, result: Array) -> Array:
    functions = [support_text(name, F16, OPENCL) for name in ("round", "pack", "unpack")]
    functions.append(support_text("f16_from", F64, OPENCL))
    types = {"uint16": "ushort", "float32": "float", "float64": "double"}
    kernel = (
        f"__kernel void convert(__global {types[given.dtype.name]} *a, "
        f"__global {types[result.dtype.name]} *b, {SIZES}) {{\n"
        f"    for (int i = 0; i < {len(given)}; ++i) b[i] = {statement};\n}}\n"
    )
    return run_text("\n\n".join([*functions, kernel]), "convert", [given, result])[1]


def same(left: Array, right: Array) -> bool:
    """Equal to the bit, but one NaN is as good as another."""
    equal = (left == right) & (np.signbit(left) == np.signbit(right))
    return bool((equal | (np.isnan(left) & np.isnan(right))).all())


def between(dtype: type[np.float32] | type[np.float64]) -> Array:
    """Halves, the middles between them, and the next numbers on both sides of each."""
    halves = ALL[:0x7C00].view(np.float16).astype(dtype)
    middles = (halves[:-1] + halves[1:]) / 2
    largest = np.array([65504, 65519.99, 65520, 65536, 1e30, np.inf, np.nan, 1e-30], dtype)
    chosen = np.concatenate([halves, middles, largest])
    near = [chosen, np.nextafter(chosen, dtype(0)), np.nextafter(chosen, dtype(np.inf))]
    both = np.concatenate(near)
    return np.concatenate([both, -both])


def test_every_half_is_unpacked() -> None:
    found = run("unpack_f16(a[i])", ALL, np.zeros(len(ALL), np.float32))
    assert same(found, ALL.view(np.float16).astype(np.float32))


def test_every_half_is_packed() -> None:
    found = run("pack_f16(unpack_f16(a[i]))", ALL, np.zeros(len(ALL), np.uint16))
    assert same(found.view(np.float16), ALL.view(np.float16))


def test_floats_are_rounded_to_the_nearest_half() -> None:
    given = between(np.float32)
    found = run("round_f16(a[i])", given, np.zeros(len(given), np.float32))
    with np.errstate(over="ignore"):
        assert same(found, given.astype(np.float16).astype(np.float32))


def test_doubles_are_rounded_once() -> None:
    given = between(np.float64)
    found = run("f16_from_f64(a[i])", given, np.zeros(len(given), np.float32))
    with np.errstate(over="ignore"):
        assert same(found, given.astype(np.float16).astype(np.float32))

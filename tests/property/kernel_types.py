"""The types that random kernels are made of, by their names, and the numbers they hold.

What meets in which type is asked from NumPy, whose rules the kernel language follows; what
NumPy does not say about `bf16` stands here. Nothing asks the code that is tested.
"""

from itertools import product
from typing import Any, TypeAlias, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]

DTYPES: dict[str, np.dtype[Any]] = {
    "bool": np.dtype("bool"),
    "i8": np.dtype("int8"),
    "i16": np.dtype("int16"),
    "i32": np.dtype("int32"),
    "i64": np.dtype("int64"),
    "u8": np.dtype("uint8"),
    "u16": np.dtype("uint16"),
    "u32": np.dtype("uint32"),
    "u64": np.dtype("uint64"),
    "f16": np.dtype("float16"),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype("float32"),
    "f64": np.dtype("float64"),
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}

SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTEGERS = (*SIGNED, *UNSIGNED)
FLOATS = ("f16", "bf16", "f32", "f64")
NUMBERS = (*INTEGERS, *FLOATS)
SCALARS = ("bool", *NUMBERS)

VECTORS = {f"{e}x{n}": (e, n) for e in ("f32", "i32", "u32", "u8", "f16") for n in (2, 3, 4)}
"""Every vector type: its lanes' type, and how many there are."""

LANES = "xyzw"


def spelt(name: str) -> str:
    """A type as programs write it."""
    return f"tb.{name}" if name in VECTORS else name


def bits(name: str) -> int:
    """The width of an integer type."""
    return DTYPES[name].itemsize * 8


def common(left: str, right: str) -> str:
    """The type in which two declared types meet; `bf16` goes as `f16`, beside that as `f32`."""
    if "bf16" in {left, right} and left != right:
        found = common(*("f16" if name == "bf16" else name for name in (left, right)))
        if found != "f16":
            return found
        return "f32" if "f16" in {left, right} else "bf16"
    return NAMES[np.result_type(DTYPES[left], DTYPES[right])]


def _meetings() -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {name: [] for name in SCALARS}
    for left, right in product(SCALARS, SCALARS):
        if left != right:
            found[common(left, right)].append((left, right))
    return found


MEETINGS = _meetings()
"""The pairs of different types that meet in a type."""


def assignable_to(name: str) -> tuple[str, ...]:
    """The types whose values may be stored in this one without a cast."""
    if name in FLOATS:
        return SCALARS
    return tuple(s for s in SCALARS if np.can_cast(DTYPES[s], DTYPES[name], "same_kind"))


def flowing_to(name: str) -> tuple[str, ...]:
    """The types that lose nothing in this one."""
    return tuple(s for s in SCALARS if np.can_cast(DTYPES[s], DTYPES[name], "safe"))


def float_of(name: str) -> str:
    """The type in which `floor` and its kin take a number."""
    if name in FLOATS:
        return name
    return {1: "f16", 2: "f32"}.get(DTYPES[name].itemsize, "f64")


def integers(name: str) -> tuple[int, ...]:
    """Small numbers, the ends of the type, and powers of two beside their neighbours."""
    info = np.iinfo(DTYPES[name])
    wide = [1 << k for k in (bits(name) // 2, bits(name) - 2)]
    chosen = [0, 1, 2, 3, 5, 7, 10, 100, info.max, info.max - 1, *wide, wide[0] - 1]
    if info.min < 0:
        chosen += [-1, -2, -3, -7, -100, info.min, info.min + 1, -wide[0]]
    return tuple(int(n) for n in chosen)


CONSTANTS = {"WHOLE": 11, "PART": -0.75}
"""Numbers of the module, without a type."""

TYPED_CONSTANTS = {"SHORT": ("i16", -300), "SINGLE": ("f32", 2.5), "LONG": ("u64", 2**63 + 5)}
"""Numbers of the module that NumPy gives a type."""

FLOAT_LITERALS = (0.0, 1.0, 0.5, -0.5, 2.0, -1.5, 3.0, 0.1, -7.25, 100.0, 1e-3, -0.0)


def numbers(name: str, count: int, rng: np.random.Generator) -> Array:
    """Edges of the type among random numbers, small ones more often than large ones."""
    dtype = DTYPES[name]
    if name == "bool":
        return rng.integers(0, 2, count).astype(dtype)
    if name in INTEGERS:
        return _random_integers(name, count, rng)
    return _random_floats(dtype, count, rng)


def _random_integers(name: str, count: int, rng: np.random.Generator) -> Array:
    dtype = DTYPES[name]
    info = np.iinfo(dtype)
    kinds = rng.integers(0, 3, count)
    chosen = integers(name)
    edges = np.array([chosen[k] for k in rng.integers(0, len(chosen), count)], dtype)
    small = rng.integers(max(info.min, -20), 20, count).astype(dtype)
    wide = rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
    return np.where(kinds == 0, edges, np.where(kinds == 1, small, wide)).astype(dtype)


def _random_floats(dtype: np.dtype[Any], count: int, rng: np.random.Generator) -> Array:
    info = cast("Any", ml_dtypes.finfo(dtype))
    specials: list[float] = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        info.max,
        info.tiny,
        info.smallest_subnormal,
    ]
    kinds = rng.integers(0, 8, count)
    special = np.array(specials, np.float64)[rng.integers(0, len(specials), count)]
    near = rng.normal(0, 4, count)
    far = rng.normal(0, 1, count) * 10.0 ** rng.integers(-4, 5, count)
    whole = rng.integers(-50, 50, count).astype(np.float64)
    chosen = np.choose(kinds, [special, near, near, near, far, far, whole, whole / 4])
    with np.errstate(all="ignore"):
        return chosen.astype(dtype)

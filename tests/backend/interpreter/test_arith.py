"""Arithmetic against NumPy, libm and plain Python."""

import ctypes
import ctypes.util
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.backend.interpreter.kernels import (
    Array,
    apply,
    at,
    compute,
    constant,
    kernel,
    launch,
    pairs,
    same,
    scalar_type,
)

from trilby.data.dtypes import BOOL, F32, I8, I32, SCALARS, U64, ScalarType, Type
from trilby.data.schema import NDArrayType
from trilby.errors import KernelArithmeticError
from trilby.model.build import Builder
from trilby.model.intrinsics import INTRINSICS
from trilby.model.op import Op
from trilby.model.ops import arith
from trilby.model.ops.memory import Store
from trilby.model.value import Value

INTEGERS = [t for t in SCALARS.values() if t.is_integer]
FLOATS = [t for t in SCALARS.values() if t.is_float]

by_name = pytest.mark.parametrize


def _shift(function: Callable[..., Any]) -> Callable[[Array, Array], Array]:
    """NumPy leaves counts beyond the width undefined; kernels take them modulo the width."""

    def shift(left: Array, right: Array) -> Array:
        return function(left, right & left.dtype.type(left.dtype.itemsize * 8 - 1))

    return shift


INTEGER_OPS: dict[type[Op], Callable[..., Any]] = {
    arith.Add: np.add,
    arith.Sub: np.subtract,
    arith.Mul: np.multiply,
    arith.FloorDiv: np.floor_divide,
    arith.Mod: np.mod,
    arith.Pow: np.power,
    arith.Shl: _shift(np.left_shift),
    arith.Shr: _shift(np.right_shift),
    arith.BitAnd: np.bitwise_and,
    arith.BitOr: np.bitwise_or,
    arith.BitXor: np.bitwise_xor,
}
COMPARES: dict[type[Op], Callable[..., Any]] = {
    arith.Lt: np.less,
    arith.Le: np.less_equal,
    arith.Gt: np.greater,
    arith.Ge: np.greater_equal,
    arith.Eq: np.equal,
    arith.Ne: np.not_equal,
}
FLOAT_SAMPLES = [
    *(0.0, -0.0, 1.0, -1.0, 0.1, -0.1, 0.5, 1.5, 2.0, -2.0, 3.0, -3.0, 7.25, -7.25, 1e-3),
    *(math.pi, 100.0, 2049.0, -2049.0, 65504.0, 6e-8, 3e4, math.inf, -math.inf, math.nan),
]
WIDE_FLOAT_SAMPLES = [
    *FLOAT_SAMPLES,
    *(1e-45, 1.17549435e-38, 16777217.0, 3.4e38, -3.4e38, 1e10, 1e-10, 123456.789),
]


def float_samples(of: ScalarType) -> list[float]:
    return FLOAT_SAMPLES if of.bits == 16 else WIDE_FLOAT_SAMPLES


def integer_samples(of: ScalarType) -> list[int]:
    ends = [of.lowest, of.lowest + 1, of.highest, of.highest - 1, of.highest // 3]
    near = (-65, -8, -3, -2, -1, 0, 1, 2, 3, 7, 8, 31, 32, 63, 64, 65)
    return ends + [n for n in near if of.lowest <= n <= of.highest]


def defined_for(kind: type[Op], left: Array, right: Array) -> tuple[Array, Array]:
    """The pairs for which an integer op has a result at all."""
    keep = np.ones(left.shape, bool)
    if kind in {arith.FloorDiv, arith.Mod}:
        keep = right != 0
    if kind is arith.Pow:
        keep = right >= 0
    return left[keep], right[keep]


def expected_of(function: Callable[..., Any], *inputs: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(function(*inputs))


def narrowed(numbers: Array, to: ScalarType) -> Array:
    """NumPy's conversion, without its warnings."""
    with np.errstate(all="ignore"):
        return numbers.astype(to.numpy)


# ------------------------------------------------------------------------------ integers


@by_name("of", INTEGERS, ids=str)
@by_name("kind", INTEGER_OPS, ids=lambda kind: kind.mnemonic)
def test_integers_agree_with_numpy_at_the_ends_of_their_range(
    kind: type[Op], of: ScalarType
) -> None:
    left, right = defined_for(kind, *pairs(integer_samples(of), of.numpy))
    assert same(apply(kind, of.numpy, left, right), expected_of(INTEGER_OPS[kind], left, right))


@by_name("dtype", [np.int8, np.uint8])
@by_name("kind", INTEGER_OPS, ids=lambda kind: kind.mnemonic)
def test_integers_of_eight_bits_agree_with_numpy_everywhere(
    kind: type[Op], dtype: type[np.integer[Any]]
) -> None:
    info = np.iinfo(dtype)
    left, right = defined_for(kind, *pairs(range(info.min, info.max + 1), dtype))
    assert same(apply(kind, dtype, left, right), expected_of(INTEGER_OPS[kind], left, right))


@st.composite
def integer_cases(draw: st.DrawFn) -> tuple[type[Op], ScalarType, list[tuple[int, int]]]:
    kind = draw(st.sampled_from(list(INTEGER_OPS)))
    of = draw(st.sampled_from(INTEGERS))
    number = st.integers(of.lowest, of.highest)
    return kind, of, draw(st.lists(st.tuples(number, number), min_size=1, max_size=20))


@given(integer_cases())
def test_integers_agree_with_numpy_on_any_numbers(
    case: tuple[type[Op], ScalarType, list[tuple[int, int]]],
) -> None:
    kind, of, numbers = case
    table = np.array(numbers, of.numpy)
    left, right = defined_for(kind, table[:, 0], table[:, 1])
    assert same(
        apply(kind, of.numpy, left.copy(), right.copy()),
        expected_of(INTEGER_OPS[kind], left, right),
    )


@by_name("left", [7, -7])
@by_name("right", [2, -2])
def test_division_rounds_towards_minus_infinity_as_in_python(left: int, right: int) -> None:
    a, b = np.array([left], np.int32), np.array([right], np.int32)
    assert apply(arith.FloorDiv, np.int32, a, b).tolist() == [left // right]
    assert apply(arith.Mod, np.int32, a, b).tolist() == [left % right]


def test_the_lowest_integer_divided_by_minus_one_wraps() -> None:
    a, b = np.array([-(2**31)], np.int32), np.array([-1], np.int32)
    assert apply(arith.FloorDiv, np.int32, a, b).tolist() == [-(2**31)]


def test_shift_counts_are_taken_modulo_the_width() -> None:
    a, b = np.array([1, 1, -8, -8], np.int32), np.array([33, -1, 33, 31], np.int32)
    assert apply(arith.Shl, np.int32, a, b).tolist() == [2, -(2**31), -16, 0]
    assert apply(arith.Shr, np.int32, a, b).tolist() == [0, 0, -4, -1]


@by_name("of", INTEGERS, ids=str)
def test_negation_and_inversion_of_integers_agree_with_numpy(of: ScalarType) -> None:
    numbers = np.array(integer_samples(of), of.numpy)
    assert same(apply(arith.Neg, of.numpy, numbers), expected_of(np.negative, numbers))
    assert same(apply(arith.Invert, of.numpy, numbers), np.invert(numbers))


@by_name("kind", [arith.FloorDiv, arith.Mod])
def test_division_of_integers_by_zero_names_work_item_and_line(kind: type[Op]) -> None:
    def build(b: Builder, values: list[Value]) -> Value:
        return b.value(kind, *values, type=I32, location=at(12))

    a, b = np.array([5, 6, 7], np.int32), np.array([1, 0, 1], np.int32)
    with pytest.raises(KernelArithmeticError) as caught:
        compute(build, np.int32, a, b)
    assert str(caught.value) == (
        "app.py:12: an integer is divided by zero, in work item (1, 0, 0)\n"
        "  help: test the divisor before, or divide floats: `/` gives an infinity"
    )
    assert isinstance(caught.value, ZeroDivisionError)


def test_a_negative_power_of_an_integer_is_an_error() -> None:
    def build(b: Builder, values: list[Value]) -> Value:
        return b.value(arith.Pow, *values, type=I32, location=at(12))

    with pytest.raises(KernelArithmeticError) as caught:
        compute(build, np.int32, np.array([2], np.int32), np.array([-3], np.int32))
    assert str(caught.value) == (
        "app.py:12: an integer cannot be raised to the negative power -3, in work item (0, 0, 0)\n"
        "  help: make the base a float: `f32(n) ** e`"
    )


# ---------------------------------------------------------------------------------- bools


@by_name(
    ("kind", "meaning"),
    [
        (arith.BitAnd, np.logical_and),
        (arith.BitOr, np.logical_or),
        (arith.BitXor, np.logical_xor),
        *COMPARES.items(),
    ],
)
def test_bools_agree_with_numpy(kind: type[Op], meaning: Callable[..., Any]) -> None:
    left, right = pairs([False, True], np.bool_)
    assert same(apply(kind, np.bool_, left, right), expected_of(meaning, left, right))


def test_not_turns_a_bool_around() -> None:
    assert apply(arith.Not, np.bool_, np.array([True, False])).tolist() == [False, True]


# --------------------------------------------------------------------------------- floats

FLOAT_OPS: dict[type[Op], Callable[..., Any]] = {
    arith.Add: np.add,
    arith.Sub: np.subtract,
    arith.Mul: np.multiply,
    arith.TrueDiv: np.divide,
    arith.Mod: np.mod,
}


@by_name("of", FLOATS, ids=str)
@by_name("kind", FLOAT_OPS, ids=lambda kind: kind.mnemonic)
def test_floats_agree_with_numpy_bit_for_bit(kind: type[Op], of: ScalarType) -> None:
    left, right = pairs(float_samples(of), of.numpy)
    assert same(apply(kind, of.numpy, left, right), expected_of(FLOAT_OPS[kind], left, right))


@st.composite
def float_cases(draw: st.DrawFn) -> tuple[type[Op], ScalarType, list[tuple[float, float]]]:
    kind = draw(st.sampled_from([arith.Add, arith.Sub, arith.Mul, arith.TrueDiv]))
    of = draw(st.sampled_from(FLOATS))
    number = st.floats(width=draw(st.just(of.bits)))  # pyright: ignore[reportArgumentType] -- 16, 32 or 64
    return kind, of, draw(st.lists(st.tuples(number, number), min_size=1, max_size=20))


@given(float_cases())
def test_floats_agree_with_numpy_on_any_numbers(
    case: tuple[type[Op], ScalarType, list[tuple[float, float]]],
) -> None:
    kind, of, numbers = case
    table = np.array(numbers, of.numpy)
    left, right = table[:, 0].copy(), table[:, 1].copy()
    assert same(apply(kind, of.numpy, left, right), expected_of(FLOAT_OPS[kind], left, right))


@by_name("of", FLOATS, ids=str)
def test_floor_division_of_floats_is_that_of_doubles_rounded(of: ScalarType) -> None:
    left, right = pairs(float_samples(of), of.numpy)
    wide = expected_of(np.floor_divide, left.astype(np.float64), right.astype(np.float64))
    expected = narrowed(wide, of)
    assert same(apply(arith.FloorDiv, of.numpy, left, right), expected)


def test_division_of_floats_by_zero_gives_infinities_and_nan() -> None:
    a = np.array([1.0, -1.0, 1.0, -1.0, 0.0, math.nan])
    b = np.array([0.0, 0.0, -0.0, -0.0, 0.0, 0.0])
    infinities = np.array([math.inf, -math.inf, -math.inf, math.inf, math.nan, math.nan])
    assert same(apply(arith.TrueDiv, np.float64, a, b), infinities)
    assert same(apply(arith.FloorDiv, np.float64, a, b), infinities)
    assert np.isnan(apply(arith.Mod, np.float64, a, b)).all()


def libm_pow(left: Array, right: Array) -> Array:
    """C's own `pow` on doubles, element by element."""
    c_pow = ctypes.CDLL(ctypes.util.find_library("m")).pow
    c_pow.restype = ctypes.c_double
    c_pow.argtypes = [ctypes.c_double, ctypes.c_double]
    results = [c_pow(float(a), float(b)) for a, b in zip(left, right, strict=True)]
    return narrowed(np.array(results), scalar_type(left.dtype))


@by_name("of", FLOATS, ids=str)
def test_powers_of_floats_are_those_of_c(of: ScalarType) -> None:
    left, right = pairs(float_samples(of), of.numpy)
    assert same(apply(arith.Pow, of.numpy, left, right), libm_pow(left, right))


def test_odd_powers_keep_the_sign_of_an_infinite_result() -> None:
    a, b = np.array([-0.0, -0.0, 0.0, -1e300, -1e300]), np.array([-3.0, -2.0, -3.0, 3.0, 2.0])
    expected = np.array([-math.inf, math.inf, math.inf, -math.inf, math.inf])
    assert same(apply(arith.Pow, np.float64, a, b), expected)


@by_name("of", [*INTEGERS, *FLOATS], ids=str)
@by_name("kind", COMPARES, ids=lambda kind: kind.mnemonic)
def test_comparisons_agree_with_numpy(kind: type[Op], of: ScalarType) -> None:
    samples = float_samples(of) if of.is_float else integer_samples(of)
    left, right = pairs(samples, of.numpy)
    with np.errstate(invalid="ignore"):
        expected = COMPARES[kind](left, right)
    assert same(apply(kind, np.bool_, left, right), expected)


@by_name("of", FLOATS, ids=str)
def test_negation_of_floats_turns_the_sign(of: ScalarType) -> None:
    numbers = np.array(float_samples(of), of.numpy)
    assert same(apply(arith.Neg, of.numpy, numbers), -numbers)


def test_a_sum_of_halves_rounds_after_every_op() -> None:
    """2048 + 1 is a tie in f16 and goes to the even 2048, twice."""

    def build(b: Builder, values: list[Value]) -> Value:
        one = constant(b, 1.0, SCALARS["f16"])
        once = b.value(arith.Add, values[0], one, type=SCALARS["f16"])
        return b.value(arith.Add, once, one, type=SCALARS["f16"])

    assert compute(build, np.float16, np.array([2048], np.float16)).tolist() == [2048.0]


# ---------------------------------------------------------------------------------- casts


def cast_expected(numbers: Array, to: ScalarType) -> Array:
    """NumPy's cast where C defines it: everything but floats to integers."""
    if numbers.dtype.kind in "iu" and to.is_float:
        numbers = numbers.astype(np.float64)
    return narrowed(numbers, to)


@by_name("to", SCALARS.values(), ids=str)
@by_name("of", [BOOL, *INTEGERS], ids=str)
def test_casts_of_integers_agree_with_numpy(of: ScalarType, to: ScalarType) -> None:
    samples = [False, True] if of is BOOL else integer_samples(of)
    numbers = np.array(samples, of.numpy)
    assert same(apply(arith.Cast, to.numpy, numbers), cast_expected(numbers, to))


@by_name("to", [BOOL, *FLOATS], ids=str)
@by_name("of", FLOATS, ids=str)
def test_casts_between_floats_agree_with_numpy(of: ScalarType, to: ScalarType) -> None:
    numbers = np.array(float_samples(of), of.numpy)
    assert same(apply(arith.Cast, to.numpy, numbers), cast_expected(numbers, to))


@by_name("to", INTEGERS, ids=str)
@by_name("of", FLOATS, ids=str)
def test_casts_of_floats_cut_and_stay_within_the_ends(of: ScalarType, to: ScalarType) -> None:
    numbers = np.array([2.9, -2.9, 0.5, -0.5, math.inf, -math.inf, math.nan, 65280], of.numpy)
    info = np.iinfo(to.numpy)
    cut = [2, -2, 0, 0, info.max, info.min, 0, 65280]
    expected = [min(max(n, info.min), info.max) for n in cut]
    assert apply(arith.Cast, to.numpy, numbers).tolist() == expected


def test_casts_of_large_doubles_saturate() -> None:
    numbers = np.array([1e19, -1e19, 2.0**63, 2.0**64, 9.2e18])
    i64, u64 = apply(arith.Cast, np.int64, numbers), apply(arith.Cast, np.uint64, numbers)
    top, low = 2**63 - 1, -(2**63)
    assert i64.tolist() == [top, low, top, top, 9200000000000000000]
    assert u64.tolist() == [
        10**19, 0, 2**63, 2**64 - 1, 9200000000000000000,
    ]  # fmt: skip


# ----------------------------------------------------------------------------------- math

NUMPY_NAMES = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "pow": "power",
}  # fmt: skip
C_NAMES = {
    "erf": "erf", "erfc": "erfc", "gamma": "tgamma", "lgamma": "lgamma",
    "remainder": "remainder", "fma": "fma",
}  # fmt: skip
"""What NumPy has not, or means otherwise, the C library has."""
TESTED_ELSEWHERE = {"min", "max", "clamp", "popcount", "clz", "rsqrt"}
FLOAT_FUNCTIONS = [row for row in INTRINSICS.values() if row.name not in TESTED_ELSEWHERE]


def reference(name: str) -> Callable[..., Any]:
    if name not in C_NAMES:
        return getattr(np, NUMPY_NAMES.get(name, name))
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    function = library[C_NAMES[name]]
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.c_double] * INTRINSICS[name].arity
    return np.vectorize(function, otypes=[np.float64])


def test_a_reciprocal_square_root() -> None:
    numbers = np.array([4.0, 0.25, 0.0, -0.0, -1.0, np.inf, np.nan], np.float32)
    expected = np.array([0.5, 2.0, np.inf, -np.inf, np.nan, 0.0, np.nan], np.float32)
    assert same(math_op("rsqrt", np.float32, numbers), expected)


@by_name("of", [*INTEGERS, *FLOATS], ids=str)
def test_clamping_is_min_of_max(of: ScalarType) -> None:
    samples = float_samples(of) if of.is_float else integer_samples(of)
    x, low = pairs(samples, of.numpy)
    high = np.roll(x, 5)
    triples = zip(x.tolist(), low.tolist(), high.tolist(), strict=True)
    expected = np.array([min(max(a, b), c) for a, b, c in triples], of.numpy)
    assert same(math_op("clamp", of.numpy, x, low, high), expected)


@by_name("of", INTEGERS, ids=str)
def test_bits_are_counted_at_the_width_of_the_type(of: ScalarType) -> None:
    numbers = np.array(integer_samples(of), of.numpy)
    patterns = [f"{int(n) & (2**of.bits - 1):0{of.bits}b}" for n in numbers]
    ones = [text.count("1") for text in patterns]
    zeros = [len(text) - len(text.lstrip("0")) for text in patterns]
    assert math_op("popcount", of.numpy, numbers).tolist() == ones
    assert math_op("clz", of.numpy, numbers).tolist() == zeros


def math_op(name: str, dtype: npt.DTypeLike, *inputs: Array) -> Array:
    def build(b: Builder, values: list[Value]) -> Value:
        given = BOOL if name in INTRINSICS and INTRINSICS[name].tests else scalar_type(dtype)
        result = b.value(arith.Math, tuple(values), name, type=given)
        return b.value(arith.Cast, result, type=scalar_type(dtype))

    return compute(build, dtype, *inputs)


@by_name("of", FLOATS, ids=str)
@by_name("name", [row.name for row in FLOAT_FUNCTIONS])
def test_functions_agree_with_numpy_on_doubles_rounded(name: str, of: ScalarType) -> None:
    """NumPy's own doubles may be off in the last bits, so `f64` gets a few ulps."""
    numbers = np.array(float_samples(of), of.numpy)
    left, right = pairs(float_samples(of), of.numpy)
    inputs = {1: (numbers,), 2: (left, right), 3: (left, right, np.roll(left, 3))}[
        INTRINSICS[name].arity
    ]
    wide = [array.astype(np.float64) for array in inputs]
    exact = expected_of(reference(name), *wide)
    expected = narrowed(exact, of)
    found = math_op(name, of.numpy, *inputs)
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    with np.errstate(all="ignore"):
        off = np.abs(found.astype(np.float64) - expected.astype(np.float64))
        ulp = np.spacing(np.abs(expected)).astype(np.float64)
    finite = np.isfinite(expected)
    assert np.array_equal(found[~finite], expected[~finite], equal_nan=True)
    # Around the zeros of lgamma at 1 and 2 there are no digits to count in.
    step = float(np.nextafter(of.numpy.type(1), of.numpy.type(2)) - 1)
    floor = 16 * step if name == "lgamma" else 0.0
    assert (off[finite] <= np.maximum(4 * ulp[finite], floor)).all()


@by_name("name", ["sqrt", "floor", "ceil", "trunc", "fabs", "abs"])
@by_name("of", FLOATS, ids=str)
def test_exact_functions_are_exact(name: str, of: ScalarType) -> None:
    numbers = np.array([n for n in float_samples(of) if n >= 0 or name != "sqrt"], of.numpy)
    expected = expected_of(getattr(np, name), numbers)
    assert same(math_op(name, of.numpy, numbers), expected)


@by_name("name", ["min", "max"])
@by_name("of", [*INTEGERS, *FLOATS], ids=str)
def test_smaller_and_larger_are_those_of_python(name: str, of: ScalarType) -> None:
    samples = float_samples(of) if of.is_float else integer_samples(of)
    left, right = pairs(samples, of.numpy)
    pick = {"min": min, "max": max}[name]
    expected = np.array(
        [pick(a, b) for a, b in zip(left.tolist(), right.tolist(), strict=True)], of.numpy
    )
    assert same(math_op(name, of.numpy, left, right), expected)


@by_name("of", INTEGERS, ids=str)
def test_magnitudes_of_integers_agree_with_numpy(of: ScalarType) -> None:
    numbers = np.array(integer_samples(of), of.numpy)
    assert same(math_op("abs", of.numpy, numbers), expected_of(np.abs, numbers))


# ------------------------------------------------------------------------------ constants


@by_name(
    ("number", "of"),
    [
        *((n, t) for t in FLOATS for n in (0.1, -0.0, -2.5, math.inf, -math.inf, math.nan)),
        *((n, I32) for n in (0, 7, -7, 2**31 - 1, -(2**31))),
        (-128, I8),
        (2**64 - 1, U64),
        (True, BOOL),
        (False, BOOL),
        (1e39, F32),
    ],
)
def test_constants_are_numbers_of_their_type(number: float, of: ScalarType) -> None:
    out = np.zeros(1, of.numpy)

    def body(b: Builder, _: Value, target: Value) -> None:
        b.run(Store, target, (constant(b, 0),), constant(b, number, of), "[]")

    params: dict[str, Type] = {"out": NDArrayType(of, 1)}
    launch(kernel(params, body), 1, out)
    assert same(out, narrowed(np.array([number]), of))


def test_a_negative_constant_keeps_its_place_in_an_expression() -> None:
    def build(b: Builder, values: list[Value]) -> Value:
        return b.value(arith.Sub, values[0], constant(b, -3), type=I32)

    assert compute(build, np.int32, np.array([4], np.int32)).tolist() == [7]

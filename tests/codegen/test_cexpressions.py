"""Every op on every scalar type: the device against the interpreter, and both against NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.codegen.edge_values import ALL, FLOATS, FORMATS, INTEGERS, edge_values
from tests.codegen.running import (
    INTERPRETER,
    OPENCL,
    Array,
    Build,
    compute,
    elementwise,
    pairs,
    run_both,
    same,
    scalar_type,
)

import trilby as tb
from trilby import KernelContext, NDArray, f32, i32, i64, u64
from trilby.codegen.opencl_c import generate
from trilby.data.dtypes import (
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    SCALARS,
    U8,
    U32,
    U64,
    Number,
    ScalarType,
)
from trilby.model.build import Builder
from trilby.model.intrinsics import INTRINSICS, Intrinsic
from trilby.model.op import Op
from trilby.model.ops import arith
from trilby.model.ops.core import Constant
from trilby.model.value import Value

NUMPY: dict[type[Op], Callable[[Array, Array], Any]] = {
    arith.Add: np.add,
    arith.Sub: np.subtract,
    arith.Mul: np.multiply,
    arith.TrueDiv: np.divide,
    arith.FloorDiv: np.floor_divide,
    arith.Mod: np.remainder,
    arith.BitAnd: np.bitwise_and,
    arith.BitOr: np.bitwise_or,
    arith.BitXor: np.bitwise_xor,
    arith.Lt: np.less,
    arith.Le: np.less_equal,
    arith.Gt: np.greater,
    arith.Ge: np.greater_equal,
    arith.Eq: np.equal,
    arith.Ne: np.not_equal,
}
WRAPPING = (arith.Add, arith.Sub, arith.Mul)
BITS = (arith.BitAnd, arith.BitOr, arith.BitXor)
DIVIDING = (arith.FloorDiv, arith.Mod)


def op(kind: type[Op], result: ScalarType) -> Build:
    return lambda b, values: b.value(kind, *values, type=result)


def function(row: Intrinsic, type_: ScalarType) -> Build:
    result = BOOL if row.tests else type_
    return lambda b, values: b.value(arith.Math, tuple(values[: row.arity]), row.name, type=result)


def constant(b: Builder, number: Number, type_: ScalarType) -> Value:
    return b.value(Constant, number, type=type_)


def differences(left: Array, right: Array, *inputs: Array) -> list[tuple[Any, ...]]:
    """What differs, with the operands, so that a failure tells the whole story."""
    return [
        (*(array[n] for array in inputs), left[n], right[n])
        for n in range(len(left))
        if not same(left[n : n + 1], right[n : n + 1])
    ]


def agree(builds: dict[str, Build], *inputs: Array) -> dict[str, Array]:
    """Both backends, compared bit for bit; gives the device's results."""
    expected = compute(builds, inputs, INTERPRETER)
    found = compute(builds, inputs, OPENCL)
    wrong = {name: differences(expected[name], found[name], *inputs)[:5] for name in builds}
    assert {name: pairs for name, pairs in wrong.items() if pairs} == {}
    return found


def binary_ops(type_: ScalarType) -> list[type[Op]]:
    if type_ is BOOL:
        return [*BITS, *arith.COMPARES]
    if type_.is_float:
        return [*WRAPPING, arith.TrueDiv, *DIVIDING, *arith.COMPARES]
    return [*WRAPPING, *BITS, *arith.COMPARES]


@pytest.mark.parametrize("name", ALL)
def test_operators_agree_on_all_pairs_of_edge_values(name: str) -> None:
    type_ = SCALARS[name]
    left, right = pairs(edge_values(type_))
    kinds = binary_ops(type_)
    results = {k: BOOL if k in arith.COMPARES else type_ for k in kinds}
    found = agree({k.mnemonic: op(k, results[k]) for k in kinds}, left, right)
    with np.errstate(all="ignore"):
        for kind in kinds:
            expected = NUMPY[kind](left, right)
            assert differences(expected, found[kind.mnemonic], left, right)[:5] == []


@pytest.mark.parametrize("name", INTEGERS)
def test_floor_division_and_remainder_of_integers(name: str) -> None:
    type_ = SCALARS[name]
    left, right = pairs(edge_values(type_))
    builds = {k.mnemonic: op(k, type_) for k in DIVIDING}
    not_zero = right != 0
    agree(builds, left[not_zero], right[not_zero])
    # The interpreter refuses to divide by zero; a device gives what NumPy gives.
    found = compute(builds, [left, right], OPENCL)
    with np.errstate(all="ignore"):
        for kind in DIVIDING:
            expected = NUMPY[kind](left, right)
            assert differences(expected, found[kind.mnemonic], left, right)[:5] == []


def test_division_by_zero_is_zero_on_a_device() -> None:
    left = np.array([7, -7, 0, I32.lowest], np.int32)
    builds = {k.mnemonic: op(k, I32) for k in DIVIDING}
    found = compute(builds, [left, np.zeros_like(left)], OPENCL)
    assert found["floordiv"].tolist() == [0, 0, 0, 0]
    assert found["mod"].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("name", ["i8", "i16", "i32", "i64"])
def test_the_lowest_integer_divided_by_minus_one_wraps(name: str) -> None:
    type_ = SCALARS[name]
    left = np.array([type_.lowest, type_.lowest + 1], type_.numpy)
    right = np.array([-1, -1], type_.numpy)
    found = agree({k.mnemonic: op(k, type_) for k in DIVIDING}, left, right)
    assert found["floordiv"].tolist() == [type_.lowest, type_.highest]
    assert found["mod"].tolist() == [0, 0]


@pytest.mark.parametrize("name", INTEGERS)
def test_shift_counts_are_taken_modulo_the_width(name: str) -> None:
    type_ = SCALARS[name]
    counts = [0, 1, 2, type_.bits - 1, type_.bits, type_.bits + 1, 100]
    counts += [-1, -type_.bits] if type_.kind == "int" else [type_.highest]
    values = edge_values(type_)
    left = np.repeat(values, len(counts))
    right = np.tile(np.array(counts, type_.numpy), len(values))
    found = agree({"shl": op(arith.Shl, type_), "shr": op(arith.Shr, type_)}, left, right)
    modulo = right & (type_.bits - 1)
    assert differences(left << modulo, found["shl"], left, right) == []
    assert differences(left >> modulo, found["shr"], left, right) == []


@pytest.mark.parametrize("name", INTEGERS)
def test_whole_powers_wrap(name: str) -> None:
    type_ = SCALARS[name]
    exponents = np.array([0, 1, 2, 3, 7, 8, 31, 63, 64, 100, 127], type_.numpy)
    values = edge_values(type_)
    left, right = np.repeat(values, len(exponents)), np.tile(exponents, len(values))
    found = agree({"pow": op(arith.Pow, type_)}, left, right)
    exact = [int(a) ** int(b) & (1 << type_.bits) - 1 for a, b in zip(left, right, strict=True)]
    wide = np.array(exact, np.uint64).astype(f"u{type_.size}").view(type_.numpy)
    assert differences(wide, found["pow"], left, right)[:5] == []


def test_negative_powers_of_integers_are_cut_on_a_device() -> None:
    left = np.array([0, 1, 1, -1, -1, 2, -3], np.int32)
    right = np.array([-1, -1, -2, -1, -2, -1, -3], np.int32)
    found = compute({"pow": op(arith.Pow, I32)}, [left, right], OPENCL)
    assert found["pow"].tolist() == [0, 1, 1, -1, 1, 0, 0]


@pytest.mark.parametrize("name", FLOATS)
def test_float_arithmetic_agrees_on_random_bits(name: str) -> None:
    """Quotients of all sizes: a step that is rounded otherwise shows in a large one."""
    type_ = SCALARS[name]
    rng = np.random.default_rng(5)
    bits = np.dtype(f"u{type_.size}")
    left, right = (
        np.concatenate(
            [
                rng.integers(0, 1 << type_.bits, 2000, bits, endpoint=False).view(type_.numpy),
                (rng.random(2000) * 10.0 ** rng.integers(-4, 4, 2000)).astype(type_.numpy),
            ]
        )
        for _ in range(2)
    )
    kinds = (*WRAPPING, arith.TrueDiv, *DIVIDING)
    found = agree({k.mnemonic: op(k, type_) for k in kinds}, left, right)
    with np.errstate(all="ignore"):
        for kind in kinds:
            expected = NUMPY[kind](left, right)
            assert differences(expected, found[kind.mnemonic], left, right)[:5] == []


def test_a_product_and_a_sum_are_rounded_one_after_the_other() -> None:
    """No contraction to a fused multiply-add, which would give another last bit."""
    rng = np.random.default_rng(6)
    a, b, c = (rng.standard_normal(1000).astype(np.float32) for _ in range(3))

    def build(b_: Builder, v: list[Value]) -> Value:
        product = b_.value(arith.Mul, v[0], v[1], type=F32)
        return b_.value(arith.Add, product, v[2], type=F32)

    found = agree({"muladd": build}, a, b, c)
    assert same(found["muladd"], a * b + c)


def test_halves_are_rounded_after_each_step() -> None:
    rng = np.random.default_rng(7)
    a, b, c = (rng.standard_normal(2000).astype(np.float16) for _ in range(3))

    def build(b_: Builder, v: list[Value]) -> Value:
        product = b_.value(arith.Mul, v[0], v[1], type=F16)
        total = b_.value(arith.Add, product, v[2], type=F16)
        return b_.value(arith.TrueDiv, total, v[1], type=F16)

    found = agree({"steps": build}, a, b, c)
    assert same(found["steps"], (a * b + c) / b)


# -- one operand --------------------------------------------------------------------------


def unary_builds(type_: ScalarType) -> dict[str, Build]:
    if type_ is BOOL:
        return {"not": op(arith.Not, BOOL)}
    builds = {"neg": op(arith.Neg, type_)}
    if type_.is_integer:
        builds["invert"] = op(arith.Invert, type_)
    return builds


@pytest.mark.parametrize("name", ALL)
def test_signs_and_bits_of_one_operand(name: str) -> None:
    type_ = SCALARS[name]
    values = edge_values(type_)
    found = agree(unary_builds(type_), values)
    if type_ is BOOL:
        assert found["not"].tolist() == [True, False]
        return
    with np.errstate(all="ignore"):
        assert differences(-values, found["neg"], values) == []
    if type_.is_integer:
        assert differences(~values, found["invert"], values) == []


def cast_values(type_: ScalarType) -> Array:
    """Edge values, and those at the ends of the other types."""
    if type_.is_float:
        ends = [
            float(end) + delta
            for t in ALL.values()
            if t.is_integer
            for end in (t.lowest, t.highest)
            for delta in (-1.0, -0.9, 0.0, 0.9, 1.0)
        ]
        halves = [1 + 2**-11 + 2**-30, 65519.99999999, 65520.0, 2**-25 * (1 + 1e-12)]
        with np.errstate(over="ignore"):
            return np.concatenate([edge_values(type_), np.array([*ends, *halves], type_.numpy)])
    if type_.bits < 64 or type_ is BOOL:
        return edge_values(type_)
    rounded_twice = [2**54 + 2**30 + 1, 2**60 + 2**36 + 1, 2**62 + 2**38 + 2**8, 2**53 + 1]
    return np.concatenate([edge_values(type_), np.array(rounded_twice, type_.numpy)])


def expected_cast(values: Array, target: ScalarType) -> Array:
    if not scalar_type(values.dtype).is_float or not target.is_integer:
        with np.errstate(all="ignore"):
            return values.astype(target.numpy)
    low, high = float(target.lowest), float(target.highest)
    kept = np.where(np.isnan(values), 0.0, np.clip(values.astype(np.float64), low, high))
    return np.array([min(int(v), target.highest) for v in kept], target.numpy)


@pytest.mark.parametrize("name", ALL)
def test_casts_to_all_types(name: str) -> None:
    values = cast_values(SCALARS[name])
    found = agree({to: op(arith.Cast, type_) for to, type_ in ALL.items()}, values)
    for to, type_ in ALL.items():
        assert differences(expected_cast(values, type_), found[to], values)[:5] == []


# -- functions ----------------------------------------------------------------------------


def ordered(values: Array) -> list[int]:
    """Floats as integers that count in units of the last place."""
    size = values.dtype.itemsize
    limit = 1 << (8 * size - 1)
    bits = values.view(f"u{size}").tolist()
    return [n if n < limit else limit - n for n in bits]


def function_inputs(type_: ScalarType, arity: int) -> list[Array]:
    edges = edge_values(type_)
    rng = np.random.default_rng(8)
    if arity == 1:
        grids = [edges]
    else:
        few = edges if arity == 2 else edges[:: max(1, len(edges) // 9)]
        grids = [axis.ravel() for axis in np.meshgrid(*[few] * arity, indexing="ij")]
    if not type_.is_float:
        return grids
    random = [(rng.random(500) * 8 - 4).astype(type_.numpy) for _ in grids]
    return [np.concatenate([grid, more]) for grid, more in zip(grids, random, strict=True)]


FUNCTIONS = [
    (row.name, type_.name)
    for row in INTRINSICS.values()
    for type_ in ALL.values()
    if (type_.is_float and row.takes != "integer")
    or (type_.is_integer and row.takes in {"integer", "number"})
]
BY_TYPE = {
    (type_, arity): [n for n, t in FUNCTIONS if t == type_ and INTRINSICS[n].arity == arity]
    for type_ in ALL
    for arity in (1, 2, 3)
}


@pytest.mark.parametrize(("name", "arity"), [key for key, names in BY_TYPE.items() if names])
def test_functions_stay_within_their_ulps(name: str, arity: int) -> None:
    type_ = SCALARS[name]
    inputs = function_inputs(type_, arity)
    builds = {n: function(INTRINSICS[n], type_) for n in BY_TYPE[name, arity]}
    expected = compute(builds, inputs, INTERPRETER)
    found = compute(builds, inputs, OPENCL)
    wrong = {n: strays(n, expected[n], found[n], inputs)[:4] for n in builds}
    assert {n: cases for n, cases in wrong.items() if cases} == {}


def strays(name: str, expected: Array, found: Array, inputs: list[Array]) -> list[tuple[Any, ...]]:
    differ = differences(expected, found, *inputs)
    if not scalar_type(expected.dtype).is_float:
        return differ
    return [case for case in differ if not is_near(name, case[-2], case[-1])]


def is_near(name: str, expected: Any, found: Any) -> bool:
    if not (np.isfinite(expected) and np.isfinite(found)):
        return False
    if name == "lgamma" and abs(found - expected) <= 16 * FORMATS[scalar_type(expected.dtype)].eps:
        return True  # around its zeros at 1 and 2 there are no digits to count in
    left, right = ordered(np.array([expected, found]))
    return abs(left - right) <= INTRINSICS[name].ulps


def test_min_and_max_are_pythons_also_with_nan() -> None:
    """`min(a, b)` is `a` unless `b` is less: so NaN stays where it stands first."""
    nan = np.nan
    left = np.array([1, 2, nan, 1, 0.0, -0.0], np.float32)
    right = np.array([2, 1, 1, nan, -0.0, 0.0], np.float32)
    rows = {n: function(INTRINSICS[n], F32) for n in ("min", "max")}
    found = agree(rows, left, right)
    pairs_ = list(zip(left.tolist(), right.tolist(), strict=True))
    for name, python in (("min", min), ("max", max)):
        expected = np.array([python(a, b) for a, b in pairs_], np.float32)
        assert same(expected, found[name])


def test_abs_of_the_lowest_integer_is_itself() -> None:
    for type_ in (I8, I16, I32, I64):
        values = np.array([type_.lowest, -1, 0, type_.highest], type_.numpy)
        found = agree({"abs": function(INTRINSICS["abs"], type_)}, values)
        assert found["abs"].tolist() == [type_.lowest, 1, 0, type_.highest]


# -- operands of two types ------------------------------------------------------------------


@tb.kernel
def mixed_comparisons(
    kc: KernelContext,
    signed: NDArray[i64],
    unsigned: NDArray[u64],
    small: NDArray[i32],
    real: NDArray[f32],
    out: NDArray[bool],
) -> None:
    x = kc.x
    out[x, 0] = signed[x] < unsigned[x]
    out[x, 1] = signed[x] == unsigned[x]
    out[x, 2] = small[x] < real[x]
    out[x, 3] = small[x] == real[x]
    out[x, 4] = small[x] > unsigned[x]
    out[x, 5] = signed[x] >= real[x]


def test_operands_of_two_types_are_compared_as_in_numpy_2() -> None:
    """Integers of any sign exactly, as in NumPy 2; an integer and a float as their common type."""
    pairs_ = [(-1, 2**64 - 1), (2**53 + 1, 2**53), (5, 5), (-(2**63), 0), (2**63 - 1, 2**63)]
    signed = np.array([a for a, _ in pairs_], np.int64)
    unsigned = np.array([b for _, b in pairs_], np.uint64)
    small = np.array([2**24 + 1, -5, 0, 2**31 - 1, 7], np.int32)
    real = np.array([2**24, -5, -0.0, 2**31, np.nan], np.float32)
    outcome = run_both(
        mixed_comparisons, 5, signed, unsigned, small, real, np.zeros((5, 6), np.bool_)
    )
    wide, real64 = small.astype(np.float64), real.astype(np.float64)
    columns = [
        signed < unsigned,
        signed == unsigned,
        wide < real64,
        wide == real64,
        small > unsigned,
        signed.astype(np.float64) >= real64,
    ]
    expected = np.stack(columns, axis=1)
    for side in (outcome.interpreter, outcome.opencl):
        assert np.array_equal(side[4], expected)


@tb.kernel
def bool_arithmetic(
    kc: KernelContext, a: NDArray[bool], b: NDArray[bool], out: NDArray[i32]
) -> None:
    p = a[kc.x]
    q = b[kc.x]
    out[kc.x, 0] = p + q
    out[kc.x, 1] = p - q
    out[kc.x, 2] = p * 3 + (not q)
    out[kc.x, 3] = (p & q) + (p | q) * 10 + (p ^ q) * 100
    out[kc.x, 4] = -p + +q
    out[kc.x, 5] = i32(p < q) + i32(p >= q) * 10
    out[kc.x, 6] = max(p, q) * 10 + min(p, q)


def test_bools_count_as_zero_and_one() -> None:
    a, b = pairs(np.array([False, True]))
    outcome = run_both(bool_arithmetic, 4, a, b, np.zeros((4, 7), np.int32))
    expected = [
        [
            p + q,
            p - q,
            p * 3 + (not q),
            (p & q) + (p | q) * 10 + (p ^ q) * 100,
            -int(p) + int(q),
            int(p < q) + int(p >= q) * 10,
            max(p, q) * 10 + min(p, q),
        ]
        for p, q in zip(a.tolist(), b.tolist(), strict=True)
    ]
    for side in (outcome.interpreter, outcome.opencl):
        assert side[2].tolist() == expected


# -- what spans change in the text ---------------------------------------------------------


@pytest.mark.parametrize("name", ["i8", "i16", "i32", "i64", "u8", "u32"])
@pytest.mark.parametrize("number", [1, 3, 8, 64, 100])
def test_constants_on_the_right_agree_with_numpy(name: str, number: int) -> None:
    """Constants have known bounds, so other text is generated for them."""
    type_ = SCALARS[name]
    values = edge_values(type_)
    kinds = (*WRAPPING, *DIVIDING, arith.Shl, arith.Shr, arith.BitAnd)
    count = number % type_.bits

    def build(kind: type[Op]) -> Build:
        literal = count if kind in {arith.Shl, arith.Shr} else number
        return lambda b, v: b.value(kind, v[0], constant(b, literal, type_), type=type_)

    found = agree({k.mnemonic: build(k) for k in kinds}, values)
    right = np.full_like(values, number)
    with np.errstate(all="ignore"):
        for kind in (*WRAPPING, *DIVIDING, arith.BitAnd):
            expected = NUMPY[kind](values, right)
            assert differences(expected, found[kind.mnemonic], values) == []
    assert differences(values << count, found["shl"], values) == []
    assert differences(values >> count, found["shr"], values) == []


def text_of_build(build: Build, *inputs: Array) -> str:
    return generate(elementwise({"it": build}, inputs), lines=False).text


def statement(build: Build, *inputs: Array) -> str:
    """The right side of the one assignment that a build makes."""
    lines = text_of_build(build, *inputs).splitlines()
    return next(line for line in lines if "out_it[" in line).partition(" = ")[2].rstrip(";")


ONE_I32 = np.zeros(1, np.int32)


def test_a_sum_that_may_wrap_is_computed_without_a_sign() -> None:
    text = statement(op(arith.Add, I32), ONE_I32, ONE_I32)
    assert text == "(int)((uint)in0[kc->x] + in1[kc->x])"


def test_a_sum_that_cannot_wrap_is_plain() -> None:
    def masked(b: Builder, v: list[Value]) -> Value:
        low = b.value(arith.BitAnd, v[0], constant(b, 255, I32), type=I32)
        return b.value(arith.Add, low, constant(b, 1, I32), type=I32)

    assert statement(masked, ONE_I32) == "(in0[kc->x] & 255) + 1"


def test_division_of_what_is_not_negative_is_cs_own() -> None:
    def halved(b: Builder, v: list[Value]) -> Value:
        low = b.value(arith.Mod, v[0], constant(b, 10, I32), type=I32)
        return b.value(arith.FloorDiv, low, constant(b, 2, I32), type=I32)

    assert statement(halved, ONE_I32) == "mod_size_i32(in0[kc->x], 10) / 2"


def test_division_by_a_power_of_two_is_a_shift_and_its_remainder_a_mask() -> None:
    def by(kind: type[Op], number: int) -> str:
        return statement(
            lambda b, v: b.value(kind, v[0], constant(b, number, I32), type=I32), ONE_I32
        )

    assert by(arith.FloorDiv, 16) == "in0[kc->x] >> 4"
    assert by(arith.Mod, 16) == "in0[kc->x] & 15"
    assert by(arith.FloorDiv, 1 << 30) == "in0[kc->x] >> 30"
    assert by(arith.FloorDiv, 12) == "floordiv_size_i32(in0[kc->x], 12)"


def test_unsigned_numbers_of_32_bits_wrap_by_themselves() -> None:
    one = np.zeros(1, np.uint32)
    assert statement(op(arith.Mul, U32), one, one) == "in0[kc->x] * in1[kc->x]"


def test_literals_have_the_type_of_their_value() -> None:
    shown = [
        (I32, 5, "5"),
        (I32, -5, "-5"),
        (I32, I32.lowest, "(-2147483647 - 1)"),
        (I64, 5, "5L"),
        (I64, I64.lowest, "(-9223372036854775807L - 1)"),
        (U8, 200, "200u"),
        (U32, U32.highest, "4294967295u"),
        (U64, U64.highest, "18446744073709551615UL"),
        (F32, 0.1, "0.1f"),
        (F32, 1e20, "1e+20f"),
        (F32, float("inf"), "INFINITY"),
        (F64, 0.1, "0.1"),
        (F64, -1e300, "-1e+300"),
        (BOOL, True, "true"),
    ]
    for type_, number, text in shown:
        one = np.zeros(1, type_.numpy)
        assert statement(lambda b, _, n=number, t=type_: constant(b, n, t), one) == text


@pytest.mark.parametrize("name", ALL)
def test_literals_keep_their_value(name: str) -> None:
    """Every edge value as a constant of the text, bit for bit."""
    type_ = SCALARS[name]
    values = edge_values(type_)
    builds: dict[str, Build] = {
        str(n): lambda b, _, v=value: constant(b, v, type_)
        for n, value in enumerate(values.tolist())
    }
    found = compute(builds, [np.zeros(1, np.int32)], OPENCL)
    for n, value in enumerate(values):
        assert same(found[str(n)], np.array([value], type_.numpy)), value

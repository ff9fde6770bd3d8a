"""Arithmetic at the declared width, promotion, literals and casts, against NumPy."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from tests.codegen.edge_values import INTEGERS, edge_values
from tests.conformance.running import Numbers, assert_close, filled, launch
from tests.reflect.kernel_cases import kernel

import trilby as tb
from trilby import Accelerator, KernelContext, NDArray, f16, f32, f64, i8, i32, i64, u8, u16, u32
from trilby.data.dtypes import SCALARS

FLOATS = ("f16", "f32", "f64")  # `bf16` has no rules in NumPy
OPERATORS = {
    "a + b": np.add,
    "a - b": np.subtract,
    "a * b": np.multiply,
    "a // b": np.floor_divide,
    "a % b": np.remainder,
    "a & b": np.bitwise_and,
    "a | b": np.bitwise_or,
    "a ^ b": np.bitwise_xor,
}
OF_ONE = {"-a": np.negative, "~a": np.invert, "abs(a)": np.abs}
FLOAT_OPERATORS = {
    "a + b": np.add,
    "a - b": np.subtract,
    "a * b": np.multiply,
    "a / b": np.true_divide,
    "a // b": np.floor_divide,
    "a % b": np.remainder,
}


def arithmetic_kernel(names: Iterable[str], expressions: Iterable[str]) -> str:
    """One kernel with arrays `a_i8`, `b_i8`, `out_i8`, …, and in `out` a row per expression."""
    params = ", ".join(f"{p}_{n}: NDArray[{n}]" for n in names for p in ("out", "a", "b"))
    lines = ["@tb.kernel", f"def k(kc: KernelContext, {params}) -> None:"]
    for name in names:
        lines.append(f"    if kc.x < a_{name}.shape[0]:")
        for row, text in enumerate(expressions):
            spelt = re.sub(r"\b[ab]\b", rf"\g<0>_{name}[kc.x]", text)
            lines.append(f"        out_{name}[{row}, kc.x] = {spelt}")
    return "\n".join(lines)


def check_arithmetic(
    accelerator: Accelerator,
    operators: Mapping[str, Callable[..., Numbers]],
    of_one: Mapping[str, Callable[..., Numbers]],
    values: Mapping[str, Numbers],
) -> None:
    """Compare every expression on all pairs of values, type by type, with NumPy."""
    made = kernel(arithmetic_kernel(values, [*operators, *of_one]))
    given: dict[str, list[NDArray[Any]]] = {}
    for name, numbers in values.items():
        left, right = (side.ravel() for side in np.meshgrid(numbers, numbers[numbers != 0]))
        out = np.zeros((len(operators) + len(of_one), left.size), left.dtype)
        given[name] = [accelerator.array(array) for array in (out, left, right)]
    longest = max(left.size for _, left, _ in given.values())
    launch(accelerator, longest, made, *(array for three in given.values() for array in three))
    for name, arrays in given.items():
        found, left, right = map(np.asarray, arrays)
        with np.errstate(all="ignore"):
            expected = [function(left, right) for function in operators.values()]
            expected += [function(left) for function in of_one.values()]
        np.testing.assert_array_equal(found, expected, err_msg=name)


def test_integers_wrap_and_round_as_in_numpy(accelerator: Accelerator) -> None:
    values = {name: edge_values(SCALARS[name]) for name in INTEGERS}
    check_arithmetic(accelerator, OPERATORS, OF_ONE, values)


def test_floats_stay_in_their_width(accelerator: Accelerator) -> None:
    numbers = [0.1, -0.7, 1.0, 3.0, -3.0, 12.5, 1000.0]
    values = {name: np.array(numbers, SCALARS[name].numpy) for name in FLOATS}
    check_arithmetic(accelerator, FLOAT_OPERATORS, {"-a": np.negative}, values)


@tb.kernel
def powers_and_shifts(
    kc: KernelContext, out: NDArray[i64], n: NDArray[i32], small: NDArray[u8]
) -> None:
    x, s = n[kc.x], small[kc.x]
    out[0, kc.x] = x**3
    out[1, kc.x] = s**2
    out[2, kc.x] = x << 5
    out[3, kc.x] = x >> 3
    out[4, kc.x] = s << 1
    out[5, kc.x] = s >> 1
    out[6, kc.x] = i64(x) << 33
    out[7, kc.x] = 2 ** (kc.x % 31)
    out[8, kc.x] = 1 << (kc.x % 31)
    out[9, kc.x] = u32(x) >> 28
    out[10, kc.x] = x**kc.x


def test_powers_and_shifts(accelerator: Accelerator) -> None:
    n = np.array([0, 1, -1, 7, -7, 1291, 2**31 - 1, -(2**31)], np.int32)
    small = np.array([0, 1, 15, 16, 127, 128, 200, 255], np.uint8)
    found = filled(accelerator, 8, powers_and_shifts, np.zeros((11, 8), np.int64), n, small)
    x = np.arange(8, dtype=np.int32)
    with np.errstate(all="ignore"):
        expected = [
            n**3,
            small**2,
            n << 5,
            n >> 3,
            small << 1,
            small >> 1,
            n.astype(np.int64) << 33,
            np.int32(2) ** x,
            np.int32(1) << x,
            n.astype(np.uint32) >> 28,
            n**x,
        ]
    for row, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert one.tolist() == other.tolist(), row


def shifted(function: Callable[..., Numbers], by: int | None = None) -> Callable[..., Numbers]:
    """A shift whose count is taken modulo the width."""

    def shift(left: Numbers, right: Numbers | None = None) -> Numbers:
        last = left.dtype.type(left.dtype.itemsize * 8 - 1)
        count = left.dtype.type(by) if by is not None else right
        return function(left, count & last)

    return shift


SHIFTS = {"a << b": shifted(np.left_shift), "a >> b": shifted(np.right_shift)}
BY_CONSTANTS = {
    f"a {sign} {count}": shifted(function, count)
    for sign, function in (("<<", np.left_shift), (">>", np.right_shift))
    for count in (7, 8, 9, 15, 16, 31, 32, 33, 63, 64, 65, 127)
}
BY_NEGATIVE_ONES = {
    f"a {sign} {count}": shifted(function, count)
    for sign, function in (("<<", np.left_shift), (">>", np.right_shift))
    for count in (-1, -8, -9, -33, -65, -128)
}


def test_shifts_by_any_count(accelerator: Accelerator) -> None:
    """At least the width, and negative ones."""
    values = {name: edge_values(SCALARS[name]) for name in INTEGERS}
    check_arithmetic(accelerator, SHIFTS, BY_CONSTANTS, values)
    signed = {name: values[name] for name in INTEGERS if SCALARS[name].kind == "int"}
    check_arithmetic(accelerator, SHIFTS, BY_NEGATIVE_ONES, signed)


@tb.kernel
def shifted_indices(kc: KernelContext, out: NDArray[i32], a: NDArray[i32], n: i32) -> None:
    """Counts beyond the width where the generator knows how ids step from lane to lane."""
    out[kc.x] = a[(i8(kc.x) << 10) & 31] + (kc.x << 33) + (kc.x << n) + (kc.x >> -31)
    out[kc.x] += i32(i8(kc.x) << 15) + i32(u8(kc.x) << 9)


def test_shifts_of_ids(accelerator: Accelerator) -> None:
    x = np.arange(100, dtype=np.int32)
    a = np.arange(32, dtype=np.int32) * 1000
    found = filled(accelerator, 100, shifted_indices, np.zeros(100, np.int32), a, 35)
    small, byte = x.astype(np.int8), x.astype(np.uint8)
    expected = a[(small << np.int8(2)) & 31] + (x << 1) + (x << 3) + (x >> 1)
    expected += (small << np.int8(7)).astype(np.int32) + (byte << np.uint8(1)).astype(np.int32)
    assert found.tolist() == expected.tolist()


NUMERIC = (*INTEGERS, *FLOATS)
PAIRS = list(combinations_with_replacement(NUMERIC, 2))


def result_name(left: str, right: str) -> str:
    dtype = np.result_type(SCALARS[left].numpy, SCALARS[right].numpy)
    return next(name for name in NUMERIC if SCALARS[name].numpy == dtype)


def promotion_kernel() -> str:
    """All pairs of types; a sum that wraps, or rounds, shows the width it was made in."""
    params = ", ".join(f"in_{n}: NDArray[{n}], out_{n}: NDArray[{n}]" for n in NUMERIC)
    lines = ["@tb.kernel", f"def k(kc: KernelContext, {params}) -> None:"]
    for number, (left, right) in enumerate(PAIRS):
        result = result_name(left, right)
        change = "- in_{0}[kc.x]" if result in FLOATS else "// 3"
        text = f"(in_{left}[kc.x] + in_{right}[1 - kc.x]) {change.format(left)}"
        lines.append(f"    out_{result}[{number}, kc.x] = {text}")
    return "\n".join(lines)


def promotion_values(name: str) -> Numbers:
    type_ = SCALARS[name]
    if type_.is_float:
        return np.array([0.1, 1.7], type_.numpy)
    return np.array([type_.highest - 2, type_.lowest // 3 + 5], type_.numpy)


def test_types_meet_as_in_numpy(accelerator: Accelerator) -> None:
    data = {name: promotion_values(name) for name in NUMERIC}
    outs = {
        name: accelerator.array(np.zeros((len(PAIRS), 2), SCALARS[name].numpy)) for name in NUMERIC
    }
    given = [g for name in NUMERIC for g in (accelerator.array(data[name]), outs[name])]
    launch(accelerator, 2, kernel(promotion_kernel()), *given)
    for number, (left, right) in enumerate(PAIRS):
        with np.errstate(all="ignore"):
            total = data[left] + data[right][::-1]
            name = result_name(left, right)
            expected = total - data[left] if name in FLOATS else total // 3
        assert expected.dtype == SCALARS[name].numpy
        found = np.asarray(outs[name])[number]
        np.testing.assert_array_equal(found, expected, err_msg=f"{left} + {right}")


@tb.kernel
def literals(
    kc: KernelContext, out: NDArray[f64], a: u8, b: i8, c: i32, d: f32, e: f16, g: i64
) -> None:
    out[0] = a + 10  # a literal takes the other's type: u8, which wraps
    out[1] = b - 100
    out[2] = c + 2147483647
    out[3] = d * 0.1
    out[4] = e * 0.1
    out[5] = c / 7
    out[6] = d / 7
    out[7] = g * 3
    out[8] = a / b
    out[9] = a * True
    out[10] = 7 // 2 + 7 / 2 + -7 // 2 + -7 % 3
    out[11] = d + 1
    out[12] = c * 0.5
    out[13] = 1 / 3
    out[14] = 2**0.5 * d
    out[15] = d // 0.3


def test_literals_take_the_type_of_the_other_operand(accelerator: Accelerator) -> None:
    found = filled(accelerator, 1, literals, np.zeros(16), 250, -100, 5, 1.1, 1.1, 2**62)
    a, b, c = np.uint8(250), np.int8(-100), np.int32(5)
    d, e, g = np.float32(1.1), np.float16(1.1), np.int64(2**62)
    with np.errstate(all="ignore"):
        expected = [
            a + 10,
            b - 100,
            c + 2147483647,
            d * 0.1,
            e * 0.1,
            c / 7,
            d / 7,
            g * 3,
            a / b,
            a,
            7 // 2 + 7 / 2 + -7 // 2 + -7 % 3,
            d + 1,
            c * 0.5,
            1 / 3,
            2**0.5 * d,
            d // 0.3,
        ]
    assert found.tolist() == [float(number) for number in expected]


@tb.kernel
def casts(kc: KernelContext, out: NDArray[f64], x: NDArray[f64], n: NDArray[i64]) -> None:
    v, w = x[kc.x], n[kc.x]
    out[0, kc.x] = i8(v)
    out[1, kc.x] = u8(v)
    out[2, kc.x] = i32(v)
    out[3, kc.x] = u16(w)
    out[4, kc.x] = i8(w)
    out[5, kc.x] = f16(v)
    out[6, kc.x] = f32(v)
    out[7, kc.x] = bool(v)
    out[8, kc.x] = i32(v > 1) + f32(v > 1)
    out[9, kc.x] = f32(w)


def test_calling_a_type_converts(accelerator: Accelerator) -> None:
    x = np.array([0.0, -0.9, 1.9, -127.5, 300.0, -1e300, np.inf, np.nan])
    n = np.array([0, -1, 255, 256, 65535, -65537, 2**40 + 3, 2**24 + 1])
    found = filled(accelerator, 8, casts, np.zeros((10, 8)), x, n)
    assert found[0].tolist() == [0, 0, 1, -127, 127, -128, 127, 0]
    assert found[1].tolist() == [0, 0, 1, 0, 255, 0, 255, 0]
    assert found[2].tolist() == [0, 0, 1, -127, 300, -(2**31), 2**31 - 1, 0]
    assert found[3].tolist() == n.astype(np.uint16).tolist()
    assert found[4].tolist() == n.astype(np.int8).tolist()
    with np.errstate(over="ignore"):
        assert_close(found[5], x.astype(np.float16), 0)
        assert_close(found[6], x.astype(np.float32), 0)
    assert found[7].tolist() == [0, 1, 1, 1, 1, 1, 1, 1]  # NaN is not zero
    assert found[8].tolist() == [0, 0, 2, 0, 2, 0, 2, 0]
    assert found[9].tolist() == n.astype(np.float32).tolist()


@tb.kernel
def comparisons(kc: KernelContext, out: NDArray[i32], a: i32, b: u32, g: i64, x: f32) -> None:
    out[0] = i32(a < b) + 2 * i32(a == b) + 4 * i32(b > a)
    out[1] = i32(a < x) + 2 * i32(g > b)
    out[2] = i32(x == 0.1) + 2 * i32(f64(x) == 0.1)
    nan = x * math.nan
    out[3] = i32(nan == nan * 1.0) + 2 * i32(nan != nan * 1.0) + 4 * i32(math.inf > x)
    out[4] = i32(True) + i32(a > 0 or b > 0) * 2 + i32(not a) * 4


def test_comparisons_are_exact(accelerator: Accelerator) -> None:
    found = filled(accelerator, 1, comparisons, np.zeros(5, np.int32), -1, 2**32 - 1, 2**40, 0.1)
    assert found.tolist() == [5, 3, 1, 6, 3]

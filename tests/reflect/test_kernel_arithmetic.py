"""Arithmetic of kernels against NumPy and Python, for every operator and all pairs of types."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.reflect.kernel_cases import body, indented, kernel, run, said

from trilby.data.dtypes import BF16, SCALARS, ScalarType
from trilby.errors import KernelTypeError

Array = npt.NDArray[Any]
Operator = Callable[[Any, Any], Any]
python: Any = operator
TYPES = [t for t in SCALARS.values() if t is not BF16]  # NumPy has no rules for that one
ARITHMETIC: dict[str, Operator] = {
    "+": python.add,
    "-": python.sub,
    "*": python.mul,
    "/": python.truediv,
    "//": python.floordiv,
    "%": python.mod,
    "**": python.pow,
}
BITS: dict[str, Operator] = {
    "<<": python.lshift,
    ">>": python.rshift,
    "&": python.and_,
    "|": python.or_,
    "^": python.xor,
}
COMPARE: dict[str, Operator] = {
    "<": python.lt,
    "<=": python.le,
    ">": python.gt,
    ">=": python.ge,
    "==": python.eq,
    "!=": python.ne,
}

SYMBOLS = [*ARITHMETIC, *BITS, *COMPARE]


def name_of(type_: ScalarType) -> str:
    return type_.name


def result_type(left: ScalarType, symbol: str, right: ScalarType) -> "np.dtype[Any] | None":
    """NumPy's, except that bools count as Python has them: two of them make an `i32`."""
    common = np.result_type(left.numpy, right.numpy)
    if symbol in COMPARE:
        return np.dtype(bool)
    if symbol == "/":
        return common if common.kind == "f" else np.dtype(np.float64)
    if symbol in BITS and common.kind == "f":
        return None
    if common == np.bool_ and symbol not in "&|^":
        return np.dtype(np.int32)
    return common


def samples(type_: ScalarType, symbol: str, *, right: bool) -> Array:
    """Numbers with which the operator has a meaning, the ends of integer types among them."""
    if type_.kind == "bool":
        return np.array([True] * 6 if right else [False, True] * 3)
    if symbol in {"<<", ">>", "**"} and right:
        return np.array([0, 1, 2, 3, 5, 7], type_.numpy)
    if type_.is_float:
        return np.array([-7.5, -1.0, 0.25, 1.0, 3.0, 100.5], type_.numpy)
    low, high = type_.lowest, type_.highest
    ends = [low or 1, high, 1, 7, high // 3 or 1, low // 2 or 2]
    return np.array(ends[::-1] if right else ends, type_.numpy)


def expected(left: Array, symbol: str, right: Array, type_: "np.dtype[Any]") -> Array:
    if symbol in COMPARE:
        return COMPARE[symbol](left, right)
    common = type_ if type_.kind != "b" else np.result_type(left, right)
    with np.errstate(all="ignore"):
        return {**ARITHMETIC, **BITS}[symbol](left.astype(common), right.astype(common))


def all_results(left: ScalarType, symbol: str) -> dict[ScalarType, Array]:
    """`left symbol right` for every right type, computed by one kernel."""
    rights = [t for t in TYPES if result_type(left, symbol, t) is not None]
    outs = {t: result_type(left, symbol, t) for t in rights}
    params = [f"x: NDArray[{left}]"]
    params += [f"y_{t}: NDArray[{t}], z_{t}: NDArray[{scalar(outs[t])}]" for t in rights]
    lines = [f"z_{t}[kc.x] = x[kc.x] {symbol} y_{t}[kc.x]" for t in rights]
    head = f"@tb.kernel\ndef k(kc: KernelContext, {', '.join(params)}):\n"
    made = kernel(head + indented("\n".join(lines)))
    results = {t: np.zeros(6, outs[t]) for t in rights}
    pairs = [(samples(t, symbol, right=True), results[t]) for t in rights]
    run(made, 6, samples(left, symbol, right=False), *(array for pair in pairs for array in pair))
    return results


def scalar(dtype: "np.dtype[Any] | None") -> str:
    return next(t.name for t in TYPES if t.numpy == dtype)


@pytest.mark.parametrize(
    ("left", "symbol"),
    [(t, s) for t in TYPES for s in SYMBOLS if not (t.is_float and s in BITS)],
    ids=str,
)
def test_all_pairs_of_types_give_what_numpy_gives(left: ScalarType, symbol: str) -> None:
    results = all_results(left, symbol)
    a = samples(left, symbol, right=False)
    for right, found in results.items():
        wanted = expected(a, symbol, samples(right, symbol, right=True), found.dtype)
        assert found.dtype == wanted.dtype
        if found.dtype.kind == "f" and symbol == "**":
            np.testing.assert_allclose(found, wanted, rtol=2 * np.finfo(found.dtype).eps)
        else:
            np.testing.assert_array_equal(found, wanted, f"{left} {symbol} {right}")


# The stores above would hide a result of a smaller type: the model tells.


@pytest.mark.parametrize(
    ("left", "symbol"),
    [(t, s) for t in TYPES for s in SYMBOLS if not (t.is_float and s in BITS)],
    ids=str,
)
def test_all_pairs_of_types_promote_as_in_numpy(left: ScalarType, symbol: str) -> None:
    rights = [t for t in TYPES if result_type(left, symbol, t) is not None]
    params = ", ".join(["x: " + left.name, *(f"y_{t}: {t}" for t in rights)])
    text = body("\n".join(f"r_{t} = x {symbol} y_{t}" for t in rights), params)
    found = [line.partition("Var<")[2] for line in text.splitlines() if "Var<" in line]
    wanted = [f"{scalar(result_type(left, symbol, t))}> = var %" for t in rights]
    assert [line[: len(want)] for line, want in zip(found, wanted, strict=True)] == wanted


@pytest.mark.parametrize(
    ("left", "symbol", "right", "problem"),
    [
        ("f32", "&", "i32", "`f32` is a float, which has no bits to work on"),
        ("i32", "<<", "f64", "`f64` is a float, which has no bits to work on"),
        ("u64", "|", "i8", "`u64` and `i8` have no integer type in common"),
        ("i64", ">>", "u64", "`i64` and `u64` have no integer type in common"),
    ],
)
def test_bits_need_integers(left: str, symbol: str, right: str, problem: str) -> None:
    source = f"@tb.kernel\ndef k(kc: KernelContext, x: {left}, y: {right}):\n    r = x {symbol} y\n"
    assert said(KernelTypeError, source).startswith(
        f"app.py:3: {problem}\n  3 | r = x {symbol} y\n    |     ^^^^^"
    )


@pytest.mark.parametrize("type_", [t for t in TYPES if t.is_integer], ids=name_of)
def test_unary_operators_wrap(type_: ScalarType) -> None:
    numbers = np.array([type_.lowest, type_.highest, 0, 1, 5], type_.numpy)
    results = np.zeros((3, 5), type_.numpy)
    source = f"""
        @tb.kernel
        def k(kc: KernelContext, a: NDArray[{type_}], r: NDArray[{type_}]):
            r[0, kc.x] = -a[kc.x]
            r[1, kc.x] = +a[kc.x]
            r[2, kc.x] = ~a[kc.x]
    """
    run(kernel(source), 5, numbers, results)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(results, [-numbers, +numbers, ~numbers])


def test_bools_count_as_python_has_them() -> None:
    found = np.zeros(8, np.int32)
    source = """
        @tb.kernel
        def k(kc: KernelContext, t: bool, f: bool, r: NDArray[i32]):
            r[0] = t + t
            r[1] = -t
            r[2] = ~t
            r[3] = t - f
            r[4] = t & f
            r[5] = t ^ t == f
            r[6] = t < f
            r[7] = (t and not f) * 7
    """
    t, f = True, False
    run(kernel(source), 1, t, f, found)
    wanted = [t + t, -t, -2, t - f, t & f, t ^ t == f, t < f, (t and not f) * 7]
    assert found.tolist() == [int(number) for number in wanted]


def test_u64_is_compared_exactly_with_signed_numbers() -> None:
    """Beyond 2**53 neighbours are equal as f64, the type in which NumPy would add them."""
    unsigned = np.array([0, 2**53, 2**53 + 1, 2**63, 2**64 - 1], np.uint64)
    signed = np.array([-1, 2**53, 2**53, -(2**63), -1], np.int64)
    for symbol, compare in COMPARE.items():
        found = np.zeros((2, 5), bool)
        source = f"""
            @tb.kernel
            def k(kc: KernelContext, u: NDArray[u64], s: NDArray[i64], r: NDArray[bool]):
                r[0, kc.x] = u[kc.x] {symbol} s[kc.x]
                r[1, kc.x] = s[kc.x] {symbol} u[kc.x]
        """
        run(kernel(source), 5, unsigned, signed, found)
        exact = [(int(u), int(s)) for u, s in zip(unsigned, signed, strict=True)]
        wanted = [[compare(u, s) for u, s in exact], [compare(s, u) for u, s in exact]]
        assert found.tolist() == wanted, symbol


# ------------------------------------------------------------------------------- literals


@pytest.mark.parametrize("type_", TYPES, ids=name_of)
def test_an_integer_literal_takes_the_type_of_the_other_operand(type_: ScalarType) -> None:
    for expression in ("x * 3", "3 * x"):
        text = body(f"r = {expression}", f"x: {type_}")
        wanted = "i32" if type_.kind == "bool" else type_.name
        assert f"Var<{wanted}> = var" in text


@pytest.mark.parametrize("type_", TYPES, ids=name_of)
def test_a_float_literal_keeps_floats_and_makes_f64_of_integers(type_: ScalarType) -> None:
    wanted = np.result_type(type_.numpy, 0.5)  # NumPy's rule for a Python float
    assert f"Var<{scalar(wanted)}> = var" in body("r = x * 0.5", f"x: {type_}")


def test_literals_are_computed_by_python_before_they_get_a_type() -> None:
    found = np.zeros(9, np.float64)
    source = """
        @tb.kernel
        def k(kc: KernelContext, r: NDArray[f64]):
            r[0] = 1 / 3
            r[1] = -7 // 2
            r[2] = -7 % 3
            r[3] = 2 ** -1
            r[4] = 0.1 + 0.2
            r[5] = (1 << 40) / 3
            r[6] = ~5 & 0xFF
            r[7] = -(-3) ** 3
            r[8] = 1e308 * 10 + True
    """
    run(kernel(source), 1, found)
    wanted = [1 / 3, -7 // 2, -7 % 3, 2**-1, 0.1 + 0.2, (1 << 40) / 3, ~5 & 0xFF, 27, np.inf]
    assert found.tolist() == wanted


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("x = 1 // 0", "this constant has no value: integer division or modulo by zero"),
        ("x = 0.0 ** -1", "this constant has no value: 0.0 cannot be raised to a negative power"),
        ("x = 1 << -1", "this constant has no value: negative shift count"),
        ("x = (-8) ** 0.5", "this constant is a complex number"),
        ("x = 2 ** 10 ** 10", "this constant is too large for any type"),
        ("x = 1 << 99999999999", "this constant is too large for any type"),
        ("x = 2 ** 64", "the literal `18446744073709551616` does not fit any integer type"),
        ("x = n + 2 ** 31", "the literal `2147483648` does not fit `i32`"),
        ("x = f32(10 ** 400)", "this number is too large for `f32`"),
        ("x = ~0.5", "`~` of a float has no meaning"),
        ("x = ~f", "`~` of `f32` has no meaning"),
        ("x = n ** -2", "an integer cannot be raised to the negative power -2"),
    ],
)
def test_constants_without_a_value_are_refused(line: str, problem: str) -> None:
    source = f"@tb.kernel\ndef k(kc: KernelContext, n: i32, f: f32):\n    {line}\n"
    text = said(KernelTypeError, source)
    assert text.splitlines()[0] == f"app.py:3: {problem}"
    assert text.splitlines()[1] == f"  3 | {line}"


def test_a_literal_that_does_not_fit_is_shown() -> None:
    source = "@tb.kernel\ndef k(kc: KernelContext, b: u8):\n    x = b + 256\n"
    assert said(KernelTypeError, source) == (
        "app.py:3: the literal `256` does not fit `u8`\n"
        "  3 | x = b + 256\n"
        "    |     ^^^^^^^\n"
        "  help: use a number within the type's range, or convert the other operand to a "
        "wider type"
    )


# --------------------------------------------------------------------- what is no number


@pytest.mark.parametrize(
    ("operand", "problem", "advice"),
    [
        ("a", "`S32Array` is not a number", "use one of its fields or elements"),
        ("a.array", "`i32[length]` is a whole array, not a value", "index it: `array[i]`"),
        ("m", "`NDArray<f32, 1>` is not a number", "use one of its fields or elements"),
        ("m.shape", "a shape is not a value", "index it: `a.shape[0]`"),
        ("math", "`math` is not a number", ""),
        ("SOME", "a Python object of type `list` is not a number", ""),
        ("kc", "`KernelContext` is not a number", "use one of its fields or elements"),
        ("(1, 2)", "a tuple is not a value in a kernel", "assign each item to its own name"),
    ],
)
@pytest.mark.parametrize("form", ["x = {} + 1", "x = 1 * {}", "x = n < {}", "x = -{}"])
def test_what_is_no_number_is_shown(form: str, operand: str, problem: str, advice: str) -> None:
    line = form.format(operand)
    source = (
        f"@tb.kernel\ndef k(kc: KernelContext, a: S32Array, m: NDArray[f32], n: i32):\n    {line}\n"
    )
    wanted = f"app.py:3: {problem}\n  3 | {line}\n    | "
    wanted += " " * line.index(operand) + "^" * len(operand)
    wanted += f"\n  help: {advice}" if advice else ""
    assert said(KernelTypeError, source, SOME=[1, 2]) == wanted

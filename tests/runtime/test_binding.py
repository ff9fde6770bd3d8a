"""Arguments of dispatches: what fits goes through, what does not leaves everything as it was."""

import math
from enum import IntEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.runtime.programs import (
    Table,
    add,
    collect,
    dispatch,
    one_if,
    plus_one,
    scale,
    square,
    square_all,
    square_kernel,
    where_2d,
    where_3d,
)

import trilby as tb
from trilby import (
    Accelerator,
    F32Array,
    KernelContext,
    NDArray,
    NDRange,
    S32Array,
    S32Array2D,
    TrilbyError,
    f16,
    f64,
    i8,
    u64,
)
from trilby.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    RangeError,
    ReleasedError,
)
from trilby.source import line_text

if TYPE_CHECKING:
    from collections.abc import Callable

LARGEST = 3.4028235677973362e38
"""The largest number that becomes an f32, and not infinity, when it is rounded."""

DISPATCH = "cc.dispatch(size, kernel, *args, **kwargs)"


def refused(
    accelerator: Accelerator, size: object, kernel: object, *args: object, **kwargs: object
) -> TrilbyError:
    """Dispatch what must fail: the error points to the dispatch, has advice, and nothing moved."""
    with accelerator.record() as ledger, pytest.raises(TrilbyError) as caught:
        accelerator.compute(dispatch, size, kernel, *args, **kwargs)
    assert ledger.copies == ()
    error = caught.value
    assert error.advice
    assert error.location is not None
    assert line_text(error.location).strip() == DISPATCH
    assert str(error).splitlines()[1:3] == [
        f"  {error.location.line} | {DISPATCH}",
        f"  {' ' * len(str(error.location.line))} | {'^' * len(DISPATCH)}",
    ]
    return error


# ----------------------------------------------------------------------------------- buffers


@pytest.mark.parametrize("value", [[1, 2], (1, 2), range(2), np.arange(2)])
def test_a_python_sequence_is_no_buffer(value: object, accelerator: Accelerator) -> None:
    error = refused(accelerator, 2, square_kernel, value)
    assert isinstance(error, ArgumentTypeError)
    kind = type(value).__name__
    assert error.problem == f"`square_kernel` takes `S32Array` for `a`, and this is {kind}"
    assert error.advice == "copy it into a buffer: `S32Array.of(…)`"


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        (F32Array.of([1.0]), "pass a `S32Array`, or declare the parameter with the type you pass"),
        (S32Array2D.create(width=1, height=1), "pass a `S32Array`, or declare"),
        (NDArray[int](np.arange(3, dtype=np.int32)), "pass a `S32Array`, or declare"),
        (S32Array.of([1]).array, "pass the buffer as a whole"),
        (None, "make one with `S32Array.create(…)`"),
        (3, "make one with `S32Array.create(…)`"),
        (S32Array, "make one with `S32Array.create(…)`"),
        ("numbers", "make one with `S32Array.create(…)`"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_another_thing_is_no_buffer(value: object, advice: str, interpreter: Accelerator) -> None:
    error = refused(interpreter, 1, square_kernel, value)
    assert isinstance(error, ArgumentTypeError)
    assert f"and this is {type(value).__name__}" in error.problem
    assert error.advice.startswith(advice)


def test_a_wrong_argument_is_found_before_a_right_one_moves(accelerator: Accelerator) -> None:
    a, table = S32Array.of([2, 4]), Table.create(length=2)
    table.row.key[:] = [7, 8]
    refused(accelerator, 2, collect, a, a)
    refused(accelerator, 2, collect, table, a)
    refused(accelerator, 2, add, a, "1")
    assert a.array.tolist() == [2, 4]
    assert (table.count, table.row.key.tolist()) == (0, [7, 8])
    accelerator.compute(dispatch, 2, collect, a, table)
    assert (table.count, sorted(table.row.key.tolist())) == (2, [2, 4])


def test_a_released_buffer(accelerator: Accelerator) -> None:
    a = S32Array.of([1, 2])
    accelerator.compute(dispatch, 2, square_kernel, a)
    a.release()
    error = refused(accelerator, 2, square_kernel, a)
    assert isinstance(error, ReleasedError)
    assert error.problem == "this S32Array was released"
    error = refused(accelerator, 0, square_kernel, a)  # also where nothing would be launched
    assert isinstance(error, ReleasedError)
    b = accelerator.array(np.zeros(2, np.float32))
    b.release()
    assert isinstance(refused(accelerator, 2, plus_one, b, b), ReleasedError)


def test_n_d_arrays_have_one_dtype_and_one_rank(accelerator: Accelerator) -> None:
    right = accelerator.array(np.zeros(4, np.float32))
    error = refused(accelerator, 4, plus_one, accelerator.array(np.zeros(4)), right)
    assert error.problem == ("`plus_one` takes elements of `f32` for `a`, and these are `float64`")
    assert error.advice == "convert them: `accelerator.array(x.astype(np.float32))`"
    error = refused(accelerator, 4, plus_one, np.zeros(4, np.float32), right)
    assert error.problem == "`plus_one` takes `NDArray[f32]` for `a`, and this is ndarray"
    assert error.advice == "make one with `accelerator.array(x)`"
    error = refused(accelerator, 4, plus_one, right[:2], right)
    assert error.advice == "pass the whole array, or a copy: `accelerator.array(x.copy())`"
    flat = accelerator.array(np.zeros((2, 2), np.float32))
    with pytest.raises(TrilbyError, match="an array of 2 dimensions is given 1 index") as caught:
        accelerator.compute(dispatch, 4, plus_one, flat, right)
    assert caught.value.__notes__[0].startswith("dispatched at ")
    assert right.tolist() == [0, 0, 0, 0]


# ----------------------------------------------------------------------------------- numbers


class Colour(IntEnum):
    RED = 3


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2**31 - 1, 2**31 - 1),
        (-(2**31), -(2**31)),
        (True, 1),
        (np.int64(5), 5),
        (np.uint8(255), 255),
        (np.True_, 1),
        (Colour.RED, 3),
    ],
)
def test_integers_that_fit(value: Any, expected: int, accelerator: Accelerator) -> None:
    a = S32Array.of([0])
    accelerator.compute(dispatch, 1, add, a, value)
    assert a.array.tolist() == [expected]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (2**31, "2147483648"),
        (-(2**31) - 1, "-2147483649"),
        (np.uint64(2**63), str(2**63)),
        (10**400, "an integer of 1329 bits"),
        (10**5000, "an integer of 16610 bits"),
    ],
    ids=["above", "below", "NumPy", "long", "too long for Python to write"],
)
def test_integers_that_do_not_fit(value: object, shown: str, interpreter: Accelerator) -> None:
    a = S32Array.of([7])
    error = refused(interpreter, 1, add, a, value)
    assert isinstance(error, ArgumentValueError)
    assert error.problem == (
        f"{shown} does not fit `n` of `add`, which is `i32` (-2147483648 to 2147483647)"
    )
    assert a.array.tolist() == [7]


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        (1.0, "pass a whole number: `int(…)`"),
        (math.nan, "pass a whole number: `int(…)`"),
        (np.float32(1), "pass a whole number: `int(…)`"),
        (None, "pass a number"),
        ("1", "pass a number"),
        (1j, "pass a number"),
        (Fraction(1), "pass a number"),
        (np.array(1), "pass a number"),
        ([1], "pass a number"),
        (S32Array.of([1]), "pass a number"),
    ],
    ids=repr,
)
def test_what_is_no_integer(value: object, advice: str, interpreter: Accelerator) -> None:
    a = S32Array.of([7])
    error = refused(interpreter, 1, add, a, value)
    assert isinstance(error, ArgumentTypeError)
    assert error.problem == f"`add` takes `i32` for `n`, and this is {type(value).__name__}"
    assert error.advice == advice
    assert a.array.tolist() == [7]


@pytest.mark.parametrize(
    "value",
    [2, 0.5, True, -0.0, math.inf, -math.inf, math.nan, np.float64(0.1), 1e-60, LARGEST],
    ids=repr,
)
def test_floats_that_fit(value: Any, accelerator: Accelerator) -> None:
    a = F32Array.of([3.0])
    accelerator.compute(dispatch, 1, scale, a, value)
    with np.errstate(over="ignore"):
        expected = np.float32(3) * np.float32(value)
    np.testing.assert_array_equal(a.array[0], expected)
    assert math.copysign(1, a.array[0]) == math.copysign(1, float(expected))


@pytest.mark.parametrize(
    "value",
    [1e300, -1e300, np.float64(1e39), math.nextafter(LARGEST, math.inf), 10**39, 10**400],
    ids=str,
)
def test_floats_that_do_not_fit(value: object, interpreter: Accelerator) -> None:
    a = F32Array.of([3.0])
    error = refused(interpreter, 1, scale, a, value)
    assert isinstance(error, ArgumentValueError)
    assert "does not fit `factor` of `scale`, which is `f32`" in error.problem
    assert a.array.tolist() == [3.0]


@pytest.mark.parametrize("value", [1, 0, 1.0, None, "True"], ids=repr)
def test_what_is_no_truth_value(value: object, interpreter: Accelerator) -> None:
    a = S32Array.of([7])
    error = refused(interpreter, 1, one_if, a, value)
    assert isinstance(error, ArgumentTypeError)
    assert error.advice == "pass True or False"


@pytest.mark.parametrize(("value", "expected"), [(True, 1), (False, 7), (np.True_, 1)])
def test_truth_values(value: Any, expected: int, accelerator: Accelerator) -> None:
    a = S32Array.of([7])
    accelerator.compute(dispatch, 1, one_if, a, value)
    assert a.array.tolist() == [expected]


@tb.kernel
def widths(kc: KernelContext, a: NDArray[f64], b: i8, c: u64, d: f16, e: f64) -> None:
    a[kc.x] = f64(b)
    a[1] = f64(c)
    a[2] = f64(d)
    a[3] = e


def test_numbers_of_all_widths(accelerator: Accelerator) -> None:
    a = accelerator.array(np.zeros(4))
    accelerator.compute(dispatch, 1, widths, a, -128, 2**64 - 1, 0.1, 0.1)
    assert a.tolist() == [-128.0, 2.0**64, float(np.float16(0.1)), 0.1]
    for wrong in [(128, 0, 0, 0), (0, -1, 0, 0), (0, 2**64, 0, 0), (0, 0, 65520, 0)]:
        assert isinstance(refused(accelerator, 1, widths, a, *wrong), ArgumentValueError)
    accelerator.compute(dispatch, 1, widths, a, 0, 0, 65519, 1.7976931348623157e308)
    assert a.tolist() == [0.0, 0.0, 65504.0, 1.7976931348623157e308]


# --------------------------------------------------------------------------- number and names


@pytest.mark.parametrize(
    ("args", "kwargs", "problem"),
    [
        ((), {}, "missing a required argument: 'a'"),
        ((1,), {}, "missing a required argument: 'n'"),
        ((1, 2, 3), {}, "too many positional arguments"),
        ((1, 2), {"m": 3}, "got an unexpected keyword argument 'm'"),
        ((1,), {"a": 1, "n": 2}, "multiple values for argument 'a'"),
    ],
)
def test_missing_and_extra_arguments(
    args: tuple[object, ...],
    kwargs: dict[str, object],
    problem: str,
    interpreter: Accelerator,
) -> None:
    error = refused(interpreter, 1, add, *args, **kwargs)
    assert isinstance(error, ArgumentTypeError)
    assert error.problem == f"`add`: {problem}"
    assert error.advice == "its parameters after the context are a, n"


def test_keywords(accelerator: Accelerator) -> None:
    a = S32Array.of([1])
    accelerator.compute(dispatch, 1, add, n=2, a=a)
    accelerator.compute(dispatch, 1, add, a, n=np.int16(3))
    assert a.array.tolist() == [6]


# ------------------------------------------------------------------------------------- ranges


@pytest.mark.parametrize(
    ("size", "problem"),
    [
        (-1, "a range cannot be -1"),
        ((3, -2), "a range cannot be -2"),
        (1.0, "a range is made of integers, and 1.0 is float"),
        (True, "a range is made of integers, and True is bool"),
        ("4", "a range is made of integers, and '4' is str"),
        (None, "a range is made of integers, and None is NoneType"),
        ([2], "a range is made of integers, and [2] is list"),
        ((2, 2.0), "a range is made of integers, and 2.0 is float"),
        ((), "a range has 0 dimensions"),
        ((1, 1, 1, 1), "a range has 4 dimensions"),
    ],
    ids=repr,
)
def test_what_is_no_range(size: object, problem: str, interpreter: Accelerator) -> None:
    a = S32Array.of([1, 2])
    error = refused(interpreter, size, square_kernel, a)
    assert isinstance(error, RangeError)
    assert error.problem == problem
    assert a.array.tolist() == [1, 2]


@pytest.mark.parametrize("size", [2**31, (1, 2**40), 2**70])
def test_a_range_that_no_index_can_count(size: object, accelerator: Accelerator) -> None:
    a = S32Array.of([1, 2])
    with pytest.raises(RangeError, match="an index counts to 2147483647") as caught:
        accelerator.compute(dispatch, size, square_kernel, a)
    assert caught.value.location is not None
    assert line_text(caught.value.location).strip() == DISPATCH
    assert a.array.tolist() == [1, 2]


def test_local_sizes() -> None:
    with pytest.raises(RangeError, match=r"local size \(2,\) has 1 dimensions"):
        NDRange((4, 4), local=2)
    with pytest.raises(RangeError, match="a local size cannot be 0"):
        NDRange(4, local=0)


def test_a_group_that_is_too_large(accelerator: Accelerator) -> None:
    a = S32Array.of([1, 2])
    with pytest.raises(RangeError, match="is too large") as caught:
        accelerator.compute(dispatch, NDRange(2, local=10**6), square_kernel, a)
    assert caught.value.location is not None
    assert a.array.tolist() == [1, 2]


@pytest.mark.parametrize("size", [4, (4,), np.int64(4), NDRange(4), NDRange(4, local=2)], ids=repr)
def test_one_dimension(size: object, accelerator: Accelerator) -> None:
    a = S32Array.of(range(5))
    accelerator.compute(dispatch, size, add, a, 10)
    assert a.array.tolist() == [10, 11, 12, 13, 4]


@pytest.mark.parametrize(
    "size", [(3, 2), (np.uint8(3), 2), (3, 2, 1), NDRange((3, 2)), NDRange((3, 2), local=(2, 2))]
)
def test_two_dimensions(size: object, accelerator: Accelerator) -> None:
    a = S32Array2D.create(width=3, height=2)
    accelerator.compute(dispatch, size, where_2d, a)
    assert a.array[:].tolist() == [[0, 1, 2], [10, 11, 12]]


def test_three_dimensions(accelerator: Accelerator) -> None:
    a = accelerator.array(np.zeros((2, 3, 4), np.int32))
    accelerator.compute(dispatch, (4, 3, 2), where_3d, a)
    expected = [[[100 * z + 10 * y + x for x in range(4)] for y in range(3)] for z in range(2)]
    assert a.tolist() == expected


# ------------------------------------------------------------------------- what is no kernel


def plain(a: S32Array) -> None:
    raise AssertionError(a)


@pytest.mark.parametrize(
    ("thing", "problem", "advice"),
    [
        (plain, "`plain` is a plain function", "decorate it with `@tb.kernel`"),
        (square, "`square` is a helper of kernels (@tb.func)", "write a `@tb.kernel` that calls"),
        (square_all, "`square_all` is a compute function", "call it: `square_all(cc, …)`"),
        (print, "`print` is of the class `builtin_function_or_method`", "dispatch a function"),
        (S32Array, "`S32Array` is a class", "dispatch a function"),
        (3, "this is of the class `int`", "dispatch a function"),
        (None, "this is of the class `NoneType`", "dispatch a function"),
        ("square", "this is of the class `str`", "dispatch a function"),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_what_is_no_kernel(
    thing: object, problem: str, advice: str, interpreter: Accelerator
) -> None:
    error = refused(interpreter, 1, thing, S32Array.of([1]))
    assert isinstance(error, ArgumentTypeError)
    assert error.problem == f"{problem}, and only kernels can be dispatched"
    assert error.advice.startswith(advice)


def test_a_lambda_in_a_variable(accelerator: Accelerator) -> None:
    a = S32Array.of([3])
    quoted: Callable[[KernelContext], None] = lambda kc: add(kc, a, n=4)  # noqa: E731 -- the test
    accelerator.compute(dispatch, 1, quoted)
    assert a.array.tolist() == [7]
    error = refused(accelerator, 1, quoted, a)
    assert error.problem.startswith("a lambda carries the arguments of its kernel")
    wrong: Callable[[Any], int] = lambda kc: square(kc)  # noqa: E731, PLW0108 -- the test
    error = refused(accelerator, 1, wrong)
    assert error.problem.startswith("`square` is a helper of kernels")
    assert a.array.tolist() == [7]

"""Compute functions in the Python that people write, on each device."""

import contextlib
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from tests.runtime import other_kernels
from tests.runtime.other_kernels import Steps, negate
from tests.runtime.programs import (
    Table,
    add,
    add_to_all,
    copy,
    dispatch,
    plus_one,
    square_all,
    square_all_quoted,
    square_kernel,
)

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, S32Array, TrilbyError, f32
from trilby.errors import (
    ArgumentTypeError,
    DirectCallError,
    FieldError,
    KernelIndexError,
    KernelNameError,
    ReleasedError,
    UnsupportedSyntaxError,
)
from trilby.source import excerpt, line_text

# ---------------------------------------------------------------------------------- spellings


@pytest.mark.parametrize("compute", [square_all, square_all_quoted])
def test_both_spellings_of_both_calls(compute: Any, accelerator: Accelerator) -> None:
    a = S32Array.of(range(5))
    accelerator.compute(compute, a)
    assert a.array.tolist() == [0, 1, 4, 9, 16]
    accelerator.compute(lambda cc: compute(cc, a))
    assert a.array.tolist() == [0, 1, 16, 81, 256]


@tb.compute
def arguments(cc: ComputeContext, a: S32Array, *rest: int, n: int = 5, **more: int) -> object:
    cc.dispatch(a.length, lambda kc: add(kc, a, n=n))
    return rest, n, more


def test_arguments_and_results_are_pythons(interpreter: Accelerator) -> None:
    a = S32Array.of([0])
    assert interpreter.compute(arguments, a) == ((), 5, {})
    assert interpreter.compute(arguments, a, 1, 2, n=7, m=8) == ((1, 2), 7, {"m": 8})
    rest, more = [3, 4], {"k": 1}
    assert interpreter.compute(lambda cc: arguments(cc, a, *rest, **more)) == ((3, 4), 5, {"k": 1})
    assert a.array.tolist() == [5 + 7 + 5]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
        interpreter.compute(arguments)  # pyright: ignore[reportCallIssue] -- the mistake


# -------------------------------------------------------------------------------- composition


@tb.compute
def calls_others(cc: ComputeContext, a: S32Array) -> tuple[int, str]:
    first = add_to_all(cc, a, n=3)
    return first, other_kernels.negate_all(cc, a)


def test_compute_functions_call_others(accelerator: Accelerator) -> None:
    a = S32Array.of([1, 2])
    assert accelerator.compute(calls_others, a) == (30, "negated")
    assert a.array.tolist() == [-4, -5]


@tb.compute
def down_to_zero(cc: ComputeContext, a: S32Array, n: int) -> int:
    if n == 0:
        return 0
    cc.dispatch(a.length, add, a, n)
    return n + down_to_zero(cc, a, n - 1)


def test_compute_functions_call_themselves(accelerator: Accelerator) -> None:
    a = S32Array.of([100])
    assert accelerator.compute(down_to_zero, a, 4) == 10
    assert a.array.tolist() == [110]


@tb.compute
def chosen(cc: ComputeContext, a: S32Array, choice: int) -> None:
    kernel = square_kernel if choice == 0 else negate
    cc.dispatch(a.length, kernel, a)
    cc.dispatch(a.length, lambda kc: kernel(kc, a))
    table = {"double": Steps.double, "negate": other_kernels.negate}
    for entry in table.values():
        cc.dispatch(a.length, entry, a)


def test_kernels_chosen_at_run_time(accelerator: Accelerator) -> None:
    a, b = S32Array.of([2, 3]), S32Array.of([2, 3])
    accelerator.compute(chosen, a, 0)
    accelerator.compute(chosen, b, 1)
    assert a.array.tolist() == [-32, -162]
    assert b.array.tolist() == [-4, -6]


@tb.compute
def swaps(cc: ComputeContext, a: S32Array, b: S32Array, times: int) -> S32Array:
    for _ in range(times):
        cc.dispatch(a.length, copy, a, b)
        cc.dispatch(a.length, lambda kc: add(kc, b, 1))  # noqa: B023 -- it is quoted now
        a, b = b, a
    return a


def test_buffers_that_are_swapped_in_a_loop(accelerator: Accelerator) -> None:
    a, b = S32Array.of([10, 20]), S32Array.create(length=2)
    last = accelerator.compute(swaps, a, b, 5)
    assert last is b
    assert b.array.tolist() == [15, 25]
    assert a.array.tolist() == [14, 24]


@tb.compute
def every_corner(cc: ComputeContext, a: S32Array, b: S32Array) -> list[object]:
    seen: list[object] = []
    try:
        cc.dispatch(a.length, add, a, 1)
        seen.append(a.array[0])
        cc.dispatch(a.length, lambda kc: add(kc, a, "one"))  # pyright: ignore[reportArgumentType] -- the mistake
    except TypeError as error:
        seen.append(type(error).__name__)
    finally:
        cc.dispatch(a.length, lambda kc: add(kc, a, 10))
    with contextlib.suppress(ValueError):
        cc.dispatch(-1, square_kernel, a)
        seen.append("not reached")
    seen += [cc.dispatch(x.length, lambda kc: add(kc, x, 100)) for x in (a, b)]  # noqa: B023 -- it is quoted now

    def inner(size: int) -> None:
        cc.dispatch(size, lambda kc: add(kc, b, 1000))

    inner(b.length)
    if (n := a.length) > 1:
        cc.dispatch(n, square_kernel, b)
    return seen


def test_dispatches_in_every_corner(accelerator: Accelerator) -> None:
    a, b = S32Array.of([1, 2]), S32Array.of([3, 4])
    seen = accelerator.compute(every_corner, a, b)
    assert seen[:2] == [2, "ArgumentTypeError"]
    assert all(isinstance(one, ComputeContext) for one in seen[2:])  # what a dispatch gives
    assert a.array.tolist() == [1 + 1 + 10 + 100, 2 + 1 + 10 + 100]
    assert b.array.tolist() == [1103**2, 1104**2]


@tb.compute
def host_work(cc: ComputeContext, a: S32Array, table: Table) -> float:
    table.count = 3
    table.row[1].value = 2.5
    cc.dispatch(a.length, add, a, table.count)
    a.array[1:] = a.array[1:] * 2
    cc.dispatch(a.length, square_kernel, a)
    total = sum(a.array)
    while a.array[0] < 1000:
        cc.dispatch(1, square_kernel, a)
    return float(total + table.row[1].value + np.asarray(a.array).max())


def test_host_code_between_dispatches_sees_the_device(accelerator: Accelerator) -> None:
    a, table = S32Array.of([0, 1]), Table.create(length=2)
    # [3, 4] → [3, 8] → [9, 64]; then the first is squared until it passes 1000: 81, 6561
    assert accelerator.compute(host_work, a, table) == 73 + 2.5 + 6561
    assert a.array.tolist() == [6561, 64]


# ------------------------------------------------------------------------------------ errors


@tb.compute
def divides(cc: ComputeContext, a: S32Array) -> float:
    cc.dispatch(a.length, square_kernel, a)
    return a.array[0] / 0


@tb.compute
def calls_divides(cc: ComputeContext, a: S32Array) -> float:
    return divides(cc, a) + 1


def test_an_exception_shows_the_users_lines(interpreter: Accelerator) -> None:
    a = S32Array.of([3])
    with pytest.raises(ZeroDivisionError) as caught:
        interpreter.compute(calls_divides, a)
    steps = [
        (step.name, step.line)
        for step in traceback.extract_tb(caught.value.__traceback__)
        if step.filename == __file__
    ]
    assert steps == [
        ("test_an_exception_shows_the_users_lines", "interpreter.compute(calls_divides, a)"),
        ("calls_divides", "return divides(cc, a) + 1"),
        ("divides", "return a.array[0] / 0"),
    ]
    assert a.array.tolist() == [9]  # what was dispatched before was done


def located(error: TrilbyError) -> tuple[str, str]:
    """The line that an error points to, and what is marked in it."""
    assert error.location is not None
    assert error.location.file == __file__
    assert str(error).startswith(f"{__file__}:{error.location.line}: ")
    line, carets = excerpt(error.location).splitlines()
    assert f"\n{line}\n{carets}\n" in f"{error}\n"
    marked = line[carets.index("^") : carets.rindex("^") + 1]
    return line_text(error.location).strip(), marked


@tb.compute
def calls_kernel(_cc: ComputeContext, a: Any) -> None:
    square_kernel(a, a)


@tb.compute
def wrong_list(cc: ComputeContext) -> None:
    numbers: Any = [1, 2]
    cc.dispatch(2, lambda kc: square_kernel(kc, numbers))
    print("never")  # noqa: T201


@tb.compute
def misspelt(cc: ComputeContext, a: Any) -> None:
    cc.dispatch(a.lenght, square_kernel, a)


@tb.compute
def uses_released(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, square_kernel, a)
    a.release()
    a.array[0] = 1


@tb.compute
def too_many(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(
        a.length,
        add,
        a,
        2**40,
    )


@pytest.mark.parametrize(
    ("compute", "kind", "line", "marked"),
    [
        (calls_kernel, DirectCallError, "square_kernel(a, a)", "square_kernel(a, a)"),
        (misspelt, FieldError, "cc.dispatch(a.lenght, square_kernel, a)", "a.lenght"),
        (uses_released, ReleasedError, "a.array[0] = 1", "a.array[0] = 1"),
        (too_many, ValueError, "cc.dispatch(", "cc.dispatch("),
    ],
)
def test_an_error_inside_a_compute_function_points_into_it(
    compute: Any, kind: type[Exception], line: str, marked: str, interpreter: Accelerator
) -> None:
    a = S32Array.of([3])
    with pytest.raises(kind) as caught:
        interpreter.compute(compute, a)
    assert isinstance(caught.value, TrilbyError)
    assert located(caught.value) == (line, marked)
    assert caught.value.advice


def test_only_the_call_is_marked(interpreter: Accelerator) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        interpreter.compute(wrong_list)
    _, marked = located(caught.value)
    assert marked == "cc.dispatch(2, lambda kc: square_kernel(kc, numbers))"


def test_an_error_inside_a_lambda_points_to_it(interpreter: Accelerator) -> None:
    a: Any = S32Array.of([3])
    with pytest.raises(UnsupportedSyntaxError) as caught:
        interpreter.compute(lambda cc: (square_all(cc, a), 1)[1])
    assert located(caught.value)[1] == "(square_all(cc, a), 1)[1]"
    with pytest.raises(ArgumentTypeError) as wrong_kind:
        interpreter.compute(lambda cc: square_kernel(cc, a))  # pyright: ignore[reportArgumentType, reportUnknownArgumentType, reportUnknownLambdaType] -- the mistake
    assert located(wrong_kind.value)[1] == "square_kernel(cc, a)"
    with pytest.raises(KernelNameError) as unknown:
        interpreter.compute(lambda cc: square_al(cc, a))  # noqa: F821 # pyright: ignore[reportUndefinedVariable, reportUnknownLambdaType, reportUnknownArgumentType] -- the mistake
    assert located(unknown.value)[1] == "square_al"


def test_a_kernel_that_fails_names_kernel_and_dispatch(interpreter: Accelerator) -> None:
    a = S32Array.of([1, 2])
    with pytest.raises(KernelIndexError) as caught:
        interpreter.compute(dispatch, 3, square_kernel, a)
    error = caught.value
    assert error.location is not None
    assert line_text(error.location).strip() == "a.array[kc.x] = square(a.array[kc.x])"
    (note,) = error.__notes__
    assert note.startswith("dispatched at ")
    assert "programs.py:" in note


@tb.kernel
def unsupported(kc: KernelContext, a: S32Array) -> None:
    with open("file") as f:  # noqa: PTH123 -- the mistake
        a.array[kc.x] = len(f.read())


@tb.compute
def uses_unsupported(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, add, a, 1)
    cc.dispatch(a.length, unsupported, a)


def test_a_kernel_that_is_refused_is_refused_before_anything_runs(
    accelerator: Accelerator,
) -> None:
    a = S32Array.of([3])
    with accelerator.record() as ledger, pytest.raises(UnsupportedSyntaxError) as caught:
        accelerator.compute(uses_unsupported, a)
    assert located(caught.value)[0].startswith('with open("file") as f:')
    assert a.array.tolist() == [3]
    assert ledger.copies == ()


# -------------------------------------------------------------------------- calling directly


def test_calling_a_kernel_is_refused() -> None:
    a: Any = S32Array.of([3])
    with pytest.raises(DirectCallError) as caught:
        square_kernel(a, a)
    assert located(caught.value) == ("square_kernel(a, a)", "square_kernel(a, a)")
    assert caught.value.advice == (
        "inside a compute function write `cc.dispatch(n, square_kernel, …)` or "
        "`cc.dispatch(n, lambda kc: square_kernel(kc, …))`"
    )
    assert isinstance(caught.value, TypeError)
    assert a.array.tolist() == [3]


def test_calling_a_compute_function_is_refused(interpreter: Accelerator) -> None:
    a: Any = S32Array.of([3])
    for first in (None, interpreter, a):
        with pytest.raises(DirectCallError) as caught:
            square_all(first, a)
        assert located(caught.value)[0] == "square_all(first, a)"
        assert caught.value.advice == (
            "write `accelerator.compute(square_all, …)` or "
            "`accelerator.compute(lambda cc: square_all(cc, …))`"
        )
    assert a.array.tolist() == [3]


# ------------------------------------------------------------------------------------ threads


def test_two_threads_on_one_accelerator(accelerator: Accelerator) -> None:
    shared = S32Array.of([0, 0])
    own = [S32Array.of([n]) for n in range(4)]

    def work(a: S32Array) -> None:
        for _ in range(10):
            accelerator.compute(add_to_all, shared)
            accelerator.compute(lambda cc: add_to_all(cc, a, 2))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, own))
    assert shared.array.tolist() == [40, 40]
    assert [a.array[0] for a in own] == [20, 21, 22, 23]


def test_threads_that_compile_the_same_kernel(accelerator: Accelerator) -> None:
    @tb.kernel
    def fresh(kc: KernelContext, a: NDArray[f32]) -> None:
        a[kc.x] = f32(kc.x) * 0.5

    def work(n: int) -> list[float]:
        a = accelerator.array(np.zeros(n, np.float32))
        accelerator.compute(dispatch, n, fresh, a)
        return a.tolist()

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(work, range(1, 9)))
    assert found == [[0.5 * i for i in range(n)] for n in range(1, 9)]


def test_an_accelerator_inside_a_compute_function(interpreter: Accelerator) -> None:
    @tb.compute
    def outer(cc: ComputeContext, a: S32Array) -> int:
        cc.accelerator.compute(add_to_all, a)
        return cc.accelerator.compute(lambda inner: add_to_all(inner, a, 4))

    a = S32Array.of([1])
    assert interpreter.compute(outer, a) == 40
    assert a.array.tolist() == [6]


def test_n_d_arrays_go_through_compute_functions(accelerator: Accelerator) -> None:
    @tb.compute
    def twice(cc: ComputeContext, a: NDArray[f32]) -> None:
        cc.dispatch(a.shape[0], plus_one, a, a)
        cc.dispatch(len(a), lambda kc: plus_one(kc, a, a))

    a = accelerator.array(np.arange(3, dtype=np.float32))
    accelerator.compute(twice, a)
    assert a.tolist() == [2, 3, 4]

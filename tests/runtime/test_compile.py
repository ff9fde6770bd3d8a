"""What is made once, what is made anew, and what stands behind a compute function."""

import importlib.util
import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.runtime import other_kernels
from tests.runtime.conftest import Nulls, with_backend
from tests.runtime.other_kernels import go_on, negate, negate_all, step
from tests.runtime.programs import add, add_to_all, dispatch, plus_one, square_all, square_kernel

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, S32Array, f32, i32
from trilby.analysis.access import AccessMode
from trilby.backend.null import NullBackend
from trilby.errors import KernelTypeError, SourceError
from trilby.runtime import compile as compiling
from trilby.runtime.compile import Symbols, analyse_compute, analyse_kernel


@pytest.fixture
def reflected(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each function was reflected."""
    counts = Counter[str]()
    for stage in ("reflect_compute", "reflect_kernel", "reflect_helper"):
        original: Callable[..., Any] = getattr(compiling, stage)

        def spy(function: Any, *args: Any, original: Callable[..., Any] = original) -> Any:
            counts[getattr(function, "helper", function).name] += 1
            return original(function, *args)

        monkeypatch.setattr(compiling, stage, spy)
    return counts


# ------------------------------------------------------------------------------------- caches


def test_a_second_call_reflects_nothing(reflected: Counter[str], null: Nulls) -> None:
    a = S32Array.of(range(4))
    null.accelerator.compute(square_all, a)
    assert reflected == {"square_all": 1, "square_kernel": 1, "square": 1}
    for _ in range(3):
        null.accelerator.compute(lambda cc: square_all(cc, a))
    assert reflected == {"square_all": 1, "square_kernel": 1, "square": 1}
    assert null.backend.counts["compiles"] == 1
    assert null.backend.counts["launches"] == 4


def test_another_accelerator_has_a_cache_of_its_own(
    null: Nulls, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = NullBackend()
    a = S32Array.of(range(4))
    null.accelerator.compute(square_all, a)
    with_backend(monkeypatch, other).compute(square_all, a)
    assert (null.backend.counts["compiles"], other.counts["compiles"]) == (1, 1)


@tb.compute
def only_if(cc: ComputeContext, a: S32Array, condition: bool) -> None:  # noqa: FBT001 -- the test
    if condition:
        cc.dispatch(a.length, square_kernel, a)
    else:
        cc.dispatch(a.length, lambda kc: add(kc, a, 1))


def test_kernels_are_compiled_before_the_first_dispatch(null: Nulls) -> None:
    a = S32Array.of(range(4))
    compiles_at_start: list[int] = []

    class Probe:
        """Looks at the counts from inside of the compute function."""

        def __bool__(self) -> bool:
            compiles_at_start.append(null.backend.counts["compiles"])
            return True

    probe: Any = Probe()
    null.accelerator.compute(only_if, a, probe)
    assert compiles_at_start == [2]
    assert null.backend.counts["launches"] == 1
    null.accelerator.compute(square_all, a)
    assert null.backend.counts["compiles"] == 2  # one kernel, two compute functions


def test_n_d_arrays_are_compiled_for_each_choice_of_ranks(null: Nulls) -> None:
    one = NDArray[float](np.zeros(4, np.float32))
    two = NDArray[float](np.zeros((2, 2), np.float32))
    for a in (one, two, one, two):
        null.accelerator.compute(dispatch, 1, use_shape, a)
    assert null.backend.counts["compiles"] == 2


@tb.kernel
def use_shape(kc: KernelContext, a: NDArray[f32]) -> None:
    if kc.x < a.shape[0]:
        return


# ------------------------------------------------------------------------------------ changes

FACTOR = 2


class Settings:
    """Constants of a class can be folded, too."""

    OFFSET = 100


@tb.kernel
def use_constants(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = step(a.array[kc.x] * FACTOR) + Settings.OFFSET


@tb.compute
def use_all(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, use_constants, a)


def result(accelerator: Accelerator, compute: Any) -> int:
    a = S32Array.of([1])
    accelerator.compute(compute, a)
    return a.array[0]


def test_constants_that_change_are_noticed(
    accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert result(accelerator, use_all) == 1 * 2 + 3 + 100
    monkeypatch.setattr("tests.runtime.test_compile.FACTOR", 5)
    assert result(accelerator, use_all) == 1 * 5 + 3 + 100
    monkeypatch.setattr(other_kernels, "STEP", 7)
    assert result(accelerator, use_all) == 1 * 5 + 7 + 100
    monkeypatch.setattr(Settings, "OFFSET", 1000)
    assert result(accelerator, use_all) == 1 * 5 + 7 + 1000
    monkeypatch.undo()
    assert result(accelerator, use_all) == 1 * 2 + 3 + 100


def test_constants_of_a_function_around(accelerator: Accelerator) -> None:
    def with_constant(constant: int) -> Any:
        @tb.kernel
        def write(kc: KernelContext, a: S32Array) -> None:
            a.array[kc.x] = constant

        @tb.compute
        def write_all(cc: ComputeContext, a: S32Array) -> None:
            cc.dispatch(a.length, write, a)

        return write_all

    seven, eight = with_constant(7), with_constant(8)
    assert [result(accelerator, one) for one in (seven, eight, seven)] == [7, 8, 7]


@tb.compute
def use_names(cc: ComputeContext, a: S32Array) -> str:
    cc.dispatch(a.length, go_on, a)
    other_kernels.negate_all(cc, a)
    return negate_all(cc, a)


def test_names_that_stand_for_something_else_are_noticed(
    accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a notebook, when the cell with a kernel is run again."""
    assert result(accelerator, use_names) == 1 + 3
    monkeypatch.setattr("tests.runtime.test_compile.go_on", negate)
    assert result(accelerator, use_names) == -1
    monkeypatch.setattr(other_kernels, "negate_all", add_to_all)
    assert result(accelerator, use_names) == -(-1 + 1)
    monkeypatch.setattr("tests.runtime.test_compile.negate_all", square_all)
    assert result(accelerator, use_names) == (-1 + 1) ** 2
    monkeypatch.undo()
    assert result(accelerator, use_names) == 1 + 3


def test_a_helper_that_is_another_one_is_noticed(
    accelerator: Accelerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    @tb.func
    def leap(v: i32) -> i32:
        return v + 50

    assert result(accelerator, use_all) == 1 * 2 + 3 + 100
    monkeypatch.setattr("tests.runtime.test_compile.step", leap)
    assert result(accelerator, use_all) == 1 * 2 + 50 + 100


MODULE = """
import trilby as tb
from trilby import ComputeContext, KernelContext, S32Array

@tb.kernel
def write(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = 41

@tb.compute
def write_all(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, write, a)
"""

NUMBERS = itertools.count()


def load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"edited_{next(NUMBERS)}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_function_edited_since_import_is_refused(
    accelerator: Accelerator, tmp_path: Path
) -> None:
    file = tmp_path / "edited.py"
    file.write_text(MODULE, "utf-8")
    module = load(file)
    file.write_text(MODULE.replace("= 41", "= 4242"), "utf-8")
    a = S32Array.of([1])
    with pytest.raises(SourceError, match="the file changed since it was imported") as caught:
        accelerator.compute(module.write_all, a)
    error = caught.value
    assert error.location is not None
    assert error.location.file == str(file)
    assert error.advice
    assert a.array.tolist() == [1]
    accelerator.compute(load(file).write_all, a)
    assert a.array.tolist() == [4242]


def test_a_function_edited_after_its_first_run_goes_on(
    accelerator: Accelerator, tmp_path: Path
) -> None:
    file = tmp_path / "edited.py"
    file.write_text(MODULE, "utf-8")
    module = load(file)
    assert result(accelerator, module.write_all) == 41
    file.write_text(MODULE.replace("= 41", "= 4242"), "utf-8")
    assert result(accelerator, module.write_all) == 41


# ------------------------------------------------------------------------- what can be seen


def test_the_context_of_an_entry_point() -> None:
    context = analyse_compute(use_names)
    names = [function.name.rpartition(".")[2] for function in context.graph.functions]
    assert names == ["negate_all", "use_names"]
    kernels = [kernel.kernel.name for kernel in context.kernels]
    assert sorted(kernels) == ["go_on", "negate"]
    assert {table.parameters[0].whole for table in context.access} == {AccessMode.BOTH}
    module = "tests.runtime.other_kernels"
    assert set(context.models) == {
        "tests.runtime.test_compile.use_names",
        *(f"{module}.{name}" for name in ("negate_all", "go_on", "negate", "step")),
    }
    text = str(context)
    assert 'compute graph @"tests.runtime.test_compile.use_names"' in text
    assert f'  calls @"{module}.negate_all"' in text
    assert f'  dispatches @"{module}.go_on"' in text
    assert f'kernel graph @"{module}.go_on"\n  calls @"{module}.step"' in text
    assert f'access @"{module}.negate"\n  a : S32Array both\n    array[]: both' in text


def test_two_functions_of_one_name_have_two_symbols() -> None:
    symbols = Symbols[int](lambda number: "even" if number % 2 == 0 else "odd")
    assert [symbols.of(number) for number in (1, 2, 3, 4, 1)] == [
        "odd",
        "even",
        "odd#2",
        "even#2",
        "odd",
    ]
    assert symbols.function("odd#2") == 3


def make(addend: int) -> Any:
    @tb.func
    def plus(v: i32) -> i32:
        return v + addend

    return plus


one, ten = make(1), make(10)


@tb.kernel
def use_both(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = one(a.array[kc.x]) * ten(a.array[kc.x])


@tb.compute
def use_both_all(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, use_both, a)


def test_two_helpers_of_one_name(accelerator: Accelerator) -> None:
    assert result(accelerator, use_both_all) == (1 + 1) * (1 + 10)


# -------------------------------------------------------------------------------------- ranks


@tb.func
def corner(a: NDArray[f32]) -> f32:
    return a[0, 1]


@tb.kernel
def through_helper(kc: KernelContext, a: NDArray[f32], out: NDArray[f32]) -> None:
    out[kc.x] = corner(a)


@tb.kernel
def through_alias(kc: KernelContext, a: NDArray[f32], out: NDArray[f32]) -> None:
    b = a
    out[kc.x] = b[0, 1]


@tb.kernel
def only_shape(kc: KernelContext, a: NDArray[f32], out: NDArray[f32]) -> None:
    out[kc.x] = f32(a.shape[1])


@tb.compute
def all_three(cc: ComputeContext, a: NDArray[f32], out: NDArray[f32], which: int) -> None:
    if which == 0:
        cc.dispatch(1, through_helper, a, out)
    elif which == 1:
        cc.dispatch(1, through_alias, a, out)
    else:
        cc.dispatch(1, only_shape, a, out)


@pytest.mark.parametrize(("which", "expected"), [(0, 5.0), (1, 5.0), (2, 3.0)])
def test_a_rank_that_cannot_be_guessed_refuses_nothing(
    which: int, expected: float, accelerator: Accelerator
) -> None:
    a = accelerator.array(np.array([[4, 5, 6]], np.float32))
    out = accelerator.array(np.zeros(1, np.float32))
    accelerator.compute(all_three, a, out, which)
    assert out.tolist() == [expected]


def test_a_kernel_that_is_wrong_for_all_ranks_is_refused() -> None:
    with pytest.raises(KernelTypeError, match="2 indices"):
        analyse_kernel(contradiction)


@tb.kernel
def contradiction(kc: KernelContext, a: NDArray[f32]) -> None:
    a[kc.x] = a[0, 1]


def test_ranks_that_are_given_are_taken() -> None:
    analysed = analyse_kernel(plus_one, (1, 1))
    assert [str(param.type) for param in analysed.signature.params[1:]] == [
        "NDArray<f32, 1>",
        "NDArray<f32, 1>",
    ]
    with pytest.raises(KernelTypeError):
        analyse_kernel(plus_one, (2, 1))


@tb.func
def one_more(n: i32) -> i32:
    return n + 1


@tb.func
def two_more(n: i32) -> i32:
    return one_more(one_more(n))


@tb.func
def only_on_the_host(name: str) -> i32:
    return len(name)


@tb.func
def mean_of(rows: NDArray[f32], at: i32) -> f32:
    return (rows[at, 0] + rows[at, 1]) / 2


@tb.compute
def calls_device_functions(cc: ComputeContext, rows: NDArray[f32], name: str) -> list[float]:
    cc.get(rows)
    size = two_more(only_on_the_host(name))
    return [mean_of(rows, size) for _ in range(1)]


def test_device_functions_that_a_compute_function_calls_are_in_its_graph() -> None:
    context = analyse_compute(calls_device_functions)
    found = [f.name for f in context.graph.device_functions]
    assert found == [one_more.symbol, two_more.symbol, f"{mean_of.symbol}[2]"]
    text = str(context)
    assert f'calls @"{two_more.symbol}"' in text
    assert f'call %0 @"{one_more.symbol}"' in text
    assert f'func @"{one_more.symbol}"' in context.models[one_more.symbol]
    with Accelerator("interpreter") as accelerator:
        rows = accelerator.array(np.arange(8, dtype=np.float32).reshape(4, 2))
        assert accelerator.compute(calls_device_functions, rows, "a") == [6.5]


def test_a_compute_function_that_calls_none_has_none() -> None:
    assert analyse_compute(square_all).graph.device_functions == ()

"""The texts that a function becomes."""

import pytest
from tests.runtime.programs import (
    dispatch,
    plus_one,
    square,
    square_all,
    square_kernel,
    where_3d,
)
from tests.runtime.test_handoff import outer, raised
from tests.runtime.test_transforms import adding
from tests.transform.golden_tracking import mandel

from trilby.errors import ArgumentValueError, KernelTypeError
from trilby.reflect.functions import Reflectable
from trilby.runtime.compile import analyse_kernel
from trilby.tools.emit import TARGETS, emit


@pytest.mark.parametrize("target", TARGETS)
def test_a_kernel_for_every_target(target: str) -> None:
    text = emit(square_kernel, target, ranks=None, lines=False)
    assert "square_kernel" in text
    assert text == emit(square_kernel, target, ranks=None, lines=False)  # the same every time


def test_lines_can_be_left_out() -> None:
    assert "#line" in emit(square_kernel, "opencl", ranks=None, lines=True)
    assert "#line" not in emit(square_kernel, "opencl", ranks=None, lines=False)
    for target in ("llvm", "asm"):
        assert "programs.py:" in emit(square_kernel, target, ranks=None, lines=True)
        assert "programs.py" not in emit(square_kernel, target, ranks=None, lines=False)
    assert "programs.py" in emit(square_kernel, "model", ranks=None, lines=True)
    assert "programs.py" not in emit(square_kernel, "model", ranks=None, lines=False)
    assert "programs.py" in emit(square_all, "model", ranks=None, lines=True)
    assert "programs.py" not in emit(square_all, "model", ranks=None, lines=False)


def test_a_compute_function_shows_its_kernels() -> None:
    kernel = emit(square_kernel, "opencl", ranks=None, lines=False)
    assert emit(square_all, "opencl", ranks=None, lines=False) == kernel
    model = emit(square_all, "model", ranks=None, lines=False)
    assert model.index("compute @") < model.index("func @") < model.index("kernel @")


def test_the_access_table() -> None:
    text = emit(plus_one, "access", ranks=None, lines=True)
    assert text == str(analyse_kernel(plus_one).access)
    assert [line.split()[-1] for line in text.splitlines() if " : " in line] == ["reads", "writes"]


def test_ranks() -> None:
    given = emit(where_3d, "model", ranks=(3,), lines=False)
    assert given == emit(where_3d, "model", ranks=None, lines=False)
    assert "NDArray<i32, 3>" in given
    with pytest.raises(KernelTypeError, match="3 indices"):
        emit(where_3d, "model", ranks=(2,), lines=False)


@pytest.mark.parametrize(
    ("function", "ranks", "problem"),
    [
        (plus_one, (1,), r"takes 2 n-d arrays \(a, b\), and 1 ranks are given"),
        (plus_one, (1, 1, 1), r"takes 2 n-d arrays \(a, b\), and 3 ranks are given"),
        (square_kernel, (1,), "takes no n-d arrays, and 1 ranks are given"),
        (square_all, (1,), "is a compute function, and ranks belong to kernels"),
    ],
)
def test_ranks_that_nobody_needs(function: object, ranks: tuple[int, ...], problem: str) -> None:
    with pytest.raises(ArgumentValueError, match=problem):
        emit(function, "opencl", ranks=ranks, lines=True)  # pyright: ignore[reportArgumentType] -- all are decorated


def model_after(function: Reflectable, name: str) -> str:
    return emit(function, "model", ranks=None, lines=False, after=name)


def test_a_kernel_after_a_transform() -> None:
    before = emit(square_kernel, "model", ranks=None, lines=False)
    inlined = model_after(square_kernel, "inline_calls")
    assert "call %3" in before
    assert "inlined @" in inlined
    assert "func @" not in inlined
    assert model_after(square_kernel, "forward_variables") == inlined
    assert model_after(square_kernel, "inject_tracking") == before  # it is for compute functions
    assert "loc(" in emit(square_kernel, "model", ranks=None, lines=True, after="inline_calls")


@pytest.mark.parametrize(
    ("function", "name", "has"),
    [
        (mandel, "inject_tracking", "track.pre_access"),
        (mandel, "place_transfers", "transfer.to_device"),
        (square_all, "inline_calls", "inlined @"),
    ],
)
def test_a_compute_function_after_a_transform(function: Reflectable, name: str, has: str) -> None:
    text = model_after(function, name)
    assert has in text
    assert text.index("compute @") < text.index("kernel @")
    assert has not in emit(function, "model", ranks=None, lines=False)


def test_transforms_of_users_come_first() -> None:
    def changed(function: Reflectable, target: str, after: str | None = None) -> str:
        transforms = [adding]
        return emit(function, target, ranks=None, lines=False, transforms=transforms, after=after)

    assert "mul" in emit(square_kernel, "model", ranks=None, lines=False)
    for after in (None, "adding", "inline_calls"):
        text = changed(square_all, "model", after)
        assert "mul" not in text
        assert "add %" in text
    assert "v * v" not in changed(square_kernel, "opencl")


def test_a_transform_that_is_not_there() -> None:
    with pytest.raises(ArgumentValueError, match="there is no transform `unroll`") as unknown:
        model_after(square_kernel, "unroll")
    assert "inline_calls, forward_variables" in unknown.value.advice
    with pytest.raises(ArgumentValueError, match="`opencl` is not a model"):
        emit(square_kernel, "opencl", ranks=None, lines=False, after="inline_calls")


def test_device_functions_of_a_compute_function_are_in_its_model() -> None:
    text = emit(outer, "model", ranks=None, lines=False)
    assert f'func @"{raised.symbol}"' in text


def test_what_cannot_be_shown() -> None:
    with pytest.raises(ArgumentValueError, match="there is no target `basic`") as target:
        emit(square_kernel, "basic", ranks=None, lines=True)
    assert target.value.advice == "use one of opencl, llvm, asm, model, access"
    with pytest.raises(ArgumentValueError, match=r"`square` is a @tb\.func"):
        emit(square, "opencl", ranks=None, lines=True)
    with pytest.raises(ArgumentValueError, match="dispatches no kernel that is known"):
        emit(dispatch, "opencl", ranks=None, lines=True)
    assert "host.value" in emit(dispatch, "model", ranks=None, lines=True)

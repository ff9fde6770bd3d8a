"""The limits of constant memory, on a device that has small ones."""

from dataclasses import replace

import numpy as np
import pytest
from tests.runtime.conftest import with_backend

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, S32Array, i32
from trilby.backend.null import DEVICE, NullBackend
from trilby.errors import ArgumentTypeError, ArgumentValueError, MissingFeatureError


@tb.kernel
def look_up(kc: KernelContext, palette: tb.Constant[S32Array], out: S32Array) -> None:
    out.array[kc.x] = palette.array[0]


@tb.compute
def look_up_all(cc: ComputeContext, palette: S32Array, out: S32Array) -> None:
    cc.dispatch(out.length, look_up, palette, out)


@tb.kernel
def many(
    kc: KernelContext,
    a: tb.Constant[NDArray[i32]],
    b: tb.Constant[NDArray[i32]],
    c: tb.Constant[NDArray[i32]],
) -> None:
    pass


@tb.compute
def run_many(cc: ComputeContext, a: NDArray[i32]) -> None:
    cc.dispatch(1, many, a, a, a)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Accelerator:
    backend = NullBackend()
    backend.device = replace(DEVICE, name="Small GPU", constant_bytes=64, constant_arguments=2)
    return with_backend(monkeypatch, backend)


def test_a_buffer_that_is_too_large_is_refused_with_figures(small: Accelerator) -> None:
    out = S32Array.create(length=4)
    small.compute(look_up_all, S32Array.create(length=15), out)
    with pytest.raises(ArgumentValueError) as caught:
        small.compute(look_up_all, S32Array.create(length=16), out)
    assert caught.value.problem == (
        "`palette` has 68 bytes, and a buffer in the constant memory of Small GPU has at most 64"
    )
    assert caught.value.advice == ("declare it `palette: S32Array`: it then lies in global memory")
    assert caught.value.location is not None
    assert caught.value.location.line == look_up_all.location.line + 2


def test_other_buffers_may_have_any_size(small: Accelerator) -> None:
    small.compute(look_up_all, S32Array.create(length=1), S32Array.create(length=1000))


def test_too_many_constant_buffers_are_refused(small: Accelerator) -> None:
    with pytest.raises(MissingFeatureError) as caught:
        small.compute(run_many, small.array(np.zeros(1, np.int32)))
    assert caught.value.problem == (
        "`many` has 3 buffers in constant memory (a, b, c), and Small GPU takes 2"
    )


def test_devices_without_limits_take_anything(interpreter: Accelerator) -> None:
    assert interpreter.device.constant_bytes == 0
    interpreter.compute(run_many, interpreter.array(np.zeros(100_000, np.int32)))


def test_the_limits_of_opencl_are_those_of_the_driver() -> None:
    with Accelerator("opencl") as opened:
        # What OpenCL 1.2 promises at least.
        assert opened.device.constant_bytes >= 64 * 1024
        assert opened.device.constant_arguments >= 8


def test_a_launch_may_not_write_what_it_reads_as_constant(accelerator: Accelerator) -> None:
    numbers = S32Array.of([1, 2, 3])
    with pytest.raises(ArgumentValueError) as caught:
        accelerator.compute(look_up_all, numbers, numbers)
    assert caught.value.problem == (
        "`palette` and `out` are one buffer, and the kernel writes to it while it lies in "
        "constant memory"
    )
    assert np.asarray(numbers).tolist() == [1, 2, 3]


def test_a_wrong_argument_is_told_without_the_memory(accelerator: Accelerator) -> None:
    numbers = S32Array.create(length=1)
    wrong: list[object] = [[1, 2, 3]]
    with pytest.raises(ArgumentTypeError, match="takes `S32Array` for `palette`") as caught:
        accelerator.compute(lambda cc: look_up_all(cc, wrong[0], numbers))  # pyright: ignore[reportArgumentType] -- on purpose
    assert caught.value.advice == "copy it into a buffer: `S32Array.of(…)`"

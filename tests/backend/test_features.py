"""Kernels that a device cannot run are refused before anything is built."""

from dataclasses import replace

import pytest
from tests.runtime.conftest import with_backend

import trilby as tb
from trilby import (
    ComputeContext,
    F32Array,
    F64Array,
    KernelContext,
    S64Array,
    f32,
    i32,
)
from trilby.backend.base import DeviceInfo
from trilby.backend.null import DEVICE, NullBackend
from trilby.errors import DeviceError, MissingFeatureError
from trilby.reflect.functions import Kernel
from trilby.runtime.compile import analyse_kernel, check_features

NO_FEATURES = replace(DEVICE, name="Small GPU", features=frozenset[str]())


@tb.func
def half(n: i32) -> f32:
    return f32(n * 0.5)


@tb.kernel
def halves(kc: KernelContext, a: F32Array) -> None:
    a.array[kc.x] = half(kc.x)


@tb.kernel
def doubles(kc: KernelContext, a: F64Array) -> None:
    a.array[kc.x] = 1.0


@tb.kernel
def counts(kc: KernelContext, a: S64Array) -> None:
    tb.atomic_add(a.array, kc.x, 1)


@tb.kernel
def plain(kc: KernelContext, a: F32Array) -> None:
    a.array[kc.x] = f32(kc.x) * 0.5


def refused(kernel: Kernel[...], device: DeviceInfo = NO_FEATURES) -> str:
    with pytest.raises(MissingFeatureError) as caught:
        check_features(analyse_kernel(kernel).graph, device)
    assert isinstance(caught.value, DeviceError)
    return str(caught.value)


def test_the_error_names_the_device_the_line_and_the_reason() -> None:
    line = half.location.line + 2
    called = halves.location.line + 2
    assert refused(halves) == (
        f"{__file__}:{line}: Small GPU has no `f64`, and `i32 * 0.5` is `f64`, as in NumPy\n"
        f"  {line} | return f32(n * 0.5)\n"
        f"  {' ' * len(str(line))} |            ^^^^^^^\n"
        f"  in `half`, called at {__file__}:{called}\n"
        "  help: write `f32(…)` around the integer; or use a device that has it: `trilby "
        "devices` lists them"
    )


def test_a_parameter_is_reason_enough() -> None:
    assert "Small GPU has no `f64`, and the parameter `a` is `F64Array`" in refused(doubles)


def test_atomics_on_64_bits_are_a_feature_of_their_own() -> None:
    text = "Small GPU has no atomics on 64 bits, and an `i64` is changed in one step"
    assert text in refused(counts)
    assert text in refused(counts, replace(NO_FEATURES, features=frozenset({"f64", "f16"})))
    check_features(
        analyse_kernel(counts).graph, replace(NO_FEATURES, features=frozenset({"i64_atomics"}))
    )


@pytest.mark.parametrize("kernel", [halves, doubles, counts])
def test_a_device_with_everything_takes_everything(kernel: Kernel[...]) -> None:
    check_features(analyse_kernel(kernel).graph, DEVICE)


def test_kernels_that_need_nothing_run_anywhere() -> None:
    check_features(analyse_kernel(plain).graph, NO_FEATURES)


@tb.compute
def fill(cc: ComputeContext, a: F32Array) -> None:
    cc.dispatch(a.length, halves, a)


def test_nothing_is_built_and_nothing_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = NullBackend()
    backend.device = NO_FEATURES
    accelerator = with_backend(monkeypatch, backend)
    with pytest.raises(MissingFeatureError, match="Small GPU"):
        accelerator.compute(fill, F32Array.create(length=3))
    assert (backend.counts["compiles"], backend.counts["allocations"]) == (0, 0)

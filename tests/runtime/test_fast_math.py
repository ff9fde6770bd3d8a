"""`Accelerator(fast_math=True)`: products are fused with sums, and nothing else changes."""

from fractions import Fraction

import numpy as np
import pytest
from tests.conformance.running import Numbers, filled

import trilby as tb
from trilby import Accelerator, KernelContext, NDArray, f32
from trilby.analysis.reach import KernelGraph
from trilby.backend.native.device import NativeBackend
from trilby.backend.registry import open_backend
from trilby.codegen import opencl_c
from trilby.runtime.compile import analyse_kernel


@tb.kernel
def product_and_sum(
    kc: KernelContext, out: NDArray[f32], a: NDArray[f32], b: NDArray[f32], c: NDArray[f32]
) -> None:
    out[kc.x] = a[kc.x] * b[kc.x] + c[kc.x]


def graph() -> KernelGraph:
    return analyse_kernel(product_and_sum, (1, 1, 1, 1)).graph


def numbers() -> tuple[Numbers, Numbers, Numbers]:
    """Products that nearly cancel, so that one rounding less is seen."""
    random = np.random.default_rng(4)
    a, b = (random.uniform(1, 2, 101).astype(np.float32) for _ in range(2))
    return a, b, -(a * b)


@pytest.mark.parametrize("device", ["interpreter", "native", "opencl"])
def test_results_stay_near(device: str) -> None:
    a, b, _ = numbers()
    with Accelerator(device, fast_math=True) as accelerator:
        found = filled(accelerator, a.size, product_and_sum, np.zeros_like(a), a, b, a)
    assert np.allclose(found, a * b + a, rtol=1e-6)


def test_the_processor_rounds_once_if_it_may() -> None:
    a, b, c = numbers()
    rows = zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    exact = [float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z in rows]
    found: list[list[float]] = []
    for fast in (False, True):
        with Accelerator("native", fast_math=fast) as accelerator:
            out = filled(accelerator, a.size, product_and_sum, np.zeros_like(a), a, b, c)
            found.append(out.tolist())
    assert found[0] == [0.0] * len(exact)
    backend = open_backend("native").backend
    assert isinstance(backend, NativeBackend)
    if "fma" in backend.target.features:
        assert found[1] == exact


@pytest.mark.parametrize("fast", [False, True])
def test_the_code_of_the_processor_fuses(fast: bool) -> None:  # noqa: FBT001 -- a parameter
    backend = open_backend("native").backend
    assert isinstance(backend, NativeBackend)
    source = backend.compile(graph(), fast_math=fast)().source
    assert ("fmul contract" in source) is fast
    if "fma" in backend.target.features:
        assert ("vfmadd" in backend.assembly(graph(), lines=False, fast_math=fast)) is fast


def test_opencl_may_fuse_if_asked() -> None:
    assert "FP_CONTRACT OFF" in opencl_c.generate(graph()).text
    assert "FP_CONTRACT ON" in opencl_c.generate(graph(), fuses=True).text

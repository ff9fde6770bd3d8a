"""Numbers that are evenly spaced: picked out of vectors, with nothing read beyond the last one."""

import ctypes
import mmap
from typing import Any

import numpy as np
import pytest
from tests.codegen.llvm_run import call, compiled, host_target, run_llvm
from tests.codegen.running import graph_of
from tests.reflect.kernel_cases import kernel

from trilby.backend.native.modules import generated as generate


def spaced(step: int, first: int, type_: str = "f32") -> Any:
    """A kernel that reads every `step`-th number and puts them three apart."""
    return kernel(
        f"@tb.kernel\n"
        f"def k(kc: KernelContext, out: NDArray[{type_}], a: NDArray[{type_}]) -> None:\n"
        f"    out[kc.x * 3 + 1] = a[kc.x * {step} + {first}]\n"
    )


@pytest.mark.parametrize("width", [128, 256, 512])
@pytest.mark.parametrize("type_", ["f32", "f64", "u8", "i16"])
@pytest.mark.parametrize("step", [2, 3, 4, 5, 7])
def test_every_so_many_numbers(step: int, type_: str, width: int) -> None:
    dtype = {"f32": "f4", "f64": "f8", "u8": "u1", "i16": "i2"}[type_]
    count = 77
    a = np.random.default_rng(1).integers(0, 200, count * step).astype(dtype)
    out = np.zeros(3 * count, dtype)
    made = spaced(step, step - 1, type_)
    found = run_llvm(made, count, out, a, target=host_target(width))[0]
    out[1::3] = a[step - 1 :: step]
    assert np.array_equal(found, out)


@pytest.mark.parametrize("width", [128, 256])
def test_backwards(width: int) -> None:
    a = np.arange(100, dtype=np.float32)
    made = spaced(-1, 99)
    out = np.zeros(300, np.float32)
    found = run_llvm(made, 100, out, a, target=host_target(width))[0]
    out[1::3] = a[::-1]
    assert np.array_equal(found, out)


@pytest.mark.parametrize("step", [2, 3, 4])
def test_steps_have_neither_gathers_nor_scatters(step: int) -> None:
    text = generate(graph_of(spaced(step, 0), (1, 1)), host_target(256)).text
    whole = text.split("rest")[0]
    assert "shufflevector" in whole
    assert "gather" not in whole[whole.index("define") :]
    assert "scatter" not in whole[whole.index("define") :]


@pytest.mark.parametrize("step", [-1, 2, 3, 4, 5])
def test_nothing_is_read_outside_of_the_array(step: int) -> None:
    """The array fills whole pages, and its neighbours cannot be read."""
    page = mmap.PAGESIZE
    count = page // 4
    area = mmap.mmap(-1, 3 * page)
    whole = np.frombuffer(area, np.float32)
    items = count if step == -1 else (count - 1) // step + 1
    first = count - 1 if step == -1 else (count - 1) % step
    inner = whole[count : 2 * count]
    inner[:] = np.arange(count)
    protect = [(0, page), (2 * page, page)]
    libc = ctypes.CDLL(None, use_errno=True)
    base = whole.ctypes.data
    out = np.zeros(3 * items, np.float32)
    graph = graph_of(spaced(step, first), (1, 1))
    built = compiled(graph, host_target(256))
    try:
        for start, size in protect:
            pointer = ctypes.c_void_p(base + start)
            assert libc.mprotect(pointer, size, 0) == 0
        call(built, graph, items, [out, inner])
    finally:
        for start, size in protect:
            pointer = ctypes.c_void_p(base + start)
            libc.mprotect(pointer, size, mmap.PROT_READ | mmap.PROT_WRITE)
    expected = np.arange(count)[::-1] if step == -1 else np.arange(first, count, step)
    assert np.array_equal(out[1::3], expected)

"""Footprints against what kernels really do, byte by byte, on the interpreter."""

import linecache
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from tests.analysis.footprint_programs import kernel_text
from tests.analysis.recorded_accesses import Launched, launched, watching
from tests.analysis.test_footprint import HELPERS, LENGTH, PARAMS, READS, WRITES, N, W
from tests.property.kernel_programs import Program, programs
from tests.property.kernel_running import forget, outcome
from tests.property.kernel_running import load as load_program
from tests.reflect.kernel_cases import indented, kernel, load

from trilby import Accelerator
from trilby.data.ndrange import NDRange
from trilby.errors import KernelTypeError
from trilby.reflect.functions import Kernel
from trilby.runtime.compile import analyse_kernel

YES = True
IS_SEARCH = not settings().derandomize
SIZES = ((7,), (8,), (12,), (6, 3), (4, 4), (5, 2, 2))


# -- kernels whose sets are known


def launch(lines: str, *, local: int | None = None) -> Launched:
    """A kernel of the tables, on data that takes it through all of its branches."""
    source = f"{HELPERS}\n@tb.kernel\ndef k(kc: KernelContext, {PARAMS}):\n{indented(lines)}"
    graph = analyse_kernel(kernel(source), (1, 1)).graph
    a = np.arange(LENGTH, dtype=np.int32) % 3
    b = np.array([1, 0, 2, 4, 3, 1, 0, 5, 2, 1, 6, 3], np.int32)
    return launched(graph, NDRange(6, local), a, b, N, W, YES)


@pytest.mark.parametrize("lines", [lines for lines, *_ in (*READS, *WRITES)])
def test_tables_are_true(lines: str) -> None:
    assert launch(lines).problems() == []
    assert launch(lines, local=4).problems() == []


# -- kernels as programs have them

EXACT: dict[str, tuple[str, str, tuple[Any, ...], tuple[int, ...]]] = {
    "saxpy": (
        "y: NDArray[f32], x: NDArray[f32], a: f32, n: i32",
        "if kc.x < n:\n    y[kc.x] = a * x[kc.x] + y[kc.x]",
        (np.ones(20, np.float32), np.ones(20, np.float32), 2.0, 13),
        (16,),
    ),
    "life": (
        "of: NDArray[u8], to: NDArray[u8], w: i32, h: i32",
        """
        x = kc.x % w
        y = kc.x // w
        if x > 0 and x < w - 1 and y > 0 and y < h - 1:
            count = 0
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    count += of[(y + dy) * w + x + dx]
            to[y * w + x] = u8(1) if count == 3 else u8(0)
        """,
        (np.ones(35, np.uint8), np.zeros(35, np.uint8), 7, 5),
        (35,),
    ),
    "jacobi": (
        "a: NDArray[f32], b: NDArray[f32]",
        """
        x = kc.x + 1
        y = kc.y + 1
        b[y, x] = a[y, x] + a[y, x - 1] + a[y, x + 1] + a[y - 1, x] + a[y + 1, x]
        """,
        (np.ones((6, 8), np.float32), np.ones((6, 8), np.float32)),
        (6, 4),
    ),
    "matrix product": (
        "a: NDArray[f32], b: NDArray[f32], c: NDArray[f32]",
        """
        if kc.y >= c.shape[0] or kc.x >= c.shape[1]:
            return
        total = 0.0
        for k in range(a.shape[1]):
            total += a[kc.y, k] * b[k, kc.x]
        c[kc.y, kc.x] = f32(total)
        """,
        (np.ones((5, 3), np.float32), np.ones((3, 7), np.float32), np.ones((5, 7), np.float32)),
        (8, 8),
    ),
    "transposed": (
        "a: NDArray[i32], b: NDArray[i32]",
        "b[kc.x, kc.y] = a[kc.y, kc.x]",
        (np.ones((4, 6), np.int32), np.ones((6, 4), np.int32)),
        (6, 4),
    ),
    "one row of a table": (
        "wall: NDArray[i32], src: NDArray[i32], dst: NDArray[i32], row: i32",
        """
        x = kc.x
        best = src[x]
        if x > 0:
            best = min(best, src[x - 1])
        if x < wall.shape[1] - 1:
            best = min(best, src[x + 1])
        dst[x] = best + wall[row, x]
        """,
        (np.ones((5, 9), np.int32), np.ones(9, np.int32), np.ones(9, np.int32), 3),
        (9,),
    ),
    "several elements for each item": (
        "a: NDArray[i32], n: i32",
        "for j in range(n):\n    a[kc.x * n + j] = j",
        (np.ones(24, np.int32), 4),
        (5,),
    ),
    "every second": (
        "a: NDArray[i32], b: NDArray[i32]",
        "a[2 * kc.x] = b[2 * kc.x + 1]",
        (np.ones(16, np.int32), np.ones(16, np.int32)),
        (7,),
    ),
    "backwards": (
        "a: NDArray[i32], b: NDArray[i32]",
        "a[a.shape[0] - 1 - kc.x] = b[kc.x]",
        (np.ones(16, np.int32), np.ones(16, np.int32)),
        (9,),
    ),
    "the border": (
        "a: NDArray[i32]",
        """
        if kc.x == 0 or kc.y == 0 or kc.x == a.shape[1] - 1 or kc.y == a.shape[0] - 1:
            a[kc.y, kc.x] = 0
        """,
        (np.ones((5, 6), np.int32),),
        (6, 5),
    ),
    "a flat index of three": (
        "a: NDArray[i32], w: i32, h: i32",
        """
        z = kc.x // (w * h)
        y = kc.x // w % h
        x = kc.x % w
        if z > 0 and y < h - 1 and x != 1:
            a[z, y, x] = 1
        """,
        (np.ones((3, 4, 5), np.int32), 5, 4),
        (60,),
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_affine_kernels_are_exact(name: str) -> None:
    params, lines, arguments, size = EXACT[name]
    source = f"@tb.kernel\ndef k(kc: KernelContext, {params}):\n{indented(lines)}"
    ranks = tuple(one.ndim for one in arguments if isinstance(one, np.ndarray))
    found = launched(analyse_kernel(kernel(source), ranks).graph, size, *arguments)
    assert found.error is None
    assert found.problems() == []
    assert found.is_exact()


# -- random kernels


@settings(max_examples=settings().max_examples if IS_SEARCH else 60)
@given(seed=st.integers(0, 2**64 - 1))
def test_footprints_of_random_kernels_hold(seed: int) -> None:
    random = Random(seed)  # noqa: S311 -- nothing secret
    text = kernel_text(random)
    module = load(text)
    made = next(thing for thing in module.values() if isinstance(thing, Kernel))
    try:
        graph = analyse_kernel(made, (1, 2)).graph
    except KernelTypeError:  # by chance an index is a constant, and below zero
        reject()
    for _ in range(2):
        size = random.choice(SIZES)
        local = tuple(random.randint(1, 4) for _ in size) if random.random() < 0.4 else None
        arguments = _arguments(random, module)
        found = launched(graph, NDRange(size, local), *arguments)
        told = f"{text}\n\n{size} {local} {arguments[-4:]} {found.error}"
        assert found.problems() == [], told
    linecache.cache.pop("app.py", None)


def _arguments(random: Random, module: dict[str, Any]) -> tuple[Any, ...]:
    rng = np.random.default_rng(random.randint(0, 2**32))
    return (
        module["S32Array"].create(length=random.choice([500, 430])),
        module["S32Array"].create(length=500),
        rng.integers(-2, 12, 500).astype(np.int32),
        np.zeros((random.choice([40, 31]), 33), np.float32),
        module["Table"].create(length=150),
        random.randint(0, 7),
        random.randint(1, 6),
        random.random() < 0.5,
        random.choice([0, 3, 250]),
    )


@settings(max_examples=settings().max_examples if IS_SEARCH else 15)
@given(program=programs())
def test_footprints_of_random_programs_hold(program: Program) -> None:
    """Programs that are made to try out the language: vectors, structs, local memory, groups."""
    module = load_program(program.text)
    with Accelerator("interpreter", poison=True) as accelerator, watching({}) as found:
        outcome(program, accelerator, module)
    forget(module)
    assert found
    assert [problem for one in found for problem in one.problems()] == [], program.text

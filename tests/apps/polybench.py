"""Three programs of PolyBench: a stencil, chained products of matrices, and covariance."""

from typing import NamedTuple

import numpy as np
from tests.apps.program import Bytes, Copies, Numbers, Outcome, Program, floats, junk

import trilby as tb
from trilby import Accelerator, ComputeContext, F32Array, F32Array2D, KernelContext, NDArray, f32

# ------------------------------------------------------------------------------ jacobi-2d

SIZE = 12
STEPS = 5
CORNERS = 4
"""A star of five points never reaches them."""


class Planes(NamedTuple):
    a: F32Array2D
    b: F32Array2D


@tb.kernel
def average(kc: KernelContext, a: F32Array2D, b: F32Array2D) -> None:
    y, x = kc.y, kc.x
    if 0 < y < a.height - 1 and 0 < x < a.width - 1:
        around = a.array[y - 1, x] + a.array[y + 1, x] + a.array[y, x - 1] + a.array[y, x + 1]
        b.array[y, x] = 0.2 * (a.array[y, x] + around)


@tb.kernel
def copy_inside(kc: KernelContext, b: F32Array2D, a: F32Array2D) -> None:
    y, x = kc.y, kc.x
    if 0 < y < a.height - 1 and 0 < x < a.width - 1:
        a.array[y, x] = b.array[y, x]


@tb.compute
def jacobi(cc: ComputeContext, a: F32Array2D, b: F32Array2D, steps: int) -> None:
    size = a.width, a.height
    for _ in range(steps):
        cc.dispatch(size, lambda kc: average(kc, a, b))
        cc.dispatch(size, lambda kc: copy_inside(kc, b, a))


def plane(offset: int) -> Numbers:
    y, x = np.mgrid[:SIZE, :SIZE]
    return ((y * (x + offset) + offset) / SIZE).astype(np.float32)


def make_planes(_: Accelerator) -> Planes:
    return Planes(F32Array2D.of(plane(2)), F32Array2D.of(plane(3)))


def run_jacobi(accelerator: Accelerator, planes: Planes) -> Outcome:
    accelerator.compute(jacobi, planes.a, planes.b, STEPS)
    return [np.asarray(planes.a)]


def jacobi_reference() -> Outcome:
    a = plane(2).astype(np.float64)
    for _ in range(STEPS):
        around = a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
        a[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + around)
    return [a]


JACOBI = Program(
    "jacobi-2d",
    "T×{k1 R A w B interior; k2 R B w A interior}; H R A",
    make_planes,
    run_jacobi,
    jacobi_reference,
    minimal=Copies(1, 1),
    naive=Copies(4 * STEPS, 4 * STEPS),
    moved=Bytes(4 * (SIZE * SIZE - CORNERS), 4 * (SIZE - 2) ** 2),
    beside=4 * CORNERS,
    tolerance=1e-5,
)

# ------------------------------------------------------------------------------------ 3mm

ROWS, INNER, COLUMNS = 6, 7, 8


class Matrices(NamedTuple):
    a: NDArray[f32]
    b: NDArray[f32]
    c: NDArray[f32]
    d: NDArray[f32]
    e: NDArray[f32]
    f: NDArray[f32]
    g: NDArray[f32]


@tb.kernel
def multiply(
    kc: KernelContext, left: NDArray[f32], right: NDArray[f32], product: NDArray[f32]
) -> None:
    total: f32 = 0.0
    for k in range(left.shape[1]):
        total += left[kc.y, k] * right[k, kc.x]
    product[kc.y, kc.x] = total


@tb.compute
def product_of(
    cc: ComputeContext, left: NDArray[f32], right: NDArray[f32], product: NDArray[f32]
) -> None:
    size = product.shape[1], product.shape[0]
    cc.dispatch(size, lambda kc: multiply(kc, left, right, product))


@tb.compute
def three_products(cc: ComputeContext, m: Matrices) -> None:
    product_of(cc, m.a, m.b, m.e)
    product_of(cc, m.c, m.d, m.f)
    product_of(cc, m.e, m.f, m.g)


def factors() -> list[Numbers]:
    shapes = (ROWS, INNER), (INNER, COLUMNS), (COLUMNS, INNER), (INNER, ROWS)
    return [floats(20 + number, *shape) for number, shape in enumerate(shapes)]


def make_matrices(accelerator: Accelerator) -> Matrices:
    results = junk(ROWS, COLUMNS), junk(COLUMNS, ROWS), junk(ROWS, ROWS)
    return Matrices(*(accelerator.array(matrix) for matrix in (*factors(), *results)))


def run_three_products(accelerator: Accelerator, m: Matrices) -> Outcome:
    accelerator.compute(lambda cc: three_products(cc, m))
    return [np.asarray(m.g)]


def three_products_reference() -> Outcome:
    a, b, c, d = (factor.astype(np.float64) for factor in factors())
    return [(a @ b) @ (c @ d)]


THREE_PRODUCTS = Program(
    "3mm",
    "k R A, B W E; k R C, D W F; k R E, F W G; H R G",
    make_matrices,
    run_three_products,
    three_products_reference,
    minimal=Copies(4, 1),
    naive=Copies(9, 9),
    tolerance=1e-5,
)

# ----------------------------------------------------------------------------- covariance

SAMPLES, VARIABLES = 10, 7


class Statistics(NamedTuple):
    data: F32Array2D
    mean: F32Array
    symmetric: F32Array2D


@tb.kernel
def find_means(kc: KernelContext, data: F32Array2D, mean: F32Array) -> None:
    total: f32 = 0.0
    for i in range(data.height):
        total += data.array[i, kc.x]
    mean.array[kc.x] = total / f32(data.height)


@tb.kernel
def centre(kc: KernelContext, mean: F32Array, data: F32Array2D) -> None:
    data.array[kc.y, kc.x] -= mean.array[kc.x]


@tb.kernel
def correlate(kc: KernelContext, data: F32Array2D, symmetric: F32Array2D) -> None:
    """One variable with itself and with all that follow, written to both halves."""
    for other in range(kc.x, symmetric.width):
        total: f32 = 0.0
        for i in range(data.height):
            total += data.array[i, kc.x] * data.array[i, other]
        symmetric.array[kc.x, other] = total
        symmetric.array[other, kc.x] = total


@tb.compute
def covariance(cc: ComputeContext, statistics: Statistics) -> None:
    data, mean, symmetric = statistics
    cc.dispatch(mean.length, find_means, data, mean)
    cc.dispatch((data.width, data.height), centre, mean, data)
    cc.dispatch(mean.length, correlate, data, symmetric)


def samples() -> Numbers:
    return floats(30, SAMPLES, VARIABLES)


def make_statistics(accelerator: Accelerator) -> Statistics:
    return Statistics(
        F32Array2D.of(samples()),
        F32Array.create(accelerator, length=VARIABLES),
        F32Array2D.create(accelerator, width=VARIABLES, height=VARIABLES),
    )


def run_covariance(accelerator: Accelerator, statistics: Statistics) -> Outcome:
    accelerator.compute(covariance, statistics)
    return [np.asarray(statistics.symmetric)]


COVARIANCE = Program(
    "covariance",
    "k R data W mean; k R mean RW data; k R data W sym; H R sym",
    make_statistics,
    run_covariance,
    reference=lambda: [np.cov(samples().astype(np.float64), rowvar=False) * (SAMPLES - 1)],
    minimal=Copies(1, 1),
    naive=Copies(6, 6),
    tolerance=1e-4,
)

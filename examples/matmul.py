"""A product of matrices in three steps: naive, in tiles of local memory, and in registers.

Each step does the same sums. The second reads each number from the large memory once for a whole
tile, the third also keeps a block of results in registers, so that a number that was read from
local memory is used several times.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from terminal.bars import watched

import trilby as tb
from trilby import Accelerator, ComputeContext, F32Array2D, KernelContext, NDRange, f32

Matrix: TypeAlias = npt.NDArray[np.float32]

TILE = 16
BLOCK = 4
"""A work item of the last step makes a block of so many rows and columns."""
WIDE = TILE * BLOCK


@tb.kernel
def naive(kc: KernelContext, a: F32Array2D, b: F32Array2D, c: F32Array2D) -> None:
    total: f32 = 0.0
    for k in range(a.width):
        total += a.array[kc.y, k] * b.array[k, kc.x]
    c.array[kc.y, kc.x] = total


@tb.kernel
def tiled(kc: KernelContext, a: F32Array2D, b: F32Array2D, c: F32Array2D) -> None:
    left = tb.local(f32, TILE, TILE)
    right = tb.local(f32, TILE, TILE)
    x, y = kc.local_x, kc.local_y
    total: f32 = 0.0
    for start in range(0, a.width, TILE):
        left[y, x] = a.array[kc.y, start + x]
        right[y, x] = b.array[start + y, kc.x]
        kc.barrier("local")
        for k in range(TILE):
            total += left[y, k] * right[k, x]
        kc.barrier("local")
    c.array[kc.y, kc.x] = total


@tb.kernel
def in_registers(kc: KernelContext, a: F32Array2D, b: F32Array2D, c: F32Array2D) -> None:
    left = tb.local(f32, WIDE, TILE)
    right = tb.local(f32, TILE, WIDE)
    totals = tb.private(f32, BLOCK, BLOCK)
    x, y = kc.local_x, kc.local_y
    column, row = kc.group_x * WIDE, kc.group_y * WIDE
    for i in range(BLOCK):
        for j in range(BLOCK):
            totals[i, j] = 0.0
    for start in range(0, a.width, TILE):
        for i in range(BLOCK):
            left[y + i * TILE, x] = a.array[row + y + i * TILE, start + x]
            right[y, x + i * TILE] = b.array[start + y, column + x + i * TILE]
        kc.barrier("local")
        for k in range(TILE):
            for i in range(BLOCK):
                for j in range(BLOCK):
                    totals[i, j] += left[y + i * TILE, k] * right[k, x + j * TILE]
        kc.barrier("local")
    for i in range(BLOCK):
        for j in range(BLOCK):
            c.array[row + y + i * TILE, column + x + j * TILE] = totals[i, j]


@tb.compute
def multiply_naively(cc: ComputeContext, a: F32Array2D, b: F32Array2D, c: F32Array2D) -> None:
    cc.dispatch((c.width, c.height), naive, a, b, c)


@tb.compute
def multiply_tiled(cc: ComputeContext, a: F32Array2D, b: F32Array2D, c: F32Array2D) -> None:
    cc.dispatch(NDRange((c.width, c.height), local=(TILE, TILE)), tiled, a, b, c)


@tb.compute
def multiply_in_registers(cc: ComputeContext, a: F32Array2D, b: F32Array2D, c: F32Array2D) -> None:
    size = NDRange((c.width // BLOCK, c.height // BLOCK), local=(TILE, TILE))
    cc.dispatch(size, in_registers, a, b, c)


STEPS: dict[str, Any] = {
    "naive": multiply_naively,
    "tiled": multiply_tiled,
    "in registers": multiply_in_registers,
}


class Measured(NamedTuple):
    """How one step did."""

    name: str
    gflops: float
    error: float


def matrices(size: int, seed: int = 1) -> tuple[Matrix, Matrix]:
    random = np.random.default_rng(seed)
    return random.random((size, size), np.float32), random.random((size, size), np.float32)


def run(accelerator: Accelerator, name: str, left: Matrix, right: Matrix) -> Matrix:
    """The product by one of the steps."""
    a, b = F32Array2D.of(left), F32Array2D.of(right)
    c = F32Array2D.create(accelerator, width=right.shape[1], height=left.shape[0])
    accelerator.compute(STEPS[name], a, b, c)
    return np.asarray(c)


def fastest(work: Callable[[], object], times: int) -> float:
    """The seconds of the best of some runs; the first of them compiles."""
    seconds: list[float] = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def measure(accelerator: Accelerator, size: int, times: int) -> list[Measured]:
    """Every step on matrices that stay on the device, and NumPy for comparison."""
    left, right = matrices(size)
    a, b = F32Array2D.of(left), F32Array2D.of(right)
    c = F32Array2D.create(accelerator, width=size, height=size)
    exact = left.astype(np.float64) @ right.astype(np.float64)
    work, found = 2e-9 * size**3, list[Measured]()

    def multiply(compute: Any) -> None:
        accelerator.compute(compute, a, b, c)
        accelerator.wait()

    for name, compute in watched(STEPS.items(), "steps"):
        seconds = fastest(lambda compute=compute: multiply(compute), times)
        found.append(Measured(name, work / seconds, error_of(np.asarray(c), exact)))
    seconds = fastest(lambda: left @ right, times)
    return [*found, Measured("NumPy", work / seconds, error_of(left @ right, exact))]


def error_of(computed: npt.NDArray[Any], exact: npt.NDArray[Any]) -> float:
    """The largest relative error."""
    return float(np.max(np.abs(computed - exact) / np.abs(exact)))


def table(rows: list[Measured]) -> str:
    lines = [f"{'step':<14}{'GFLOP/s':>9}{'error':>10}"]
    return "\n".join([*lines, *(f"{r.name:<14}{r.gflops:>9.2f}{r.error:>10.1e}" for r in rows)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=512, help=f"rows, a multiple of {WIDE}")
    parser.add_argument("--times", type=int, default=4, help="the best of so many runs counts")
    parser.add_argument("--backend", help="opencl, interpreter, …; by default the first that works")
    options = parser.parse_args()
    if options.size <= 0 or options.size % WIDE:
        parser.error(f"--size is {options.size}: give a multiple of {WIDE}")
    # With a memory of its own, as a graphics card has it; on the host's memory nothing moves.
    accelerator = Accelerator(options.backend, memory="discrete")
    print(f"{options.size} × {options.size} on {accelerator.device.name}\n")
    with accelerator.record() as ledger:
        rows = measure(accelerator, options.size, options.times)
    print(table(rows))
    wrong = [row.name for row in rows if not row.error < 1e-5]
    if wrong:
        message = f"too far from NumPy's product in double precision: {', '.join(wrong)}"
        raise SystemExit(message)
    print("\nall agree with NumPy's product in double precision; every transfer and its reason:\n")
    print(ledger)


if __name__ == "__main__":
    main()

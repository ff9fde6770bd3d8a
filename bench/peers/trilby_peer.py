"""The kernels as one writes them for Trilby, on one of its devices."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import trilby as tb
from peers.peer import Argument, Function, Launch, Numbers
from peers.problems import BLOCK, RATE, TILE, VOLATILITY
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, NDRange, f32, i32, u8


@tb.kernel
def mandelbrot_kernel(kc: KernelContext, image: NDArray[i32], limit: i32) -> None:
    scale = f32(3.0) / f32(kc.max_x)
    cx = -2.0 + f32(kc.x) * scale
    cy = -1.5 + f32(kc.y) * scale
    x: f32 = 0.0
    y: f32 = 0.0
    steps = 0
    while steps < limit and x * x + y * y <= 4.0:
        x, y = x * x - y * y + cx, 2.0 * x * y + cy
        steps += 1
    image[kc.y, kc.x] = steps


@tb.compute
def mandelbrot(cc: ComputeContext, image: NDArray[i32], limit: int) -> None:
    cc.dispatch((image.shape[1], image.shape[0]), mandelbrot_kernel, image, limit)


@tb.kernel
def nbody_kernel(kc: KernelContext, pos: NDArray[f32], acc: NDArray[f32]) -> None:
    x = pos[kc.x, 0]
    y = pos[kc.x, 1]
    z = pos[kc.x, 2]
    ax: f32 = 0.0
    ay: f32 = 0.0
    az: f32 = 0.0
    for j in range(pos.shape[0]):
        dx = pos[j, 0] - x
        dy = pos[j, 1] - y
        dz = pos[j, 2] - z
        inverse = 1.0 / math.sqrt(dx * dx + dy * dy + dz * dz + 0.01)
        pull = pos[j, 3] * inverse * inverse * inverse
        ax += dx * pull
        ay += dy * pull
        az += dz * pull
    acc[kc.x, 0] = ax
    acc[kc.x, 1] = ay
    acc[kc.x, 2] = az


@tb.compute
def nbody(cc: ComputeContext, pos: NDArray[f32], acc: NDArray[f32]) -> None:
    cc.dispatch(pos.shape[0], nbody_kernel, pos, acc)


@tb.kernel
def matmul_kernel(kc: KernelContext, a: NDArray[f32], b: NDArray[f32], c: NDArray[f32]) -> None:
    total: f32 = 0.0
    for k in range(a.shape[1]):
        total += a[kc.y, k] * b[k, kc.x]
    c[kc.y, kc.x] = total


@tb.compute
def matmul(cc: ComputeContext, a: NDArray[f32], b: NDArray[f32], c: NDArray[f32]) -> None:
    cc.dispatch((c.shape[1], c.shape[0]), matmul_kernel, a, b, c)


@tb.kernel
def tiled_kernel(kc: KernelContext, a: NDArray[f32], b: NDArray[f32], c: NDArray[f32]) -> None:
    left = tb.local(f32, TILE, TILE)
    right = tb.local(f32, TILE, TILE)
    total: f32 = 0.0
    for tile in range(a.shape[1] // TILE):
        left[kc.local_y, kc.local_x] = a[kc.y, tile * TILE + kc.local_x]
        right[kc.local_y, kc.local_x] = b[tile * TILE + kc.local_y, kc.x]
        kc.barrier("local")
        for k in range(TILE):
            total += left[kc.local_y, k] * right[k, kc.local_x]
        kc.barrier("local")
    c[kc.y, kc.x] = total


@tb.compute
def tiled_matmul(cc: ComputeContext, a: NDArray[f32], b: NDArray[f32], c: NDArray[f32]) -> None:
    size = NDRange((c.shape[1], c.shape[0]), local=(TILE, TILE))
    cc.dispatch(size, tiled_kernel, a, b, c)


@tb.kernel
def life_kernel(kc: KernelContext, now: NDArray[u8], later: NDArray[u8]) -> None:
    x, y = kc.x, kc.y
    if 0 < x < kc.max_x - 1 and 0 < y < kc.max_y - 1:
        around = now[y - 1, x - 1] + now[y - 1, x] + now[y - 1, x + 1]
        around += now[y, x - 1] + now[y, x + 1]
        around += now[y + 1, x - 1] + now[y + 1, x] + now[y + 1, x + 1]
        later[y, x] = u8(1) if around == 3 or (around == 2 and now[y, x] == 1) else u8(0)


@tb.compute
def life(cc: ComputeContext, now: NDArray[u8], later: NDArray[u8]) -> None:
    cc.dispatch((now.shape[1], now.shape[0]), life_kernel, now, later)


@tb.func
def normal(x: f32) -> f32:
    return 0.5 + 0.5 * math.erf(x * 0.70710678)


@tb.kernel
def options_kernel(
    kc: KernelContext,
    price: NDArray[f32],
    strike: NDArray[f32],
    years: NDArray[f32],
    call: NDArray[f32],
    put: NDArray[f32],
) -> None:
    s, k, t = price[kc.x], strike[kc.x], years[kc.x]
    spread = VOLATILITY * math.sqrt(t)
    d1 = (math.log(s / k) + (RATE + 0.5 * VOLATILITY * VOLATILITY) * t) / spread
    d2 = d1 - spread
    later = k * math.exp(-RATE * t)
    call[kc.x] = s * normal(d1) - later * normal(d2)
    put[kc.x] = later * normal(-d2) - s * normal(-d1)


@tb.compute
def black_scholes(
    cc: ComputeContext,
    price: NDArray[f32],
    strike: NDArray[f32],
    years: NDArray[f32],
    call: NDArray[f32],
    put: NDArray[f32],
) -> None:
    cc.dispatch(price.shape[0], options_kernel, price, strike, years, call, put)


@tb.kernel
def saxpy_kernel(kc: KernelContext, x: NDArray[f32], y: NDArray[f32], a: f32) -> None:
    y[kc.x] = a * x[kc.x] + y[kc.x]


@tb.compute
def saxpy(cc: ComputeContext, x: NDArray[f32], y: NDArray[f32], a: float) -> None:
    cc.dispatch(x.shape[0], saxpy_kernel, x, y, a)


@tb.kernel
def stencil_kernel(
    kc: KernelContext, image: NDArray[f32], weights: NDArray[f32], out: NDArray[f32]
) -> None:
    x, y = kc.x, kc.y
    if 2 <= x < kc.max_x - 2 and 2 <= y < kc.max_y - 2:
        total: f32 = 0.0
        for j in range(5):
            for i in range(5):
                total += weights[j, i] * image[y + j - 2, x + i - 2]
        out[y, x] = total


@tb.compute
def stencil(
    cc: ComputeContext, image: NDArray[f32], weights: NDArray[f32], out: NDArray[f32]
) -> None:
    cc.dispatch((image.shape[1], image.shape[0]), stencil_kernel, image, weights, out)


@tb.kernel
def histogram_kernel(kc: KernelContext, numbers: NDArray[u8], bins: NDArray[i32]) -> None:
    tb.atomic_add(bins, i32(numbers[kc.x]), 1)


@tb.compute
def histogram(cc: ComputeContext, numbers: NDArray[u8], bins: NDArray[i32]) -> None:
    cc.dispatch(numbers.shape[0], histogram_kernel, numbers, bins)


@tb.kernel
def scan_kernel(
    kc: KernelContext, numbers: NDArray[i32], sums: NDArray[i32], totals: NDArray[i32]
) -> None:
    """Four numbers for each work item, then the sums of all of a group."""
    part = tb.local(i32, BLOCK // 4)
    i, at = kc.local_x, kc.x * 4
    first = numbers[at]
    second = first + numbers[at + 1]
    third = second + numbers[at + 2]
    fourth = third + numbers[at + 3]
    part[i] = fourth
    kc.barrier("local")
    step = 1
    while step < BLOCK // 4:
        before = part[i - step] if i >= step else 0
        kc.barrier("local")
        part[i] += before
        kc.barrier("local")
        step *= 2
    start = part[i] - fourth
    sums[at] = start + first
    sums[at + 1] = start + second
    sums[at + 2] = start + third
    sums[at + 3] = start + fourth
    if i == BLOCK // 4 - 1:
        totals[kc.group_x] = part[i]


@tb.kernel
def totals_kernel(kc: KernelContext, totals: NDArray[i32]) -> None:
    total = 0
    for i in range(kc.x, totals.shape[0]):
        total += totals[i]
        totals[i] = total


@tb.kernel
def add_kernel(kc: KernelContext, sums: NDArray[i32], totals: NDArray[i32]) -> None:
    sums[(kc.y + 1) * BLOCK + kc.x] += totals[kc.y]


@tb.compute
def prefix_sum(
    cc: ComputeContext, numbers: NDArray[i32], sums: NDArray[i32], totals: NDArray[i32]
) -> None:
    items = NDRange(numbers.shape[0] // 4, local=BLOCK // 4)
    cc.dispatch(items, scan_kernel, numbers, sums, totals)
    cc.dispatch(1, totals_kernel, totals)
    cc.dispatch((BLOCK, totals.shape[0] - 1), add_kernel, sums, totals)


ENTRIES: dict[str, Any] = {
    "mandelbrot": mandelbrot,
    "nbody": nbody,
    "matmul": matmul,
    "tiled_matmul": tiled_matmul,
    "life": life,
    "black_scholes": black_scholes,
    "saxpy": saxpy,
    "stencil": stencil,
    "histogram": histogram,
    "prefix_sum": prefix_sum,
}


@dataclass(frozen=True)
class TrilbyPeer:
    """Trilby on a device, with the arrays in the host's memory."""

    name: str
    accelerator: Accelerator

    @property
    def functions(self) -> dict[str, Function]:
        """All of them."""
        return ENTRIES

    def launch(self, problem: str, arguments: Sequence[Argument], written: Sequence[int]) -> Launch:
        """Make a problem ready; a run ends when the device has."""
        bound: list[Any] = [
            self.accelerator.array(given.copy()) if isinstance(given, np.ndarray) else given
            for given in arguments
        ]
        entry = ENTRIES[problem]

        def run() -> None:
            self.accelerator.compute(entry, *bound)
            self.accelerator.wait()

        def result() -> list[Numbers]:
            return [np.asarray(bound[place]) for place in written]

        return Launch(run, result)

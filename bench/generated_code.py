"""Generated OpenCL C next to the same kernels written by hand, on one driver, in one run.

Both sides are built by the same driver with the same options and launched with the same
local size. They take turns, and every other turn goes backwards, so that whatever else the
machine does meets both alike; short kernels take more turns. The ratio is the median of the
ratios of neighbours, the steadiest number on a machine with other work. That of the shortest
times stands beside it. The results are checked to agree before anything is timed. Like ours,
the hand-written code does not let the compiler fuse `a * b + c`, so that both compute the same
numbers; the time in brackets says what fusing would give the hand-written code.
"""

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyopencl as cl

import trilby as tb
from trilby import KernelContext, NDArray, NDRange, f32, i32
from trilby.backend.base import Argument, Scalar
from trilby.backend.opencl.opencl_device import OpenCLBackend, OpenCLMemory
from trilby.backend.registry import open_backend
from trilby.data.dtypes import F32, I32
from trilby.runtime.compile import analyse_kernel

LEAST_TURNS = 40
SECONDS = 5.0
OPTIONS = ["-cl-std=CL1.2"]
TILE = 16
Numbers: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


@tb.kernel
def saxpy(kc: KernelContext, a: f32, x: NDArray[f32], y: NDArray[f32]) -> None:
    y[kc.x] = a * x[kc.x] + y[kc.x]


SAXPY = """
__kernel void saxpy(float a, __global const float *x, __global float *y) {
    int i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}"""


@tb.func
def escape_time(cx: f32, cy: f32, limit: i32) -> i32:
    x: f32 = 0.0
    y: f32 = 0.0
    steps = 0
    while steps < limit and x * x + y * y <= 4.0:
        x, y = x * x - y * y + cx, 2.0 * x * y + cy
        steps += 1
    return steps


@tb.kernel
def mandel(kc: KernelContext, image: NDArray[i32], scale: f32, limit: i32) -> None:
    cx = -2.0 + f32(kc.x) * scale
    cy = -1.5 + f32(kc.y) * scale
    image[kc.y, kc.x] = escape_time(cx, cy, limit)


MANDEL = """
__kernel void mandel(__global int *image, int width, float scale, int limit) {
    int px = get_global_id(0), py = get_global_id(1);
    float cx = -2.0f + px * scale, cy = -1.5f + py * scale;
    float x = 0, y = 0;
    int steps = 0;
    while (steps < limit && x * x + y * y <= 4.0f) {
        float t = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = t;
        steps++;
    }
    image[py * width + px] = steps;
}"""


@tb.kernel
def matmul(kc: KernelContext, a: NDArray[f32], b: NDArray[f32], c: NDArray[f32], n: i32) -> None:
    left = tb.local(f32, TILE, TILE)
    right = tb.local(f32, TILE, TILE)
    total: f32 = 0.0
    for tile in range(n // TILE):
        left[kc.local_y, kc.local_x] = a[kc.y, tile * TILE + kc.local_x]
        right[kc.local_y, kc.local_x] = b[tile * TILE + kc.local_y, kc.x]
        kc.barrier("local")
        for k in range(TILE):
            total += left[kc.local_y, k] * right[k, kc.local_x]
        kc.barrier("local")
    c[kc.y, kc.x] = total


MATMUL = """
#define TILE 16
__kernel void matmul(__global const float *a, __global const float *b, __global float *c, int n) {
    __local float left[TILE][TILE], right[TILE][TILE];
    int x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
    float total = 0;
    for (int tile = 0; tile < n / TILE; tile++) {
        left[ly][lx] = a[y * n + tile * TILE + lx];
        right[ly][lx] = b[(tile * TILE + ly) * n + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++) total += left[ly][k] * right[k][lx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[y * n + x] = total;
}"""


@tb.kernel
def nbody(kc: KernelContext, pos: NDArray[f32], acc: NDArray[f32], n: i32) -> None:
    x = pos[kc.x, 0]
    y = pos[kc.x, 1]
    z = pos[kc.x, 2]
    ax: f32 = 0.0
    ay: f32 = 0.0
    az: f32 = 0.0
    for j in range(n):
        dx = pos[j, 0] - x
        dy = pos[j, 1] - y
        dz = pos[j, 2] - z
        r2 = dx * dx + dy * dy + dz * dz + 0.01
        inverse = 1.0 / math.sqrt(r2)
        pull = pos[j, 3] * inverse * inverse * inverse
        ax += dx * pull
        ay += dy * pull
        az += dz * pull
    acc[kc.x, 0] = ax
    acc[kc.x, 1] = ay
    acc[kc.x, 2] = az


NBODY = """
__kernel void nbody(__global const float *pos, __global float *acc, int n) {
    int i = get_global_id(0);
    float x = pos[i * 4], y = pos[i * 4 + 1], z = pos[i * 4 + 2];
    float ax = 0, ay = 0, az = 0;
    for (int j = 0; j < n; j++) {
        float dx = pos[j * 4] - x, dy = pos[j * 4 + 1] - y, dz = pos[j * 4 + 2] - z;
        float r2 = dx * dx + dy * dy + dz * dz + 0.01f;
        float inverse = 1.0f / sqrt(r2);
        float pull = pos[j * 4 + 3] * inverse * inverse * inverse;
        ax += dx * pull;
        ay += dy * pull;
        az += dz * pull;
    }
    acc[i * 4] = ax;
    acc[i * 4 + 1] = ay;
    acc[i * 4 + 2] = az;
}"""


@dataclass(frozen=True)
class Case:
    """One kernel, both ways. Scalars of the hand-written one are NumPy numbers."""

    kernel: Any
    source: str
    size: NDRange
    arrays: tuple[Numbers, ...]
    ours: Callable[[list[OpenCLMemory]], list[Argument]]
    hand: Callable[[list[OpenCLMemory]], list[Any]]


def _array(memory: OpenCLMemory, array: Numbers) -> list[Argument]:
    return [memory, *(Scalar(I32, n) for n in array.shape)]


def cases() -> list[Case]:
    """The four programs, at sizes that take milliseconds."""
    random = np.random.default_rng(1)
    x, y = (random.standard_normal(1 << 24, dtype=np.float32) for _ in range(2))
    image = np.zeros((768, 1024), np.int32)
    n = 512
    a, b = (random.standard_normal((n, n), dtype=np.float32) for _ in range(2))
    c = np.zeros((n, n), np.float32)
    bodies = 4096
    pos = random.standard_normal((bodies, 4), dtype=np.float32)
    acc = np.zeros((bodies, 4), np.float32)
    scale = 3.0 / 1024
    return [
        Case(
            saxpy, SAXPY, NDRange(1 << 24, 128), (x, y),
            lambda m: [Scalar(F32, 2.5), *_array(m[0], x), *_array(m[1], y)],
            lambda m: [np.float32(2.5), m[0].buffer, m[1].buffer],
        ),
        Case(
            mandel, MANDEL, NDRange((1024, 768), (16, 8)), (image,),
            lambda m: [*_array(m[0], image), Scalar(F32, scale), Scalar(I32, 200)],
            lambda m: [m[0].buffer, np.int32(1024), np.float32(scale), np.int32(200)],
        ),
        Case(
            matmul, MATMUL, NDRange((n, n), (TILE, TILE)), (a, b, c),
            lambda m: [*_array(m[0], a), *_array(m[1], b), *_array(m[2], c), Scalar(I32, n)],
            lambda m: [m[0].buffer, m[1].buffer, m[2].buffer, np.int32(n)],
        ),
        Case(
            nbody, NBODY, NDRange(bodies, 128), (pos, acc),
            lambda m: [*_array(m[0], pos), *_array(m[1], acc), Scalar(I32, bodies)],
            lambda m: [m[0].buffer, m[1].buffer, np.int32(bodies)],
        ),
    ]  # fmt: skip


def run(case: Case, backend: OpenCLBackend) -> tuple[list[float], ...]:
    """The times of our launches, the hand-written ones, and those with fusing, in turns."""
    analysed = analyse_kernel(case.kernel, tuple(array.ndim for array in case.arrays))
    executable = backend.compile(analysed.graph)()
    context, queue = backend.context, backend.compute.driver_queue  # both sides share one queue
    hand, fused = (
        cl.Kernel(cl.Program(context, f"{pragma}{case.source}").build(OPTIONS), case.kernel.name)
        for pragma in ("#pragma OPENCL FP_CONTRACT OFF\n", "")
    )
    memories = [backend.allocate(array.nbytes) for array in case.arrays]

    def restore() -> None:
        for memory, array in zip(memories, case.arrays, strict=True):
            backend.upload(memory, 0, array.reshape(-1).view(np.uint8).data).wait()

    def ours() -> None:
        backend.prepare(executable, case.size, case.ours(memories)).submit().wait()

    def by_hand() -> None:
        hand(queue, case.size.size, case.size.local, *case.hand(memories)).wait()

    def by_hand_fused() -> None:
        fused(queue, case.size.size, case.size.local, *case.hand(memories)).wait()

    results = [_result(backend, case, memories, launch, restore) for launch in (ours, by_hand)]
    np.testing.assert_allclose(results[0], results[1], rtol=1e-4, atol=1e-4)
    by_hand_fused()
    times: tuple[list[float], ...] = ([], [], [])
    turns = list(zip(times, (ours, by_hand, by_hand_fused), strict=True))
    begun = time.perf_counter()
    while len(times[0]) < LEAST_TURNS or time.perf_counter() - begun < SECONDS:
        turns.reverse()
        for spent, launch in turns:
            started = time.perf_counter()
            launch()
            spent.append(time.perf_counter() - started)
    return times


def _result(
    backend: OpenCLBackend,
    case: Case,
    memories: list[OpenCLMemory],
    launch: Callable[[], None],
    restore: Callable[[], None],
) -> Numbers:
    restore()
    launch()
    result = np.empty_like(case.arrays[-1])
    backend.download(memories[-1], 0, result.reshape(-1).view(np.uint8).data).wait()
    return result


def main() -> None:
    backend = open_backend("opencl").backend
    assert isinstance(backend, OpenCLBackend)
    print(f"on {backend.device.name}; ours ÷ by hand")
    for case in cases():
        ours, hand, fused = run(case, backend)
        median = statistics.median(a / b for a, b in zip(ours, hand, strict=True))
        least = min(ours) / min(hand)
        print(
            f"{case.kernel.name:8} {median:5.2f}× median of {len(ours)} turns, "
            f"{least:5.2f}× shortest: {min(ours) * 1e3:8.2f} ms ours, "
            f"{min(hand) * 1e3:8.2f} ms by hand (fused: {min(fused) * 1e3:.2f} ms)"
        )


if __name__ == "__main__":
    main()

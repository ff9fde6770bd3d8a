"""What a dispatch costs in a hot loop, next to raw pyopencl with copies placed by hand.

Both sides run a kernel of next to no work 1,000 times over the same numbers on the same
device, with a memory of the device's own: the numbers go up once and come back once. They take
turns; the ratio is the median of the ratios of neighbours. Two forms are measured: the same
launch again and again, and two buffers that change places as in a simulation.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
import pyopencl as cl

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array

LENGTH = 1024
DISPATCHES = 1_000
TURNS = 30

CODE = """
__kernel void add_one(__global int *a, int n) {
    int i = get_global_id(0);
    if (i < n) a[i] = a[i] + 1;
}
__kernel void next_of(__global const int *a, __global int *b, int n) {
    int i = get_global_id(0);
    if (i < n) b[i] = a[i] + 1;
}"""


@tb.kernel
def add_one(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = a.array[kc.x] + 1


@tb.kernel
def next_of(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    b.array[kc.x] = a.array[kc.x] + 1


@tb.compute
def again(cc: ComputeContext, a: S32Array, times: int) -> None:
    for _ in range(times):
        cc.dispatch(a.length, add_one, a)


@tb.compute
def in_turns(cc: ComputeContext, a: S32Array, b: S32Array, times: int) -> None:
    for _ in range(times):
        cc.dispatch(a.length, next_of, a, b)
        a, b = b, a


def raw_side(device: cl.Device) -> tuple[Callable[[], object], Callable[[], object]]:
    """The two loops as one writes them with pyopencl."""
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    program = cl.Program(context, CODE).build()
    one, two = cl.Kernel(program, "add_one"), cl.Kernel(program, "next_of")
    flags = cl.mem_flags.READ_WRITE
    numbers = np.zeros(LENGTH, np.int32)
    first, second = (cl.Buffer(context, flags, numbers.nbytes) for _ in range(2))
    # without this pyopencl takes 40 µs to set a number
    one.set_scalar_arg_dtypes([None, np.int32])  # pyright: ignore[reportUnknownMemberType] -- pyopencl left it untyped
    two.set_scalar_arg_dtypes([None, None, np.int32])  # pyright: ignore[reportUnknownMemberType] -- as above

    def repeat() -> None:
        cl.enqueue_copy(queue, first, numbers, is_blocking=False)
        for _ in range(DISPATCHES):
            one(queue, (LENGTH,), (LENGTH,), first, LENGTH)
        cl.enqueue_copy(queue, numbers, first)

    def swap() -> None:
        a, b = first, second
        cl.enqueue_copy(queue, a, numbers, is_blocking=False)
        for _ in range(DISPATCHES):
            two(queue, (LENGTH,), (LENGTH,), a, b, LENGTH)
            a, b = b, a
        cl.enqueue_copy(queue, numbers, a)

    return repeat, swap


def our_side() -> tuple[Callable[[], object], Callable[[], object]]:
    """The same two loops, with nothing about devices in them."""
    accelerator = Accelerator("opencl", memory="discrete")
    a, b = (S32Array.create(accelerator, length=LENGTH) for _ in range(2))

    def repeat() -> None:
        a.array[:] = 0
        accelerator.compute(again, a, DISPATCHES)
        if int(a.array[0]) != DISPATCHES:
            raise AssertionError(a.array[0])

    def swap() -> None:
        a.array[:] = 0
        accelerator.compute(in_turns, a, b, DISPATCHES)
        if int(a.array[0]) != DISPATCHES:
            raise AssertionError(a.array[0])

    return repeat, swap


def microseconds(loop: Callable[[], object]) -> float:
    """The time of one dispatch of a loop."""
    started = time.perf_counter()
    loop()
    return (time.perf_counter() - started) / DISPATCHES * 1e6


def compare(title: str, raw: Callable[[], object], ours: Callable[[], object]) -> None:
    """Let both sides take turns, and print what a dispatch took."""
    raw()
    ours()
    pairs = [(microseconds(raw), microseconds(ours)) for _ in range(TURNS)]
    ratio = statistics.median(own / other for other, own in pairs)
    least = [min(column) for column in zip(*pairs, strict=True)]
    middle = [statistics.median(column) for column in zip(*pairs, strict=True)]
    print(
        f"{title:24} pyopencl {middle[0]:6.1f} µs   trilby {middle[1]:6.1f} µs   "
        f"{ratio:5.2f}x   (shortest: {least[0]:.1f} and {least[1]:.1f} µs, "
        f"{least[1] / least[0]:.2f}x)"
    )


def main() -> None:
    """Print both comparisons."""
    device = next(d for p in cl.get_platforms() for d in p.get_devices())
    raw, ours = raw_side(device), our_side()
    compare("the same launch again", raw[0], ours[0])
    compare("two buffers in turns", raw[1], ours[1])


if __name__ == "__main__":
    main()

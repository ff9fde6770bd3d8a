"""The loop of somebody who knows NumPy: 100 launches over one array, from plain Python.

16 million numbers, each raised by one in every launch; at the end the host adds them all up.
Nothing in our program says where the numbers are. Next to it the same loop with pyopencl, in
three ways; with Numba, which compiles it for the host; and with JAX. Those two are measured if
they are installed, which takes 700 MB: `pip install numba jax`.

All take turns, in either order, and each line gives the shortest and the middle time; the slow
ones take fewer. Ours is compared with the best that pyopencl can do with the same kind of memory:
kept on a device with a memory of its own, or in the host's.
"""

import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyopencl as cl

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, i32

Loop: TypeAlias = Callable[[], int]

LENGTH = 1 << 24
LAUNCHES = 100
TURNS = 12
SLOW_TURNS = 2
GROUP = 1024
SLOW = {"pyopencl, naive", "jax"}

CODE = """
__kernel void add_one(__global int *a) {
    int i = get_global_id(0);
    a[i] = a[i] + 1;
}"""


@tb.kernel
def add_one(kc: KernelContext, numbers: NDArray[i32]) -> None:
    numbers[kc.x] = numbers[kc.x] + 1


@tb.compute
def step(cc: ComputeContext, numbers: NDArray[i32]) -> None:
    cc.dispatch(numbers.shape[0], add_one, numbers)


def zeros() -> npt.NDArray[np.int32]:
    """The numbers of a new run, in memory that was touched."""
    return np.full(LENGTH, 0, np.int32)


def with_trilby(accelerator: Accelerator) -> Loop:
    """A plain loop."""

    def loop() -> int:
        numbers = NDArray[int](zeros())
        for _ in range(LAUNCHES):
            accelerator.compute(step, numbers)
        return int(numbers.sum())

    return loop


def with_pyopencl(device: cl.Device) -> dict[str, Loop]:
    """Three ways to write it."""
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    add = cl.Kernel(cl.Program(context, CODE).build(), "add_one")
    flags = cl.mem_flags

    def naive() -> int:
        numbers = zeros()
        for _ in range(LAUNCHES):
            memory = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=numbers)
            add(queue, (LENGTH,), (GROUP,), memory)
            cl.enqueue_copy(queue, numbers, memory)
        return int(numbers.sum())

    def kept() -> int:
        numbers = zeros()
        memory = cl.Buffer(context, flags.READ_WRITE, numbers.nbytes)
        cl.enqueue_copy(queue, memory, numbers, is_blocking=False)
        for _ in range(LAUNCHES):
            add(queue, (LENGTH,), (GROUP,), memory)
        cl.enqueue_copy(queue, numbers, memory)
        return int(numbers.sum())

    def in_place() -> int:
        numbers = zeros()
        memory = cl.Buffer(context, flags.READ_WRITE | flags.USE_HOST_PTR, hostbuf=numbers)
        for _ in range(LAUNCHES):
            add(queue, (LENGTH,), (GROUP,), memory)
        queue.finish()
        return int(numbers.sum())

    return {
        "pyopencl, naive": naive,
        "pyopencl, kept on the device": kept,
        "pyopencl, host pointer": in_place,
    }


def with_numba() -> Loop:
    """A loop over the numbers, in all threads of the host."""
    numba: Any = importlib.import_module("numba")

    def all_one_more(numbers: npt.NDArray[np.int32]) -> None:
        for i in numba.prange(numbers.shape[0]):
            numbers[i] += 1

    compiled = numba.njit(parallel=True)(all_one_more)

    def loop() -> int:
        numbers = zeros()
        for _ in range(LAUNCHES):
            compiled(numbers)
        return int(numbers.sum())

    return loop


def with_jax() -> Loop:
    """A new array for every launch."""
    jax: Any = importlib.import_module("jax")

    def add(numbers: Any) -> Any:
        return numbers + 1

    one_more = jax.jit(add)

    def loop() -> int:
        numbers = jax.numpy.asarray(zeros())
        for _ in range(LAUNCHES):
            numbers = one_more(numbers)
        return int(np.asarray(numbers).sum())

    return loop


def all_loops() -> dict[str, Loop]:
    """What can be measured here."""
    device = next(d for p in cl.get_platforms() for d in p.get_devices())
    loops = with_pyopencl(device)
    loops["trilby, discrete"] = with_trilby(Accelerator("opencl", memory="discrete"))
    loops["trilby, shared"] = with_trilby(Accelerator("opencl", memory="shared"))
    for name, make in (("numba", with_numba), ("jax", with_jax)):
        try:
            loops[name] = make()
        except ModuleNotFoundError:
            print(f"{name:30} not installed")
    return loops


def seconds(loop: Loop) -> float:
    """The time of a run, whose result is checked."""
    started = time.perf_counter()
    total = loop()
    took = time.perf_counter() - started
    if total != LENGTH * LAUNCHES:
        raise AssertionError(total)
    return took


def main() -> None:
    """Print a line for each, and our two ratios."""
    loops = all_loops()
    times: dict[str, list[float]] = {name: [] for name in loops}
    for turn in range(TURNS + 1):
        order = list(loops.items())  # who comes after whom decides about the memory he gets
        for name, loop in order if turn % 2 else reversed(order):
            if name in SLOW and turn > SLOW_TURNS:
                continue
            took = seconds(loop)
            if turn:  # the first compiles
                times[name].append(took)
    for name, took in times.items():
        print(f"{name:30} {min(took):7.3f} s   middle {statistics.median(took):7.3f} s")
    for ours, other in (("discrete", "kept on the device"), ("shared", "host pointer")):
        pairs = zip(times[f"trilby, {ours}"], times[f"pyopencl, {other}"], strict=True)
        ratio = statistics.median(own / raw for own, raw in pairs)
        least = min(times[f"trilby, {ours}"]) / min(times[f"pyopencl, {other}"])
        print(f"trilby, {ours}: {ratio:.2f}x of pyopencl, {other} (shortest: {least:.2f}x)")


if __name__ == "__main__":
    main()

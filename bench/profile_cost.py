"""What `accelerator.profile()` costs while it is open, in loops of the worst kinds and a usual one.

Each loop is run with a profile and without one in turns, on a device with a memory of its own.
The first ratio is that of the whole block, opening and closing the profile included; the second is
that of what lies inside. Both are medians of the ratios of neighbours; those of the shortest runs
are beside them. A kernel of next to no work shows the most that a launch can cost. Reading the
result afterwards is measured apart. At most 1.05 is wanted of the whole block.
"""

import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext

import trilby as tb
from trilby import Accelerator, ComputeContext, F32Array, KernelContext, S32Array, i32

TURNS = 40


@tb.kernel
def add_one(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = a.array[kc.x] + 1


@tb.kernel
def smooth(kc: KernelContext, a: F32Array, b: F32Array) -> None:
    left = max(kc.x - 1, 0)
    right = min(kc.x + 1, kc.max_x - 1)
    b.array[kc.x] = 0.25 * a.array[left] + 0.5 * a.array[kc.x] + 0.25 * a.array[right]


@tb.kernel
def add(kc: KernelContext, a: S32Array, n: i32) -> None:
    a.array[kc.x] = a.array[kc.x] + n


@tb.compute
def again(cc: ComputeContext, a: S32Array, times: int) -> None:
    for _ in range(times):
        cc.dispatch(a.length, add_one, a)


@tb.compute
def smoothed(cc: ComputeContext, a: F32Array, b: F32Array, times: int) -> None:
    for _ in range(times):
        cc.dispatch(a.length, smooth, a, b)
        a, b = b, a


@tb.compute
def looked_at(cc: ComputeContext, a: S32Array, times: int) -> None:
    for turn in range(times):
        cc.dispatch(a.length, add, a, turn)
        a.array[0] = a.array[1]


def programs(accelerator: Accelerator) -> dict[str, Callable[[], object]]:
    """The loops, each some ten milliseconds."""
    small = S32Array.create(accelerator, length=1024)
    long = S32Array.create(accelerator, length=1 << 16)
    a, b = (F32Array.create(accelerator, length=1 << 18) for _ in range(2))

    def run_small() -> None:
        accelerator.compute(again, small, 2_000)
        accelerator.wait()

    def run_smooth() -> None:
        accelerator.compute(smoothed, a, b, 100)
        accelerator.wait()

    def run_looking() -> None:
        accelerator.compute(looked_at, long, 100)
        accelerator.wait()

    return {
        "2,000 launches of 1,024 additions": run_small,
        "100 launches over 262,144 floats": run_smooth,
        "100 launches with copies both ways": run_looking,
    }


def seconds(
    program: Callable[[], object], accelerator: Accelerator, *, profiled: bool
) -> tuple[float, float]:
    """The time of the whole block, and of what lies inside of it."""
    opened = time.perf_counter()
    with accelerator.profile() if profiled else nullcontext():
        started = time.perf_counter()
        program()
        inside = time.perf_counter() - started
    return time.perf_counter() - opened, inside


def ratios(pairs: list[tuple[float, float]]) -> str:
    """What it takes with a profile for each second without one: in the middle, and at best."""
    middle = statistics.median(on / off for off, on in pairs)
    off, on = (min(column) for column in zip(*pairs, strict=True))
    return f"{middle:5.3f}x (shortest: {off * 1e3:.2f} and {on * 1e3:.2f} ms, {on / off:.3f}x)"


def main() -> None:
    """Print the ratios."""
    accelerator = Accelerator("opencl", memory="discrete")
    for title, program in programs(accelerator).items():
        for profiled in (True, False, True, False):
            seconds(program, accelerator, profiled=profiled)
        runs = [
            [seconds(program, accelerator, profiled=profiled) for profiled in (False, True)]
            for _ in range(TURNS)
        ]
        whole, inside = ([(off[n], on[n]) for off, on in runs] for n in (0, 1))
        with accelerator.profile() as profile:
            program()
        started = time.perf_counter()
        count = profile.total.dispatches
        reading = (time.perf_counter() - started) / count
        print(f"{title:36} the block {ratios(whole)}   inside {ratios(inside)}")
        print(f"{'':36} reading {reading * 1e6:.2f} µs for each of {count:,} dispatches")


if __name__ == "__main__":
    main()

"""What a pass costs, next to a Python loop of dispatches, which a hot loop is.

Both sides run a kernel of next to no work over the same numbers on the same device, with a memory
of the device's own: the numbers go up once and come back once. They take turns, each before the
other as often as after it. The ratio is the median of those of neighbours; that of the shortest
times is beside it. Measured are a kernel that does not look at the number of its pass, one that
flips two buffers by it, and a loop that ends when a flag is raised, which the host looks at after
every tenth step.
"""

import statistics
import time
from collections.abc import Callable

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array
from trilby.reflect.functions import Compute

LENGTH = 1024
TURNS = 100


@tb.kernel
def add_one(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = a.array[kc.x] + 1


@tb.kernel
def next_of(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    b.array[kc.x] = a.array[kc.x] + 1


@tb.kernel
def flip(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    if kc.pass_id % 2 == 0:
        b.array[kc.x] = a.array[kc.x] + 1
    else:
        a.array[kc.x] = b.array[kc.x] + 1


@tb.kernel
def count_up(kc: KernelContext, a: S32Array, done: S32Array, last: tb.i32) -> None:
    a.array[kc.x] = a.array[kc.x] + 1
    if kc.x == 0 and a.array[0] == last:
        done.array[0] = 1


@tb.compute
def again(cc: ComputeContext, a: S32Array, _b: S32Array, times: int) -> None:
    for _ in range(times):
        cc.dispatch(a.length, add_one, a)


@tb.compute
def again_in_passes(cc: ComputeContext, a: S32Array, _b: S32Array, times: int) -> None:
    cc.dispatch(a.length, add_one, a, passes=times)


@tb.compute
def in_turns(cc: ComputeContext, a: S32Array, b: S32Array, times: int) -> None:
    for _ in range(times):
        cc.dispatch(a.length, next_of, a, b)
        a, b = b, a


@tb.compute
def flipped(cc: ComputeContext, a: S32Array, b: S32Array, times: int) -> None:
    cc.dispatch(a.length, flip, a, b, passes=times)


@tb.compute
def until_done(cc: ComputeContext, a: S32Array, b: S32Array, times: int) -> None:
    b.array[0] = 0
    while b.array[0] == 0:
        for _ in range(10):
            cc.dispatch(a.length, count_up, a, b, times)


@tb.compute
def passes_until_done(cc: ComputeContext, a: S32Array, b: S32Array, times: int) -> None:
    b.array[0] = 0
    cc.dispatch(a.length, count_up, a, b, times, passes=10**6, until=b.array[0], check_every=10)


def microseconds(run: Callable[[int], None], times: int) -> float:
    """The time of one pass."""
    started = time.perf_counter()
    run(times)
    return (time.perf_counter() - started) / times * 1e6


def side(
    accelerator: Accelerator, function: Compute[[S32Array, S32Array, int], None]
) -> Callable[[int], None]:
    """One side with buffers of its own, which sees to it that all steps were run."""
    a, b = (S32Array.create(accelerator, length=LENGTH) for _ in range(2))

    def run(times: int) -> None:
        a.array[:] = 0
        accelerator.compute(function, a, b, times)
        if int(a.array[0]) != times:
            raise AssertionError(a.array[0])

    return run


def compare(
    title: str, times: int, loop: Callable[[int], None], ours: Callable[[int], None]
) -> None:
    """Let both sides take turns, and print what a pass took."""
    sides = loop, ours
    took: tuple[list[float], list[float]] = [], []
    for turn in range(-2, TURNS):
        for which in (turn % 2, 1 - turn % 2):
            one = microseconds(sides[which], times)
            if turn >= 0:
                took[which].append(one)
    middle = [statistics.median(column) for column in took]
    ratio = statistics.median(b / a for a, b in zip(*took, strict=True))
    least = [min(column) for column in took]
    print(
        f"{title:24} {times:6,} passes   loop {middle[0]:6.2f} µs   passes {middle[1]:6.2f} µs   "
        f"{ratio:5.2f}x (shortest: {least[0]:6.2f} and {least[1]:6.2f} µs, "
        f"{least[1] / least[0]:5.2f}x)"
    )


def main() -> None:
    """Print all comparisons."""
    for backend in ("native", "opencl"):
        with Accelerator(backend, memory="discrete") as accelerator:
            print(accelerator)
            for title, loop, ours in (
                ("the same launch again", again, again_in_passes),
                ("two buffers in turns", in_turns, flipped),
                ("until a flag is raised", until_done, passes_until_done),
            ):
                sides = side(accelerator, loop), side(accelerator, ours)
                for times in (10, 100, 1_000):
                    compare(title, times, *sides)


if __name__ == "__main__":
    main()

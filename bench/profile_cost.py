"""What `accelerator.profile()` costs while it is open, in loops of the worst kinds and a usual one.

Each loop is run with a profile and without one in turns, on devices with a memory of their own. The
first ratio is that of the whole block, opening and closing the profile included; the second is that
of what lies inside. Both are medians of the ratios of neighbours, each the shortest of five runs;
those of the shortest runs of all are beside them. A kernel of next to no work shows the most that a
launch can cost. Reading the result afterwards is measured apart. At most 1.05 is wanted of the
whole block. What it takes to open and close a profile, and to begin to measure one launch, is the
same however long the block is: it is shown by itself, and the loops take some milliseconds.

To measure a launch by its event, the driver has to keep that. What this costs is shown for the
smallest kernel on OpenCL: the same launches by pyopencl alone, with their events kept and dropped,
in turns with the others.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pyopencl as cl
from bench.driver_events import RawLaunches

import trilby as tb
from trilby import (
    Accelerator,
    ComputeContext,
    F32Array,
    KernelContext,
    NDRange,
    S32Array,
    i32,
)

if TYPE_CHECKING:
    from trilby.runtime.profile import Profile

SECONDS = 6.0
"""How long each loop is measured for, and how often at least and at most."""
FEWEST, MOST = 30, 600
BEST_OF = 5
"""What is compared is the shortest of so many runs: others are interrupted."""

SMALL, SMALL_GROUP = 1024, 128
"""The smallest launches: work items, and the group that Trilby chooses for OpenCL."""
SMALL_LAUNCHES = {"native": 20_000, "opencl": 2_000}
"""How many of them take some milliseconds."""


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
    """The loops, each of five milliseconds and more."""
    launches = SMALL_LAUNCHES[accelerator.device.backend]
    small = S32Array.create(accelerator, length=SMALL)
    long = S32Array.create(accelerator, length=1 << 16)
    a, b = (F32Array.create(accelerator, length=1 << 18) for _ in range(2))

    def run_small() -> None:
        accelerator.compute(again, small, launches)
        accelerator.wait()

    def run_smooth() -> None:
        accelerator.compute(smoothed, a, b, 100)
        accelerator.wait()

    def run_looking() -> None:
        accelerator.compute(looked_at, long, 100)
        accelerator.wait()

    return {
        f"{launches:,} launches of 1,024 additions": run_small,
        "100 launches over 262,144 floats": run_smooth,
        "100 launches with copies both ways": run_looking,
    }


class Took(NamedTuple):
    """The seconds of the whole block, and of what lies inside of it."""

    block: float
    inside: float


def measured(program: Callable[[], object], accelerator: Accelerator, *, profiled: bool) -> Took:
    """Run a program with a profile or without; the profile ends when its time was taken."""
    profile: Profile | None  # dropping it is not a part of the block
    opened = time.perf_counter()
    with accelerator.profile() if profiled else nullcontext() as profile:
        started = time.perf_counter()
        program()
        inside = time.perf_counter() - started
    block = time.perf_counter() - opened
    del profile
    return Took(block, inside)


def raw_seconds(raw: RawLaunches, *, keep: bool) -> Took:
    """The same for the launches by pyopencl alone."""
    started = time.perf_counter()
    events = raw.run(SMALL_LAUNCHES["opencl"], keep=keep)
    took = time.perf_counter() - started
    del events
    return Took(took, took)


def neighbours(measures: Sequence[Callable[[], Took]], turns: int) -> list[list[Took]]:
    """Measure several things in turns, each before the others as often as after them.

    What each took in every turn, at best.
    """
    columns: list[list[Took]] = [[] for _ in measures]
    for turn in range(turns):
        order = range(len(measures))[:: -1 if turn % 2 else 1]
        runs = [{which: measures[which]() for which in order} for _ in range(BEST_OF)]
        for which, column in enumerate(columns):
            took = [run[which] for run in runs]
            column.append(Took(min(one.block for one in took), min(one.inside for one in took)))
    return columns


def ratio(off: Sequence[float], on: Sequence[float]) -> str:
    """What it takes with a profile for each second without one: in the middle, and at best."""
    middle = statistics.median(b / a for a, b in zip(off, on, strict=True))
    one, other = min(off), min(on)
    return (
        f"{middle:5.3f}x (shortest: {one * 1e3:.2f} and {other * 1e3:.2f} ms, {other / one:.3f}x)"
    )


def turns_for(measures: Sequence[Callable[[], Took]]) -> int:
    """How often to measure, when all was run some times."""
    neighbours(measures, 1)
    once = sum(measure().block for measure in measures)
    return min(max(int(SECONDS / (BEST_OF * once)), FEWEST), MOST)


def show(title: str, program: Callable[[], object], accelerator: Accelerator) -> None:
    """Measure a loop with a profile and without, and print what that costs."""
    both = [partial(measured, program, accelerator, profiled=one) for one in (False, True)]
    off, on = neighbours(both, turns_for(both))
    block = ratio([one.block for one in off], [one.block for one in on])
    inside = ratio([one.inside for one in off], [one.inside for one in on])
    print(f"{title:36} the block {block}   inside {inside}")
    with accelerator.profile() as profile:
        program()
    started = time.perf_counter()
    total = profile.total
    reading = (time.perf_counter() - started) / total.dispatches
    print(f"{'':36} reading {reading * 1e6:.2f} µs for each of {total.dispatches:,} dispatches")


def show_opening(accelerator: Accelerator) -> None:
    """Measure a block with nothing but one launch."""
    a = S32Array.create(accelerator, length=SMALL)

    def run_one() -> None:
        accelerator.compute(again, a, 1)
        accelerator.wait()

    both = [partial(measured, run_one, accelerator, profiled=one) for one in (False, True)]
    off, on = neighbours(both, MOST)
    took = [statistics.median(one.block for one in column) * 1e6 for column in (off, on)]
    print(f"{'one launch':36} {took[0]:.0f} µs, with a profile {took[1]:.0f} µs")


def show_driver(title: str, program: Callable[[], object], accelerator: Accelerator) -> None:
    """Measure the smallest launches beside those of pyopencl alone, in turns."""
    raw = raw_launches(accelerator)
    measures = (
        partial(measured, program, accelerator, profiled=False),
        partial(measured, program, accelerator, profiled=True),
        partial(raw_seconds, raw, keep=False),
        partial(raw_seconds, raw, keep=True),
    )
    columns = [
        [one.block for one in column] for column in neighbours(measures, turns_for(measures))
    ]
    print(f"{title:36} the block {ratio(*columns[:2])}")
    print(f"{'  by pyopencl alone, all events kept':36}           {ratio(*columns[2:])}")


def raw_launches(accelerator: Accelerator) -> RawLaunches:
    """The smallest launches by pyopencl alone, on the same device and with the same code."""
    name = accelerator.device.name
    devices = (one for platform in cl.get_platforms() for one in platform.get_devices())
    device = next(one for one in devices if one.name == name)
    source = accelerator.source_of(add_one)
    return RawLaunches(device, source, NDRange(SMALL), SMALL_GROUP)


def main() -> None:
    """Print the ratios."""
    for spec in ("native", "opencl"):
        accelerator = Accelerator(spec, memory="discrete")
        print(f"{accelerator.device.spec} ({accelerator.device.name})")
        show_opening(accelerator)
        for title, program in programs(accelerator).items():
            show(title, program, accelerator)
    title, program = next(iter(programs(accelerator).items()))
    print("the driver's part:")
    show_driver(title, program, accelerator)


if __name__ == "__main__":
    main()

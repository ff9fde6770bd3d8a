"""Programs that end while devices have work under way, and results that only they have.

`python -m tests.runtime.exiting DEVICE WAY FILE`: each way of ending leaves a mapped file, whose
numbers were zeros, with what the kernels wrote.
"""

import atexit
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, i32

COUNT, TIMES = 64, 20
kept: list[Any] = []
"""What lives until Python itself ends."""


@tb.kernel
def work(kc: KernelContext, a: NDArray[i32], turns: i32) -> None:
    value = 0
    for turn in range(turns):
        value = value * 5 + turn
    a[kc.x] += 1 + (value & 0)


@tb.compute
def work_often(cc: ComputeContext, a: NDArray[i32], turns: int) -> None:
    for _ in range(TIMES):
        cc.dispatch(COUNT, work, a, turns)


def opened_as(name: str) -> Accelerator:
    """A device that poisons what is stale: `opencl`, or `opencl, shared`. No pytest is loaded."""
    spec, _, kind = name.partition(", ")
    return Accelerator(spec, memory="shared" if kind else "discrete", poison=True)


def begin(accelerator: Accelerator, a: NDArray[i32]) -> None:
    """Leave work under way that takes a while."""
    quick = accelerator.device.spec.startswith("interpreter")
    accelerator.compute(work_often, a, 1 if quick else 60_000)


def raised(*things: object) -> None:
    """End with an exception that has everything in its traceback."""
    raise ValueError(len(things))


class Reads:
    """An object that looks at its array when it ends."""

    def __init__(self, a: NDArray[i32]) -> None:
        self.a = a

    def __del__(self) -> None:
        assert self.a.tolist() == [TIMES] * COUNT


class Launches(Reads):
    """An object that would launch a kernel when it ends, which may be too late."""

    def __init__(self, accelerator: Accelerator, a: NDArray[i32]) -> None:
        super().__init__(a)
        self.accelerator = accelerator

    def __del__(self) -> None:
        try:
            begin(self.accelerator, self.a)
        except tb.TrilbyError:
            kept.append("it was too late")


def in_a_daemon_thread(accelerator: Accelerator, a: NDArray[i32]) -> None:
    """A thread goes on launching, and waiting, and making arrays, while the program ends."""
    other = accelerator.array(np.zeros(COUNT, np.int32))

    def go_on() -> None:
        try:
            while True:
                accelerator.compute(work_often, other, 1000)
                assert other[0] > 0
        except tb.TrilbyError:
            return

    begin(accelerator, a)
    threading.Thread(target=go_on, daemon=True).start()
    time.sleep(0.2)


def in_stubborn_threads(accelerator: Accelerator, a: NDArray[i32]) -> None:
    """Threads go on whatever is raised: one launches, one opens devices."""

    def forever(work: Callable[[], object]) -> None:
        while True:
            with suppress(tb.TrilbyError):
                work()

    def launch() -> None:
        other = accelerator.array(np.zeros(COUNT, np.int32))
        accelerator.compute(work_often, other, 1000)
        assert other[0] > 0

    def open_another() -> None:
        with Accelerator(accelerator.device.spec) as another:
            begin(another, another.array(np.zeros(COUNT, np.int32)))

    begin(accelerator, a)
    for work in (launch, open_another):
        threading.Thread(target=forever, args=(work,), daemon=True).start()
    time.sleep(0.2)


def with_a_handler(accelerator: Accelerator, a: NDArray[i32]) -> None:
    """A handler that the program registers after the import still launches kernels."""

    def at_the_end() -> None:
        begin(accelerator, a)
        a[:] = a - TIMES

    begin(accelerator, a)
    atexit.register(at_the_end)


def with_another_device(accelerator: Accelerator, a: NDArray[i32]) -> None:
    """Two devices have the results of each other."""
    other = opened_as("native")
    begin(accelerator, a)
    other.compute(take_back, a)
    begin(accelerator, a)
    keep(accelerator, other, a)


@tb.kernel
def subtract(kc: KernelContext, a: NDArray[i32], n: i32) -> None:
    a[kc.x] -= n


@tb.compute
def take_back(cc: ComputeContext, a: NDArray[i32]) -> None:
    cc.dispatch(COUNT, subtract, a, TIMES)


def in_a_ring(accelerator: Accelerator, a: NDArray[i32]) -> None:
    """Nobody has them any more, and the collector has not come."""
    begin(accelerator, a)
    ring: list[Any] = [accelerator, a]
    ring.append(ring)


def keep(*things: object) -> None:
    kept.append(things)


def _begin_and(then: Callable[[Accelerator, NDArray[i32]], object]) -> Any:
    def way(accelerator: Accelerator, a: NDArray[i32]) -> None:
        begin(accelerator, a)
        then(accelerator, a)

    return way


WAYS: dict[str, Callable[[Accelerator, NDArray[i32]], None]] = {
    "end": _begin_and(keep),
    "sys.exit": _begin_and(lambda accelerator, a: (keep(accelerator, a), sys.exit(3))),
    "exception": _begin_and(raised),
    "ring": in_a_ring,
    "dropped accelerator": _begin_and(lambda _accelerator, a: keep(a)),
    "dropped array": _begin_and(lambda accelerator, _a: keep(accelerator)),
    "__del__ reads": _begin_and(lambda _accelerator, a: keep(Reads(a))),
    "__del__ launches": _begin_and(lambda accelerator, a: keep(Launches(accelerator, a))),
    "daemon thread": in_a_daemon_thread,
    "stubborn threads": in_stubborn_threads,
    "atexit": with_a_handler,
    "two devices": with_another_device,
}
STATUS = {"sys.exit": 3, "exception": 1}


def main(device: str, way: str, path: str) -> None:
    numbers: Any = np.memmap(Path(path), np.int32, "r+", shape=(COUNT,))
    accelerator = opened_as(device)
    WAYS[way](accelerator, accelerator.array(numbers))


if __name__ == "__main__":
    main(*sys.argv[1:])

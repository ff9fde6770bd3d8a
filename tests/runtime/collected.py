"""Programs whose buffers the garbage collector ends while threads meet.

Each runs in a process of its own, which can be ended if its threads wait for each other.
"""

import gc
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast
from unittest.mock import patch

import numpy as np
from tests.runtime.conftest import opened_as
from tests.runtime.programs import add, dispatch, plus_one
from tests.runtime.test_threads import in_threads

import trilby as tb
from trilby import Accelerator, ComputeContext, S32Array
from trilby.backend.opencl_bursts import OpenCLRepeated
from trilby.runtime.residency import Work

TURNS, TIMES, THREADS = 20, 40, 4

Ring = list[Any]


def ring_of(*things: object) -> Ring:
    """Something that only the collector can end."""
    ring: Ring = list(things)
    ring.append(ring)
    return ring


def launch_of(accelerator: Accelerator, kernel: object) -> OpenCLRepeated:
    """A launch that is known, which is held back the next time however long it takes."""
    known = accelerator.launches._known.values()  # pyright: ignore[reportPrivateUsage]
    launch = next(one.order.launch for one in known if one.kernel is kernel)
    launch.most = 32
    return cast("OpenCLRepeated", launch)


def let(launch: OpenCLRepeated, act: Callable[[], object]) -> None:
    """Let something happen once, just before the driver gets a launch."""
    steps = launch.steps

    def step_after() -> Iterator[Any]:
        launch.steps = steps
        act()
        yield next(steps)

    launch.steps = step_after()


def meet(name: str) -> None:
    """One thread has the lock and waits to give commands, which the other does as it collects."""
    accelerator = opened_as(name)
    lent, b, c = np.zeros(8, np.float32), S32Array.create(length=8), S32Array.create(length=8)
    ring = ring_of(accelerator.array(lent))
    accelerator.compute(dispatch, 8, plus_one, ring[0], ring[0])
    for _ in range(3):
        accelerator.compute(dispatch, 8, add, b, 1)
    has_lock = threading.Event()

    prepare = accelerator.residency.prepare

    def prepare_with_the_lock(work: Work) -> Any:
        has_lock.set()
        return prepare(work)

    def launch_another() -> None:
        with patch.object(accelerator.residency, "prepare", prepare_with_the_lock):
            accelerator.compute(dispatch, 8, add, c, 1)

    other = threading.Thread(target=launch_another)

    def collect() -> None:
        other.start()
        has_lock.wait()
        gc.collect()

    let(launch_of(accelerator, add), collect)
    del ring
    accelerator.compute(dispatch, 8, add, b, 1)  # at its end it is given, without the lock
    other.join()
    assert has_lock.is_set()
    assert lent.tolist() == [1] * 8
    assert b.array.tolist() == [4] * 8
    assert c.array.tolist() == [1] * 8
    accelerator.close()


@tb.compute
def add_often(cc: ComputeContext, a: S32Array) -> None:
    for _ in range(TIMES):
        cc.dispatch(16, add, a, 1)


def stress(*names: str) -> None:
    """Threads on one accelerator or two, and a collector that runs again and again."""
    accelerators = [opened_as(name) for name in names]
    lent = [np.zeros(16, np.float32) for _ in range(THREADS)]

    def act(number: int) -> None:
        _make_and_drop(accelerators[number % len(accelerators)], lent[number])

    gc.set_threshold(3, 2, 2)
    in_threads(THREADS, act)
    gc.collect()
    for one in lent:
        assert one.tolist() == [TURNS] * 16, one
    for accelerator in accelerators:
        assert not accelerator.residency.replicas.all
        accelerator.close()


def _make_and_drop(accelerator: Accelerator, lent: "np.ndarray[Any, Any]") -> None:
    kept = S32Array.create(length=16)
    for _ in range(TURNS):
        ring = ring_of(S32Array.of(range(16)), accelerator.array(lent))
        accelerator.compute(dispatch, 16, plus_one, ring[1], ring[1])
        accelerator.compute(add_often, ring[0])
        del ring
        accelerator.compute(add_often, kept)
    assert kept.array.tolist() == [TURNS * TIMES] * 16


def program(function: str, names: Sequence[str]) -> str:
    """The text of a program that calls one of these, and says so at its end."""
    return f"from tests.runtime import collected\ncollected.{function}(*{names!r})\nprint('sound')"

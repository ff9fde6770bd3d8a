"""Programs whose buffers the garbage collector ends while threads meet.

Each runs in a process of its own, which can be ended if its threads wait for each other.
"""

import gc
from collections.abc import Sequence
from typing import Any

import numpy as np
from tests.runtime.conftest import opened_as
from tests.runtime.programs import add, dispatch, plus_one
from tests.runtime.test_threads import in_threads

import trilby as tb
from trilby import Accelerator, ComputeContext, S32Array

TURNS, TIMES, THREADS = 20, 40, 4

Ring = list[Any]


def ring_of(*things: object) -> Ring:
    """Something that only the collector can end."""
    ring: Ring = list(things)
    ring.append(ring)
    return ring


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

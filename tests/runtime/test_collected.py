"""Buffers that the garbage collector ends in the middle of things, in any thread."""

import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.runtime.collected import Ring, program, ring_of
from tests.runtime.conftest import opened_as, with_backend
from tests.runtime.devices import Watched
from tests.runtime.programs import add, dispatch, plus_one, spin, spun

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, S32Array, i32
from trilby.backend.base import Argument, Executable
from trilby.backend.interpreter.interpreter_device import InterpreterPrepared
from trilby.data.ndrange import NDRange
from trilby.runtime.content import LOCK


@pytest.fixture(params=["opencl", "opencl, shared"])
def opencl(request: pytest.FixtureRequest) -> Iterator[Accelerator]:
    with opened_as(request.param) as opened:
        yield opened


# --------------------------------------------------------------------- while the lock is held


class Collecting(Watched):
    """A device at which the collector runs when a launch is prepared."""

    collects = False

    def prepare(
        self, executable: Executable, size: NDRange, arguments: Sequence[Argument]
    ) -> InterpreterPrepared:
        if self.collects:
            gc.collect()
        return super().prepare(executable, size, arguments)


def test_what_was_lent_is_whole_when_the_launch_is_over_in_which_its_array_went(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = Collecting()
    accelerator = with_backend(monkeypatch, backend, poison=True)
    lent, other = np.zeros(8, np.float32), S32Array.create(length=8)
    accelerator.compute(dispatch, 8, add, other, 1)  # from now on it is known
    ring = ring_of(accelerator.array(lent))
    accelerator.compute(dispatch, 8, plus_one, ring[0], ring[0])
    del ring
    backend.collects = True
    accelerator.compute(dispatch, 7, add, other, 1)
    assert lent.tolist() == [1] * 8
    assert len(accelerator.residency.replicas.all) == 1


@pytest.mark.parametrize("access", ["read", "write"])
def test_what_was_lent_is_whole_when_the_access_is_over_in_which_its_array_went(
    access: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    accelerator = with_backend(monkeypatch, Watched(), poison=True)
    lent, other = np.zeros(8, np.float32), S32Array.create(length=8)
    accelerator.compute(dispatch, 8, add, other, 1)
    if access == "write":
        assert other.array.tolist() == [1] * 8  # nothing is to be waited for then
    ring = ring_of(accelerator.array(lent))
    accelerator.compute(dispatch, 8, plus_one, ring[0], ring[0])
    del ring
    with LOCK:
        gc.collect()
    if access == "read":
        assert other.array.tolist() == [1] * 8
    else:
        other.array[:] = 2
    assert lent.tolist() == [1] * 8


# ------------------------------------------------------------- while its launches are under way


@tb.kernel
def add_all(kc: KernelContext, a: NDArray[i32], b: S32Array) -> None:
    a[kc.x] = a[kc.x] + b.array[kc.x]


@tb.compute
def spin_and_add(cc: ComputeContext, holder: list[Ring], b: S32Array, turns: int) -> None:
    cc.dispatch(16, spin, b, turns)
    cc.dispatch(16, add_all, holder[0][0], b)
    holder.clear()


def test_an_array_that_goes_while_its_launches_are_under_way(opencl: Accelerator) -> None:
    turns = 20_000
    lent, b = np.zeros(16, np.int32), S32Array.of(range(16))
    ring = ring_of(opencl.array(lent))
    is_gone = weakref.ref(ring[0])
    for _ in range(3):
        opencl.compute(spin_and_add, [ring], b, turns)
    holder = [ring]
    del ring
    opencl.compute(spin_and_add, holder, b, turns)
    gc.collect()
    assert is_gone() is None
    expected = [sum(spun(i, turns * times) for times in (1, 2, 3, 4)) for i in range(16)]
    assert lent.tolist() == expected
    assert b.array.tolist() == [spun(i, 4 * turns) for i in range(16)]


# ---------------------------------------------------------------------------- several threads


def ends_well(function: str, *names: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program(function, names)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["sound"], done.stderr


@pytest.mark.parametrize(
    "names", [("opencl",), ("opencl", "opencl"), ("opencl", "opencl, shared")], ids=" + ".join
)
def test_threads_with_buffers_that_the_collector_ends_at_any_moment(names: Sequence[str]) -> None:
    ends_well("stress", *names)

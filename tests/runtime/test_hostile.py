"""Everything that can go wrong in the middle of things: nothing is lost, nothing stale is seen."""

import gc
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.runtime.conftest import opened_as, with_backend
from tests.runtime.devices import Watched
from tests.runtime.interrupting import with_ctrl_c
from tests.runtime.programs import (
    add,
    add_to,
    copy,
    dispatch,
    fail_in_the_middle,
    number,
    plus_one,
    spin,
    spun,
    square_kernel,
)

import trilby as tb
from trilby import Accelerator, ComputeContext, S32Array
from trilby.errors import (
    DeviceError,
    KernelIndexError,
    RangeError,
    ReleasedError,
)

# ----------------------------------------------------------------------- errors in user code


@tb.compute
def stop_halfway(cc: ComputeContext, a: S32Array, b: S32Array, fail: Callable[[], None]) -> None:
    cc.dispatch(a.length, add, a, 1)
    b.array[0] = -1
    cc.dispatch(b.length, add, b, 1)
    fail()
    cc.dispatch(a.length, add, a, 100)
    a.array[:] = 0


@tb.compute
def fail_halfway(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    cc.dispatch(a.length, add, a, 1)
    if b.array[0] == 0:
        raise LookupError("halfway")
    cc.dispatch(a.length, add, a, 100)


def fail() -> None:
    raise LookupError("in a callback")


@pytest.mark.parametrize("transfers", tb.Transfers)
def test_an_error_in_a_callback_leaves_what_was_done(
    accelerator: Accelerator, transfers: tb.Transfers
) -> None:
    a, b = S32Array.of(range(4)), S32Array.of(range(4))
    with accelerator.strategy(transfers):
        with pytest.raises(LookupError, match="in a callback"):
            accelerator.compute(stop_halfway, a, b, fail)
        assert a.array.tolist() == [1, 2, 3, 4]
        assert b.array.tolist() == [0, 2, 3, 4]
        accelerator.compute(dispatch, 4, add_to, a, b)
        assert a.array.tolist() == [1, 4, 6, 8]


@pytest.mark.parametrize("transfers", tb.Transfers)
def test_an_error_in_a_compute_function_leaves_what_was_done(
    accelerator: Accelerator, transfers: tb.Transfers
) -> None:
    a, b = S32Array.of(range(4)), S32Array.create(length=4)
    with accelerator.strategy(transfers):
        with pytest.raises(LookupError, match="halfway"):
            accelerator.compute(fail_halfway, a, b)
        assert a.array.tolist() == [1, 2, 3, 4]


def test_a_callback_that_computes_itself(accelerator: Accelerator) -> None:
    a, b = S32Array.of(range(4)), S32Array.of(range(4))

    def inner() -> None:
        assert a.array.tolist() == [1, 2, 3, 4]
        accelerator.compute(dispatch, 4, add_to, b, a)

    accelerator.compute(stop_halfway, a, b, inner)
    assert a.array.tolist() == [0] * 4
    assert b.array.tolist() == [1, 4, 6, 8]


# --------------------------------------------------------------------------- failed launches


def launch_and_look(accelerator: Accelerator, a: S32Array, b: S32Array) -> None:
    accelerator.compute(dispatch, 4, add_to, a, b)
    a.array.tolist()


@pytest.mark.parametrize("what", ["allocate", "upload", "prepare", "run", "download", "fill"])
def test_a_device_that_fails_loses_nothing(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Watched()
    accelerator = with_backend(monkeypatch, backend, poison=True)
    a, b, out = S32Array.of(range(4)), S32Array.of(range(4)), S32Array.create(length=4)
    backend.fail_at = what
    with pytest.raises(DeviceError, match=f"{what} failed") as caught:
        launch_and_look(accelerator, a, b)
    assert caught.value.location is not None or what == "download"
    backend.fail_at = ""
    added = what == "download"  # the launch itself went well
    assert a.array.tolist() == ([0, 2, 4, 6] if added else [0, 1, 2, 3])
    assert b.array.tolist() == [0, 1, 2, 3]
    accelerator.compute(dispatch, 4, copy, b, out)
    accelerator.compute(dispatch, 4, add_to, a, b)
    assert a.array.tolist() == ([0, 3, 6, 9] if added else [0, 2, 4, 6])
    assert out.array.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("what", ["upload", "run", "download"])
def test_a_device_that_fails_in_the_middle_of_a_loop(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = Watched()
    accelerator = with_backend(monkeypatch, backend, poison=True)
    a, expected = S32Array.of(range(4)), np.arange(4)
    for turn in range(12):
        backend.fail_at = what if turn % 3 == 1 else ""
        if turn % 4 == 0:
            a.array[turn % 3] = expected[turn % 3] = turn
        try:
            accelerator.compute(dispatch, 4, add, a, 1)
            expected += 1
            if turn % 2:
                a.array.tolist()
        except DeviceError:
            assert backend.fail_at
    backend.fail_at = ""
    assert a.array.tolist() == expected.tolist()


def test_a_kernel_that_fails_midway_does_not_spoil_what_the_host_has(
    interpreter: Accelerator,
) -> None:
    a = S32Array.of(range(8))
    for _ in range(2):
        with (
            interpreter.record() as ledger,
            pytest.raises(KernelIndexError, match=r"work item \(5, 0, 0\)"),
        ):
            interpreter.compute(dispatch, 8, fail_in_the_middle, a, 5)
        assert ledger.downloads == ()
    assert a.array.tolist() == list(range(8))
    interpreter.compute(dispatch, 8, add, a, 1)  # with what the host has, not with what is left
    assert a.array.tolist() == list(range(1, 9))
    interpreter.compute(dispatch, 8, fail_in_the_middle, a, 99)
    assert a.array.tolist() == [-1] * 8


def test_every_failing_launch_says_where_it_was_dispatched(interpreter: Accelerator) -> None:
    a = S32Array.of(range(8))
    interpreter.compute(dispatch, 8, fail_in_the_middle, a, 99)
    for at in (99, 5, 5):  # the second of these is known already
        if at == 99:
            interpreter.compute(dispatch, 8, fail_in_the_middle, a, at)
            continue
        with pytest.raises(KernelIndexError) as caught:
            interpreter.compute(dispatch, 8, fail_in_the_middle, a, at)
        (note,) = caught.value.__notes__
        assert re.match(r"dispatched at .*programs\.py:\d+$", note)


def test_a_range_that_is_too_large_changes_nothing(accelerator: Accelerator) -> None:
    a = S32Array.of(range(8))
    accelerator.compute(dispatch, 8, add, a, 1)
    for size in (2**40, (1, 2**40), (2, -1)):
        with pytest.raises((RangeError, DeviceError)):
            accelerator.compute(dispatch, size, number, a)
    assert a.array.tolist() == list(range(1, 9))
    accelerator.compute(dispatch, 8, add, a, 1)
    assert a.array.tolist() == list(range(2, 10))


# ------------------------------------------------------------------------- interrupted waits


INTERRUPTED = """
import sys
sys.path.insert(0, {root!r})
from tests.runtime.conftest import opened_as
from tests.runtime.interrupting import with_ctrl_c
from tests.runtime.programs import add, dispatch, spin, spun
from trilby import S32Array

accelerator = opened_as({name!r})
a, b = S32Array.of(range(64)), S32Array.of(range(8))
accelerator.compute(dispatch, 64, spin, a, 1)
accelerator.compute(dispatch, 8, add, b, 1)
assert a.array[1] == 3
turns, all_turns, over = 1_000_000, 1, [True]
while over[-1]:  # the kernel takes longer and longer, until Ctrl-C comes before its end
    turns *= 4
    all_turns += turns
    over.append(False)
    accelerator.compute(dispatch, 64, spin, a, turns)
    try:
        with_ctrl_c(lambda: (a.array.tolist(), over.append(True)))
    except KeyboardInterrupt:
        print("interrupted")
assert b.array.tolist() == list(range(1, 9))
expected = [spun(i, all_turns) for i in range(64)]
assert a.array.tolist() == expected
accelerator.compute(dispatch, 64, add, a, 1)
assert a.array.tolist() == [i + 1 for i in expected]
accelerator.close()
print("sound")
"""


@pytest.mark.parametrize("name", ["opencl", "opencl, shared", "native", "native, shared"])
def test_an_interrupt_during_a_wait_loses_nothing(name: str) -> None:
    text = INTERRUPTED.format(root=str(Path(__file__).parents[2]), name=name)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.stdout.split()[-2:] == ["interrupted", "sound"], done.stderr


def test_an_interrupt_in_a_kernel_of_the_interpreter_loses_nothing() -> None:
    with opened_as("interpreter") as accelerator:
        a = S32Array.of(range(8))
        with pytest.raises(KeyboardInterrupt):
            with_ctrl_c(lambda: accelerator.compute(dispatch, 8, spin, a, 10_000_000))
        accelerator.compute(dispatch, 8, add, a, 1)
        assert a.array.tolist() == list(range(1, 9))


# --------------------------------------------------------------------- buffers that are gone


def test_a_buffer_that_is_dropped_while_a_kernel_runs(accelerator: Accelerator) -> None:
    outs = [S32Array.create(length=64) for _ in range(20)]
    for turn, out in enumerate(outs):
        a = S32Array.of(range(turn, turn + 64))
        accelerator.compute(dispatch, 64, spin, a, 100)
        accelerator.compute(dispatch, 64, copy, a, out)
        del a
    gc.collect()
    for turn, out in enumerate(outs):
        assert out.array.tolist() == [spun(i, 100) for i in range(turn, turn + 64)]


def test_a_buffer_that_is_released_while_a_kernel_runs(accelerator: Accelerator) -> None:
    outs = [S32Array.create(length=64) for _ in range(20)]
    for out in outs:
        a = S32Array.of(range(64))
        accelerator.compute(dispatch, 64, spin, a, 100)
        accelerator.compute(dispatch, 64, copy, a, out)
        a.release()
        with pytest.raises(ReleasedError):
            accelerator.compute(dispatch, 64, copy, a, out)
        with pytest.raises(ReleasedError):
            a.array.tolist()
    expected = [spun(i, 100) for i in range(64)]
    assert all(out.array.tolist() == expected for out in outs)


def test_buffers_in_cycles_that_the_collector_finds_at_any_moment(
    accelerator: Accelerator,
) -> None:
    before = gc.get_threshold()
    x = np.zeros(64, np.float32)
    kept = accelerator.array(x[:48])
    expected = np.zeros(64, np.float32)
    gc.set_threshold(7, 2, 2)
    try:
        for turn in range(60):
            ring: list[object] = [S32Array.of(range(turn + 1)), accelerator.array(x[16:])]
            ring.append(ring)
            accelerator.compute(dispatch, turn + 1, square_kernel, ring[0])
            accelerator.compute(dispatch, 48, plus_one, ring[1], ring[1])
            accelerator.compute(dispatch, 48, plus_one, kept, kept)
            expected[16:] += 1
            expected[:48] += 1
            del ring
            if turn % 5 == 0:
                assert kept.tolist() == expected[:48].tolist()
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert kept.tolist() == expected[:48].tolist()
    del kept
    gc.collect()
    assert x.tolist() == expected.tolist()


def test_an_accelerator_that_is_closed_in_flight(accelerator: Accelerator) -> None:
    a = S32Array.of(range(64))
    shares = accelerator.residency.replicas.shares
    name = accelerator.device.backend + (", shared" if shares else "")
    with opened_as(name) as other:
        other.compute(dispatch, 64, spin, a, 1000)
    expected = [spun(i, 1000) for i in range(64)]
    assert a.array.tolist() == expected
    accelerator.compute(dispatch, 64, add, a, 1)
    with pytest.raises(DeviceError, match="closed"):
        other.compute(dispatch, 64, add, a, 1)
    assert a.array.tolist() == [i + 1 for i in expected]

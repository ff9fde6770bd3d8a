"""Everything that can go wrong in the middle of things: nothing is lost, nothing stale is seen."""

import gc
import logging
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.runtime.conftest import opened_as, with_backend
from tests.runtime.devices import Watched
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
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, S32Array, f32
from trilby.errors import (
    ArgumentValueError,
    DeviceError,
    GuardError,
    KernelIndexError,
    RangeError,
    ReleasedError,
)

# ------------------------------------------------------------------- errors in user code


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


# ------------------------------------------------------------------------ failed launches


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


# --------------------------------------------------------------------- interrupted waits

INTERRUPTED = """
import os, signal, sys, threading
sys.path.insert(0, {root!r})
from tests.runtime.conftest import opened_as
from tests.runtime.programs import add, dispatch, spin, spun
from trilby import S32Array

accelerator = opened_as({name!r})
a, b = S32Array.of(range(64)), S32Array.of(range(8))
accelerator.compute(dispatch, 64, spin, a, 1)
accelerator.compute(dispatch, 8, add, b, 1)
assert a.array[1] == 3
accelerator.compute(dispatch, 64, spin, a, {turns})
timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
timer.start()
try:
    a.array.tolist()
except KeyboardInterrupt:
    print("interrupted")
timer.join()
assert b.array.tolist() == list(range(1, 9))
expected = [spun(i, 1 + {turns}) for i in range(64)]
assert a.array.tolist() == expected
accelerator.compute(dispatch, 64, add, a, 1)
assert a.array.tolist() == [i + 1 for i in expected]
accelerator.close()
print("sound")
"""


@pytest.mark.parametrize("name", ["opencl", "opencl, shared"])
def test_an_interrupt_during_a_wait_loses_nothing(name: str) -> None:
    root = str(Path(__file__).parents[2])
    text = INTERRUPTED.format(root=root, name=name, turns=2_000_000)
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stdout.split() == ["interrupted", "sound"], done.stderr


def test_an_interrupt_in_a_kernel_of_the_interpreter_loses_nothing() -> None:
    with opened_as("interpreter") as accelerator:
        a = S32Array.of(range(8))
        timer = threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            accelerator.compute(dispatch, 8, spin, a, 100_000_000)
        timer.join()
        accelerator.compute(dispatch, 8, add, a, 1)
        assert a.array.tolist() == list(range(1, 9))


# ----------------------------------------------------------------- buffers that are gone


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
    name = "opencl, shared" if accelerator.residency.replicas.shares else accelerator.device.backend
    with opened_as(name) as other:
        other.compute(dispatch, 64, spin, a, 1000)
    expected = [spun(i, 1000) for i in range(64)]
    assert a.array.tolist() == expected
    accelerator.compute(dispatch, 64, add, a, 1)
    with pytest.raises(DeviceError, match="closed"):
        other.compute(dispatch, 64, add, a, 1)
    assert a.array.tolist() == [i + 1 for i in expected]


# ----------------------------------------------------------- one memory under two names


def test_one_buffer_is_one_memory_however_often_it_is_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = Watched()
    accelerator = with_backend(monkeypatch, backend, poison=True)
    a = S32Array.of([1, 2, 3])
    accelerator.compute(dispatch, 3, add_to, a, a)
    ((left, right),) = backend.launched
    assert left is right
    assert a.array.tolist() == [2, 4, 6]


def test_a_buffer_passed_twice_in_a_loop(accelerator: Accelerator) -> None:
    a = S32Array.of(range(4))
    for _ in range(5):
        accelerator.compute(dispatch, 4, add_to, a, a)
    assert a.array.tolist() == [0, 32, 64, 96]


@tb.kernel
def write_even_and_odd(kc: KernelContext, even: NDArray[f32], odd: NDArray[f32]) -> None:
    if kc.x % 2 == 0:
        even[kc.x] = 10.0
    else:
        odd[kc.x] = 20.0


def test_two_arrays_on_the_same_memory_are_one(accelerator: Accelerator) -> None:
    numbers = np.zeros(4, np.float32)
    left, right = accelerator.array(numbers), accelerator.array(numbers)
    accelerator.compute(dispatch, 4, write_even_and_odd, left, right)
    assert left.tolist() == right.tolist() == [10.0, 20.0, 10.0, 20.0]
    assert numbers.tolist() == [10.0, 20.0, 10.0, 20.0]
    left[0] = 1
    accelerator.compute(dispatch, 4, plus_one, right, right)
    assert left.tolist() == [2.0, 21.0, 11.0, 21.0]


@tb.kernel
def add_both(kc: KernelContext, a: NDArray[f32], b: NDArray[f32], out: NDArray[f32]) -> None:
    out[kc.x] = a[kc.x] + b[kc.x]


def test_memory_that_is_shared_in_part_is_refused_where_it_is_written(
    accelerator: Accelerator,
) -> None:
    numbers = np.arange(6, dtype=np.float32)
    left, right = accelerator.array(numbers[:4]), accelerator.array(numbers[2:])
    with pytest.raises(ArgumentValueError, match="`a` and `b` share a part of their memory"):
        accelerator.compute(dispatch, 4, plus_one, left, right)
    assert numbers.tolist() == [0, 1, 2, 3, 4, 5]
    out = accelerator.array(np.zeros(4, np.float32))
    accelerator.compute(dispatch, 4, add_both, left, right, out)
    assert out.tolist() == [2, 4, 6, 8]  # reading both is no problem
    behind = accelerator.array(numbers[4:])
    accelerator.compute(dispatch, 2, plus_one, left, behind)  # one begins where the other ends
    assert right.tolist() == [2, 3, 1, 2]


def test_memory_that_overlaps_a_buffer_of_ours_is_refused_where_it_is_written(
    accelerator: Accelerator,
) -> None:
    """A raw view is memory like any other, and so it can be bound."""
    own = NDArray[float]([np.float32(i) for i in range(6)])
    part = accelerator.array(own.raw()[2:])
    with pytest.raises(ArgumentValueError, match="`a` and `b` share a part of their memory"):
        accelerator.compute(dispatch, 4, plus_one, own, part)


def test_overlapping_arrays_see_each_others_writes(accelerator: Accelerator) -> None:
    numbers = np.zeros(8, np.float32)
    left, right = accelerator.array(numbers[:6]), accelerator.array(numbers[2:])
    for turn in range(4):
        accelerator.compute(dispatch, 6, plus_one, left, left)
        accelerator.compute(dispatch, 6, plus_one, right, right)
        if turn == 1:
            assert left.tolist() == [2, 2, 4, 4, 4, 4]
            right[0] = 10
    assert right.tolist() == [14, 8, 8, 8, 4, 4]
    assert left.tolist() == [4, 4, 14, 8, 8, 8]
    del left, right
    gc.collect()
    assert numbers.tolist() == [4, 4, 14, 8, 8, 8, 4, 4]


def test_an_array_that_no_kernel_gets_sees_what_one_wrote_to_its_memory(
    accelerator: Accelerator,
) -> None:
    numbers = np.zeros(8, np.float32)
    before, used = accelerator.array(numbers[:6]), accelerator.array(numbers[2:])
    accelerator.compute(dispatch, 6, plus_one, used, used)
    after = accelerator.array(numbers)
    assert before.tolist() == [0, 0, 1, 1, 1, 1]
    accelerator.compute(dispatch, 6, plus_one, used, used)
    assert after.tolist() == [0, 0, 2, 2, 2, 2, 2, 2]
    accelerator.array(numbers[3:5])[:] = 9
    accelerator.compute(dispatch, 6, plus_one, used, used)
    assert used.tolist() == [3, 10, 10, 3, 3, 3]


def test_a_buffer_of_ours_sees_what_was_written_through_an_array_on_its_raw_view(
    accelerator: Accelerator,
) -> None:
    own = NDArray[float]([np.float32(i) for i in range(4)])
    part = accelerator.array(own.raw()[2:])
    accelerator.compute(dispatch, 2, plus_one, part, part)
    assert own.tolist() == [0, 1, 3, 4]


def test_a_buffer_on_the_users_own_memory(accelerator: Accelerator) -> None:
    memory = np.array([3, 1, 2, 3], np.int32)  # a length and three numbers
    accelerator.compute(dispatch, 3, square_kernel, S32Array.bind(memory))
    gc.collect()
    assert memory.tolist() == [3, 1, 4, 9]
    memory[1:] = [5, 6, 7]
    again = S32Array.bind(memory)
    accelerator.compute(dispatch, 3, square_kernel, again)
    assert again.array.tolist() == [25, 36, 49]


# ------------------------------------------------------------ several devices, threads

PAIRS = [
    ("interpreter", "opencl"),
    ("interpreter", "opencl, shared"),
    ("opencl", "opencl"),
    ("opencl", "opencl, shared"),
    ("opencl, shared", "opencl, shared"),
]


@pytest.mark.parametrize("names", PAIRS, ids=" + ".join)
def test_accelerators_share_buffers(names: tuple[str, str]) -> None:
    a, b = S32Array.of(range(64)), S32Array.of([1] * 64)
    with opened_as(names[0]) as one, opened_as(names[1]) as other:
        for turn in range(10):
            one.compute(dispatch, 64, add_to, a, b)
            other.compute(dispatch, 64, add, a, 1)
            if turn == 5:
                b.array[:] = 2
        assert a.array[1] == 1 + 6 * 2 + 4 * 3
        one.compute(dispatch, 64, add, a, 1)
    assert a.array.tolist() == [i + 25 for i in range(64)]


def test_what_two_devices_only_read_goes_to_each_once() -> None:
    a = S32Array.of(range(64))
    outs = S32Array.create(length=64), S32Array.create(length=64)
    with opened_as("interpreter") as one, opened_as("opencl") as other:
        with one.record() as first, other.record() as second:
            for _ in range(3):
                one.compute(dispatch, 64, copy, a, outs[0])
                other.compute(dispatch, 64, copy, a, outs[1])
        assert (first.bytes_up, second.bytes_up) == (256, 256)
        assert outs[0].array.tolist() == outs[1].array.tolist() == list(range(64))


def in_threads(count: int, act: Callable[[int], None]) -> None:
    """Run something in several threads at once, and raise what any of them raises."""
    errors: list[BaseException] = []
    start = threading.Barrier(count)

    def run(number: int) -> None:
        start.wait()
        try:
            act(number)
        except BaseException as error:  # noqa: BLE001 -- it is raised below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_threads_with_buffers_of_their_own(accelerator: Accelerator) -> None:
    buffers = [S32Array.of(range(k, k + 16)) for k in range(4)]

    def act(number: int) -> None:
        mine = buffers[number]
        for turn in range(20):
            accelerator.compute(dispatch, 16, add, mine, 1)
            if turn % 7 == 0:
                assert mine.array[0] == number + turn + 1
                mine.array[5] += 1

    in_threads(4, act)
    for k, one in enumerate(buffers):
        assert one.array.tolist() == [i + 20 + (3 if i == k + 5 else 0) for i in range(k, k + 16)]


def test_threads_with_the_same_buffers(accelerator: Accelerator) -> None:
    a, b = S32Array.create(length=16), S32Array.of([1] * 16)

    def act(number: int) -> None:
        for turn in range(20):
            if number % 2:
                accelerator.compute(dispatch, 16, add_to, a, b)
            else:
                accelerator.compute(dispatch, 16, add, a, turn)
            if turn % 5 == 0:
                assert b.array.tolist() == [1] * 16
                a.array.tolist()

    in_threads(4, act)
    assert a.array.tolist() == [2 * 20 + 2 * sum(range(20))] * 16


@pytest.mark.parametrize("names", PAIRS[:4], ids=" + ".join)
def test_threads_with_accelerators_of_their_own_and_one_buffer(names: tuple[str, str]) -> None:
    a = S32Array.create(length=16)
    with opened_as(names[0]) as one, opened_as(names[1]) as other:

        def act(number: int) -> None:
            for _ in range(15):
                (one, other)[number].compute(dispatch, 16, add, a, 1)

        in_threads(2, act)
        assert a.array.tolist() == [30] * 16


def test_threads_make_and_drop_buffers(accelerator: Accelerator) -> None:
    def act(number: int) -> None:
        for turn in range(15):
            a, b = S32Array.of(range(turn + 1)), S32Array.create(length=turn + 1)
            accelerator.compute(dispatch, turn + 1, copy, a, b)
            del a
            assert b.array.tolist() == list(range(turn + 1)), number

    in_threads(4, act)


# ------------------------------------------------------------------------ guards and logs


def test_a_guard_lets_through_what_moves_nothing(discrete: Accelerator) -> None:
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    discrete.compute(dispatch, 8, add_to, a, b)
    with discrete.guard():
        for _ in range(3):
            discrete.compute(dispatch, 8, add_to, a, b)
        assert b.array[3] == 3
    assert a.array.tolist() == [5 * i for i in range(8)]


def test_a_guard_refuses_a_copy_to_the_device(discrete: Accelerator) -> None:
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    discrete.compute(dispatch, 8, add_to, a, b)
    b.array[2] = 7
    with discrete.guard(), pytest.raises(GuardError) as caught:
        discrete.compute(dispatch, 8, add_to, a, b)
    text = str(caught.value)
    assert "`b` has to move inside of `accelerator.guard()`: add_to reads it" in text
    assert re.search(r"the host wrote it at test_hostile\.py:\d+", text)
    assert caught.value.location is not None
    assert caught.value.location.short.startswith("programs.py:")
    discrete.compute(dispatch, 8, add_to, a, b)
    assert a.array.tolist() == [0, 3, 11, *(3 * i for i in range(3, 8))]


def test_a_guard_refuses_a_copy_to_the_host(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    discrete.compute(dispatch, 8, add, a, 1)
    with discrete.guard():
        with pytest.raises(GuardError, match="the host reads it; add wrote it at programs") as one:
            a.array.tolist()
        with discrete.guard(), pytest.raises(GuardError):
            a.array[2]
        with pytest.raises(GuardError):  # an inner guard ends, the outer one does not
            a.array[2]
        a.array[:4] = 0  # a write needs nothing
    assert one.value.location is not None
    assert one.value.location.short.startswith("test_hostile.py:")
    assert a.array.tolist() == [0, 0, 0, 0, 5, 6, 7, 8]


def test_a_guard_refuses_nothing_where_the_memory_is_the_hosts(shared: Accelerator) -> None:
    a = S32Array.of(range(8))
    with shared.guard():
        shared.compute(dispatch, 8, add, a, 1)
        assert a.array.tolist() == list(range(1, 9))


def test_the_log_says_per_argument_what_moved_and_why(
    discrete: Accelerator, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("trilby"), "propagate", True)
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    with caplog.at_level(logging.DEBUG, "trilby"):
        for _ in range(2):
            discrete.compute(dispatch, 8, add_to, a, b)
        discrete.compute(dispatch, 8, number, b)
        a.array.tolist()  # logged
    line = dispatch.location.line + 3
    launch, read = f"programs.py:{line}", f"test_hostile.py:{line_of('# logged')}"
    assert [record.message for record in caplog.records if "launch" not in record.message] == [
        f"a: moved 32 bytes up, because add_to reads and writes it; the host wrote it ({launch})",
        f"b: moved 32 bytes up, because add_to reads it; the host wrote it ({launch})",
        "add_to: a is present",
        "add_to: b is present",
        "number: b needs nothing of it",
        f"a: moved 32 bytes down, because the host reads it; add_to wrote it at {launch} ({read})",
    ]


def line_of(text: str) -> int:
    """The line of this file that has some text."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return 1 + next(number for number, line in enumerate(lines) if text in line)

"""The queue and its threads: order, waiting, interrupts, forks, the end of a process."""

import gc
import subprocess
import sys
import threading
import time
import weakref
from array import array
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.backend.native.running import (
    GATE,
    SCALE,
    SPEND,
    Gate,
    download,
    row_kernel,
    scale,
    scaling,
    shared,
    upload,
)
from tests.runtime.interrupting import Signal, with_ctrl_c

from trilby.backend.base import Scalar
from trilby.backend.native import NativeBackend
from trilby.backend.native.engine import Engine
from trilby.backend.native.host_processor import HostProcessor, this_host
from trilby.backend.native.llvm import load, object_code
from trilby.backend.native.queue_code import (
    COST,
    VARIES,
    address_of_record,
    make_record,
    queue_text,
)
from trilby.data.dtypes import I32
from trilby.data.ndrange import NDRange
from trilby.errors import DeviceError


def with_threads(threads: int) -> HostProcessor:
    host = this_host()
    return replace(host, device=replace(host.device, compute_units=threads))


@pytest.mark.parametrize("threads", [1, 2, 3, 8, 33])
def test_any_number_of_threads_does_all_the_work(threads: int) -> None:
    engine = Engine(with_threads(threads), None)
    code = load(object_code(SPEND.text, engine.host.processor), engine.host.processor, ["spend"])
    turns = np.random.default_rng(threads).integers(1, 2000, 5000, np.int32)
    groups, sums = 5000 // 8, np.zeros(5000, np.int32)
    launch = (5000, 1, 1, 8, 1, 1, groups, 1, 1, 0, 0, 0)
    places = [turns.ctypes.data, sums.ctypes.data]
    record = make_record(engine.address, code["spend"], groups, places, launch=launch)
    for _ in range(3):
        sums[:] = 0
        engine.wait(engine.submit(record, None))
        assert np.array_equal(sums, expected_sums(turns))
    assert engine.state.workers == threads
    engine.stop()
    assert engine.state.workers == 0
    engine.wait(engine.submit(record, None))  # they come back
    engine.stop()


def test_threads_that_leave_are_in_code_that_stays() -> None:
    for _ in range(20):
        engine = Engine(with_threads(33), None)
        target = array("Q", [0] * 1000)
        places = (target.buffer_info()[0], 1, 8000, 80)
        record = make_record(engine.address, engine.functions.fill, 100, places)
        engine.wait(engine.submit(record, None))
        engine.stop()
        del engine
        gc.collect()


def expected_sums(turns: NDArray[np.int32]) -> NDArray[np.int32]:
    """What `SPEND` leaves, by NumPy."""
    sums = np.zeros(len(turns), np.uint32)
    for turn in range(int(turns.max())):
        sums = np.where(turn < turns, sums * np.uint32(1103515245) + np.uint32(12345), sums)
    return sums.astype(np.int32)


def test_a_brief_launch_is_run_by_the_thread_that_submits_it() -> None:
    engine = Engine(with_threads(2), None)
    target = array("Q", [0])
    places = (target.buffer_info()[0], 7, 8, 8)
    record = make_record(engine.address, engine.functions.fill, 1, places, nanoseconds=5)
    sequence = engine.functions.submit(address_of_record(record))
    assert (sequence, engine.state.completed, engine.state.workers) == (1, 1, 0)
    assert target[0] == 0x0707070707070707
    longer = make_record(engine.address, engine.functions.fill, 1, places, nanoseconds=10**6)
    assert engine.functions.submit(address_of_record(longer)) == 0  # there are no workers
    assert engine.submit(longer, None) == 2
    engine.wait(2)
    assert longer[COST] < 10**6  # what was seen counts
    engine.stop()


def test_a_brief_launch_waits_for_its_turn(native: NativeBackend) -> None:
    memory = upload(native, np.ones(8, np.int32))
    prepared = scaling(native, memory, 3)
    prepared.record[COST] = 100
    gate = Gate.on(native)
    ticket = prepared.submit()
    assert not ticket.done
    gate.open()
    ticket.wait()
    assert download(native, memory, np.zeros(8, np.int32)).tolist() == [3] * 8


NOTE_PASS = row_kernel(
    "note_pass",
    """
  %a = load ptr, ptr %args
  %pass_at = getelementptr i64, ptr %launch, i64 9
  %pass = load i64, ptr %pass_at""",
    """
  %row = getelementptr [1000 x i64], ptr %a, i64 %pass
  %place = getelementptr [1000 x i64], ptr %row, i64 0, i64 %x
  %before = sub i64 %pass, 1
  %row_before = getelementptr [1000 x i64], ptr %a, i64 %before
  %mirrored = sub i64 999, %x
  %place_before = getelementptr [1000 x i64], ptr %row_before, i64 0, i64 %mirrored
  %old = load i64, ptr %place_before
  %new = add i64 %old, %x
  store i64 %new, ptr %place""",
)
"""Row `pass` of a matrix is made of the row before it."""


@pytest.mark.parametrize("local", [1000, 10])
def test_passes_come_one_after_the_other(native: NativeBackend, local: int) -> None:
    rows = np.zeros((201, 1000), np.int64)
    memory = shared(native, rows)
    prepared = native.prepare(native.begin_build(NOTE_PASS, 1)(), NDRange(1000, local), [memory])
    engine = native.engine
    engine.submit_kept(prepared.record, 1, 1)
    engine.submit_kept(prepared.record, 2, 150)  # the first may still be under way
    last = engine.submit_kept(prepared.record, 152, 49)
    engine.wait(last)
    expected = np.zeros(1000, np.int64)
    for row in rows[1:]:
        expected = expected[::-1] + np.arange(1000)
        assert np.array_equal(row, expected)
    times = engine.times(last)
    assert times is not None
    assert times.began is not None
    assert 0 < times.began <= time.perf_counter()
    assert times.seconds > 0


def test_an_interrupt_ends_the_wait_and_not_the_work(native: NativeBackend) -> None:
    gate = Gate.on(native)
    memory = native.allocate(16)
    native.fill(memory, 0, 16, 1)
    ticket = scale(native, memory, 3)
    with pytest.raises(KeyboardInterrupt):
        with_ctrl_c(ticket.wait)
    assert not ticket.done
    gate.open()
    ticket.wait()
    assert download(native, memory, np.zeros(4, np.int32)).tolist() == [0x03030303] * 4


def test_many_threads_wait_for_one_launch(native: NativeBackend) -> None:
    gate = Gate.on(native)
    woken: list[int] = []

    def wait(number: int) -> None:
        gate.ticket.wait()
        woken.append(number)

    threads = [threading.Thread(target=wait, args=(n,)) for n in range(5)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    assert woken == []
    gate.open()
    for thread in threads:
        thread.join()
    assert sorted(woken) == [0, 1, 2, 3, 4]


def test_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(with_threads(2), None)

    def start(_queue: int, _count: int) -> int:
        return 0

    monkeypatch.setattr(engine.functions, "start", start)
    record = make_record(engine.address, engine.functions.fill, 1, (0, 0, 0, 1))
    with pytest.raises(DeviceError, match="no thread can be started") as caught:
        engine.submit(record, None)
    assert "ulimit -u" in caught.value.advice


@pytest.mark.parametrize("triple", ["x86_64-linux-gnu", "aarch64-linux-gnu", "riscv64-linux-gnu"])
def test_the_queue_pauses_as_its_processor_does(triple: str) -> None:
    words = {"x86_64": "sse2.pause", "aarch64": "aarch64.hint", "riscv64": "sched_yield"}
    text = queue_text(triple)
    assert f'target triple = "{triple}"' in text
    assert words[triple.partition("-")[0]] in text


# ------------------------------------------------------------------------------- interrupts


class Thing:
    """Something that a record needs."""


def test_what_a_record_needs_lives_until_it_is_done_whatever_interrupts(
    native: NativeBackend,
) -> None:
    engine = native.engine
    for moment in range(60):
        gate = Gate.on(native)
        thing = Thing()
        is_gone = weakref.ref(thing)
        record = make_record(engine.address, engine.functions.fill, 1, (0, 0, 0, 1))
        before = engine.state.submitted
        sent = Signal(moment)
        with suppress(KeyboardInterrupt), sent:
            engine.submit(record, thing)
        was_submitted = engine.state.submitted > before
        del thing
        gc.collect()
        assert is_gone() is not None or not was_submitted, sent.where
        gate.open()
        gate.ticket.wait()
        engine.wait(engine.submitted)
        native.fill(native.allocate(1), 0, 1, 0).wait()
        assert is_gone() is None, sent.where
        if sent.where is None:
            return
    raise AssertionError("there are more moments")


def test_memory_in_use_lives_until_the_work_is_done_whatever_interrupts(
    native: NativeBackend,
) -> None:
    for moment in range(200):
        gate = Gate.on(native)
        numbers = np.ones(1000, np.int32)
        is_gone = weakref.ref(numbers)
        memory = shared(native, numbers)
        native.fill(memory, 0, 4000, 7)
        del numbers
        sent = Signal(moment)
        with suppress(KeyboardInterrupt), sent:
            native.free(memory)
        del memory
        gc.collect()
        assert is_gone() is not None, sent.where
        gate.open()
        gate.ticket.wait()
        if sent.where is None:
            return
    raise AssertionError("there are more moments")


def test_python_runs_no_record_that_may_take_longer_than_before(native: NativeBackend) -> None:
    """A gate that was brief before, and that data keeps closed now."""
    flag = np.ones(2, np.int32)
    prepared = native.prepare(native.begin_build(GATE, 1)(), NDRange(1), [shared(native, flag)])
    prepared.record[VARIES] = 1
    prepared.submit().wait()
    flag[0] = 0
    prepared.record[COST] = 1
    ticket = prepared.submit()  # it would never return
    assert not ticket.done
    flag[0] = 1
    ticket.wait()


# ------------------------------------------------------------------------------- processes

BEGIN = """
import os, sys, time
import numpy as np
from tests.backend.native.running import Gate, download, scale, scaling, shared, upload
from trilby.backend.native import NativeFamily
native = NativeFamily().open(0)
numbers = np.ones(100_000, np.int32)
memory = shared(native, numbers)
"""


def run_python(program: str, before: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [
            *(sys.executable, "-X", "faulthandler"),
            *("-W", "ignore:This process:DeprecationWarning"),  # newer Pythons warn of forks
            *("-c", before + BEGIN + program),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
    )


def test_a_child_of_a_fork_works_on_its_copy() -> None:
    done = run_python(
        """
for _ in range(5): scale(native, memory, 2)
child = os.fork()
for _ in range(3): scale(native, memory, 2 if child else 3).wait()
os.write(1, f"{numbers.min()} {numbers.max()}\\n".encode())  # at once: both write there
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
    )
    assert (sorted(done.stdout.split()), done.stderr) == (["256", "256", "864", "864"], "")


def test_a_process_ends_with_work_under_way() -> None:
    done = run_python(
        """
last = np.zeros(1, np.int32)
for _ in range(200): scale(native, memory, 2)
print("begun")
"""
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "begun\n", "")


def test_a_process_ends_by_ctrl_c_although_a_kernel_never_does() -> None:
    done = run_python(
        """
import signal, threading
gate = Gate.on(native)
try:
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    gate.ticket.wait()
except KeyboardInterrupt:
    print("interrupted", flush=True)
again = threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT))
again.daemon = True
again.start()
"""
    )
    assert (done.returncode, done.stdout) == (0, "interrupted\n")


def test_kernels_may_be_begun_when_the_threads_have_left() -> None:
    done = run_python(
        """
scale(native, memory, 2).wait()
print(numbers[0])
""",
        before="""
import atexit
@atexit.register  # it is called after those that are registered later
def at_the_end():
    assert native.engine.state.workers == 0
    for _ in range(3): scale(native, memory, 2)
    scale(native, memory, 2).wait()
    print(numbers[0])
""",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n32\n", "")


def test_work_that_was_lost_in_a_fork_says_so() -> None:
    engine = Engine(with_threads(2), None)
    engine.state.submitted = 5
    engine.state.completed = 3
    engine.after_fork()
    engine.wait(3)
    with pytest.raises(DeviceError, match="under way when the process forked"):
        engine.wait(4)
    record = make_record(engine.address, engine.functions.fill, 1, (0, 0, 0, 1), nanoseconds=1)
    assert engine.submit(record, None) == 6
    engine.wait(6)


def test_kernels_of_many_shapes_in_a_row(native: NativeBackend) -> None:
    """Brief and long launches in turn, waited for now and then."""
    kernel = native.begin_build(SCALE, 2)()
    sizes = [1, 100, 5000, 300_000, 7]
    memories = [upload(native, np.ones(n, np.int32)) for n in sizes]
    prepared = [
        native.prepare(kernel, NDRange(n), [m, Scalar(I32, -1)])
        for n, m in zip(sizes, memories, strict=True)
    ]
    random = np.random.default_rng(5)
    signs = [1] * len(sizes)
    for number in map(int, random.integers(0, len(sizes), 600)):
        ticket = prepared[number].submit()
        signs[number] *= -1
        if random.random() < 0.2:
            ticket.wait()
    for size, memory, sign in zip(sizes, memories, signs, strict=True):
        assert np.all(download(native, memory, np.zeros(size, np.int32)) == sign)

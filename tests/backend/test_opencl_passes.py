"""Many passes of one launch on an OpenCL device: hand-written OpenCL C, real launches."""

import signal
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import numpy as np
import pyopencl as cl
import pytest
from tests.backend.opencl_running import RANGE, build, download, scaling, upload

from trilby.backend.base import Scalar
from trilby.backend.opencl import OpenCLFamily
from trilby.backend.opencl.opencl_device import OpenCLBackend
from trilby.data.dtypes import I32
from trilby.data.ndrange import NDRange
from trilby.errors import DeviceError, KernelAssertionError
from trilby.source import Location

STIR = f"""
__kernel void stir(__global int *a, {RANGE}, int pass_id) {{
    int x = get_global_id(0);
    if (x < max_x) a[x] = a[x] * 3 + pass_id;
}}
"""
CHECKED = f"""
__kernel void checked(__global int *a, {RANGE}, int pass_id, __global int *failure) {{
    int x = get_global_id(0);
    if (x >= max_x) return;
    if (x == 1 && pass_id == 4) {{ failure[0] = 1; failure[1] = x; return; }}
    a[x] = a[x] * 3 + pass_id;
}}
"""


@pytest.fixture(scope="module")
def backend() -> Iterator[OpenCLBackend]:
    opened = OpenCLFamily().open(0)
    yield opened
    opened.close()


def mixed(start: int, passes: range) -> int:
    for number in passes:
        start = start * 3 + number
    return (start + 2**31) % 2**32 - 2**31


def test_passes_are_numbered_and_in_order(backend: OpenCLBackend) -> None:
    ones = np.ones(1000, np.int32)
    memory = upload(backend, ones)
    kernel = build(backend, STIR, "stir", takes_pass=True)
    prepared = backend.prepare(kernel, NDRange(1000), [memory])
    assert prepared.begun == 0
    for count in (1, 4, 300):
        last = prepared.submit(count, 5 + prepared.begun)
    assert prepared.begun == 305
    last.wait()
    assert set(download(backend, memory, ones)) == {mixed(1, range(5, 310))}


def test_the_first_waits_and_what_follows_waits_for_the_last(backend: OpenCLBackend) -> None:
    numbers = np.full(1 << 18, 2, np.int32)
    result = np.zeros_like(numbers)
    memory = backend.allocate(numbers.nbytes)
    prepared = scaling(backend, memory, 3)
    sent = backend.upload(memory, 0, numbers.data.cast("B"))
    passes = prepared.submit(6, after=[sent])
    once = scaling(backend, memory, 5).submit(after=[passes])
    passes = prepared.submit(2, after=[once])
    backend.download(memory, 0, result.data.cast("B"), [passes]).wait()
    assert np.array_equal(result, np.full(1 << 18, 2 * 3**8 * 5))


def test_another_number_is_for_the_passes_to_come(backend: OpenCLBackend) -> None:
    twos = np.full(1 << 16, 2, np.int32)
    memory = upload(backend, twos)
    prepared = scaling(backend, memory, 3)
    prepared.submit(4)
    prepared.replace(1, Scalar(I32, 5))
    prepared.submit(2).wait()
    assert set(download(backend, memory, twos)) == {2 * 3**4 * 5**2}


def test_a_plain_run_is_pass_0(backend: OpenCLBackend) -> None:
    ones = np.ones(4, np.int32)
    memory = upload(backend, ones)
    kernel = build(backend, STIR, "stir", takes_pass=True)
    prepared = backend.prepare(kernel, NDRange(4), [memory])
    prepared.submit(1, 7)
    prepared.submit().wait()
    assert set(download(backend, memory, ones)) == {mixed(1, range(7, 8)) * 3}


@pytest.mark.parametrize("good", [1, 2, 4])
def test_one_report_serves_a_portion_of_passes(backend: OpenCLBackend, good: int) -> None:
    ones = np.ones(64, np.int32)
    memory = upload(backend, ones)
    asserts = [("x is not four", Location("app.py", 3))]
    kernel = build(backend, CHECKED, "checked", asserts, takes_pass=True)
    prepared = backend.prepare(kernel, NDRange(64), [memory])
    before, failing = prepared.submit(good), prepared.submit(9, good)
    later = prepared.submit(2, 13)
    for _ in range(2):
        with pytest.raises(KernelAssertionError, match="x is not four"):
            failing.wait()
    before.wait()
    later.wait()
    assert prepared.begun == good + 11


def test_freed_memory_cannot_be_used(backend: OpenCLBackend) -> None:
    memory = upload(backend, np.ones(4, np.int32))
    kernel = build(backend, STIR, "stir", takes_pass=True)
    prepared = backend.prepare(kernel, NDRange(4), [memory])
    backend.free(memory, [prepared.submit(3)])
    with pytest.raises(DeviceError, match="freed"):
        prepared.submit(2)
    assert prepared.begun == 3


def test_a_driver_that_refuses_a_pass(
    backend: OpenCLBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those before it are counted, and done."""
    ones = np.ones(4, np.int32)
    memory = upload(backend, ones)
    kernel = build(backend, STIR, "stir", takes_pass=True)
    prepared = backend.prepare(kernel, NDRange(4), [memory])
    enqueue, before, given = cl.enqueue_nd_range_kernel, backend.compute.submitted, 0

    def fail_later(*arguments: object) -> object:
        nonlocal given
        given += 1
        if given > 5:
            return cl.Buffer(backend.context, cl.mem_flags.READ_WRITE, 0)  # there is none
        return enqueue(*arguments)  # pyright: ignore[reportArgumentType] -- as they came

    monkeypatch.setattr(cl, "enqueue_nd_range_kernel", fail_later)
    with pytest.raises(DeviceError, match="failed at running `stir`"):
        prepared.submit(9)
    assert prepared.begun == 5
    assert backend.compute.submitted == before + 5
    backend.compute.wait(before + 5)
    assert set(download(backend, memory, ones)) == {mixed(1, range(5))}


def test_closing_waits_for_passes() -> None:
    opened = OpenCLFamily().open(0)
    memory = upload(opened, np.ones(1000, np.int32))
    kernel = build(opened, STIR, "stir", takes_pass=True)
    passes = opened.prepare(kernel, NDRange(1000), [memory]).submit(500)
    opened.close()
    assert passes.done


# ------------------------------------------------------------------------------------- Ctrl-C

ADVANCE = f"""
__kernel void advance(__global int *a, int factor, int summand, {RANGE}) {{
    int x = get_global_id(0);
    if (x < max_x) a[x] = (a[x] * factor + summand) % 10007;
}}
"""
"""Done in another order, or not as often, it gives something else."""


class Interrupted(BaseException):
    """What a signal raises in the middle of anything, as Ctrl-C does."""


class Interrupts:
    """Signals that come again and again, and are heard only when they are wanted."""

    def __init__(self) -> None:
        self.are_heard = False
        self.count = 0

    def hear(self, _number: int, _frame: FrameType | None) -> None:
        if self.are_heard:
            self.count += 1
            raise Interrupted

    @contextmanager
    def heard(self) -> Generator[None]:
        try:
            self.are_heard = True
            yield
        finally:
            self.are_heard = False


@contextmanager
def interrupts() -> Generator[Interrupts]:
    """Interrupt this thread all the time."""
    given, is_over = Interrupts(), threading.Event()
    main = threading.get_ident()

    def send() -> None:
        while not is_over.wait(0.0001):
            signal.pthread_kill(main, signal.SIGUSR1)

    def ignore(what: "sys.UnraisableHookArgs") -> None:
        """Objects may end while they are heard, which nobody can interrupt."""
        if what.exc_type is not Interrupted:
            unraisable(what)

    unraisable, sys.unraisablehook = sys.unraisablehook, ignore
    before = signal.signal(signal.SIGUSR1, given.hear)
    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield given
    finally:
        is_over.set()
        sender.join()
        signal.signal(signal.SIGUSR1, before)
        sys.unraisablehook = unraisable


@pytest.mark.parametrize("times", [1, 7])
def test_an_interrupt_leaves_all_runs_of_a_call_begun_or_none(
    backend: OpenCLBackend, times: int
) -> None:
    values = np.arange(64, dtype=np.int32)
    memory = upload(backend, values)
    kernel = build(backend, ADVANCE, "advance")
    steps = [(3, 1), (5, 2)]
    launches = [
        backend.prepare(kernel, NDRange(64), [memory, Scalar(I32, factor), Scalar(I32, summand)])
        for factor, summand in steps
    ]
    expected, before, begun = values.astype(np.int64), backend.compute.submitted, 0
    with interrupts() as signals:
        while signals.count < 50:
            for launch, (factor, summand) in zip(launches, steps, strict=True):
                runs = launch.begun
                for _ in range(5):
                    with suppress(Interrupted), signals.heard():
                        launch.submit(times)
                assert (launch.begun - runs) % times == 0
                begun += launch.begun - runs
                assert backend.compute.submitted == before + begun
                for _ in range(launch.begun - runs):
                    expected = (expected * factor + summand) % 10007
    backend.compute.finish()
    assert backend.compute.completed == backend.compute.submitted == before + begun
    assert download(backend, memory, values).tolist() == expected.tolist()


def test_an_interrupt_of_copies_counts_each_or_none(backend: OpenCLBackend) -> None:
    memory = backend.allocate(4)
    queue = backend.upload_queue
    with interrupts() as signals:
        while signals.count < 50:
            before = queue.submitted
            for value in range(20):
                number = queue.submitted
                with suppress(Interrupted), signals.heard():
                    number = backend.upload(memory, 0, memoryview(bytes([value] * 4))).number
                assert queue.submitted - before <= value + 1
                assert number in (queue.submitted, queue.submitted - 1)
    queue.finish()
    assert queue.completed == queue.submitted

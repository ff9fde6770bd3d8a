"""Commands of OpenCL under way: order, overlap, waiting, and being dropped."""

import gc
import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest
from tests.backend.opencl_running import RANGE, Gate, download, scale, scaling, upload
from tests.runtime.interrupting import with_ctrl_c

from trilby.backend.base import Scalar
from trilby.backend.opencl_device import OpenCLBackend
from trilby.data.dtypes import I32
from trilby.data.ndrange import NDRange
from trilby.errors import DeviceError, KernelAssertionError
from trilby.source import Location

# Two of these meet if they run at the same time; one alone gives up in the end.
MEET = f"""
__kernel void meet(volatile __global int *a, int me, int patience, {RANGE}) {{
    a[me] = 1;
    int seen = 0;
    for (int i = 0; i < patience && !seen; i++) seen = a[1 - me];
    a[2 + me] = seen;
}}
"""

# What the code generator makes of `assert a[x] != 2`.
CHECK = f"""
__kernel void check(__global int *a, {RANGE}, __global int *failure) {{
    int x = get_global_id(0);
    if (x >= max_x) return;
    if (a[x] == 2) {{
        if (atomic_cmpxchg(failure, 0, 1) == 0) failure[1] = x;
        return;
    }}
    a[x] += 10;
}}
"""
ASSERTS = (("a[x] is 2", Location("app.py", 7)),)

TALK = f'__kernel void talk(int n, {RANGE}) {{ printf("device %d\\n", n); }}'


def until_done(event: Any) -> None:
    while not event.done:
        time.sleep(0.001)


def numbers() -> np.ndarray[Any, np.dtype[np.int32]]:
    return np.arange(1000, dtype=np.int32)


# ---------------------------------------------------------------------------------- order


def test_work_starts_although_nobody_waits(opencl: OpenCLBackend) -> None:
    memory = upload(opencl, numbers())
    until_done(scale(opencl, memory, 3))


def test_independent_kernels_run_at_the_same_time(opencl: OpenCLBackend) -> None:
    if opencl.device.compute_units < 2:
        pytest.skip("this device does one thing at a time")
    memory = upload(opencl, np.zeros(4, np.int32))
    kernel = opencl.build(MEET, "meet")

    def prepare(me: int, patience: int) -> Any:
        arguments = [memory, Scalar(I32, me), Scalar(I32, patience)]
        return opencl.prepare(kernel, NDRange(1, 1), arguments)

    opencl.run(prepare(0, 10)).wait()  # the first launch links the kernel
    opencl.fill(memory, 0, 16, 0).wait()
    started = [opencl.run(prepare(me, 2_000_000_000)) for me in (0, 1)]
    for event in started:
        event.wait()
    assert download(opencl, memory, np.zeros(4, np.int32)).tolist() == [1, 1, 1, 1]


def test_nothing_starts_before_what_it_comes_after(opencl: OpenCLBackend, gate: Gate) -> None:
    memory = upload(opencl, numbers())
    other = upload(opencl, numbers())
    result = np.zeros_like(numbers())
    scaled = scale(opencl, memory, 3, [gate.event])
    copied = opencl.download(memory, 0, result.data.cast("B"), [scaled])
    scale(opencl, other, 5).wait()  # is not held up
    assert [event.done for event in (gate.event, scaled, copied)] == [False] * 3
    gate.open()
    copied.wait()
    assert [event.done for event in (gate.event, scaled, copied)] == [True] * 3
    assert np.array_equal(result, numbers() * 3)
    assert np.array_equal(download(opencl, other, numbers()), numbers() * 5)


def test_order_is_kept_along_all_kinds_of_commands(opencl: OpenCLBackend, gate: Gate) -> None:
    memory = opencl.allocate(4000)
    ones, result = np.ones(1000, np.int32), np.zeros(1000, np.int32)
    event = opencl.fill(memory, 0, 4000, 0xFF, [gate.event])
    event = opencl.upload(memory, 0, ones[:500].data.cast("B"), [event])
    event = opencl.upload(memory, 4000, memoryview(b""), [event])
    event = scale(opencl, memory, 4, [event])
    event = opencl.download(memory, 0, result.data.cast("B"), [event])
    gate.open()
    event.wait()
    assert np.array_equal(result, np.where(np.arange(1000) < 500, 4, -4))


def test_what_comes_after_a_failure_fails_and_the_device_goes_on(
    opencl: OpenCLBackend, gate: Gate
) -> None:
    memory = upload(opencl, numbers())
    scaled = scale(opencl, memory, 3, [gate.event])
    copied = opencl.fill(memory, 0, 4, 0, [scaled])
    gate.fail()
    until_done(copied)
    for _ in range(2):
        with pytest.raises(DeviceError, match="failed at running `scale`"):
            scaled.wait()
    with pytest.raises(DeviceError, match="failed at filling memory"):
        copied.wait()
    scale(opencl, memory, 2).wait()
    assert np.array_equal(download(opencl, memory, numbers()), numbers() * 2)


def test_commands_are_measured(opencl: OpenCLBackend, gate: Gate) -> None:
    memory = opencl.allocate(1 << 22)
    host = bytearray(1 << 22)
    events = [
        opencl.fill(memory, 0, 1 << 22, 1),
        opencl.upload(memory, 0, memoryview(host)),
        opencl.download(memory, 0, memoryview(host)),
        scale(opencl, memory, 3),
    ]
    for event in events:
        event.wait()
    assert all(0 < event.seconds < 60 for event in events)
    failed = opencl.fill(memory, 0, 4, 0, [gate.event])
    gate.fail()
    until_done(failed)
    assert failed.seconds == 0.0


# -------------------------------------------------------------------------------- waiting


def test_an_interrupt_ends_the_wait_and_not_the_work(opencl: OpenCLBackend, gate: Gate) -> None:
    memory = upload(opencl, numbers())
    scaled = scale(opencl, memory, 3, [gate.event])
    with pytest.raises(KeyboardInterrupt):
        with_ctrl_c(scaled.wait)
    assert not scaled.done
    gate.open()
    scaled.wait()
    assert np.array_equal(download(opencl, memory, numbers()), numbers() * 3)


def test_other_threads_may_wait(opencl: OpenCLBackend, gate: Gate) -> None:
    memory = upload(opencl, numbers())
    scaled = scale(opencl, memory, 3, [gate.event])
    waited: list[bool] = []
    threads = [
        threading.Thread(target=lambda: (scaled.wait(), waited.append(scaled.done)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    gate.open()
    scaled.wait()
    for thread in threads:
        thread.join()
    assert waited == [True] * 3


def test_closing_waits_for_what_is_under_way(opencl: OpenCLBackend, gate: Gate) -> None:
    result = np.zeros_like(numbers())
    memory = upload(opencl, numbers())
    scaled = scale(opencl, memory, 3, [gate.event])
    copied = opencl.download(memory, 0, result.data.cast("B"), [scaled])
    opener = threading.Timer(0.05, gate.open)
    opener.start()
    opencl.close()
    opener.join()
    assert copied.done
    assert np.array_equal(result, numbers() * 3)


# ------------------------------------------------------------------------- dropped events


def test_a_copy_that_nobody_holds_goes_on_without_a_wait(opencl: OpenCLBackend, gate: Gate) -> None:
    memory = opencl.allocate(4000)
    source = numbers()
    kept = weakref.ref(source)
    opencl.upload(memory, 0, source.data.cast("B"), [gate.event])  # its event is dropped
    del source
    gc.collect()
    assert kept() is not None  # the copy still needs it
    gate.open()
    while kept() is not None:
        opencl.fill(memory, 0, 0, 0)  # the next command of any kind lets go of it
        opencl.fill(memory, 3996, 4, 9).wait()
    assert np.array_equal(download(opencl, memory, numbers())[:999], numbers()[:999])


def test_a_launch_that_nobody_holds_goes_on(opencl: OpenCLBackend, gate: Gate) -> None:
    memory = upload(opencl, numbers())
    prepared = scaling(opencl, memory, 3)
    opencl.run(prepared, [gate.event])
    del prepared
    gate.open()
    opencl.queue.finish()
    assert np.array_equal(download(opencl, memory, numbers()), numbers() * 3)


# ---------------------------------------------------------------------- asserts and prints


def test_a_failed_assertion_is_raised_by_the_wait_and_by_each_wait(
    opencl: OpenCLBackend, gate: Gate
) -> None:
    memory = upload(opencl, np.array([5, 1, 2, 3], np.int32))
    prepared = opencl.prepare(opencl.build(CHECK, "check", ASSERTS), NDRange(4), [memory])
    checked = opencl.run(prepared, [gate.event])
    later = scale(opencl, memory, 2, [checked])
    assert not checked.done
    gate.open()
    for _ in range(2):
        with pytest.raises(KernelAssertionError) as caught:
            checked.wait()
        assert caught.value.problem == "a[x] is 2, in work item (2, 0, 0)"
        assert caught.value.location == Location("app.py", 7)
    later.wait()
    assert download(opencl, memory, np.zeros(4, np.int32)).tolist() == [30, 22, 4, 26]


def test_each_run_of_a_prepared_launch_reports_for_itself(
    opencl: OpenCLBackend, gate: Gate
) -> None:
    memory = upload(opencl, np.array([5, -8, 0, 3], np.int32))
    prepared = opencl.prepare(opencl.build(CHECK, "check", ASSERTS), NDRange(4), [memory])
    runs = [opencl.run(prepared, [gate.event])]
    runs += [opencl.run(prepared, [runs[0]])]  # now the second number is 2
    gate.open()
    runs[0].wait()
    with pytest.raises(KernelAssertionError, match=r"work item \(1, 0, 0\)"):
        runs[1].wait()


def test_a_launch_with_assertions_may_be_dropped(opencl: OpenCLBackend, gate: Gate) -> None:
    memory = upload(opencl, np.array([5, 1, 2, 3], np.int32))
    prepared = opencl.prepare(opencl.build(CHECK, "check", ASSERTS), NDRange(4), [memory])
    opencl.run(prepared, [gate.event])
    gate.open()
    opencl.queue.finish()
    assert download(opencl, memory, np.zeros(4, np.int32)).tolist() == [15, 11, 2, 13]


def test_what_a_kernel_prints_comes_between_what_the_host_prints(
    opencl: OpenCLBackend, capfd: pytest.CaptureFixture[str]
) -> None:
    kernel = opencl.build(TALK, "talk")
    for n in range(3):
        print("host", n)  # noqa: T201
        opencl.run(opencl.prepare(kernel, NDRange(1, 1), [Scalar(I32, n)])).wait()
    said = "".join(f"host {n}\ndevice {n}\n" for n in range(3))
    assert capfd.readouterr().out == said

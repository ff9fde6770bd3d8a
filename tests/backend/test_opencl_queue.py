"""Queues of OpenCL: order, overlap, waiting, measuring, and what Ctrl-C leaves."""

import gc
import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest
from tests.backend.opencl_running import RANGE, Gate, build, download, scale, scaling, upload
from tests.runtime.interrupting import with_ctrl_c

from trilby.backend.base import Scalar, Ticket, Times
from trilby.backend.opencl import opencl_device, opencl_queue
from trilby.backend.opencl.opencl_device import OpenCLBackend
from trilby.data.dtypes import I32
from trilby.data.ndrange import NDRange
from trilby.errors import DeviceError, KernelAssertionError
from trilby.source import Location

ADD = f"__kernel void add(__global int *a, {RANGE}) {{ a[get_global_id(0)] += 1; }}"

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


def test_nothing_starts_before_what_it_comes_after(opencl: OpenCLBackend, gate: Gate) -> None:
    memory = upload(opencl, numbers())
    result = np.zeros_like(numbers())
    scaled = scale(opencl, memory, 3, [gate.ticket])
    copied = opencl.download(memory, 0, result.data.cast("B"), [scaled])
    other = upload(opencl, numbers())  # copies are not held up by kernels
    assert [event.done for event in (gate.ticket, scaled, copied)] == [False] * 3
    gate.open()
    copied.wait()
    assert [event.done for event in (gate.ticket, scaled, copied)] == [True] * 3
    assert np.array_equal(result, numbers() * 3)
    assert np.array_equal(download(opencl, other, numbers()), numbers())


def test_order_is_kept_along_all_kinds_of_commands(opencl: OpenCLBackend, gate: Gate) -> None:
    memory = opencl.allocate(4000)
    ones, result = np.ones(1000, np.int32), np.zeros(1000, np.int32)
    event = opencl.fill(memory, 0, 4000, 0xFF, [gate.ticket])
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
    scaled = scale(opencl, memory, 3, [gate.ticket])
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


def test_commands_have_numbers_and_are_done_in_their_order(
    opencl: OpenCLBackend, gate: Gate
) -> None:
    queue = opencl.compute
    memory = upload(opencl, numbers())
    prepared = scaling(opencl, memory, 1)
    assert (queue.submitted, queue.completed) == (0, 0)
    Ticket(queue, 0).wait()  # what comes before all commands
    tickets = [prepared.submit(), prepared.submit()]
    tickets[-1].wait()
    assert (queue.submitted, queue.completed) == (2, 2)
    tickets += [prepared.submit(5, after=[gate.ticket]), prepared.submit()]
    assert [ticket.number for ticket in tickets] == [1, 2, 7, 8]
    assert (queue.submitted, queue.completed, prepared.begun) == (8, 2, 8)
    gate.open()
    until_done(tickets[-1])
    assert queue.completed == 8


def test_the_wait_list_has_no_commands_of_the_same_queue(opencl: OpenCLBackend, gate: Gate) -> None:
    memory = upload(opencl, numbers())
    scaled = scale(opencl, memory, 3, [gate.ticket])
    assert opencl.compute.wait_list([scaled]) is None
    assert len(opencl.upload_queue.wait_list([scaled, scaled]) or ()) == 2
    gate.open()
    scaled.wait()
    assert opencl.upload_queue.wait_list([scaled]) is None


def test_who_is_far_ahead_of_the_device_waits(
    opencl: OpenCLBackend, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opencl_queue, "MOST_UNDER_WAY", 64)
    prepared = scaling(opencl, upload(opencl, numbers()), 1)
    prepared.submit(after=[gate.ticket])
    opener = threading.Timer(0.05, gate.open)
    opener.start()
    for _ in range(1000):
        prepared.submit()
    assert gate.ticket.done
    assert len(opencl.compute.events) <= 64 + opencl_device.HURRY
    opener.join()


# ------------------------------------------------------------------------------ measuring


def test_commands_are_measured_for_somebody_who_asks(opencl: OpenCLBackend, gate: Gate) -> None:
    memory = opencl.allocate(1 << 22)
    host = bytearray(1 << 22)
    prepared = scaling(opencl, memory, 3)
    unmeasured = prepared.submit()
    queues = opencl.compute, opencl.upload_queue, opencl.download_queue
    for queue in (*queues, *queues):  # two who ask
        queue.measure(on=True)
    for queue in queues:
        queue.measure(on=False)
    tickets = [
        prepared.submit(),
        opencl.fill(memory, 0, 1 << 22, 1),
        opencl.upload(memory, 0, memoryview(host)),
        opencl.download(memory, 0, memoryview(host)),
        prepared.submit(3),
    ]
    for ticket in tickets:
        ticket.wait()
        times = ticket.queue.times(ticket.number)
        assert times is not None
        assert times.began is not None
        assert 0 < times.seconds < 60
        assert 0 <= times.queued < 60
    assert opencl.compute.times(unmeasured.number) == Times(None, 0.0)
    failed = opencl.fill(memory, 0, 4, 0, [gate.ticket])
    gate.fail()
    until_done(failed)
    assert opencl.upload_queue.times(failed.number) is None
    for queue in queues:
        queue.measure(on=False)
    unmeasured = prepared.submit()
    unmeasured.wait()
    assert opencl.compute.times(unmeasured.number) == Times(None, 0.0)
    assert opencl.compute.times(tickets[0].number) != Times(None, 0.0)


def test_the_last_measured_commands_are_remembered(opencl: OpenCLBackend) -> None:
    prepared = scaling(opencl, upload(opencl, numbers()), 1)
    opencl.compute.measure(on=True)
    for _ in range(50):
        prepared.submit(100)
    opencl.compute.finish()
    known = [opencl.compute.times(number) != Times(None, 0.0) for number in range(1, 5001)]
    assert known == [False] * (5000 - 4096) + [True] * 4096


def test_order_is_kept_where_measuring_begins_and_ends(opencl: OpenCLBackend) -> None:
    memory = upload(opencl, np.ones(1 << 18, np.int32))
    prepared, expected = scaling(opencl, memory, 3), np.ones(1 << 18, np.int32)
    other = opencl.prepare(build(opencl, ADD, "add"), NDRange(1 << 18), [memory])
    for turn in range(4):
        prepared.submit()
        opencl.compute.measure(turn % 2 == 0)
        other.submit()
        expected = expected * 3 + 1
    opencl.compute.finish()
    assert np.array_equal(download(opencl, memory, expected), expected)


# -------------------------------------------------------------------------------- waiting


def test_an_interrupt_ends_the_wait_and_not_the_work(opencl: OpenCLBackend, gate: Gate) -> None:
    memory = upload(opencl, numbers())
    scaled = scale(opencl, memory, 3, [gate.ticket])
    with pytest.raises(KeyboardInterrupt):
        with_ctrl_c(scaled.wait)
    assert not scaled.done
    gate.open()
    scaled.wait()
    assert np.array_equal(download(opencl, memory, numbers()), numbers() * 3)


def test_other_threads_may_wait(opencl: OpenCLBackend, gate: Gate) -> None:
    memory = upload(opencl, numbers())
    scaled = scale(opencl, memory, 3, [gate.ticket])
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
    scaled = scale(opencl, memory, 3, [gate.ticket])
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
    opencl.upload(memory, 0, source.data.cast("B"), [gate.ticket])  # its event is dropped
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
    prepared.submit(after=[gate.ticket])
    del prepared
    gate.open()
    opencl.compute.finish()
    assert np.array_equal(download(opencl, memory, numbers()), numbers() * 3)


# ---------------------------------------------------------------------- asserts and prints


def test_a_failed_assertion_is_raised_by_the_wait_and_by_each_wait(
    opencl: OpenCLBackend, gate: Gate
) -> None:
    memory = upload(opencl, np.array([5, 1, 2, 3], np.int32))
    prepared = opencl.prepare(build(opencl, CHECK, "check", ASSERTS), NDRange(4), [memory])
    checked = prepared.submit(after=[gate.ticket])
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
    prepared = opencl.prepare(build(opencl, CHECK, "check", ASSERTS), NDRange(4), [memory])
    runs = [prepared.submit(after=[gate.ticket])]
    runs += [prepared.submit(after=[runs[0]])]  # now the second number is 2
    gate.open()
    runs[0].wait()
    with pytest.raises(KernelAssertionError, match=r"work item \(1, 0, 0\)"):
        runs[1].wait()


def test_a_launch_with_assertions_may_be_dropped(opencl: OpenCLBackend, gate: Gate) -> None:
    memory = upload(opencl, np.array([5, 1, 2, 3], np.int32))
    prepared = opencl.prepare(build(opencl, CHECK, "check", ASSERTS), NDRange(4), [memory])
    prepared.submit(after=[gate.ticket])
    gate.open()
    opencl.compute.finish()
    assert download(opencl, memory, np.zeros(4, np.int32)).tolist() == [15, 11, 2, 13]


def test_what_a_kernel_prints_comes_between_what_the_host_prints(
    opencl: OpenCLBackend, capfd: pytest.CaptureFixture[str]
) -> None:
    kernel = build(opencl, TALK, "talk")
    for n in range(3):
        print("host", n)  # noqa: T201
        opencl.prepare(kernel, NDRange(1, 1), [Scalar(I32, n)]).submit().wait()
    said = "".join(f"host {n}\ndevice {n}\n" for n in range(3))
    assert capfd.readouterr().out == said

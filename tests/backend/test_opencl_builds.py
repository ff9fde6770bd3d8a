"""Builds that take long or fail in the driver, and entries of its cache that are damaged."""

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyopencl as cl
import pytest
from tests.backend.opencl_running import RANGE, SCALE, Gate, build
from tests.runtime.interrupting import with_ctrl_c

from trilby.backend.base import Ticket
from trilby.backend.opencl import opencl_device, opencl_queue
from trilby.backend.opencl.opencl_device import OpenCLBackend
from trilby.backend.opencl.opencl_queue import wait_until_over
from trilby.data.ndrange import NDRange
from trilby.errors import DeviceError

# ---------------------------------------------------------------------------------- slow builds


def test_a_slow_wait_is_told_and_a_quick_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    wait_until_over(lambda: 0, lambda: told.append(1))
    assert told == []
    monkeypatch.setattr(opencl_queue, "SLOW_SECONDS", 0.01)
    wait_until_over(lambda: len(told) < 2, lambda: told.append(1))
    assert told == [1, 1]


def test_a_slow_build_is_logged_and_a_quick_one_is_not(
    opencl: OpenCLBackend, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.WARNING, "trilby")
    build(opencl, SCALE, "scale")
    assert caplog.messages == []
    monkeypatch.setattr(opencl_queue, "SLOW_SECONDS", 0.0001)
    build(opencl, SCALE + "typedef int another;", "scale")
    assert ["has been compiling `scale` for at least" in one for one in caplog.messages] == [True]


def test_ctrl_c_ends_the_wait_for_a_build(
    opencl: OpenCLBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, over = threading.Event(), threading.Event()

    class SlowProgram:
        def __init__(self, *_: object) -> None:
            pass

        def _build(self, *_: object) -> None:
            go_on.wait()
            over.set()

    monkeypatch.setattr(opencl_device, "_Program", SlowProgram)
    with pytest.raises(KeyboardInterrupt):
        with_ctrl_c(lambda: build(opencl, SCALE, "scale"))
    assert not over.is_set()
    go_on.set()
    over.wait()


# -------------------------------------------------------------------------------- first launches


@pytest.fixture
def held(opencl: OpenCLBackend) -> Iterator[cl.UserEvent]:
    """A first launch of `k` that does not begin."""
    queue, event = opencl.compute, cl.UserEvent(opencl.context)
    what = "running `k`", None, "k", ()
    queue.events.extend(zip((event,), queue.numbers, (what,), strict=False))
    yield event
    if not opencl.compute.completed:
        event.set_status(cl.command_execution_status.COMPLETE)


def test_a_launch_that_does_not_begin_is_logged_once(
    opencl: OpenCLBackend, held: cl.UserEvent, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "trilby")
    opencl.compute.tell_if_compiling()
    opencl.compute.tell_if_compiling()
    assert ["has been compiling `k` for at least" in one for one in caplog.messages] == [True]
    held.set_status(cl.command_execution_status.COMPLETE)
    assert opencl.compute.compiled_kernel() == ""


def test_a_device_is_given_up_if_ctrl_c_comes_while_its_driver_compiles(
    opencl: OpenCLBackend, held: cl.UserEvent
) -> None:
    launch = Ticket(opencl.compute, 1)
    copy = opencl.fill(opencl.allocate(4), 0, 4, 0, [launch])
    with pytest.raises(KeyboardInterrupt):
        with_ctrl_c(copy.wait)
    assert not opencl.compute.given_up  # nobody was told that it takes long
    opencl.compute.tell_if_compiling()
    with pytest.raises(KeyboardInterrupt):
        with_ctrl_c(copy.wait)
    for ticket in (launch, copy):
        with pytest.raises(DeviceError, match="was compiling `k` when Ctrl-C came"):
            ticket.wait()
    held.set_status(cl.command_execution_status.COMPLETE)
    while not copy.done:
        pass
    copy.wait()


def test_a_launch_that_is_over_is_not_logged(
    opencl: OpenCLBackend, held: cl.UserEvent, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "trilby")
    held.set_status(cl.command_execution_status.COMPLETE)
    opencl.compute.tell_if_compiling()
    assert caplog.messages == []


def test_the_first_launch_for_each_size_of_groups_is_noted(
    opencl: OpenCLBackend, gate: Gate
) -> None:
    kernel = build(opencl, f"__kernel void k({RANGE}) {{}}", "k")
    for local in (1, 1, 2, 2):
        opencl.prepare(kernel, NDRange(8, local=local), []).submit(after=[gate.ticket])
    prepared = opencl.prepare(kernel, NDRange(8, local=4), [])
    prepared.submit(after=[gate.ticket])
    prepared.submit(3)
    noted = [not isinstance(what, str) for *_, what in opencl.compute.events]
    assert noted == [True, False, True, False, True, False, False, False]


def test_a_launch_behind_others_is_not_taken_for_one_that_is_compiled(
    opencl: OpenCLBackend, gate: Gate
) -> None:
    kernel = build(opencl, f"__kernel void k({RANGE}) {{}}", "k")
    opencl.prepare(kernel, NDRange(8), []).submit().wait()
    opencl.prepare(kernel, NDRange(8), []).submit(after=[gate.ticket])
    opencl.prepare(kernel, NDRange(8, local=2), []).submit()
    assert opencl.compute.compiled_kernel() == ""


def test_a_first_launch_that_waits_for_a_copy_is_not_taken_for_one_that_is_compiled(
    opencl: OpenCLBackend, gate: Gate
) -> None:
    copy = opencl.fill(opencl.allocate(4), 0, 4, 0, [gate.ticket])
    kernel = build(opencl, f"__kernel void k({RANGE}) {{}}", "k")
    opencl.prepare(kernel, NDRange(8), []).submit(after=[copy])
    assert opencl.compute.events[0][-1][2] == "k"
    assert opencl.compute.compiled_kernel() == ""


# ------------------------------------------------------------------------------ damaged entries

LAUNCH = """
import numpy as np
from tests.backend.opencl_running import build, download, scaling, upload
from trilby.backend.opencl import OpenCLFamily
opencl = OpenCLFamily().open(0)
memory = upload(opencl, np.arange(4, dtype=np.int32))
scaling(opencl, memory, 3).submit().wait()
print(download(opencl, memory, np.zeros(4, np.int32)).tolist())
"""


def launched(folder: Path) -> tuple[str, int]:
    done = subprocess.run(
        [sys.executable, "-c", LAUNCH],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "POCL_CACHE_DIR": str(folder), "TRILBY_LOG": "warning"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr, done.returncode


@pytest.mark.parametrize("size", [0, 1000, 20_000], ids="{} bytes".format)
def test_a_damaged_entry_of_the_drivers_cache_is_built_past(tmp_path: Path, size: int) -> None:
    """PoCL finds no kernel in such an entry, and ends a process that gives its program back."""
    expected = ("[0, 3, 6, 9]\n", 0)
    assert launched(tmp_path) == expected
    programs = list(tmp_path.rglob("program.bc"))
    if not programs:
        pytest.skip("this driver keeps its programs in another way")
    for program in programs:
        os.truncate(program, min(size, program.stat().st_size // 2))
    output, code = launched(tmp_path)
    if code == -signal.SIGABRT and "Assertion" in output:
        pytest.skip("this driver was built with assertions, and ends a process that finds it")
    assert (output, code) == expected
    count = len(list(tmp_path.rglob("program.bc")))
    assert launched(tmp_path) == expected
    assert len(list(tmp_path.rglob("program.bc"))) == count  # what was built again is kept


def test_a_kernel_that_never_comes_is_no_matter_of_bounds(opencl: OpenCLBackend) -> None:
    with pytest.raises(DeviceError, match="failed at preparing `other`") as caught:
        build(opencl, SCALE, "other")
    assert "bounds" not in caught.value.advice
    assert "POCL_CACHE_DIR" in caught.value.advice

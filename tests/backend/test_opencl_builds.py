"""Builds that take long or fail in the driver, and entries of its cache that are damaged."""

import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pyopencl as cl
import pytest
from tests.backend.opencl_running import RANGE, SCALE, Gate
from tests.runtime.interrupting import with_ctrl_c

from trilby.backend.opencl import opencl_builds
from trilby.backend.opencl.opencl_builds import FirstLaunches, build_where_ctrl_c_is_heard
from trilby.backend.opencl.opencl_device import OpenCLBackend
from trilby.data.ndrange import NDRange
from trilby.errors import DeviceError

# ---------------------------------------------------------------------------------- slow builds

SLOW = "the driver of a device has been compiling `k` for at least"


def test_what_the_driver_says_is_raised() -> None:
    def build() -> None:
        raise ValueError("no such option")

    with pytest.raises(ValueError, match="no such option"):
        build_where_ctrl_c_is_heard(build, "k", "a device")


def test_without_a_thread_it_is_built_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    built: list[int] = []
    build_where_ctrl_c_is_heard(lambda: built.append(1), "k", "a device")
    assert built == [1]


def test_a_slow_build_is_logged_and_a_quick_one_is_not(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.WARNING, "trilby")
    build_where_ctrl_c_is_heard(lambda: None, "k", "a device")
    assert caplog.messages == []
    monkeypatch.setattr(opencl_builds, "SLOW_SECONDS", 0.01)
    is_logged = threading.Event()

    class Heard(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            is_logged.set()

    handler = Heard()
    logging.getLogger("trilby").addHandler(handler)
    build_where_ctrl_c_is_heard(is_logged.wait, "k", "a device")  # it ends when that was heard
    logging.getLogger("trilby").removeHandler(handler)
    assert [one.startswith(SLOW) for one in caplog.messages] == [True]


def test_ctrl_c_ends_the_wait_for_a_build() -> None:
    go_on, over = threading.Event(), threading.Event()

    def build() -> None:
        go_on.wait()
        over.set()

    with pytest.raises(KeyboardInterrupt):
        with_ctrl_c(lambda: build_where_ctrl_c_is_heard(build, "k", "a device"))
    assert not over.is_set()
    go_on.set()
    over.wait()


# -------------------------------------------------------------------------------- first launches


def test_a_launch_that_does_not_begin_is_logged_once(
    opencl: OpenCLBackend, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "trilby")
    launches, before, launched = (
        FirstLaunches("a device"),
        cl.UserEvent(opencl.context),
        cl.UserEvent(opencl.context),
    )
    launches.add(launched, [before], "k")
    launches.tell_slow()
    assert caplog.messages == []  # it waits for other work
    before.set_status(cl.command_execution_status.COMPLETE)
    launches.tell_slow()
    launches.tell_slow()
    assert [one.startswith(SLOW) for one in caplog.messages] == [True]
    launched.set_status(cl.command_execution_status.COMPLETE)


def test_a_device_is_given_up_if_ctrl_c_comes_while_its_driver_compiles(
    opencl: OpenCLBackend, gate: Gate
) -> None:
    launches = opencl.first_launches
    launches.add(gate.user, None, "k")
    launches.note_interrupt()  # nobody was told that it takes long
    launches.check()
    launches.tell_slow()
    with pytest.raises(KeyboardInterrupt):
        with_ctrl_c(gate.ticket.wait)
    with pytest.raises(DeviceError, match="was compiling `k` when Ctrl-C came"):
        gate.ticket.wait()
    gate.open()
    gate.ticket.wait()


def test_a_launch_that_is_over_is_not_logged(
    opencl: OpenCLBackend, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "trilby")
    launches, launched = FirstLaunches("a device"), cl.UserEvent(opencl.context)
    launches.add(launched, None, "k")
    launched.set_status(cl.command_execution_status.COMPLETE)
    launches.tell_slow()
    assert caplog.messages == []


def test_the_first_launch_for_each_size_of_groups_is_noted(
    opencl: OpenCLBackend, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[str] = []

    def note(_launches: FirstLaunches, _event: object, _after: object, entry: str) -> None:
        noted.append(entry)

    monkeypatch.setattr(FirstLaunches, "add", note)
    kernel = opencl.build(f"__kernel void k({RANGE}) {{}}", "k")
    for local in (1, 1, 2, 2):
        opencl.prepare(kernel, NDRange(8, local=local), []).submit(after=[gate.ticket])
    assert noted == ["k", "k"]
    prepared = opencl.prepare(kernel, NDRange(8, local=4), [])
    prepared.submit(3)
    prepared.submit(3)
    assert noted == ["k", "k", "k"]


def test_a_launch_behind_others_is_not_taken_for_one_that_is_compiled(
    opencl: OpenCLBackend, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "trilby")
    first = opencl.build(f"__kernel void first({RANGE}) {{}}", "first")
    later = opencl.build(f"__kernel void later({RANGE}) {{}}", "later")
    opencl.prepare(first, NDRange(8), []).submit(after=[gate.ticket])
    opencl.prepare(later, NDRange(8), []).submit()
    opencl.first_launches.tell_slow()
    assert caplog.messages == []


# ------------------------------------------------------------------------------ damaged entries

LAUNCH = """
import numpy as np
from tests.backend.opencl_running import download, scaling, upload
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
        opencl.build(SCALE, "other")
    assert "bounds" not in caught.value.advice
    assert "POCL_CACHE_DIR" in caught.value.advice

"""Locks: made in one place, open in the child of a fork."""

import ast
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import trilby
from trilby.locks import if_free, is_known, new_lock, new_rlock
from trilby.runtime.content import LOCK

SOURCES = sorted(Path(trilby.__file__).parent.rglob("*.py"))

MAKERS = {"Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Barrier", "Queue"}
"""What makes a lock, or something that has one."""


def locks_made(source: Path) -> list[str]:
    """Where a file makes locks that `trilby.locks` does not know of."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "functools":
            found += [one.name for one in node.names if one.name == "cached_property"]
        if isinstance(node, ast.Call):
            function = node.func
            name = getattr(function, "attr", None) or getattr(function, "id", None)
            found += [f"{name}, line {node.lineno}"] if name in MAKERS else []
            factories = [one.value for one in node.keywords if one.arg == "default_factory"]
            names = [one.id for one in factories if isinstance(one, ast.Name)]
            found += [f"{one}, line {node.lineno}" for one in names if one in MAKERS]
    return found


@pytest.mark.parametrize("source", SOURCES, ids=lambda one: one.stem)
def test_every_lock_is_known(source: Path) -> None:
    """In the child of a fork one that is not known would stay locked for ever."""
    assert source.name == "locks.py" or locks_made(source) == []


def test_the_scan_finds_locks(tmp_path: Path) -> None:
    source = tmp_path / "app.py"
    source.write_text(
        "from functools import cached_property\n"
        "a = threading.Lock()\nb = RLock()\nc = field(default_factory=Lock)\n"
    )
    found = ["cached_property", "Lock, line 2", "RLock, line 3", "Lock, line 4"]
    assert locks_made(source) == found


def test_the_lock_of_the_runtime_is_known() -> None:
    assert is_known(LOCK)
    assert is_known(new_lock())
    assert not is_known(threading.Lock())


def test_what_is_done_if_a_lock_is_free() -> None:
    done: list[int] = []
    for lock in (new_lock(), new_rlock()):
        assert if_free(lock, lambda: done.append(1))
        assert lock.acquire(timeout=1)
        lock.release()
    with (lock := new_lock()):
        assert not if_free(lock, lambda: done.append(2))
    with pytest.raises(RuntimeError):
        if_free(lock, lock.release)  # it is released once more after that
    assert lock.acquire(timeout=1)
    assert done == [1, 1]


# -------------------------------------------------------------------------------- processes

FORKS = """
import os, sys, threading, time
from tests.runtime.conftest import opened_as
from tests.runtime.programs import add, dispatch
from trilby import S32Array
from trilby.errors import TrilbyError

def add_often(accelerator, times):
    a = S32Array.create(length=64)
    with accelerator.profile() as profile:
        for _ in range(times):
            accelerator.compute(dispatch, 64, add, a, 1)
        assert profile.total.dispatches >= times  # those of other threads, too
    return a.array.tolist() == [times] * 64

accelerator = opened_as({name!r})
before = S32Array.create(length=8)
accelerator.compute(dispatch, 8, add, before, 5)
is_over = threading.Event()

def work():
    while not is_over.is_set():
        add_often(accelerator, 5)
        with opened_as({name!r}) as other:
            add_often(other, 2)

threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
time.sleep(0.2)
for _ in range(10):
    child = os.fork()
    if not child:
        try:
            good = add_often(accelerator, 3) and before.array.tolist() == [5] * 8
            with opened_as({name!r}) as other:
                good = good and add_often(other, 3)
            os._exit(0 if good else 1)
        except TrilbyError as error:
            os.write(1, str(error.advice).encode() + b"\\n")
            os._exit(2)
        except BaseException as error:
            os.write(2, repr(error).encode())
            os._exit(3)
    print("ended with", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
is_over.set()
for thread in threads:
    thread.join()
"""


def printed(program: str) -> list[str]:
    """The lines that a program prints."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")


@needs_fork
@pytest.mark.parametrize("name", ["interpreter", "native", "native, shared"])
def test_children_compute_while_threads_of_the_parent_do(name: str) -> None:
    assert printed(FORKS.format(name=name)) == ["ended with 0"] * 10


@needs_fork
@pytest.mark.parametrize("name", ["opencl", "opencl, shared"])
def test_children_do_not_wait_for_drivers_that_stayed_behind(name: str) -> None:
    lines = printed(FORKS.format(name=name))
    assert lines.count("ended with 2") == 10
    advice = [line for line in lines if not line.startswith("ended")]
    assert len(advice) == 10
    assert all("spawn" in line for line in advice)


KEEPS = """
import gc, os, sys
from tests.runtime.conftest import opened_as
from tests.runtime.programs import add, dispatch
from trilby import S32Array

accelerator = opened_as("opencl")
accelerator.compute(dispatch, 64, add, S32Array.create(length=64), 1)
backend = accelerator.residency.backend
if {freezes}:
    gc.freeze()
objects = [backend, backend.compute]  # which have the objects of the driver


def references():
    return [sys.getrefcount(one) for one in objects]

before = references()
child = os.fork()
if not child:
    os._exit(sum(now > old for now, old in zip(references(), before)))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@needs_fork
@pytest.mark.parametrize("freezes", [False, True])
def test_a_child_releases_nothing_of_the_drivers(freezes: bool) -> None:  # noqa: FBT001
    """That would wait for a lock that a thread of the driver had in the parent."""
    assert printed(KEEPS.format(freezes=freezes)) == ["2"]

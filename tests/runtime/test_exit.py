"""The end of a program: wrapped memory is copied back, and no driver has work left."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tests.runtime.exiting import COUNT, STATUS, TIMES, WAYS

DEVICES = ("opencl", "opencl, shared", "native", "native, shared")
CASES = [*product(DEVICES, WAYS), ("interpreter", "end")]
ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    path = tmp_path / "numbers.bin"
    np.zeros(COUNT, np.int32).tofile(path)
    return path


@pytest.mark.parametrize(("device", "way"), CASES)
def test_a_mapped_file_has_the_results_however_the_program_ends(
    device: str, way: str, numbers: Path
) -> None:
    done = run("-m", "tests.runtime.exiting", device, way, str(numbers))
    assert done.returncode == STATUS.get(way, 0), done.stderr
    assert way == "exception" or not done.stderr
    assert np.fromfile(numbers, np.int32).tolist() == [TIMES] * COUNT


INTERRUPTED_END = """
import os, signal, sys, time
import numpy as np
import trilby as tb
from tests.runtime.conftest import opened_as
from trilby import ComputeContext, KernelContext, NDArray, f32, i32

@tb.kernel
def slow(kc: KernelContext, a: NDArray[f32], n: i32) -> None:
    t = a[kc.x]
    for _ in range(n):
        t = t * 1.000001 + 0.5
        if t > 1000000.0:
            t = 0.0
    a[kc.x] = t

@tb.compute
def launch(cc: ComputeContext, a: NDArray[f32], n: int, often: int) -> None:
    for _ in range(often):
        cc.dispatch(a.shape[0], slow, a, n)

def leave(*_: object) -> None:
    sys.exit(7)

accelerator = opened_as({device!r}).__enter__()
a = accelerator.array(np.zeros(4096, np.float32))
accelerator.compute(launch, a, 10, 1)
signal.signal(signal.SIGTERM, leave)
started = time.monotonic()
while time.monotonic() - started < 0.03:  # more than the device can do meanwhile
    accelerator.compute(launch, a, 3000, 10)
print("now", flush=True)
"""


@pytest.mark.parametrize("device", DEVICES)
def test_an_end_that_is_interrupted_ends_at_once(device: str, tmp_path: Path) -> None:
    """It waits for much work, and then for nothing: kernels may still write to the memory."""
    file = tmp_path / "program.py"
    file.write_text(INTERRUPTED_END.format(device=device), encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, file],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "now\n"
        time.sleep(0.2)  # until the end has begun, which waits for the device
        program.send_signal(signal.SIGTERM)
        _, told = program.communicate()
    assert program.returncode in {0, 7}, told  # Python forgets the status of an `atexit` handler


def test_a_handler_from_before_the_import_reads_what_was_computed() -> None:
    """It runs after all devices are closed: everything is on the host then."""
    done = run(
        "-c",
        f"""
import atexit
kept = []
@atexit.register
def read():
    print(kept[1].tolist() == [{TIMES}] * {COUNT}, kept[2].array.tolist())
from tests.runtime.exiting import begin, opened_as
from tests.runtime.programs import add, dispatch
from trilby import S32Array
import numpy as np
accelerator = opened_as("opencl")
a, b = accelerator.array(np.zeros({COUNT}, np.int32)), S32Array.of([1, 2])
kept += [accelerator, a, b]
begin(accelerator, a)
accelerator.compute(dispatch, 2, add, b, 1)
""",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True [2, 3]\n", "")


# ----------------------------------------------------------------------- several processes

CHILD = """
import multiprocessing, os, sys
import numpy as np
from tests.runtime.exiting import COUNT, begin, opened_as

def work(path):
    accelerator = opened_as("native")
    a = accelerator.array(np.memmap(path, np.int32, "r+", shape=(COUNT,)))
    begin(accelerator, a)
    kept.append((accelerator, a))

kept = []
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_child_process_copies_back_what_it_wrapped(
    method: str, numbers: Path, tmp_path: Path
) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"there is no {method} here")
    program = tmp_path / "program.py"
    program.write_text(
        f"""{CHILD}
if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    child = context.Process(target=work, args=(sys.argv[1],))
    child.start()
    child.join()
    sys.exit(child.exitcode)
"""
    )
    done = run(str(program), str(numbers))
    assert (done.returncode, done.stderr) == (0, "")
    assert np.fromfile(numbers, np.int32).tolist() == [TIMES] * COUNT


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_leaves_to_its_parent_what_the_parent_wrapped(numbers: Path) -> None:
    """The memory of a mapped file is one for both: what a child writes there, the parent sees."""
    done = run(
        "-W",
        "ignore::DeprecationWarning",
        "-c",
        f"""{CHILD}
work(sys.argv[1])
kept[0][0].wait()
child = os.fork()
if not child:
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
print(np.fromfile(sys.argv[1], np.int32).max() == {TIMES})
""",
        str(numbers),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")
    assert np.fromfile(numbers, np.int32).tolist() == [TIMES] * COUNT

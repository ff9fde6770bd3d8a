"""What it costs to dispatch a small kernel, and how long the first result takes.

A kernel that adds one to 1,024 ints is run 1,000 times, with the numbers brought once and looked
at once: by Trilby on the native device and on OpenCL, by raw pyopencl, by Numba, and by a C
function that is called through ctypes. They take turns; medians and minima are given. Then a first
result in a new process, with nothing kept from before and with everything. Peers that are not
installed are named and left out.
"""

import ctypes
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array

LENGTH = 1024
DISPATCHES = 1_000
TURNS = 30
PROCESSES = 5

C_CODE = """
void add_one(int *restrict a, int n) { for (int i = 0; i < n; i++) a[i] = a[i] + 1; }
"""

OPENCL_CODE = """
__kernel void add_one(__global int *a, int n) {
    int i = get_global_id(0);
    if (i < n) a[i] = a[i] + 1;
}"""

FIRST_TRILBY = """
import numpy as np
import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array

@tb.kernel
def add_one(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = a.array[kc.x] + 1

@tb.compute
def once(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, add_one, a)

a = S32Array.of(range(32))
Accelerator({backend!r}).compute(once, a)
assert a.array[31] == 32
"""

FIRST_PYOPENCL = f"""
import numpy as np
import pyopencl as cl

context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
numbers = np.arange(32, dtype=np.int32)
device = cl.Buffer(context, cl.mem_flags.READ_WRITE, numbers.nbytes)
cl.enqueue_copy(queue, device, numbers)
program = cl.Program(context, '''{OPENCL_CODE}''').build()
program.add_one(queue, (32,), None, device, np.int32(32))
cl.enqueue_copy(queue, numbers, device)
assert numbers[31] == 32
"""

FIRST_NUMBA = """
import numpy as np
from numba import njit, prange

@njit(cache=True, parallel=True)
def add_one(a):
    for i in prange(len(a)):
        a[i] = a[i] + 1

numbers = np.arange(32, dtype=np.int32)
add_one(numbers)
assert numbers[31] == 32
"""

FIRST_DRJIT = """
import numpy as np
import drjit as dr
from drjit.llvm import Int

numbers = np.array(Int(np.arange(32, dtype=np.int32)) + 1)
assert numbers[31] == 32
"""

FIRST_RESULTS = {
    "import numpy": ("numpy", "import numpy"),
    "import trilby": ("trilby", "import trilby"),
    "trilby, native": ("llvmlite", FIRST_TRILBY.format(backend="native")),
    "trilby, opencl": ("pyopencl", FIRST_TRILBY.format(backend="opencl")),
    "raw pyopencl": ("pyopencl", FIRST_PYOPENCL),
    "numba, cached": ("numba", FIRST_NUMBA),
    "drjit": ("drjit", FIRST_DRJIT),
}
"""Programs that make one small result, and the package that each needs."""

CACHES = (
    "TRILBY_CACHE",
    "POCL_CACHE_DIR",
    "XDG_CACHE_HOME",
    "NUMBA_CACHE_DIR",
    "HOME",  # Dr.Jit keeps its kernels there
)


@tb.kernel
def add_one(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = a.array[kc.x] + 1


@tb.compute
def again(cc: ComputeContext, a: S32Array, times: int) -> None:
    for _ in range(times):
        cc.dispatch(a.length, add_one, a)


def trilby_on(backend: str) -> Callable[[], int]:
    """The loop as a compute function."""
    accelerator = Accelerator(backend, memory="discrete")
    a = S32Array.create(accelerator, length=LENGTH)

    def loop() -> int:
        a.array[:] = 0
        accelerator.compute(again, a, DISPATCHES)
        return int(a.array[LENGTH - 1])

    return loop


def raw_pyopencl() -> Callable[[], int]:
    """The loop as one writes it with pyopencl."""
    cl: Any = import_module("pyopencl")
    context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
    queue = cl.CommandQueue(context)
    kernel = cl.Kernel(cl.Program(context, OPENCL_CODE).build(), "add_one")
    kernel.set_scalar_arg_dtypes([None, np.int32])
    numbers = np.zeros(LENGTH, np.int32)
    device = cl.Buffer(context, cl.mem_flags.READ_WRITE, numbers.nbytes)

    def loop() -> int:
        numbers[:] = 0
        cl.enqueue_copy(queue, device, numbers, is_blocking=False)
        for _ in range(DISPATCHES):
            kernel(queue, (LENGTH,), (LENGTH,), device, LENGTH)
        cl.enqueue_copy(queue, numbers, device)
        return int(numbers[LENGTH - 1])

    return loop


def numba() -> Callable[[], int]:
    """A function that Numba compiles, called for each dispatch."""

    def add(a: Any) -> None:
        for i in range(len(a)):
            a[i] = a[i] + 1

    compiled: Any = import_module("numba").njit(add)
    numbers = np.zeros(LENGTH, np.int32)

    def loop() -> int:
        numbers[:] = 0
        for _ in range(DISPATCHES):
            compiled(numbers)
        return int(numbers[LENGTH - 1])

    return loop


def c_function() -> Callable[[], int]:
    """A function of a library that gcc makes."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "add.c", Path(folder) / "add.so"
        source.write_text(C_CODE, "utf-8")
        flags = ["-O3", "-march=native", "-shared", "-fPIC"]
        subprocess.run(["gcc", *flags, str(source), "-o", str(library)], check=True)  # noqa: S607 -- whichever gcc there is
        function = ctypes.CDLL(str(library)).add_one
    function.argtypes = (ctypes.c_void_p, ctypes.c_int)
    function.restype = None
    numbers = np.zeros(LENGTH, np.int32)
    address = numbers.ctypes.data

    def loop() -> int:
        numbers[:] = 0
        for _ in range(DISPATCHES):
            function(address, LENGTH)
        return int(numbers[LENGTH - 1])

    return loop


def sides() -> dict[str, Callable[[], int]]:
    """Everybody who is here."""
    found = {"trilby, native": trilby_on("native")}
    if find_spec("pyopencl"):
        found |= {"trilby, opencl": trilby_on("opencl"), "raw pyopencl": raw_pyopencl()}
    if find_spec("numba"):
        found["numba"] = numba()
    if shutil.which("gcc"):
        found["C through ctypes"] = c_function()
    everybody = ("trilby, opencl", "raw pyopencl", "numba", "C through ctypes")
    for name in (name for name in everybody if name not in found):
        print(f"{name:18} is not installed")
    return found


def dispatches() -> None:
    """Print what one dispatch takes on each side."""
    loops = sides()
    times: dict[str, list[float]] = {name: [] for name in loops}
    for turn in range(TURNS + 1):
        for name, loop in loops.items():
            started = time.perf_counter()
            assert loop() == DISPATCHES
            if turn:  # the first time somebody compiles
                times[name].append((time.perf_counter() - started) / DISPATCHES * 1e6)
    for name, measured in times.items():
        middle, least = statistics.median(measured), min(measured)
        print(f"{name:18} median {middle:6.2f} µs   shortest {least:6.2f} µs a dispatch")


def first_results() -> None:
    """Print how long a new process takes until it has a result; all take turns."""
    here = {name: code for name, (package, code) in FIRST_RESULTS.items() if find_spec(package)}
    for name in (name for name in FIRST_RESULTS if name not in here):
        print(f"first result, {name:15} is not installed")
    cold: dict[str, list[float]] = {name: [] for name in here}
    warm: dict[str, list[float]] = {name: [] for name in here}
    with tempfile.TemporaryDirectory() as folder:
        programs = {name: Path(folder) / f"first{n}.py" for n, name in enumerate(here)}
        for name, code in here.items():
            programs[name].write_text(f"{code}\nprint('done', flush=True)\n", "utf-8")
            seconds(programs[name], folder)
        for _ in range(PROCESSES):
            for name, program in programs.items():
                with tempfile.TemporaryDirectory() as fresh:
                    cold[name].append(seconds(program, fresh))
                warm[name].append(seconds(program, folder))
    for name in here:
        print(
            f"first result, {name:15} cold {statistics.median(cold[name]) * 1e3:6.0f} ms   "
            f"warm {statistics.median(warm[name]) * 1e3:6.0f} ms   "
            f"(shortest {min(cold[name]) * 1e3:.0f} and {min(warm[name]) * 1e3:.0f} ms)"
        )


def seconds(program: Path, cache: str) -> float:
    """How long a new process takes to its result, with a folder for what is kept.

    Bytecode is kept in its usual place, as it is for packages that are installed.
    """
    environment = {**os.environ, **dict.fromkeys(CACHES, cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    started = time.perf_counter()
    command = [sys.executable, str(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as running:
        told = running.stdout.readline() if running.stdout else b""
        needed = time.perf_counter() - started
    assert (told, running.returncode) == (b"done\n", 0)
    return needed


def main() -> None:
    """Print both tables."""
    dispatches()
    first_results()


if __name__ == "__main__":
    main()

"""How long it takes until something happens: import, first result, reflection.

Everything is measured in new processes of this one run, raw pyopencl and Trilby in turns,
and given as medians and ratios of the shortest. Bytecode is kept between them, as it is for a
package that is installed. All caches of compiled code are empty for "cold".
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 9

RAW = """
import numpy as np
import pyopencl as cl
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
numbers = np.arange(32, dtype=np.int32)
device = cl.Buffer(context, cl.mem_flags.READ_WRITE, numbers.nbytes)
cl.enqueue_copy(queue, device, numbers)
program = cl.Program(context, '''
__kernel void square_kernel(__global int *s32) {
    int i = get_global_id(0);
    s32[i] = s32[i] * s32[i];
}''').build()
program.square_kernel(queue, (32,), None, device)
cl.enqueue_copy(queue, numbers, device)
assert numbers[31] == 961
"""

TRILBY = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent.parent / "examples")!r})
import squares
from trilby import Accelerator
assert squares.run(Accelerator(BACKEND), 32).array[31] == 961
"""
OPENCL, NATIVE = (TRILBY.replace("BACKEND", repr(name)) for name in ("opencl", "native"))


def seconds(code: str, cache: str) -> float:
    """The wall time of a new Python process."""
    caches = dict.fromkeys(("POCL_CACHE_DIR", "XDG_CACHE_HOME", "TRILBY_CACHE"), cache)
    environment = {**os.environ, **caches}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    return time.perf_counter() - started


def compare(title: str, codes: dict[str, str], base: str, *, keep_cache: bool) -> None:
    """Run the programs in turns and print their medians, and ratios to one of them."""
    times: dict[str, list[float]] = {name: [] for name in codes}
    with tempfile.TemporaryDirectory() as kept:
        if keep_cache:
            for code in codes.values():
                seconds(code, kept)
        for _ in range(ROUNDS):
            for name, code in codes.items():
                with tempfile.TemporaryDirectory() as fresh:
                    times[name].append(seconds(code, kept if keep_cache else fresh))
    least = min(times[base])
    for name, measured in times.items():
        median = statistics.median(measured)
        ratio = min(measured) / least
        print(f"{title:34} {name:16} {median * 1e3:8.0f} ms   {ratio:5.2f}×")


def main() -> None:
    imports = {"python": "", "import numpy": "import numpy", "import trilby": "import trilby"}
    compare("start", imports, "import numpy", keep_cache=True)
    programs = {"raw pyopencl": RAW, "trilby, opencl": OPENCL, "trilby, native": NATIVE}
    compare("squares, cold caches", programs, "raw pyopencl", keep_cache=False)
    compare("squares, warm caches", programs, "raw pyopencl", keep_cache=True)


if __name__ == "__main__":
    main()

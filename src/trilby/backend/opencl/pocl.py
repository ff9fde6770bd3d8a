"""Whether PoCL, the OpenCL driver for CPUs, works on this machine.

PoCL hands every kernel to `ld -shared … -lgcc -lgcc_s -lc` at its first launch, and writes the
result to its cache. It *ends the process* if one of these fails. So another process builds and runs
a small kernel before its device is offered. An empty file in PoCL's cache remembers that this went
well, for as long as the driver, the linker and the variables that they read stay the same. This
module knows no device API.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from trilby.errors import DeviceUnavailableError
from trilby.messages import tell

PLATFORM = "Portable Computing Language"

NO_DEVICES_ADVICE = (
    "PoCL needs a folder for its cache: set POCL_CACHE_DIR to one that can be written. "
    "POCL_DEVICES, if it is set, must name a device that exists"
)
_LINKER_ADVICE = (
    "install a linker with the development files of libgcc and of the C library; "
    "on Debian and Ubuntu: apt install gcc libc6-dev"
)
_ADVICE = "see that `ld` works, and that there is room in POCL_CACHE_DIR or ~/.cache/pocl"

LEAST_BYTES = 8 * 2**20
"""With less room for compiled kernels, which have a fraction of a megabyte, each process tries."""
TRIAL_SECONDS = 300
"""A small kernel that has not run after so long never will."""
TRIAL_PROGRAM = """
import os, sys
sys.path[:] = {path!r}
import numpy as np, pyopencl as cl
device = [d for p in cl.get_platforms() if p.version == {version!r} for d in p.get_devices()][0]
context = cl.Context([device])
queue = cl.CommandQueue(context)
memory = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4)
program = cl.Program(context, "__kernel void trial(__global int *a) {{ a[0] = {number}; }}")
program.build(cache_dir=False).trial(queue, (1,), (1,), memory)
found = np.zeros(1, np.int32)
cl.enqueue_copy(queue, found, memory)
os._exit(int(found[0]) != {number})
"""
"""Builds and runs a kernel that is in no cache; ends with 0 if all went well."""


def refusal(
    version: str, target: str, variables: Mapping[str, str], cache_folder: str | None
) -> DeviceUnavailableError | None:
    """Why a PoCL of some version cannot be used here, or None where it can.

    It compiles for a target such as `pthread-x86_64-pc-linux-gnu-skylake-avx512`, reads these
    variables, and keeps compiled kernels in a folder, which need not exist yet.
    """
    # PoCL hands this name to an older compiler inside of it, which rejects it for x86.
    if "-x86_64-" in target and target.endswith("-generic"):
        return DeviceUnavailableError(
            f"{version.partition('  ')[0]} does not know this CPU: its compiler is older",
            advice="use the device `native`, or install another PoCL; on Debian and Ubuntu: "
            "apt install pocl-opencl-icd",
        )
    stamp = _stamp(version, variables, cache_folder) if cache_folder else None
    if stamp and stamp.exists() and shutil.disk_usage(stamp.parent).free >= LEAST_BYTES:
        return None
    tell("debug", "trying PoCL in a process of its own")
    number = int.from_bytes(os.urandom(3), "little")
    program = TRIAL_PROGRAM.format(path=sys.path, version=version, number=number)
    problem = problem_of_program(program)
    if problem is None:
        if stamp is not None:
            with suppress(OSError):  # then the next process tries again
                stamp.touch(mode=0o600)
        return None
    concerns_linker = re.search(r"\bld\b|link", problem) and "space" not in problem
    return DeviceUnavailableError(
        f"PoCL, the OpenCL driver for the CPU, does not get a small kernel to run here: {problem}",
        advice=_LINKER_ADVICE if concerns_linker else _ADVICE,
    )


def _stamp(version: str, variables: Mapping[str, str], cache_folder: str) -> Path:
    """The file that says that a trial went well; it names all that this depends on."""
    linker = shutil.which("ld", path=variables.get("PATH", ""))
    changed = Path(linker).stat().st_mtime_ns if linker else 0
    about = repr((version, sorted(variables.items()), linker, changed, sys.prefix))
    name = blake2b(about.encode(errors="surrogateescape"), digest_size=16).hexdigest()
    return Path(cache_folder, f"trilby-trial-{name}")


def problem_of_program(text: str) -> str | None:
    """Run a program with this Python, and say what went wrong; None where nothing did."""
    if not sys.executable or hasattr(sys, "frozen"):
        return None  # there is no Python to run it with
    try:
        done = subprocess.run(  # noqa: S603 -- the program is our own
            [sys.executable, "-W", "ignore", "-c", text],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=TRIAL_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"it was not built after {TRIAL_SECONDS} seconds"
    except OSError as error:
        return f"no process can be started: {error}"
    if done.returncode == 0:
        return None
    said = done.stderr.strip().splitlines()
    causes = (line for line in said if not line.startswith(("Traceback", " ")))
    return next(causes, f"the process ended with {done.returncode}")

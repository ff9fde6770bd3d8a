"""What PoCL, the OpenCL driver for CPUs, needs of the machine it runs on.

PoCL hands every kernel to `ld -shared … -lgcc -lgcc_s -lc` at its first launch, and writes the
result to its cache. It *ends the process* if one of these fails. So this is found out before its
device is offered: first by looking at files, which takes about a millisecond, then by a kernel that
another process builds and runs. An empty file in PoCL's cache remembers that this went well, for as
long as the driver, the linker and the variables that they read stay the same. This module knows no
device API.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from trilby.dataclass import dataclass
from trilby.errors import DeviceUnavailableError
from trilby.messages import tell

PLATFORM = "Portable Computing Language"
_POCL = "PoCL, the OpenCL driver for the CPU,"

NO_DEVICES_ADVICE = (
    "PoCL needs a folder for its cache: set POCL_CACHE_DIR to one that can be written. "
    "POCL_DEVICES, if it is set, must name a device that exists"
)

LEAST_BYTES = 8 * 2**20
"""What has to be free where PoCL keeps compiled kernels; one has a fraction of a megabyte."""

TRIAL_SECONDS = 300
"""A small kernel that has not run after so long never will."""

TRIAL_PROGRAM = """
import os, sys
sys.path[:] = {path!r}
import pyopencl as cl
from pyopencl._cl import _Program
device = [d for p in cl.get_platforms() if p.version == {version!r} for d in p.get_devices()][0]
context = cl.Context([device])
queue = cl.CommandQueue(context)
memory = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4)
program = _Program(context, "__kernel void trial(__global int *a) {{ a[0] = {number}; }}")
program._build(b"-w", [device])
kernel = cl.Kernel(program, "trial")
kernel.set_arg(0, memory)
cl.enqueue_nd_range_kernel(queue, kernel, (1,), (1,))
found = bytearray(4)
cl.enqueue_copy(queue, found, memory)
os._exit(int.from_bytes(found, sys.byteorder) != {number})
"""
"""Builds and runs a kernel that is in no cache; ends with 0 if all went well."""

# Where the compiler inside PoCL looks for a GCC; it takes one that has a crtbegin.o.
_GCC_FOLDERS = ("usr/lib/gcc", "usr/lib64/gcc", "lib/gcc", "opt/rh/*/root/usr/lib/gcc")
_LIBC_FOLDERS = ("usr/lib", "usr/lib/*-linux-*", "usr/lib64", "lib", "lib/*-linux-*", "lib64")


@dataclass(frozen=True, slots=True)
class Setting:
    """A PoCL of some version, the variables that it reads, and where it keeps compiled kernels."""

    version: str
    variables: Mapping[str, str]
    cache_folder: str | None
    target: str = ""
    """What it compiles for, such as `pthread-x86_64-pc-linux-gnu-skylake-avx512`."""

    @property
    def program_path(self) -> str:
        """The folders in which it looks for `ld`."""
        return self.variables.get("PATH", "")

    @property
    def stamp(self) -> Path | None:
        """The file that says that a trial went well; it names all that this depends on."""
        if self.cache_folder is None:
            return None
        linker = shutil.which("ld", path=self.program_path)
        found = Path(linker).stat() if linker else None
        identity = (linker, found.st_ino, found.st_size, found.st_mtime_ns) if found else ()
        about = repr((self.version, sorted(self.variables.items()), identity, sys.prefix))
        name = blake2b(about.encode(errors="surrogateescape"), digest_size=16).hexdigest()
        return Path(self.cache_folder, f"trilby-trial-{name}")


def refusal(setting: Setting, root: Path = Path("/")) -> DeviceUnavailableError | None:
    """Why PoCL cannot be used here, or None where it can. `root` is the folder of all folders."""
    return (
        linking_refusal(setting.program_path, root)
        or cpu_refusal(setting)
        or room_refusal(setting.cache_folder)
        or trial_refusal(setting)
    )


def linking_refusal(program_path: str, root: Path) -> DeviceUnavailableError | None:
    """Why PoCL cannot link kernels here; `program_path` is the `PATH` that it will see."""
    missing = missing_for_linking(program_path, root)
    if missing is None:
        return None
    return DeviceUnavailableError(
        f"{_POCL} cannot link kernels here: {missing}",
        advice="install a linker with the development files of libgcc and of the C library; "
        "on Debian and Ubuntu: apt install gcc libc6-dev",
    )


def missing_for_linking(program_path: str, root: Path) -> str | None:
    """What is not there, as the end of a sentence, or None where linking will work."""
    if sys.platform == "win32":
        return None
    if shutil.which("ld", path=program_path) is None:
        return "there is no `ld` on the PATH"
    if sys.platform != "linux":
        return None
    libgcc = (found for folder in _GCC_FOLDERS for found in root.glob(f"{folder}/*/*/libgcc.a"))
    if not any(library.with_name("crtbegin.o").exists() for library in libgcc):
        return "`ld` is there, and libgcc.a is not"
    if not any(
        any(root.glob(f"{folder}/libc.{end}")) for folder in _LIBC_FOLDERS for end in ("a", "so")
    ):
        return "`ld` is there, and the C library to link with (libc.so) is not"
    return None


def cpu_refusal(setting: Setting) -> DeviceUnavailableError | None:
    """Why nothing can be compiled for this CPU: the compiler inside PoCL may be older.

    PoCL hands the name `generic` to it then, which that compiler rejects for x86.
    """
    if "-x86_64-" not in setting.target or not setting.target.endswith("-generic"):
        return None
    return DeviceUnavailableError(
        f"{setting.version.partition('  ')[0]} does not know this CPU: its compiler is older",
        advice="use the device `native`, or install another PoCL; on Debian and Ubuntu: "
        "apt install pocl-opencl-icd",
    )


def room_refusal(folder: str | None) -> DeviceUnavailableError | None:
    """Why compiled kernels cannot be kept in a folder, which need not exist yet."""
    if folder is None or not hasattr(os, "statvfs"):
        return None
    place = Path(folder).absolute()
    while not place.is_dir():
        place = place.parent
    found = os.statvfs(place)
    free = found.f_bavail * found.f_frsize
    has_files = found.f_favail > 0 or found.f_files == 0  # some systems do not count them
    if free >= LEAST_BYTES and has_files:
        return None
    what = f"{free:,} bytes are free" if has_files else "no file can be made"
    return DeviceUnavailableError(
        f"{_POCL} has no room for compiled kernels: {what} in {folder}",
        advice="make room there, or set POCL_CACHE_DIR to a folder on another disk",
    )


def trial_refusal(setting: Setting) -> DeviceUnavailableError | None:
    """Why a kernel cannot be built and run, which another process finds out, once."""
    stamp = setting.stamp
    if stamp is not None and stamp.exists():
        return None
    tell("debug", "trying PoCL in a process of its own")
    number = int.from_bytes(os.urandom(3), "little")
    program = TRIAL_PROGRAM.format(path=sys.path, version=setting.version, number=number)
    problem = problem_of_program(program)
    if problem is None:
        if stamp is not None:
            with suppress(OSError):  # then the next process tries again
                stamp.touch(mode=0o600)
        return None
    return DeviceUnavailableError(
        f"{_POCL} does not get a small kernel to run here: {problem}",
        advice="see that `ld` works, and that there is room in POCL_CACHE_DIR or ~/.cache/pocl",
    )


def problem_of_program(text: str) -> str | None:
    """Run a program with this Python, and say what went wrong; None where nothing did."""
    if not sys.executable or hasattr(sys, "frozen"):
        return None  # there is no Python to run it with
    command = [sys.executable, "-c", text]
    try:
        done = subprocess.run(  # noqa: S603 -- the program is our own
            command,
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
    said = done.stderr.strip().splitlines() or [f"the process ended with {done.returncode}"]
    return said[-1]

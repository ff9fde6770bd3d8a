"""What PoCL, the OpenCL driver for CPUs, needs of the machine it runs on.

PoCL hands every kernel to `ld -shared … -lgcc -lgcc_s -lc` at its first launch, and *ends
the process* if that fails. So this is asked before its device is offered. It looks at
files and starts nothing: about a millisecond. It knows no device API.
"""

import shutil
import sys
from pathlib import Path

from trilby.errors import DeviceUnavailableError

PLATFORM = "Portable Computing Language"

NO_DEVICES_ADVICE = (
    "PoCL needs a folder for its cache: set POCL_CACHE_DIR to one that can be written. "
    "POCL_DEVICES, if it is set, must name a device that exists"
)

# Where the compiler inside PoCL looks for a GCC; it takes one that has a crtbegin.o.
_GCC_FOLDERS = ("usr/lib/gcc", "usr/lib64/gcc", "lib/gcc", "opt/rh/*/root/usr/lib/gcc")
_LIBC_FOLDERS = ("usr/lib", "usr/lib/*-linux-*", "usr/lib64", "lib", "lib/*-linux-*", "lib64")


def refusal(program_path: str, root: Path = Path("/")) -> DeviceUnavailableError | None:
    """Why PoCL cannot be used here, or None where it can.

    `program_path` is the `PATH` that it will see, `root` the folder of all folders.
    """
    missing = missing_for_linking(program_path, root)
    if missing is None:
        return None
    return DeviceUnavailableError(
        f"PoCL, the OpenCL driver for the CPU, cannot link kernels here: {missing}",
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
    if not _has_libgcc(root):
        return "`ld` is there, and libgcc.a is not"
    if not _has_libc(root):
        return "`ld` is there, and the C library to link with (libc.so) is not"
    return None


def _has_libgcc(root: Path) -> bool:
    libraries = (found for folder in _GCC_FOLDERS for found in root.glob(f"{folder}/*/*/libgcc.a"))
    return any(library.with_name("crtbegin.o").exists() for library in libraries)


def _has_libc(root: Path) -> bool:
    names = ("libc.so", "libc.a")
    return any(True for f in _LIBC_FOLDERS for name in names for _ in root.glob(f"{f}/{name}"))

"""Whether a maker's OpenCL driver is on this machine, without loading one.

Loading OpenCL takes a tenth of a second, and most machines have no driver but the one for the CPU
that comes with pip. On Linux drivers are listed in a folder of the system. Elsewhere it is not
known, and a GPU has to be asked for: `prefer=["gpu", "cpu"]`.
"""

import os

_FOR_CPUS = ("pocl", "oclgrind", "intel64")
"""How the names of drivers begin that have no device faster than the processor."""


def has_driver_for_others(folder: str | os.PathLike[str] = "/etc/OpenCL/vendors") -> bool:
    """True where there is a driver for another device than the CPU."""
    try:
        names = os.listdir(folder)
    except OSError:  # no such folder
        return False
    return any(name.endswith(".icd") and not name.lower().startswith(_FOR_CPUS) for name in names)

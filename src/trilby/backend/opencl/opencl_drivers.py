"""When the drivers of OpenCL may be used: not in a forked child, and not once the program ends.

A driver has threads and locks of its own, of which a child has only the memory, so nothing of
OpenCL is used in the child of a process that used it. When Python finalizes, it ends each other
thread that takes its global lock again; one that had released it inside of a driver's call then
aborts the process. So at exit all threads leave the drivers, and none enters them again.
"""

import ctypes
import gc
import sys
import threading
import time
from traceback import walk_stack
from typing import cast

from trilby.at_exit import PROGRAM_END, EndStep
from trilby.errors import DeviceUnavailableError
from trilby.locks import hold_over_forks

_CALLERS = "trilby.backend.opencl", "trilby.backend.background"
"""Only modules whose names begin with these call drivers."""


class Drivers:
    """Whether this process has used the drivers, and may never use nor release them any more."""

    are_used = False
    are_lost = False


def check_drivers(*, opening: bool = False) -> None:
    """Raise in a child of a process that used OpenCL, and where its end was interrupted.

    Devices are not opened once the end has begun; when they are, the drivers are lost to children.
    """
    if PROGRAM_END.has_begun and (opening or Drivers.are_lost):
        raise DeviceUnavailableError(
            "a device of OpenCL is used while the program ends",
            advice="end threads, and work that `atexit` handlers begin, before that",
        )
    if Drivers.are_lost:
        raise DeviceUnavailableError(
            "this process was forked from one that had used OpenCL: drivers do not survive that",
            advice='start processes with `multiprocessing.get_context("spawn")`, or fork before '
            'OpenCL is used; `Accelerator("native")` works in both',
        )
    Drivers.are_used = True


def _leave() -> None:
    """Wait until no other thread is in a function that may call a driver."""
    latest = time.monotonic() + 2  # by then nothing comes back from a driver that has a thread
    while time.monotonic() < latest:
        tops = sys._current_frames()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        del tops[threading.get_ident()]
        frames = (frame for top in tops.values() for frame, _ in walk_stack(top))
        if not any(frame.f_globals.get("__name__", "").startswith(_CALLERS) for frame in frames):
            return
        time.sleep(0.001)


def _lose() -> None:
    """In a child, and at an end where somebody waited for the drivers and was interrupted."""
    if Drivers.are_used:
        Drivers.are_lost = True
        gc.unfreeze()  # else they are not among all objects
        keep_all()
        gc.freeze()  # what is garbage now stays


def keep_all() -> None:
    """Never release what the drivers have: that would wait, maybe for ever.

    Python ends all objects when a program ends, but for those that are used once more than it
    knows: here the objects of the modules that call drivers, with all that they hold.
    """
    for one in gc.get_objects():
        if str(getattr(cast("object", type(one)), "__module__", "")).startswith(_CALLERS):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))


hold_over_forks(3, lambda: None, lambda: None, _lose)
PROGRAM_END.add(EndStep.STOP_THREADS, _leave)
PROGRAM_END.add_rescue(_lose)

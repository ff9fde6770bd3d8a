"""The devices that accelerators have open, and how they are closed: by `close`, or at last at exit.

Closing a device waits for its work and copies back what only it has. An accelerator that is dropped
closes its devices too, and so does the end of the program, with all devices at once: wrapped memory
has its content first, then the queues are finished, and then no driver has any work left.
"""

import os
from collections.abc import Iterable

from trilby.at_exit import PROGRAM_END, Step, run_all
from trilby.errors import DeviceError
from trilby.runtime.content import LOCK
from trilby.runtime.residency import Residency

_OPEN: set[Residency] = set()


def add_open(residency: Residency) -> None:
    """A device was opened."""
    PROGRAM_END.watch_this_process()
    with LOCK:
        if not PROGRAM_END.has_begun:
            _OPEN.add(residency)
            return
    residency.backend.close()
    raise DeviceError(
        f"{residency.backend.device.spec} is opened while the program ends",
        advice="end threads, and work that `atexit` handlers begin, before that",
    )


def close_all(residencies: Iterable[Residency]) -> None:
    """Copy everything back from some devices, then finish their queues and close them."""
    closing = tuple(residencies)
    run_all(
        [
            *(residency.close for residency in closing),
            *(residency.backend.close for residency in closing),
            lambda: _OPEN.difference_update(closing),
        ]
    )


def close_dropped(residencies: Iterable[Residency]) -> None:
    """Close the devices of an accelerator that nobody has any more, as far as they are open."""
    close_all(residency for residency in residencies if residency in _OPEN)


def open_now() -> tuple[Residency, ...]:
    """The devices that are open."""
    with LOCK:
        return tuple(_OPEN)


def _close_at_exit() -> None:
    close_all(open_now())


PROGRAM_END.add(Step.CLOSE_ACCELERATORS, _close_at_exit)

if hasattr(os, "register_at_fork"):  # what the parent opened is the parent's to close
    os.register_at_fork(after_in_child=_OPEN.clear)

"""OpenCL in a process that forked: its drivers stay behind, and would be waited for without end.

A driver has threads and locks of its own, of which a child has only the memory. So nothing of
OpenCL is used in the child of a process that used it.
"""

from trilby.errors import DeviceUnavailableError
from trilby.locks import hold_over_forks


class Drivers:
    """Whether this process has used the drivers, or its parent had when it forked."""

    are_used = False
    are_lost = False


def check_drivers() -> None:
    """Raise in a child of a process that used OpenCL."""
    if Drivers.are_lost:
        raise DeviceUnavailableError(
            "this process was forked from one that had used OpenCL: drivers do not survive that",
            advice='start processes with `multiprocessing.get_context("spawn")`, or fork before '
            'OpenCL is used; `Accelerator("native")` works in both',
        )


def use_drivers() -> None:
    """The drivers are about to be used: they are lost to children."""
    check_drivers()
    Drivers.are_used = True


def _lose() -> None:
    Drivers.are_lost = Drivers.are_used


hold_over_forks(3, lambda: None, lambda: None, _lose)

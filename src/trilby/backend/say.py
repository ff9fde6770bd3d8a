"""What `print` in a kernel shows, the same on all backends that print in Python.

Whatever `sys.stdout` is, it may run any code: notebooks keep what is printed, and others launch
kernels. So lines wait until the launch that printed them is over and everything is noted.
"""

import sys
from collections.abc import Callable  # noqa: TC003 -- as elsewhere

from trilby.process import PROCESS


class Output:
    """Where lines go. The runtime says when they have to wait: at first they never do."""

    __slots__ = ("must_wait",)

    def __init__(self) -> None:
        self.must_wait: Callable[[], bool] = bool


OUTPUT = Output()


def say(form: str, *numbers: float) -> None:
    """Write a line: floats with six digits, as devices show them."""
    shown = (f"{n:g}" if isinstance(n, float) else str(n) for n in numbers)
    PROCESS.printed.append(form.format(*shown) + "\n")
    say_all()


def say_all() -> None:
    """Write the lines that wait, unless they have to."""
    while PROCESS.printed and not OUTPUT.must_wait():
        line = PROCESS.printed.popleft()
        if sys.stdout is not None:
            sys.stdout.write(line)

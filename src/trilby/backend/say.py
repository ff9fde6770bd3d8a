"""What `print` in a kernel shows, the same on all backends that print in Python.

Whatever `sys.stdout` is, it may run any code: notebooks keep what is printed, and others launch
kernels. So lines wait until the launch that printed them is over and everything is noted.
"""

import sys

from trilby.process import PROCESS


def say(form: str, *numbers: float) -> None:
    """Write a line: floats with six digits, as devices show them."""
    shown = (f"{n:g}" if isinstance(n, float) else str(n) for n in numbers)
    PROCESS.printed.append(form.format(*shown) + "\n")
    say_all()


def say_all() -> None:
    """Write the lines that wait, unless they have to."""
    while PROCESS.printed and not PROCESS.must_print_later():
        line = PROCESS.printed.popleft()
        if sys.stdout is not None:
            sys.stdout.write(line)

"""What `print` in a kernel shows, the same on all backends that print in Python."""

import sys


def say(form: str, *numbers: float) -> None:
    """Write a line: floats with six digits, as devices show them."""
    shown = (f"{n:g}" if isinstance(n, float) else str(n) for n in numbers)
    sys.stdout.write(form.format(*shown) + "\n")

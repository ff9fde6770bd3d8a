"""Whether a thread is in the middle of giving commands to a driver.

The garbage collector may end a buffer between any two steps. What that asks of a device has to
wait until the commands that were given first are with the driver.
"""

from threading import local


class Giving(local):
    """What each thread does right now."""

    now: bool = False


GIVING = Giving()

"""The event of backends that do everything at once."""

import time
from typing import Self

from trilby.backend.base import Times


class DoneEvent:
    """Work that was over before anybody could wait for it.

    What it took is measured by the host's clock, where it was begun at a known time.
    """

    __slots__ = ("began", "origin", "seconds")
    done = True
    by_host_clock = True

    def __init__(self, seconds: float = 0.0, began: float | None = None) -> None:
        self.origin: object = None
        self.seconds = seconds
        self.began = began

    @property
    def times(self) -> Times:
        """It was queued for no time."""
        return 0.0, self.seconds

    @classmethod
    def since(cls, started: float) -> Self:
        """Work that was begun at a time of `time.perf_counter` and is over now."""
        return cls(time.perf_counter() - started, started)

    def wait(self) -> None:
        """Return at once."""

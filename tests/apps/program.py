"""What a program of this folder is: its buffers, its run, what it must give, what has to move.

In `structure` H is the host and k a kernel; R reads, W writes all, w writes a part or may write.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from rodinia_suite.workload import Numbers, Outcome, floats, junk, seeded

from trilby import Accelerator

__all__ = [
    "Bytes",
    "Copies",
    "Numbers",
    "Outcome",
    "Program",
    "floats",
    "junk",
    "seeded",
]

B = TypeVar("B")
"""What a program makes before it runs: its buffers."""


class Copies(NamedTuple):
    """How many copies go to the device, and how many come back."""

    up: int
    down: int


class Bytes(NamedTuple):
    """How many bytes go to the device, and how many come back."""

    up: int
    down: int


@dataclass(frozen=True)
class Program(Generic[B]):
    """A program whose transfers are known before it runs."""

    name: str
    structure: str
    make: Callable[[Accelerator], B]
    """The buffers with what the host writes first. The same in every run."""
    run: Callable[[Accelerator, B], Outcome]
    """All that is counted: compute calls, and what the host does around them."""
    reference: Callable[[], Outcome]
    """The same outcome by NumPy alone."""
    minimal: Copies
    """What cannot be avoided."""
    naive: Copies
    """What is copied when every argument goes up before each dispatch, and down after it."""
    moved: Bytes | None = None
    """The bytes that cannot be avoided, where less than whole buffers has to move."""
    beside: int = 0
    """Bytes beside those that are needed, which go up with them so that one copy is enough."""
    tolerance: float = 0.0
    """The relative error that floats may have."""

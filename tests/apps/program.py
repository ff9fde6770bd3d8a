"""What a program of this folder is: its buffers, its run, what it must give, what has to move.

In `structure` H is the host and k a kernel; R reads, W writes all, w writes a part or may write.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from trilby import Accelerator

B = TypeVar("B")
"""What a program makes before it runs: its buffers."""

Numbers: TypeAlias = npt.NDArray[Any]
Outcome: TypeAlias = Sequence[Numbers]
"""What the host saw, and what its buffers hold at the end."""


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


def seeded(seed: int) -> np.random.Generator:
    """Random numbers that are the same in every run."""
    return np.random.default_rng(seed)


def floats(seed: int, *shape: int) -> npt.NDArray[np.float32]:
    """Random numbers between 0 and 1."""
    return seeded(seed).random(shape, np.float32)


def junk(*shape: int) -> npt.NDArray[np.float32]:
    """Memory that nobody has set: what reads it can be seen to."""
    return np.full(shape, np.nan, np.float32)

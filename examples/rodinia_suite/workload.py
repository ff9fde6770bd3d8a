"""What a program of the suite is: its buffers, its run, and what it must give."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from trilby import Accelerator

B = TypeVar("B")
"""What a program makes before it runs: its buffers."""

Numbers: TypeAlias = npt.NDArray[Any]
Outcome: TypeAlias = Sequence[Numbers]
"""What the host saw, and what its buffers hold at the end."""


@dataclass(frozen=True)
class Workload(Generic[B]):
    """A program with inputs of some size."""

    name: str
    size: str
    make: Callable[[Accelerator], B]
    """The buffers with what the host writes first. The same in every run."""
    run: Callable[[Accelerator, B], Outcome]
    """Compute calls, and what the host does around them."""
    reference: Callable[[], Outcome]
    """The same outcome by NumPy alone."""
    tolerance: float = 0.0
    """The error that floats may have, beside the largest of them."""


def seeded(seed: int) -> np.random.Generator:
    """Random numbers that are the same in every run."""
    return np.random.default_rng(seed)


def floats(seed: int, *shape: int) -> npt.NDArray[np.float32]:
    """Random numbers between 0 and 1."""
    return seeded(seed).random(shape, np.float32)


def junk(*shape: int) -> npt.NDArray[np.float32]:
    """Memory that nobody has set: what reads it can be seen to."""
    return np.full(shape, np.nan, np.float32)

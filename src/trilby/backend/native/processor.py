"""What code is made for, and code that is loaded, without a word of LLVM."""

from functools import lru_cache
from typing import Protocol

from trilby.backend.group_size import GroupLimits, group_size
from trilby.data.ndrange import MAX_DIMENSIONS, NDRange
from trilby.dataclass import dataclass


class RefusedTextError(Exception):
    """LLVM does not take a text; the message is its own."""


class Code(Protocol):
    """Code that is loaded; it can be called as long as this lives."""

    def __getitem__(self, symbol: str, /) -> int:
        """The address of a function."""
        ...


@dataclass(frozen=True, slots=True)
class Processor:
    """What code is made for, in LLVM's words: `Processor("x86_64-…", "znver3", "+avx2,…")`."""

    triple: str
    cpu: str
    features: str


@dataclass(frozen=True, slots=True)
class Detected:
    """The triple, the name and the features of a machine's processor, and the LLVM that said so."""

    triple: str
    cpu: str
    features: tuple[tuple[str, bool], ...]
    llvm: str


# ------------------------------------------------------------------------------------------- groups
# How work items are put into groups on a processor, where a launch does not say so.
#
# A group is a piece of work for one thread. Long rows suit vectors, and threads want several
# pieces each, because some take longer than others. Kernels whose work items wait for each other
# come with a group size, which this module leaves alone.

MAX_GROUP_ITEMS = 4096
LIMITS = GroupLimits(MAX_GROUP_ITEMS, (MAX_GROUP_ITEMS,) * MAX_DIMENSIONS)

LONG_ROW = 2048
LONG_GROUP = 256
"""The shortest piece of a long row; short rows are cut into `SHORT_GROUP` at least."""
SHORT_GROUP = 16
SMALL_GROUP = 512
"""Groups of several rows have about so many items."""
PIECES = 4
"""So many pieces for each thread."""


@lru_cache(maxsize=1024)  # a program launches a few ranges, many times
def native_group(size: NDRange, threads: int) -> tuple[int, int, int]:
    """The group of a launch: what the range asks for, checked, or what suits a processor.

    `native_group(NDRange(1_000_000), 2)` is `(4096, 1, 1)`.
    """
    if size.local is not None:
        x, y, z = (*group_size(size, LIMITS), 1, 1)[:MAX_DIMENSIONS]
        return x, y, z
    row, rows, layers = size.padded
    wanted = PIECES * threads
    along = _piece(row, -(-wanted // max(rows * layers, 1)))
    several = max(min(SMALL_GROUP // along, rows * layers // wanted, rows), 1)
    return along, several if along >= row else 1, 1


def _piece(row: int, pieces: int) -> int:
    """The length of the pieces into which a row is cut."""
    shortest = LONG_GROUP if row >= LONG_ROW else SHORT_GROUP
    length = -(-row // max(pieces, 1))
    whole = -(-max(length, shortest) // shortest) * shortest
    return max(min(whole, row, MAX_GROUP_ITEMS), 1)

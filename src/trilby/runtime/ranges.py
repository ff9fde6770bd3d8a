"""The range of a launch, for kernels whose work items wait for each other."""

import math

from trilby.data.ndrange import NDRange
from trilby.errors import RangeError

LARGEST = ((256,), (16, 16), (16, 4, 4))
"""The largest group that is chosen for such a kernel, by the number of dimensions."""


def in_whole_groups(size: NDRange) -> NDRange:
    """A range that groups fill exactly: barriers need all items of a group.

    A local size that was asked for must divide the range. Where none was, the largest that
    divides it is taken, up to a usual size.
    """
    if size.local is None:
        largest = LARGEST[len(size.size) - 1]
        chosen = tuple(_divisor(n, limit) for n, limit in zip(size.size, largest, strict=True))
        return NDRange(size.size, chosen)
    if any(n % local for n, local in zip(size.size, size.local, strict=True)):
        pairs = zip(size.size, size.local, strict=True)
        whole = tuple(math.ceil(n / local) * local for n, local in pairs)
        raise RangeError(
            f"the range {size.size} is not a multiple of the local size {size.local}, and the "
            "kernel has barriers or local memory, which need whole groups",
            advice=f"launch {whole} work items and leave out the surplus in the kernel: pass "
            "the true size and test `if kc.x < n` around reads and writes, not around barriers",
        )
    return size


def _divisor(n: int, limit: int) -> int:
    """The largest number up to `limit` that divides `n`."""
    return next(size for size in range(min(n, limit), 0, -1) if n % size == 0)

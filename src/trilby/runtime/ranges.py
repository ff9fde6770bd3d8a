"""The range of a launch, for kernels whose work items wait for each other."""

import math

from trilby.data.ndrange import NDRange, dividing, spelled
from trilby.errors import RangeError

LARGEST = ((256,), (16, 16), (16, 4, 4))
"""The largest group that is chosen for such a kernel, by the number of dimensions."""


def in_whole_groups(size: NDRange, items: int) -> NDRange:
    """A range that groups fill exactly: barriers need all items of a group.

    A local size that was asked for must divide the range. Where none was, the largest that
    divides it is taken, up to a usual size, and up to the `items` that the device takes.
    """
    if size.local is None:
        return NDRange(size.size, dividing(size.size, LARGEST[len(size.size) - 1], items))
    if any(n % local for n, local in zip(size.size, size.local, strict=True)):
        raise _not_whole(size.size, size.local, items)
    return size


def _not_whole(size: tuple[int, ...], local: tuple[int, ...], items: int) -> RangeError:
    whole = tuple(math.ceil(n / group) * group for n, group in zip(size, local, strict=True))
    fitting = dividing(size, local, items)
    return RangeError(
        f"the range {size} is not a multiple of the local size {local}, and the "
        "kernel has barriers or local memory, which need whole groups",
        advice=f"the next smaller size that fits is `{spelled(fitting)}`. Or launch {whole} work "
        "items and leave out the surplus in the kernel: pass the true size and test "
        "`if kc.x < n` around reads and writes, not around barriers",
    )

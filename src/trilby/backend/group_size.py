"""How work items are put into groups, for devices on which a launch has to say so.

Measured on PoCL: a new group size costs 60 to 200 ms at its first launch (and 400 to
1,100 ms where the second axis is 2, 4, or 8 beside a wide first one, because it is then
unrolled), while the time of a launch hardly differs between 64 and 512 items. So there is
one size for each number of dimensions, and others for narrow and for long ranges: small enough
to leave groups for every core, large enough for GPUs. Work items in a row share vectors and
cache lines: on a 2-D kernel that streams, 128 × 1 took 1.4 ms where 16 × 8 took 3.5. Over 16
million items in a row, groups of 512 took a tenth less than groups of 128. This module knows no
driver.
"""

import math
from functools import cache, lru_cache

from trilby.data.ndrange import NDRange, dividing, spelled
from trilby.dataclass import dataclass
from trilby.errors import RangeError

WIDE = ((128,), (128, 1), (128, 1, 1))
"""The group of a launch that does not ask for one, by the number of dimensions."""

NARROW = ((128,), (16, 8), (16, 8, 1))
"""The same where a row of the range is shorter than a wide group."""

LONG = ((512,), (512, 1), (512, 1, 1))
"""The same where a row has `LONG_ROW` work items or more: there are groups enough."""

LONG_ROW = 2**16

HIGHEST_INDEX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """The largest group that a device takes for a kernel: in all, and along each axis.

    `because` is said after the number of items.
    """

    items: int
    axes: tuple[int, ...]
    because: str = ""


def group_size(size: NDRange, limits: GroupLimits) -> tuple[int, ...]:
    """The group of a launch: what the range asks for, checked, or what suits the device.

    `group_size(NDRange(1000), GroupLimits(4096, (4096, 4096, 4096)))` is `(128,)`.
    """
    if size.local is None:
        row = size.size[0]
        usual = LONG if row >= LONG_ROW else WIDE if row >= WIDE[0][0] else NARROW
        return _shrunk(usual[len(size.size) - 1], limits)
    _check(size, size.local, limits)
    return size.local


def fitting(size: NDRange, asked: tuple[int, ...], limits: GroupLimits) -> tuple[int, ...]:
    """A group that the device takes, like one that is too large for it.

    Where that one fills the range exactly, so does this: the kernel may depend on it.
    """
    local = _shrunk(asked, limits)
    if any(n % group for n, group in zip(size.size, asked, strict=True)):
        return local
    return dividing(size.size, local, limits.items)


@cache
def _shrunk(group: tuple[int, ...], limits: GroupLimits) -> tuple[int, ...]:
    """Cut to the limits of the axes, then halved along the longest until it is small enough."""
    local = [min(n, limit) for n, limit in zip(group, limits.axes, strict=False)]
    while math.prod(local) > limits.items:
        longest = local.index(max(local))
        local[longest] = -(-local[longest] // 2)
    return tuple(local)


@lru_cache(maxsize=1024)  # a program launches a few ranges, many times
def rounded_up(size: NDRange, local: tuple[int, ...]) -> tuple[int, ...]:
    """The range in whole groups. The kernel itself leaves out what is too much.

    `rounded_up(NDRange(1000), (128,))` is `(1024,)`.
    """
    whole = tuple(-(-n // group) * group for n, group in zip(size.size, local, strict=True))
    if max(whole) > HIGHEST_INDEX:
        raise RangeError(
            f"the range {size.size} has {max(size.size)} work items along one axis, and an index "
            f"counts to {HIGHEST_INDEX}",
            advice="use a second dimension, or several launches",
        )
    return whole


def _check(size: NDRange, local: tuple[int, ...], limits: GroupLimits) -> None:
    if math.prod(local) > limits.items:
        raise _too_large(
            f"a group of {_counted(local)} work items is too large: the device takes "
            f"{limits.items} for this kernel{limits.because}",
            fitting(size, local, limits),
        )
    for axis, (asked, limit) in enumerate(zip(local, limits.axes, strict=False)):
        if asked > limit:
            raise _too_large(
                f"a group of {_times(local)} is too long: the device takes {limit} work items "
                f"along {'xyz'[axis]}",
                fitting(size, local, limits),
            )


def _too_large(problem: str, fits: tuple[int, ...]) -> RangeError:
    return RangeError(
        problem,
        advice=f"`{spelled(fits)}` fits; without a local size one that suits the device is chosen",
    )


def _counted(local: tuple[int, ...]) -> str:
    return _times(local) if len(local) == 1 else f"{_times(local)} = {math.prod(local)}"


def _times(local: tuple[int, ...]) -> str:
    return " × ".join(str(n) for n in local)

"""How many work items a launch has, and in what groups."""

import math
from typing import cast

from trilby.arguments import brief, whole_number
from trilby.data.dtypes import I32, I64
from trilby.dataclass import dataclass
from trilby.errors import RangeError

MAX_DIMENSIONS = 3


@dataclass(frozen=True, slots=True)
class NDRange:
    """A range of one to three dimensions; the first entry is `kc.x`.

    `NDRange((1024, 768), local=(16, 16))` asks for groups of 16 by 16 work items. Without
    `local` the device's preference decides.
    """

    size: tuple[int, ...]
    local: tuple[int, ...] | None = None

    def __init__(
        self, size: int | tuple[int, ...], local: int | tuple[int, ...] | None = None
    ) -> None:
        object.__setattr__(self, "size", _entries(size, "a range", lowest=0))
        sized = None if local is None else _entries(local, "a local size", lowest=1)
        if sized is not None and len(sized) != len(self.size):
            raise RangeError(
                f"local size {sized} has {len(sized)} dimensions, the range {self.size} has "
                f"{len(self.size)}",
                advice="give one local size for each dimension of the range",
            )
        object.__setattr__(self, "local", sized)
        if math.prod(self.size) > I64.highest:
            shown = " × ".join(map(str, self.size))
            raise RangeError(
                f"a range of {shown} has more than {I64.highest} work items",
                advice="launch one part after the other",
            )

    @property
    def items(self) -> int:
        """The number of work items."""
        x, y, z = self.padded
        return x * y * z

    @property
    def padded(self) -> tuple[int, int, int]:
        """The size with ones for the dimensions that are not there."""
        x, y, z = (*self.size, 1, 1)[:MAX_DIMENSIONS]
        return x, y, z


def as_range(size: object) -> NDRange:
    """Read what a user gave for a range: an int, a tuple of ints, or an `NDRange`."""
    return size if isinstance(size, NDRange) else NDRange(size)  # pyright: ignore[reportArgumentType] -- checked by NDRange itself


def dividing(size: tuple[int, ...], longest: tuple[int, ...], items: int) -> tuple[int, ...]:
    """The largest group up to `longest` along each axis that fills a range exactly.

    It has no more than `items` work items: `dividing((1000,), (256,), 4096)` is `(250,)`.
    """
    local = [_divisor(n, most) for n, most in zip(size, longest, strict=True)]
    while math.prod(local) > items:
        axis = local.index(max(local))
        local[axis] = _divisor(size[axis], local[axis] - 1)
    return tuple(local)


def spelled(local: tuple[int, ...]) -> str:
    """A local size as it is written in a program: `local=64`, `local=(16, 16)`."""
    return f"local={local[0] if len(local) == 1 else local}"


def _divisor(n: int, most: int) -> int:
    """The largest number up to `most` that divides `n`."""
    return next(size for size in range(min(n, most), 0, -1) if n % size == 0)


def _entries(size: object, what: str, *, lowest: int) -> tuple[int, ...]:
    entries = cast("tuple[object, ...]", size) if isinstance(size, tuple) else (size,)
    if not 1 <= len(entries) <= MAX_DIMENSIONS:
        raise RangeError(
            f"{what} has {len(entries)} dimensions", advice="use one, two or three integers"
        )
    return tuple(_entry(entry, what, lowest) for entry in entries)


def _entry(entry: object, what: str, lowest: int) -> int:
    number = whole_number(entry)
    if number is None:
        raise RangeError(
            f"{what} is made of integers, and {brief(entry)} is {_kind(entry)}",
            advice=_range_advice(entry),
        )
    if number < lowest:
        raise RangeError(f"{what} cannot be {brief(number)}", advice=f"the smallest is {lowest}")
    if number > I32.highest:
        raise RangeError(
            f"{what} cannot be {brief(number)}: an index counts to {I32.highest}",
            advice="use a second dimension, or several launches",
        )
    return number


def _kind(entry: object) -> str:
    return f"the class {entry.__name__}" if isinstance(entry, type) else type(entry).__name__


def _range_advice(entry: object) -> str:
    """How to say what a user probably meant."""
    if isinstance(entry, list) or getattr(entry, "ndim", 0):
        return "unpack it: `tuple(size)` is a range of as many dimensions, `len(a)` one of one"
    return "use an int, a tuple of up to three ints, or tb.NDRange; `n // 2` instead of `n / 2`"

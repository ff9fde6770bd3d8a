"""What a dispatch was given, to know one again that is given the same."""

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from trilby.analysis.footprint import LaunchNumbers
from trilby.backend.base import Scalar
from trilby.data.dtypes import ScalarType
from trilby.data.ndrange import NDRange
from trilby.data.schema import sizes_of
from trilby.dataclass import dataclass
from trilby.reflect.kernels import Reflected
from trilby.reflect.signature import Parameter
from trilby.runtime.binding import Bound, Numbers, as_number
from trilby.runtime.compile import AnalysedKernel


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """The arguments of a dispatch, by their positions behind the kernel context.

    `changing` are the reflected functions with constants that may be other ones by now, `slots`
    says where the number of each parameter stands among the arguments of the launch.
    """

    changing: tuple[Reflected, ...]
    buffers: tuple[tuple[int, "weakref.ref[Any]"], ...]
    numbers: list[tuple[int, object]]
    slots: dict[int, int]

    @property
    def positions(self) -> tuple[int, ...]:
        """Where the buffers stand."""
        return tuple(position for position, _ in self.buffers)

    @property
    def is_alive(self) -> bool:
        """Whether the buffers are still there."""
        return all(buffer() is not None for _, buffer in self.buffers)

    def is_same(self, args: Sequence[Any]) -> bool:
        """Whether others are the same buffers, and all constants are what they were."""
        for position, buffer in self.buffers:
            given = args[position]
            if given is not buffer() or given.segment.released:
                return False
        return all(reflected.is_current() for reflected in self.changing)

    def changed(self, args: Sequence[object]) -> list[tuple[int, int]]:
        """Which numbers may be other ones: the entries of `numbers`, and their positions."""
        return [
            (entry, position)
            for entry, (position, number) in enumerate(self.numbers)
            if not _are_same(number, args[position])
        ]

    def identities(self, args: Sequence[object]) -> list[int]:
        """What tells the buffers of a dispatch from others, as long as they live."""
        return [id(args[position]) for position, _ in self.buffers]


def given_by(
    analysed: AnalysedKernel, args: Sequence[Any], bound: Bound, lost: Callable[[object], None]
) -> Given | None:
    """What is remembered of a dispatch; `lost` hears of buffers that are collected.

    None where that is not enough: a struct by value may change without becoming another object.
    """
    params = analysed.signature.params[1:]
    scalars = [n for n, param in enumerate(params) if isinstance(param.type, ScalarType)]
    shaped = [n for n, numbers in enumerate(bound.numbers) if numbers is not None]
    buffers = [n for n in shaped if n not in scalars]
    if len(scalars) + len(buffers) != len(params):
        return None
    return Given(
        tuple(part for part in analysed.reflected if part.constants),
        tuple((position, weakref.ref(args[position], lost)) for position in buffers),
        [(position, args[position]) for position in scalars],
        _slots(params),
    )


def replaceable(analysed: AnalysedKernel, position: int, given: object) -> Scalar | None:
    """Another number for a launch; None where what the launch touches depends on it."""
    parameter = analysed.signature.params[position + 1]
    kind = parameter.type
    if position in analysed.footprint.relevant or not isinstance(kind, ScalarType):
        return None
    return Scalar(kind, as_number(analysed.kernel, parameter, kind, given))


def numbers_of(size: NDRange, bound: Bound) -> LaunchNumbers:
    """What the places that a launch touches depend on."""
    local = None
    if size.local is not None:
        x, y, z = (*size.local, 1, 1)[:3]
        local = x, y, z
    return LaunchNumbers(size.padded, local, bound.numbers)


def numbers_key(analysed: AnalysedKernel, launch: LaunchNumbers) -> tuple[object, ...]:
    """All that decides what a launch touches, as something to look up."""
    deciding = _deciding(analysed, launch.arguments)
    return analysed.footprint, launch.size, launch.local, *deciding


def is_plain(size: object) -> bool:
    """True for a range that equals no other that would be refused, as `8.0` equals `8`."""
    if isinstance(size, tuple):
        return all(type(entry) is int for entry in cast("tuple[object, ...]", size))
    return type(size) is int or isinstance(size, NDRange)


def _are_same(number: object, other: object) -> bool:
    """Whether two are surely the same for a kernel: 0.0 and -0.0 are equal, and are not."""
    return other is number or (type(number) is type(other) is int and number == other)


def _slots(params: Sequence[Parameter]) -> dict[int, int]:
    """Where the number of each parameter stands among the arguments of the launch."""
    found: dict[int, int] = {}
    place = 0
    for number, param in enumerate(params):
        found[number] = place
        place += 1 + len(sizes_of(param.type))
    return found


def _deciding(analysed: AnalysedKernel, numbers: Sequence[Numbers]) -> Iterator[object]:
    """What of the numbers of a launch decides what it touches, as something to look up."""
    relevant = analysed.footprint.relevant
    for place, number in enumerate(numbers):
        if isinstance(number, Mapping):
            yield tuple(number.values())
        elif isinstance(number, tuple):
            yield number
        elif place in relevant:
            yield repr(number)  # 0.0 and -0.0 are not the same

"""Prepared launches: a dispatch that was checked, whose kernel and buffers are on the device.

The first dispatch of a kernel, the thousandth one of a loop and many passes all submit a prepared
launch. What differs is how much has to be looked at before.
"""

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from trilby.analysis.footprint import LaunchNumbers
from trilby.analysis.pass_footprints import PassFootprints
from trilby.backend.base import (
    Argument,
    Backend,
    Executable,
    Memory,
    Prepared,
    Queue,
    Scalar,
    Ticket,
)
from trilby.data.dtypes import ScalarType
from trilby.data.ndrange import NDRange
from trilby.data.segment import Segment
from trilby.data.touched import Touched
from trilby.dataclass import dataclass
from trilby.errors import ReentryError, TrilbyError
from trilby.options import Transfers
from trilby.reflect.kernels import Reflected
from trilby.runtime.binding import Bound, Numbers, as_number
from trilby.runtime.callers import Caller
from trilby.runtime.compile import AnalysedKernel
from trilby.runtime.content import Content, Replica, has_failed
from trilby.runtime.launch_buffers import LaunchBuffer, Use, Writer
from trilby.runtime.profiles import PROFILES, profiles_of

_MOST_CHECKS = 64

LASTING = frozenset({Transfers.AUTO, Transfers.PLANNED})
"""The strategies that copy nothing around a launch whose data is in place."""


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """A dispatch that was checked and has no place on the device yet.

    `double` over 1,024 work items, with two `uses`: of `a` it reads all, of `b` it overwrites all.
    """

    kernel: str
    executable: Executable
    size: NDRange
    arguments_with: Callable[[Sequence[Memory]], Sequence[Argument]]
    buffers: Sequence[Segment]
    uses: Sequence[Use]
    caller: Caller
    transfers: Transfers
    varies: bool = False
    """True where the next launch from the same line may need other parts of its buffers."""
    explicit: bool = False
    """True where nothing is to move by itself: what the kernel lacks is an error."""
    passes: PassFootprints | None = None
    """What each pass touches, where passes touch different bytes."""
    arguments: "DispatchArguments | None" = None
    """What recognises an equal dispatch, where one may submit the same launch."""


@dataclass(slots=True, eq=False)
class DispatchArguments:
    """What a dispatch was given, to recognise an equal one: `double` over 1,024 with `a` and `b`.

    Buffers are held weakly. `slots` says where the number of each parameter stands among the
    arguments of the launch. `constants` are functions whose constants may be other ones by now.
    """

    analysed: AnalysedKernel
    size: object
    count: int
    buffers: "tuple[tuple[int, weakref.ref[Any]], ...]"
    numbers: list[tuple[int, object]]
    slots: Sequence[int]
    constants: tuple[Reflected, ...]

    @property
    def is_alive(self) -> bool:
        """Whether the buffers are still there."""
        return all(buffer() is not None for _, buffer in self.buffers)

    @property
    def are_buffers_alone(self) -> bool:
        """Whether a dispatch with the same buffers is the same in all."""
        return not self.numbers and not self.constants

    def matches(self, args: Sequence[Any]) -> bool:
        """Whether others are the same buffers, and all constants are what they were."""
        if len(args) != self.count:
            return False
        for position, buffer in self.buffers:
            if buffer() is not args[position] or args[position].segment.released:
                return False
        return all(reflected.is_current() for reflected in self.constants)

    def replace_numbers(self, args: Sequence[Any], prepared: Prepared) -> bool:
        """Put other numbers into a launch; false where what it touches depends on one of them."""
        changed = [
            (entry, position, args[position])
            for entry, (position, number) in enumerate(self.numbers)
            if not _are_same(number, args[position])
        ]
        scalars = [replaceable(self.analysed, position, value) for _, position, value in changed]
        for scalar in scalars:
            if scalar is None:
                return False
        for (entry, position, value), scalar in zip(changed, scalars, strict=True):
            self.numbers[entry] = position, _UNKNOWN  # if Ctrl-C comes before the end of this
            prepared.replace(self.slots[position], cast("Scalar", scalar))
            self.numbers[entry] = position, value
        return True


@dataclass(slots=True, eq=False)
class PreparedLaunch:
    """A launch with all that it takes to submit it, any number of times.

    `double` over 1,024 work items, with `a` and `b` on the device: `buffers` are these two,
    `prepared` is the backend's object, `versions` are those of both contents when all data was in
    place. While they are the same, nothing has to be copied, or noted but the ticket: at `written`,
    the replica of `b`, and at `only_read`, that of `a`. `places` says
    which of the buffers each buffer argument is. `is_plain` is true where an equal dispatch has
    only the same buffers. `portion` is how many passes take the time of one portion, and
    `is_one_of_many` is true while these are run: for a profile they are one launch.
    """

    kernel: str
    executable: Executable
    prepared: Prepared
    backend: Backend
    queue: Queue
    buffers: tuple[LaunchBuffer, ...]
    places: tuple[int, ...]
    origin: Writer
    transfers: Transfers
    varies: bool
    explicit: bool
    passes: PassFootprints | None
    versions: tuple[tuple[Content, int], ...] = ()
    written: tuple[Replica, ...] = ()
    only_read: tuple[Replica, ...] = ()
    arguments: DispatchArguments | None = None
    asserts: bool = False
    is_plain: bool = False
    is_one_of_many: bool = False
    portion: int = 1

    @property
    def caller(self) -> Caller:
        """The dispatch in the user's program."""
        return self.origin.caller

    @property
    def is_alive(self) -> bool:
        """Whether an equal dispatch may come: the user still has all buffers."""
        return self.arguments is not None and self.arguments.is_alive

    @property
    def is_there(self) -> bool:
        """Whether all buffers still have their places on the device."""
        return all(one.is_there for one in self.buffers)

    @property
    def lasts(self) -> bool:
        """Whether an equal dispatch may submit it again."""
        if self.transfers not in LASTING or self.executable.prints:
            return False
        if self.asserts and not self.buffers:
            return False
        return not any(one.seen for one in self.buffers)

    @property
    def is_current(self) -> bool:
        """Whether no content has changed since all data was in place."""
        for content, version in self.versions:  # noqa: SIM110 -- a hot loop spends its time here
            if content.version != version:
                return False
        return True

    def note_current(self) -> None:
        """The content of its buffers is as a run leaves it, if nobody else changes it unnoticed."""
        others = any(one.has_other_users for one in self.buffers)
        self.versions = tuple(
            [(one.content, -1 if others else one.content.version) for one in self.buffers]
        )
        self.written = tuple([one.replica for one in self.buffers if one.touched.writes])
        self.only_read = tuple([one.replica for one in self.buffers if not one.touched.writes])

    def come_from(self, caller: Caller) -> None:
        """It is dispatched from another line than the last time."""
        self.origin = Writer(self.kernel, caller)

    def before(self) -> list[Ticket]:
        """The commands of other queues that must be done before it may run."""
        queue = self.queue
        return [one for b in self.buffers for one in b.before() if one.queue is not queue]

    def touched(self, first_pass: int, times: int) -> list[Touched]:
        """What some passes do to each of the buffers."""
        if self.passes is None:
            return [one.touched for one in self.buffers]
        return self._placed(self.passes.over(range(first_pass, first_pass + times)))

    def touch_from(self, first_pass: int, passes: int) -> None:
        """Count as touched only what is touched by the passes that are left."""
        for buffer, touched in zip(
            self.buffers, self.touched(first_pass, passes - first_pass), strict=True
        ):
            buffer.touched = touched

    def _placed(self, arguments: Sequence[Touched]) -> list[Touched]:
        found = [Touched.NOTHING] * len(self.buffers)
        for place, touched in zip(self.places, arguments, strict=True):
            found[place] |= touched.shifted(self.buffers[place].replica.address)
        return found

    def note_latest(self) -> None:
        """Let the replicas know of the last run; their content is as the run before left it."""
        ticket = Ticket(self.queue, self.queue.submitted, self.origin)
        for replica in self.written:
            replica.writers, replica.readers = (ticket,), ()
        for replica in self.only_read:
            replica.read_by(ticket)
        if self.asserts:
            self.note_check(ticket)
        if PROFILES:
            self.tell_profiles(ticket)

    def tell_profiles(self, ticket: Ticket) -> None:
        """Let the profiles that are open know of a run; many passes are told of at their end."""
        if not self.is_one_of_many:
            for book in profiles_of(self.backend):
                book.launched(self.origin, ticket, [one.replica for one in self.buffers])

    def tell_refused(self, error: TrilbyError) -> None:
        """The device did not take it: for a profile it is a launch that failed."""
        if not isinstance(error, ReentryError):  # of a signal handler
            for book in profiles_of(self.backend):
                book.launched(self.origin, None)

    def note_check(self, ticket: Ticket) -> None:
        """Whoever waits for one of the buffers is to hear whether an `assert` failed."""
        for one in self.buffers:
            checks = one.replica.checks
            if len(checks) >= _MOST_CHECKS:
                checks = tuple(old for old in checks if not old.done or has_failed(old))
            one.replica.checks = (*checks, ticket)


def prepared_launch(
    request: LaunchRequest, prepared: Prepared, backend: Backend, buffers: Sequence[LaunchBuffer]
) -> PreparedLaunch:
    """A launch whose buffers have their places on the device."""
    where = {(b.replica.address, b.replica.nbytes): n for n, b in enumerate(buffers)}
    return PreparedLaunch(
        request.kernel,
        request.executable,
        prepared,
        backend,
        backend.compute,
        tuple(buffers),
        tuple(where[use.segment.address, use.segment.nbytes] for use in request.uses),
        Writer(request.kernel, request.caller),
        request.transfers,
        request.varies,
        request.explicit,
        request.passes,
        tuple((one.content, -1) for one in buffers),
        arguments=request.arguments,
        asserts=request.executable.asserts,
    )


# ---------------------------------------------------------------------------------------- arguments

_UNKNOWN = object()
"""A number that is none of those that are given."""


def dispatch_arguments(
    analysed: AnalysedKernel,
    size: object,
    args: Sequence[Any],
    bound: Bound,
    lost: Callable[[object], None],
) -> DispatchArguments | None:
    """What is remembered of a dispatch; `lost` is called for buffers that are collected.

    None where that is not enough: a struct by value may change without becoming another object.
    """
    params = analysed.signature.params[1:]
    scalars = [n for n, param in enumerate(params) if isinstance(param.type, ScalarType)]
    shaped = [n for n, numbers in enumerate(bound.numbers) if numbers is not None]
    buffers = [n for n in shaped if n not in scalars]
    if len(scalars) + len(buffers) != len(params):
        return None
    return DispatchArguments(
        analysed,
        size,
        len(args),
        tuple((position, weakref.ref(args[position], lost)) for position in buffers),
        [(position, args[position]) for position in scalars],
        bound.starts,
        tuple(part for part in analysed.reflected if part.constants),
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

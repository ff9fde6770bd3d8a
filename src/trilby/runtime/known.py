"""A launch that may be run again, as long as nothing about it has changed."""

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from trilby.analysis.footprint import LaunchNumbers
from trilby.backend.base import Event, Repeated, Scalar
from trilby.data.dtypes import ScalarType
from trilby.data.ndrange import NDRange
from trilby.data.schema import sizes_of
from trilby.dataclass import dataclass
from trilby.errors import DeviceError
from trilby.mending import mend
from trilby.options import Transfers
from trilby.reflect.functions import Kernel
from trilby.reflect.kernels import Reflected
from trilby.reflect.signature import Parameter
from trilby.runtime.binding import Bound, Numbers, as_number
from trilby.runtime.callers import Caller
from trilby.runtime.compile import AnalysedKernel
from trilby.runtime.content import CLOCK, Replica
from trilby.runtime.held import HeldBuffer, KernelWrite, versions_of

if TYPE_CHECKING:
    from trilby.runtime.profiled_runs import ProfiledRuns


# -------------------------------------------------------------------------------------------- order
# What a launch that is repeated has to wait for, and who has to wait for it.
#
# Replicas name such a launch itself as work under way, and mean its last run. So in a hot loop
# they look the same in every turn, and what follows from that is worked out once.

UnderWay: TypeAlias = tuple[Event | Repeated, ...]
State: TypeAlias = tuple[tuple[Replica, UnderWay, UnderWay], ...]
"""Replicas, and the work under way that writes and that reads them."""


class LaunchOrder:
    """The place of one launch among others that use the same replicas.

    `found` is how all its replicas were before the last run, and `before` the launch just
    before it, if that is known and there. `after` is what had to be waited for, and `left` is
    how the run left those replicas that it changed.
    """

    __slots__ = (
        "__weakref__",
        "_as_writer",
        "_read",
        "_waited",
        "_written",
        "after",
        "before",
        "found",
        "launch",
        "left",
    )

    def __init__(
        self, launch: Repeated, read: Sequence[Replica], written: Sequence[Replica]
    ) -> None:
        self.launch = launch
        self._read = read
        self._written = written
        self._as_writer = (launch,)
        self._waited: UnderWay = ()
        self.found: State = ()
        self.before = _nothing
        self.after: UnderWay = ()
        self.left: State = ()

    @property
    def replicas(self) -> tuple[Replica, ...]:
        """What the launch uses."""
        return (*self._read, *self._written)

    def run_anew(self, before: "LaunchOrder | None") -> None:
        """Work out what to wait for, run the launch, and let the replicas know."""
        found = _state(self.replicas)
        work = self._work_under_way()
        after = work
        if before is not None and before.covers(work):
            after = (before.launch,)
        self.found, self.before, self.after, self._waited = found, _nothing, after, work
        self._run(self._note_anew)
        now = _state(self.replicas)
        self.left = tuple(one for one, old in zip(now, found, strict=True) if not _same(one, old))
        self.before = _nothing if before is None else weakref.ref(before)

    def run_again(self, before: "LaunchOrder | None") -> bool:
        """Run it as the last time if all is as it was then, and say whether that is so."""
        if before is None or before is not self.before():
            return False
        for replica, writing, reading in self.found:
            if replica.writing is not writing or replica.reading is not reading:
                return False
        self._run(self.note_left)
        return True

    def _run(self, note: Callable[[], None]) -> None:
        """Run the launch and note it; where that is interrupted, others wait for everything."""
        try:
            self.launch.run(self.after)
            note()
        except DeviceError:
            raise
        except BaseException:
            mend(self.note_interrupt)
            raise

    def note_interrupt(self) -> None:
        """It was run or was not: let others wait for that, and for all that came before."""
        for replica, writing, reading in self.found:
            replica.writing = tuple(dict.fromkeys((*writing, *reading, self.launch)))

    def _note_anew(self) -> None:
        for replica in self._written:
            replica.writing, replica.reading = self._as_writer, ()
        for replica in self._read:
            self._note_reader(replica)

    def note_left(self) -> None:
        """Let the replicas know of a run like the last one."""
        for replica, writing, reading in self.left:
            replica.noted_writing, replica.noted_reading = writing, reading

    def _note_reader(self, replica: Replica) -> None:
        """Add the launch to those that read a replica, with the same result as the last time."""
        if self.launch not in replica.reading:
            replica.read_by(self.launch)
            for one, _, reading in self.left:
                if one is replica and reading == replica.reading:
                    replica.reading = reading

    def _work_under_way(self) -> UnderWay:
        """All that must be done before the launch may run, each once."""
        found: dict[Event | Repeated, None] = {}
        for replica in self._read:
            found |= dict.fromkeys(replica.writing)
        for replica in self._written:
            found |= dict.fromkeys((*replica.writing, *replica.reading))
        return tuple(found)

    def covers(self, work: UnderWay) -> bool:
        """Whether some work is done when the last run of this launch is, and not before."""
        return self.launch in work and {self.launch, *self._waited}.issuperset(work)


def _nothing() -> LaunchOrder | None:
    """What stands for a launch that is not known."""
    return None


def _state(replicas: Sequence[Replica]) -> State:
    return tuple((one, one.writing, one.reading) for one in replicas)


def _same(now: tuple[Replica, UnderWay, UnderWay], old: tuple[Replica, UnderWay, UnderWay]) -> bool:
    return now[1] is old[1] and now[2] is old[2]


# -------------------------------------------------------------------------------------------- given
# What a dispatch was given, to know one again that is given the same.


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


# -------------------------------------------------------------------------------------------- known


@dataclass(slots=True, eq=False)
class CachedLaunch:
    """A launch that may be run again: what it was given, and where its numbers go.

    `held` are its buffers on the device, `versions` those of their content when all was in place.
    `changing` are the reflected functions with constants that may be other ones by now.
    `moment` is the last one at which `versions` were seen to be the same.
    `follower` is the launch that came after it the last time: loops repeat themselves.
    `repeated` is the moment of its last run that left all as the run before had, and `steady` that
    of the second of these: if the clock still shows it, every run of the loop does so.
    `profiled` are its runs for those who profile; `profiled_for` changes with these.
    """

    kernel: Kernel[...]
    size: object
    analysed: AnalysedKernel
    changing: tuple[Reflected, ...]
    transfers: Transfers
    writer: KernelWrite
    code: CodeType
    instruction: int
    count: int
    buffers: tuple[tuple[int, "weakref.ref[Any]"], ...]
    numbers: list[tuple[int, object]]
    slots: dict[int, int]
    unsure: bool
    held: tuple[HeldBuffer, ...]
    versions: tuple[int, ...]
    order: LaunchOrder
    launch: Repeated
    profiled: "ProfiledRuns | None" = None
    profiled_for: int = -1
    moment: int = -1
    repeated: int = -1
    steady: int = -1
    follower: "CachedLaunch | None" = None

    def is_current(self) -> bool:
        """Whether the content of its buffers is where it was; then it is up to this moment."""
        for held, version in zip(self.held, self.versions, strict=True):
            if held.content.version != version:
                return False
        self.moment = CLOCK.now
        return True

    def note_current(self) -> None:
        """The content of its buffers is where it has to be."""
        self.versions = versions_of(self.held)
        self.moment = CLOCK.now

    @property
    def is_alive(self) -> bool:
        """Whether its buffers are still there."""
        return all(buffer() is not None for _, buffer in self.buffers)

    def is_steady(self) -> bool:
        """Whether it may be run again without a look at anything else."""
        if self.steady != CLOCK.now or self.launch.same is None:
            return False
        return all(reflected.is_current() for reflected in self.changing)

    def submit(self) -> None:
        """Give the device what is held back, this launch as the last."""
        try:
            self.launch.submit()
        except BaseException:
            mend(self.order.note_interrupt)
            raise

    def note_round(self) -> None:
        """Let the replicas know of a turn of the steady loop that ends with this launch."""
        one = self
        while True:
            one = cast("CachedLaunch", one.follower)
            one.order.note_left()
            if one is self:
                return

    def come_from(self, caller: Caller) -> None:
        """It is dispatched from another line than the last time."""
        self.instruction = -1  # none, if Ctrl-C comes before the end of this
        self.writer = KernelWrite(self.writer.kernel, caller)
        self.launch.origin = self.writer
        if self.profiled is not None:
            self.profiled.come_from(self.launch, self.writer)
        self.code, self.instruction = caller.code, caller.instruction

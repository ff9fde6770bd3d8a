"""Kernels that were built by OpenCL, and launches that are prepared: arguments are set once.

A kernel object of OpenCL carries the arguments of its launches, and making one takes as long
as a hundred launches. So every prepared launch has one to itself and, when it is dropped,
leaves it to the next.
"""

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cache, partial
from struct import Struct
from typing import Protocol, TypeAlias, cast

import numpy as np
import pyopencl as cl
from pyopencl._cl import _Program  # pyright: ignore[reportPrivateUsage]

from trilby.backend.base import Argument, Event, Memory, Scalar, StructArgument
from trilby.backend.by_value import type_by_value, value_by_value
from trilby.backend.group_size import GroupLimits, group_size, rounded_up
from trilby.backend.opencl_events import OpenCLEvent, Task
from trilby.data.dtypes import ScalarType
from trilby.data.ndrange import NDRange
from trilby.dataclass import dataclass
from trilby.errors import DeviceError
from trilby.source import Location

RANGE_ARGUMENTS = 3
"""Behind the arguments of a kernel comes the range, `int max_x, int max_y, int max_z`."""

_Enqueue: TypeAlias = Callable[[list[cl.Event] | None], cl.Event]

_RANGE_NUMBER = Struct("=i")


class MemoryOwner(Protocol):
    """Knows the memory that its launches may use; `moment` changes when some of it is freed."""

    moment: int

    def check_open(self) -> None:
        """Raise where it was closed."""
        ...

    def buffer_of(self, memory: Memory) -> cl.Buffer:
        """The buffer of OpenCL; raises where it is freed or another's."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class OpenCLKernel:
    """A built kernel; `spare` are kernel objects that no prepared launch uses.

    `seconds` is what launches were seen to take, by their range.

    Behind its arguments and its range, one that `takes_pass` takes the number of its pass, and
    one with `asserts` takes a report of what failed as its last argument.
    """

    program: _Program
    entry: str
    source: str
    limits: GroupLimits
    task: Task
    parameters: int
    asserts: tuple[tuple[str, Location], ...] = ()
    prints: bool = False
    takes_pass: bool = False
    spare: list[cl.Kernel] = field(default_factory=list[cl.Kernel])
    seconds: dict[tuple[int, ...], float] = field(default_factory=dict[tuple[int, ...], float])

    @property
    def debugs(self) -> bool:
        """Whether somebody is to see at once what it reports."""
        return bool(self.asserts) or self.prints

    def take_object(self) -> cl.Kernel:
        """A kernel object with arguments that are to be set anew, all of them."""
        try:
            return self.spare.pop()
        except IndexError:
            return cl.Kernel(self.program, self.entry)

    def check_count(self, given: int) -> None:
        """Raise where arguments are missing: those of the launch before would be used."""
        expected = self.parameters - RANGE_ARGUMENTS - self.takes_pass - bool(self.asserts)
        if given != expected:
            raise DeviceError(
                f"`{self.entry}` takes {expected} arguments, and {given} are given",
                advice="this is a fault of Trilby: please report it with the program",
            )


class OpenCLPrepared:
    """A launch whose arguments are set.

    It has a kernel object of its own. `checked` is the number of the last moment at which
    none of its memory was freed.
    """

    __slots__ = (
        "_latest",
        "checked",
        "debugs",
        "enqueue",
        "executable",
        "kernel",
        "local",
        "memories",
        "owner",
        "queue",
        "ran",
        "set_pass",
        "task",
        "whole",
    )

    def __init__(
        self,
        owner: MemoryOwner,
        queue: cl.CommandQueue,
        executable: OpenCLKernel,
        size: NDRange,
        arguments: Sequence[Argument],
    ) -> None:
        executable.check_count(len(arguments))
        self.owner = owner
        self.queue = queue
        self.executable = executable
        self.task = executable.task
        self.debugs = executable.debugs
        self.memories: dict[int, Memory] = {}
        self.checked = -1
        self.ran: cl.Event | None = None
        self._latest: Event | None = None
        self.local = group_size(size, executable.limits)
        self.whole = rounded_up(size, self.local)
        self.kernel = executable.take_object()
        self.enqueue: _Enqueue = partial(
            cl.enqueue_nd_range_kernel, queue, self.kernel, self.whole, self.local, None
        )
        for position, argument in enumerate(arguments):
            self.replace(position, argument)
        for position, extent in enumerate(size.padded, len(arguments)):
            _set_bytes(self.kernel, position, _RANGE_NUMBER.pack(extent))
        self.set_pass: Callable[[np.int32], None] = _nothing
        if executable.takes_pass:
            place = len(arguments) + RANGE_ARGUMENTS
            self.set_pass = partial(_bytes_setter(self.kernel), place)
            self.set_pass(np.int32(0))

    @property
    def latest(self) -> Event | None:
        """The last run that the driver has; its event may not be there yet, after Ctrl-C."""
        if self._latest is None and self.ran is not None:
            return OpenCLEvent(self.ran, self.task)
        return self._latest

    @latest.setter
    def latest(self, event: Event | None) -> None:
        self._latest = event
        if event is None:
            self.ran = None

    def run_after(self, wait_list: list[cl.Event] | None) -> cl.Event:
        """Give the driver a run. `for` keeps its event in the same step, see `opencl_bursts`."""
        for self.ran in map(self.enqueue, (wait_list,)):  # noqa: B020 -- see above
            break
        return cast("cl.Event", self.ran)

    @property
    def seconds(self) -> float:
        """What launches of this kernel over this range were seen to take."""
        return self.executable.seconds.get(self.whole, float("inf"))

    @seconds.setter
    def seconds(self, took: float) -> None:
        self.executable.seconds[self.whole] = took

    def replace(self, position: int, argument: Argument) -> None:
        """Set another argument for the runs to come; OpenCL has read those of the others."""
        try:
            if isinstance(argument, Scalar):
                _set_bytes(self.kernel, position, _packed(argument))
            elif isinstance(argument, StructArgument):
                _set_bytes(self.kernel, position, argument.content)
            else:
                self.kernel.set_arg(position, self.owner.buffer_of(argument))
                self.memories[position] = argument
        except cl.Error as error:
            raise self.task.failed(error) from error

    def set_report(self, report: cl.Buffer) -> None:
        """Set where assertions leave what failed: behind all other arguments."""
        self.kernel.set_arg(self.executable.parameters - 1, report)

    def check(self) -> None:
        """Raise if memory was freed: OpenCL does not keep it for a kernel object."""
        moment = self.owner.moment
        if self.checked == moment:
            return
        self.owner.check_open()
        for memory in self.memories.values():
            self.owner.buffer_of(memory)
        self.checked = moment

    def __del__(self) -> None:
        if hasattr(self, "kernel"):
            self.executable.spare.append(self.kernel)


def _packed(scalar: Scalar) -> bytes:
    return _packer(scalar.type).pack(value_by_value(scalar))


@cache
def _packer(kind: ScalarType) -> Struct:
    return Struct(type_by_value(kind).char)


def _set_bytes(kernel: cl.Kernel, position: int, content: bytes) -> None:
    _bytes_setter(kernel)(position, content)


def _bytes_setter(kernel: cl.Kernel) -> Callable[[int, bytes | np.int32], None]:
    # `set_arg` takes 9 µs to find out that these are bytes, and this 0.2.
    setter: Callable[[int, bytes | np.int32], None] = kernel._set_arg_buf  # noqa: SLF001  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType] -- not in its stubs
    return setter  # pyright: ignore[reportUnknownVariableType] -- as above


def _nothing(_number: np.int32) -> None:
    """A kernel that does not read the number of its pass is not told."""

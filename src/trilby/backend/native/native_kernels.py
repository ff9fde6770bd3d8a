"""Kernels that LLVM compiled, and launches that are prepared: records with everything in them."""

from array import array
from collections.abc import Sequence
from functools import cache
from struct import Struct
from typing import Protocol

from trilby.backend.base import (
    Argument,
    Event,
    Memory,
    Scalar,
    StructArgument,
    type_by_value,
    value_by_value,
)
from trilby.backend.group_size import rounded_up
from trilby.backend.native.engine import Engine
from trilby.backend.native.host_processor import native_group
from trilby.backend.native.printing import Printed
from trilby.backend.native.queue_code import (
    ARGUMENTS,
    COST,
    SEQUENCE,
    VARIES,
    WORD,
    Record,
    address_of_record,
    copied,
    make_record,
)
from trilby.backend.native.toolchain import Code
from trilby.backend.work_memory import NO_ARRAYS, WorkMemory
from trilby.data.dtypes import ScalarType
from trilby.data.ndrange import NDRange
from trilby.dataclass import dataclass
from trilby.errors import DeviceError
from trilby.source import Location

_MUCH = 1024
"""A number may grow so much in one step, or double, without being taken for another."""


class NativeMemoryOwner(Protocol):
    """Knows the memory that its launches may use; `moment` changes when some of it is freed."""

    moment: int
    engine: Engine

    def check_open(self) -> None:
        """Raise where it was closed."""
        ...

    def address_of(self, memory: Memory) -> int:
        """Where memory begins; raises where it is freed or another's."""
        ...


@dataclass(frozen=True, slots=True)
class ThreadMemory:
    """The bytes that one thread takes for a group, and for each vector of so many lanes in it."""

    lanes: int = 1
    group: int = 0
    vector: int = 0

    def needed(self, local: tuple[int, int, int]) -> int:
        """What it takes for a group of that size."""
        return self.group + -(-local[0] // self.lanes) * local[1] * local[2] * self.vector


@dataclass(frozen=True, slots=True, eq=False)
class NativeKernel:
    """A compiled kernel; `address` is that of its entry as long as `code` lives.

    `parameters` is the number of its arguments. `printed` is None where nothing is
    printed. `any_group` is true where work items may be put into any groups, whatever is asked for,
    and `varies` where data decides for how long it runs. `memory` is what a call takes, and
    `arrays` what the user's arrays in it are.
    """

    entry: str
    source: str
    code: Code
    address: int
    parameters: int
    asserts: tuple[tuple[str, Location], ...] = ()
    printed: Printed | None = None
    any_group: bool = False
    varies: bool = False
    memory: ThreadMemory = ThreadMemory()
    arrays: WorkMemory = NO_ARRAYS

    @property
    def debugs(self) -> bool:
        """Whether somebody is to see at once what it reports."""
        return bool(self.asserts) or self.printed is not None

    def check_count(self, given: int) -> None:
        """Raise where arguments are missing: the kernel would read what is behind them."""
        if given != self.parameters:
            raise DeviceError(
                f"`{self.entry}` takes {self.parameters} arguments, and {given} are given",
                advice="this is a fault of Trilby: please report it with the program",
            )


class NativePrepared:
    """A launch as a record. `checked` is the last moment at which none of its memory was freed.

    `_lasting` is all that the queue may need: first the record, then where its runs are counted.
    """

    __slots__ = (
        "_lasting",
        "_structs",
        "checked",
        "executable",
        "latest",
        "memories",
        "owner",
        "record",
    )

    def __init__(
        self,
        owner: NativeMemoryOwner,
        executable: NativeKernel,
        size: NDRange,
        arguments: Sequence[Argument],
    ) -> None:
        executable.check_count(len(arguments))
        self.owner = owner
        self.executable = executable
        self.memories: dict[int, Memory] = {}
        self._structs: dict[int, Record] = {}
        self.checked = -1
        self.latest: Event | None = None
        engine = owner.engine
        local = native_group(size, engine.host.threads)
        if executable.any_group and size.local is not None:
            local = native_group(NDRange(size.size), engine.host.threads)
        whole = rounded_up(size, local[: len(size.size)])
        groups = [n // group for n, group in zip((*whole, 1, 1)[:3], local, strict=True)]
        units = groups[0] * groups[1] * groups[2]
        prints = executable.printed.address if executable.printed else 0
        launch = (*size.padded, *local, *groups, 0, 0, prints)
        words = (0,) * len(arguments)
        self.record = make_record(engine.address, executable.address, units, words, launch=launch)
        self.record[VARIES] = executable.varies
        parts = (executable, self.memories, self._structs)
        self._lasting: list[object] = [self.record, None, *parts]
        engine.owned[id(self._lasting)] = self._lasting
        for position, argument in enumerate(arguments):
            self._set(position, argument)

    def replace(self, position: int, argument: Argument) -> None:
        """Set another argument for the runs to come; those under way keep their record."""
        engine = self.owner.engine
        engine.flush()
        sequence = self.record[SEQUENCE]
        if sequence > engine.state.completed:
            engine.keep(sequence, (self.record, dict(self._structs)))
            self.record = self._lasting[0] = copied(self.record)
        self._set(position, argument)

    def count_in(self, tallies: object) -> None:
        """Keep these as long as runs may be counted there; others until the last run is over."""
        self.owner.engine.keep(self.record[SEQUENCE], self._lasting[1])
        self._lasting[1] = tallies

    def _set(self, position: int, argument: Argument) -> None:
        if isinstance(argument, Scalar):
            word = _packed(argument)
            if word > 2 * self.record[ARGUMENTS + position] + _MUCH:
                # It may count turns: what a run took before says nothing about the next one.
                self.record[COST] = 0
        elif isinstance(argument, StructArgument):
            content = argument.content.ljust(-(-len(argument.content) // WORD) * WORD, b"\0")
            self._structs[position] = array("Q", content)
            word = address_of_record(self._structs[position])
        else:
            word = self.owner.address_of(argument)
            self.memories[position] = argument
            self.checked = -1
        self.record[ARGUMENTS + position] = word

    @property
    def things(self) -> object:
        """What has to live as long as it is run."""
        return self.executable, self.memories, dict(self._structs)

    def check(self) -> None:
        """Raise if memory was freed."""
        moment = self.owner.moment
        if self.checked == moment:
            return
        self.owner.check_open()
        for memory in self.memories.values():
            self.owner.address_of(memory)
        self.checked = moment

    def __del__(self) -> None:
        """Leave what the queue may still need to the engine, for good if Ctrl-C comes here."""
        lasting = getattr(self, "_lasting", None)
        if lasting is not None:
            engine = self.owner.engine
            engine.flush()
            engine.keep(self.record[SEQUENCE], lasting)
            engine.owned.pop(id(lasting), None)  # it is not there if Ctrl-C came in `__init__`


def _packed(scalar: Scalar) -> int:
    content = _packer(scalar.type).pack(value_by_value(scalar))
    return int.from_bytes(content, "little")


@cache
def _packer(kind: ScalarType) -> Struct:
    return Struct(type_by_value(kind).char)

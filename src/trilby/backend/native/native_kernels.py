"""Kernels that LLVM compiled, and launches that are prepared: records with everything in them."""

from array import array
from collections.abc import Sequence
from functools import cache
from struct import Struct

import numpy as np

from trilby.backend.base import (
    Argument,
    Memory,
    Scalar,
    StructArgument,
    Ticket,
)
from trilby.backend.failures import wrong_count
from trilby.backend.group_size import rounded_up
from trilby.backend.native.arena import Arena
from trilby.backend.native.engine import LaunchReport
from trilby.backend.native.host_processor import native_group
from trilby.backend.native.printing import Printed
from trilby.backend.native.queue_code import (
    ARGUMENTS,
    COST,
    PASS,
    REPORT,
    SEQUENCE,
    VARIES,
    WORD,
    Record,
    address_of_record,
    make_record,
)
from trilby.backend.native.toolchain import Code
from trilby.backend.work_memory import NO_ARRAYS, WorkMemory
from trilby.codegen.llvm.target import LlvmModule
from trilby.data.dtypes import ScalarType, type_by_value, value_by_value
from trilby.data.ndrange import NDRange
from trilby.data.segment import address_of
from trilby.dataclass import dataclass

_MUCH = 1024
"""A number may grow so much in one step, or double, without being taken for another."""


@dataclass(frozen=True, slots=True, eq=False)
class NativeKernel:
    """A compiled module, which can be called as long as `code` lives.

    `parameters` is the number of its arguments. `printed` is None where nothing is printed.
    `varies` is true where data decides for how long it runs. `arrays` are the user's arrays in it.
    """

    module: LlvmModule
    code: Code
    parameters: int
    printed: Printed | None = None
    varies: bool = False
    arrays: WorkMemory = NO_ARRAYS

    @property
    def source(self) -> str:
        """The generated code."""
        return self.module.text

    @property
    def asserts(self) -> bool:
        """Whether a launch may fail by itself."""
        return bool(self.module.asserts)

    @property
    def prints(self) -> bool:
        """Whether a launch writes lines."""
        return self.printed is not None

    def thread_bytes(self, local: tuple[int, int, int]) -> int:
        """What one thread takes for a group of that size."""
        module = self.module
        vectors = -(-local[0] // module.lanes) * local[1] * local[2]
        return module.group_bytes + vectors * module.vector_bytes


class NativePrepared:
    """A launch as a record. `checked` is the last moment at which none of its memory was freed.

    `_lasting` is all that the queue may need: first the record, then what the kernel uses.
    `_mark` are the runs before the last submission, its record, the number that the record had
    then, and its runs. The record has another number when the queue has it: so `begun` is exact.
    """

    __slots__ = (
        "_lasting",
        "_mark",
        "_reports",
        "_structs",
        "arena",
        "checked",
        "executable",
        "memories",
        "record",
    )

    def __init__(
        self,
        arena: Arena,
        executable: NativeKernel,
        size: NDRange,
        arguments: Sequence[Argument],
    ) -> None:
        module = executable.module
        if len(arguments) != executable.parameters:  # the kernel would read what is behind them
            raise wrong_count(module.entry, executable.parameters, len(arguments))
        self.arena = arena
        self.executable = executable
        self._reports = executable.asserts or executable.prints
        self.memories: dict[int, Memory] = {}
        self._structs: dict[int, Record] = {}
        self.checked = -1
        engine = arena.engine
        local = native_group(size, engine.host.threads)
        if module.any_group and size.local is not None:
            local = native_group(NDRange(size.size), engine.host.threads)
        whole = rounded_up(size, local[: len(size.size)])
        groups = [n // group for n, group in zip((*whole, 1, 1)[:3], local, strict=True)]
        units = groups[0] * groups[1] * groups[2]
        prints = executable.printed.address if executable.printed else 0
        launch = (*size.padded, *local, *groups, 0, 0, prints)
        words = (0,) * len(arguments)
        address = executable.code[module.entry]
        self.record = make_record(engine.address, address, units, words, launch=launch)
        self.record[VARIES] = executable.varies
        parts = (executable, self.memories, self._structs)
        self._mark = 0, self.record, 0, 0
        self._lasting: list[object] = [self.record, *parts]
        engine.owned[id(self._lasting)] = self._lasting
        for position, argument in enumerate(arguments):
            self._set(position, argument)

    @property
    def begun(self) -> int:
        """The runs that the queue has got."""
        before, record, number, times = self._mark
        return before if record[SEQUENCE] == number else before + times

    def submit(self, times: int = 1, first_pass: int = 0, after: Sequence[Ticket] = ()) -> Ticket:
        """Put the record into the queue, once for all passes."""
        if self.checked != self.arena.moment:
            self._check()
        engine, record = self.arena.engine, self.record
        for ticket in after:
            if ticket.queue is not engine:
                ticket.wait()
        if self._reports:
            return self._submit_reporting(times, first_pass)
        self._mark = self.begun, record, record[SEQUENCE], times
        return Ticket(engine, engine.submit_kept(record, first_pass, times))

    def _submit_reporting(self, times: int, first_pass: int) -> Ticket:
        """The same for a kernel that prints, or that leaves what failed in four numbers."""
        engine, words = self.arena.engine, np.zeros(4, np.int32)
        kernel = self.executable
        report = LaunchReport(words, kernel.printed, kernel.module.asserts)
        record = self.record[:]
        record[PASS], record[REPORT], record[SEQUENCE] = first_pass, address_of(words), 0
        engine.drop_reports()
        self._mark = self.begun, record, 0, times
        try:
            things = kernel, self.memories, dict(self._structs)
            number = engine.submit(record, things, first=first_pass, count=times)
        finally:  # without a call, after which an interrupt could be heard
            if record[SEQUENCE]:
                engine.reports[record[SEQUENCE]] = report
        return Ticket(engine, number)

    def replace(self, position: int, argument: Argument) -> None:
        """Set another argument for the runs to come; those under way keep their record."""
        engine = self.arena.engine
        sequence = self.record[SEQUENCE]
        if sequence > engine.state.completed:
            self._mark = self.begun, self.record, sequence, 0
            engine.keep(sequence, (self.record, dict(self._structs)))
            self.record = self._lasting[0] = self.record[:]
        self._set(position, argument)

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
            word = self.arena.address_of(argument)
            self.memories[position] = argument
            self.checked = -1
        self.record[ARGUMENTS + position] = word

    def _check(self) -> None:
        """Raise if memory was freed."""
        moment = self.arena.moment
        self.arena.check_open()
        for memory in self.memories.values():
            self.arena.address_of(memory)
        self.checked = moment

    def __del__(self) -> None:
        """Leave what the queue may still need to the engine, for good if Ctrl-C comes here."""
        lasting = getattr(self, "_lasting", None)
        if lasting is not None:
            engine = self.arena.engine
            engine.keep(self.record[SEQUENCE], lasting)
            engine.owned.pop(id(lasting), None)  # it is not there if Ctrl-C came in `__init__`


def _packed(scalar: Scalar) -> int:
    content = _packer(scalar.type).pack(value_by_value(scalar.type, scalar.value))
    return int.from_bytes(content, "little")


@cache
def _packer(kind: ScalarType) -> Struct:
    return Struct(type_by_value(kind).char)

"""Examples of a solver, run on the interpreter: do the work items really do that?"""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import numpy as np

from trilby.analysis.reach import KernelGraph
from trilby.backend.base import Scalar, StructArgument
from trilby.backend.interpreter.item_recording import ItemRecording, Recorded, record
from trilby.backend.interpreter.kernel_arguments import Given, InterpreterMemory, bind
from trilby.backend.interpreter.translate import KernelProgram, translate
from trilby.data.dtypes import ScalarType
from trilby.data.layout import layout, numpy_dtype, size_of
from trilby.data.schema import (
    ArrayType,
    BufferType,
    NDArrayType,
    StructType,
    sizes_of,
)
from trilby.dataclass import dataclass
from trilby.errors import KernelIndexError
from trilby.linting.accesses import MemoryAccess
from trilby.linting.decide.question import Example
from trilby.linting.dispatches import LaunchFacts
from trilby.locks import computed_once

MOST_BYTES = 1 << 26
MOST_ITEMS = 1 << 16
FILLS = (0, 1, 3)
"""What buffers hold while an example is run: one after the other, until it shows."""


@dataclass
class Examples:
    """Runs examples of one kernel, launched as `launch` says."""

    graph: KernelGraph
    launch: LaunchFacts

    @computed_once
    def program(self) -> KernelProgram:
        """The kernel, as the interpreter runs it."""
        return translate(self.graph)

    def confirm(self, example: Example, accesses: tuple[MemoryAccess, ...]) -> bool:
        """Whether the items meet (two accesses), or one leaves its array (one)."""
        if not self._is_small(example):
            return True  # too large to run: the solver's word stands
        return any(self._shows(example, accesses, fill) for fill in FILLS)

    def confirm_divergence(self, example: Example) -> bool:
        """Whether two items of a group part at a barrier."""
        if not self._is_small(example):
            return True
        one, other = example.items
        stops = (self._run(example, fill).stops for fill in FILLS)
        return any(met.get(one, []) != met.get(other, []) for met in stops)

    def _is_small(self, example: Example) -> bool:
        sizes = (self._nbytes(example, n) for n, _ in enumerate(self.graph.entry.params) if n)
        return sum(sizes) <= MOST_BYTES and example.range.items <= MOST_ITEMS

    def _shows(self, example: Example, accesses: tuple[MemoryAccess, ...], fill: int) -> bool:
        recording = self._run(example, fill)
        if len(accesses) == 1:
            failure = recording.failures.get(example.items[0])
            return isinstance(failure, KernelIndexError)
        pairs = product(*(recording.by(item) for item in example.items))
        return any(self._meet(recording, mine, other) for mine, other in pairs)

    def _meet(self, recording: ItemRecording, mine: Recorded, other: Recorded) -> bool:
        """Whether two accesses meet: one of them writes, and no barrier is between them."""
        overlap = mine.start < other.stop and other.start < mine.stop
        if mine.memory != other.memory or not overlap or not (mine.writes or other.writes):
            return False
        passed = {self._passed(recording, one) for one in (mine, other)}
        return mine.group != other.group or len(passed) == 1

    def _passed(self, recording: ItemRecording, access: Recorded) -> int:
        """How many barriers for that memory an item had behind it."""
        scope = "global" if access.memory in recording.buffers else "local"
        stops = recording.stops.get(access.item, [])[: access.barriers]
        return sum(self.program.barrier(stop).scope in {scope, "both"} for stop in stops)

    def _run(self, example: Example, fill: int) -> ItemRecording:
        given = list(self.arguments(example, fill))
        local = example.range.local or tuple(1 for _ in example.range.size)
        bound = bind(self.graph.entry, given)
        return record(self.program, example.range, local, bound, frozenset(example.items))

    # -- arguments

    def arguments(self, example: Example, fill: int) -> Iterator[Given]:
        """Buffers and numbers as an example has them; every number in a buffer is `fill`."""
        memories: dict[int, InterpreterMemory] = {}
        for number, param in enumerate(self.graph.entry.params):
            type_ = param.type
            if isinstance(type_, BufferType | NDArrayType):
                source = self.launch.same.get(number, number)
                lengths = self._lengths(example, source)
                if source not in memories:
                    content = _content(type_, lengths, fill)
                    memories[source] = InterpreterMemory(len(content), None, content)
                yield memories[source]
                sizes = zip(sizes_of(type_).values(), lengths.values(), strict=True)
                yield from (Scalar(size, length) for size, length in sizes)
            elif isinstance(type_, ScalarType):
                given = self.launch.scalars.get(number, 1)
                yield Scalar(type_, example.scalars.get(number, given))
            elif isinstance(type_, StructType):
                yield StructArgument(type_, bytes(size_of(type_)))

    def _lengths(self, example: Example, number: int) -> dict[object, int]:
        """Those of the example; others are as large as anything in it."""
        type_ = self.graph.entry.params[number].type
        names: Sequence[object] = ()
        if isinstance(type_, NDArrayType):
            names = range(type_.rank)
        elif isinstance(type_, BufferType):
            names = sorted(type_.length_names)
        room = max(64, min(4096, example.range.items * 4)) if len(names) == 1 else 64
        return {name: example.lengths.get((number, name), room) for name in names}

    def _nbytes(self, example: Example, number: int) -> int:
        type_ = self.graph.entry.params[number].type
        if isinstance(type_, NDArrayType):
            return prod(self._lengths(example, number).values()) * type_.element.size
        if isinstance(type_, BufferType):
            lengths = {str(name): n for name, n in self._lengths(example, number).items()}
            return layout(type_, lengths).size
        return 0


def _content(type_: BufferType | NDArrayType, lengths: dict[object, int], fill: int) -> bytearray:
    """A buffer of these lengths in which every number is `fill`."""
    if isinstance(type_, NDArrayType):
        count = prod(lengths.values())
        return bytearray(np.full(count, fill, type_.element.numpy).tobytes())
    named = {str(name): length for name, length in lengths.items()}
    places = layout(type_, named)
    content = bytearray(places.size)
    for name, slot in places.slots.items():
        element = slot.type.element if isinstance(slot.type, ArrayType) else slot.type
        if not isinstance(element, ScalarType) or not slot.size:
            continue
        value = named.get(name, fill)
        cell = np.full(1, value, numpy_dtype(element)).tobytes()
        step = slot.cell or len(cell)
        for start in range(slot.offset, slot.offset + slot.size - len(cell) + 1, step):
            content[start : start + len(cell)] = cell
    return content

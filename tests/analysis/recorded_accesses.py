"""What kernels really do with their buffers, byte by byte, as the interpreter does it.

The program that the interpreter makes of a kernel reaches memory through functions that it
finds by name. Here they take down what they are asked for, and that is laid beside what the
kernel's footprint says.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import prod
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from tests.backend.sizes import sizes_given

from trilby.analysis.footprint import (
    KernelFootprint,
    LaunchNumbers,
    footprints,
)
from trilby.analysis.reach import KernelGraph
from trilby.backend.base import Scalar
from trilby.backend.interpreter import interpreter_device as interpreter
from trilby.backend.interpreter.execute import execute
from trilby.backend.interpreter.kernel_arguments import Given, InterpreterMemory, bind
from trilby.backend.interpreter.translate import KernelProgram, translate
from trilby.data.buffer import Buffer
from trilby.data.dtypes import SCALARS, ScalarType, Type
from trilby.data.layout import layout, numpy_dtype
from trilby.data.ndrange import NDRange
from trilby.data.ranges import Ranges
from trilby.data.schema import ArrayType, BufferType, NDArrayType, PadType
from trilby.data.touched import Touched
from trilby.errors import TrilbyError

Argument: TypeAlias = npt.NDArray[Any] | Buffer | float
Bytes: TypeAlias = set[int]


@dataclass
class Recorded:
    """The bytes of one piece of memory that were read and written.

    What a work item reads after it has written it itself is not counted as read.
    """

    reads: Bytes = field(default_factory=set[int])
    writes: Bytes = field(default_factory=set[int])
    _own: dict[object, Bytes] = field(default_factory=dict[object, Bytes])

    def load(self, item: object, start: int, stop: int) -> None:
        self.reads.update(set(range(start, stop)) - self._own.get(item, set()))

    def store(self, item: object, start: int, stop: int) -> None:
        self.writes.update(range(start, stop))
        self._own.setdefault(item, set()).update(range(start, stop))


@dataclass
class Running:
    """Which work item is at work, and the memory that is watched meanwhile."""

    memories: Mapping[int, Recorded]
    item: object = None

    def run(self, program: KernelProgram) -> KernelProgram:
        """The same program, which says here whose turn it is."""

        def at_once(item: object, *arguments: object) -> None:
            self.item = item
            program.run(item, *arguments)

        def in_step(item: object, *arguments: object) -> Generator[object]:
            steps = program.run(item, *arguments)
            while True:
                self.item = item
                try:
                    step = next(steps)
                except StopIteration:
                    return
                yield step

        return replace(program, run=in_step if program.waits else at_once)


@dataclass(frozen=True)
class Watched:
    """One buffer of a launch: what was recorded, what its footprint says, and what is data."""

    name: str
    recorded: Recorded
    told: Touched
    data: Bytes
    lengths: Bytes


@dataclass(frozen=True)
class Launched:
    """A launch that was watched; `error` if it failed, for then not everything was done."""

    footprint: KernelFootprint
    numbers: LaunchNumbers
    buffers: tuple[Watched, ...]
    error: TrilbyError | None

    def problems(self) -> list[str]:
        """Where the footprint is wrong: an access that it does not know, or one too sure."""
        return [
            f"`{buffer.name}` {what}: {sorted(places)}"
            for buffer in self.buffers
            for what, places in self._facts(buffer).items()
            if places
        ]

    def _facts(self, buffer: Watched) -> Mapping[str, Bytes]:
        same = [other.told for other in self.buffers if other.recorded is buffer.recorded]
        reads = {place for told in same for place in as_set(told.reads)}
        writes = {place for told in same for place in as_set(told.writes)}
        covers = as_set(buffer.told.covers)
        left = (covers & buffer.data) - buffer.recorded.writes
        return {
            "is read, and that is not said": (buffer.recorded.reads & buffer.data) - reads,
            "is written, and that is not said": buffer.recorded.writes - writes,
            "is surely written, and never perhaps": covers - writes,
            "is touched where it holds no data": (reads | writes) & buffer.lengths,
            "is not written, though that was sure": left if self.error is None else set[int](),
        }

    def is_exact(self) -> bool:
        """True where the footprint is what was recorded, byte for byte."""
        return all(
            (as_set(b.told.reads) & b.data, as_set(b.told.writes) & b.data)
            == (b.recorded.reads & b.data, b.recorded.writes)
            and as_set(b.told.covers) & b.data == b.recorded.writes
            for b in self.buffers
        )


def as_set(ranges: Ranges) -> Bytes:
    """Every single byte."""
    return {byte for start, stop in ranges for byte in range(start, stop)}


# -- what is data


def data_bytes(type_: Type, given: Any) -> Bytes:
    """The bytes that NumPy has a name for, lengths left out: what is not padding."""
    if isinstance(type_, NDArrayType):
        return set(range(prod(given) * type_.element.size))
    assert isinstance(type_, BufferType)
    found: Bytes = set()
    for name, slot in layout(type_, given).slots.items():
        if name in type_.length_names or isinstance(slot.type, PadType):
            continue
        element = slot.type.element if isinstance(slot.type, ArrayType) else slot.type
        inner = _named(numpy_dtype(element))
        for start in range(slot.offset, slot.offset + slot.size, slot.cell or 1):
            found |= {start + byte for byte in inner}
    return found


def length_bytes(type_: Type, given: Any) -> Bytes:
    """The bytes of the lengths of arrays, which no launch may be said to touch."""
    if not isinstance(type_, BufferType):
        return set()
    slots = layout(type_, given).slots
    places = ((slots[name].offset, slots[name].size) for name in type_.length_names)
    return {start + byte for start, size in places for byte in range(size)}


def _named(dtype: np.dtype[Any]) -> Bytes:
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        inner = _named(base)
        return {n * base.itemsize + byte for n in range(prod(shape)) for byte in inner}
    if dtype.fields is None:
        return set(range(dtype.itemsize))
    return {at + byte for kind, at, *_ in dtype.fields.values() for byte in _named(kind)}


# -- recording


def recorded(
    graph: KernelGraph,
    program: KernelProgram,
    size: NDRange,
    given: Sequence[Given],
    pass_id: int = 0,
) -> Launched:
    """Run a program of the interpreter, and take down what it does."""
    memories = {id(one.bytes): Recorded() for one in given if isinstance(one, InterpreterMemory)}
    bound = bind(graph.entry, given)
    local = size.local or tuple(4 for _ in size.size)
    error: TrilbyError | None = None
    running = Running(memories)
    with _listening(program.names, running):
        try:
            execute(running.run(program), size, local, bound, pass_id)
        except TrilbyError as raised:
            error = raised
    footprint = footprints(graph)
    numbers = LaunchNumbers(
        size.padded,
        NDRange(size.local).padded if size.local else None,
        tuple(_number(p.type, b) for p, b in zip(graph.entry.params[1:], bound, strict=True)),
        pass_id,
    )
    buffers = tuple(
        Watched(
            graph.entry.params[number].hint,
            memories[id(_namespace(bound[number - 1]).bytes)],
            told,
            data_bytes(graph.entry.params[number].type, numbers.arguments[number - 1]),
            length_bytes(graph.entry.params[number].type, numbers.arguments[number - 1]),
        )
        for number, told in zip(footprint.buffers, footprint.at(numbers), strict=True)
    )
    return Launched(footprint, numbers, buffers, error)


def _namespace(bound: object) -> SimpleNamespace:
    assert isinstance(bound, SimpleNamespace)
    return bound


def _number(type_: Type, bound: object) -> Any:
    """What a launch knows of an argument, from what the interpreter makes of it."""
    if isinstance(type_, ScalarType):
        return bound
    if isinstance(type_, NDArrayType):
        return tuple(getattr(bound, f"n_{axis}") for axis in range(type_.rank))
    if isinstance(type_, BufferType):
        return {name: getattr(bound, f"n_{name}") for name in type_.length_names}
    return None


@contextmanager
def _listening(names: dict[str, Any], running: Running) -> Generator[None]:
    before = dict(names)
    for type_ in SCALARS.values():
        names[f"load_{type_}"] = _heard_load(before[f"load_{type_}"], type_.size, running)
        names[f"store_{type_}"] = _heard_store(before[f"store_{type_}"], type_.size, running)
    yield
    names.update(before)


def _heard_load(load: Callable[..., Any], size: int, running: Running) -> Callable[..., Any]:
    def heard(content: bytearray, offset: int) -> Any:
        if id(content) in running.memories:
            running.memories[id(content)].load(running.item, offset, offset + size)
        return load(content, offset)

    return heard


def _heard_store(store: Callable[..., Any], size: int, running: Running) -> Callable[..., Any]:
    def heard(content: bytearray, offset: int, value: Any) -> None:
        if id(content) in running.memories:
            running.memories[id(content)].store(running.item, offset, offset + size)
        store(content, offset, value)

    return heard


# -- launching


def launched(
    graph: KernelGraph, size: int | tuple[int, ...] | NDRange, *arguments: Argument
) -> Launched:
    """Launch a kernel with arrays, buffers and numbers; these stay as they are."""
    ndrange = size if isinstance(size, NDRange) else NDRange(size)
    return recorded(graph, translate(graph), ndrange, _given(graph, arguments))


def launched_passes(
    graph: KernelGraph, size: int, passes: int, *arguments: Argument
) -> list[Launched]:
    """Launch a kernel for many passes on the same memory."""
    given, program = _given(graph, arguments), translate(graph)
    return [recorded(graph, program, NDRange(size), given, number) for number in range(passes)]


def _given(graph: KernelGraph, arguments: Sequence[Argument]) -> list[Given]:
    given: list[Given] = []
    for param, argument in zip(graph.entry.params[1:], arguments, strict=True):
        if isinstance(argument, Buffer):
            given.append(_memory(argument.segment.memory[: argument.nbytes].tobytes()))
            given += sizes_given(param.type, argument)
        elif isinstance(argument, np.ndarray):
            given.append(_memory(argument.tobytes()))
            given += sizes_given(param.type, argument)
        else:
            assert isinstance(param.type, ScalarType)
            given.append(Scalar(param.type, argument))
    return given


def _memory(content: bytes) -> InterpreterMemory:
    return InterpreterMemory(len(content), None, bytearray(content))


def _unbound(_kernel: object, given: Sequence[Given]) -> Sequence[Given]:
    return given


@contextmanager
def watching(known: dict[int, tuple[KernelProgram, KernelGraph]]) -> Generator[list[Launched]]:
    """Record every launch on the interpreter, whoever makes it.

    `known` keeps the programs that are compiled meanwhile, for those who launch them later.
    """
    found: list[Launched] = []
    compiled = interpreter.InterpreterBackend.compile

    def compile_(self: Any, graph: KernelGraph, *, fast_math: bool = False) -> Any:
        finish = compiled(self, graph, fast_math=fast_math)

        def finished() -> KernelProgram:
            program = finish()
            known[id(program)] = (program, graph)
            return program

        return finished

    def execute_(
        program: KernelProgram,
        size: NDRange,
        _local: tuple[int, ...],
        arguments: Sequence[Given],
        pass_id: int,
    ) -> None:
        one = recorded(known[id(program)][1], program, size, arguments, pass_id)
        found.append(one)
        if one.error is not None:
            raise one.error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interpreter.InterpreterBackend, "compile", compile_)
        patch.setattr(interpreter, "bind", _unbound)
        patch.setattr(interpreter, "execute", execute_)
        yield found

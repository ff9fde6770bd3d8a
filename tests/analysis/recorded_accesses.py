"""What a kernel really does with its buffers, byte by byte, as the interpreter does it.

The program that the interpreter makes of a kernel reaches memory through functions that it
finds by name; here they take down what they are asked for.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from trilby.analysis.footprint import KernelFootprint, LaunchNumbers, footprints
from trilby.analysis.reach import KernelGraph
from trilby.backend.base import Scalar, StructArgument
from trilby.backend.interpreter.arguments import bind
from trilby.backend.interpreter.execute import execute
from trilby.backend.interpreter.memory import InterpreterMemory
from trilby.backend.interpreter.translate import translate
from trilby.data.buffer import Buffer
from trilby.data.dtypes import I32, SCALARS, Number, ScalarType, Type
from trilby.data.layout import layout
from trilby.data.ndrange import NDRange
from trilby.data.ranges import Ranges
from trilby.data.schema import BufferType, NDArrayType
from trilby.errors import TrilbyError

Given: TypeAlias = npt.NDArray[Any] | Buffer | float


@dataclass
class Recorded:
    """The bytes of one buffer that were read and written; lengths are no data."""

    reads: set[int]
    writes: set[int]


@dataclass(frozen=True)
class Launched:
    """What a launch did, for each buffer, and what its footprint says; `error` if it failed."""

    recorded: tuple[Recorded, ...]
    footprint: KernelFootprint
    numbers: LaunchNumbers
    error: TrilbyError | None

    def problems(self) -> list[str]:
        """Where the footprint is wrong: an access that it does not know, or one too sure."""
        found: list[str] = []
        for number, (real, told) in enumerate(
            zip(self.recorded, self.footprint.at(self.numbers), strict=True)
        ):
            covers = as_set(told.covers)
            facts = {
                "read, and not said": real.reads - as_set(told.reads),
                "written, and not said": real.writes - as_set(told.writes),
                "said to be sure, but no write": covers - as_set(told.writes),
                "outside of the content": (as_set(told.reads) | as_set(told.writes))
                - as_set(told.content),
            }
            if self.error is None:
                data = self._data(number)
                facts["surely written, and was not"] = (covers & data) - real.writes
            found += [f"buffer {number}: {what}: {sorted(at)}" for what, at in facts.items() if at]
        return found

    def _data(self, number: int) -> set[int]:
        """The bytes of a buffer that hold data: padding is said to be written, and never is."""
        parameter = self.footprint.buffers[number]
        type_ = self.footprint.parameters[parameter].type
        return data_bytes(type_, self.numbers.arguments[parameter - 1])

    def is_exact(self) -> bool:
        """True where the footprint is what was recorded, byte for byte."""
        return all(
            (as_set(told.reads) & data, as_set(told.writes) & data, as_set(told.covers) & data)
            == (real.reads, real.writes, real.writes)
            for number, (real, told) in enumerate(
                zip(self.recorded, self.footprint.at(self.numbers), strict=True)
            )
            for data in [self._data(number)]
        )


def as_set(ranges: Ranges) -> set[int]:
    """Every single byte."""
    return {byte for start, stop in ranges for byte in range(start, stop)}


def data_bytes(type_: Type, given: object) -> set[int]:
    """The bytes that NumPy's view of a buffer has a name for, lengths left out."""
    if isinstance(type_, NDArrayType):
        assert isinstance(given, tuple)
        return set(range(int(np.prod(given)) * type_.element.size))
    assert isinstance(type_, BufferType)
    assert isinstance(given, Mapping)
    found: set[int] = set()
    for name, slot in layout(type_, given).slots.items():
        if name in type_.length_names:
            continue
        element = getattr(slot.type, "element", slot.type)
        for start in range(slot.offset, slot.offset + slot.size, slot.cell or 1):
            found |= {start + byte for byte in _data_of(element)}
    return found


def _data_of(type_: Type) -> set[int]:
    from trilby.data.layout import numpy_dtype

    return _named(numpy_dtype(type_))


def _named(dtype: np.dtype[Any]) -> set[int]:
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        inner = _named(base)
        count = int(np.prod(shape))
        return {n * base.itemsize + byte for n in range(count) for byte in inner}
    if dtype.fields is None:
        return set(range(dtype.itemsize))
    return {at + byte for kind, at, *_ in dtype.fields.values() for byte in _named(kind)}


def launched(
    graph: KernelGraph, size: int | tuple[int, ...] | NDRange, *arguments: Given
) -> Launched:
    """Run a kernel on the interpreter and take down what it does."""
    ndrange = size if isinstance(size, NDRange) else NDRange(size)
    local = ndrange.local or tuple(4 for _ in ndrange.size)
    memories: dict[int, Recorded] = {}
    given: list[Any] = []
    numbers: list[Any] = []
    lengths: list[set[int]] = []
    for param, argument in zip(graph.entry.params[1:], arguments, strict=True):
        if isinstance(argument, np.ndarray | Buffer):
            content = bytearray(_bytes(argument))
            memory = InterpreterMemory(len(content), None, content)
            memories[id(content)] = Recorded(set(), set())
            given.append(memory)
            if isinstance(argument, Buffer):
                numbers.append(dict(argument.__lengths__))
                lengths.append(_length_bytes(param.type, argument))
            else:
                numbers.append(argument.shape)
                lengths.append(set())
                given += [Scalar(I32, extent) for extent in argument.shape]
        else:
            assert isinstance(param.type, ScalarType)
            given.append(Scalar(param.type, argument))
            numbers.append(argument)
    program = translate(graph)
    for type_ in SCALARS.values():
        _listen(program.names, type_, memories)
    error: TrilbyError | None = None
    try:
        execute(program, ndrange, local, bind(graph.entry, given))
    except TrilbyError as raised:
        error = raised
    for recorded, length in zip(memories.values(), lengths, strict=True):
        recorded.reads -= length
    x, y, z = NDRange(local).padded
    launch = LaunchNumbers(ndrange.padded, (x, y, z) if ndrange.local else None, tuple(numbers))
    return Launched(tuple(memories.values()), footprints(graph), launch, error)


def _bytes(argument: npt.NDArray[Any] | Buffer) -> bytes:
    if isinstance(argument, Buffer):
        return argument.segment.memory[: argument.nbytes].tobytes()
    return argument.tobytes()


def _length_bytes(type_: Type, buffer: Buffer) -> set[int]:
    assert isinstance(type_, BufferType)
    slots = [buffer.layout.slots[name] for name in type_.length_names]
    return {byte for slot in slots for byte in range(slot.offset, slot.offset + slot.size)}


def _listen(names: dict[str, Any], type_: ScalarType, memories: Mapping[int, Recorded]) -> None:
    load: Callable[..., Any] = names[f"load_{type_}"]
    store: Callable[..., Any] = names[f"store_{type_}"]

    def heard_load(content: bytearray, offset: int) -> Any:
        if id(content) in memories:
            memories[id(content)].reads.update(range(offset, offset + type_.size))
        return load(content, offset)

    def heard_store(content: bytearray, offset: int, value: Any) -> None:
        if id(content) in memories:
            memories[id(content)].writes.update(range(offset, offset + type_.size))
        store(content, offset, value)

    names[f"load_{type_}"], names[f"store_{type_}"] = heard_load, heard_store

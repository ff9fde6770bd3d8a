"""The arguments of a launch as the values that a translated kernel works on.

| parameter      | at run time                                                       |
|----------------|-------------------------------------------------------------------|
| a number       | the Python number, converted to its type                          |
| a struct       | the tuple of its leaves                                          |
| a buffer       | `bytes`, `n_<length>` for each length field, and `at_<field>` for |
|                | each member whose place depends on a length                       |
| an n-d array   | `bytes` and the extents `n_0`, `n_1`, …                           |

The lengths of a buffer are arguments of the launch, as are the extents of an n-d array.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import prod
from types import SimpleNamespace
from typing import TypeAlias

from trilby.backend.base import Scalar, StructArgument
from trilby.backend.interpreter.numbers import loader
from trilby.data.dtypes import I32, Number, ScalarType, convert
from trilby.data.layout import fixed_offsets, layout, leaf_offset
from trilby.data.schema import BufferType, NDArrayType, StructType, leaves, sizes_of
from trilby.dataclass import dataclass
from trilby.errors import DeviceError
from trilby.model.op import Func
from trilby.model.value import Value

# ------------------------------------------------------------------------------------------- memory
# The interpreter's device memory: bytes of its own, apart from the host's buffers.

POISON = 0xCD
"""What memory holds before anything is written: "undefined" should not look like zero."""


@dataclass(slots=True, eq=False)
class InterpreterMemory:
    """Bytes that kernels read and write; none once they are freed.

    `owner` is the backend that made them.
    """

    nbytes: int
    owner: object
    content: bytearray | None

    @property
    def bytes(self) -> bytearray:
        """The content, of memory that is known not to be freed."""
        if self.content is None:
            message = "freed memory has no bytes"
            raise ValueError(message)
        return self.content

    def span(self, offset: int, nbytes: int) -> memoryview:
        """A writable view of some bytes; raises where they are not all there."""
        if offset < 0 or nbytes < 0 or offset + nbytes > self.nbytes:
            raise DeviceError(
                f"bytes {offset} to {offset + nbytes} are not within the {self.nbytes} bytes "
                "of this device memory"
            )
        return memoryview(self.bytes)[offset : offset + nbytes]


# ---------------------------------------------------------------------------------------- arguments


Given: TypeAlias = InterpreterMemory | Scalar | StructArgument


def bind(kernel: Func, arguments: Iterable[Given]) -> list[object]:
    """One value for each parameter after the kernel context."""
    given = iter(arguments)
    bound = [_bound(param, given) for param in kernel.params[1:]]
    if next(given, None) is not None:
        raise DeviceError(f"`{kernel.name}` was given more arguments than it takes")
    return bound


def _bound(param: Value, given: Iterator[Given]) -> object:
    match param.type:
        case ScalarType():
            return _number(param, param.type, given)
        case StructType() if not isinstance(param.type, BufferType):
            return _struct(param, param.type, given)
        case BufferType():
            return _buffer(param, param.type, given)
        case NDArrayType():
            return _ndarray(param, param.type, given)
        case _:
            raise DeviceError(f"a launch cannot pass {_named(param)}")


def _named(param: Value) -> str:
    return f"the parameter `{param.hint}` of type {param.type}"


def _number(param: Value, of: ScalarType, given: Iterator[Given]) -> Number:
    argument = next(given, None)
    if not isinstance(argument, Scalar):
        raise DeviceError(f"{_named(param)} was given no number")
    return convert(argument.value, of)


def _struct(param: Value, of: StructType, given: Iterator[Given]) -> tuple[Number, ...]:
    """The leaves of a struct that is passed by value."""
    argument = next(given, None)
    if not isinstance(argument, StructArgument) or argument.type != of:
        raise DeviceError(f"{_named(param)} was given no such struct")
    return tuple(
        loader(leaf.type)(argument.content, leaf_offset(of, leaf))[0] for leaf in leaves(of)
    )


def _memory(param: Value, given: Iterator[Given]) -> InterpreterMemory:
    argument = next(given, None)
    if argument is None or isinstance(argument, Scalar | StructArgument):
        raise DeviceError(f"{_named(param)} was given no memory")
    return argument


def _buffer(param: Value, of: BufferType, given: Iterator[Given]) -> SimpleNamespace:
    memory = _memory(param, given)
    lengths = {name: int(_number(param, size, given)) for name, size in sizes_of(of).items()}
    fixed = fixed_offsets(of)
    places = layout(of, lengths)
    if places.size > memory.nbytes:
        raise _too_small(param, places.size, memory, lengths)
    return SimpleNamespace(
        bytes=memory.bytes,
        **{f"n_{name}": length for name, length in lengths.items()},
        **{f"at_{n}": slot.offset for n, slot in places.slots.items() if n not in fixed},
    )


def _ndarray(param: Value, of: NDArrayType, given: Iterator[Given]) -> SimpleNamespace:
    memory = _memory(param, given)
    extents = [int(_number(param, I32, given)) for _ in range(of.rank)]
    sizes = {f"n_{axis}": extent for axis, extent in enumerate(extents)}
    needed = prod(extents) * of.element.size
    if min(extents, default=0) < 0 or needed > memory.nbytes:
        raise _too_small(param, needed, memory, sizes)
    return SimpleNamespace(bytes=memory.bytes, **sizes)


def _too_small(
    param: Value, needed: int, memory: InterpreterMemory, sizes: Mapping[str, int]
) -> DeviceError:
    text = ", ".join(f"{name}={size}" for name, size in sizes.items())
    return DeviceError(
        f"{_named(param)} with {text} takes {needed} bytes, and its memory has {memory.nbytes}"
    )

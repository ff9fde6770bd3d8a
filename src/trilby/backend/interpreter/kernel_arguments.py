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
from typing import Protocol, TypeAlias

from trilby.backend.base import Scalar, StructArgument
from trilby.backend.interpreter.numbers import loader
from trilby.codegen.checked_types import expect
from trilby.data.dtypes import Number, ScalarType, convert
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


class KernelMemory(Protocol):
    """Device memory that a translated kernel can work on, also that of other backends."""

    @property
    def nbytes(self) -> int:
        """Its size."""
        ...

    @property
    def bytes(self) -> bytearray | memoryview:
        """The bytes themselves, not a copy."""
        ...


Given: TypeAlias = KernelMemory | Scalar | StructArgument


def bind(kernel: Func, arguments: Iterable[Given]) -> list[object]:
    """One value for each parameter after the kernel context.

    The runtime has checked that the arguments are of the types that the parameters have.
    """
    given = iter(arguments)
    bound = [_bound(param, given) for param in kernel.params[1:]]
    if next(given, None) is not None:
        raise DeviceError(f"`{kernel.name}` was given more arguments than it takes")
    return bound


def _bound(param: Value, given: Iterator[Given]) -> object:
    of = param.type
    if isinstance(of, ScalarType):
        return convert(_number(param, given), of)
    argument = next(given, None)
    if isinstance(of, StructType) and not isinstance(of, BufferType):
        if not isinstance(argument, StructArgument) or argument.type != of:
            raise DeviceError(f"{_named(param)} was given no such struct")
        content = argument.content
        return tuple(loader(leaf.type)(content, leaf_offset(of, leaf))[0] for leaf in leaves(of))
    if argument is None or isinstance(argument, Scalar | StructArgument):
        raise DeviceError(f"{_named(param)} was given no memory")
    sizes = {name: int(_number(param, given)) for name in sizes_of(of)}
    if isinstance(of, NDArrayType):
        extents = {f"n_{axis}": extent for axis, extent in enumerate(sizes.values())}
        needed = prod(sizes.values()) * of.element.size
        if min(sizes.values(), default=0) < 0 or needed > argument.nbytes:
            raise _too_small(param, needed, argument, extents)
        return SimpleNamespace(bytes=argument.bytes, **extents)
    buffer = expect(BufferType, of)
    fixed = fixed_offsets(buffer)
    places = layout(buffer, sizes)
    if places.size > argument.nbytes:
        raise _too_small(param, places.size, argument, sizes)
    return SimpleNamespace(
        bytes=argument.bytes,
        **{f"n_{name}": length for name, length in sizes.items()},
        **{f"at_{n}": slot.offset for n, slot in places.slots.items() if n not in fixed},
    )


def _number(param: Value, given: Iterator[Given]) -> Number:
    argument = next(given, None)
    if not isinstance(argument, Scalar):
        raise DeviceError(f"{_named(param)} was given no number")
    return argument.value


def _named(param: Value) -> str:
    return f"the parameter `{param.hint}` of type {param.type}"


def _too_small(
    param: Value, needed: int, memory: KernelMemory, sizes: Mapping[str, int]
) -> DeviceError:
    text = ", ".join(f"{name}={size}" for name, size in sizes.items())
    return DeviceError(
        f"{_named(param)} with {text} takes {needed} bytes, and its memory has {memory.nbytes}"
    )

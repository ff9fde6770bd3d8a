"""From the arguments of a dispatch to the arguments of a launch.

Every argument is checked against its parameter before anything moves, so that a wrong one
leaves all data as it was. The errors here name no place: whoever dispatches knows it.
"""

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from trilby.analysis.access import AccessTable
from trilby.arguments import brief
from trilby.backend.base import Argument, Memory, Scalar, StructArgument
from trilby.data.buffer import Buffer
from trilby.data.dtypes import BOOL, I32, Number, ScalarType, Type, fits, is_numpy_scalar
from trilby.data.layout import layout
from trilby.data.ndarray import NDArray
from trilby.data.record import Record
from trilby.data.schema import (
    BufferType,
    NDArrayType,
    PadType,
    StructType,
    in_global,
    sizes_of,
    spoken,
)
from trilby.data.segment import Segment
from trilby.data.touched import Touched
from trilby.data.views import Array
from trilby.dataclass import dataclass
from trilby.errors import ArgumentTypeError, ArgumentValueError
from trilby.model.value import Value
from trilby.reflect.functions import Kernel
from trilby.reflect.signature import Parameter, Signature, kernel_signature
from trilby.runtime.launch_buffers import Use

_NUMBERS = frozenset({int, float, bool, complex, tuple})
_PLAIN = _NUMBERS | {list, range, dict, set, str, bytes, bytearray, np.ndarray}

Numbers: TypeAlias = "Number | tuple[int, ...] | Mapping[str, int] | None"


@dataclass(frozen=True, slots=True)
class Bound:
    """Checked arguments: buffers in order, and how the launch's list is made of them.

    For `double(kc, a, b, 2.0)` the list is `a`, its length, `b`, its length, 2.0: `buffers` are two
    segments, and the `slots` are 0, a number, 1 and two more numbers.
    `numbers` has for every parameter what the places that a kernel touches depend on: a
    number itself, the shape of an n-d array, the lengths of a buffer. `starts` says where each
    parameter begins in the launch's list.
    """

    buffers: tuple[Segment, ...]
    slots: tuple[int | Scalar | StructArgument, ...]
    starts: tuple[int, ...]
    numbers: tuple[Numbers, ...]

    def arguments(self, memories: Sequence[Memory]) -> list[Argument]:
        """The arguments of the launch, with the device memory of each buffer put in."""
        return [memories[slot] if isinstance(slot, int) else slot for slot in self.slots]


def positional(
    kernel: Kernel[...], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> tuple[object, ...]:
    """The arguments in the order of the parameters, the kernel context left out."""
    if not kwargs and len(args) == kernel.function.__code__.co_argcount - 1:
        return args
    try:
        bound = inspect.signature(kernel.function).bind(None, *args, **kwargs)
    except TypeError as error:
        # A kernel that is declared wrongly says so first.
        names = [parameter.name for parameter in kernel_signature(kernel).params[1:]]
        raise ArgumentTypeError(
            f"`{kernel.name}`: {error}",
            advice=f"its parameters after the context are {', '.join(names) or 'none'}",
        ) from error
    return tuple(bound.arguments.values())[1:]


def declared_among(params: Sequence[Value]) -> tuple[tuple[int, Value], ...]:
    """The parameters of a compute function that take a buffer, an array or a number."""
    return tuple(
        (position, param)
        for position, param in enumerate(params[1:])
        if isinstance(param.type, BufferType | NDArrayType | ScalarType)
    )


def check_declared(
    name: str,
    declared: Sequence[tuple[int, Value]],
    args: Sequence[object],
    kwargs: Mapping[str, object],
) -> None:
    """Refuse Python's own containers and NumPy's arrays where a compute function declares others.

    What else it may be given, such as another class with the same members, is its own affair.
    """
    for position, param in declared:
        argument = args[position] if position < len(args) else kwargs.get(param.hint)
        if type(argument) in _PLAIN and not _is_number_for(param.type, argument):
            raise _not_declared(name, param, argument)


def _is_number_for(type_: Type, argument: object) -> bool:
    """Whether a parameter is a number, and a plain argument may be one: a range may, too."""
    if not isinstance(type_, ScalarType):
        return False
    return type(argument) in _NUMBERS or getattr(argument, "ndim", 1) == 0


def _not_declared(name: str, param: Value, argument: object) -> ArgumentTypeError:
    match param.type:
        case NDArrayType():
            advice = "make one with `accelerator.array(x)`"
        case BufferType() as wanted:
            advice = _how_to_make(wanted, argument)
        case _:
            advice = "pass a number; a list of them goes into a buffer"
    return ArgumentTypeError(
        f"`{name}` takes `{spoken(in_global(param.type))}` for `{param.hint}`, and this is "
        f"{type(argument).__name__}",
        advice=advice,
    )


def _how_to_make(wanted: Type, given: object) -> str:
    """How to make a buffer of what was given instead."""
    if type(given) in {list, tuple, range, np.ndarray}:
        return f"copy it into a buffer: `{wanted}.of(…)`"
    return f"make one with `{wanted}.create(…)`"


def is_ndarray(value: object) -> TypeGuard[NDArray[Any]]:
    """True for an n-d array of this package."""
    return isinstance(value, NDArray)


def _is_view(value: object) -> TypeGuard[Array[Any]]:
    return isinstance(value, Array)


def ranks_of(args: Iterable[object]) -> tuple[int, ...]:
    """The ranks of the n-d arrays among some arguments."""
    return tuple(argument.ndim for argument in args if is_ndarray(argument))


def bind(kernel: Kernel[...], signature: Signature, args: Sequence[object]) -> Bound:
    """Check the arguments of a dispatch and lay them out for a launch."""
    buffers: list[Segment] = []
    slots: list[int | Scalar | StructArgument] = []
    numbers: list[Numbers] = []
    starts: list[int] = []
    for parameter, argument in zip(signature.params[1:], args, strict=True):
        starts.append(len(slots))
        match parameter.type:
            case ScalarType() as type_:
                number = as_number(kernel, parameter, type_, argument)
                slots.append(Scalar(type_, number))
                numbers.append(number)
            case StructType() as type_ if not isinstance(type_, BufferType):
                slots.append(_struct(kernel, parameter, type_, argument))
                numbers.append(None)
            case NDArrayType() as type_:
                array = _ndarray(kernel, parameter, type_, argument)
                slots.append(_add(buffers, array.segment))
                slots.extend(Scalar(I32, extent) for extent in array.shape)
                numbers.append(array.shape)
            case _:
                buffer = _buffer(kernel, parameter, argument)
                slots.append(_add(buffers, buffer.segment))
                lengths = buffer.__lengths__
                sizes = sizes_of(parameter.type).items()
                slots.extend(Scalar(size, lengths[name]) for name, size in sizes)
                numbers.append(lengths)
    return Bound(tuple(buffers), tuple(slots), tuple(starts), tuple(numbers))


def _add(buffers: list[Segment], segment: Segment) -> int:
    """Take a buffer in; two that are bound to the same memory are one, as everywhere."""
    nbytes = segment.nbytes  # a released buffer says so here, before anything moves
    same = (one for one in buffers if (one.address, one.nbytes) == (segment.address, nbytes))
    buffers.append(next(same, segment) if segment.borrowed else segment)
    return len(buffers) - 1


def uses(bound: Bound, table: AccessTable, touched: Sequence[Touched]) -> list[Use]:
    """What the kernel does with each of the buffers."""
    shapes = [numbers for numbers in bound.numbers if isinstance(numbers, tuple | Mapping)]
    found = [
        Use(segment, one, parameter.name, *places_of(parameter.type, shape))
        for segment, parameter, one, shape in zip(
            bound.buffers, table.parameters, touched, shapes, strict=True
        )
    ]
    for left, right in combinations(found, 2):
        if left.segment.borrowed or right.segment.borrowed:
            _check_apart(left, right)
    return found


def places_of(
    type_: Type, shape: tuple[int, ...] | Mapping[str, int]
) -> tuple[tuple[range, ...], tuple[tuple[str, int, int], ...]]:
    """The bytes that hold lengths, and the fields that hold data."""
    if isinstance(type_, BufferType) and isinstance(shape, Mapping):
        return _buffer_places(type_, tuple(sorted(shape.items())))
    if isinstance(type_, NDArrayType) and isinstance(shape, tuple):
        return (), (("", 0, math.prod(shape) * type_.element.size),)
    raise TypeError(type_)


@lru_cache(maxsize=1024)
def _buffer_places(
    type_: BufferType, lengths: tuple[tuple[str, int], ...]
) -> tuple[tuple[range, ...], tuple[tuple[str, int, int], ...]]:
    slots = layout(type_, dict(lengths)).slots
    found = (slots[name] for name in sorted(type_.length_names))
    kept = tuple(range(slot.offset, slot.offset + slot.size) for slot in found)
    data = (
        slot
        for name, slot in slots.items()
        if name not in type_.length_names and not isinstance(slot.type, PadType)
    )
    return kept, tuple((slot.name, slot.offset, slot.offset + slot.size) for slot in data)


def share_memory(a: Segment, b: Segment) -> bool:
    """Whether two stretches of host memory have some byte in common."""
    return a.address < b.address + b.nbytes and b.address < a.address + a.nbytes


def _check_apart(left: Use, right: Use) -> None:
    """Refuse what has one memory on the host and would have two on the device."""
    if left.segment is right.segment or not share_memory(left.segment, right.segment):
        return
    if not (left.touched.writes or right.touched.writes):
        return
    raise ArgumentValueError(
        f"`{left.label}` and `{right.label}` share a part of their memory, and the kernel "
        "writes to it",
        advice="pass one array and two offsets, or a copy: `accelerator.array(x.copy())`",
    )


# ------------------------------------------------------------------------- single arguments


def _wrong(
    kernel: Kernel[...], parameter: Parameter, argument: object, advice: str
) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"`{kernel.name}` takes `{spoken(in_global(parameter.type))}` for `{parameter.name}`, and "
        f"this is {type(argument).__name__}",
        advice=advice,
    )


def _buffer(kernel: Kernel[...], parameter: Parameter, argument: object) -> Buffer:
    wanted = in_global(parameter.type)
    if isinstance(argument, Buffer) and type(argument).__schema__ == wanted:
        return argument
    advice = _how_to_make(wanted, argument)
    if is_ndarray(argument) or isinstance(argument, Buffer):
        advice = f"pass a `{wanted}`, or declare the parameter with the type you pass"
    elif _is_view(argument):
        advice = "pass the buffer as a whole; the kernel picks the array: `a.array[kc.x]`"
    raise _wrong(kernel, parameter, argument, advice)


def _struct(
    kernel: Kernel[...], parameter: Parameter, type_: StructType, argument: object
) -> StructArgument:
    if isinstance(argument, Record) and argument.__schema__ == type_:
        return StructArgument(type_, np.asarray(argument).tobytes())
    raise _wrong(kernel, parameter, argument, f"make one: `{type_.name}(…)`")


def _ndarray(
    kernel: Kernel[...], parameter: Parameter, type_: NDArrayType, argument: object
) -> NDArray[Any]:
    if not is_ndarray(argument):
        advice = "make one with `accelerator.array(x)`"
        if _is_view(argument):
            advice = "pass the whole array, or a copy: `accelerator.array(x.copy())`"
        raise _wrong(kernel, parameter, argument, advice)
    if argument.dtype != type_.element.numpy:
        raise ArgumentTypeError(
            f"`{kernel.name}` takes elements of `{type_.element}` for `{parameter.name}`, and "
            f"these are `{argument.dtype}`",
            advice=f"convert them: `accelerator.array(x.astype({type_.element.numpy_name}))`",
        )
    if max(argument.shape, default=0) > I32.highest:
        raise ArgumentValueError(
            f"an axis of `{parameter.name}` has {max(argument.shape)} elements, and kernels "
            f"count up to {I32.highest}",
            advice="give the array more dimensions",
        )
    return argument


def as_number(
    kernel: Kernel[...], parameter: Parameter, type_: ScalarType, argument: object
) -> Number:
    """The number for a scalar parameter, or an error that says why it is none."""
    value: object = argument.item() if is_numpy_scalar(argument) else argument
    if type_ is BOOL:
        if not isinstance(value, bool):
            raise _wrong(kernel, parameter, argument, "pass True or False")
        return value
    if not isinstance(value, int | float):
        raise _wrong(kernel, parameter, argument, "pass a number")
    if isinstance(value, float) and not type_.is_float:
        raise _wrong(kernel, parameter, argument, "pass a whole number: `int(…)`")
    number = _as_float(value, type_) if type_.is_float else int(value)
    if number is None or not fits(number, type_):
        limits = "" if type_.is_float else f" ({type_.lowest} to {type_.highest})"
        raise ArgumentValueError(
            f"{brief(value)} does not fit `{parameter.name}` of `{kernel.name}`, which is "
            f"`{type_}`{limits}",
            advice="use a smaller number, or declare a wider type",
        )
    return number


def _as_float(value: float, type_: ScalarType) -> float | None:
    """A number as a float; None where only infinity is near it."""
    try:
        number = float(value)
    except OverflowError:
        return None
    with np.errstate(over="ignore"):
        overflows = math.isfinite(number) and math.isinf(float(type_.numpy.type(number)))
    return None if overflows else number

"""From the arguments of a dispatch to the arguments of a launch.

Every argument is checked against its parameter before anything moves, so that a wrong one
leaves all data as it was.
"""

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from trilby.analysis.access import AccessTable
from trilby.backend.base import Argument, Memory, Scalar
from trilby.data.buffer import Buffer
from trilby.data.dtypes import BOOL, I32, Number, ScalarType, fits, is_numpy_scalar
from trilby.data.layout import header_size
from trilby.data.ndarray import NDArray
from trilby.data.schema import BufferType, NDArrayType
from trilby.data.segment import Segment
from trilby.errors import ArgumentTypeError, ArgumentValueError
from trilby.reflect.functions import Kernel
from trilby.reflect.signature import Parameter, Signature
from trilby.runtime.residency import Use
from trilby.source import Location


@dataclass(frozen=True, slots=True)
class Bound:
    """Checked arguments: buffers in order, and how the launch's list is made of them."""

    buffers: tuple[Segment, ...]
    slots: tuple[int | Scalar, ...]

    def arguments(self, memories: Sequence[Memory]) -> list[Argument]:
        """The arguments of the launch, with the device memory of each buffer put in."""
        return [memories[slot] if isinstance(slot, int) else slot for slot in self.slots]


def positional(
    kernel: Kernel[...], args: tuple[object, ...], kwargs: Mapping[str, object], at: Location
) -> tuple[object, ...]:
    """The arguments in the order of the parameters, the kernel context left out."""
    try:
        bound = inspect.signature(kernel.function).bind(None, *args, **kwargs)
    except TypeError as error:
        raise ArgumentTypeError(
            f"`{kernel.name}`: {error}",
            advice=f"its parameters after the context are "
            f"{', '.join(list(inspect.signature(kernel.function).parameters)[1:]) or 'none'}",
            location=at,
        ) from error
    return tuple(bound.arguments.values())[1:]


def is_ndarray(value: object) -> TypeGuard[NDArray[Any]]:
    """True for an n-d array of this package."""
    return isinstance(value, NDArray)


def ranks_of(args: Iterable[object]) -> tuple[int, ...]:
    """The ranks of the n-d arrays among some arguments."""
    return tuple(argument.ndim for argument in args if is_ndarray(argument))


def bind(kernel: Kernel[...], signature: Signature, args: Sequence[object], at: Location) -> Bound:
    """Check the arguments of a dispatch and lay them out for a launch."""
    buffers: list[Segment] = []
    slots: list[int | Scalar] = []
    for parameter, argument in zip(signature.params[1:], args, strict=True):
        match parameter.type:
            case ScalarType() as type_:
                slots.append(Scalar(type_, _number(kernel, parameter, type_, argument, at)))
            case NDArrayType() as type_:
                array = _ndarray(kernel, parameter, type_, argument, at)
                slots.append(_add(buffers, array.segment))
                slots.extend(Scalar(I32, extent) for extent in array.shape)
            case _:
                buffer = _buffer(kernel, parameter, argument, at)
                slots.append(_add(buffers, buffer.segment))
    return Bound(tuple(buffers), tuple(slots))


def _add(buffers: list[Segment], segment: Segment) -> int:
    _ = segment.memory  # a released buffer says so here, before anything moves
    buffers.append(segment)
    return len(buffers) - 1


def uses(bound: Bound, table: AccessTable) -> list[Use]:
    """What the kernel does with each of the buffers."""
    return [
        Use(segment, parameter.whole, parameter.name, _header(parameter.type))
        for segment, parameter in zip(bound.buffers, table.parameters, strict=True)
    ]


def _header(type_: object) -> int:
    return header_size(type_) if isinstance(type_, BufferType) and type_.length_names else 0


def _wrong(
    kernel: Kernel[...], parameter: Parameter, argument: object, advice: str, at: Location
) -> ArgumentTypeError:
    shown = f"{type(argument).__name__}"
    return ArgumentTypeError(
        f"`{kernel.name}` takes `{parameter.type}` for `{parameter.name}`, and this is {shown}",
        advice=advice,
        location=at,
    )


def _buffer(
    kernel: Kernel[...], parameter: Parameter, argument: object, at: Location
) -> Buffer:
    if isinstance(argument, Buffer) and type(argument).__schema__ == parameter.type:
        return argument
    advice = f"make one with `{parameter.type}.create(…)`"
    if isinstance(argument, list | tuple | np.ndarray):
        advice = f"copy it into a buffer: `{parameter.type}.of(…)`"
    elif isinstance(argument, Buffer | NDArray):
        advice = f"pass a `{parameter.type}`, or declare the parameter with the type you pass"
    raise _wrong(kernel, parameter, argument, advice, at)


def _ndarray(
    kernel: Kernel[...], parameter: Parameter, type_: NDArrayType, argument: object, at: Location
) -> NDArray[Any]:
    if not is_ndarray(argument):
        advice = "make one with `accelerator.array(x)`"
        raise _wrong(kernel, parameter, argument, advice, at)
    array = argument
    if array.dtype != type_.element.numpy:
        raise ArgumentTypeError(
            f"`{kernel.name}` takes elements of `{type_.element}` for `{parameter.name}`, and "
            f"these are `{array.dtype}`",
            advice=f"convert them: `accelerator.array(x.astype(np.{type_.element.numpy}))`",
            location=at,
        )
    if max(array.shape, default=0) > I32.highest:
        raise ArgumentValueError(
            f"an axis of `{parameter.name}` has {max(array.shape)} elements, and kernels count "
            f"up to {I32.highest}",
            advice="give the array more dimensions",
            location=at,
        )
    return array


def _number(
    kernel: Kernel[...], parameter: Parameter, type_: ScalarType, argument: object, at: Location
) -> Number:
    value: object = argument.item() if is_numpy_scalar(argument) else argument
    if not isinstance(value, bool | int | float):
        raise _wrong(kernel, parameter, argument, "pass a number", at)
    if type_ is BOOL:
        if not isinstance(value, bool):
            raise _wrong(kernel, parameter, argument, "pass True or False", at)
        return value
    if type_.is_float:
        return _float(kernel, parameter, type_, value, at)
    if isinstance(value, float):
        raise _wrong(kernel, parameter, argument, "pass a whole number: `int(…)`", at)
    if not fits(int(value), type_):
        raise ArgumentValueError(
            f"{value} does not fit `{parameter.name}` of `{kernel.name}`, which is `{type_}` "
            f"({type_.lowest} to {type_.highest})",
            advice="use a smaller number, or declare a wider type",
            location=at,
        )
    return int(value)


def _float(
    kernel: Kernel[...], parameter: Parameter, type_: ScalarType, value: float, at: Location
) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    with np.errstate(over="ignore"):
        overflows = math.isfinite(value) and math.isinf(float(type_.numpy.type(number)))
    if overflows:
        raise ArgumentValueError(
            f"{value} does not fit `{parameter.name}` of `{kernel.name}`, which is `{type_}`",
            advice="use a smaller number, or declare a wider type",
            location=at,
        )
    return number



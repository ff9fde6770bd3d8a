"""What an annotation of a kernel's parameter means: from Python objects to types."""

from typing import Annotated, get_args, get_origin

from trilby.data.buffer import Buffer
from trilby.data.declare import element_of, is_subclass
from trilby.data.dtypes import ScalarType, Type
from trilby.data.markers import CONSTANT
from trilby.data.ndarray import NDArray
from trilby.data.schema import NDArrayType, in_constant

UNKNOWN_RANK = 0


def is_constant(annotation: object) -> bool:
    """True for `Constant[...]`."""
    return get_origin(annotation) is Annotated and CONSTANT in get_args(annotation)[1:]


def type_of(annotation: object) -> Type | None:
    """The type that a resolved annotation names, or None where it names none.

    `i32`, `bool`, a struct, union or buffer class, `NDArray[f32]`, `Constant[S32Array]`. The
    rank of an n-d array is set at launch, and is 0 until then.
    """
    if is_constant(annotation):
        inner = type_of(get_args(annotation)[0])
        return inner and in_constant(inner)
    if get_origin(annotation) is NDArray:
        element = element_of(get_args(annotation)[0])
        return NDArrayType(element, UNKNOWN_RANK) if isinstance(element, ScalarType) else None
    if is_subclass(annotation, Buffer):
        return getattr(annotation, "__schema__", None)
    element = element_of(annotation)
    return element if element is None or isinstance(element, ScalarType) else element.__schema__

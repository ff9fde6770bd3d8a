"""What the verifier has checked of a model, said again for the type checker."""

from typing import TypeVar

from trilby.data.dtypes import ScalarType, Type

T = TypeVar("T")


def expect(kind: type[T], found: object) -> T:
    """What was found, which is of that kind in every model that the verifier accepts."""
    if not isinstance(found, kind):
        raise TypeError(found)
    return found


def scalar(type_: Type) -> ScalarType:
    """The type of a number."""
    return expect(ScalarType, type_)

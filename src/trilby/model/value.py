"""Values, and the types that only values of a model have."""

from typing import Literal, TypeAlias

from trilby.data.dtypes import Type
from trilby.data.schema import BufferType, NDArrayType
from trilby.dataclass import dataclass

Space: TypeAlias = Literal["global", "constant", "local", "private"]
SPACES: tuple[Space, ...] = ("global", "constant", "local", "private")


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """What an op produces or a block takes. Two values are equal only if they are one.

    `hint` is the name the user gave it, for readable texts; it means nothing.
    """

    type: Type
    hint: str = ""


@dataclass(frozen=True, slots=True)
class VarType(Type):
    """A local variable that holds a value of type `of`."""

    of: Type

    def __str__(self) -> str:
        return f"Var<{self.of}>"


@dataclass(frozen=True, slots=True)
class RefType(Type):
    """A place in memory that holds a struct or an array: what `r = table.result[i]` gives.

    `space` is the memory it lies in: `global`, `constant` (which is never written), `local`
    (one for each work group) or `private` (one for each work item).
    """

    to: Type
    space: Space = "global"

    def __str__(self) -> str:
        return f"Ref<{self.to}>" if self.space == "global" else f"Ref<{self.to}, {self.space}>"


def pointee(base: Type) -> Type:
    """The type of the memory behind a base: what a reference leads to, or the base's own."""
    return base.to if isinstance(base, RefType) else base


def space_of(base: Type) -> Space:
    """The memory in which a buffer, an n-d array or what a reference leads to lies."""
    match base:
        case RefType(space=space):
            return space
        case BufferType(is_constant=True) | NDArrayType(is_constant=True):
            return "constant"
        case _:
            return "global"


@dataclass(frozen=True, slots=True)
class NamedType(Type):
    """A type that the model treats as a name only (`KernelContext`, `object`)."""

    name: str

    def __str__(self) -> str:
        return self.name


KERNEL_CONTEXT = NamedType("KernelContext")
COMPUTE_CONTEXT = NamedType("ComputeContext")
OBJECT = NamedType("object")
NONE = NamedType("None")

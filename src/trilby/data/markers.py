"""What stands at the right of a field's annotation, and what stands in annotations.

These are notes for `declare`, nothing more: no check is made here, because only the class
around a field knows where it stands.
"""

from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeAlias, TypeVar, overload

from trilby.dataclass import dataclass

if TYPE_CHECKING:
    from typing import Self

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FieldMarker:
    """What `array(...)`, `pad(...)` or `field(...)` was given."""

    function: Literal["array", "pad", "field"]
    dims: tuple[object, ...] = ()
    stride: object = None
    align: object = None
    nbytes: object = None


CONSTANT = "constant memory"
"""What `Constant[...]` leaves in an annotation."""

Constant: TypeAlias = Annotated[T, CONSTANT]
"""A buffer in constant memory, for a kernel's parameter: `palette: tb.Constant[S32Array]`.

Kernels only read it. Constant memory is small and quick where all work items read the same
places. For type checkers, and for whoever dispatches, it is the buffer itself.
"""


def array(*dims: int | str, stride: int | None = None, align: int | None = None) -> Any:
    """The dimensions of an array field: numbers, or names of length fields declared before it.

        length: i32
        result: tb.Array[Result] = tb.array("length")
        pixel: tb.Array[u8] = tb.array("height", "width")
        weight: tb.Array[f32] = tb.array(3, 3)

    `stride` is the distance of two elements in bytes, `align` the alignment of the first.
    """
    return FieldMarker("array", dims, stride, align)


def pad(nbytes: int) -> Any:
    """Bytes that hold nothing: `_: Any = tb.pad(4)`, the next one `_1: Any = tb.pad(4)`."""
    return FieldMarker("pad", nbytes=nbytes)


def field(*, align: int | None = None) -> Any:
    """A field with more than its natural alignment: `x: f32 = tb.field(align=16)`."""
    return FieldMarker("field", align=align)


class Atomic(Generic[T]):
    """A number that kernels change in one indivisible step: `count: tb.Atomic[i32]`.

    On the host it reads and is assigned as the plain number it holds.
    """

    if TYPE_CHECKING:

        @overload
        def __get__(self, holder: None, owner: type, /) -> Self: ...
        @overload
        def __get__(self, holder: object, owner: type, /) -> T: ...
        def __get__(self, holder: Any, owner: Any, /) -> Any: ...
        def __set__(self, holder: object, value: T, /) -> None: ...

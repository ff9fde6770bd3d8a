"""Arrays in device memory, as names to write in kernels."""

from typing import Any, NoReturn, TypeVar

from trilby.data.views import Array
from trilby.errors import DirectCallError

T = TypeVar("T")


def local(element: type[T], /, *dims: int) -> Array[T]:
    """An array that the work items of a group share: `tile = tb.local(f32, 16, 16)`.

    Sizes are constants. Its content is undefined until the kernel writes it.
    """
    _kernels_only("local", element, dims)


def private(element: type[T], /, *dims: int) -> Array[T]:
    """An array that every work item has for itself: `acc = tb.private(f32, 8)`."""
    _kernels_only("private", element, dims)


def _kernels_only(name: str, *_: Any) -> NoReturn:
    raise DirectCallError(
        f"`tb.{name}` works inside kernels only",
        advice="on the host use a NumPy array",
    )

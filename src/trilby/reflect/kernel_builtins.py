"""Built-in functions of the kernel language: arrays in device memory, and atomic operations.

An atomic operation names a place and gives back its old number:
`slot = tb.atomic_add(table.count, 1)`, `tb.atomic_max(a.array, i, v)`,
`tb.atomic_add(grid.array, (y, x), 1)`.
"""

from typing import Any, NoReturn, TypeAlias, TypeVar, overload

from trilby.data.views import Array
from trilby.errors import DirectCallError

T = TypeVar("T")
Index: TypeAlias = int | tuple[int, ...]


class AtomicFunction:
    """An atomic operation. Kernels call it; on the host it explains itself.

    `change` is the name of the change, `operands` how many numbers follow the place, and
    `fixed` the operand that the operation brings along (`atomic_inc` adds 1).
    """

    __slots__ = ("__name__", "change", "fixed", "operands")

    def __init__(self, name: str, change: str, operands: int = 1, fixed: int | None = None) -> None:
        self.__name__ = name
        self.change = change
        self.operands = operands
        self.fixed = fixed

    @overload
    def __call__(self, place: int, /) -> int: ...
    @overload
    def __call__(self, place: int, value: int, /) -> int: ...
    @overload
    def __call__(self, place: int, expected: int, value: int, /) -> int: ...
    @overload
    def __call__(self, place: float, value: float, /) -> float: ...
    @overload
    def __call__(self, place: float, expected: float, value: float, /) -> float: ...
    @overload
    def __call__(self, array: Array[T], index: Index, /) -> T: ...
    @overload
    def __call__(self, array: Array[T], index: Index, value: T, /) -> T: ...
    @overload
    def __call__(self, array: Array[T], index: Index, expected: T, value: T, /) -> T: ...
    def __call__(self, *_: Any) -> Any:
        """Kernels only."""
        raise DirectCallError(
            f"`{self.__name__}` works inside kernels only",
            advice="on the host nothing runs beside you: write `table.count += 1`",
        )

    def __repr__(self) -> str:
        return f"<{self.__name__}>"


COMPARE_EXCHANGE = "compare_exchange"

atomic_add = AtomicFunction("atomic_add", "add")
atomic_sub = AtomicFunction("atomic_sub", "sub")
atomic_inc = AtomicFunction("atomic_inc", "add", operands=0, fixed=1)
atomic_dec = AtomicFunction("atomic_dec", "sub", operands=0, fixed=1)
atomic_min = AtomicFunction("atomic_min", "min")
atomic_max = AtomicFunction("atomic_max", "max")
atomic_and = AtomicFunction("atomic_and", "and")
atomic_or = AtomicFunction("atomic_or", "or")
atomic_xor = AtomicFunction("atomic_xor", "xor")
atomic_exchange = AtomicFunction("atomic_exchange", "exchange")
atomic_compare_exchange = AtomicFunction("atomic_compare_exchange", COMPARE_EXCHANGE, operands=2)


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

"""Atomic operations, as names to write in kernels."""

from typing import Any, overload

from trilby.errors import DirectCallError


class AtomicFunction:
    """An atomic operation. Kernels call it; on the host it explains itself."""

    __slots__ = ("change",)

    def __init__(self, change: str) -> None:
        self.change = change

    @property
    def __name__(self) -> str:
        return f"atomic_{self.change}"

    @overload
    def __call__(self, place: Any, value: float, /) -> int: ...
    @overload
    def __call__(self, array: Any, index: int | tuple[int, ...], value: float, /) -> int: ...
    def __call__(self, *_: Any) -> int:
        """Kernels only."""
        raise DirectCallError(
            f"`{self.__name__}` works inside kernels only",
            advice="on the host nothing runs beside you: write `table.count += 1`",
        )


atomic_add = AtomicFunction("add")
"""Add to a place in one step and give its old number.

`slot = tb.atomic_add(table.count, 1)`, `tb.atomic_add(a.array, i, 1)`,
`tb.atomic_add(grid.array, (y, x), 1)`.
"""

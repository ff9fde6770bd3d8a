"""The ledger: every copy between host and device, counted in one place."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from trilby.source import Location

Direction: TypeAlias = Literal["up", "down"]

_COLUMNS = ("", "buffer", "copies", "bytes", "because")
_NUMBERS = {"copies", "bytes"}


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy: which bytes of which buffer went where, and why.

    `location` is the line of the user's program that needed the copy.
    """

    direction: Direction
    buffer: str
    start: int
    nbytes: int
    cause: str
    location: Location | None
    seconds: float


@dataclass(slots=True, eq=False)
class Ledger:
    """Copies in the order in which they were made.

    >>> with accelerator.record() as ledger:
    ...     accelerator.compute(square_all, numbers)
    >>> ledger.bytes_up, ledger.bytes_down
    """

    copies: list[Copy] = field(default_factory=list[Copy])

    def add(self, copy: Copy) -> None:
        """Enter a copy."""
        self.copies.append(copy)

    @property
    def uploads(self) -> tuple[Copy, ...]:
        """The copies from host to device."""
        return tuple(copy for copy in self.copies if copy.direction == "up")

    @property
    def downloads(self) -> tuple[Copy, ...]:
        """The copies from device to host."""
        return tuple(copy for copy in self.copies if copy.direction == "down")

    @property
    def bytes_up(self) -> int:
        """All bytes that went to the device."""
        return sum(copy.nbytes for copy in self.uploads)

    @property
    def bytes_down(self) -> int:
        """All bytes that came back."""
        return sum(copy.nbytes for copy in self.downloads)

    def __str__(self) -> str:
        rows = [*_rows(self.copies), *self._totals()]
        return _aligned([_COLUMNS, *rows]) if self.copies else "nothing was copied"

    def _totals(self) -> Iterator[tuple[str, ...]]:
        for arrow, copies in (("→", self.uploads), ("←", self.downloads)):
            total = sum(copy.nbytes for copy in copies)
            yield f"{arrow} total", "", str(len(copies)), f"{total:,}", ""


def _rows(copies: Iterable[Copy]) -> Iterator[tuple[str, ...]]:
    """One row for each buffer, direction and cause."""
    groups: dict[tuple[str, str, str], list[Copy]] = {}
    for copy in copies:
        where = f" ({copy.location.short})" if copy.location else ""
        arrow = "→ up" if copy.direction == "up" else "← down"
        groups.setdefault((arrow, copy.buffer, copy.cause + where), []).append(copy)
    for (arrow, buffer, cause), group in groups.items():
        total = sum(copy.nbytes for copy in group)
        yield arrow, buffer, str(len(group)), f"{total:,}", cause


def _aligned(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    cells = (
        cell.rjust(width) if column in _NUMBERS else cell.ljust(width)
        for column, cell, width in zip(_COLUMNS, row, widths, strict=True)
    )
    return "  ".join(cells).rstrip()

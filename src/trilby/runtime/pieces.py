"""How a set of bytes is cut into copies: as few as possible without moving what must not."""

from trilby.data.ranges import Range, Ranges
from trilby.dataclass import dataclass

SMALL_GAP = 8
"""So many bytes between two ranges are sooner moved than left out: lengths, padding."""
MOST_COPIES = 16
"""More pieces than this become fewer by moving what lies between them."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of bytes at equal distances; one row is one range."""

    start: int
    size: int
    rows: int = 1
    pitch: int = 0

    @property
    def nbytes(self) -> int:
        """How many bytes are moved."""
        return self.size * self.rows


def cut(wanted: Ranges, movable: Ranges) -> list[Piece]:
    """The copies for the bytes that are wanted; others that are `movable` may go along."""
    regular = _rows(wanted.parts) if len(wanted) > 1 else None
    if regular is not None:
        return [regular]
    parts = _joined(wanted.parts, movable, SMALL_GAP)
    if len(parts) > MOST_COPIES:
        parts = _joined(parts, movable, None)
    return [Piece(start, stop - start) for start, stop in parts]


def _joined(parts: tuple[Range, ...], movable: Ranges, gap: int | None) -> tuple[Range, ...]:
    """The ranges, with gaps closed that are small enough and may be moved."""
    joined: list[Range] = []
    for start, stop in parts:
        if joined and (gap is None or start - joined[-1][1] <= gap):
            between = Ranges.span(joined[-1][1], start)
            if movable.covers(between):
                joined[-1] = (joined[-1][0], stop)
                continue
        joined.append((start, stop))
    return tuple(joined)


def _rows(parts: tuple[Range, ...]) -> Piece | None:
    """The one piece that the ranges are, if they are equal and at equal distances."""
    start, stop = parts[0]
    size, pitch = stop - start, parts[1][0] - start
    regular = all(
        part == (start + row * pitch, stop + row * pitch) for row, part in enumerate(parts)
    )
    return Piece(start, size, len(parts), pitch) if regular else None

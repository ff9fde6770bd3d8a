"""Tables of plain text."""

from collections.abc import Collection, Sequence


def aligned(rows: Sequence[Sequence[str]], numbers: Collection[str]) -> str:
    """Rows in columns; the first has their names, and those that are numbers end at the right."""
    names = rows[0]
    widths = [max(len(row[column]) for row in rows) for column in range(len(names))]
    return "\n".join(_line(row, names, widths, numbers) for row in rows)


def _line(
    row: Sequence[str], names: Sequence[str], widths: Sequence[int], numbers: Collection[str]
) -> str:
    cells = (
        cell.rjust(width) if name in numbers else cell.ljust(width)
        for name, cell, width in zip(names, row, widths, strict=True)
    )
    return "  ".join(cells).rstrip()

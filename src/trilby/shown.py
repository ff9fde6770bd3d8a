"""How what is below reaches the tools that draw it: by name, when somebody looks.

A notebook asks a buffer, a ledger or a profile for its `_repr_html_`. What it shows is made by
`trilby.tools.html`, which nothing below may import, and which nobody needs who does not look.
"""

import importlib
from collections.abc import Collection, Sequence
from typing import Any

# ------------------------------------------------------------------------------------------- tables
# Tables of plain text.


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


# -------------------------------------------------------------------------------------------- shown


def tool(module: str, function: str) -> Any:
    """A function of the tools."""
    return getattr(importlib.import_module(module), function)


class Shown:
    """What a notebook shows as HTML."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        html: str = tool("trilby.tools.html.notebook", "html_of")(self)
        return html

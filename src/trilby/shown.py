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
    columns: list[list[str]] = []
    for name, *cells in zip(*rows, strict=True):
        width = max(map(len, (name, *cells)))
        pad = str.rjust if name in numbers else str.ljust
        columns.append([pad(cell, width) for cell in (name, *cells)])
    return "\n".join("  ".join(cells).rstrip() for cells in zip(*columns, strict=True))


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

"""How what is below reaches the tools that draw it: by name, when somebody looks.

A notebook asks a buffer, a ledger or a profile for its `_repr_html_`. What it shows is made by
`trilby.tools.html`, which nothing below may import, and which nobody needs who does not look.
"""

import importlib
from typing import Any


def tool(module: str, function: str) -> Any:
    """A function of the tools."""
    return getattr(importlib.import_module(module), function)


class Shown:
    """What a notebook shows as HTML."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        html: str = tool("trilby.tools.html.notebook", "html_of")(self)
        return html

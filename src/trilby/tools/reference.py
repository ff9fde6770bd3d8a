"""Pages of the reference that are made from tables, so that they cannot lag behind."""

import math
from collections.abc import Iterator

from trilby.model import math_functions
from trilby.model.intrinsics import INTRINSICS, Intrinsic

_TAKES = {"float": "floats", "integer": "integers", "number": "any numbers"}

_HEAD = """\
# Math in kernels

Made by `trilby reference math` from the table of intrinsics. The interpreter defines what a
function gives; a device may stray by the stated number of units in the last place (ulps).
Integers given to a function that takes floats are converted as NumPy does. All of them work
lane by lane on vectors.

| function | takes | ulps | meaning |
|---|---|---|---|
"""


def math_page() -> str:
    """The page about the math functions, as Markdown."""
    return _HEAD + "".join(f"{row}\n" for row in _rows())


def _rows() -> Iterator[str]:
    for row in sorted(INTRINSICS.values(), key=lambda row: row.name):
        params = ", ".join(("x", "y", "z")[: row.arity])
        yield f"| `{_spelling(row)}({params})` | {_TAKES[row.takes]} | {row.ulps} | {row.doc} |"


def _spelling(row: Intrinsic) -> str:
    """How a user writes it: from `math`, from this package, or as a builtin."""
    if hasattr(math, row.name):
        return f"math.{row.name}"
    return f"tb.{row.name}" if hasattr(math_functions, row.name) else row.name

"""Pages of the reference that are made from tables, so that they cannot lag behind."""

import math
from collections.abc import Iterable, Iterator

from trilby.model import lane_math, math_functions
from trilby.model.composed import COMPOSED
from trilby.model.intrinsics import INTRINSICS, Intrinsic

_TAKES = {"float": "floats", "integer": "integers", "number": "any numbers"}

_HEAD = """\
# Math in kernels

Made by `trilby reference math` from the tables of math functions. The interpreter defines what a
function gives; a device may stray by the stated number of units in the last place (ulps).

## Functions of numbers

Integers given to a function that takes floats are converted as NumPy does. On vectors they work
lane by lane, and one number beside a vector stands for all its lanes. A kernel takes any of the
spellings for both; for type checkers, and on the host, `math.sqrt(v)` of a vector is an error and
`tb.sqrt(v)` is not. On the host the functions of `tb` give NaN and infinities where those of
`math` raise.

| function | for vectors | takes | ulps | meaning |
|---|---|---|---|---|
"""

_COMPOSED_HEAD = """
## Functions made of simpler ones

Each step is rounded, in the order that the meaning shows. The ulps are those of each number of
the result.

| function | takes | gives | ulps | meaning |
|---|---|---|---|---|
"""


def math_page() -> str:
    """The page about the math functions, as Markdown."""
    return _HEAD + _lines(_rows()) + _COMPOSED_HEAD + _lines(_composed_rows())


def _lines(rows: Iterable[tuple[object, ...]]) -> str:
    return "".join(f"| {' | '.join(map(str, cells))} |\n" for cells in rows)


def _rows() -> Iterator[tuple[object, ...]]:
    for row in sorted(INTRINSICS.values(), key=lambda row: row.name):
        params = ", ".join((*row.params, "…") if row.takes_more else row.params)
        function, for_vectors = f"`{_spelling(row)}({params})`", _vector_spelling(row)
        yield function, for_vectors, _TAKES[row.takes], row.ulps, row.doc


def _composed_rows() -> Iterator[tuple[object, ...]]:
    for row in sorted(COMPOSED.values(), key=lambda row: row.name):
        function = f"`tb.{row.name}({', '.join(row.params)})`"
        yield function, row.takes, row.gives, row.ulps, row.doc


def _spelling(row: Intrinsic) -> str:
    """How a user writes it: from this package, from `math`, or as a builtin."""
    if hasattr(math_functions, row.name):  # also where a newer Python's `math` has it
        return f"tb.{row.name}"
    return f"math.{row.name}" if hasattr(math, row.name) else row.name


def _vector_spelling(row: Intrinsic) -> str:
    """How a user writes it so that checkers take vectors, too."""
    if not row.takes_vectors:
        return "–"
    is_ours = hasattr(math_functions, row.name) or hasattr(lane_math, row.name)
    return f"`tb.{row.name}`" if is_ours else f"`{row.name}`"

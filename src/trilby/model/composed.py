"""The math functions that are made of simpler ops, each declared once.

They work on whole vectors and matrices, or on numbers and vectors alike, and are no ops of their
own: `reflect.vector_math` has, under the same names, the ops that each of them stands for. The
numbers that come out are those of the steps in the order of the host's function.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from trilby.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Composed:
    """One function: its parameters, what it takes and gives in words, and where the host's is.

    `ulps` is how far each number of the result may stray.
    """

    name: str
    params: tuple[str, ...]
    takes: str
    gives: str
    ulps: int
    doc: str
    module: str

    @property
    def function(self) -> Callable[..., Any]:
        """What the host calls. Vectors and matrices are loaded where somebody uses them."""
        found: Callable[..., Any] = getattr(import_module(self.module), self.name)
        return found


_ROWS = (
    Composed(
        "cross",
        ("left", "right"),
        "two `f32x3`",
        "`f32x3`",
        0,
        "the vector at right angles to both, by the right-hand rule",
        "trilby.data.vectors",
    ),
    Composed(
        "dot",
        ("left", "right"),
        "two vectors of one type",
        "a number of the lanes' type",
        0,
        "the sum of the products of the lanes, from left to right",
        "trilby.data.vectors",
    ),
    Composed(
        "length",
        ("vector",),
        "a vector of floats",
        "a number of the lanes' type",
        3,
        "the square root of `tb.dot(vector, vector)`",
        "trilby.data.vectors",
    ),
    Composed(
        "mix",
        ("a", "b", "t"),
        "floats, or vectors of floats; `t` may be one number for all lanes",
        "the type in which they meet",
        0,
        "`a + (b - a) * t`: from `a` at 0 to `b` at 1",
        "trilby.model.math_functions",
    ),
    Composed(
        "normalize",
        ("vector",),
        "a vector of floats",
        "its type",
        9,  # 3 of the length, doubled where its leading digit is larger, and 2.5 of the division
        "the vector of length 1 in the same direction: `vector / tb.length(vector)`",
        "trilby.data.vectors",
    ),
    Composed(
        "transpose",
        ("matrix",),
        "a matrix",
        "its type",
        0,
        "rows become columns",
        "trilby.data.matrices",
    ),
)

COMPOSED: dict[str, Composed] = {row.name: row for row in _ROWS}
"""Every composed function by its name."""

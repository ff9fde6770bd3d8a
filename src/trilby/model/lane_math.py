"""The functions of Python's `math`, and `min` and `max`, for numbers and for vectors.

In a kernel `math.sqrt(v)` takes vectors, too, but type checkers know that Python's own does not.
`tb.sqrt(v)` is the same function with a type that says so. On the host it gives what a kernel
gives: NaN and infinities where Python's own raises. `abs(v)` needs no twin: vectors have it.
"""

from collections.abc import Callable
from functools import reduce
from typing import Any, Protocol, overload

from trilby.data.lanes import FloatT, VectorT, check_lanes, is_vector, lane_by_lane
from trilby.model.intrinsics import INTRINSICS, Intrinsic
from trilby.model.math_functions import N


class OfFloat(Protocol):
    """A function of one float, or of a vector of them."""

    @overload
    def __call__(self, x: float, /) -> float: ...
    @overload
    def __call__(self, x: FloatT, /) -> FloatT: ...


class OfFloats(Protocol):
    """A function of two floats, or of vectors of them; a single number stands for all lanes."""

    @overload
    def __call__(self, x: float, y: float, /) -> float: ...
    @overload
    def __call__(self, x: FloatT, y: FloatT | float, /) -> FloatT: ...
    @overload
    def __call__(self, x: float, y: FloatT, /) -> FloatT: ...


class OfNumbers(Protocol):
    """One of several numbers, or of each lane; a single number stands for all lanes."""

    @overload
    def __call__(self, x: N, y: N, /, *others: N) -> N: ...
    @overload
    def __call__(self, x: VectorT, y: VectorT | float, /, *others: VectorT | float) -> VectorT: ...
    @overload
    def __call__(self, x: float, y: VectorT, /, *others: VectorT | float) -> VectorT: ...


def _in_lanes(name: str) -> Callable[..., Any]:
    """The meaning of a function's row, for numbers and lane by lane."""
    row = INTRINSICS[name]

    def function(*args: Any) -> Any:
        vector = next(filter(is_vector, args), None)
        if vector is None:
            return row.meaning(*args)
        if row.takes == "float":
            check_lanes(vector, row.name, floats=True)
        return lane_by_lane(row.meaning, vector, *args)

    return _named(row, function)


def _named(row: Intrinsic, function: Callable[..., Any]) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = row.name
    function.__doc__ = f"{row.name}({', '.join(row.params)}): {row.doc}"
    return function


def _of_several(name: str) -> OfNumbers:
    of_two = _in_lanes(name)

    def function(x: Any, y: Any, /, *others: Any) -> Any:
        return reduce(of_two, (x, y, *others))

    return _named(INTRINSICS[name], function)


acos: OfFloat = _in_lanes("acos")
acosh: OfFloat = _in_lanes("acosh")
asin: OfFloat = _in_lanes("asin")
asinh: OfFloat = _in_lanes("asinh")
atan: OfFloat = _in_lanes("atan")
atan2: OfFloats = _in_lanes("atan2")
atanh: OfFloat = _in_lanes("atanh")
cbrt: OfFloat = _in_lanes("cbrt")
ceil: OfFloat = _in_lanes("ceil")
copysign: OfFloats = _in_lanes("copysign")
cos: OfFloat = _in_lanes("cos")
cosh: OfFloat = _in_lanes("cosh")
degrees: OfFloat = _in_lanes("degrees")
erf: OfFloat = _in_lanes("erf")
erfc: OfFloat = _in_lanes("erfc")
exp: OfFloat = _in_lanes("exp")
exp2: OfFloat = _in_lanes("exp2")
expm1: OfFloat = _in_lanes("expm1")
fabs: OfFloat = _in_lanes("fabs")
floor: OfFloat = _in_lanes("floor")
fmod: OfFloats = _in_lanes("fmod")
gamma: OfFloat = _in_lanes("gamma")
hypot: OfFloats = _in_lanes("hypot")
lgamma: OfFloat = _in_lanes("lgamma")
log: OfFloat = _in_lanes("log")
log10: OfFloat = _in_lanes("log10")
log1p: OfFloat = _in_lanes("log1p")
log2: OfFloat = _in_lanes("log2")
max = _of_several("max")  # noqa: A001 -- it is Python's, with vectors
min = _of_several("min")  # noqa: A001 -- see `max`
pow: OfFloats = _in_lanes("pow")  # noqa: A001 -- that of `math`, with vectors
radians: OfFloat = _in_lanes("radians")
remainder: OfFloats = _in_lanes("remainder")
sin: OfFloat = _in_lanes("sin")
sinh: OfFloat = _in_lanes("sinh")
sqrt: OfFloat = _in_lanes("sqrt")
tan: OfFloat = _in_lanes("tan")
tanh: OfFloat = _in_lanes("tanh")
trunc: OfFloat = _in_lanes("trunc")

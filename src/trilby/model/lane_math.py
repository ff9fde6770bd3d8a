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


def _in_lanes(row: Intrinsic) -> Callable[..., Any]:
    """The meaning of a row, for numbers and lane by lane."""

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


def _of_float(name: str) -> OfFloat:
    return _in_lanes(INTRINSICS[name])


def _of_floats(name: str) -> OfFloats:
    return _in_lanes(INTRINSICS[name])


def _of_numbers(name: str) -> OfNumbers:
    of_two = _in_lanes(INTRINSICS[name])

    def function(x: Any, y: Any, /, *others: Any) -> Any:
        return reduce(of_two, (x, y, *others))

    return _named(INTRINSICS[name], function)


acos = _of_float("acos")
acosh = _of_float("acosh")
asin = _of_float("asin")
asinh = _of_float("asinh")
atan = _of_float("atan")
atan2 = _of_floats("atan2")
atanh = _of_float("atanh")
cbrt = _of_float("cbrt")
ceil = _of_float("ceil")
copysign = _of_floats("copysign")
cos = _of_float("cos")
cosh = _of_float("cosh")
degrees = _of_float("degrees")
erf = _of_float("erf")
erfc = _of_float("erfc")
exp = _of_float("exp")
exp2 = _of_float("exp2")
expm1 = _of_float("expm1")
fabs = _of_float("fabs")
floor = _of_float("floor")
fmod = _of_floats("fmod")
gamma = _of_float("gamma")
hypot = _of_floats("hypot")
lgamma = _of_float("lgamma")
log = _of_float("log")
log10 = _of_float("log10")
log1p = _of_float("log1p")
log2 = _of_float("log2")
max = _of_numbers("max")  # noqa: A001 -- it is Python's, with vectors
min = _of_numbers("min")  # noqa: A001 -- see `max`
pow = _of_floats("pow")  # noqa: A001 -- that of `math`, with vectors
radians = _of_float("radians")
remainder = _of_floats("remainder")
sin = _of_float("sin")
sinh = _of_float("sinh")
sqrt = _of_float("sqrt")
tan = _of_float("tan")
tanh = _of_float("tanh")
trunc = _of_float("trunc")

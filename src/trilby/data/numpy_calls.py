"""Which of their arguments NumPy's functions write, by their real signatures.

The one table of it: for tracked arrays, whose calls are made here, and for the analysis of host
code, which knows the name of a function and how its arguments are given.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias, cast

import numpy as np

Function: TypeAlias = Callable[..., Any]


def _functions(names: str) -> frozenset[Function]:
    return frozenset(getattr(np, name) for name in names.split())


OUT = "out"
"""What all of NumPy's functions call the array for their result."""

OVERWRITTEN: Mapping[Function, str] = {np.copyto: "dst"}
"""The parameter that a function sets all of, unless it is given `where`."""

CHANGED: Mapping[Function, str] = {
    np.put: "a",
    np.place: "arr",
    np.putmask: "a",
    np.fill_diagonal: "a",
    np.put_along_axis: "arr",
}
"""The parameter that a function sets a part of."""

IN_PLACE: Mapping[Function, tuple[str, str, bool]] = {
    np.nan_to_num: ("x", "copy", False),
    **dict.fromkeys(
        _functions("median percentile quantile nanmedian nanpercentile nanquantile"),
        ("a", "overwrite_input", True),
    ),
}
"""The parameter that a function changes where an option has a value: `copy=False`."""

OVERWRITING = _functions("copyto sum prod cumsum cumprod max min amax amin any all clip dot")
"""Functions that set all of their result, or nothing: those of a single loop over numbers."""

CALLING = _functions(
    "apply_along_axis apply_over_axes pad piecewise array2string save savez savez_compressed "
    "savetxt"
)
"""Functions that call what they are given, or leave something in a file."""

MAKING = _functions(
    "arange array asanyarray asarray ascontiguousarray asfortranarray broadcast_shapes "
    "diag_indices dtype empty errstate eye finfo frombuffer full identity iinfo indices "
    "isscalar issubdtype ones promote_types tri tril_indices triu_indices zeros"
)
"""Functions without tracked results that make something new, and do nothing else."""

_SIGNATURES: Mapping[Function, tuple[str, ...]] = {
    np.concatenate: ("arrays", "axis", OUT),
    np.copyto: ("dst", "src", "casting", "where"),
    np.dot: ("a", "b", OUT),
    np.putmask: ("a", "mask", "values"),
}
"""The parameters of functions of which NumPy says them only from version 2.4 on."""

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_DISPATCHED = cast("type[object]", type(np.sum))


@cache
def parameters(function: Function) -> tuple[str, ...]:
    """The names of the parameters that can be given by position; of a ufunc `in` and `out`."""
    if isinstance(function, np.ufunc):
        return ("in",) * function.nin + (OUT,) * function.nout
    if function in _SIGNATURES:
        return _SIGNATURES[function]
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple(one.name for one in found if one.kind in _POSITIONAL)


def argument_names(function: Function, positional: int, keywords: Sequence[str]) -> tuple[str, ...]:
    """The parameter of each argument, positional ones first; empty where it has no name."""
    known = parameters(function)[:positional]
    return (*known, *([""] * (positional - len(known))), *keywords)


def written_parameters(function: Function, names: Sequence[str]) -> frozenset[str]:
    """The parameters that a call may write which is given some."""
    found = {OUT}
    found |= {table[function] for table in (OVERWRITTEN, CHANGED) if function in table}
    if function in IN_PLACE and IN_PLACE[function][1] in names:
        found.add(IN_PLACE[function][0])
    return frozenset(found.intersection(names))


def surely_written(function: Function, given: Mapping[str, Any]) -> frozenset[str]:
    """The parameters that a call writes, where the values of its arguments are known."""
    found = written_parameters(function, tuple(given))
    if function in IN_PLACE:
        name, option, value = IN_PLACE[function]
        found -= {name} if bool(given.get(option, not value)) is not value else set[str]()
    return found - {OUT} if given.get(OUT) is None else found


def overwrites(function: Function, given: Mapping[str, Any]) -> bool:
    """Whether a call that ends well, or with a warning, has set all of what it writes."""
    if function not in OVERWRITING or given.get("where", True) is not True:
        return False
    return function is np.copyto or are_alike(given.values())


def are_alike(values: Iterable[Any]) -> bool:
    """Whether all arrays are of one dtype, so that none is converted before the loop."""
    return len({value.dtype for value in values if hasattr(value, "dtype")}) <= 1


def only_touches_arguments(function: object) -> bool:
    """Whether it is known what a function of NumPy does: it reads, and writes some parameters."""
    if isinstance(function, np.ufunc):
        return True
    if isinstance(function, type):
        return issubclass(function, np.generic) or function in MAKING
    if not callable(function):
        return False
    known = cast("Function", function)
    is_array_function = type(known) is _DISPATCHED and known not in CALLING
    return known in MAKING or (is_array_function and bool(parameters(known)))


def is_single_loop(ufunc: np.ufunc) -> bool:
    """Whether a ufunc on numbers sets all of its result, or nothing.

    Those that are made of Python functions stop wherever one raises, and so does `np.power` at a
    negative exponent. A function that is called for errors in the numbers may raise anything.
    """
    is_numpys = getattr(np, ufunc.__name__, None) is ufunc and ufunc is not np.power
    return is_numpys and "call" not in np.geterr().values()

"""NumPy's functions on tracked arrays: which windows a call reads, and which it writes.

A call is made on the live memory, so nothing is copied on the way in; what comes out
never shares memory with a buffer, unless it is the array that was given as `out`.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import product
from typing import Any, cast

import numpy as np

from trilby.data.numpy_calls import (
    OUT,
    are_alike,
    argument_names,
    is_single_loop,
    overwrites,
    surely_written,
)
from trilby.data.segment import Live
from trilby.data.window import Window, window_of

_NUMPYS = np.empty(0)


def call_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: Mapping[str, Any]
) -> Any:
    """Run a ufunc for `__array_ufunc__`."""
    outs: tuple[Any, ...] = options.get("out", ())
    arguments = [_live(entry) for entry in inputs]
    settings = {name: _live(entry) for name, entry in options.items() if name != "out"}
    is_total = is_single_loop(ufunc) and all(map(_is_numeric, arguments))
    is_total = is_total and (method == "__call__" or are_alike((*inputs, *outs)))
    partly = method == "at" or settings.get("where", True) is not True or not is_total
    targets = inputs[:1] if method == "at" else outs
    with ExitStack() as writes:
        lives = [_begin_write(writes, target, partly=partly) for target in targets]
        if method == "at":
            arguments[0] = lives[0]
        elif outs:
            settings["out"] = tuple(lives)
        result = getattr(ufunc, method)(*arguments, **settings)
    return _given_back(result, outs)


def call_function(
    function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """Run one of NumPy's functions for `__array_function__`."""
    names = argument_names(function, len(args), tuple(options))
    given = dict(zip(names, (*args, *options.values()), strict=True))
    written = surely_written(function, given)
    partly = not overwrites(function, given)
    with ExitStack() as writes:

        def ready(name: str, entry: Any) -> Any:
            return _begin_write(writes, entry, partly=partly) if name in written else _reader(entry)

        arguments = [ready(name, entry) for name, entry in zip(names, args, strict=False)]
        settings = {name: ready(name, entry) for name, entry in options.items()}
        # NumPy's own way to run a function without asking once more who wants to run it
        result = _NUMPYS.__array_function__(function, (), tuple(arguments), settings)
    if OUT in written:
        return _first(given[OUT])
    return _detached(result, _windows([*args, *options.values()]))


def text_of(window: Window, writer: Callable[[Live], str]) -> str:
    """`repr` or `str` of the elements. A summary reads only what it shows."""
    limits = np.get_printoptions()
    if window.live.size <= limits["threshold"]:
        return writer(window.read())
    edge = limits["edgeitems"]
    ends = [
        (slice(None, edge), slice(-edge, None)) if count > 2 * edge else (slice(None),)
        for count in window.live.shape
    ]
    for corner in product(*ends):
        window.part(corner).read()
    return writer(window.live)


def _begin_write(writes: ExitStack, target: Any, *, partly: bool) -> Any:
    if isinstance(target, tuple):  # `out=(a,)`
        entries = cast("tuple[Any, ...]", target)
        return tuple(_begin_write(writes, entry, partly=partly) for entry in entries)
    window = window_of(target)
    if window is None:
        return target
    return writes.enter_context(window.writing(partly=partly))


def _is_numeric(entry: Any) -> bool:
    """Whether an operand holds plain numbers, so that no code of others runs for them."""
    if isinstance(entry, np.ndarray | np.generic):
        return not cast("Live", entry).dtype.hasobject
    return type(entry) in {bool, int, float, complex}


def _live(entry: Any) -> Any:
    window = window_of(entry)
    return entry if window is None else window.read()


def _reader(entry: Any) -> Any:
    """An argument with read-only views in the place of tracked arrays."""
    if isinstance(entry, list | tuple):  # one with names for its items is a plain one to NumPy
        parts = [_reader(inner) for inner in cast("Sequence[Any]", entry)]
        return parts if isinstance(entry, list) else tuple(parts)
    window = window_of(entry)
    if window is None:
        return entry
    view = window.read().view()
    view.flags.writeable = False
    return view


def _windows(entries: Sequence[Any]) -> list[Window]:
    found: list[Window] = []
    for entry in entries:
        window = window_of(entry)
        if window is not None:
            found.append(window)
        elif isinstance(entry, list | tuple):
            found += _windows(cast("Sequence[Any]", entry))
    return found


def _detached(result: Any, windows: Sequence[Window]) -> Any:
    """The result, copied where it is a view of a buffer's memory."""
    if type(result) in {list, tuple}:
        return type(result)(_detached(inner, windows) for inner in result)
    if isinstance(result, np.ndarray):
        view = cast("Live", result)
        shared = any(np.may_share_memory(view, window.live) for window in windows)
        return view.copy() if shared else view
    return result


def _first(out: Any) -> Any:
    """The array that was given for the result, also as `out=(a,)`."""
    return cast("tuple[Any, ...]", out)[0] if isinstance(out, tuple) else out


def _given_back(result: Any, outs: tuple[Any, ...]) -> Any:
    """The arrays that the caller gave for the results, instead of their live memory."""
    if not outs:
        return result
    if len(outs) == 1:
        return outs[0]
    return tuple(made if given is None else given for made, given in zip(result, outs, strict=True))

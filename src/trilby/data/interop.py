"""NumPy's functions on tracked arrays: which windows a call reads, and which it writes.

A call is made on the live memory, so nothing is copied on the way in; what comes out
never shares memory with a buffer, unless it is the array that was given as `out`.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import product
from typing import Any, cast

import numpy as np

from trilby.data.segment import Live
from trilby.data.window import Window, window_of

OVERWRITES = frozenset[Callable[..., Any]]({np.copyto})
"""Functions that set all of their first argument, unless there is a `where`."""

CHANGES = frozenset[Callable[..., Any]](
    {np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis}
)
"""Functions that set a part of their first argument."""


def call_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: Mapping[str, Any]
) -> Any:
    """Run a ufunc for `__array_ufunc__`."""
    outs: tuple[Any, ...] = options.get("out", ())
    partly = "where" in options or method == "at"
    targets = inputs[:1] if method == "at" else outs
    arguments = [_live(entry) for entry in inputs]
    settings = {name: _live(entry) for name, entry in options.items() if name != "out"}
    with ExitStack() as writes:
        lives = [_begin_write(writes, target, partly=partly) for target in targets]
        if method == "at":
            arguments[0] = lives[0]
        elif outs:
            settings["out"] = tuple(lives)
        result = _run(writes, lambda: getattr(ufunc, method)(*arguments, **settings))
    return _given_back(result, outs)


def call_function(
    function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """Run one of NumPy's functions for `__array_function__`."""
    partly = "where" in options or function in CHANGES
    out = options.get("out")
    first_is_written = bool(args) and (function in OVERWRITES or function in CHANGES)
    with ExitStack() as writes:
        arguments = [_reader(entry) for entry in (args[1:] if first_is_written else args)]
        settings = {name: _reader(entry) for name, entry in options.items() if name != "out"}
        if first_is_written:
            arguments.insert(0, _begin_write(writes, args[0], partly=partly))
        if out is not None:
            settings["out"] = _begin_write(writes, out, partly=partly)
        result = _run(writes, lambda: function(*arguments, **settings))
    if out is not None:
        return out
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


def _run(writes: ExitStack, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except FloatingPointError:
        # np.errstate(all="raise") complains when the loop has run: the numbers are written
        writes.close()
        raise


def _begin_write(writes: ExitStack, target: Any, *, partly: bool) -> Any:
    window = window_of(target)
    if window is None:
        return target
    return writes.enter_context(window.writing(partly=partly))


def _live(entry: Any) -> Any:
    window = window_of(entry)
    return entry if window is None else window.read()


def _reader(entry: Any) -> Any:
    """An argument with read-only views in the place of tracked arrays."""
    if type(entry) in {list, tuple}:
        return type(entry)(_reader(inner) for inner in cast("Sequence[Any]", entry))
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
        elif type(entry) in {list, tuple}:
            found += _windows(entry)
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


def _given_back(result: Any, outs: tuple[Any, ...]) -> Any:
    """The arrays that the caller gave for the results, instead of their live memory."""
    if not outs:
        return result
    if len(outs) == 1:
        return outs[0]
    return tuple(made if given is None else given for made, given in zip(result, outs, strict=True))

"""NumPy's functions on tracked arrays: which windows a call reads, and which it writes.

A call is made on the live memory, so nothing is copied on the way in, as long as it runs no code
of the user: callbacks, operands with operators of their own and file objects could keep what they
are given, or launch kernels in the middle. Such a call is made on snapshots, and what it writes is
stored when it has ended. What comes out never shares memory with a buffer, unless it is the array
that was given as `out`; where NumPy would give a view, the copy is read-only.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, product
from operator import index
from typing import Any, TypeAlias, cast

import numpy as np

from trilby.data.numpy_calls import (
    OUT,
    are_alike,
    argument_names,
    is_single_loop,
    overwrites,
    surely_written,
)
from trilby.data.segment import HostAccess, Live, accessing, sealed
from trilby.data.window import Window, is_index, window_of

_Call: TypeAlias = Callable[[Sequence[Live]], Any]
"""A call of NumPy that is given the memory that it writes to."""
_NUMPYS = np.empty(0)

PLAIN = frozenset[type](
    {bool, int, float, complex, str, bytes, type(None), type(...), slice, range, np.ndarray}
)
"""Types whose objects NumPy uses without running code of the user."""


def call_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: Mapping[str, Any]
) -> Any:
    """Run a ufunc for `__array_ufunc__`."""
    inputs = tuple(_as_operand(entry) for entry in inputs)
    options = {name: _as_array(entry) for name, entry in options.items()}
    outs: tuple[Any, ...] = options.get(OUT, ())
    calls_back = ufunc.ntypes == 1 and "O" in ufunc.types[0]  # as one of `np.frompyfunc` does
    is_total = is_single_loop(ufunc) and all(map(_is_numeric, inputs))
    is_total = is_total and (method == "__call__" or are_alike((*inputs, *outs)))
    result = _called(
        getattr(ufunc, method),
        inputs,
        options,
        [0] if method == "at" else [len(inputs) + [*options].index(OUT)] if outs else [],
        Window.read,  # a ufunc leaves what it reads as it is
        is_live=not calls_back and _is_plain((*inputs, *options.values())),
        partly=method == "at" or options.get("where", True) is not True or not is_total,
    )
    return _given_back(result, outs)


def call_function(
    function: Callable[..., Any],
    types: Iterable[type],
    args: Sequence[Any],
    options: Mapping[str, Any],
) -> Any:
    """Run one of NumPy's functions for `__array_function__`."""
    if function is np.may_share_memory and any(map(_is_read_only, args)):
        return True  # who asks means to write, and must not write to a snapshot
    args = [_as_array(entry) for entry in args]
    options = {name: _as_array(entry) for name, entry in options.items()}
    entries = (*args, *options.values())
    names = argument_names(function, len(args), tuple(options))
    given = dict(zip(names, entries, strict=True))
    written = surely_written(function, given)

    def run(*args: Any, **options: Any) -> Any:
        if all(map(_is_ours, types)):  # NumPy's own way to run it without asking once more
            return _NUMPYS.__array_function__(function, (), args, options)
        return function(*args, **options)

    result = _called(
        run,
        args,
        options,
        [place for place, name in enumerate(names) if name in written],
        _read_only_view,
        is_live=_is_plain(entries),
        partly=not overwrites(function, given),
    )
    if OUT in written:
        out = given[OUT]
        return cast("tuple[Any, ...]", out)[0] if isinstance(out, tuple) else out
    return _detached(result, _windows(entries))


def text_of(window: Window, writer: Callable[[Live], str]) -> str:
    """`repr` or `str` of the elements. A summary reads only what it shows.

    Functions of the user that take part in it get a snapshot.
    """
    limits = np.get_printoptions()
    if limits["formatter"] or limits.get("override_repr"):
        return writer(snapshot_of(window))
    if window.live.size <= limits["threshold"]:
        return window.read_by(writer)
    edge = limits["edgeitems"]
    ends = [
        (slice(None, edge), slice(-edge, None)) if count > 2 * edge else (slice(None),)
        for count in window.live.shape
    ]

    def write() -> str:
        for corner in product(*ends):
            window.part(corner).read()
        return writer(window.live)

    return accessing(HostAccess.READ, write)


def snapshot_of(window: Window) -> Live:
    """The elements as they are now: a plain array, which is read-only.

    Where NumPy would give a view of the memory itself, writing to what is only a copy would be
    lost; so it raises.
    """
    return sealed(window.read_by(np.copy))


def plain_key(entry: Any) -> Any:
    """A key, or a part of one, for NumPy: masks that are tracked arrays become what they show.

    It is made before any memory is read: that may run code of the user.
    """
    if isinstance(entry, tuple):
        return tuple(plain_key(one) for one in cast("tuple[object, ...]", entry))
    window = window_of(entry)
    if window is not None:
        return window.read_by(np.copy)
    if is_index(entry):
        return index(entry)
    if type(entry) in PLAIN or not (hasattr(entry, "__array__") or isinstance(entry, Sequence)):
        return entry
    found: Live = np.asarray(cast("Any", entry))
    return found if found.size else found.astype(np.intp)  # as NumPy does it with `[]`


# ------------------------------------------------------------- what runs code of the user


def _as_array(entry: Any) -> Any:
    """An argument in which objects that convert themselves to arrays or integers have done so.

    Whatever they do then is done before any memory is read. Arrays of other packages, which
    answer NumPy's calls themselves, stay as they are.
    """
    if isinstance(entry, list | tuple):
        if _is_plain(cast("Sequence[Any]", entry)):
            return cast("Any", entry)
        parts = [_as_array(inner) for inner in cast("Sequence[Any]", entry)]
        return parts if isinstance(entry, list) else tuple(parts)
    if type(entry) in PLAIN or isinstance(entry, (np.ndarray, np.generic, type)):
        return cast("Any", entry)
    converts = hasattr(entry, "__array__") or hasattr(entry, "__array_interface__")
    if is_index(entry) and not (converts or hasattr(entry, "__float__")):
        return index(entry)
    answers = hasattr(entry, "__array_function__") or hasattr(entry, "__array_ufunc__")
    return np.asarray(entry) if converts and not answers else entry


def _as_operand(entry: Any) -> Any:
    """An input of a ufunc, with nothing left to convert: lists hold objects that do so too."""
    if type(entry) is not list or _is_plain(cast("list[Any]", entry)):
        return _as_array(entry)
    return np.asarray(cast("list[Any]", entry))


def _is_ours(kind: type) -> bool:
    """False for a class of another package, which may want to run NumPy's functions itself."""
    return kind is np.ndarray or hasattr(kind, "__window__")


def _is_plain(entries: Sequence[Any]) -> bool:
    """True where NumPy runs no code of the user when it uses these arguments."""
    kinds = set(map(type, entries))
    if kinds <= _NUMBERS:
        return True
    return all(map(_is_plain_entry, entries))


_NUMBERS = frozenset[type]({bool, int, float, complex})


def _is_plain_entry(entry: Any) -> bool:
    if type(entry) is np.ndarray:
        return not cast("Live", entry).dtype.hasobject
    if type(entry) in {list, tuple}:
        return _is_plain(entry)
    if type(entry) is dict:
        return _is_plain(tuple(chain.from_iterable(cast("dict[Any, Any]", entry).items())))
    if (
        type(entry) in PLAIN
        or isinstance(entry, np.generic | np.dtype)
        or window_of(entry) is not None
    ):
        return True
    return isinstance(entry, type) and (entry in _NUMBERS or issubclass(entry, np.generic))


# ----------------------------------------------------------------------- what is read


def _is_numeric(entry: Any) -> bool:
    """Whether an operand holds plain numbers, so that no code of others runs for them."""
    if isinstance(entry, np.ndarray | np.generic):
        return not cast("Live", entry).dtype.hasobject
    return type(entry) in _NUMBERS or window_of(entry) is not None


def _replaced(entry: Any, read: Callable[[Window], Live]) -> Any:
    """An argument with other arrays in the place of tracked ones."""
    if isinstance(entry, list | tuple):  # one with names for its items is a plain one to NumPy
        parts = [_replaced(inner, read) for inner in cast("Sequence[Any]", entry)]
        return parts if isinstance(entry, list) else tuple(parts)
    window = window_of(entry)
    return entry if window is None else read(window)


def _read_only_view(window: Window) -> Live:
    view = window.read().view()
    view.flags.writeable = False
    return view


def _is_read_only(entry: Any) -> bool:
    return type(entry) is np.ndarray and not cast("Live", entry).flags.writeable


# ---------------------------------------------------------------------- what is written


def _called(
    function: Callable[..., Any],
    args: Sequence[Any],
    options: Mapping[str, Any],
    written: Collection[int],
    read_live: Callable[[Window], Live],
    *,
    is_live: bool,
    partly: bool,
) -> Any:
    """The result of a call that writes to the arguments with some numbers, options counted last.

    That is live memory in the place of tracked arrays; or copies, of which is stored what changed,
    or all where the call sets all, when it has ended or failed: what kernels wrote meanwhile stays.
    """
    entries = (*args, *options.values())
    targets = _windows([entries[place] for place in written])

    def ready() -> _Call:
        read = read_live if is_live else snapshot_of
        known = [
            entry if place in written else _replaced(entry, read)
            for place, entry in enumerate(entries)
        ]

        def call(lives: Sequence[Live]) -> Any:
            left = iter(lives)
            for place in written:
                known[place] = _replaced(entries[place], lambda _: next(left))
            settings = dict(zip(options, known[len(args) :], strict=True))
            return function(*known[: len(args)], **settings)

        return call

    if is_live:
        kind = HostAccess.WRITE if targets else HostAccess.READ
        return accessing(kind, lambda: _with_lives(ready(), (), targets, partly=partly))
    call = ready()
    copies = [window.read_by(np.copy) for window in targets]
    before = [np.copy(copy) for copy in copies]
    is_done = False
    try:
        result = call(copies)
        is_done = True
    finally:
        for window, old, copy in zip(targets, before, copies, strict=True):
            changed = True if is_done and not partly else _differs(old, copy)
            if np.any(changed):
                window.write_by(partial(_fill, copy, changed), partly=changed is not True)
    return result


def _with_lives(
    call: _Call, lives: tuple[Live, ...], targets: Sequence[Window], *, partly: bool
) -> Any:
    """The result of a call that is given the live memory of each target, announced as written."""
    if len(lives) == len(targets):
        return call(lives)
    return targets[len(lives)].written_by(
        lambda live: _with_lives(call, (*lives, live), targets, partly=partly), partly=partly
    )


def _fill(copy: Live, where: "Live | bool", live: Live) -> None:
    np.copyto(live, copy, where=where)


def _differs(old: Live, new: Live) -> Live:
    """Which elements have other bytes."""
    shape = (*old.shape, old.itemsize)
    both = (np.ascontiguousarray(one).view(np.uint8).reshape(shape) for one in (old, new))
    return np.asarray(np.not_equal(*both).any(axis=-1))


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
    """The result, where it is a view of a buffer's memory a read-only copy of it."""
    if type(result) in {list, tuple}:
        return type(result)(_detached(inner, windows) for inner in result)
    if isinstance(result, np.ndarray):
        view = cast("Live", result)
        shared = any(np.may_share_memory(view, window.live) for window in windows)
        if not shared:
            return view
        return sealed(view.copy())
    return result


def _given_back(result: Any, outs: tuple[Any, ...]) -> Any:
    """The arrays that the caller gave for the results, instead of their live memory."""
    if not outs:
        return result
    if len(outs) == 1:
        return outs[0]
    return tuple(made if given is None else given for made, given in zip(result, outs, strict=True))

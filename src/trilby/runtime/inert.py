"""Objects that run no code of the user's when a program computes with them, or asks for a part.

A compute function may run twice only if its operators, loops and attributes leave no trace. What
they do hangs on the objects: numbers, buffers, lists and plain records of these do nothing else;
an iterator moves on, and an object with operators or properties of its own may do anything.
"""

import builtins
import sys
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import cast

import numpy as np

from trilby.analysis.effect_texts import OURS
from trilby.data.segment import is_ndarray
from trilby.reflect.functions import is_compute

MODULES = {
    "np": "numpy",
    "numpy": "numpy",
    "math": "math",
    "statistics": "statistics",
    "tb": "trilby",
    "trilby": "trilby",
}
"""What is taken for a module by its name."""

MOST_OBJECTS = 100_000
"""So many are looked at; what has more inside may have anything."""

_IMMUTABLE = (int, float, complex, str, bytes, type(None), range, slice, np.generic, np.dtype)
_CALLED_ONLY = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType)
"""What does something only if it is called: a call is known, or it is not."""
_CONTAINERS = (list, tuple, set, frozenset, deque)

_HARMLESS = frozenset(
    {
        "__init__",
        "__new__",
        "__post_init__",
        "__repr__",
        "__str__",
        "__del__",
        "__init_subclass__",
        "__class_getitem__",
        "__getstate__",
        "__setstate__",
        "__reduce__",
        "__reduce_ex__",
        "__getnewargs__",
        "__replace__",
        "__setattr__",
        "__delattr__",
        "__setitem__",
        "__delitem__",
        "__call__",
        "__enter__",
        "__exit__",
    }
)
"""Special methods that nobody runs by an operator, or whose use counts as a change or a call."""


def active_object(roots: Iterable[object]) -> object | None:
    """The first object in reach of some whose use may run code, or None; itself where too many."""
    rest = list(roots)
    seen: dict[int, object] = {}
    while rest:
        one = rest.pop()
        if isinstance(one, (*_IMMUTABLE, *_CALLED_ONLY)) or id(one) in seen:
            continue
        seen[id(one)] = one  # kept, so that no other gets its identity
        if len(seen) > MOST_OBJECTS or _runs_code(one):
            return one
        rest += _inside(one)
    return None


def outer_values(function: FunctionType) -> dict[str, object]:
    """What a function finds by names that are not its own, and the compute functions that it calls.

    Names of attributes count as well, since byte code does not tell them apart.
    """
    found: dict[str, object] = {}
    rest, seen = [function], set[FunctionType]()
    while rest:
        one = rest.pop()
        if one in seen:
            continue
        seen.add(one)
        values = dict(_found_by(one))
        found |= values
        rest += [value.function for value in values.values() if is_compute(value)]
    return found


def has_usual_meaning(name: str, value: object) -> bool:
    """Whether a name from outside stands for what it is taken for, if it is a well-known one."""
    if name in MODULES:
        return isinstance(value, ModuleType) and value.__name__ == MODULES[name]
    if hasattr(builtins, name):
        return value is getattr(builtins, name)
    return name not in OURS or getattr(value, "__module__", "").startswith("trilby.")


def _found_by(function: FunctionType) -> Iterator[tuple[str, object]]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        try:
            yield name, cell.cell_contents
        except ValueError:  # it has no value yet
            continue
    scope = function.__globals__
    for name in _names(function.__code__):
        if name in scope:
            yield name, scope[name]


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _runs_code(one: object) -> bool:
    """Whether using an object may run code of the user's, or move it on."""
    if isinstance(one, Iterator):
        return True
    if is_ndarray(one) and one.dtype.hasobject:
        return True
    return _has_hooks(type(one))


def _has_hooks(cls: type) -> bool:
    return any(_is_users(base) and _defines_hooks(base) for base in cls.__mro__)


def _is_users(cls: type) -> bool:
    package = cls.__module__.partition(".")[0]
    return package not in sys.stdlib_module_names and package not in {"numpy", "trilby"}


def _defines_hooks(cls: type) -> bool:
    """Whether a class has operators, or attributes that are computed."""
    return any(_is_hook(name, member) for name, member in vars(cls).items())


def _is_hook(name: str, member: object) -> bool:
    if isinstance(member, FunctionType):
        is_special = name.startswith("__") and name.endswith("__") and name not in _HARMLESS
        return is_special and member.__code__.co_filename != "<string>"  # that of a dataclass
    if _is_ours(type(member)):
        return False
    is_computed = hasattr(type(member), "__get__") and type(member).__module__ != "builtins"
    return is_computed or isinstance(member, property)


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == "trilby"


def _inside(one: object) -> list[object]:
    """What is in a container, or in the attributes of a plain object."""
    return [*_attributes(one), *_entries(one)]


def _entries(one: object) -> Collection[object]:
    if isinstance(one, Mapping):
        entries = cast("Mapping[object, object]", one)
        return [*entries.keys(), *entries.values()]
    return cast("Collection[object]", one) if isinstance(one, _CONTAINERS) else ()


def _attributes(one: object) -> Iterator[object]:
    cls = type(one)
    if cls is not SimpleNamespace and not _is_users(cls):
        return
    yield from getattr(one, "__dict__", {}).values()
    for base in cls.__mro__:
        slots: str | Iterable[str] = vars(base).get("__slots__", ())
        for name in [slots] if isinstance(slots, str) else slots:
            if not name.startswith("__"):
                yield getattr(one, name, None)

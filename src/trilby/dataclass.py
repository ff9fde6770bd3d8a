"""Dataclasses whose methods are compiled at their first use.

The standard library compiles all methods of a dataclass when its module is imported: half a
millisecond for each class, and a quarter of the time of a first result for all of Trilby's
(`bench/substitutes.py`). Here a method is made when it is first looked up. Only `__init__` is
compiled, once for all of the same shape. `fields`, `replace`, `asdict`, `match` and type checkers
see no difference. What they report is not checked again, and what Trilby does not use is not there:
`order`, `InitVar`, defaults of fields that are not in `__init__`.
"""

import builtins
import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError
from functools import cache, partial
from operator import attrgetter
from reprlib import recursive_repr
from types import CodeType, FunctionType, SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

_FIELDS, _PARAMS = "__dataclass_fields__", "__dataclass_params__"
"""Where the standard library looks for the fields of a class, and for its settings."""

_OWN = "__dataclass_own__"
"""Where the fields are that a class names itself, with their defaults."""

_FIELD: Any = Field
_KIND: Any = vars(dataclasses)["_FIELD"]
_UNSET: object = vars(dataclasses)["_HAS_DEFAULT_FACTORY"]
"""What the standard library marks fields with, and shows in signatures."""


class _Lazy(tuple[str, Callable[[Any], Any], list[type]]):
    """An attribute that is made when it is looked up: its name, how, and a list with its class.

    The first `Point(1, 2)` finds one under the name `__init__`, the second one the method itself.
    """

    __slots__ = ()

    def __get__(self, instance: object, owner: type) -> Any:
        name, make, (cls,) = self
        made = make(cls)
        setattr(cls, name, made)
        return made.__get__(instance, owner) if isinstance(made, FunctionType) else made


def _make_fields(cls: Any) -> dict[str, Field[Any]]:
    """The fields of a class, inherited ones first."""
    found: dict[str, Field[Any]] = {}
    for base in cls.__mro__[:0:-1]:
        found |= getattr(base, _FIELDS, {})
    for name, given in getattr(cls, _OWN).items():
        one: Any = given if type(given) is _FIELD else dataclasses.field(default=given)
        if one.kw_only is MISSING:
            one.kw_only = getattr(cls, _PARAMS).kw_only
        one.name, one.type = name, cls.__annotations__[name]
        one._field_type = _KIND  # noqa: SLF001 -- `fields` looks at it
        found[name] = one
    return found


def _make_match_args(cls: Any) -> tuple[str, ...]:
    return tuple(one.name for one in _fields_of(cls) if one.init and not one.kw_only)


def _fields_of(cls: Any) -> list[Field[Any]]:
    return list(getattr(cls, _FIELDS).values())


@cache
def _compiled(text: str) -> CodeType:
    """The one function that a text defines, in which fields are called `f0`, `f1` …"""
    module = compile(text, "<trilby dataclass>", "exec")
    return next(one for one in module.co_consts if isinstance(one, CodeType))


def _make_init(cls: Any) -> FunctionType:
    """`__init__`, whose parameters are the fields, in their order."""
    given = [one for one in _fields_of(cls) if one.init]
    last = [one for one in given if one.kw_only]
    first = [one for one in given if not one.kw_only]
    uses: dict[str, object] = {"put": object.__setattr__, "unset": _UNSET}
    put = "put(self, '{0}', {1})" if getattr(cls, _PARAMS).frozen else "self.{0} = {1}"
    names, body = {"self": "self"}, list[str]()
    defaults: dict[str, object] = {}
    for number, one in enumerate([*first, *last]):
        name = value = f"f{number}"
        names[name] = one.name
        if one.default_factory is not MISSING:
            defaults[one.name], uses[f"d{number}"] = _UNSET, one.default_factory
            value = f"d{number}() if {name} is unset else {name}"
        elif one.default is not MISSING:
            defaults[one.name] = one.default
        body.append(put.format(name, value))
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    code: Any = _compiled(f"def __init__({', '.join(names)}):\n " + "\n ".join(body or ["pass"]))
    code = code.replace(
        co_varnames=tuple(map(names.get, code.co_varnames)),
        co_names=tuple(map(names.get, code.co_names, code.co_names)),
        co_consts=tuple(map(names.get, code.co_consts, code.co_consts)),
        co_argcount=1 + len(first),
        co_kwonlyargcount=len(last),
    )
    init = FunctionType(code, {"__builtins__": builtins, **uses}, "__init__")
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {one.name: one.type for one in (*first, *last)} | {"return": None}
    init.__kwdefaults__ = {o.name: defaults.pop(o.name) for o in last if o.name in defaults}
    init.__defaults__ = tuple(defaults.values())
    return init


def _values_of(cls: Any) -> Callable[[object], object]:
    """What gives all that an object is compared by."""
    return attrgetter("__class__", *(one.name for one in _fields_of(cls) if one.compare))


def _make_eq(cls: Any) -> FunctionType:
    values = _values_of(cls)

    def is_equal(self: object, other: object) -> bool:
        if other.__class__ is self.__class__:
            return values(self) == values(other)
        return NotImplemented

    return is_equal


def _make_hash(cls: Any) -> FunctionType:
    values = _values_of(cls)

    def hash_of(self: object) -> int:
        return hash(values(self))

    return hash_of


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{one.name}={getattr(self, one.name)!r}" for one in _fields_of(self) if one.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_setting(_self: object, name: str, _value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deleting(_self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    """What is copied or pickled of an object that cannot be changed."""
    return [getattr(self, one.name) for one in _fields_of(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for one, value in zip(_fields_of(self), state, strict=True):
        object.__setattr__(self, one.name, value)


_FROZEN = {"__setattr__": _refuse_setting, "__delattr__": _refuse_deleting}
_COPIED = {"__getstate__": _state, "__setstate__": _set_state}


_DEFAULTS = SimpleNamespace(frozen=False, slots=False, eq=True, repr=True, kw_only=False)


def _made(params: Any, cls: Any) -> type:
    """The class with its fields and methods; a new one where it has slots."""
    given = cls.__dict__
    own = {
        name: given.get(name, MISSING)
        for name, kind in cls.__annotations__.items()
        if getattr(kind, "__origin__", kind) is not ClassVar
    }
    of: list[type] = []
    added: dict[str, Any] = {
        "__init__": _Lazy(("__init__", _make_init, of)),
        "__match_args__": _Lazy(("__match_args__", _make_match_args, of)),
    }
    if params.repr:
        added["__repr__"] = _repr
    if params.eq:
        added["__eq__"] = _Lazy(("__eq__", _make_eq, of))
    if params.frozen:
        added |= _FROZEN | _COPIED if params.slots else _FROZEN
    for name in added.keys() & given:  # what a class defines itself stays as it is
        del added[name]
    # Python itself says that a class with an `__eq__` of its own has no hash.
    if params.eq and given.get("__hash__") is None:
        added["__hash__"] = _Lazy(("__hash__", _make_hash, of)) if params.frozen else None
    added |= {_FIELDS: _Lazy((_FIELDS, _make_fields, of)), _OWN: own, _PARAMS: params}
    of.append((_with_slots if params.slots else _without_slots)(cls, own, added))
    return of[0]


def _with_slots(cls: Any, own: dict[str, Any], added: dict[str, Any]) -> type:
    """A class with the same content: slots cannot be added to one that is there."""
    content = {**cls.__dict__, **added, "__slots__": tuple(own), "__qualname__": cls.__qualname__}
    for name in (*own, "__dict__", "__weakref__"):
        content.pop(name, None)
    return type(cls)(cls.__name__, cls.__bases__, content)


def _without_slots(cls: Any, own: dict[str, Any], added: dict[str, Any]) -> type:
    for name, default in own.items():
        if type(default) is _FIELD:
            delattr(cls, name)  # it is no value
    for name, one in added.items():
        setattr(cls, name, one)
    return cls


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 -- it is meant to be imported
else:

    def dataclass(cls: type | None = None, /, **given: bool) -> Any:
        """`dataclasses.dataclass`, with the parameters that are used here."""
        params = SimpleNamespace(**vars(_DEFAULTS) | given)
        return partial(_made, params) if cls is None else _made(params, cls)

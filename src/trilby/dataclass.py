"""Dataclasses that cost little until they are used.

The standard library writes and compiles all methods of a dataclass when its module is imported:
more than half a millisecond for each class, and a quarter of a second for all of Trilby's. Here a
method is written when it is first looked at, so that a class nobody makes objects of costs next to
nothing. Everything else is as there: `fields`, `replace`, `asdict` and `match` know no difference,
and for a type checker there is none.
"""

import builtins
import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, FrozenInstanceError
from functools import cache
from reprlib import recursive_repr
from types import CodeType, FunctionType, SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard, get_origin

_FIELDS = "__dataclass_fields__"
_PARAMS = "__dataclass_params__"

_FIELD: Any = Field
_KIND: Any = vars(dataclasses)["_FIELD"]
_UNSET: object = vars(dataclasses)["_HAS_DEFAULT_FACTORY"]
"""What the standard library marks fields with, and shows in signatures."""

_DEFAULTS = {
    "init": True,
    "repr": True,
    "eq": True,
    "order": False,
    "unsafe_hash": False,
    "frozen": False,
    "match_args": True,
    "kw_only": False,
    "slots": False,
    "weakref_slot": False,
}


class _Written:
    """A method that is written, and put in its own place, when somebody looks at it."""

    __slots__ = ("_class", "_name", "_write")

    def __init__(self, write: Callable[[type], Callable[..., Any]]) -> None:
        self._write = write

    def __set_name__(self, owner: type, name: str) -> None:
        self._class, self._name = owner, name

    def __get__(self, instance: object, owner: type) -> Any:
        method: Any = self._write(self._class)
        method.__qualname__ = f"{self._class.__qualname__}.{method.__name__}"
        setattr(self._class, self._name, method)
        return method.__get__(instance, owner)


@cache
def _compiled(text: str) -> CodeType:
    """The one function that a text defines, in which fields are called `f0`, `f1` …"""
    return next(
        one for one in compile(text, "<trilby dataclass>", "exec").co_consts if _is_code(one)
    )


def _is_code(one: object) -> TypeGuard[CodeType]:
    return isinstance(one, CodeType)


def _made(text: str, fields: Iterable[str], **names: object) -> FunctionType:
    """The function of a text, with the names of its fields. Many classes have the same text."""
    code = _compiled(text)
    own: dict[object, str] = {f"f{number}": name for number, name in enumerate(fields)}
    code = code.replace(
        co_varnames=tuple(own.get(one, one) for one in code.co_varnames),
        co_names=tuple(own.get(one, one) for one in code.co_names),
        co_consts=tuple(own.get(one, one) if type(one) is str else one for one in code.co_consts),
    )
    return FunctionType(code, {"__builtins__": builtins, **names}, code.co_name)


def _own_fields(cls: Any) -> dict[str, Field[Any]]:
    found: dict[str, Field[Any]] = getattr(cls, _FIELDS)
    return found


def _write_init(cls: type) -> Callable[..., Any]:
    """`__init__`, with the fields as parameters in order, and those by keyword alone at the end."""
    fields = _own_fields(cls)
    names: dict[str, object] = {"_set": object.__setattr__, "_unset": _UNSET}
    first, last, body = ["self"], list[str](), list[str]()
    for number, one in enumerate(fields.values()):
        value = f"f{number}"
        if one.init:
            (last if one.kw_only else first).append(value)
        if one.default_factory is not MISSING:
            names[f"_make{number}"] = one.default_factory
            make = f"_make{number}()"
            value = f"{make} if {value} is _unset else {value}" if one.init else make
        elif not one.init:
            names[f"_default{number}"] = one.default
            value = f"_default{number}"
        if one.init or _default(one) is not MISSING:
            frozen = getattr(cls, _PARAMS).frozen
            body.append(
                f"_set(self, 'f{number}', {value})" if frozen else f"self.f{number} = {value}"
            )
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join([*first, *(["*", *last] if last else [])])
    init = _made(f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"]), fields, **names)
    _set_defaults(init, fields)
    return init


def _default(one: Field[Any]) -> object:
    return one.default if one.default_factory is MISSING else _UNSET


def _set_defaults(init: FunctionType, fields: dict[str, Field[Any]]) -> None:
    """Give an `__init__` what it shows and assumes of its parameters."""
    taken = {name: one for name, one in fields.items() if one.init}
    given = {name: _default(one) for name, one in taken.items() if _default(one) is not MISSING}
    init.__defaults__ = tuple(d for name, d in given.items() if not taken[name].kw_only) or None
    init.__kwdefaults__ = {name: d for name, d in given.items() if taken[name].kw_only}
    init.__annotations__ = {name: one.type for name, one in taken.items()} | {"return": None}


def _tuple_of(owner: str, numbers: Iterable[int]) -> str:
    return "(" + "".join(f"{owner}.f{number}, " for number in numbers) + ")"


def _write_repr(cls: type) -> Callable[..., Any]:
    fields = _own_fields(cls)
    shown = [(n, name) for n, (name, one) in enumerate(fields.items()) if one.repr]
    parts = " + ', ' + ".join(f"'{name}=' + repr(self.f{n})" for n, name in shown) or "''"
    text = f"def __repr__(self):\n return self.__class__.__qualname__ + '(' + {parts} + ')'"
    return recursive_repr()(_made(text, fields))


def _write_eq(cls: type) -> Callable[..., Any]:
    fields = _own_fields(cls)
    numbers = [n for n, one in enumerate(fields.values()) if one.compare]
    text = (
        "def __eq__(self, other):\n"
        " if other.__class__ is self.__class__:\n"
        f"  return {_tuple_of('self', numbers)} == {_tuple_of('other', numbers)}\n"
        " return NotImplemented"
    )
    return _made(text, fields)


def _write_hash(cls: type) -> Callable[..., Any]:
    fields = _own_fields(cls)
    hashed = [one.compare if one.hash is None else one.hash for one in fields.values()]
    numbers = [n for n, wanted in enumerate(hashed) if wanted]
    return _made(f"def __hash__(self):\n return hash({_tuple_of('self', numbers)})", fields)


def _write_setattr(cls: type) -> Callable[..., Any]:
    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807 -- it becomes one
        if type(self) is cls or name in _own_fields(cls):
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    return __setattr__


def _write_delattr(cls: type) -> Callable[..., Any]:
    def __delattr__(self: Any, name: str) -> None:  # noqa: N807 -- it becomes one
        if type(self) is cls or name in _own_fields(cls):
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __delattr__


def _state(self: Any) -> list[Any]:
    """What is copied or pickled of an object that cannot be changed."""
    return [getattr(self, name) for name in _own_fields(type(self))]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(_own_fields(type(self)), state, strict=True):
        object.__setattr__(self, name, value)


def _field(cls: type, name: str, kind: object, *, kw_only: bool) -> Field[Any]:
    """A field as the standard library has it."""
    given = cls.__dict__.get(name, MISSING)
    found: Any = given if isinstance(given, _FIELD) else dataclasses.field(default=given)
    if found.default.__class__.__hash__ is None:
        raise ValueError(f"the default of {name!r} can be changed: use default_factory")
    if isinstance(kind, dataclasses.InitVar) or kind is dataclasses.KW_ONLY:
        raise TypeError(f"{name!r}: InitVar and KW_ONLY are not supported")
    if found.kw_only is MISSING:
        found.kw_only = kw_only
    found.name, found.type = name, kind
    found._field_type = _KIND  # noqa: SLF001 -- `fields` looks at it
    return found


def _is_class_variable(kind: object) -> bool:
    if isinstance(kind, type):
        return False
    if isinstance(kind, str):
        return kind.startswith("ClassVar")
    return kind is ClassVar or get_origin(kind) is ClassVar


def _check_order(fields: dict[str, Field[Any]]) -> None:
    """Python gives defaults to the last parameters: one without must not follow one that has."""
    with_default = ""
    for name, one in fields.items():
        if one.init and not one.kw_only:
            if _default(one) is not MISSING:
                with_default = name
            elif with_default:
                raise TypeError(f"{name!r} has no default, and follows {with_default!r}, which has")


def _methods(cls: type, params: SimpleNamespace) -> dict[str, Any]:
    """What a class gets beside its fields; what it defines itself stays as it is."""
    own = cls.__dict__
    found: dict[str, Any] = {}
    for name, wanted, write in (
        ("__init__", True, _write_init),
        ("__repr__", params.repr, _write_repr),
        ("__eq__", params.eq, _write_eq),
    ):
        if wanted and name not in own:
            found[name] = _Written(write)
    # Python itself says that a class with an `__eq__` of its own has no hash.
    has_hash = "__hash__" in own and not (own["__hash__"] is None and "__eq__" in own)
    if params.eq and not has_hash:
        found["__hash__"] = _Written(_write_hash) if params.frozen else None
    if params.frozen:
        if taken := own.keys() & {"__setattr__", "__delattr__"}:
            raise TypeError(f"{cls.__name__} is frozen and has {', '.join(sorted(taken))}")
        found["__setattr__"] = _Written(_write_setattr)
        found["__delattr__"] = _Written(_write_delattr)
        if params.slots:
            travelling = {"__getstate__": _state, "__setstate__": _set_state}
            found |= {name: one for name, one in travelling.items() if name not in own}
    return found


def _process(cls: type, params: SimpleNamespace) -> type:
    """The class with its fields and methods; a new one where it has slots."""
    fields: dict[str, Field[Any]] = {}
    for base in cls.__mro__[-2:0:-1]:
        fields.update(base.__dict__.get(_FIELDS, {}))
        if base.__dict__.get(_PARAMS, params).frozen != params.frozen:
            raise TypeError(f"one of {cls.__name__} and {base.__name__} is frozen: both or none")
    own = {
        name: _field(cls, name, kind, kw_only=params.kw_only)
        for name, kind in cls.__annotations__.items()
        if not _is_class_variable(kind)
    }
    fields.update(own)
    _check_order(fields)
    added: dict[str, Any] = {_FIELDS: fields, _PARAMS: params, **_methods(cls, params)}
    if "__match_args__" not in cls.__dict__:
        added["__match_args__"] = _matched(fields)
    if params.slots:
        return _with_slots(cls, own, added)
    for name, one in own.items():
        if one.default is not MISSING:
            added[name] = one.default
        elif name in cls.__dict__:
            delattr(cls, name)  # its `field(…)` is no value
    for name, one in added.items():
        setattr(cls, name, one)
        if isinstance(one, _Written):
            one.__set_name__(cls, name)
    return cls


def _with_slots(cls: type, own: dict[str, Field[Any]], added: dict[str, Any]) -> type:
    """A class with the same content: slots cannot be added to one that is there."""
    taken = {slot for base in cls.__mro__[1:] for slot in base.__dict__.get("__slots__", ())}
    left_out = {*own, "__dict__", "__weakref__"}
    content = {name: one for name, one in cls.__dict__.items() if name not in left_out}
    content |= added
    content["__slots__"] = tuple(name for name in added[_FIELDS] if name not in taken)
    made = type(cls)(cls.__name__, cls.__bases__, content)
    made.__qualname__ = cls.__qualname__
    return made


def _matched(fields: dict[str, Field[Any]]) -> tuple[str, ...]:
    return tuple(name for name, one in fields.items() if one.init and not one.kw_only)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 -- it is meant to be imported
else:

    def dataclass(cls: type | None = None, /, **given: bool) -> Any:
        """`dataclasses.dataclass`, with the parameters that are used here."""
        if unknown := given.keys() - {"frozen", "slots", "eq", "repr", "kw_only"}:
            raise TypeError(f"not supported: {', '.join(sorted(unknown))}")
        params = SimpleNamespace(**_DEFAULTS | given)
        return (lambda cls: _process(cls, params)) if cls is None else _process(cls, params)

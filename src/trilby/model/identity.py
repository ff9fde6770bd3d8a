"""All of a model as one text: two models with the same text are the same to whoever reads them.

It is for keys, not for people. Every field of every part is in it, places in the source as well.
"""

from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, cast

from trilby.data.dtypes import ScalarType, Type
from trilby.model.value import Value

_PLAIN = (str, int, float, bool, type(None))


def identity(*things: object) -> str:
    """The text of functions of a model, and of other things that consist of fields."""
    return ",".join(map(_Writer().text, things))


class _Writer:
    """Writes things; values and types have numbers, and are told of once."""

    def __init__(self) -> None:
        self._numbers: dict[int, tuple[int, object]] = {}

    def text(self, thing: object) -> str:
        kind = type(thing)
        if kind in _PLAIN:
            return repr(thing)
        if kind is ScalarType:
            return str(thing)
        if kind is tuple:
            return f"({','.join(map(self.text, cast('tuple[object, ...]', thing)))})"
        if kind is frozenset:
            return f"{{{','.join(sorted(map(self.text, cast('frozenset[object]', thing))))}}}"
        if isinstance(thing, Value | Type):
            return self._numbered(thing)
        return self._fields(thing)

    def _numbered(self, thing: object) -> str:
        known = self._numbers.get(id(thing))
        if known is not None:
            return f"#{known[0]}"
        number = len(self._numbers)
        self._numbers[id(thing)] = number, thing  # which keeps others from its address
        return f"#{number}={self._fields(thing)}"

    def _fields(self, thing: object) -> str:
        kind: type[Any] = type(thing)
        if not is_dataclass(kind):
            raise TypeError(f"{thing!r} of the class `{kind.__name__}` is no part of a model")
        parts = ",".join(self.text(getattr(thing, name)) for name in _names(kind))
        return f"{kind.__module__}.{kind.__qualname__}({parts})"


@cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind))

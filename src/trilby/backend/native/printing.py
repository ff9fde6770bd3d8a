"""`print` in kernels: code of the native device calls back, and a line is written in Python."""

import ctypes
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from trilby.backend.say import say
from trilby.data.dtypes import ScalarType

PrintForms: TypeAlias = Sequence[tuple[str, tuple[ScalarType, ...]]]
"""The text of each `print`, and the types of the numbers in it."""

_PROTOTYPE: Any = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_uint64)
_SLOT = 8


class Callback:
    """A function for C, `void (i64 number, ptr slots)`, that writes the line of a `print`.

    Threads of the device call it, and wait for each other.
    """

    __slots__ = ("_forms", "_function", "address")

    def __init__(self, forms: PrintForms) -> None:
        self._forms = forms
        self._function = _PROTOTYPE(self.write)
        self.address = int(ctypes.cast(self._function, ctypes.c_void_p).value or 0)

    def write(self, number: int, slots: int) -> None:
        """Write one line."""
        form, types = self._forms[number]
        say(form, *(_number(kind, slots + _SLOT * n) for n, kind in enumerate(types)))


def _number(kind: ScalarType, address: int) -> float:
    content = ctypes.string_at(address, kind.size)
    return np.frombuffer(content, kind.numpy)[0].item()

"""`print` in kernels of the native device: threads leave numbers, and Python makes lines of them.

No thread of the device ever runs Python: it would wait for other threads there, which wait for the
device, or collect garbage in the middle of a launch.
"""

import ctypes
from array import array
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from trilby.backend.native.queue_code import QueueFunctions
from trilby.backend.say import say
from trilby.data.dtypes import ScalarType

PrintForms: TypeAlias = Sequence[tuple[str, tuple[ScalarType, ...]]]
"""The text of each `print`, and the types of the numbers in it."""

_WORD = 8
_HEAD_WORDS = 3


class Printed:
    """What the launches of a kernel print; `address` is that of `%Printed` in `queue.ll`."""

    __slots__ = ("_forms", "_functions", "_words", "address")

    def __init__(self, forms: PrintForms, functions: QueueFunctions) -> None:
        self._forms = forms
        self._functions = functions
        self._words = array("Q", (functions.print, 0))
        self.address = self._words.buffer_info()[0]

    def show(self) -> None:
        """Write the lines that are there, the oldest first."""
        for number, content in reversed(self._taken()):
            form, types = self._forms[number]
            slots = (content[_WORD * n :][: kind.size] for n, kind in enumerate(types))
            kinds = (kind.numpy for kind in types)
            say(form, *(np.frombuffer(*one)[0].item() for one in zip(slots, kinds, strict=True)))

    def _taken(self) -> list[tuple[int, bytes]]:
        """The lines that are there, the newest first: which `print` it was, and its numbers."""
        found: list[tuple[int, bytes]] = []
        line = self._functions.take_printed(self.address)
        while line:
            words = array("Q", ctypes.string_at(line, _WORD * _HEAD_WORDS))
            following, number, count = words
            found.append((number, ctypes.string_at(line + _WORD * _HEAD_WORDS, _WORD * count)))
            self._functions.free(line)
            line = following
        return found

    def __del__(self) -> None:
        if hasattr(self, "address"):
            self._taken()

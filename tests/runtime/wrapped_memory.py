"""Memory that is not that of a plain array, and the objects that share it with NumPy."""

import ctypes
import mmap
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

Ints: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]


class Labelled(np.ndarray[Any, np.dtype[np.int32]]):
    """A subclass, of which an attribute is all that it adds."""

    label = "labelled"


class WithInterface:
    """An object that describes its memory, as other libraries do."""

    def __init__(self, content: Ints) -> None:
        self._content = content

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._content.__array_interface__


class WithArray:
    """An object that gives out its own array, as a column of a table does."""

    def __init__(self, content: Ints) -> None:
        self._content = content

    def __array__(self, dtype: object = None, copy: bool | None = None) -> Ints:  # noqa: FBT001 -- NumPy's
        return self._content.copy() if copy else self._content


def _ctypes_array(content: Ints) -> object:
    return (ctypes.c_int32 * len(content)).from_buffer(content.data)


def _labelled(content: Ints) -> object:
    return content.view(Labelled)


WRAPPINGS: dict[str, Callable[[Ints], object]] = {
    "array": np.asarray,
    "as it is": lambda content: content,
    "subclass": _labelled,
    "memoryview": lambda content: content.data,
    "ctypes": _ctypes_array,
    "__array_interface__": WithInterface,
    "__array__": WithArray,
}
"""Objects on the memory of an array."""


def mapped_file(folder: Path, count: int) -> Ints:
    """A file of numbers, mapped into memory."""
    return cast("Ints", np.memmap(folder / "numbers.bin", np.int32, "w+", shape=(count,)))


def _of_ctypes(_folder: Path, count: int) -> Ints:
    return np.ctypeslib.as_array((ctypes.c_int32 * count)())


def _of_buffer(make: Callable[[int], Any]) -> Callable[[Path, int], Ints]:
    return lambda _folder, count: np.frombuffer(make(4 * count), np.int32)


MEMORIES: dict[str, Callable[[Path, int], Ints]] = {
    "ndarray": lambda _folder, count: np.zeros(count, np.int32),
    "memmap": mapped_file,
    "array.array": _of_buffer(lambda nbytes: array("i", bytes(nbytes))),
    "bytearray": _of_buffer(bytearray),
    "mmap": _of_buffer(lambda nbytes: mmap.mmap(-1, nbytes)),
    "ctypes": _of_ctypes,
}
"""Whose the memory is."""

"""LLVM IR to code in memory: compiled by LLVM in another thread, or kept from an earlier process.

Loading LLVM takes longer than everything else about a kernel that was compiled before. So nothing
here imports llvmlite until there is something to compile.
"""

import ctypes
import os
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from trilby.backend.background import BackgroundCall
from trilby.backend.native.cache import Cache, users_cache
from trilby.backend.native.linking import linked
from trilby.dataclass import dataclass
from trilby.errors import DeviceUnavailableError
from trilby.messages import tell
from trilby.options import symbols_folder
from trilby.version import VERSION

if TYPE_CHECKING:
    from types import ModuleType


class RefusedTextError(Exception):
    """LLVM does not take a text; the message is its own."""


class Code(Protocol):
    """Code that is loaded; it can be called as long as this lives."""

    def __getitem__(self, symbol: str, /) -> int:
        """The address of a function."""
        ...


@dataclass(frozen=True, slots=True)
class Processor:
    """What code is made for, in LLVM's words: `Processor("x86_64-…", "znver3", "+avx2,-sse4a")`.

    `llvm` is the version that says so.
    """

    triple: str
    cpu: str
    features: str
    llvm: str = ""


# --------------------------------------------------------------------------------------------- LLVM

_FOUND = find_spec("llvmlite")
if _FOUND is None or not _FOUND.origin:
    raise ModuleNotFoundError("No module named 'llvmlite'", name="llvmlite")
_ORIGIN = _FOUND.origin


@cache
def load_llvm() -> "ModuleType":
    """The module that knows llvmlite. Its library comes into memory while Python reads the rest."""
    for library in _libraries():
        BackgroundCall(partial(ctypes.CDLL, library))  # what is wrong with it is told below
    try:
        from trilby.backend.native import llvm  # noqa: PLC0415 -- see above
    except (ImportError, OSError) as error:
        raise DeviceUnavailableError(
            f"llvmlite cannot be loaded: {error}",
            advice="pip install --force-reinstall llvmlite",
        ) from error
    return llvm


@cache
def installed() -> str:
    """Which llvmlite there is, without loading it: another one has another library."""
    found = [(file, os.stat(file)) for file in (_ORIGIN, *_libraries())]
    return " ".join(f"{file} {about.st_mtime_ns} {about.st_size}" for file, about in found)


def _libraries() -> list[str]:
    """The files of the library: one."""
    binding = os.path.join(os.path.dirname(_ORIGIN), "binding")
    names = os.listdir(binding) if os.path.isdir(binding) else ()
    return sorted(os.path.join(binding, name) for name in names if "llvmlite" in name)


# ------------------------------------------------------------------------------------------ objects


def begin_code(
    text: str,
    processor: Processor,
    symbols: Sequence[str],
    kept: Cache | None,
    *,
    as_written: bool = False,
) -> Callable[[], Code]:
    """Let another thread compile a module, unless its object code is kept from earlier.

    The result waits for it and loads some functions. One that is written by hand is not
    made better.
    """
    found = kept.get(text) if kept else None
    if found is not None:
        return lambda: _load(found, processor, symbols)
    llvm = load_llvm()  # what is wrong with it is told here

    def make() -> bytes:
        made: bytes = llvm.object_code(text, processor, as_written=as_written)
        if kept:
            kept.put(text, made)
        return made

    code = BackgroundCall(make)
    return lambda: _load(code(), processor, symbols)


def _load(code: bytes, processor: Processor, symbols: Sequence[str]) -> Code:
    """Put object code into memory, linked with the process; LLVM does what we cannot."""
    folder = symbols_folder()
    found = linked(code, symbols, folder)
    if found is None:
        if folder is not None:
            tell("warning", "gdb and perf will not know `%s`, which LLVM had to load", symbols[0])
        found = load_llvm().load(code, processor, symbols)
    return found


@cache
def kept_objects(processor: Processor) -> Cache | None:
    """Object code of earlier processes, in the folder that the environment names."""
    return users_cache(object_identity(processor), "o")


def object_identity(processor: Processor) -> str:
    """Everything apart from its text that object code depends on."""
    return f"trilby {VERSION}, llvmlite {installed()}, O2, or O0 as written, {processor}"

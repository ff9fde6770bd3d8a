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
from trilby.backend.native.cache import Cache
from trilby.backend.native.linking import can_link, linked
from trilby.dataclass import dataclass
from trilby.errors import DeviceUnavailableError
from trilby.messages import tell
from trilby.options import cache_folder, symbols_folder
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
    """What code is made for, in LLVM's words: `Processor("x86_64-…", "znver3", "+avx2,…")`."""

    triple: str
    cpu: str
    features: str


@dataclass(frozen=True, slots=True)
class Detected:
    """The triple, the name and the features of a machine's processor, and the LLVM that said so."""

    triple: str
    cpu: str
    features: tuple[tuple[str, bool], ...]
    llvm: str


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


def detected() -> Detected:
    """The processor of this machine, as far as LLVM knows it."""
    found: Detected = load_llvm().detected()
    return found


def object_code(text: str, processor: Processor, *, as_written: bool = False) -> bytes:
    """The object code of a module; little is done to one that is to stay as written."""
    made: bytes = load_llvm().object_code(text, processor, as_written=as_written)
    return made


def assembly(text: str, processor: Processor) -> str:
    """The instructions that a module becomes, for people."""
    made: str = load_llvm().assembly(text, processor)
    return made


# ------------------------------------------------------------------------------------------ objects


class Objects:
    """Makes object code, or takes it from a cache, and loads it."""

    def __init__(self, kept: Cache | None = None) -> None:
        self._kept = kept

    def begin(
        self, text: str, processor: Processor, symbols: Sequence[str], *, as_written: bool = False
    ) -> Callable[[], Code]:
        """Let another thread compile a module, if it has to be compiled.

        The result waits for it and loads some functions. One that is written by hand is not
        made better.
        """
        make = partial(self._make, text, processor, as_written=as_written)
        found = self._kept.get(text) if self._kept else None
        if found is not None:
            return partial(_load_kept, found, make, processor, symbols)
        load_llvm()  # what is wrong with it is told here
        code = BackgroundCall(make)
        return lambda: _load(code(), processor, symbols)

    def _make(self, text: str, processor: Processor, *, as_written: bool) -> bytes:
        made = object_code(text, processor, as_written=as_written)
        if self._kept:
            self._kept.put(text, made)
        return made


def _load(code: bytes, processor: Processor, symbols: Sequence[str]) -> Code:
    """Put object code into memory, linked with the process; LLVM does what we cannot."""
    folder = symbols_folder()
    found = linked(code, symbols, folder)
    if found is None:
        if folder is not None:
            tell("warning", "gdb and perf will not know `%s`, which LLVM had to load", symbols[0])
        found = load_llvm().load(code, processor, symbols)
    return found


def _load_kept(
    code: bytes, make: Callable[[], bytes], processor: Processor, symbols: Sequence[str]
) -> Code:
    """Load code of an earlier process; where that cannot be, make it again.

    LLVM ends the process for code that contradicts itself. So it gets none where we check it.
    """
    if not can_link():
        return _load(code, processor, symbols)
    found = linked(code, symbols, symbols_folder())
    if found is None:
        tell("info", "`%s` is compiled again: its code on disk is not understood", symbols[0])
        return _load(make(), processor, symbols)
    return found


@cache
def objects_for(processor: Processor) -> Objects:
    """With the cache that the environment names."""
    folder = cache_folder()
    return Objects(Cache(folder, object_identity(processor)) if folder else None)


def object_identity(processor: Processor) -> str:
    """Everything apart from its text that object code depends on."""
    return f"trilby {VERSION}, llvmlite {installed()}, O2, or O0 as written, {processor}"

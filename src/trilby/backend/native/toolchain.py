"""LLVM, for those who need it: it is loaded at the first thing that is not kept from before.

Loading it takes longer than everything else about a kernel that was compiled in an earlier
process. So nothing here imports llvmlite until there is something to compile.
"""

import ctypes
import os
from collections.abc import Sequence
from functools import cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from trilby.backend.native.beside import Beside
from trilby.backend.native.linking import can_link, linked
from trilby.backend.native.processor import Code, Detected, Processor
from trilby.errors import DeviceUnavailableError
from trilby.messages import tell
from trilby.options import symbols_folder

if TYPE_CHECKING:
    from types import ModuleType

PASSES = "O2, or O0 as written"
"""What is done to a text before code is made of it."""

_FOUND = find_spec("llvmlite")
if _FOUND is None or not _FOUND.origin:
    raise ModuleNotFoundError("No module named 'llvmlite'", name="llvmlite")
_ORIGIN = _FOUND.origin


@cache
def load_llvm() -> "ModuleType":
    """The module that knows llvmlite. Its library comes into memory while Python reads the rest."""
    for library in _libraries():
        Beside(partial(ctypes.CDLL, library))  # what is wrong with it is told below
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
    return " ".join(f"{file} {_written(file)}" for file in (_ORIGIN, *_libraries()))


def _libraries() -> list[str]:
    """The files of the library: one."""
    binding = os.path.join(os.path.dirname(_ORIGIN), "binding")
    names = os.listdir(binding) if os.path.isdir(binding) else ()
    return sorted(os.path.join(binding, name) for name in names if "llvmlite" in name)


def _written(file: str) -> str:
    about = os.stat(file)
    return f"{about.st_mtime_ns} {about.st_size}"


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


def load(code: bytes, processor: Processor, symbols: Sequence[str]) -> Code:
    """Put object code into memory, linked with the process; LLVM does what we cannot."""
    folder = symbols_folder()
    found = linked(code, symbols, folder)
    if found is None:
        if folder is not None:
            tell("warning", "gdb and perf will not know `%s`, which LLVM had to load", symbols[0])
        found = load_llvm().load(code, processor, symbols)
    return found


def load_kept(code: bytes, processor: Processor, symbols: Sequence[str]) -> Code | None:
    """Load object code of an earlier process, or None where it has to be made again.

    LLVM ends the process for code that contradicts itself. So it gets none where we check it.
    """
    if can_link():
        return linked(code, symbols, symbols_folder())
    return load(code, processor, symbols)

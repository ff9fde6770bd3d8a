"""Object code from LLVM IR: made once for a text, a processor and the versions of the tools."""

from collections.abc import Callable, Sequence
from functools import cache, partial

from trilby.backend.native.beside import Beside
from trilby.backend.native.cache import Cache
from trilby.backend.native.processor import Code, Processor
from trilby.backend.native.toolchain import (
    PASSES,
    installed,
    load,
    load_kept,
    load_llvm,
    object_code,
)
from trilby.messages import tell
from trilby.options import cache_folder
from trilby.version import VERSION


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
        code = Beside(make)
        return lambda: load(code(), processor, symbols)

    def _make(self, text: str, processor: Processor, *, as_written: bool) -> bytes:
        made = object_code(text, processor, as_written=as_written)
        if self._kept:
            self._kept.put(text, made)
        return made


def _load_kept(
    code: bytes, make: Callable[[], bytes], processor: Processor, symbols: Sequence[str]
) -> Code:
    """Load code of an earlier process; where that cannot be, make it again."""
    found = load_kept(code, processor, symbols)
    if found is None:
        tell("info", "`%s` is compiled again: its code on disk is not understood", symbols[0])
        found = load(make(), processor, symbols)
    return found


@cache
def objects_for(processor: Processor) -> Objects:
    """With the cache that the environment names."""
    folder = cache_folder()
    return Objects(Cache(folder, identity(processor)) if folder else None)


def identity(processor: Processor) -> str:
    """Everything apart from its text that object code depends on."""
    return f"trilby {VERSION}, llvmlite {installed()}, {PASSES}, {processor}"

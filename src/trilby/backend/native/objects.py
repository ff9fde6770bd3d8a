"""Object code from LLVM IR: made once for a text, a processor and the versions of the tools."""

from collections.abc import Callable
from functools import cache, partial

from trilby.backend.native.beside import Beside
from trilby.backend.native.cache import Cache
from trilby.backend.native.processor import Processor
from trilby.backend.native.toolchain import PASSES, installed, load_llvm, object_code
from trilby.options import cache_folder
from trilby.version import VERSION


class Objects:
    """Makes object code, or takes it from a cache."""

    def __init__(self, kept: Cache | None = None) -> None:
        self._kept = kept

    def code(self, text: str, processor: Processor, *, as_written: bool = False) -> bytes:
        """The object code of a module; one that is written by hand is not made better."""
        found = self._kept.get(text) if self._kept else None
        return self._make(text, processor, as_written=as_written) if found is None else found

    def begin(
        self, text: str, processor: Processor, *, as_written: bool = False
    ) -> Callable[[], bytes]:
        """Let another thread make object code, if it has to be made; the result waits for it."""
        found = self._kept.get(text) if self._kept else None
        if found is not None:
            return partial(bytes, found)
        load_llvm()  # what is wrong with it is told here
        return Beside(partial(self._make, text, processor, as_written=as_written))

    def _make(self, text: str, processor: Processor, *, as_written: bool) -> bytes:
        made = object_code(text, processor, as_written=as_written)
        if self._kept:
            self._kept.put(text, made)
        return made


@cache
def objects_for(processor: Processor) -> Objects:
    """With the cache that the environment names."""
    folder = cache_folder()
    return Objects(Cache(folder, identity(processor)) if folder else None)


def identity(processor: Processor) -> str:
    """Everything apart from its text that object code depends on."""
    return f"trilby {VERSION}, llvmlite {installed()}, {PASSES}, {processor}"

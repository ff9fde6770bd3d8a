"""Object code from LLVM IR, kept on disk from one process to the next."""

from functools import cache

from trilby.backend.native.llvm import Processor, object_code


class Objects:
    """Makes object code."""

    def code(self, text: str, processor: Processor) -> bytes:
        """The object code of a module."""
        return object_code(text, processor)


@cache
def default_objects() -> Objects:
    """The one that all accelerators share."""
    return Objects()

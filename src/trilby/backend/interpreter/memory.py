"""The interpreter's device memory: bytes of its own, apart from the host's buffers."""

from trilby.errors import DeviceError

POISON = 0xCD
"""What memory holds before anything is written: "undefined" should not look like zero."""


class InterpreterMemory:
    """Bytes that kernels read and write. Made by the backend's `allocate`."""

    __slots__ = ("_bytes", "nbytes")

    def __init__(self, nbytes: int) -> None:
        if nbytes < 0:
            raise DeviceError(f"cannot allocate {nbytes} bytes")
        try:
            self._bytes: bytearray | None = bytearray([POISON]) * nbytes
        except (MemoryError, OverflowError) as error:
            raise DeviceError(
                f"there is not enough memory for {nbytes} bytes",
                advice="release buffers that are no longer used, or make them smaller",
            ) from error
        self.nbytes = nbytes

    @property
    def content(self) -> bytearray:
        """The bytes themselves; raises after `free`."""
        if self._bytes is None:
            raise DeviceError(f"these {self.nbytes} bytes of device memory were freed")
        return self._bytes

    def span(self, offset: int, nbytes: int) -> memoryview:
        """A writable view of some bytes; raises where they are not all there."""
        content = self.content
        if offset < 0 or nbytes < 0 or offset + nbytes > self.nbytes:
            raise DeviceError(
                f"bytes {offset} to {offset + nbytes} are not within the {self.nbytes} bytes "
                "of this device memory"
            )
        return memoryview(content)[offset : offset + nbytes]

    def free(self) -> None:
        """Give the bytes back; after that every use is an error, also a second `free`."""
        del self.content[:]
        self._bytes = None

"""The interpreter's device memory: bytes of its own, apart from the host's buffers."""

from trilby.dataclass import dataclass
from trilby.errors import DeviceError

POISON = 0xCD
"""What memory holds before anything is written: "undefined" should not look like zero."""


@dataclass(slots=True, eq=False)
class InterpreterMemory:
    """Bytes that kernels read and write; none once they are freed.

    `owner` is the backend that made them.
    """

    nbytes: int
    owner: object
    content: bytearray | None

    @property
    def bytes(self) -> bytearray:
        """The content, of memory that is known not to be freed."""
        if self.content is None:
            message = "freed memory has no bytes"
            raise ValueError(message)
        return self.content

    def span(self, offset: int, nbytes: int) -> memoryview:
        """A writable view of some bytes; raises where they are not all there."""
        if offset < 0 or nbytes < 0 or offset + nbytes > self.nbytes:
            raise DeviceError(
                f"bytes {offset} to {offset + nbytes} are not within the {self.nbytes} bytes "
                "of this device memory"
            )
        return memoryview(self.bytes)[offset : offset + nbytes]

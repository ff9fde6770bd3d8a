"""What transforms put into compute models: moving data, and saying that the host looks at it.

None of these is ever written by a user. A `+` in the margin of the text shows them. `buffer` is
a buffer, an n-d array, a view or a struct of one, or an object that may be one: the compute
context finds the buffer behind it, and passes over what has none.
"""

from typing import ClassVar

from trilby.dataclass import dataclass
from trilby.model.op import Op, Operands
from trilby.model.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class Tracking(Op):
    """Tells the compute context about an access of the host."""

    context: Value
    buffer: Value


@dataclass(frozen=True, slots=True, eq=False)
class PreAccess(Tracking):
    """The host is about to read."""

    mnemonic: ClassVar[str] = "track.pre_access"


@dataclass(frozen=True, slots=True, eq=False)
class PostAccess(Tracking):
    """The host has read."""

    mnemonic: ClassVar[str] = "track.post_access"


@dataclass(frozen=True, slots=True, eq=False)
class PreMutate(Tracking):
    """The host is about to write, and perhaps to read."""

    mnemonic: ClassVar[str] = "track.pre_mutate"


@dataclass(frozen=True, slots=True, eq=False)
class PostMutate(Tracking):
    """The host may have written."""

    mnemonic: ClassVar[str] = "track.post_mutate"


@dataclass(frozen=True, slots=True, eq=False)
class ToDevice(Op):
    """Bring a buffer to the device; `certain` where a dispatch that reads it surely follows."""

    mnemonic: ClassVar[str] = "transfer.to_device"
    context: Value
    buffer: Value
    certain: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ToHost(Op):
    """Bring a buffer to the host, or the part of it that a path and indices name.

    The path is that of the access which needs it: `array[]` with an index is an element or a
    slice, without one the whole array; the empty path is the whole buffer. Indices are
    evaluated once more and have no effect. `certain` where the host surely looks afterwards.
    """

    mnemonic: ClassVar[str] = "transfer.to_host"
    context: Value
    buffer: Value
    indices: Operands
    path: str
    certain: bool = False


TRACKING_OPS = (PreAccess, PostAccess, PreMutate, PostMutate)
TRANSFER_OPS = (*TRACKING_OPS, ToDevice, ToHost)

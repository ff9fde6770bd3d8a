"""What transforms put into compute models: moving data, and saying that the host looks at it.

None of these is ever written by a user. A `+` in the margin of the text shows them. `buffer` is
a buffer, an n-d array, a view or a struct of one, or an object that may be one: the compute
context finds the buffer behind it, and passes over what has none.
"""

from trilby.dataclass import dataclass
from trilby.model.op import Op, Operands
from trilby.model.value import Value


@dataclass(frozen=True, slots=True, eq=False)
class Tracking(Op):
    """Tells the compute context about an access of the host."""

    context: Value
    buffer: Value


class PreAccess(Tracking, mnemonic="track.pre_access", result=False):
    """The host is about to read."""


class PostAccess(Tracking, mnemonic="track.post_access", result=False):
    """The host has read."""


class PreMutate(Tracking, mnemonic="track.pre_mutate", result=False):
    """The host is about to write, and perhaps to read."""


class PostMutate(Tracking, mnemonic="track.post_mutate", result=False):
    """The host may have written."""


@dataclass(frozen=True, slots=True, eq=False)
class ToDevice(Op, mnemonic="transfer.to_device", result=False):
    """Bring a buffer to the device; `certain` where a dispatch that reads it surely follows."""

    context: Value
    buffer: Value
    certain: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ToHost(Op, mnemonic="transfer.to_host", result=False):
    """Bring a buffer to the host, or the part of it that a path and indices name.

    The path is that of the access which needs it: `array[]` with an index is an element or a
    slice, without one the whole array; the empty path is the whole buffer. Indices are
    evaluated once more and have no effect. `certain` where the host surely looks afterwards.
    """

    context: Value
    buffer: Value
    indices: Operands
    path: str
    certain: bool = False


TRACKING_OPS = (PreAccess, PostAccess, PreMutate, PostMutate)
TRANSFER_OPS = (*TRACKING_OPS, ToDevice, ToHost)

"""The sizes that a launch passes after a buffer or an array, as the runtime does."""

from typing import Any

import numpy as np

from trilby.backend.base import Scalar
from trilby.data.buffer import Buffer, read_lengths
from trilby.data.dtypes import Type
from trilby.data.schema import BufferType, sizes_of


def sizes_given(type_: Type, argument: Any) -> list[Scalar]:
    """Those of an array, of a buffer, or of the bytes of a buffer with its header."""
    if isinstance(argument, Buffer):
        sizes = tuple(argument.__lengths__.values())
    elif isinstance(type_, BufferType):
        sizes = tuple(read_lengths(type_, argument.reshape(-1).view(np.uint8)).values())
    else:
        sizes = argument.shape
    kinds = sizes_of(type_).values()
    return [Scalar(kind, size) for kind, size in zip(kinds, sizes, strict=True)]

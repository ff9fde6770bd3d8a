"""Hand-written kernels, and a gate that holds work back until the test lets it go."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from trilby.backend.base import Memory, Scalar, Ticket
from trilby.backend.opencl.opencl_device import (
    OpenCLBackend,
    OpenCLKernel,
    OpenCLMemory,
    OpenCLPrepared,
)
from trilby.backend.opencl.opencl_queue import OpenCLQueue
from trilby.codegen.cfamily import Generated
from trilby.data.dtypes import I32
from trilby.data.ndrange import NDRange
from trilby.source import Location

RANGE = "int max_x, int max_y, int max_z"

SCALE = f"""
__kernel void scale(__global int *a, int factor, {RANGE}) {{
    int x = get_global_id(0);
    if (x < max_x) a[x] = a[x] * factor;
}}
"""


@dataclass(frozen=True, slots=True)
class Gate:
    """A command, in a queue of its own, that is over when the test says so."""

    user: cl.UserEvent
    ticket: Ticket

    @classmethod
    def on(cls, backend: OpenCLBackend) -> "Gate":
        user = cl.UserEvent(backend.context)
        queue = OpenCLQueue(backend.context, backend.device, backend.compute)
        queue.events.extend(zip((user,), queue.numbers, ("opening a gate",), strict=False))
        return cls(user, Ticket(queue, 1))

    def open(self) -> None:
        self.user.set_status(cl.command_execution_status.COMPLETE)

    def fail(self) -> None:
        self.user.set_status(cl.status_code.OUT_OF_RESOURCES)


def build(
    backend: OpenCLBackend,
    text: str,
    entry: str,
    asserts: Sequence[tuple[str, Location]] = (),
    *,
    takes_pass: bool = False,
) -> OpenCLKernel:
    """A kernel of OpenCL C that was written by hand, as code generators would."""
    return backend.build(Generated(text, entry, tuple(asserts), takes_pass))


def upload(backend: OpenCLBackend, values: NDArray[Any]) -> OpenCLMemory:
    memory = backend.allocate(values.nbytes)
    backend.upload(memory, 0, values.data.cast("B")).wait()
    return memory


def download(backend: OpenCLBackend, memory: Memory, like: NDArray[Any]) -> NDArray[Any]:
    result = np.zeros_like(like)
    backend.download(memory, 0, result.data.cast("B")).wait()
    return result


def scaling(backend: OpenCLBackend, memory: Memory, factor: int) -> OpenCLPrepared:
    """Multiplies every i32 of a memory."""
    arguments = [memory, Scalar(I32, factor)]
    return backend.prepare(build(backend, SCALE, "scale"), NDRange(memory.nbytes // 4), arguments)


def scale(
    backend: OpenCLBackend, memory: Memory, factor: int, after: Sequence[Ticket] = ()
) -> Ticket:
    return scaling(backend, memory, factor).submit(after=after)

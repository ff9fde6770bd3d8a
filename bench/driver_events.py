"""The launches of a hot loop by pyopencl alone: what a driver takes that keeps their events.

Whoever wants to know how long each launch took has to keep the event of each until it is over. A
driver gets events that are dropped back at once, and uses them again while they are in the caches
of the processor; those that are kept are new memory for it, and for pyopencl. Nothing that measures
all launches by their events can cost less than that.
"""

from functools import partial
from itertools import repeat
from typing import cast

import numpy as np
import pyopencl as cl

from trilby.data.ndrange import NDRange

TOGETHER = 64
"""The launches that are given to the driver one right after the other, as Trilby does."""


class RawLaunches:
    """A kernel of Trilby's, with one buffer, run again and again on a queue of its own."""

    def __init__(
        self, device: cl.Device, source: str, name: str, size: NDRange, local: int
    ) -> None:
        context = cl.Context([device])
        wanted = cl.command_queue_properties
        both = wanted.PROFILING_ENABLE | wanted.OUT_OF_ORDER_EXEC_MODE_ENABLE
        self._queue = cl.CommandQueue(context, device, cast("cl.command_queue_properties", both))
        kernel = cl.Kernel(cl.Program(context, source).build(), name)
        content = np.zeros(64 + 4 * size.items, np.uint8)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        self._buffer = cl.Buffer(context, flags, hostbuf=content)  # kernels do not keep theirs
        kernel.set_args(self._buffer, *map(np.int32, size.padded))
        self._enqueue = partial(
            cl.enqueue_nd_range_kernel, self._queue, kernel, size.size, (local,), None
        )

    def run(self, times: int, *, keep: bool) -> list[cl.Event]:
        """Launch it so often, each time after the last, and wait; with the events, if kept."""
        waits: list[cl.Event] = []
        kept: list[cl.Event] = []
        put = kept.append if keep else None
        steps = map(self._enqueue, repeat(waits))
        for first in range(0, times, TOGETHER):
            for _ in range(first, min(first + TOGETHER, times)):
                event = next(steps)
                waits[:] = [event]
                if put is not None:
                    put(event)
            self._queue.flush()
        self._queue.finish()
        return kept

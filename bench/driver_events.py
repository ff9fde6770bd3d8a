"""The launches of a hot loop by pyopencl alone: what a driver takes that keeps their events.

Whoever wants to know how long each launch took has to keep the event of each until it is over. A
driver gets events that are dropped back at once, and uses them again while they are in the caches
of the processor; those that are kept are new memory for it, and for pyopencl. Nothing that measures
all launches by their events can cost less than that.
"""

from functools import partial

import numpy as np
import pyopencl as cl

from trilby.data.ndrange import NDRange

BETWEEN_FLUSHES = 64
"""The launches that are given to the driver one right after the other."""


class RawLaunches:
    """A kernel of Trilby's, with one buffer, run again and again on a queue of its own."""

    def __init__(self, device: cl.Device, source: str, size: NDRange, local: int) -> None:
        context = cl.Context([device])
        self._queue = cl.CommandQueue(context, device, cl.command_queue_properties.PROFILING_ENABLE)
        (kernel,) = cl.Program(context, source).build().all_kernels()
        content = np.zeros(64 + 4 * size.items, np.uint8)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        self._buffer = cl.Buffer(context, flags, hostbuf=content)  # kernels do not keep theirs
        lengths = [size.items] * (kernel.num_args - 1 - len(size.padded))
        kernel.set_args(self._buffer, *map(np.int32, (*lengths, *size.padded)))
        self._enqueue = partial(
            cl.enqueue_nd_range_kernel, self._queue, kernel, size.size, (local,), None
        )

    def run(self, times: int, *, keep: bool) -> list[cl.Event]:
        """Launch it so often, each time after the last, and wait; with the events, if kept."""
        kept: list[cl.Event] = []
        event = self._enqueue()
        for number in range(1, times):
            if keep:
                kept.append(event)
            event = self._enqueue()
            if not number % BETWEEN_FLUSHES:
                self._queue.flush()
        event.wait()
        return kept

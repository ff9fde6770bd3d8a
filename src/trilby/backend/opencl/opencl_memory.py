"""Memory of an OpenCL device: kept when it is freed, and handed out again by its size.

Most of the time of a loop that allocates, copies and frees goes into allocating: the pages
of new memory are made at the first touch. Memory that is freed while commands work on it is
handed out again only when they are done, because a command of its next owner could overtake
them.
"""

import time
from collections import defaultdict, deque
from collections.abc import Sequence

import pyopencl as cl

from trilby.backend.base import DeviceInfo, Memory, Ticket
from trilby.backend.failures import closed, foreign, freed, no_room
from trilby.backend.opencl.opencl_drivers import check_drivers
from trilby.dataclass import dataclass
from trilby.locks import if_free, new_lock

KEPT_SHARE = 8
"""Of the memory of a device, one part in so many may be kept for later."""

_GRAIN = 64
"""Sizes are rounded up to whole multiples; OpenCL has no buffer of no bytes."""

_PAUSE_SECONDS = 0.0002

_NO_ROOM = frozenset(
    {
        cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE,
        cl.status_code.OUT_OF_RESOURCES,
        cl.status_code.OUT_OF_HOST_MEMORY,
        cl.status_code.INVALID_BUFFER_SIZE,
    }
)


@dataclass(slots=True, eq=False)
class OpenCLMemory:
    """A buffer of OpenCL, None once it is freed: drivers crash on released buffers.

    `nbytes` is what was asked for, `size` what the device has for it: 0 if it is the host's.
    """

    nbytes: int
    context: cl.Context
    buffer: cl.Buffer | None
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class _FreedBlock:
    """A buffer that nobody owns, and the work that was under way when it was freed."""

    size: int
    buffer: cl.Buffer
    work: tuple[Ticket, ...]

    @property
    def idle(self) -> bool:
        return all(ticket.done for ticket in self.work)


class MemoryPool:
    """The buffers of one device: `held` bytes in all, of which nobody owns `kept`."""

    def __init__(self, context: cl.Context, device: DeviceInfo) -> None:
        self.is_open = True
        self.held = 0
        self.kept = 0
        self._context = context
        self._device = device
        self._lock = new_lock()
        # Buffers are freed at any moment, also by the garbage collector in the middle of a
        # method of this class: they arrive here, without a lock, and are put in order later.
        self._arrived: deque[_FreedBlock] = deque()
        self._kept: dict[_FreedBlock, None] = {}
        """The oldest first. The host's memory has to live until the work on it is done."""
        self._by_size: defaultdict[int, dict[_FreedBlock, None]] = defaultdict(dict)

    def check_open(self) -> None:
        """Raise after `close`, and in a forked child."""
        check_drivers()
        if not self.is_open:
            raise closed(self._device)

    def buffer_of(self, memory: Memory) -> cl.Buffer:
        """The buffer behind memory that was allocated here and not freed."""
        self.check_open()
        if not isinstance(memory, OpenCLMemory) or memory.context is not self._context:
            raise foreign(self._device, memory)
        if memory.buffer is None:
            raise freed(self._device, memory.nbytes)
        return memory.buffer

    def take(self, nbytes: int) -> OpenCLMemory:
        """Memory of the device that no command uses; raises where there is no room."""
        size = max(-(-nbytes // _GRAIN), 1) * _GRAIN
        with self._lock:
            self._put_in_order()
            buffer = self._reuse(size) or self._create(size, nbytes)
        return OpenCLMemory(nbytes, self._context, buffer, size)

    def share(self, source: memoryview) -> OpenCLMemory:
        """The host's bytes as memory of the device; pyopencl's buffer keeps them alive."""
        with self._lock:
            self._put_in_order()
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
        buffer = cl.Buffer(self._context, flags, hostbuf=source)
        return OpenCLMemory(source.nbytes, self._context, buffer, 0)

    def give(self, memory: OpenCLMemory, work: Sequence[Ticket]) -> None:
        """Take memory back; `work` is what may still use it. Never waits."""
        if memory.buffer is None:
            raise freed(self._device, memory.nbytes)
        unfinished = tuple(ticket for ticket in work if not ticket.done)
        block = _FreedBlock(memory.size, memory.buffer, unfinished)
        memory.buffer = None
        self._arrived.append(block)  # right after that, so that Ctrl-C loses nothing
        if_free(self._lock, self._put_in_order)

    def trim(self) -> None:
        """Release all that is kept; the driver waits for the commands that use it."""
        with self._lock:
            self._put_in_order()
            self._release_all()

    def _put_in_order(self) -> None:
        while self._arrived:
            block = self._arrived[0]  # it stays there until it is elsewhere: Ctrl-C loses nothing
            self._kept[block] = self._by_size[block.size][block] = None
            self._arrived.popleft()
            self.kept += block.size
        for block in tuple(self._by_size[0]):
            if block.idle:
                self._forget(block)  # pyopencl's buffer lets go of the host's memory
        while self.kept > self._device.memory_bytes // KEPT_SHARE:
            self._release(next(block for block in self._kept if block.size))

    def _forget(self, block: _FreedBlock) -> None:
        self._by_size[block.size].pop(block, None)  # not there if Ctrl-C came right after this
        self._kept.pop(block, None)
        self.kept -= block.size

    def _release(self, block: _FreedBlock) -> None:
        self._forget(block)
        self.held -= block.size
        block.buffer.release()

    def _release_all(self) -> None:
        for block in tuple(self._kept):
            self._release(block)

    def _reuse(self, size: int) -> cl.Buffer | None:
        block = next((block for block in self._by_size[size] if block.idle), None)
        if block is None:
            return None
        self._forget(block)
        return block.buffer

    def _create(self, size: int, nbytes: int) -> cl.Buffer:
        buffer = self._attempt(size)
        if buffer is None and self._kept:
            while not all(block.idle for block in self._kept):  # it may end badly, too
                time.sleep(_PAUSE_SECONDS)
            self._release_all()
            buffer = self._attempt(size)
        if buffer is None:
            raise no_room(self._device, nbytes, self.held)
        self.held += size
        return buffer

    def _attempt(self, size: int) -> cl.Buffer | None:
        """A new buffer, or None where there is no room."""
        # Drivers for CPUs give more than there is, and the system ends the process later.
        if self.held + size > self._device.memory_bytes:
            return None
        try:
            return cl.Buffer(self._context, cl.mem_flags.READ_WRITE, size)
        except cl.Error as error:
            if error.code not in _NO_ROOM:
                raise
        return None

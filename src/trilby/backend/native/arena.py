"""Memory of the native device: the host's own, or an arena beside it.

Memory that is freed is kept and handed out again by its size, since most of the time of
allocating goes into the first touch of its pages. Work on it may still be under way then: the
queue runs everything in order, so what the next owner begins comes after it.
"""

from collections import defaultdict, deque
from collections.abc import Sequence

import numpy as np

from trilby.backend.base import DeviceInfo, Memory, Ticket
from trilby.backend.failures import closed, foreign, freed, no_room
from trilby.backend.native.engine import Engine
from trilby.data.segment import Live, address_of
from trilby.dataclass import dataclass
from trilby.locks import if_free, new_lock

KEPT_SHARE = 8
"""Of the memory of a machine, one part in so many may be kept for later."""

ALIGNMENT = 64
"""Memory begins at a cache line, and its size is rounded up to whole ones."""

_WIDEST_NUMBER = 8
"""Memory of the host begins where any number may; wider things see to their own places."""


class NativeBlock:
    """Bytes and where they begin; `size` is 0 for those of the host, which are not kept.

    The queue may still use them when nobody else does. So the engine owns the content, and gives
    it up when all work is done that was begun before the block ended. `account` has the bytes that
    were taken from the system.
    """

    __slots__ = ("_account", "_content", "_engine", "address", "size")

    def __init__(
        self, engine: Engine, content: Live, address: int, size: int, account: list[int]
    ) -> None:
        self._engine = engine
        self._content = content
        self._account = account
        self.address = address
        self.size = size
        account[0] += size
        engine.owned[id(self)] = content

    def __del__(self) -> None:
        """Leave the content to the engine, for good if Ctrl-C comes here."""
        size = getattr(self, "size", None)
        if size is not None and id(self) in self._engine.owned:
            self._account[0] -= size
            self._engine.keep(self._engine.submitted, self._content)
            del self._engine.owned[id(self)]


@dataclass(slots=True, eq=False)
class NativeMemory:
    """Bytes for kernels; `block` is None once they are freed."""

    nbytes: int
    arena: "Arena"
    block: NativeBlock | None


class Arena:
    """The memory of one backend, in use and kept.

    `moment` counts what invalidates memory: launches that were prepared before are checked again.
    """

    def __init__(self, engine: Engine, device: DeviceInfo) -> None:
        self.engine = engine
        self.device = device
        self.moment = 0
        self.is_open = True
        self._lock = new_lock()
        # Memory is freed at any moment, also by the garbage collector in the middle of a method
        # of this class: it arrives here, without a lock, and is put in order later.
        self._arrived: deque[NativeBlock] = deque()
        self._foreign: deque[tuple[NativeBlock, tuple[Ticket, ...]]] = deque()
        self._kept: defaultdict[int, list[NativeBlock]] = defaultdict(list)
        self._oldest: deque[int] = deque()
        self._account = [0]

    @property
    def held(self) -> int:
        """The bytes that were taken from the system: in use and kept."""
        return self._account[0]

    @property
    def kept(self) -> int:
        """The bytes that nobody owns."""
        return sum(size * len(blocks) for size, blocks in self._kept.items())

    def check_open(self) -> None:
        """Raise after `close`."""
        if not self.is_open:
            raise closed(self.device)

    def address_of(self, memory: Memory) -> int:
        """Where memory begins that was made here and not freed."""
        self.check_open()
        block = self._own(memory).block
        if block is None:
            raise freed(self.device, memory.nbytes)
        return block.address

    def allocate(self, nbytes: int) -> NativeMemory:
        """Memory of the device; raises where there is no room."""
        self.check_open()
        size = max(-(-nbytes // ALIGNMENT), 1) * ALIGNMENT
        with self._lock:
            self._put_in_order()
            blocks = self._kept.get(size)
            block = blocks.pop() if blocks else self._create(size)
        if block is None:
            raise no_room(self.device, nbytes, self.held)
        return NativeMemory(nbytes, self, block)

    def share(self, source: memoryview) -> NativeMemory | None:
        """The host's bytes, where they are, if numbers lie there at multiples of their size."""
        self.check_open()
        if not source.nbytes or source.readonly:
            return None
        content = bytes_of(source)
        address = address_of(content)
        if address % _WIDEST_NUMBER:
            return None
        block = NativeBlock(self.engine, content, address, 0, [0])
        return NativeMemory(source.nbytes, self, block)

    def free(self, memory: Memory, work: Sequence[Ticket]) -> None:
        """Take memory back, also after `close`; `work` is what may still use it. Never waits."""
        own = self._own(memory)
        self.moment += 1
        block, own.block = own.block, None
        if block is None:
            raise freed(self.device, memory.nbytes)
        others = tuple(t for t in work if t.queue is not self.engine and not t.done)
        if others:
            self._foreign.append((block, others))
        else:
            self._arrived.append(block)
        if_free(self._lock, self._put_in_order)
        if not self.is_open:
            self.trim()

    def close(self) -> None:
        """Wait for everything, and let go of it; closing twice is no error."""
        if self.is_open:
            self.moment += 1
            self.is_open = False
            self.engine.wait_for_all()
            self.trim()

    def _own(self, memory: Memory) -> NativeMemory:
        if not isinstance(memory, NativeMemory) or memory.arena is not self:
            raise foreign(self.device, memory)
        return memory

    def trim(self) -> None:
        """Let go of all that is kept, as soon as the queue is past the work on it."""
        with self._lock:
            self._put_in_order()
            self._release(0)

    def _put_in_order(self) -> None:
        for _ in range(len(self._foreign)):
            block, work = self._foreign.popleft()
            if all(ticket.done for ticket in work):
                self._arrived.append(block)
            else:
                self._foreign.append((block, work))
        while self._arrived:
            block = self._arrived.popleft()
            if block.size:
                self._oldest.append(block.size)
                self._kept[block.size].append(block)
        self._release(self.device.memory_bytes // KEPT_SHARE)

    def _release(self, limit: int) -> None:
        """Give the oldest memory back to the system until no more than `limit` is kept."""
        kept = self.kept
        while kept > limit:
            blocks = self._kept[self._oldest.popleft()]
            if blocks:
                kept -= blocks.pop(0).size

    def _create(self, size: int) -> NativeBlock | None:
        # The system gives more than there is, and ends the process later.
        if self.held + size > self.device.memory_bytes:
            self._release(0)
        if self.held + size > self.device.memory_bytes:
            return None
        try:
            content = np.empty(size + ALIGNMENT, np.uint8)
        except MemoryError:
            return None
        address = -(-address_of(content) // ALIGNMENT) * ALIGNMENT
        return NativeBlock(self.engine, content, address, size, self._account)


def bytes_of(view: memoryview) -> Live:
    """A memory of the host as an array of bytes."""
    return np.frombuffer(view, np.uint8)


def is_free(nbytes: int) -> bool:
    """Whether the system gives so many bytes now; they are given back at once."""
    try:
        np.empty(nbytes, np.uint8)
    except MemoryError:
        return False
    return True

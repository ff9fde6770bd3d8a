"""Room on a device, which is finite: who has to go when a buffer needs memory.

Copies whose content is also elsewhere go first, since they cost nothing; then those that
will be needed last. When a buffer is needed next is guessed from when it was used before: one
that is used again and again comes back after the same number of launches.
"""

from collections.abc import Callable, Iterable

from trilby.backend.base import Backend, Memory
from trilby.errors import DeviceError, OutOfDeviceMemoryError
from trilby.runtime.content import Content, Replica

Evict = Callable[[Content, Replica], None]


class Room:
    """The replicas of one device, and how much memory they may take."""

    def __init__(self, backend: Backend, limit: int | None) -> None:
        self._backend = backend
        self.limit = limit
        self.is_tight = limit is not None
        """Whether it matters who was used when."""
        self.clock = 0
        self._replicas: dict[int, tuple[Content, Replica]] = {}

    @property
    def used(self) -> int:
        """The bytes of the device that replicas take."""
        return sum(replica.nbytes for _, replica in self.replicas if not replica.shared)

    @property
    def replicas(self) -> list[tuple[Content, Replica]]:
        """Everything that is on the device."""
        return list(self._replicas.values())

    def add(self, content: Content, replica: Replica) -> None:
        """Count a replica."""
        self._replicas[id(replica)] = content, replica

    def remove(self, replica: Replica) -> None:
        """Count a replica no more."""
        self._replicas.pop(id(replica), None)

    def moved_to(self, content: Content) -> None:
        """The replicas of a content that was joined with others belong to the new one."""
        for replica in content.replicas:
            if id(replica) in self._replicas:
                self._replicas[id(replica)] = content, replica

    def used_by_launch(self, replicas: Iterable[Replica]) -> None:
        """A launch uses these, each named once."""
        self.clock += 1
        for replica in replicas:
            replica.use_before, replica.last_use = replica.last_use, self.clock

    def allocate(self, nbytes: int, pinned: set[int], evict: Evict) -> Memory:
        """Memory on the device, after others have made room for it.

        `pinned` are the identities of replicas that must stay.
        """
        if self.limit is not None:
            while self.used + nbytes > self.limit:
                self._evict_one(nbytes, pinned, evict, None)
        while True:
            try:
                return self._backend.allocate(nbytes)
            except OutOfDeviceMemoryError as error:
                self.is_tight = True
                self._evict_one(nbytes, pinned, evict, error)
                self._backend.trim()

    def _evict_one(
        self, nbytes: int, pinned: set[int], evict: Evict, cause: DeviceError | None
    ) -> None:
        # A list of all first: buffers end at any moment, also while this looks through them.
        free = [pair for pair in self.replicas if id(pair[1]) not in pinned and not pair[1].shared]
        if not free:
            raise self._full(nbytes, pinned, cause) from cause
        evict(*max(free, key=self._next_use))

    def _next_use(self, pair: tuple[Content, Replica]) -> tuple[bool, float]:
        content, replica = pair
        clean = not content.only_at(replica)
        if not replica.use_before:
            return clean, float("inf") if clean else self.clock - replica.last_use
        period = replica.last_use - replica.use_before
        return clean, replica.last_use + period - self.clock

    def _full(
        self, nbytes: int, pinned: set[int], cause: DeviceError | None
    ) -> OutOfDeviceMemoryError:
        if cause is not None and not self._replicas:
            raise cause
        has = sum(self._replicas[key][1].nbytes for key in pinned)
        limit = self.limit if self.limit is not None else self._backend.device.memory_bytes
        what = "the memory limit" if self.limit is not None else self._backend.device.name
        return OutOfDeviceMemoryError(
            f"one launch needs {has + nbytes:,} bytes on the device at the same time, and "
            f"{what} has {limit:,}",
            advice="launch over smaller buffers, one part after the other"
            + (", or raise `memory_limit`" if self.limit is not None else ""),
        )

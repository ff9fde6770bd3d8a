"""Writes down what host and kernels touch while somebody records, for the oracle to judge."""

from dataclasses import field, replace
from typing import TYPE_CHECKING

from trilby.data.ranges import Ranges
from trilby.dataclass import dataclass
from trilby.oracle.excess import CopyMade, Excess, excess
from trilby.oracle.trace import HOST, Access, Trace
from trilby.runtime.callers import Caller
from trilby.source import NOWHERE, Location

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trilby.runtime.content import Content, Replica
    from trilby.runtime.held import Held
    from trilby.runtime.replicas import Moved, Replicas
    from trilby.runtime.watch import Watch


@dataclass(slots=True, eq=False)
class Recording:
    """The trace of what happens to the buffers that one accelerator uses.

    `copies` are its own. Other accelerators may copy the same buffers, without which the trace
    cannot be judged: `all_copies` has both in their order, and `own` the places of `copies` in it.
    `callers` are those that needed `copies`.
    """

    owner: "Replicas"
    trace: Trace = field(default_factory=Trace)
    copies: list[CopyMade] = field(default_factory=list[CopyMade])
    all_copies: list[CopyMade] = field(default_factory=list[CopyMade])
    own: list[int] = field(default_factory=list[int])
    callers: list[Caller | None] = field(default_factory=list[Caller | None])
    _numbers: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])

    def __post_init__(self) -> None:
        shares = self.owner.shares
        self.trace.place(self.owner.place, shares_memory_with_host=shares)

    def host_reads(self, watch: "Watch", ranges: Ranges) -> None:
        """The host reads bytes of a segment."""
        number = self._known(watch)
        if number is not None:
            self.trace.touch(HOST, {number: Access(reads=ranges.parts)}, "", _line())

    def host_writes(self, watch: "Watch", ranges: Ranges) -> None:
        """The host overwrites bytes of a segment."""
        number = self._known(watch)
        if number is not None:
            access = Access(writes=ranges.parts, covers=ranges.parts)
            self.trace.touch(HOST, {number: access}, "", _line())

    def kernel(
        self,
        place: str,
        uses: "Mapping[Replica, tuple[Ranges, Ranges, Ranges]]",
        label: str,
        location: Location,
    ) -> None:
        """A kernel runs, with what it may read, may write and surely writes of each buffer."""
        accesses: dict[int, Access] = {}
        for replica, (reads, writes, covers) in uses.items():
            self.trace.place(place, shares_memory_with_host=replica.owner.shares)
            number = self._numbers.get((replica.address, replica.nbytes))
            if number is not None:
                accesses[number] = Access(reads.parts, writes.parts, covers.parts)
        self.trace.touch(place, accesses, label, location)

    def raw_writes(self, held: "Held") -> None:
        """The host may have written through a raw view."""
        self._raw(held, held.escaped, writes=True)

    def raw_reads(self, held: "Held") -> None:
        """The host may read through a raw view what a kernel wrote."""
        self._raw(held, held.seen & held.writes, writes=False)

    def _raw(self, held: "Held", ranges: Ranges, *, writes: bool) -> None:
        replica = held.replica
        number = self._numbers.get((replica.address, replica.nbytes))
        ranges &= replica.whole
        if number is not None and ranges:
            parts = ranges.shifted(-replica.address).parts
            access = Access(writes=parts, covers=parts) if writes else Access(reads=parts)
            self.trace.touch(HOST, {number: access}, "raw view", invisible=True)

    def notice(self, content: "Content") -> None:
        """Something is about to happen to what devices have."""
        for replica in content.replicas:
            self.begin(content, replica)

    def ended(self, watch: "Watch") -> None:
        """A segment is gone; another one at its place is another one."""
        self._numbers.pop((watch.address, watch.nbytes), None)

    def begin(self, content: "Content", replica: "Replica") -> None:
        """A buffer is about to be used on the device: how it is now is how it was."""
        if replica.owner is self.owner:
            number = self._number(content, replica.address, replica.nbytes, replica)
            buffers = self.trace.buffers
            if buffers[number].name != replica.label:  # a plan brought it before a kernel named it
                buffers[number] = replace(buffers[number], name=replica.label)

    def moved(self, moved: "Moved") -> None:
        """A copy is made, by any accelerator."""
        replica = moved.replica
        number = self._numbers.get((replica.address, replica.nbytes))
        if number is None:
            return
        places = [HOST, replica.owner.place]
        source, target = places if moved.direction == "up" else reversed(places)
        piece, position = moved.piece, len(self.trace.touches)
        for row in range(piece.rows):
            start = piece.start - replica.address + row * piece.pitch
            copy = CopyMade(position, number, source, target, start, piece.size)
            if replica.owner is self.owner:
                self.own.append(len(self.all_copies))
                self.copies.append(copy)
                self.callers.append(moved.reason.caller)
            self.all_copies.append(copy)

    @property
    def bytes_of_others(self) -> int:
        """What other accelerators copied of the same buffers."""
        own = sum(copy.nbytes for copy in self.copies)
        return sum(copy.nbytes for copy in self.all_copies) - own

    def excess(self) -> list[Excess]:
        """What its own copies moved in vain."""
        numbers = {place: number for number, place in enumerate(self.own)}
        return [
            replace(one, copy=numbers[one.copy])
            for one in excess(self.trace, self.all_copies)
            if one.copy in numbers
        ]

    def _known(self, watch: "Watch") -> int | None:
        """The number of a segment that the accelerator has a copy of."""
        number = self._numbers.get((watch.address, watch.nbytes))
        if number is None:
            for replica in watch.content.replicas:
                if replica.owner is self.owner and replica.has_place_of(
                    watch.address, watch.nbytes
                ):
                    return self._number(watch.content, watch.address, watch.nbytes, replica)
        return number

    def _number(self, content: "Content", address: int, nbytes: int, replica: "Replica") -> int:
        key = address, nbytes
        if key not in self._numbers:
            whole = Ranges.span(address, address + nbytes)
            valid: dict[str, Sequence[tuple[int, int]]] = {
                other.owner.place: (other.valid & whole).shifted(-address).parts
                for other in content.replicas
                if not other.shared
            }
            host = (content.host - content.fresh) & whole
            valid[HOST] = host.shifted(-address).parts
            fresh = (content.fresh & whole).shifted(-address).parts
            self._numbers[key] = self.trace.buffer(
                replica.label, nbytes, fresh=fresh, valid=valid, fields=replica.fields
            )
        return self._numbers[key]


def _line() -> Location:
    caller = Caller.now()
    return caller.line if caller else NOWHERE

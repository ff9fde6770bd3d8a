"""Writes down what host and kernels touch while somebody records, for the oracle to judge."""

from dataclasses import field, replace
from typing import TYPE_CHECKING

from trilby.data.ranges import Ranges
from trilby.dataclass import dataclass
from trilby.oracle.excess import CopyMade, Excess, excess
from trilby.oracle.trace import HOST, Access, Trace, both
from trilby.runtime.callers import Caller
from trilby.source import NOWHERE, Location

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trilby.data.touched import Touched
    from trilby.runtime.content import Content, Replica
    from trilby.runtime.launch_buffers import LaunchBuffer
    from trilby.runtime.replicas import Moved, Replicas
    from trilby.runtime.watch import Watch


@dataclass(slots=True, eq=False)
class Recording:
    """The trace of what happens to the buffers that one accelerator uses.

    For `double`, and `b[5]` after it, the trace has a launch that overwrites 4,096 bytes of `b` and
    the host's read of the bytes 20 to 24.

    `copies` are its own. Other accelerators may copy the same buffers, without which the trace
    cannot be judged: `all_copies` has both in their order, and `own` the places of `copies` in it.
    `callers` are those that needed `copies`. Arrays that overlap are one buffer of the trace;
    `_starts` has the address of each buffer.
    """

    owner: "Replicas"
    trace: Trace = field(default_factory=Trace)
    copies: list[CopyMade] = field(default_factory=list[CopyMade])
    all_copies: list[CopyMade] = field(default_factory=list[CopyMade])
    own: list[int] = field(default_factory=list[int])
    callers: list[Caller | None] = field(default_factory=list[Caller | None])
    _numbers: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    _starts: list[int] = field(default_factory=list[int])

    def __post_init__(self) -> None:
        shares = self.owner.shares
        self.trace.place(self.owner.place, shares_memory_with_host=shares)

    def host_reads(self, watch: "Watch", ranges: Ranges) -> None:
        """The host reads bytes of a segment."""
        self._host(watch, ranges, writes=False)

    def host_writes(self, watch: "Watch", ranges: Ranges) -> None:
        """The host overwrites bytes of a segment."""
        self._host(watch, ranges, writes=True)

    def _host(self, watch: "Watch", ranges: Ranges, *, writes: bool) -> None:
        number = self._known(watch)
        if number is not None:
            access = _access(self._parts(number, watch.address, ranges), writes=writes)
            self.trace.touch(HOST, {number: access}, "", _line())

    def kernel(
        self,
        place: str,
        uses: "Mapping[Replica, Touched]",
        label: str,
        location: Location,
    ) -> None:
        """A kernel runs, with what it may read, may write and surely writes of each buffer."""
        accesses: dict[int, Access] = {}
        for replica, touched in uses.items():
            self.trace.place(place, shares_memory_with_host=replica.owner.shares)
            number = self._numbers.get((replica.address, replica.nbytes))
            if number is not None:
                parts = touched.reads, touched.writes, touched.covers
                access = Access(*(self._parts(number, replica.address, part) for part in parts))
                known = accesses.get(number)
                accesses[number] = access if known is None else both(known, access)
        self.trace.touch(place, accesses, label, location)

    def raw_writes(self, held: "LaunchBuffer") -> None:
        """The host may have written through a raw view."""
        self._raw(held, held.escaped, writes=True)

    def raw_reads(self, held: "LaunchBuffer") -> None:
        """The host may read through a raw view what a kernel wrote."""
        self._raw(held, held.seen & held.touched.writes, writes=False)

    def _raw(self, held: "LaunchBuffer", ranges: Ranges, *, writes: bool) -> None:
        replica = held.replica
        number = self._numbers.get((replica.address, replica.nbytes))
        ranges &= replica.whole
        if number is not None and ranges:
            access = _access(self._parts(number, 0, ranges), writes=writes)
            self.trace.touch(HOST, {number: access}, "raw view", invisible=True)

    def notice(self, content: "Content") -> None:
        """Something is about to happen to what devices have."""
        for replica in content.replicas:
            self.begin(replica)

    def ended(self, watch: "Watch") -> None:
        """A segment is gone; another one at its place is another one."""
        self._numbers.pop((watch.address, watch.nbytes), None)

    def begin(self, replica: "Replica") -> None:
        """A buffer is about to be used on the device: how it is now is how it was."""
        if replica.owner is self.owner or self._around(replica.address, replica.nbytes):
            number = self._number(replica.address, replica.nbytes, replica)
            buffer = self.trace.buffers[number]
            is_one = buffer.nbytes == replica.nbytes
            if is_one and buffer.name != replica.label:  # a plan brought it before it was named
                self.trace.buffers[number] = replace(buffer, name=replica.label)

    def moved(self, moved: "Moved") -> None:
        """A copy is made, by any accelerator."""
        replica = moved.replica
        number = self._numbers.get((replica.address, replica.nbytes))
        if number is None:
            return
        places = [HOST, replica.owner.place]
        source, target = places if moved.direction == "up" else reversed(places)
        position = len(self.trace.touches)
        for start, stop in moved.ranges.shifted(-self._starts[number]):
            copy = CopyMade(position, number, source, target, start, stop - start)
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
        """The number of a segment of which the accelerator has a copy, in part at least."""
        number = self._numbers.get((watch.address, watch.nbytes))
        if number is None:
            for replica in watch.content.replicas:
                if replica.owner is self.owner and replica.whole.meets(watch.whole):
                    self.begin(replica)
                    return self._number(watch.address, watch.nbytes, replica)
        return number

    def _parts(self, number: int, address: int, ranges: Ranges) -> "Sequence[tuple[int, int]]":
        """Bytes of an array that begins at an address, as bytes of its buffer in the trace."""
        return tuple(ranges.shifted(address - self._starts[number]))

    def _around(self, address: int, nbytes: int) -> set[int]:
        """The buffers that have some of these bytes."""
        return {
            number
            for (start, size), number in self._numbers.items()
            if start < address + nbytes and address < start + size
        }

    def _number(self, address: int, nbytes: int, replica: "Replica") -> int:
        key, content = (address, nbytes), replica.content
        if key not in self._numbers:
            whole = Ranges.span(address, address + nbytes)
            valid = {HOST: (content.host - content.fresh) & whole}
            for other in content.replicas:
                place = other.owner.place
                if not other.shared:
                    valid[place] = valid.get(place, Ranges.EMPTY) | (other.valid & whole)
            overlapping = self._around(address, nbytes)
            self._starts.append(address)
            self._numbers[key] = number = self.trace.buffer(
                replica.label,
                nbytes,
                fresh=tuple((content.fresh & whole).shifted(-address)),
                valid={place: tuple(part.shifted(-address)) for place, part in valid.items()},
                fields=replica.fields if replica.has_place_of(address, nbytes) else (),
            )
            if overlapping:
                self._join({*overlapping, number})
        return self._numbers[key]

    def _join(self, numbers: set[int]) -> None:
        """Make one buffer of several that overlap."""
        start = min(self._starts[number] for number in numbers)
        offsets = {number: self._starts[number] - start for number in numbers}
        new = self.trace.join(offsets)
        for copies in (self.copies, self.all_copies):
            copies[:] = [
                copy._replace(
                    buffer=new[copy.buffer], start=copy.start + offsets.get(copy.buffer, 0)
                )
                for copy in copies
            ]
        self._numbers.update({key: new[number] for key, number in self._numbers.items()})
        kept = [number for number in range(len(new)) if number not in numbers - {min(numbers)}]
        self._starts[:] = [start if number in numbers else self._starts[number] for number in kept]


def _access(parts: "Sequence[tuple[int, int]]", *, writes: bool) -> Access:
    return Access(writes=parts, covers=parts) if writes else Access(reads=parts)


def _line() -> Location:
    caller = Caller.now()
    return caller.line if caller else NOWHERE

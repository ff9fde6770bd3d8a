"""What a program touched, where, and in which order: all that the oracle knows of a run.

A trace says nothing of copies. It is written by hand, by a tool, or by the runtime while it
records; this module only keeps it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from trilby.dataclass import dataclass
from trilby.source import NOWHERE, Location

Range: TypeAlias = tuple[int, int]
"""The first byte, and the one after the last."""

HOST = "host"


class Access(NamedTuple):
    """What one touch does to one buffer, as byte ranges of that buffer, in any order.

    A kernel that doubles the first half of 8 bytes is `Access(reads=half, writes=half,
    covers=half)` with `half = [(0, 4)]`. One object may serve any number of touches, and is then
    looked at once.
    """

    reads: Sequence[Range] = ()
    """What may be read before the touch itself has written it."""
    writes: Sequence[Range] = ()
    """What may be written."""
    covers: Sequence[Range] = ()
    """What is surely written, every byte of it: a part of `writes`."""
    imprecise: Sequence[Range] = ()
    """The part of `reads` that stands there only because nobody could tell; for `excess`."""


class Touch(NamedTuple):
    """One host access or one kernel launch."""

    place: str
    accesses: Mapping[int, Access]
    """What it does, by the numbers of the buffers."""
    label: str = ""
    location: Location = NOWHERE
    invisible: bool = False
    """True for an access that might have happened unseen, such as through a raw view."""


@dataclass(frozen=True, slots=True)
class TracedBuffer:
    """A buffer as it was when recording began."""

    number: int
    name: str
    nbytes: int
    valid: Mapping[str, Sequence[Range]]
    """What is current where, apart from what is fresh."""
    fresh: Sequence[Range]
    """Zeros that nobody wrote: every place makes them by itself."""
    fields: Sequence[tuple[str, int, int]]
    """Name, first byte, and the byte after the last, of all that is data."""

    @property
    def data(self) -> Sequence[Range]:
        """The bytes that count: those of the fields, or all where there are no fields."""
        return [(start, stop) for _, start, stop in self.fields] or [(0, self.nbytes)]


class Trace:
    """Buffers, and the touches of them in program order.

    The places are `"host"` and any other names, each a device with a memory of its own.

        trace = Trace()
        a = trace.buffer("a", 8)
        whole = [(0, 8)]
        trace.touch("gpu", {a: Access(reads=whole, writes=whole, covers=whole)}, "double")
        trace.touch("host", {a: Access(reads=whole)}, "print(a)")
    """

    def __init__(self) -> None:
        self.buffers: list[TracedBuffer] = []
        self.touches: list[Touch] = []
        self.sharing: set[str] = {HOST}
        """The places whose memory is the host's."""

    def place(self, name: str, *, shares_memory_with_host: bool = False) -> None:
        """Say how a device's memory is; a device that is not mentioned has its own."""
        if shares_memory_with_host:
            self.sharing.add(name)

    def buffer(
        self,
        name: str,
        nbytes: int,
        *,
        fresh: bool | Sequence[Range] = False,
        valid: Mapping[str, Sequence[Range]] | None = None,
        fields: Sequence[tuple[str, int, int]] = (),
    ) -> int:
        """Add a buffer and give its number.

        `fresh` is what consists of zeros that nobody wrote. `valid` says what is current where
        at the beginning; without it all that is not fresh is current on the host. `fields` are
        `(name, start, stop)` of the data: bytes outside of them, such as padding and lengths that
        never change, are never needed, moved or counted.
        """
        number = len(self.buffers)
        whole: Sequence[Range] = ((0, nbytes),)
        zeros = fresh if not isinstance(fresh, bool) else whole if fresh else ()
        where = {HOST: whole} if valid is None and fresh is not True else dict(valid or {})
        self.buffers.append(TracedBuffer(number, name, nbytes, where, zeros, tuple(fields)))
        return number

    def touch(
        self,
        place: str,
        accesses: Mapping[int, Access],
        label: str = "",
        location: Location = NOWHERE,
        *,
        invisible: bool = False,
    ) -> None:
        """Add a host access or a kernel launch. The trace keeps `accesses` as it is.

        The touch needs `reads` and `writes − covers` to be current at its place, and leaves
        `writes` current nowhere else. `invisible` marks an access that nobody saw, and that is
        assumed because it could have been.
        """
        self.touches.append(Touch(place, accesses, label, location, invisible))

    def join(self, offsets: Mapping[int, int]) -> list[int]:
        """Make one buffer of several that share bytes, and give the new number of each buffer.

        `offsets` says where each of them begins in the joined one, which has the lowest of their
        numbers. Where they disagree about the beginning, the first of them is right.
        """
        numbers = sorted(offsets)
        first, parts = numbers[0], [self.buffers[number] for number in numbers]
        joined = _joined(parts, [offsets[number] for number in numbers])
        rest = [b for b in self.buffers if b.number not in offsets or b.number == first]
        new = {buffer.number: number for number, buffer in enumerate(rest)}
        new |= dict.fromkeys(numbers, new[first])
        self.buffers[:] = [
            replace(joined if buffer.number == first else buffer, number=number)
            for number, buffer in enumerate(rest)
        ]
        shifted: dict[tuple[int, int], Access] = {}  # one that serves many touches still does

        def at(access: Access, offset: int) -> Access:
            key = id(access), offset
            if offset and key not in shifted:
                shifted[key] = Access(*(_shifted(part, offset) for part in access))
            return shifted[key] if offset else access

        for number, touch in enumerate(self.touches):
            moved: dict[int, Access] = {}
            for buffer, access in touch.accesses.items():
                here, to = at(access, offsets.get(buffer, 0)), new[buffer]
                moved[to] = both(moved[to], here) if to in moved else here
            self.touches[number] = touch._replace(accesses=moved)
        return [new[number] for number in range(len(new))]


def both(one: Access, other: Access) -> Access:
    """Two accesses that one touch makes of the same buffer."""
    return Access(*((*left, *right) for left, right in zip(one, other, strict=True)))


def _shifted(ranges: Sequence[Range], offset: int) -> Sequence[Range]:
    return tuple((start + offset, stop + offset) for start, stop in ranges)


def _joined(parts: Sequence[TracedBuffer], offsets: Sequence[int]) -> TracedBuffer:
    """One buffer of several, in which each byte was at first as in the first that has it."""
    known: list[Range] = []
    valid: dict[str, list[Range]] = {}
    fresh: list[Range] = []
    fields: list[tuple[str, int, int]] = []
    for part, offset in zip(parts, offsets, strict=True):
        for place, ranges in part.valid.items():
            valid.setdefault(place, []).extend(_without(_shifted(ranges, offset), known))
        fresh += _without(_shifted(part.fresh, offset), known)
        of_part = part.fields or [("", 0, part.nbytes)]
        fields += [(name, start + offset, stop + offset) for name, start, stop in of_part]
        known.append((offset, offset + part.nbytes))
    names = ", ".join(dict.fromkeys(part.name for part in parts))
    size = max(stop for _, stop in known)
    return TracedBuffer(parts[0].number, names, size, valid, fresh, fields)


def _without(ranges: Sequence[Range], known: Sequence[Range]) -> Sequence[Range]:
    """Ranges without the bytes of others."""
    left = list(ranges)
    for start, stop in known:
        cut = ((part, (part[0], start), (stop, part[1])) for part in left)
        left = [
            piece
            for part, before, after in cut
            for piece in ((before, after) if part[0] < stop and start < part[1] else (part,))
            if piece[0] < piece[1]
        ]
    return left

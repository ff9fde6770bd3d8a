"""The profile: what kernels, copies, compilations and waits of a stretch of program took.

A `Book` takes down what happens, and adds it up in rows; a `Profile` shows them.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import asdict, field
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from trilby.backend.base import Backend, Queue, Ticket, Times
from trilby.dataclass import dataclass
from trilby.locks import if_free, new_rlock
from trilby.runtime.content import wait_whatever
from trilby.runtime.launch_buffers import Writer, launch_of
from trilby.shown import Shown, aligned
from trilby.source import Location
from trilby.stages import Spent

if TYPE_CHECKING:
    from trilby.runtime.content import Replica
    from trilby.runtime.passes import PortionTimes
    from trilby.runtime.replicas import Moved

# ------------------------------------------------------------------------------------- profile rows
# The rows of a profile: what is known of a kernel and line, a buffer, a wait, a compilation.
#
# A book adds to its own rows; whoever looks is given copies of them.


@dataclass(slots=True)
class Copies:
    """Copies in one direction: how many, how many bytes, and what the device took for them.

    Two copies of 4,096 bytes that took a microsecond each are `Copies(2, 8192, 2e-6)`.
    """

    count: int = 0
    nbytes: int = 0
    seconds: float = 0.0

    def add(self, count: int, nbytes: int, seconds: float) -> None:
        """Count other copies with these; negative numbers take some out."""
        self.count += count
        self.nbytes += nbytes
        self.seconds += seconds


@dataclass(slots=True)
class DispatchRow:
    """The dispatches of a kernel from one line: of `double`, say, from line 12 of `app.py`.

    `execute_seconds` is what the device took for all of them, and `delay_seconds` for how long
    they were queued before it began. `copy_in` are the copies of what they needed, `copy_out`
    those of what they wrote. `wait_seconds` is how long the host waited for their results. What
    compiling the kernel took stands in the first row that the kernel has.

    A row whose `count` is 0 is about a dispatch before the profile was opened.
    """

    kernel: str
    location: Location
    count: int = 0
    failed: int = 0
    execute_seconds: float = 0.0
    least_seconds: float = 0.0
    most_seconds: float = 0.0
    delay_seconds: float = 0.0
    copy_in: Copies = field(default_factory=Copies)
    copy_out: Copies = field(default_factory=Copies)
    compile_seconds: float = 0.0
    wait_seconds: float = 0.0

    def add(self, times: Times | None) -> None:
        """Count a run. One that failed has no times."""
        self.count += 1
        if times is None:
            self.failed += 1
            return
        is_first = self.count - self.failed == 1
        seconds = times.seconds
        self.execute_seconds += seconds
        self.least_seconds = seconds if is_first else min(self.least_seconds, seconds)
        self.most_seconds = max(self.most_seconds, seconds)
        self.delay_seconds += times.queued

    @property
    def mean_seconds(self) -> float:
        """What the device took for one of them; 0.0 where none went well."""
        done = self.count - self.failed
        return self.execute_seconds / done if done else 0.0

    @property
    def mean_delay_seconds(self) -> float:
        """For how long one of them was queued; those that waited for each other overlap."""
        done = self.count - self.failed
        return self.delay_seconds / done if done else 0.0


@dataclass(slots=True)
class BufferRow:
    """The copies of a buffer, or of one of its fields; several fields at once have no name.

    The buffer of a copy of `a.array` is "a", and the field "array".
    """

    buffer: str
    field: str
    copy_in: Copies
    copy_out: Copies


@dataclass(slots=True)
class WaitRow:
    """A line where the host waited, why, and for which buffer: empty where for several.

    `print(b.array[5])` waits because "the host reads it", for "b".
    """

    location: Location
    why: str
    buffer: str
    count: int = 0
    seconds: float = 0.0
    most_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class CompileRow:
    """What compiling a function, such as the kernel `double`, took, by the host's clock."""

    function: str
    reflect_seconds: float
    analyse_seconds: float
    generate_seconds: float
    build_seconds: float

    @property
    def seconds(self) -> float:
        """All stages together."""
        stages = self.reflect_seconds, self.analyse_seconds, self.generate_seconds
        return sum(stages) + self.build_seconds


@dataclass(frozen=True, slots=True)
class Totals:
    """All rows of a profile together: `dispatches` is the sum of their counts."""

    dispatches: int
    failed: int
    execute_seconds: float
    delay_seconds: float
    copy_in: Copies
    copy_out: Copies
    compile_seconds: float
    waits: int
    wait_seconds: float


def _joined(copies: Iterable[Copies]) -> Copies:
    """Copies of several rows together."""
    total = Copies()
    for one in copies:
        total.add(one.count, one.nbytes, one.seconds)
    return total


# --------------------------------------------------------------------------------------------- book
# Tickets are read when their commands are over: at the end, or when many have piled up. So the
# program under measurement waits for nothing that it would not wait for anyway.

MOST_UNREAD = 1024
"""So many commands pile up before those that are over are read. Queues remember 4,096."""

_MOST_UNUSED = 256
"""So many buffers are remembered that came to the device and were not used by now."""


@dataclass(slots=True, eq=False)
class Command:
    """A launch or a copy that a device was given; `times` are there when it was read.

    A launch has its `row`, and many passes have `portions`. A copy of `nbytes` is counted in
    `sums`, those of its buffer and of a launch, and `place` is its buffer and field.
    """

    ticket: Ticket | None
    row: DispatchRow | None = None
    portions: "PortionTimes | None" = None
    place: tuple[str, str] = "", ""
    nbytes: int = 0
    sums: tuple[Copies, ...] = ()
    times: Times | None = None

    def count(self) -> None:
        """Add to the rows what it took."""
        if self.row is not None:
            self.row.add(self.times)
            return
        self.times = self.times or Times(None, 0.0)
        for one in self.sums:
            one.add(1, self.nbytes, self.times.seconds)


@dataclass(slots=True, eq=False)
class Book:
    """All that is taken down for one profile of an accelerator, and of all its threads.

    After `double_all` it has a row for `double`, one for `a.array`, and none for `b`, which was not
    copied. `backends` are the devices that it uses: more than one where it had to take another.
    `_unread` are commands in the order in which they were submitted; the rows lack what they took.
    `_unused` are copies to the device that no launch has used yet, by the serial of their replica.
    Whoever has `_lock` reads, and may wait for commands.
    """

    backends: list[Backend]
    compiled: Spent = field(default_factory=Spent)
    waits: dict[tuple[Location, str, str], WaitRow] = field(default_factory=dict)
    buffers: dict[tuple[str, str], BufferRow] = field(default_factory=dict)
    dispatches: dict[tuple[str, str, int], DispatchRow] = field(default_factory=dict)
    _last: "tuple[Writer, DispatchRow] | tuple[None, None]" = None, None
    _told: dict[Queue, int] = field(default_factory=dict)
    _unread: deque[Command] = field(default_factory=deque)
    _unused: dict[int, list[Command]] = field(default_factory=dict)
    _lock: RLock = field(default_factory=new_rlock)

    def launched(
        self,
        writer: Writer,
        ticket: Ticket | None,
        replicas: "Sequence[Replica]" = (),
        portions: "PortionTimes | None" = None,
    ) -> Command:
        """A kernel was launched, once or for many passes; without a ticket, it was refused.

        After an interrupt it may be told twice, and counts once.
        """
        last = self._unread[-1] if self._unread else Command(None)
        told = self._told.get(ticket.queue, 0) if ticket is not None and portions is None else 0
        if ticket is not None and (ticket.number <= told or last.ticket == ticket):
            return last
        known, row = self._last
        if row is None or known is not writer:
            row = self._row_of(writer)
            self._last = writer, row
        for replica in replicas if self._unused else ():
            for copy in self._unused.pop(replica.serial, ()):
                self._use(copy, row, replica.label)
        command = Command(ticket, row, portions)
        self._unread.append(command)
        if ticket is not None:
            self._told[ticket.queue] = ticket.number  # behind it: it counts also if Ctrl-C comes
        self._read_some()
        return command

    def moved(self, moved: "Moved") -> Command:
        """A copy was started."""
        replica, nbytes = moved.replica, moved.ranges.nbytes
        place = replica.label, _field_of(moved)
        if moved.direction == "up":
            sums = (self._buffer_row(place).copy_in,)
        else:
            writer = launch_of(moved.ticket)
            rows = (self._buffer_row(place), *([self._row_of(writer)] if writer else ()))
            sums = tuple(row.copy_out for row in rows)
        copy = Command(moved.ticket, place=place, nbytes=nbytes, sums=sums)
        if moved.direction == "up":
            self._unused.setdefault(replica.serial, []).append(copy)
            if len(self._unused) > _MOST_UNUSED:
                del self._unused[next(iter(self._unused))]
        self._unread.append(copy)
        self._read_some()
        return copy

    def waited(
        self, ticket: Ticket, seconds: float, location: Location, why: str, buffer: str
    ) -> None:
        """The host waited for a command."""
        row = self.waits.setdefault((location, why, buffer), WaitRow(location, why, buffer))
        row.count += 1
        row.seconds += seconds
        row.most_seconds = max(row.most_seconds, seconds)
        writer = launch_of(ticket)
        if writer is not None:
            self._row_of(writer).wait_seconds += seconds

    def add_compiled(self, spent: Spent) -> None:
        """Something was compiled."""
        for key, seconds in spent.items():
            self.compiled[key] = self.compiled.get(key, 0.0) + seconds

    def called(self, function: str, began: float) -> None:
        """A compute function has returned that was called at that time: profiles show none."""

    def settle(self) -> None:
        """Wait for all that was begun, however it ends, and read it."""
        with self._lock:
            self._read(wait=True)

    def _row_of(self, writer: Writer) -> DispatchRow:
        kernel, file, line = writer.kernel, writer.caller.code.co_filename, writer.caller.number
        row = self.dispatches.get((kernel, file, line))
        if row is None:
            new = DispatchRow(kernel, Location(file, line))
            row = self.dispatches.setdefault((kernel, file, line), new)
        return row

    def _buffer_row(self, place: tuple[str, str]) -> BufferRow:
        return self.buffers.setdefault(place, BufferRow(*place, Copies(), Copies()))

    def _use(self, copy: Command, row: DispatchRow, label: str) -> None:
        """A launch uses what was copied to the device: it has a name from now on at the latest."""
        before = copy.sums
        copy.place = label, copy.place[1]
        copy.sums = self._buffer_row(copy.place).copy_in, row.copy_in
        if copy.times is not None:  # else it is counted when it is read
            for one in before:
                one.add(-1, -copy.nbytes, -copy.times.seconds)
            copy.count()

    def _read_some(self) -> None:
        """Read what is over, if much has piled up."""
        if len(self._unread) > MOST_UNREAD:
            if_free(self._lock, lambda: self._read(wait=len(self._unread) > 2 * MOST_UNREAD))

    def _read(self, *, wait: bool) -> None:
        while self._unread:
            command = self._unread[0]
            ticket, portions = command.ticket, command.portions
            if ticket is not None:
                if wait and not ticket.done:
                    wait_whatever([ticket])
                if not ticket.done:
                    return
                command.times = portions.read() if portions else ticket.queue.times(ticket.number)
            command.count()
            self._unread.popleft()


def _field_of(moved: "Moved") -> str:
    """The field within which a copy lies; empty where it has parts of several."""
    start, stop = moved.ranges.shifted(-moved.replica.address).hull
    fields = moved.replica.fields
    inside = (name for name, first, last in fields if first <= start and stop <= last)
    return next(inside, "")


# ------------------------------------------------------------------------------------------ profile

_CLOCKS = {
    "device": "measured by the device",
    "host": "measured by the host's clock",
    "none": "it measures nothing",
}


@dataclass(frozen=True, slots=True, eq=False)
class Profile(Shown):
    """What was measured inside of `with accelerator.profile() as profile:`, of all threads.

    Times are in seconds. Those of kernels and copies are what the device says of its own events;
    those of compilations and waits are the host's, which is busy with nothing else meanwhile.
    Whoever looks waits for the work that was begun.

    >>> with accelerator.profile() as profile:
    ...     accelerator.compute(square_all, numbers)
    >>> print(profile)
    """

    book: Book

    @property
    def dispatches(self) -> tuple[DispatchRow, ...]:
        """A row for each kernel and each line that dispatches it, in the order of the program."""
        self.book.settle()
        compiled = {row.function: row.seconds for row in self.compiles}
        rows = deepcopy(tuple(self.book.dispatches.values()))
        for row in rows:
            row.compile_seconds = compiled.pop(row.kernel, 0.0)
        return rows

    @property
    def buffers(self) -> tuple[BufferRow, ...]:
        """A row for each buffer that was copied, and for each of its fields."""
        self.book.settle()
        rows = deepcopy(tuple(self.book.buffers.values()))
        return tuple(row for row in rows if row.copy_in.count or row.copy_out.count)

    @property
    def waits(self) -> tuple[WaitRow, ...]:
        """A row for each line where the host had to wait for a device."""
        self.book.settle()
        return deepcopy(tuple(self.book.waits.values()))

    @property
    def compiles(self) -> tuple[CompileRow, ...]:
        """A row for each kernel and compute function that was compiled."""
        spent = dict(self.book.compiled)
        functions = dict.fromkeys(function for function, _ in spent)
        stages = "reflect", "analyse", "generate", "build"
        return tuple(
            CompileRow(function, *(spent.get((function, stage), 0.0) for stage in stages))
            for function in functions
        )

    @property
    def total(self) -> Totals:
        """All rows together."""
        dispatches, buffers, waits = self.dispatches, self.buffers, self.waits
        return Totals(
            sum(row.count for row in dispatches),
            sum(row.failed for row in dispatches),
            sum(row.execute_seconds for row in dispatches),
            sum(row.delay_seconds for row in dispatches),
            _joined(row.copy_in for row in buffers),
            _joined(row.copy_out for row in buffers),
            sum(row.seconds for row in self.compiles),
            sum(row.count for row in waits),
            sum(row.seconds for row in waits),
        )

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices, and who measured their times."""
        infos = (backend.device for backend in self.book.backends)
        return tuple(f"{one.spec} ({one.name}): {_CLOCKS[one.clock]}" for one in infos)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain lists, dicts, texts and numbers, for JSON."""
        return {
            "devices": list(self.devices),
            "dispatches": [_plain(row) for row in self.dispatches],
            "buffers": [_plain(row) for row in self.buffers],
            "waits": [_plain(row) for row in self.waits],
            "compiles": [_plain(row) for row in self.compiles],
            "total": asdict(self.total),
        }

    def __str__(self) -> str:
        parts = (
            _table(_DISPATCHES, self.dispatches),
            _table(_BUFFERS, self.buffers),
            _table(_WAITS, self.waits),
            _table(_COMPILES, self.compiles),
            _total_line(self.total),
        )
        return "\n\n".join(("\n".join(self.devices), *filter(None, parts)))


_DERIVED = "mean_seconds", "mean_delay_seconds", "seconds"


def _plain(row: DispatchRow | BufferRow | WaitRow | CompileRow) -> dict[str, Any]:
    found = asdict(row)
    found |= {name: getattr(row, name) for name in _DERIVED if hasattr(row, name)}
    if isinstance(row, DispatchRow | WaitRow):
        found["location"] = str(row.location)
    return found


# -------------------------------------------------------------------------------- the tables

Row = TypeVar("Row")
Columns: TypeAlias = dict[str, Callable[[Row], str]]
"""The headings of a table, each with what stands below it in the line of a row."""

_DISPATCHES: Columns[DispatchRow] = {
    "kernel": lambda row: row.kernel,
    "line": lambda row: row.location.short,
    "count": lambda row: f"{row.count:,}" + (f" ({row.failed} failed)" if row.failed else ""),
    "execute": lambda row: time_text(row.execute_seconds),
    "mean": lambda row: time_text(row.mean_seconds),
    "least": lambda row: time_text(row.least_seconds),
    "most": lambda row: time_text(row.most_seconds),
    "queued": lambda row: time_text(row.mean_delay_seconds),
    "copy in": lambda row: time_text(row.copy_in.seconds),
    "copy out": lambda row: time_text(row.copy_out.seconds),
    "compile": lambda row: time_text(row.compile_seconds),
    "wait": lambda row: time_text(row.wait_seconds),
}
_BUFFERS: Columns[BufferRow] = {
    "buffer": lambda row: f"{row.buffer}.{row.field}" if row.field else row.buffer,
    "copies in": lambda row: f"{row.copy_in.count:,}",
    "bytes in": lambda row: f"{row.copy_in.nbytes:,}",
    "time in": lambda row: time_text(row.copy_in.seconds),
    "out": lambda row: f"{row.copy_out.count:,}",
    "bytes out": lambda row: f"{row.copy_out.nbytes:,}",
    "time out": lambda row: time_text(row.copy_out.seconds),
}
_WAITS: Columns[WaitRow] = {
    "line": lambda row: row.location.short,
    "buffer": lambda row: row.buffer,
    "waits": lambda row: f"{row.count:,}",
    "time": lambda row: time_text(row.seconds),
    "longest": lambda row: time_text(row.most_seconds),
    "because": lambda row: row.why,
}
_COMPILES: Columns[CompileRow] = {
    "function": lambda row: row.function,
    "reflect": lambda row: time_text(row.reflect_seconds),
    "analyse": lambda row: time_text(row.analyse_seconds),
    "generate": lambda row: time_text(row.generate_seconds),
    "build": lambda row: time_text(row.build_seconds),
    "all": lambda row: time_text(row.seconds),
}
_TEXTS = {"kernel", "line", "buffer", "because", "function"}


def _table(columns: Columns[Row], rows: Sequence[Row]) -> str:
    cells = [tuple(cell(row) for cell in columns.values()) for row in rows]
    return aligned([tuple(columns), *cells], set(columns) - _TEXTS) if cells else ""


def _total_line(total: Totals) -> str:
    return (
        f"total: {total.dispatches:,} dispatches, "
        f"execute {time_text(total.execute_seconds)}, "
        f"copy in {total.copy_in.nbytes:,} bytes {time_text(total.copy_in.seconds)}, "
        f"copy out {total.copy_out.nbytes:,} bytes {time_text(total.copy_out.seconds)}, "
        f"compile {time_text(total.compile_seconds)}, wait {time_text(total.wait_seconds)}"
    )


def time_text(seconds: float) -> str:
    """Three digits and a unit: `12.3 ms`; 0 for none."""
    if not seconds:
        return "0"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.9995 * size:
            return f"{_three_digits(seconds / size)} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def _three_digits(number: float) -> str:
    decimals = 2 if number < 9.995 else 1 if number < 99.95 else 0
    return f"{number:,.{decimals}f}"

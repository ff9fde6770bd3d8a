"""The profile: what kernels, copies, compilations and waits of a stretch of program took."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from trilby.dataclass import dataclass
from trilby.runtime.profiling import Book, BothWays, DispatchFigures, WaitFigures
from trilby.shown import Shown, aligned
from trilby.source import Location

# ------------------------------------------------------------------------------------- profile rows
# The rows of a profile: what is known of a kernel and line, a buffer, a wait, a compilation.


@dataclass(frozen=True, slots=True)
class Copies:
    """Copies in one direction: how many, how many bytes, and what the device took for them."""

    count: int
    nbytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class DispatchRow:
    """The dispatches of a kernel from one line.

    `execute_seconds` is what the device took for all of them, and `delay_seconds` for how long
    they were queued before it began. `copy_in` are the copies of what they needed, `copy_out`
    those of what they wrote. `wait_seconds` is how long the host waited for their results. What
    compiling the kernel took stands in the first row that the kernel has.

    A row whose `count` is 0 is about a dispatch before the profile was opened.
    """

    kernel: str
    location: Location
    count: int
    failed: int
    execute_seconds: float
    least_seconds: float
    most_seconds: float
    delay_seconds: float
    copy_in: Copies
    copy_out: Copies
    compile_seconds: float
    wait_seconds: float

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


@dataclass(frozen=True, slots=True)
class BufferRow:
    """The copies of a buffer, or of one of its fields; several fields at once have no name."""

    buffer: str
    field: str
    copy_in: Copies
    copy_out: Copies


@dataclass(frozen=True, slots=True)
class WaitRow:
    """A line where the host waited, why, and for which buffer: empty where for several."""

    location: Location
    why: str
    buffer: str
    count: int
    seconds: float
    most_seconds: float


@dataclass(frozen=True, slots=True)
class CompileRow:
    """What compiling a kernel or a compute function took, by the host's clock."""

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
    """All rows of a profile together."""

    dispatches: int
    failed: int
    execute_seconds: float
    delay_seconds: float
    copy_in: Copies
    copy_out: Copies
    compile_seconds: float
    waits: int
    wait_seconds: float


def dispatch_row(
    kernel: str, location: Location, figures: DispatchFigures, compile_seconds: float
) -> DispatchRow:
    """A row of the figures of a kernel and line."""
    runs = figures.runs
    copy_in, copy_out = both_ways(figures.copies)
    return DispatchRow(
        kernel,
        location,
        runs.count,
        runs.failed,
        runs.seconds,
        runs.least,
        runs.most,
        runs.delay,
        copy_in,
        copy_out,
        compile_seconds,
        figures.wait_seconds,
    )


def wait_row(why: str, buffer: str, location: Location, figures: WaitFigures) -> WaitRow:
    """A row of the figures of a wait."""
    return WaitRow(location, why, buffer, figures.count, figures.seconds, figures.most)


def both_ways(ways: BothWays) -> tuple[Copies, Copies]:
    """What went to the device, and what came back."""
    up, down = ways.up, ways.down
    return Copies(up.copies, up.nbytes, up.seconds), Copies(down.copies, down.nbytes, down.seconds)


def joined(copies: "list[Copies]") -> Copies:
    """Copies of several rows together."""
    return Copies(
        sum(one.count for one in copies),
        sum(one.nbytes for one in copies),
        sum(one.seconds for one in copies),
    )


# ------------------------------------------------------------------------------------------ profile

_CLOCKS = {
    "device": "measured by the device",
    "host": "measured by the host's clock",
    "none": "it measures nothing",
}

_DISPATCH_COLUMNS = (
    *("kernel", "line", "count", "execute", "mean", "least", "most", "queued"),
    *("copy in", "copy out", "compile", "wait"),
)
_BUFFER_COLUMNS = ("buffer", "copies in", "bytes in", "time in", "out", "bytes out", "time out")
_WAIT_COLUMNS = ("line", "buffer", "waits", "time", "longest", "because")
_COMPILE_COLUMNS = ("function", "reflect", "analyse", "generate", "build", "all")
_TEXTS = {"kernel", "line", "buffer", "because", "function"}


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
        return tuple(
            dispatch_row(by.kernel, by.location, figures, compiled.pop(by.kernel, 0.0))
            for by, figures in self.book.dispatches().items()
        )

    @property
    def buffers(self) -> tuple[BufferRow, ...]:
        """A row for each buffer that was copied, and for each of its fields."""
        self.book.settle()
        return tuple(
            BufferRow(place.buffer, place.field, *both_ways(ways))
            for place, ways in tuple(self.book.buffers.items())
            if ways.up.copies or ways.down.copies
        )

    @property
    def waits(self) -> tuple[WaitRow, ...]:
        """A row for each line where the host had to wait for a device."""
        self.book.settle()
        return tuple(
            wait_row(at.why, at.buffer, at.location, figures)
            for at, figures in tuple(self.book.waits.items())
        )

    @property
    def compiles(self) -> tuple[CompileRow, ...]:
        """A row for each kernel and compute function that was compiled."""
        spent = dict(self.book.compiled)
        functions = dict.fromkeys(function for function, _ in spent)
        return tuple(
            CompileRow(
                function,
                spent.get((function, "reflect"), 0.0),
                spent.get((function, "analyse"), 0.0),
                spent.get((function, "generate"), 0.0),
                spent.get((function, "build"), 0.0),
            )
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
            joined([row.copy_in for row in buffers]),
            joined([row.copy_out for row in buffers]),
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
            _table(_DISPATCH_COLUMNS, map(_dispatch_cells, self.dispatches)),
            _table(_BUFFER_COLUMNS, map(_buffer_cells, self.buffers)),
            _table(_WAIT_COLUMNS, map(_wait_cells, self.waits)),
            _table(_COMPILE_COLUMNS, map(_compile_cells, self.compiles)),
            _total_line(self.total),
        )
        return "\n\n".join(("\n".join(self.devices), *filter(None, parts)))


def _plain(row: DispatchRow | BufferRow | WaitRow | CompileRow) -> dict[str, Any]:
    found = asdict(row)
    if isinstance(row, DispatchRow):
        found["mean_seconds"] = row.mean_seconds
        found["mean_delay_seconds"] = row.mean_delay_seconds
    if isinstance(row, CompileRow):
        found["seconds"] = row.seconds
    if isinstance(row, DispatchRow | WaitRow):
        found["location"] = str(row.location)
    return found


# -------------------------------------------------------------------------------- the tables


def _table(columns: Sequence[str], rows: Iterable[tuple[str, ...]]) -> str:
    found = list(rows)
    return aligned([columns, *found], set(columns) - _TEXTS) if found else ""


def _dispatch_cells(row: DispatchRow) -> tuple[str, ...]:
    failed = f" ({row.failed} failed)" if row.failed else ""
    times = (
        *(row.execute_seconds, row.mean_seconds, row.least_seconds, row.most_seconds),
        *(row.mean_delay_seconds, row.copy_in.seconds, row.copy_out.seconds),
        *(row.compile_seconds, row.wait_seconds),
    )
    return row.kernel, row.location.short, f"{row.count:,}{failed}", *map(time_text, times)


def _buffer_cells(row: BufferRow) -> tuple[str, ...]:
    name = f"{row.buffer}.{row.field}" if row.field else row.buffer
    return name, *_copy_cells(row.copy_in), *_copy_cells(row.copy_out)


def _copy_cells(copies: Copies) -> Iterator[str]:
    yield f"{copies.count:,}"
    yield f"{copies.nbytes:,}"
    yield time_text(copies.seconds)


def _wait_cells(row: WaitRow) -> tuple[str, ...]:
    times = time_text(row.seconds), time_text(row.most_seconds)
    return row.location.short, row.buffer, f"{row.count:,}", *times, row.why


def _compile_cells(row: CompileRow) -> tuple[str, ...]:
    stages = row.reflect_seconds, row.analyse_seconds, row.generate_seconds, row.build_seconds
    return row.function, *map(time_text, stages), time_text(row.seconds)


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

"""The rows of a profile: what is known of a kernel and line, a buffer, a wait, a compilation."""

from trilby.dataclass import dataclass
from trilby.runtime.figures import BothWays, DispatchFigures, WaitFigures
from trilby.source import Location


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

    Of a kernel that is brief and dispatched very often, some dispatches are measured and all are
    counted. Where `measured` says fewer than went well, the sums are estimates by what dispatches
    next to the others took; `least_seconds` and `most_seconds` are of those that were measured.

    A row whose `count` is 0 is about a dispatch before the profile was opened.
    """

    kernel: str
    location: Location
    count: int
    failed: int
    measured: int
    execute_seconds: float
    least_seconds: float
    most_seconds: float
    delay_seconds: float
    copy_in: Copies
    copy_out: Copies
    compile_seconds: float
    wait_seconds: float

    @property
    def is_estimated(self) -> bool:
        """True where not all that went well were measured."""
        return self.measured < self.count - self.failed

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
    measured: int
    execute_seconds: float
    delay_seconds: float
    copy_in: Copies
    copy_out: Copies
    compile_seconds: float
    waits: int
    wait_seconds: float

    @property
    def is_estimated(self) -> bool:
        """True where not all dispatches that went well were measured."""
        return self.measured < self.dispatches - self.failed


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
        runs.measured,
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

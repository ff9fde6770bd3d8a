"""Which lines of a program cost most: kernels that they dispatch, waits, and copies."""

from trilby.dataclass import dataclass
from trilby.runtime.tracing import TracedRun
from trilby.source import Location, line_text


@dataclass(slots=True)
class HotLine:
    """A line: what the device took for its dispatches, how long it waited, what moved for it."""

    location: Location
    kernels: dict[str, None]
    dispatches: int = 0
    execute_seconds: float = 0.0
    wait_seconds: float = 0.0
    copies: int = 0
    bytes_up: int = 0
    bytes_down: int = 0

    @property
    def seconds(self) -> float:
        """What the device or the host spent because of it."""
        return self.execute_seconds + self.wait_seconds

    @property
    def text(self) -> str:
        """The line itself."""
        return line_text(self.location).strip()


def hot_lines(run: TracedRun) -> list[HotLine]:
    """All lines with some cost, the hottest first."""
    found: dict[tuple[str, int], HotLine] = {}

    def at(location: Location) -> HotLine:
        key = location.file, location.line
        return found.setdefault(key, HotLine(location, {}))

    for row in run.profile.dispatches:
        line = at(row.location)
        line.kernels[row.kernel] = None
        line.dispatches += row.count
        line.execute_seconds += row.execute_seconds
    for wait in run.profile.waits:
        at(wait.location).wait_seconds += wait.seconds
    for copy in run.ledger.copies:
        if copy.location is not None:
            line = at(copy.location)
            line.copies += 1
            line.bytes_up += copy.nbytes if copy.direction == "up" else 0
            line.bytes_down += copy.nbytes if copy.direction == "down" else 0
    return sorted(
        found.values(), key=lambda line: (-line.seconds, -line.bytes_up - line.bytes_down)
    )

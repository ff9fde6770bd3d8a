"""A traced run: all that a ledger and a profile know, and when each thing happened.

Nothing is drawn here. `save_trace` and `save_report` belong to the tools, and are loaded when
somebody asks for a file.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from os import PathLike
from typing import TYPE_CHECKING, Literal, NamedTuple

from trilby.backend.base import DeviceInfo, Ticket
from trilby.dataclass import dataclass
from trilby.oracle.trace import Access, Trace
from trilby.runtime.launch_buffers import Writer
from trilby.runtime.ledger import Ledger
from trilby.runtime.profile import Book, Command, Profile
from trilby.shown import Shown, tool
from trilby.source import NOWHERE, Location
from trilby.stages import Spent

if TYPE_CHECKING:
    from trilby.runtime.content import Replica
    from trilby.runtime.passes import PortionTimes
    from trilby.runtime.recording import Recording
    from trilby.runtime.replicas import Moved


class Moment(NamedTuple):
    """When something was seen, by `time.perf_counter`, in which thread, after how many touches.

    What is seen in a fresh trace has `touches` 0.
    """

    at: float
    thread: int
    touches: int


class SeenCommand(NamedTuple):
    """A device was given a launch or a copy, or refused a launch: `double`, or 4,096 bytes of `a`.

    `of` is the launch, or the copy, whose numbers among the recorded copies are `made`.
    """

    moment: Moment
    of: "Writer | Moved"
    command: Command
    made: range = range(0)


class SeenWork(NamedTuple):
    """What the host did from one time to another: a wait, a compilation, or a compute call.

    `b[5]` is a "wait" by the name "wait for b", if it had to wait.
    `location` and `why` are those of a wait.
    """

    moment: Moment
    kind: Literal["wait", "compile", "compute"]
    name: str
    begin: float
    end: float
    location: Location | None = None
    why: str = ""


class TimedTrace(Trace):
    """A trace for the oracle that remembers when each touch was: `moments[3]` of `touches[3]`."""

    def __init__(self) -> None:
        super().__init__()
        self.moments: list[Moment] = []

    def touch(
        self,
        place: str,
        accesses: Mapping[int, Access],
        label: str = "",
        location: Location = NOWHERE,
        *,
        invisible: bool = False,
    ) -> None:
        """Add a host access or a kernel launch."""
        self.moments.append(self.now())
        super().touch(place, accesses, label, location, invisible=invisible)

    def now(self) -> Moment:
        """The moment of the call."""
        return Moment(time.perf_counter(), threading.get_ident(), len(self.touches))


@dataclass(slots=True, eq=False)
class TimedBook(Book):
    """A book of a profile that also remembers when each thing was begun or over, in order.

    After `double_all`, `seen` has compilations, a copy, a launch and the call.
    """

    trace: TimedTrace = field(default_factory=TimedTrace)
    recording: "Recording | None" = None
    seen: list[SeenCommand | SeenWork] = field(default_factory=list[SeenCommand | SeenWork])
    _made: int = 0

    def launched(
        self,
        writer: Writer,
        ticket: Ticket | None,
        replicas: "Sequence[Replica]" = (),
        portions: "PortionTimes | None" = None,
    ) -> Command:
        """A kernel was launched."""
        moment = self.trace.now()
        command = Book.launched(self, writer, ticket, replicas, portions)
        self.seen.append(SeenCommand(moment, writer, command))
        return command

    def moved(self, moved: "Moved") -> Command:
        """A copy was started."""
        moment = self.trace.now()
        copies = len(self.recording.copies) if self.recording else 0
        made, self._made = range(self._made, copies), copies
        command = Book.moved(self, moved)
        self.seen.append(SeenCommand(moment, moved, command, made))
        return command

    def waited(
        self, ticket: Ticket, seconds: float, location: Location, why: str, buffer: str
    ) -> None:
        """The host waited for a command."""
        moment = self.trace.now()
        name = f"wait for {buffer}" if buffer else "wait"
        times = moment.at - seconds, moment.at
        self.seen.append(SeenWork(moment, "wait", name, *times, location, why))
        Book.waited(self, ticket, seconds, location, why, buffer)

    def add_compiled(self, spent: Spent) -> None:
        """Something was compiled. The stages are known by their sums: one after the other."""
        moment = self.trace.now()
        begin = moment.at - sum(spent.values())
        for (function, stage), seconds in spent.items():
            times = begin, begin + seconds
            self.seen.append(SeenWork(moment, "compile", f"{stage} {function}", *times))
            begin += seconds
        Book.add_compiled(self, spent)

    def called(self, function: str, began: float) -> None:
        """A compute function has returned."""
        moment = self.trace.now()
        self.seen.append(SeenWork(moment, "compute", function, began, moment.at))


@dataclass(slots=True, eq=False, repr=False)
class TracedRun(Shown):
    """What happened on one accelerator inside of `with accelerator.trace() as run:`.

    >>> with accelerator.trace() as run:
    ...     accelerator.compute(square_all, numbers)
    >>> run.save_trace("run.json")      # for ui.perfetto.dev
    >>> run.save_report("run.html")     # for a browser
    >>> print(run.ledger, run.profile)
    """

    device: DeviceInfo
    place: str
    """The name of the device in the trace of the ledger."""
    transfers: str
    shares_memory: bool
    ledger: Ledger
    profile: Profile
    book: TimedBook
    began: float = field(default_factory=time.perf_counter)
    ended: float = 0.0
    """Times of `time.perf_counter`; 0 while it goes on."""
    threads: dict[int, str] = field(default_factory=dict[int, str])

    def __repr__(self) -> str:
        return f"TracedRun({self.place!r}: {len(self.book.seen):,} events)"

    def end(self) -> None:
        """Nothing more belongs to it."""
        self.ended = time.perf_counter()
        self.threads |= {one.ident or 0: one.name for one in threading.enumerate()}

    def save_trace(self, path: str | PathLike[str]) -> None:
        """Write it as a Chrome trace, which Perfetto shows too."""
        tool("trilby.tools.trace_events", "save_trace")([self], path)

    def save_report(self, path: str | PathLike[str]) -> None:
        """Write it as one HTML page, which needs nothing beside it."""
        tool("trilby.tools.html.report", "save_report")([self], path)

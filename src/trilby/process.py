"""State that a process has once, whichever accelerators it opens: all of it is in `PROCESS`.

Modules keep no state of their own. What belongs to an accelerator, a buffer or a call is in an
object that is passed; what is left is listed here, with the module that fills it. This module knows
none of the classes of the package, so that each of them can import it.
"""

from collections import defaultdict, deque
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any, TypeAlias
from weakref import WeakSet

Act: TypeAlias = Callable[[], object]


class ProcessState:
    """The process-wide state, by name.

    For example, `PROCESS.raw_views` has all raw views that users hold, of any buffer.
    """

    def __init__(self) -> None:
        self.locks: WeakSet[Any] = WeakSet()
        """Every lock of the package: open in a forked child (`locks`)."""
        self.fork_handlers: list[tuple[int, Act, Act, Act]] = []
        """A rank, and what is called before each fork, in the parent, in the child (`locks`)."""
        self.log_levels: list[str] = []
        """The levels that were asked for before logging was loaded (`messages`)."""
        self.default_options: list[Any] = []
        """The `Options` that stand in for the environment, innermost last (`options`)."""
        self.raw_views: WeakSet[Any] = WeakSet()
        """The `RawViews` of all memory that has some (`data.segment`)."""
        self.printed: deque[str] = deque()
        """Lines that kernels printed, and that are not written yet (`backend.say`)."""
        self.must_print_later: Callable[[], bool] = bool
        """Whether these lines have to wait; without the runtime they never do (`backend.say`)."""
        self.recordings: list[Any] = []
        """The recordings that are open, of any accelerator (`runtime.profiles`)."""
        self.profiles: list[Any] = []
        """The profiles that are open, of any accelerator (`runtime.profiles`)."""
        self.opening_hearers: list[Any] = []
        """What is called with each accelerator that is opened (`runtime.profiles`)."""
        self.opening_numbers: defaultdict[str, count[int]] = defaultdict(partial(count, 1))
        """Counts the accelerators on each device (`runtime.replicas`)."""
        self.open_devices: set[Any] = set()
        """The `Residency` of each device that is open (`runtime.residency`)."""
        self.ended_segments: deque[Any] = deque()
        """Segments that have ended and are not left yet (`runtime.watch`)."""
        self.lost_objects: deque[Callable[[], None]] = deque()
        """Finalisers that wait until their thread is idle (`runtime.watch`)."""


PROCESS = ProcessState()

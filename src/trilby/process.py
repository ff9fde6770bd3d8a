"""State that a process has once, whichever accelerators it opens: all of it is in `PROCESS`.

Modules keep no state of their own. What belongs to an accelerator, a buffer or a call is in an
object that is passed; what is left is listed here, with the module that fills it. This module knows
none of the classes of the package, so that each of them can import it.
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

if TYPE_CHECKING:
    from threading import Thread


class ForkHandler(NamedTuple):
    """What the owner of some data does around a fork; handlers with small ranks come first."""

    rank: int
    before: Callable[[], object]
    in_parent: Callable[[], object]
    in_child: Callable[[], object]


class ProcessState:
    """The process-wide state, by name.

    For example, `PROCESS.raw_views` has all raw views that users hold, of any buffer.
    """

    __slots__ = (
        "compiler_threads",
        "default_options",
        "driver_objects",
        "fork_handlers",
        "locks",
        "log_levels",
        "matrices",
        "printed",
        "raw_views",
        "vector_types",
        "vectors",
    )

    def __init__(self) -> None:
        self.locks: WeakSet[Any] = WeakSet()
        """Every lock of the package: open in a forked child (`locks`)."""
        self.fork_handlers: list[ForkHandler] = []
        """What is called around each fork (`locks`)."""
        self.log_levels: list[str] = []
        """The levels that were asked for before logging was loaded (`messages`)."""
        self.default_options: list[Any] = []
        """The `Options` that stand in for the environment, innermost last (`options`)."""
        self.raw_views: WeakSet[Any] = WeakSet()
        """The `RawViews` of all memory that has some (`data.segment`)."""
        self.vectors: dict[Any, Any] = {}
        """Element and lanes of each struct type that is a vector (`data.vector_types`)."""
        self.vector_types: dict[Any, Any] = {}
        """The struct type of each vector, by element and lanes (`data.vector_types`)."""
        self.matrices: dict[Any, int] = {}
        """The rows of each struct type that is a matrix (`data.vector_types`)."""
        self.printed: deque[str] = deque()
        """Lines that kernels printed, and that are not written yet (`backend.say`)."""
        self.compiler_threads: set[Thread] = set()
        """Threads in which LLVM compiles now (`backend.native.beside`)."""
        self.driver_objects: list[object] = []
        """Objects of drivers that a forked child never releases (`backend.opencl_drivers`)."""


PROCESS = ProcessState()

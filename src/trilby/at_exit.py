"""The end of the program: one `atexit` handler for all that has to be done then, in order.

The handler is registered when Trilby is imported, so handlers that a program registers later run
before it, and find everything at work.
"""

import atexit
import os
import sys
from collections.abc import Callable, Iterable


class ProgramEnd:
    """The actions that are run when the program ends. `has_begun` is true from then on."""

    def __init__(self) -> None:
        self.has_begun = False
        self._actions: list[Callable[[], None]] = []
        self._last_actions: list[Callable[[], None]] = []
        self._rescues: list[Callable[[], None]] = []
        self._began_in = os.getpid()
        self._watched: int | None = None

    def add(self, action: Callable[[], None]) -> None:
        """Run an action at the end, such as closing all accelerators."""
        self._actions.append(action)

    def add_last(self, action: Callable[[], None]) -> None:
        """Run an action after these, such as stopping the threads of a device."""
        self._last_actions.append(action)

    def add_rescue(self, action: Callable[[], None]) -> None:
        """Run an action where Ctrl-C, or `sys.exit` in a signal handler, ends the others early."""
        self._rescues.append(action)

    def watch_this_process(self) -> None:
        """Make sure that the handler runs at the end of this process, which may be a child.

        A child that `multiprocessing` forks ends without `atexit` handlers, or at least without
        those of its parent.
        """
        if self._watched == os.getpid():
            return
        self._watched = os.getpid()
        if self._watched != self._began_in:
            atexit.unregister(self.run)
            atexit.register(self.run)
        processes = sys.modules.get("multiprocessing.process")
        if processes is not None and processes.parent_process() is not None:
            sys.modules["multiprocessing.util"].Finalize(None, self.run, exitpriority=0)

    def run(self) -> None:
        """Run all actions."""
        self.has_begun = True
        try:
            run_all((*self._actions, *self._last_actions))
        except Exception:
            raise
        except BaseException:
            for rescue in self._rescues:
                rescue()
            raise


def run_all(actions: Iterable[Callable[[], None]]) -> None:
    """Run actions one after the other, whichever fail; then raise the first error.

    Ctrl-C ends this at once: each of them may wait for work that never ends.
    """
    first: Exception | None = None
    for action in actions:
        try:
            action()
        except Exception as error:  # noqa: BLE001 -- raised below
            first = first or error
    if first is not None:
        raise first


PROGRAM_END = ProgramEnd()
atexit.register(PROGRAM_END.run)

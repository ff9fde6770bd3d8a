"""Work in a thread of its own: what compilers of devices do while Python goes on, or waits."""

from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from threading import enumerate as enumerate_threads
from typing import Generic, TypeVar

from trilby.locks import hold_over_forks, new_rlock

T = TypeVar("T")

_BEGINNING = new_rlock()
"""Held while a thread is started, and during a fork: a child has none of the threads, but the locks
that they held."""


class BackgroundCall(Thread, Generic[T]):
    """A thread that does some work from now on; a call waits for the result, or raises the error.

    `BackgroundCall(lambda: 6 * 7)()` is 42. Where the system gives no thread, the call does the
    work. A `daemon` is not waited for when the process forks or ends.
    """

    def __init__(self, work: Callable[[], T], *, daemon: bool = False) -> None:
        super().__init__(name="trilby-compiler", daemon=daemon)
        self._work = work
        self._results: list[T] = []
        self._failure: Exception | None = None
        with _BEGINNING, suppress(RuntimeError):
            self.start()

    def __call__(self) -> T:
        """The result, as soon as it is there."""
        if self.ident is None:
            return self._work()
        self.join()
        if self._failure is not None:
            raise self._failure
        return self._results[0]

    def run(self) -> None:
        """Do the work, in this thread."""
        try:
            self._results.append(self._work())
        except Exception as error:  # noqa: BLE001 -- it is raised where the result is asked for
            self._failure = error


def _wait_for_all() -> None:
    """Let no thread begin until the process was forked."""
    _BEGINNING.acquire()
    for thread in enumerate_threads():  # some are left where Ctrl-C came before others
        if isinstance(thread, BackgroundCall) and thread.is_alive() and not thread.daemon:
            thread.join()


hold_over_forks(1, _wait_for_all, _BEGINNING.release, _BEGINNING.release)

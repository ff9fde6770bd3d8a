"""Work that another thread does meanwhile: LLVM's, which lets Python go on."""

from collections.abc import Callable
from threading import Thread, current_thread
from typing import Generic, TypeVar

from trilby.locks import hold_over_forks, new_rlock
from trilby.process import PROCESS

T = TypeVar("T")

_BEGINNING = new_rlock()
"""Held while a thread is started, and by who forks: a child has none of the threads, but the locks
that they held."""


class Beside(Generic[T]):
    """Begins some work at once; calling it waits for the result, or raises what went wrong.

    Where the system gives no thread, the work is done by whoever asks for it.
    """

    __slots__ = ("_failure", "_results", "_thread", "_work")

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._results: list[T] = []
        self._failure: Exception | None = None
        self._thread: Thread | None = Thread(target=self._run, name="trilby-compiler")
        with _BEGINNING:
            PROCESS.compiler_threads.add(self._thread)
            try:
                self._thread.start()
            except RuntimeError:
                PROCESS.compiler_threads.discard(self._thread)
                self._thread = None

    def __call__(self) -> T:
        """The result, as soon as it is there."""
        if self._thread is None:
            return self._work()
        self._thread.join()
        if self._failure is not None:
            raise self._failure
        return self._results[0]

    def _run(self) -> None:
        try:
            self._results.append(self._work())
        except Exception as error:  # noqa: BLE001 -- whoever asks for the result hears of it
            self._failure = error
        finally:
            PROCESS.compiler_threads.discard(current_thread())


def _wait_for_all() -> None:
    """Let nobody begin any more, until the process was forked."""
    _BEGINNING.acquire()
    for thread in tuple(PROCESS.compiler_threads):
        if thread.is_alive():  # one that Ctrl-C came before never will be
            thread.join()


hold_over_forks(1, _wait_for_all, _BEGINNING.release, _BEGINNING.release)

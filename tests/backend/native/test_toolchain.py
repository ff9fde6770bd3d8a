"""Calls in another thread."""

import os
import threading
import time

import pytest

from trilby.backend.background import BackgroundCall


def test_work_begins_at_once_and_is_done_once() -> None:
    begun, go_on = threading.Event(), threading.Event()
    ran: list[str] = []

    def work() -> int:
        ran.append(threading.current_thread().name)
        begun.set()
        go_on.wait()
        return 7

    result = BackgroundCall(work)
    begun.wait()
    go_on.set()
    assert (result(), result()) == (7, 7)
    assert ran == ["trilby-compiler"]


def test_whoever_asks_hears_what_went_wrong() -> None:
    def work() -> int:
        raise ValueError("this text is refused")

    result = BackgroundCall(work)
    for _ in range(2):
        with pytest.raises(ValueError, match="this text is refused"):
            result()


def test_without_a_thread_whoever_asks_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    here = threading.current_thread().name
    assert BackgroundCall(lambda: threading.current_thread().name)() == here


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_waits_for_it() -> None:
    lock, begun = threading.Lock(), threading.Event()

    def work() -> int:
        with lock:
            begun.set()
            for _ in range(200_000):
                pass
            return 7

    result = BackgroundCall(work)
    begun.wait()
    child = os.fork()
    if child == 0:
        os._exit(7 if lock.acquire(blocking=False) and result() == 7 else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_waits_for_what_another_thread_is_about_to_begin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    starting, done, start = threading.Event(), list[int](), threading.Thread.start

    def start_late(thread: threading.Thread) -> None:
        if thread.name == "trilby-compiler":
            starting.set()
            time.sleep(0.1)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_late)
    beginning = threading.Thread(target=BackgroundCall, args=(lambda: done.append(7),))
    beginning.start()
    starting.wait()
    child = os.fork()
    if child == 0:
        os._exit(sum(done))
    _, status = os.waitpid(child, 0)
    beginning.join()
    assert os.waitstatus_to_exitcode(status) == 7

"""The locks of this package, and what happens to them when the process forks.

A child has a copy of all memory, and of the threads only the one that forked: a lock that another
thread held would stay locked for ever. So every lock is made here, and is open in a child. What
must not be copied half done is held over the fork by its owner, see `hold_over_forks`.
"""

import _imp
import os
import sys
import time
from collections.abc import Callable
from functools import cached_property
from operator import itemgetter
from threading import Lock, RLock
from typing import Any, TypeVar

from trilby.process import PROCESS, Act

T = TypeVar("T")

_PACKAGE = f"{__package__}."

_IMPORT_SECONDS = 2.0

_RANK = itemgetter(0)


def new_lock() -> Lock:
    """A lock that is open in a forked child."""
    lock = Lock()
    PROCESS.locks.add(lock)
    return lock


def new_rlock() -> RLock:
    """A lock that its thread may take several times, and that is open in a forked child."""
    lock = RLock()
    PROCESS.locks.add(lock)
    return lock


def computed_once(function: Callable[[Any], T]) -> cached_property[T]:
    """A `cached_property`, whose lock (there is one in Python 3.11) is open in a forked child."""
    made = cached_property(function)
    lock = getattr(made, "lock", None)
    if lock is not None:
        PROCESS.locks.add(lock)
    return made


def hold_over_forks(rank: int, before: Act, in_parent: Act, in_child: Act) -> None:
    """Call something before every fork and after it, in the parent and in the child.

    Threads take locks with small ranks first: 0 is the runtime's, 1 is for threads that compile,
    2 for the queues of devices, and 3 for the work that is in these.
    """
    PROCESS.fork_handlers.append((rank, before, in_parent, in_child))


def if_free(lock: "Lock | RLock", act: Callable[[], object]) -> bool:
    """Do something with a lock held unless another thread has it; false where that is so.

    `for` takes the lock and notes it in one step: Ctrl-C is heard before or after both.
    """
    is_taken = False
    try:
        for is_taken in map(lock.acquire, (False,)):  # noqa: B007 -- see above
            break
        if is_taken:
            act()
    finally:
        if is_taken:
            lock.release()
    return is_taken


def _before_fork() -> None:
    for _, before, _, _ in sorted(PROCESS.fork_handlers, key=_RANK):
        before()
    until = time.monotonic() + _IMPORT_SECONDS
    _imp.acquire_lock()  # from now on no other thread begins to load a module
    while _is_importing() and time.monotonic() < until:
        _imp.release_lock()
        time.sleep(1e-3)
        _imp.acquire_lock()


def _is_importing() -> bool:
    """Whether a module of this package is being loaded: its lock would stay locked in a child.

    Most are loaded when they are first needed, by whatever thread needs them. Where it is this
    thread that does, there is no end to wait for.
    """
    modules = (module for name, module in tuple(sys.modules.items()) if name.startswith(_PACKAGE))
    return any(getattr(getattr(one, "__spec__", None), "_initializing", False) for one in modules)


def _after_fork_in_parent() -> None:
    _imp.release_lock()
    for _, _, in_parent, _ in sorted(PROCESS.fork_handlers, key=_RANK, reverse=True):
        in_parent()


def _after_fork_in_child() -> None:
    _imp.release_lock()
    for lock in tuple(PROCESS.locks):
        if not getattr(lock, "_is_owned", bool)():  # this thread goes on in the child
            lock._at_fork_reinit()  # noqa: SLF001 -- as the standard library does
    for _, _, _, in_child in sorted(PROCESS.fork_handlers, key=_RANK, reverse=True):
        in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
